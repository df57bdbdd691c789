"""Every message of npu_grouped_matmul_swiglu_quant_v2 beside the first version's."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import FORMAT, INT, Takes, faults_of, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_grouped_matmul_swiglu_quant_v2

OP = "npu_grouped_matmul_swiglu_quant_v2"
X = np.ones((3, 8), np.int8)
X4 = np.ones((3, 1), np.int32)
W = np.ones((2, 8, 8), np.int8)
WORDS = np.ones((2, 8, 1), np.int32)
ENDS = np.array([1, 3])
WS = np.ones((2, 8), np.float32)
XS = np.ones(3, np.float32)
SMOOTH = np.ones((2, 4), np.float32)
Y = np.zeros((3, 4), np.int8)
S = np.zeros(3, np.float32)
UNWRITTEN = (Y, S)
GIVEN = {"x": X, "weight": [W], "weight_scale": [WS], "x_scale": XS, "group_list": ENDS}
call = partial(npu_grouped_matmul_swiglu_quant_v2, **GIVEN)
mixed = partial(call, weight=[WORDS], weight_assist_matrix=[WS])
whole = partial(call, x=X4, weight=[WORDS], smooth_scale=SMOOTH)
MX = {
    "x": X.astype("float8_e4m3fn"),
    "weight": [W.astype("float8_e4m3fn")],
    "weight_scale": [np.ones((2, 1, 8, 2), np.uint8)],
    "x_scale": np.ones((3, 1, 2), np.uint8),
    "dequant_mode": 2,
    "quant_mode": 2,
    "quant_dtype": 292,
}
blocks = partial(call, **MX)

TAKES = {
    "x": Takes("int8, int32 or float8_e4m3fn.", "expected 2.", "np.int8"),
    "x_scale": Takes("float32.", "expected 1. It holds one element per row.", "np.float32"),
    "group_list": Takes("int64.", "expected 1. It says which rows a group has.", "np.int64"),
    "smooth_scale": Takes("float32.", "expected 1 or 2. It holds a row for each group.", "np.float32", optional=True),
}  # fmt: skip
LISTS = ("weight", "weight_scale")


def ends(*entries: int) -> dict[str, np.ndarray]:
    return {"group_list": np.array(entries, np.int64)}


# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(whole, TAKES),
    *of_results(partial(call), {"y": Y, "scale": S}),
    *of_kinds(
        call,
        optional=("dequant_mode", "dequant_dtype", "quant_mode", "quant_dtype", "group_list_type", "x_dtype", "weight_dtype", "weight_scale_dtype", "x_scale_dtype"),
        dequant_mode=INT,
        dequant_dtype=FORMAT,
        quant_mode=INT,
        quant_dtype=FORMAT,
        group_list_type=INT,
        x_dtype=FORMAT,
        weight_dtype=FORMAT,
        weight_scale_dtype=FORMAT,
        x_scale_dtype=FORMAT,
    ),
    *[(f"{name} no list", lambda name=name: call(**{name: W}), TypeError, None, f"{name} is a numpy.ndarray, expected a list of one array.") for name in (*LISTS, "weight_assist_matrix")],
    *[(f"{name} of {n}", lambda name=name, n=n: call(**{name: [W] * n}), ParamError, 161002, f"{name} has {n} arrays, expected one with all groups.") for name in (*LISTS, "weight_assist_matrix") for n in (0, 2)],
    *[(f"{name} None", lambda name=name, v=v: call(**{name: v}), DTypeError, 161001, f"{name} is None, expected a numpy.ndarray.") for name in LISTS for v in (None, [None])],
    *[(f"{name} rank", lambda name=name: call(**{name: [W[0, 0]]} if name == "weight" else {name: [XS]}), ParamError, 161002, f"{name} has 1 dimension, expected ") for name in LISTS],
    ("weight of int8", lambda: call(weight=[W.astype(np.int16)]), DTypeError, 161002, "weight has dtype int16, expected int8 or int32."),
    ("weight of int4", lambda: whole(weight=[W]), DTypeError, 161002, "weight has dtype int8, expected the dtype of x (int32)."),
    ("weight of mx", lambda: blocks(weight=[W]), DTypeError, 161002, "weight has dtype int8, expected the dtype of x (float8_e4m3fn)."),
    ("scales of mx", lambda: blocks(weight_scale=[WS]), DTypeError, 161002, "weight_scale has dtype float32, expected uint8 or float8_e8m0fnu."),
    ("rows of mx", lambda: blocks(x_scale=XS), DTypeError, 161002, "x_scale has dtype float32, expected uint8 or float8_e8m0fnu."),
    ("mixed alone", lambda: call(weight=[WORDS]), DTypeError, 161002, "weight_assist_matrix is None, expected float32: x is int8 and weight is int32."),
    ("smooth_scale of int8", lambda: call(smooth_scale=SMOOTH), ParamError, 161002, "smooth_scale is given, expected None: x is int8, not int32."),
    ("assist of int8", lambda: call(weight_assist_matrix=[WS]), ParamError, 161002, "weight_assist_matrix is given, expected None: x is int8 and weight is int8."),
    ("bias", lambda: call(bias=WS), ParamError, 161002, "bias is given, expected None."),
    *[(f"dequant_mode {n}", lambda n=n: call(dequant_mode=n), ParamError, 161002, f"dequant_mode is {n}, expected 0: x is int8.") for n in (-1, 1, 2)],
    ("dequant_mode of groups", lambda: mixed(dequant_mode=2, weight_scale=[WS[:, None]]), ParamError, 161002, "dequant_mode is 2, expected 0 or 1: x is int8."),
    ("dequant_mode of mx", lambda: blocks(dequant_mode=0), ParamError, 161002, "dequant_mode is 0, expected 2: x is float8_e4m3fn."),
    ("dequant_dtype", lambda: call(dequant_dtype="float16"), ParamError, 161002, "dequant_dtype is float16, available: float32."),
    ("quant_mode", lambda: call(quant_mode=2), ParamError, 161002, "quant_mode is 2, expected 0: x is int8."),
    ("quant_mode of mx", lambda: blocks(quant_mode=0), ParamError, 161002, "quant_mode is 0, expected 2: x is float8_e4m3fn."),
    ("quant_dtype", lambda: call(quant_dtype=292), ParamError, 161002, "quant_dtype is float8_e4m3fn, available: int8."),
    ("quant_dtype of mx", lambda: blocks(quant_dtype=1), ParamError, 161002, "quant_dtype is int8, available: float8_e4m3fn."),
    ("quant_dtype None of mx", lambda: blocks(quant_dtype=None), ParamError, 161002, "quant_dtype is None, available: float8_e4m3fn."),
    ("group_list_type", lambda: call(group_list_type=2), ParamError, 161002, "group_list_type is 2, expected 0 (ends) or 1 (counts)."),
    ("x_dtype", lambda: whole(x_dtype="int8"), ParamError, 161002, "x_dtype is int8, expected None or int4: x of int32 holds int4."),
    ("weight_dtype", lambda: call(weight_dtype="int4"), ParamError, 161002, "weight_dtype is int4, expected None or the dtype of weight (int8)."),
    ("weight_scale_dtype", lambda: blocks(weight_scale_dtype="float32"), ParamError, 161002, "weight_scale_dtype is float32, expected None or float8_e8m0fnu: weight_scale of uint8 holds float8_e8m0fnu."),
    ("x_scale_dtype", lambda: call(x_scale_dtype="int8"), ParamError, 161002, "x_scale_dtype is int8, expected None or the dtype of x_scale (float32)."),
    ("weight of 7 rows", lambda: call(weight=[W[:, :7]]), ParamError, 161002, "weight has shape (2, 7, 8), expected length 8 along axis -2: x of shape (3, 8) has 8 columns."),
    ("odd", lambda: call(weight=[W[..., :7]]), ParamError, 161002, "weight has shape (2, 8, 7), expected an even number of columns: the operator multiplies their halves."),
    ("weight_scale", lambda: call(weight_scale=[WS[:1]]), ParamError, 161002, "weight_scale has shape (1, 8), expected (2, 8) for weight of shape (2, 8, 8)."),
    ("weight_scale of mx", lambda: blocks(weight_scale=[np.ones((2, 1, 7, 2), np.uint8)]), ParamError, 161002, "weight_scale has shape (2, 1, 7, 2), expected (2, 1, 8, 2)"),
    ("x_scale", lambda: call(x_scale=XS[:2]), ParamError, 161002, "x_scale has shape (2,), expected (3,): an element for each row of x of shape (3, 8)."),
    ("x_scale of mx", lambda: blocks(x_scale=np.ones((3, 2, 2), np.uint8)), ParamError, 161002, "x_scale has shape (3, 2, 2), expected (3, 1, 2)"),
    ("group_list", lambda: call(**ends(3)), ParamError, 161002, "group_list has shape (1,), expected (2,): an entry for each matrix of weight of shape (2, 8, 8)."),
    ("no experts", lambda: call(weight=[W[:0]], weight_scale=[WS[:0]], **ends()), ParamError, 161002, "group_list has shape (0,), expected 1 or more entries."),
    ("smooth_scale", lambda: whole(smooth_scale=WS), ParamError, 161002, "smooth_scale has shape (2, 8), expected (2, 4) or (2,): for each group of weight of shape (2, 8, 1), an element for each column of y or one for all."),
    ("assist", lambda: mixed(weight_assist_matrix=[WS[:1]]), ParamError, 161002, "weight_assist_matrix has shape (1, 8), expected (2, 8): an element for each column of each matrix of weight of shape (2, 8, 1)."),
    ("ends", lambda: call(**ends(2, 1)), ParamError, 161002, "group_list[1] is 1, expected at least 2"),
    ("counts", lambda: call(group_list_type=1, **ends(2, 2)), ParamError, 161002, "group_list[1] is 2, expected 0 to 1"),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
OTHERS = [
    ({"quant_mode": "x"}, TypeError, "quant_mode is a str"),
    ({"bias": WS}, ParamError, "bias is given"),
    ({"dequant_mode": 3}, ParamError, "dequant_mode is 3"),
    ({"dequant_dtype": "int8"}, ParamError, "dequant_dtype is int8"),
    ({"quant_mode": 2}, ParamError, "quant_mode is 2"),
    ({"quant_dtype": "int4"}, ParamError, "quant_dtype is int4"),
    ({"group_list_type": 2}, ParamError, "group_list_type is 2"),
    ({"x_dtype": "int8"}, ParamError, "x_dtype is int8"),
    ({"weight": [WORDS[:, :2]]}, ParamError, "weight has shape (2, 2, 1)"),
    ({"weight_scale": [WS[:, :3]]}, ParamError, "weight_scale has shape (2, 3)"),
    ({"x_scale": XS[:2]}, ParamError, "x_scale has shape (2,)"),
    ({"group_list": ENDS[:1]}, ParamError, "group_list has shape (1,)"),
    ({"smooth_scale": WS}, ParamError, "smooth_scale has shape (2, 8)"),
    ({"group_list": ENDS + 9}, ParamError, "group_list[0] is 10"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]
FAULTS = {OP: (whole, [*faults_of(whole, TAKES), *OTHERS])}

ACCEPTED = [
    {"weight": (W,), "tuning_config": [1], "quant_dtype": 0, "dequant_dtype": "float32"},
    {"weight": [WORDS], "weight_assist_matrix": [WS], "weight_scale": [WS.astype(np.int64)]},
    {"weight": [WORDS], "weight_assist_matrix": [WS], "weight_scale": [WS[:, None]], "dequant_mode": 1},
    {"x": X4, "weight": [WORDS], "smooth_scale": SMOOTH[:, 0], "x_dtype": "int4"},
    {"x": X4, "weight": [WORDS], "weight_scale": [WS.astype(np.int64)]},
    MX | {"x_scale_dtype": 293, "weight_dtype": 292},
    {"quant_dtype": None, "dequant_mode": None, "x_scale_dtype": "float32"},
    {"numerics": "reference", "out": (None, None)},
]  # fmt: skip
