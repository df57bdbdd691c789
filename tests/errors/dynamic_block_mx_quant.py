"""What npu_dynamic_block_mx_quant refuses; the attributes it shares, with their own limits."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from errors.common import FORMAT, INT, NUMBER, STR, Takes, of_arrays, of_kinds, of_results
from errors.dynamic_mx_quant import FORMATS
from npu_quant import DTypeError, ParamError, npu_dynamic_block_mx_quant

OP = "npu_dynamic_block_mx_quant"
X = np.ones((65, 4), np.float16)
Y = np.zeros((65, 2), np.uint8)
S1 = np.zeros((65, 1, 2), np.uint8)
S2 = np.zeros((2, 4, 2), np.uint8)
UNWRITTEN = (Y, S1, S2)
GIVEN = {"input": X}
call = partial(npu_dynamic_block_mx_quant, **GIVEN)

TAKES = {
    "input": Takes(
        "float16, bfloat16 or float32.",
        "expected 2 or 3. Merge leading axes with input.reshape(-1, m, n).",
    )
}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"y": Y, "scale1": S1, "scale2": S2}),
    ("rank 1", lambda: call(input=X[0]), ParamError, 161002, "input has 1 dimension, expected 2 or 3. Give it two axes, e.g. with input.reshape(1, -1)."),
    ("rank 4", lambda: call(input=X[None, None]), ParamError, 161002, "input has 4 dimensions, expected 2 or 3. Merge leading axes with input.reshape(-1, m, n)."),
    ("round_mode", lambda: call(round_mode="ceil"), ParamError, 161002, "round_mode is 'ceil', available: 'rint', 'round' or 'floor'."),
    ("round_mode of float8", lambda: call(dst_type=292, round_mode="floor"), ParamError, 161002, "round_mode is 'floor', available for float8_e4m3fn: 'rint'."),
    *of_kinds(call, optional=("dst_type", "scale_alg", "dst_type_max"), round_mode=STR, dst_type=FORMAT, scale_alg=INT, dst_type_max=NUMBER),
    ("dst_type", lambda: call(dst_type=np.int8), ParamError, 161002, f"dst_type is int8, available: {FORMATS}. Pass torch_npu's code (291, 292, 296, 297), a dtype or a dtype's name."),
    *[(f"scale_alg {alg} of {to}", lambda alg=alg, to=to: call(dst_type=to, scale_alg=alg), ParamError, 161002, f"scale_alg is {alg}, available for {to}: {others}.") for alg, to, others in ((1, "float8_e4m3fn", "0"), (2, "float8_e5m2", "0"), (1, "float4_e2m1", "0, 2"), (2, "float4_e1m2", "0"), (-1, "float4_e2m1", "0, 2"))],
    *[(f"dst_type_max {top}", lambda top=top: call(scale_alg=2, dst_type_max=top), ParamError, 161002, f"dst_type_max is {top:g}, available: 0, 6, 7.") for top in (5.9, 6.5, 8, 12, -6, np.nan, np.inf)],
    ("dst_type_max ignored", lambda: call(dst_type_max=6), ParamError, 161002, "dst_type_max is 6, available: 0.0 (other values need scale_alg 2)."),
    ("odd last axis", lambda: call(input=X[:, :3]), ParamError, 161002, "input has shape (65, 3), expected a last axis of a multiple of 2: an element of uint8 holds 2 codes of float4_e2m1."),
    ("out of float8", lambda: call(dst_type=292, out=(Y, S1, S2)), DTypeError, 161002, "out[y] has dtype uint8, expected float8_e4m3fn."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"round_mode": "x"}, ParamError, "round_mode is 'x'"),
    ({"dst_type": np.int16}, ParamError, "dst_type is int16"),
    ({"scale_alg": 1}, ParamError, "scale_alg is 1"),
    ({"dst_type_max": 1}, ParamError, "dst_type_max is 1"),
    ({"input": X[:, :3]}, ParamError, "input has shape (65, 3)"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]

ACCEPTED = [
    {"scale_alg": None, "dst_type_max": None},
    {"scale_alg": np.int64(2), "dst_type_max": np.float32(7)},
    {"scale_alg": 2, "dst_type_max": 6},
    {"dst_type": "torch.float4_e2m1fn_x2", "round_mode": "floor"},
    {"dst_type": ml_dtypes.float4_e2m1fn, "round_mode": "round"},
    {"dst_type": "ACL_FLOAT4_E1M2"},
    {"dst_type": 24},
    {"input": X.view(np.recarray)},
    {"numerics": "reference"},
]
