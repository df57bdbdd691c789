"""What npu_grouped_dynamic_mx_quant refuses, and in which order."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import FORMAT, INT, NUMBER, STR, Takes, of_arrays, of_kinds, of_results
from errors.dynamic_mx_quant import FORMATS
from npu_quant import DTypeError, ParamError, npu_grouped_dynamic_mx_quant

OP = "npu_grouped_dynamic_mx_quant"
X = np.ones((2, 4), np.float16)
ENDS = np.array([1, 2], np.int32)
Y = np.zeros((2, 2), np.uint8)
S = np.zeros((2, 4, 2), np.uint8)
UNWRITTEN = (Y, S)
GIVEN = {"x": X, "group_index": ENDS}
call = partial(npu_grouped_dynamic_mx_quant, **GIVEN)
float4 = partial(call, dst_type="float4_e2m1")


def ends(*at: int) -> dict[str, np.ndarray]:
    return {"group_index": np.array(at, np.int32)}


TAKES = {
    "x": Takes(
        "float16, bfloat16 or float32.", "expected 2. Merge leading axes with x.reshape(-1, n)."
    ),
    "group_index": Takes("int32.", "expected 1. It holds the end of each group.", "np.int32"),
}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(float4, {"y": Y, "mxscale": S}),
    ("x rank 1", lambda: call(x=X[0]), ParamError, 161002, "x has 1 dimension, expected 2. Give it two axes, e.g. with x.reshape(1, -1)."),
    ("x rank 3", lambda: call(x=X[None]), ParamError, 161002, "x has 3 dimensions, expected 2. Merge leading axes with x.reshape(-1, n)."),
    ("group_index int64", lambda: call(group_index=ENDS.astype(np.int64)), DTypeError, 161002, "group_index has dtype int64, expected int32. Convert it, e.g. with group_index.astype(np.int32)."),
    ("group_index rank 0", lambda: call(group_index=ENDS[0, ...]), ParamError, 161002, "group_index has 0 dimensions, expected 1. It holds the end of each group."),
    ("group_index rank 2", lambda: call(group_index=ENDS[None]), ParamError, 161002, "group_index has 2 dimensions, expected 1. It holds the end of each group."),
    ("group_index empty", lambda: call(group_index=ENDS[:0]), ParamError, 161002, "group_index has shape (0,), expected 1 or more entries."),
    ("group_index negative", lambda: call(**ends(-1, 2)), ParamError, 161002, "group_index[0] is -1, expected at least 0: each entry is the row after its group, counted from the first row of x."),
    ("group_index decreasing", lambda: call(**ends(2, 1)), ParamError, 161002, "group_index[1] is 1, expected at least 2"),
    ("group_index short", lambda: call(**ends(0, 1)), ParamError, 161002, "group_index[1] is 1, expected 2, the number of rows of x."),
    ("group_index long", lambda: call(**ends(1, 2**31 - 1)), ParamError, 161002, "group_index[1] is 2147483647, expected 2, the number of rows of x."),
    ("round_mode", lambda: call(round_mode="ceil"), ParamError, 161002, "round_mode is 'ceil', available: 'rint', 'round' or 'floor'."),
    ("round_mode of float8", lambda: call(round_mode="floor"), ParamError, 161002, "round_mode is 'floor', available for float8_e5m2: 'rint'."),
    *of_kinds(call, optional=("dst_type", "scale_alg", "dst_type_max"), round_mode=STR, dst_type=FORMAT, blocksize=INT, scale_alg=INT, dst_type_max=NUMBER),
    ("dst_type", lambda: call(dst_type=np.int8), ParamError, 161002, f"dst_type is int8, available: {FORMATS}. Pass torch_npu's code (291, 292, 296, 297), a dtype or a dtype's name."),
    *[(f"blocksize {n}", lambda n=n: call(blocksize=n), ParamError, 161002, f"blocksize is {n}, available: 32.") for n in (0, 16, 64, -32)],
    *[(f"scale_alg {alg} of {to}", lambda alg=alg, to=to: call(dst_type=to, scale_alg=alg), ParamError, 161002, f"scale_alg is {alg}, available for {to}: 0, {other}.") for alg, to, other in ((2, "float8_e4m3fn", 1), (1, "float4_e2m1", 2), (1, "float4_e1m2", 2), (-1, "float8_e5m2", 1))],
    *[(f"dst_type_max {top}", lambda top=top: float4(scale_alg=2, dst_type_max=top), ParamError, 161002, f"dst_type_max is {top:g}, expected 0 or a number from 6 to 12.") for top in (5.9, 12.1, -6, np.nan, np.inf)],
    *[(f"dst_type_max {top} of e1m2", lambda top=top: call(dst_type=297, scale_alg=2, dst_type_max=top), ParamError, 161002, f"dst_type_max is {top:g}, expected 0 or a number from 1.75 to 3.5.") for top in (1.7, 3.6, 6)],
    ("dst_type_max ignored", lambda: float4(dst_type_max=6), ParamError, 161002, "dst_type_max is 6, available: 0.0 (other values need scale_alg 2)."),
    ("odd last axis", lambda: float4(x=X[:, :3]), ParamError, 161002, "x has shape (2, 3), expected a last axis of a multiple of 2: an element of uint8 holds 2 codes of float4_e2m1."),
    ("out of float8", lambda: call(out=(Y, S)), DTypeError, 161002, "out[y] has dtype uint8, expected float8_e5m2."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"round_mode": "x"}, ParamError, "round_mode is 'x'"),
    ({"dst_type": np.int16}, ParamError, "dst_type is int16"),
    ({"blocksize": 3}, ParamError, "blocksize is 3"),
    ({"scale_alg": 3}, ParamError, "scale_alg is 3"),
    ({"dst_type_max": 1}, ParamError, "dst_type_max is 1"),
    ({"x": X[:, :3], "dst_type": 296}, ParamError, "x has shape (2, 3)"),
    ({"group_index": ENDS[:0]}, ParamError, "group_index has shape (0,)"),
    ({"group_index": ENDS - 1}, ParamError, "group_index[1] is 1"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]

ACCEPTED = [
    ends(0, 0, 2, 2),
    {"scale_alg": None, "dst_type_max": None, "blocksize": np.int64(32)},
    {"scale_alg": 2, "dst_type_max": np.float32(8.5), "dst_type": 296},
    {"dst_type": "torch.float4_e2m1fn_x2", "round_mode": "floor"},
    {"dst_type": "ACL_FLOAT4_E1M2", "scale_alg": 2, "dst_type_max": 1.75},
    {"dst_type": 24, "scale_alg": 1},
    {"x": X.view(np.recarray)},
    {"numerics": "reference"},
]
