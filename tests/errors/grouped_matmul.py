"""Every message of npu_grouped_matmul, the order of its checks, and what it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import FORMAT, INT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_grouped_matmul

OP = "npu_grouped_matmul"
X = np.ones((3, 16), np.int8)
W = np.ones((2, 16, 8), np.int8)
S = np.ones((2, 8), np.float32)
T = np.ones(3, np.float32)
LIST = np.array([2, 3])
Y = np.zeros((3, 8), np.float16)
UNWRITTEN = (Y,)


def as_given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with a list for each array that goes by an entry's name, as in messages."""
    required = ("x[0]", "weight[0]")
    return {
        n.removesuffix("[0]"): v if n[-1] != "]" or (v is None and n not in required) else [v]
        for n, v in arguments.items()
    }


def one(out: Any = None, **given: Any) -> Any:
    """Call with lists of one array each."""
    return npu_grouped_matmul(**as_given(given), out=None if out is None else [out])[0]


GIVEN: dict[str, Any] = {"x[0]": X, "weight[0]": W, "bias[0]": S, "scale[0]": S}
GIVEN |= {"per_token_scale[0]": T, "group_list": LIST}
GIVEN |= {"split_item": 3, "group_type": 0, "output_dtype": "float16"}
# Good arguments, and out, so that nothing may be written.
call = partial(one, **GIVEN, out=Y)


def but(**given: Any) -> Any:
    """Call with other arrays, by the names of their lists."""
    lists = (
        "x",
        "weight",
        "bias",
        "scale",
        "antiquant_scale",
        "antiquant_offset",
        "per_token_scale",
    )
    return partial(call, **{f"{n}[0]" if n in lists else n: v for n, v in given.items()})


