"""What npu_dynamic_mx_quant_with_dual_axis refuses; the attributes it shares, with their own names."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from errors.common import FORMAT, INT, NUMBER, STR, Takes, of_arrays, of_kinds, of_results
from errors.dynamic_mx_quant import FORMATS
from npu_quant import DTypeError, ParamError, npu_dynamic_mx_quant_with_dual_axis

OP = "npu_dynamic_mx_quant_with_dual_axis"
X = np.ones((65, 4), np.float16)
Y = np.zeros((65, 2), np.uint8)
S = np.zeros((65, 1, 2), np.uint8)
Y2 = np.zeros((65, 2), np.uint8)
S2 = np.zeros((2, 4, 2), np.uint8)
UNWRITTEN = (Y, S, Y2, S2)
GIVEN = {"input": X}
call = partial(npu_dynamic_mx_quant_with_dual_axis, **GIVEN)

TAKES = {
    "input": Takes(
        "float16, bfloat16 or float32.", "expected 2 to 7. Merge axes with input.reshape."
    )
}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"y1": Y, "mxscale1": S, "y2": Y2, "mxscale2": S2}),
    ("rank 0", lambda: call(input=X[0, 0, ...]), ParamError, 161002, "input has 0 dimensions, expected 2 to 7. Give it two axes, e.g. with input.reshape(1, -1)."),
    ("rank 1", lambda: call(input=X[0]), ParamError, 161002, "input has 1 dimension, expected 2 to 7. Give it two axes, e.g. with input.reshape(1, -1)."),
    ("rank 8", lambda: call(input=X.reshape(1, 1, 1, 1, 1, 1, 65, 4)), ParamError, 161002, "input has 8 dimensions, expected 2 to 7. Merge axes"),
    ("round_mode", lambda: call(round_mode="ceil"), ParamError, 161002, "round_mode is 'ceil', available: 'rint', 'round' or 'floor'."),
    ("round_mode of float8", lambda: call(dst_type=292, round_mode="floor"), ParamError, 161002, "round_mode is 'floor', available for float8_e4m3fn: 'rint'."),
    *of_kinds(call, optional=("dst_type", "scale_alg", "dst_type_max"), round_mode=STR, dst_type=FORMAT, scale_alg=INT, dst_type_max=NUMBER),
    ("dst_type", lambda: call(dst_type=np.int8), ParamError, 161002, f"dst_type is int8, available: {FORMATS}. Pass torch_npu's code (291, 292, 296, 297), a dtype or a dtype's name."),
    *[(f"scale_alg {alg} of {to}", lambda alg=alg, to=to: call(dst_type=to, scale_alg=alg), ParamError, 161002, f"scale_alg is {alg}, available for {to}: {others}.") for alg, to, others in ((2, "float8_e5m2", "0, 1"), (1, "float4_e2m1", "0, 2"), (2, "float4_e1m2", "0"), (-1, "float4_e1m2", "0"))],
    *[(f"dst_type_max {top}", lambda top=top: call(scale_alg=2, dst_type_max=top), ParamError, 161002, f"dst_type_max is {top:g}, expected 0 or a number from 6 to 12.") for top in (5.9, 12.1, -6, np.nan, np.inf)],
    ("dst_type_max ignored", lambda: call(dst_type_max=6), ParamError, 161002, "dst_type_max is 6, available: 0.0 (other values need scale_alg 2)."),
    ("odd last axis", lambda: call(input=X[:, :3]), ParamError, 161002, "input has shape (65, 3), expected a last axis of a multiple of 2: an element of uint8 holds 2 codes of float4_e2m1."),
    ("out of float8", lambda: call(dst_type=292, out=(Y, S, Y2, S2)), DTypeError, 161002, "out[y1] has dtype uint8, expected float8_e4m3fn."),
    ("out of two", lambda: call(out=(Y, S)), ParamError, 161002, "out has 2 entries, expected 4: (y1, mxscale1, y2, mxscale2), with None for an output that is not wanted."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"round_mode": "x"}, ParamError, "round_mode is 'x'"),
    ({"dst_type": np.int16}, ParamError, "dst_type is int16"),
    ({"scale_alg": 3}, ParamError, "scale_alg is 3"),
    ({"dst_type_max": 1}, ParamError, "dst_type_max is 1"),
    ({"input": X[:, :3]}, ParamError, "input has shape (65, 3)"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]

ACCEPTED = [
    {"scale_alg": None, "dst_type_max": None},
    {"scale_alg": np.int64(2), "dst_type_max": np.float32(8.5)},
    {"dst_type": "torch.float4_e2m1fn_x2", "round_mode": "floor"},
    {"dst_type": ml_dtypes.float4_e2m1fn, "round_mode": "round"},
    {"dst_type": "ACL_FLOAT4_E1M2"},
    {"dst_type": 24, "scale_alg": 1},
    {"input": X.view(np.recarray)},
    {"numerics": "reference"},
]
