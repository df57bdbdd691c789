"""Every message of npu_anti_mx_quant, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import INT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_anti_mx_quant

OP = "npu_anti_mx_quant"
X = np.ones((3, 40), ml_dtypes.float8_e4m3fn)
B = np.full((3, 1, 2), 127, np.uint8)
Y = np.zeros((3, 40), ml_dtypes.bfloat16)
UNWRITTEN = (Y,)
GIVEN: dict[str, Any] = {"x": X, "mxscale": B}
# Good arguments, and out, so that nothing may be written.
call = partial(npu_anti_mx_quant, **GIVEN, out=Y)
FORMATS = "float8_e5m2, float8_e4m3fn, float4_e2m1, float4_e1m2"

TAKES = {
    "x": Takes(
        "uint8, float8_e5m2 or float8_e4m3fn.",
        "expected 1 to 7. Merge axes with x.reshape.",
        "np.uint8",
    ),
    "mxscale": Takes("uint8 or float8_e8m0fnu.", "expected 3: x has 2 dimensions.", "np.uint8"),
}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    ("x int8", lambda: call(x=X.view(np.int8)), DTypeError, 161002, "x has dtype int8, expected uint8, float8_e5m2 or float8_e4m3fn."),
    ("x rank 0", lambda: call(x=X[0, 0, ...]), ParamError, 161002, "x has 0 dimensions, expected 1 to 7. Give it an axis with x.reshape(1)."),
    ("mxscale flat", lambda: call(mxscale=B.reshape(3, 2)), ParamError, 161002, "mxscale has 2 dimensions, expected 3: x has 2 dimensions."),
    ("mxscale float8", lambda: call(mxscale=B.view(ml_dtypes.float8_e4m3fn)), DTypeError, 161002, "mxscale has dtype float8_e4m3fn, expected uint8 or float8_e8m0fnu."),
    ("mxscale shape", lambda: call(mxscale=B[:, :, :1]), ParamError, 161002, "mxscale has shape (3, 1, 1), expected (3, 1, 2) for blocks of 32 along axis 1."),
    ("mxscale of another axis", lambda: call(axis=0), ParamError, 161002, "mxscale has shape (3, 1, 2), expected (1, 40, 2) for blocks of 32 along axis 0."),
    ("mxscale of float4", lambda: call(x=X.view(np.uint8), src_type=296), ParamError, 161002, "mxscale has shape (3, 1, 2), expected (3, 2, 2) for blocks of 32 along axis 1."),
    ("axis", lambda: call(axis=2), ParamError, 161002, "axis is 2, expected -2 to 1: x has 2 dimensions."),
    *of_kinds(call, optional=("axis",), axis=INT),
    ("dst_type", lambda: call(dst_type=np.int8), ParamError, 161002, "dst_type is int8, available: float32, float16, bfloat16."),
    ("dst_type of ACL", lambda: call(dst_type=27), ParamError, 161002, "dst_type is "),
    ("src_type", lambda: call(src_type="hifloat8"), ParamError, 161002, f"src_type is hifloat8, available: {FORMATS}."),
    ("src_type of others", lambda: call(src_type=291), ParamError, 161002, "src_type is float8_e5m2, expected float8_e4m3fn for x of float8_e4m3fn."),
    ("src_type None", lambda: call(src_type=None), ParamError, 161002, "src_type is float4_e2m1, expected float8_e4m3fn for x of float8_e4m3fn."),
    ("src_type of uint8", lambda: call(x=X.view(np.uint8)), ParamError, 161002, "src_type is float8_e4m3fn, expected float4_e2m1 or float4_e1m2 for x of uint8."),
    ("numerics", lambda: call(numerics=""), ParamError, 161002, "numerics is '', available: reference."),
    ("out float32", lambda: call(dst_type=6), DTypeError, 161002, "out has dtype bfloat16, expected float32."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"axis": 7}, ParamError, "axis is 7"),
    ({"dst_type": np.int16}, ParamError, "dst_type is int16"),
    ({"src_type": np.int16}, ParamError, "src_type is int16"),
    ({"mxscale": B[:, :, :1]}, ParamError, "mxscale has shape"),
    ({"out": Y[0]}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"axis": None, "dst_type": None},
    {"axis": np.int64(-1), "src_type": ml_dtypes.float8_e4m3fn},
    {"mxscale": B.view(ml_dtypes.float8_e8m0fnu), "dst_type": "bfloat16"},
    {"src_type": 24, "dst_type": 283},
    {"numerics": "reference"},
]
