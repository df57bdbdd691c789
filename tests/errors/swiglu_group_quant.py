"""Every message of npu_swiglu_group_quant, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from errors.common import (
    BOOL,
    FORMAT,
    INT,
    NUMBER,
    Takes,
    faults_of,
    of_arrays,
    of_kinds,
    of_results,
)
from npu_quant import DTypeError, ParamError, npu_swiglu_group_quant

OP = "npu_swiglu_group_quant"
X = np.ones((3, 8), np.float16)
Y = np.zeros((3, 4), ml_dtypes.float8_e5m2)
S = np.zeros((3, 1), np.float32)
ORIGIN = np.zeros((3, 4), np.float16)
UNWRITTEN = (Y, S, ORIGIN)
GIVEN = {"x": X}
W = np.ones(3, np.float32)
COUNTS = np.array([1, 1])
call = partial(npu_swiglu_group_quant, **GIVEN)
whole = partial(call, weight=W, group_index=COUNTS, output_origin=True)
mx = partial(call, quant_mode=1, round_scale=True)

TAKES = {
    "x": Takes("float16 or bfloat16.", "expected 2 to 8."),
    "weight": Takes("float32.", "expected 0 to 8.", "np.float32", optional=True),
    "group_index": Takes("int64.", "expected 1. It holds the number of rows of each group.", "np.int64", optional=True),
}  # fmt: skip
AVAILABLE = "available: float8_e5m2, float8_e4m3fn."


def counts(*entries: int) -> dict[str, np.ndarray]:
    return {"group_index": np.array(entries, np.int64)}


# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(whole, TAKES),
    *of_results(whole, {"y": Y, "scale": S, "origin": ORIGIN}),
    *of_kinds(call, optional=("dst_type",), dst_type=FORMAT, quant_mode=INT, block_size=INT, round_scale=BOOL, clamp_limit=NUMBER, dst_type_max=NUMBER, output_origin=BOOL),
    ("float32", lambda: call(x=X.astype(np.float32)), DTypeError, 161002, "x has dtype float32, expected float16 or bfloat16."),
    ("rank 1", lambda: call(x=X[0]), ParamError, 161002, "x has 1 dimension, expected 2 to 8. Give it two axes, e.g. with x.reshape(1, -1)."),
    ("rank 8 of mx", lambda: mx(x=np.ones((1,) * 7 + (8,), np.float16)), ParamError, 161002, "x has 8 dimensions, expected 2 to 7."),
    ("weight float16", lambda: call(weight=W.astype(np.float16)), DTypeError, 161002, "weight has dtype float16, expected float32. Convert it, e.g. with weight.astype(np.float32)."),
    ("group_index int32", lambda: call(group_index=COUNTS.astype(np.int32)), DTypeError, 161002, "group_index has dtype int32, expected int64. Convert it, e.g. with group_index.astype(np.int64)."),
    ("group_index rank 2", lambda: call(group_index=COUNTS[None]), ParamError, 161002, "group_index has 2 dimensions, expected 1. It holds the number of rows of each group."),
    ("scale float64", lambda: call(scale=W.astype(float)), DTypeError, 161002, "scale has dtype float64, expected float32."),
    ("scale", lambda: call(scale=W), ParamError, 161002, "scale is given, expected None: it belongs to quant_mode 2, which is not available."),
    *[(f"dst_type {to}", lambda to=to: call(dst_type=to), ParamError, 161002, f"dst_type is {to}, {AVAILABLE} Pass torch_npu's code (291, 292), a dtype or a dtype's name.") for to in ("int8", "hifloat8", "float4_e2m1")],
    *[(f"quant_mode {n}", lambda n=n: call(quant_mode=n), ParamError, 161002, f"quant_mode is {n}, available: 0 (blocks of 128) or 1 (blocks of 32 with a power of 2).") for n in (-1, 2, 3, 2**62)],
    *[(f"block_size {n}", lambda n=n: call(block_size=n), ParamError, 161002, f"block_size is {n}, expected 0 or 128 with quant_mode 0.") for n in (32, 64, -128)],
    ("block_size of mx", lambda: mx(block_size=128), ParamError, 161002, "block_size is 128, expected 0 or 32 with quant_mode 1."),
    ("round_scale of mx", lambda: call(quant_mode=1), ParamError, 161002, "round_scale is False, expected True with quant_mode 1: its scales are powers of 2."),
    ("clamp_limit", lambda: call(clamp_limit=np.nan), ParamError, 161002, "clamp_limit is nan, expected a number above 0, or -1.0 for no limit."),
    ("dst_type_max", lambda: mx(dst_type_max=np.nan), ParamError, 161002, "dst_type_max is nan, expected a number, which has no effect with quant_mode 1."),
    ("odd", lambda: call(x=X[:, :7]), ParamError, 161002, "x has shape (3, 7), expected a last axis of a multiple of 2."),
    *[(f"weight of shape {w.shape}", lambda w=w: call(weight=w), ParamError, 161002, f"weight has shape {w.shape}, expected 3 elements, one for each row of x.") for w in (W[:2], W[0, ...], W[:0], np.ones((3, 2), np.float32))],
    ("no groups", lambda: call(**counts()), ParamError, 161002, "group_index has shape (0,), expected 1 or more entries."),
    ("negative count", lambda: call(**counts(1, -1)), ParamError, 161002, "group_index[1] is -1, expected 0 or more: each entry is the number of rows of its group."),
    ("out of float32 scales", lambda: mx(out=(Y, S, None)), DTypeError, 161002, "out[scale] has dtype float32, expected uint8."),
    ("out of e4m3fn", lambda: call(dst_type=292, out=(Y, S, None)), DTypeError, 161002, "out[y] has dtype float8_e5m2, expected float8_e4m3fn."),
    ("out without origin", lambda: call(out=(Y, S, ORIGIN)), ParamError, 161002, "out[origin] has shape (3, 4), expected (0,)."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
OTHERS = [
    ({"round_scale": 1}, TypeError, "round_scale is an int"),
    ({"scale": W}, ParamError, "scale is given"),
    ({"dst_type": "int8"}, ParamError, "dst_type is int8"),
    ({"quant_mode": 2}, ParamError, "quant_mode is 2"),
    ({"block_size": 3}, ParamError, "block_size is 3"),
    ({"clamp_limit": np.nan}, ParamError, "clamp_limit is nan"),
    ({"dst_type_max": np.nan}, ParamError, "dst_type_max is nan"),
    ({"x": X[:, :7]}, ParamError, "x has shape (3, 7)"),
    ({"weight": W[:2]}, ParamError, "weight has shape (2,)"),
    ({"group_index": COUNTS - 2}, ParamError, "group_index[0] is -1"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]
FAULTS = {OP: (whole, [*faults_of(whole, TAKES), *OTHERS])}

ACCEPTED = [
    {"weight": W[:, None], "group_index": COUNTS},
    {"weight": W.reshape(1, 3, 1), "block_size": 128},
    {"quant_mode": np.int64(1), "round_scale": True, "block_size": 32},
    {"clamp_limit": 0, "dst_type_max": 448.0},
    {"clamp_limit": np.inf, "dst_type_max": -1},
    {"dst_type": 24, "output_origin": True},
    {"dst_type": "torch.float8_e5m2", "numerics": "reference"},
    {"out": (None, None, None)},
]
