"""Every message of npu_dynamic_block_quant, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import INT, NUMBER, PROFILES, STR, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_dynamic_block_quant

OP = "npu_dynamic_block_quant"
X = np.ones((2, 4), np.float16)
Y = np.zeros((2, 4), np.int8)
S = np.zeros(2, np.float32)
UNWRITTEN = (Y, S)
GIVEN = {"x": X}
call = partial(npu_dynamic_block_quant, **GIVEN)
hifloat8 = partial(npu_dynamic_block_quant, dst_type="hifloat8", round_mode="round")

TAKES = {
    "x": Takes(
        "float16, bfloat16 or float32.",
        "expected 2 or 3. Merge leading axes with x.reshape(-1, m, n).",
    )
}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES, 561002),
    *of_results(call, {"y": Y, "scale": S[:, None]}, 561002),
    ("tuple", lambda: npu_dynamic_block_quant(((1.0,),)), DTypeError, 161002, "x is a tuple, expected a numpy.ndarray."),
    ("rank 1", lambda: npu_dynamic_block_quant(X[0]), ParamError, 561002, "x has 1 dimension, expected 2 or 3. Give it two axes, e.g. with x.reshape(1, -1)."),
    ("rank 4", lambda: npu_dynamic_block_quant(X[None, None]), ParamError, 561002, "x has 4 dimensions, expected 2 or 3. Merge leading axes with x.reshape(-1, m, n)."),
    ("min_scale negative", lambda: npu_dynamic_block_quant(X, min_scale=-1), ParamError, 561002, "min_scale is -1, expected a number >= 0 that is finite in float32 (0 means no bound)."),
    ("min_scale tiny negative", lambda: npu_dynamic_block_quant(X, min_scale=-1e-60), ParamError, 561002, "min_scale is -1e-60, expected"),
    ("min_scale nan", lambda: npu_dynamic_block_quant(X, min_scale=np.nan), ParamError, 561002, "min_scale is nan, expected"),
    ("min_scale inf", lambda: npu_dynamic_block_quant(X, min_scale=np.inf), ParamError, 561002, "min_scale is inf, expected"),
    ("min_scale inf in float32", lambda: npu_dynamic_block_quant(X, min_scale=1e39), ParamError, 561002, "min_scale is 1e+39, expected"),
    *of_kinds(call, min_scale=NUMBER, round_mode=STR, row_block_size=INT, dst_type_max=NUMBER),
    ("round_mode", lambda: npu_dynamic_block_quant(X, round_mode="hybrid"), ParamError, 561002, "round_mode is 'hybrid', available: 'rint' or 'round'."),
    ("round_mode of int8", lambda: npu_dynamic_block_quant(X, round_mode="round"), ParamError, 561002, "round_mode is 'round', available: 'rint'."),
    ("round_mode of hifloat8", lambda: npu_dynamic_block_quant(X, dst_type=290), ParamError, 561002, "round_mode is 'rint', available for hifloat8: 'round' (ties away from zero)."),
    ("dst_type", lambda: npu_dynamic_block_quant(X, dst_type=2), ParamError, 561002, "dst_type is int16, available: int8"),
    ("dst_type of ACL", lambda: npu_dynamic_block_quant(X, dst_type=36), ParamError, 561002, "dst_type is "),
    ("int4 of 4 columns", lambda: npu_dynamic_block_quant(X, dst_type="int4"), ParamError, 561002, "x has shape (2, 4), expected a last axis of a multiple of 8"),
    ("row_block_size", lambda: npu_dynamic_block_quant(X, row_block_size=2), ParamError, 561002, "row_block_size is 2, available: 1, 64, 128, 256, 512."),
    ("row_block_size 0", lambda: npu_dynamic_block_quant(X, row_block_size=0), ParamError, 561002, "row_block_size is 0, available"),
    ("col_block_size negative", lambda: npu_dynamic_block_quant(X, col_block_size=-128), ParamError, 561002, "col_block_size is -128, available"),
    ("col_block_size", lambda: npu_dynamic_block_quant(X, col_block_size=32), ParamError, 561002, "col_block_size is 32, available: 64, 128, 192, 256."),
    ("col_block_size huge", lambda: npu_dynamic_block_quant(X, col_block_size=10**30), ParamError, 561002, "col_block_size is "),
    ("dst_type_max", lambda: npu_dynamic_block_quant(X, dst_type_max=15), ParamError, 561002, "dst_type_max is 15, available: 0.0 (other values need hifloat8)."),
    ("dst_type_max of hifloat8", lambda: hifloat8(X, dst_type_max=14), ParamError, 561002, "dst_type_max is 14, available: 0, 15, 56, 224, 32768."),
    ("dst_type_max nan", lambda: hifloat8(X, dst_type_max=np.nan), ParamError, 561002, "dst_type_max is nan, available"),
    ("numerics", lambda: npu_dynamic_block_quant(X, numerics=""), ParamError, 161002, f"numerics is '', available: {PROFILES}."),
    ("out shape", lambda: npu_dynamic_block_quant(X, out=(Y, S)), ParamError, 561002, "out[scale] has shape (2,), expected (2, 1)."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"min_scale": -1}, ParamError, "min_scale is -1"),
    ({"round_mode": "x"}, ParamError, "round_mode is 'x'"),
    ({"dst_type": np.int16}, ParamError, "dst_type is int16"),
    ({"row_block_size": 3}, ParamError, "row_block_size is 3"),
    ({"col_block_size": 3}, ParamError, "col_block_size is 3"),
    ({"dst_type_max": 1}, ParamError, "dst_type_max is 1"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]

ACCEPTED = [
    {"min_scale": np.float32(2)},
    {"min_scale": 2, "row_block_size": np.int64(1)},
    {"dst_type": "torch.int8"},
    {"dst_type": 292, "row_block_size": 128, "col_block_size": 192},
    {"dst_type": "ACL_HIFLOAT8", "round_mode": "round", "dst_type_max": 224},
    {"dst_type": "torch_npu.float8_e5m2", "dst_type_max": 0},
    {"x": X.view(np.recarray)},
    {"numerics": "reference"},
]
