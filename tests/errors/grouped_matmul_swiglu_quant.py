"""Every message of npu_grouped_matmul_swiglu_quant, the order of its checks, what it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import Takes, faults_of, of_arrays, of_results
from npu_quant import DTypeError, ParamError, npu_grouped_matmul_swiglu_quant

OP = "npu_grouped_matmul_swiglu_quant"
X = np.ones((3, 8), np.int8)
W = np.ones((2, 8, 8), np.int8)
WORDS = np.ones((2, 8, 1), np.int32)
ENDS = np.array([1, 3])
WS = np.ones((2, 8), np.float32)
XS = np.ones(3, np.float32)
Y = np.zeros((3, 4), np.int8)
S = np.zeros(3, np.float32)
ZERO = np.zeros((), np.float32)
UNWRITTEN = (Y, S, ZERO)
GIVEN = {"x": X, "weight": W, "group_list": ENDS, "weight_scale": WS, "x_scale": XS}
call = partial(npu_grouped_matmul_swiglu_quant, **GIVEN)
whole = partial(call, weight=WORDS, bias=WS)

TAKES = {
    "x": Takes("int8.", "expected 2.", "np.int8"),
    "weight": Takes("int8 or int32.", "expected 3. It holds a matrix for each group.", "np.int8"),
    "group_list": Takes("int64.", "expected 1. It holds the end of each group.", "np.int64"),
    "weight_scale": Takes("float32 or int64.", "expected 2 or 3. It holds a row for each group.", "np.float32"),
    "x_scale": Takes("float32.", "expected 1. It holds one element per row.", "np.float32"),
    "bias": Takes("float32.", "expected 2. It holds a row for each group.", "np.float32", optional=True),
}  # fmt: skip


def ends(*entries: int) -> dict[str, np.ndarray]:
    return {"group_list": np.array(entries, np.int64)}


# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(whole, TAKES),
    *of_results(partial(call), {"y": Y, "scale": S, "offset": ZERO}),
    ("int64 scales of int8", lambda: call(weight_scale=WS.astype(np.int64)), DTypeError, 161002, "weight_scale has dtype int64, expected float32."),
    ("groups of int8", lambda: call(weight_scale=WS[:, None]), ParamError, 161002, "weight_scale has 3 dimensions, expected 2. It holds a row for each group."),
    ("int4 alone", lambda: call(weight=WORDS), DTypeError, 161002, "bias is None, expected float32: weight is int32."),
    ("bias of int8", lambda: call(bias=WS), ParamError, 161002, "bias is given, expected None: weight is int8."),
    ("offset", lambda: call(offset=WS), ParamError, 161002, "offset is given, expected None."),
    *[(f"weight of {k} rows", lambda k=k: call(weight=W[:, :k]), ParamError, 161002, f"weight has shape (2, {k}, 8), expected length 8 along axis -2: x of shape (3, 8) has 8 columns.") for k in (0, 1, 7)],
    ("words of 2 rows", lambda: whole(weight=WORDS[:, :2]), ParamError, 161002, "weight has shape (2, 2, 1), expected length 8 (or 1 if it is packed) along axis -2: x of shape (3, 8) has 8 columns."),
    ("words of 12", lambda: whole(x=np.ones((3, 12), np.int8)), ParamError, 161002, "weight has shape (2, 8, 1), expected length 12 along axis -2: x of shape (3, 12) has 12 columns."),
    ("odd", lambda: call(weight=W[..., :7], weight_scale=WS[:, :7]), ParamError, 161002, "weight has shape (2, 8, 7), expected an even number of columns: the operator multiplies their halves."),
    ("large", lambda: call(x=np.broadcast_to(X[:1, :0], (2**50, 0)), weight=W[:, :0]), ParamError, 161002, f"x has shape ({2**50}, 0), expected at most {2**52} elements in the product with weight of shape (2, 0, 8)."),
    ("no experts", lambda: call(weight=W[:0], weight_scale=WS[:0], **ends()), ParamError, 161002, "group_list has shape (0,), expected 1 or more entries."),
    ("ends", lambda: call(**ends(3)), ParamError, 161002, "group_list has shape (1,), expected (2,): an end for each matrix of weight of shape (2, 8, 8)."),
    *[(f"weight_scale {p.shape}", lambda p=p: call(weight_scale=p), ParamError, 161002, f"weight_scale has shape {p.shape}, expected (2, 8) for weight of shape (2, 8, 8).") for p in (WS[:1], WS[:, :4])],
    *[(f"weight_scale {p.shape} of int4", lambda p=p: whole(weight_scale=p), ParamError, 161002, f"weight_scale has shape {p.shape}, expected (2, 8), or (2, G, 8) where G divides 8, for weight of shape (2, 8, 1).") for p in (WS[:1], WS[:, :4], np.ones((2, 3, 8), np.float32), np.ones((2, 0, 8), np.float32), np.ones((2, 2, 4), np.float32))],
    ("x_scale", lambda: call(x_scale=XS[:2]), ParamError, 161002, "x_scale has shape (2,), expected (3,): an element for each row of x of shape (3, 8)."),
    *[(f"bias {p.shape}", lambda p=p: whole(bias=p), ParamError, 161002, f"bias has shape {p.shape}, expected (2, 8): an element for each column of each matrix of weight of shape (2, 8, 1).") for p in (WS[:1], WS[:, :4])],
    ("ends decrease", lambda: call(**ends(2, 1)), ParamError, 161002, "group_list[1] is 1, expected at least 2: each entry is the row after its group, counted from the first row of x."),
    ("ends negative", lambda: call(**ends(-1, 1)), ParamError, 161002, "group_list[0] is -1, expected at least 0"),
    ("ends beyond", lambda: call(**ends(2, 4)), ParamError, 161002, "group_list[1] is 4, expected at most 3, the number of rows of x."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
OTHERS = [
    ({"offset": WS}, ParamError, "offset is given"),
    ({"weight": WORDS[:, :2]}, ParamError, "weight has shape (2, 2, 1)"),
    ({"group_list": ENDS[:1]}, ParamError, "group_list has shape (1,)"),
    ({"weight_scale": WS[:, :3]}, ParamError, "weight_scale has shape (2, 3)"),
    ({"x_scale": XS[:2]}, ParamError, "x_scale has shape (2,)"),
    ({"bias": WS[:, :3]}, ParamError, "bias has shape (2, 3)"),
    ({"group_list": ENDS + 9}, ParamError, "group_list[0] is 10"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]
FAULTS = {OP: (whole, [*faults_of(whole, TAKES), *OTHERS])}

ACCEPTED = [
    {"group_list": ENDS * 0},
    {"x": X[:, :4], "weight": W[:, :4]},
    {"weight": WORDS, "bias": WS, "weight_scale": WS.astype(np.int64)},
    {"weight": WORDS, "bias": WS, "weight_scale": np.ones((2, 4, 8), np.float32)},
    {"weight": np.ones((2, 1, 8), np.int32), "bias": WS},
    {"numerics": "reference", "out": (None, None, None)},
]