MERGE = "expected {}. Merge leading axes with {}.reshape(-1, n)."
TAKES = {
    "x[0]": Takes("float16, bfloat16, float32, int8, int32, float8_e4m3fn or uint8.", "expected 2 to 6. Merge axes with x[0].reshape."),
    "weight[0]": Takes("int8 or int32.", "expected 2 or 3."),
    "bias[0]": Takes("int32, float32, float16 or bfloat16.", "expected 1 or 2.", "np.float32", optional=True),
    "scale[0]": Takes("int64, float32 or bfloat16.", "expected 1 or 2.", optional=True),
    "per_token_scale[0]": Takes("float32.", "expected 1.", optional=True),
}  # fmt: skip
E4M3 = X.astype(ml_dtypes.float8_e4m3fn)
HALF = X.astype(np.float16)
FLOATS = {
    "x": HALF,
    "weight": W.astype(np.float16),
    "bias": None,
    "scale": None,
    "per_token_scale": None,
}
OF_INT8 = "for x[0] of int8 and weight[0] of int8."
HALVES = "expected float16 or bfloat16 with"
COLUMNS = "an element for each column of the product, for weight[0] of shape (2, 16, 8)."

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    *of_kinds(call, optional=("split_item", "group_type", "group_list_type", "act_type"), split_item=INT, group_type=INT, group_list_type=INT, act_type=INT),
    *of_kinds(call, optional=("output_dtype", "x_dtype", "weight_dtype", "scale_dtype"), output_dtype=FORMAT, x_dtype=FORMAT, weight_dtype=FORMAT, scale_dtype=FORMAT),
    ("x an array", lambda: npu_grouped_matmul(X, [W]), TypeError, None, "x is a numpy.ndarray, expected a list of arrays."),  # type: ignore[arg-type]
    ("x empty", lambda: npu_grouped_matmul([], [W]), ParamError, 161002, "x has 0 arrays, expected 1 or more."),
    ("weight empty", lambda: npu_grouped_matmul([X], []), ParamError, 161002, "weight has 0 arrays, expected 1 or more."),
    ("weight fewer", lambda: npu_grouped_matmul([X, X], [W]), ParamError, 161002, "weight has 1 array, expected 2."),
    ("bias more", lambda: npu_grouped_matmul([X], [W], bias=[S, S]), ParamError, 161002, "bias has 2 arrays, expected 1, as many as weight has."),
    ("tokens more", lambda: npu_grouped_matmul([X], [W[0]] * 2, per_token_scale=[T, T]), ParamError, 161002, "per_token_scale has 2 arrays, expected 1, as many as x has."),
    ("weight[1] None", lambda: npu_grouped_matmul([X], [W[0], None]), DTypeError, 161001, "weight[1] is None, expected a numpy.ndarray."),  # type: ignore[list-item]
    ("weight[1] dtype", lambda: npu_grouped_matmul([X], [W[0], W[0].astype(float)], group_list=LIST, group_type=0), DTypeError, 161002, "weight[1] has dtype float64, expected int8 or int32."),
    ("offset", lambda: call(offset=[T]), ParamError, 161002, "offset is given, expected None."),
    ("activation_input", lambda: call(activation_input=[T]), ParamError, 161002, "activation_input is given, expected None."),
    ("weight float32", but(**FLOATS | {"weight": W.astype(np.float32)}), DTypeError, 161002, "weight[0] has dtype float32, expected int8, int32 or the dtype of x[0] (float16)."),
    ("split_item", lambda: call(split_item=4), ParamError, 161002, "split_item is 4, expected 0 or 1 (an array for each group) or 2 or 3 (one for all)."),
    ("group_type", lambda: call(group_type=1), ParamError, 161002, "group_type is 1, expected -1 (no groups), 0 (groups of rows) or 2 (groups of columns of x)."),
    ("group_type 2", lambda: call(group_type=2), ParamError, 161002, "group_type is 2, expected -1 or 0: 2 needs one x and one weight, floats of 2 dimensions."),
    ("group_type -1", lambda: call(group_type=-1), ParamError, 161002, "group_type is -1, expected 0: one x goes with several weights."),
    ("group_list int32", lambda: call(group_list=LIST.astype(np.int32)), DTypeError, 161002, "group_list has dtype int32, expected int64."),
    ("group_list rank 3", lambda: call(group_list=LIST[None, None]), ParamError, 161002, "group_list has 3 dimensions, expected 1 or 2."),
    ("group_list None", lambda: call(group_list=None), ParamError, 161002, "group_list is None, expected an array with group_type 0."),
    ("group_list beside x's", lambda: npu_grouped_matmul([X, X], [W[0], W[0]], group_list=[3, 5], group_type=0, output_dtype="int32"), ParamError, 161002, "group_list[1] covers rows 3 to 5, expected 3 to 6, the rows of x[1]."),
    ("group_list beside x's, beyond", lambda: npu_grouped_matmul([X, X], [W[0], W[0]], group_list=[3, 7], group_type=0, output_dtype="int32"), ParamError, 161002, "group_list[1] is 7, expected at most 6, the number of rows of x."),
    ("group_list beside x's, fewer", lambda: npu_grouped_matmul([X, X], [W[0], W[0]], group_list=[6], group_type=0, output_dtype="int32"), ParamError, 161002, "group_list has shape (1,), expected (2,): an entry for each weight."),
    ("group_list beside x's, pairs", lambda: npu_grouped_matmul([X, X], [W[0], W[0]], group_list=np.array([[0, 3]]), group_list_type=2, group_type=0, output_dtype="int32"), ParamError, 161002, "group_list covers 3 rows, expected 6, the rows of all arrays in x."),
    ("group_list beside x's, turned", lambda: npu_grouped_matmul([X, X], [W[0], W[0]], group_list=np.array([[1, 3], [0, 3]]), group_list_type=2, group_type=0, output_dtype="int32"), ParamError, 161002, "group_list[0] covers rows 0 to 3, expected 3 to 6, the rows of x[1]."),
    ("group_list without groups", lambda: npu_grouped_matmul([X, X], [W[0], W[0]], group_list=[3, 6], output_dtype="int32"), ParamError, 161002, "group_type is -1, expected 0 (groups of rows) or 2 (groups of columns of x) with group_list."),
    ("group_list_type", lambda: call(group_list_type=3), ParamError, 161002, "group_list_type is 3, expected 0 (ends), 1 (counts) or 2 (indices and counts)."),
    ("act_type", lambda: call(act_type=2), ParamError, 161002, "act_type is 2, available: 0 (none), 1 (relu), 5 (swish)."),
    ("act_type without tokens", but(per_token_scale=None, act_type=1), ParamError, 161002, "act_type is 1, available: 0 (none); for int8 with per_token_scale also 1 (relu), 5 (swish)."),
    ("output_dtype", lambda: call(output_dtype=np.float32), ParamError, 161002, "output_dtype is float32, available: int8, int32, float16, bfloat16 for x[0] of int8 and weight[0] of int8."),
    ("output_dtype of floats", but(**FLOATS, output_dtype="bfloat16"), ParamError, 161002, "output_dtype is bfloat16, available: float16 for x[0] of float16 and weight[0] of float16."),
    ("x_dtype", lambda: call(x_dtype="int4"), ParamError, 161002, "x_dtype is int4, expected None or the dtype of x[0] (int8)."),
    ("weight_dtype", lambda: call(weight_dtype="int4"), ParamError, 161002, "weight_dtype is int4, expected None or the dtype of weight[0] (int8)."),
    ("scale_dtype", lambda: call(scale_dtype="float16"), ParamError, 161002, "scale_dtype is float16, expected None or the dtype of scale[0] (float32)."),
    ("per_token_scale_dtype", but(per_token_scale=None, per_token_scale_dtype="float32"), ParamError, 161002, "per_token_scale_dtype is float32, expected None: per_token_scale[0] is None."),
    ("scale of floats", but(**FLOATS | {"scale": S}), ParamError, 161002, "scale[0] is given, expected None for x[0] of float16 and weight[0] of float16."),
    ("scale missing", but(scale=None), ParamError, 161002, "scale[0] is None, expected an array: results of float16 are scaled, those of int32 are not."),
    *[(f"per_token_scale, {to}", but(output_dtype=to), ParamError, 161002, f"output_dtype is {to}, {HALVES} per_token_scale[0].") for to in (None, "int8", "int32")],
    *[(f"scale of floats, {to}", but(output_dtype=to, per_token_scale=None), ParamError, 161002, f"output_dtype is {to}, {HALVES} scale[0] of float32.") for to in (None, "int8", "int32")],
    ("scale in words of sums", but(scale=S.astype(np.int64), output_dtype="int32", per_token_scale=None), ParamError, 161002, f"scale[0] is given, expected None {OF_INT8}"),
    ("scale in words", but(scale=S.astype(np.int64)), DTypeError, 161002, "scale[0] has dtype int64, expected float32 or bfloat16 for float16."),
    ("weight of other rows", but(weight=W[:, :7]), ParamError, 161002, "weight[0] has shape (2, 7, 8), expected length 16 along axis -2: x[0] of shape (3, 16) has 16 columns."),
    ("bias of others", but(bias=S[:, :3]), ParamError, 161002, f"bias[0] has shape (2, 3), expected (2, 8): {COLUMNS}"),
    ("scale of others", but(scale=S[0]), ParamError, 161002, f"scale[0] has shape (8,), expected (2, 8): {COLUMNS}"),
    ("tokens of others", but(per_token_scale=T[:2]), ParamError, 161002, "per_token_scale[0] has shape (2,), expected (3,): an element for each row of x[0] of shape (3, 16)."),
    ("tokens of MX", lambda: npu_grouped_matmul([E4M3], [E4M3.T], scale=[np.ones((1, 3, 2), np.uint8)], per_token_scale=[np.ones((3, 2, 2), np.uint8)], output_dtype="float16"), ParamError, 161002, "per_token_scale[0] has shape (3, 2, 2), expected (3, 1, 2): a byte for each block of 32 along k, in pairs, for x[0] of shape (3, 16)."),
    ("groups of k", but(weight=np.ones((2, 16, 1), np.int32), bias=None, scale=np.ones((2, 3, 8), np.float32)), ParamError, 161002, "scale[0] has shape (2, 3, 8), expected a number of rows that divides 16, the k of x[0] of shape (3, 16)."),
    ("group_list length", lambda: call(group_list=LIST[:1]), ParamError, 161002, "group_list has shape (1,), expected (2,): an entry for each weight."),
    ("group_list pairs", lambda: call(group_list_type=2), ParamError, 161002, "group_list has shape (2,), expected (n, 2) with n from 1 to 2: each row holds the index of a weight and its number of rows."),
    ("group_list beyond", lambda: call(group_list=[2, 4]), ParamError, 161002, "group_list[1] is 4, expected at most 3, the number of rows of x[0]."),
    ("group_list falls", lambda: call(group_list=[2, 1]), ParamError, 161002, "group_list[1] is 1, expected at least 2"),
    ("group_list twice", lambda: call(group_list=np.array([[1, 1], [1, 1]]), group_list_type=2), ParamError, 161002, "group_list[1, 0] is 1, expected 0 to 1, each weight only once."),
    ("out an array", lambda: npu_grouped_matmul([X], [W[0]], output_dtype="int32", out=Y), TypeError, None, "out is a numpy.ndarray, expected a list of arrays."),  # type: ignore[arg-type]
    ("out too many", lambda: npu_grouped_matmul([X], [W[0]], output_dtype="int32", out=[Y, Y]), ParamError, 161002, "out has 2 arrays, expected 1, as many as weight has."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"split_item": 9}, ParamError, "split_item is 9"),
    ({"group_list_type": 9}, ParamError, "group_list_type is 9"),
    ({"act_type": 9}, ParamError, "act_type is 9"),
    ({"x_dtype": "int16"}, ParamError, "x_dtype is int16"),
    ({"group_list": LIST[:1]}, ParamError, "group_list has shape (1,)"),
    ({"weight[0]": W[:, 1:]}, ParamError, "weight[0] has shape (2, 15, 8)"),
    ({"bias[0]": S[:1]}, ParamError, "bias[0] has shape (1, 8)"),
    ({"scale[0]": S[:1]}, ParamError, "scale[0] has shape (1, 8)"),
    ({"per_token_scale[0]": T[:1]}, ParamError, "per_token_scale[0] has shape (1,)"),
    ({"out": Y.T}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"per_token_scale[0]": None, "bias[0]": S.astype(np.int32), "scale[0]": S.astype(ml_dtypes.bfloat16)},
    *({"bias[0]": S.astype(dtype)} for dtype in (np.float16, ml_dtypes.bfloat16)),
    *({"act_type": act} for act in (None, 0, 1, 5)),
    *({"output_dtype": dtype} for dtype in (5, 257, np.float16)),
    {"x_dtype": 1, "weight_dtype": "int8", "scale_dtype": "float32", "per_token_scale_dtype": 6},
    {"group_list": LIST, "group_list_type": None, "tuning_config": [64]},
    {"numerics": "reference"},
]  # fmt: skip
