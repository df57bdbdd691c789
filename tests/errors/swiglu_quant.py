"""Every message of npu_swiglu_quant, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import (
    BOOL,
    FLOATS,
    FORMAT,
    INT,
    Takes,
    faults_of,
    of_arrays,
    of_kinds,
    of_results,
)
from npu_quant import DTypeError, ParamError, npu_swiglu_quant

OP = "npu_swiglu_quant"
X = np.ones((3, 8), np.float16)
Y = np.zeros((3, 4), np.int8)
S = np.zeros(3, np.float32)
UNWRITTEN = (Y, S)
GIVEN = {"x": X}
P = np.ones((2, 4), np.float32)
ENDS = np.array([1, 2], np.int32)
call = partial(npu_swiglu_quant, **GIVEN)
grouped = partial(call, smooth_scales=P, offsets=P, group_index=ENDS)
counted = partial(grouped, group_list_type=1)
plain = partial(call, smooth_scales=P[0], offsets=P[0])

PARAMETER = Takes("float32.", "expected 1 or 2.", "np.float32", optional=True)
TAKES = {
    "x": Takes(FLOATS, "expected 2 to 8."),
    "smooth_scales": PARAMETER,
    "offsets": PARAMETER,
    "group_index": Takes("int32.", "expected 1.", "np.int32", optional=True),
}
WIDTH = "the number of elements of a row of y"


def index(*entries: int) -> dict[str, np.ndarray]:
    return {"group_index": np.array(entries, np.int32)}


# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(grouped, TAKES),
    *of_results(plain, {"y": Y, "scale": S}),
    *of_kinds(call, optional=("dst_type",), activate_left=BOOL, quant_mode=INT, group_list_type=INT, dst_type=FORMAT),
    ("int32", lambda: call(x=X.astype(np.int32)), DTypeError, 161002, "x has dtype int32, expected float16, bfloat16 or float32."),
    ("rank 1", lambda: call(x=X[0]), ParamError, 161002, "x has 1 dimension, expected 2 to 8. Give it two axes, e.g. with x.reshape(1, -1)."),
    ("smooth float16", lambda: plain(smooth_scales=X[0, :4]), DTypeError, 161002, "smooth_scales has dtype float16, expected float32. Convert it, e.g. with smooth_scales.astype(np.float32)."),
    ("smooth rank 0", lambda: plain(smooth_scales=P[0, 0, ...]), ParamError, 161002, "smooth_scales has 0 dimensions, expected 1 or 2."),
    ("group_index int64", lambda: grouped(group_index=ENDS.astype(np.int64)), DTypeError, 161002, "group_index has dtype int64, expected int32. Convert it, e.g. with group_index.astype(np.int32)."),
    *[(f"quant_mode {n}", lambda n=n: call(quant_mode=n), ParamError, 161002, f"quant_mode is {n}, expected 0 (by smooth_scales and offsets) or 1 (each row by its amax).") for n in (-1, 2, 2**62)],
    *[(f"group_list_type {n}", lambda n=n: call(group_list_type=n), ParamError, 161002, f"group_list_type is {n}, expected 0 (the end of each group) or 1 (the number of its rows).") for n in (-1, 2)],
    *[(f"dst_type {to}", lambda to=to: call(dst_type=to), ParamError, 161002, f"dst_type is {to}, available: int8, int4. Pass torch_npu's code (258, 285), a dtype or a dtype's name.") for to in ("uint8", "hifloat8", "float4_e2m1")],
    ("offsets alone", lambda: call(offsets=P[0]), ParamError, 161002, "smooth_scales is None, expected both or none of smooth_scales and offsets with quant_mode 0."),
    ("smooth_scales alone", lambda: call(smooth_scales=P[0]), ParamError, 161002, "offsets is None, expected both or none of smooth_scales and offsets with quant_mode 0."),
    ("offsets of multipliers", lambda: plain(quant_mode=1), ParamError, 161002, "offsets is given, expected None with quant_mode 1."),
    ("odd", lambda: call(x=X[:, :7]), ParamError, 161002, "x has shape (3, 7), expected a last axis of a multiple of 2, at most 8192, for int8."),
    ("int4", lambda: call(x=X[:, :6], dst_type="int4"), ParamError, 161002, "x has shape (3, 6), expected a last axis of a multiple of 4, at most 8192, for int4."),
    ("long", lambda: call(x=np.ones((1, 8194), np.float32)), ParamError, 161002, "x has shape (1, 8194), expected a last axis of a multiple of 2, at most 8192, for int8."),
    ("group_index empty", lambda: grouped(**index()), ParamError, 161002, "group_index has shape (0,), expected 1 or more entries."),
    ("group_index negative", lambda: grouped(**index(-1, 2)), ParamError, 161002, "group_index[0] is -1, expected at least 0: each entry is the row after its group, counted from the first row of x."),
    ("group_index decreasing", lambda: grouped(**index(2, 1)), ParamError, 161002, "group_index[1] is 1, expected at least 2"),
    ("group_index beyond", lambda: grouped(**index(0, 4)), ParamError, 161002, "group_index[1] is 4, expected at most 3, the number of rows of x."),
    ("counts negative", lambda: counted(**index(-1, 2)), ParamError, 161002, "group_index[0] is -1, expected 0 to 3: each entry is the number of rows of its group, and x has 3."),
    ("counts beyond", lambda: counted(**index(2, 2)), ParamError, 161002, "group_index[1] is 2, expected 0 to 1: each entry is the number of rows of its group, and x has 3."),
    *[(f"smooth {p.shape}", lambda p=p: grouped(smooth_scales=p, offsets=p), ParamError, 161002, f"smooth_scales has shape {p.shape}, expected (2, 4) or (2,)") for p in (P[0], P[:1], P[:, :3], P[0, :1])],
    *[(f"smooth alone {p.shape}", lambda p=p: call(smooth_scales=p, offsets=p), ParamError, 161002, f"smooth_scales has shape {p.shape}, expected (1, 4), (4,) or (1,)") for p in (P, P[0, :3], P[:1, :1])],
    ("offsets' shape", lambda: grouped(offsets=P[:, 0]), ParamError, 161002, "offsets has shape (2,), expected the shape of smooth_scales, (2, 4)."),
    ("out of int4", lambda: call(dst_type="int4", out=(Y, S)), ParamError, 161002, "out[y] has shape (3, 4), expected (3, 2)."),
    ("out scale shape", lambda: call(out=(Y, S[:, None])), ParamError, 161002, "out[scale] has shape (3, 1), expected (3,)."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
OTHERS = [
    ({"activate_left": 1}, TypeError, "activate_left is an int"),
    ({"quant_mode": 2}, ParamError, "quant_mode is 2"),
    ({"group_list_type": 2}, ParamError, "group_list_type is 2"),
    ({"dst_type": "uint8"}, ParamError, "dst_type is uint8"),
    ({"x": X[:, :7]}, ParamError, "x has shape (3, 7)"),
    ({"smooth_scales": P[:, :3]}, ParamError, "smooth_scales has shape (2, 3)"),
    ({"offsets": P[:1]}, ParamError, "offsets has shape (1, 4)"),
    ({"group_index": ENDS + 9}, ParamError, "group_index[0] is 10"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]
FAULTS = {OP: (grouped, [*faults_of(grouped, TAKES), *OTHERS])}

ACCEPTED = [
    {"quant_mode": 1, "smooth_scales": P[0]},
    {"quant_mode": np.int64(1), "smooth_scales": P[:1], "activate_left": True},
    {"smooth_scales": P[0, :1], "offsets": P[0, :1]},
    {"smooth_scales": P, "offsets": P, "group_index": ENDS},
    {"smooth_scales": P[:, 0], "offsets": P[:, 0], "group_index": ENDS, "group_list_type": 1},
    {"group_index": ENDS},
    {"dst_type": "torch.quint4x2"},
    {"dst_type": 1, "numerics": "reference"},
    {"out": (None, None)},
]
