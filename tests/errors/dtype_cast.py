"""Every message of npu_dtype_cast, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from errors.common import FORMAT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_dtype_cast

OP = "npu_dtype_cast"
X = np.ones((2, 4), np.float32)
Y = np.zeros((2, 4), np.float16)
UNWRITTEN = (Y,)
GIVEN = {"self": X, "dtype": np.float16}
DTYPES = "float16, bfloat16, float32, int32, uint8, float8_e5m2, float8_e4m3fn or float8_e8m0fnu."
AVAILABLE = "available: float32, float16, bfloat16, int4, hifloat8, float8_e5m2, float8_e4m3fn, float8_e8m0fnu, float4_e2m1, float4_e1m2."
IN_BYTES = "expected hifloat8, float8_e8m0fnu, float4_e2m1 or float4_e1m2 for self of uint8."
KIND = "expected an int code, a dtype or a dtype's name."
# Good arguments, and out, so that nothing may be written.
call = partial(npu_dtype_cast, **GIVEN, out=Y)
TAKES = {"self": Takes(DTYPES, "expected 0 to 8.")}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    *[(f"self {np.dtype(kind)}", lambda kind=kind: call(self=X.astype(kind)), DTypeError, 161002, f"self has dtype {np.dtype(kind)}, expected {DTYPES}") for kind in (np.float64, np.int8, np.int64, bool, ml_dtypes.int4)],
    ("dtype", lambda: call(dtype=np.int32), ParamError, 161002, f"dtype is int32, {AVAILABLE} Pass torch_npu's code (256, 257, 283, 285, 290, 291, 292, 293, 296, 297), a dtype or a dtype's name."),
    ("dtype of ACL", lambda: call(dtype=1), ParamError, 161002, f"dtype is int8, {AVAILABLE} Numbers below 256 are torch's codes; torch_npu's code of float16 is 257."),
    ("dtype unknown", lambda: call(dtype="float9"), ParamError, 161002, f"dtype is 'float9', {AVAILABLE}"),
    *of_kinds(call, optional=("input_dtype",), dtype=FORMAT, input_dtype=FORMAT),
    ("input_dtype", lambda: call(input_dtype="float16"), ParamError, 161002, "input_dtype is float16, expected float32 for self of float32."),
    ("input_dtype unknown", lambda: call(input_dtype=-1), ParamError, 161002, "input_dtype is -1, expected float32 for self of float32."),
    ("uint8 without input_dtype", lambda: call(self=X.astype(np.uint8)), ParamError, 161002, f"input_dtype is None, {IN_BYTES}"),
    ("uint8 as numbers", lambda: call(self=X.astype(np.uint8), input_dtype=np.uint8), ParamError, 161002, f"input_dtype is uint8, {IN_BYTES}"),
    ("uint8 as float8", lambda: call(self=X.astype(np.uint8), input_dtype=292), ParamError, 161002, f"input_dtype is float8_e4m3fn, {IN_BYTES}"),
    ("float32 as float4", lambda: call(input_dtype=296), ParamError, 161002, "input_dtype is float4_e2m1, expected float32 for self of float32."),
    ("scales as hifloat8", lambda: call(self=X.astype(ml_dtypes.float8_e8m0fnu), input_dtype=290), ParamError, 161002, "input_dtype is hifloat8, expected float8_e8m0fnu for self of float8_e8m0fnu."),
    ("float4 unpacked", lambda: call(self=X.astype(ml_dtypes.float4_e2m1fn)), DTypeError, 161002, f"self has dtype float4_e2m1fn, expected {DTYPES} Pass npu_quant.formats.pack_fp4(self)."),
    ("int32 without input_dtype", lambda: call(self=X.astype(np.int32)), ParamError, 161002, "input_dtype is None, expected int4 for self of int32."),
    ("int32 as numbers", lambda: call(self=X.astype(np.int32), input_dtype=259), ParamError, 161002, "input_dtype is int32, expected int4 for self of int32."),
    ("int4, last axis", lambda: call(dtype="int4"), ParamError, 161002, "self has shape (2, 4), expected a last axis of a multiple of 8: an element of int32 holds 8 codes of int4."),
    ("int4, no axis", lambda: call(self=np.array(3, np.float32), dtype="int4"), ParamError, 161002, "self has shape (), expected a last axis of a multiple of 8"),
    ("from int4, no axis", lambda: call(self=np.ones((), np.int32), input_dtype="int4"), ParamError, 161002, "self has 0 dimensions, expected 1 to 8."),
    ("float4, last axis", lambda: call(self=X[:, :3], dtype=297), ParamError, 161002, "self has shape (2, 3), expected a last axis of a multiple of 2: an element of uint8 holds 2 codes of float4_e1m2."),
    ("float4, no axis", lambda: call(self=np.array(3, np.float32), dtype=296), ParamError, 161002, "self has shape (), expected a last axis of a multiple of 2"),
    ("from float4, no axis", lambda: call(self=np.ones((), np.uint8), input_dtype=296), ParamError, 161002, "self has 0 dimensions, expected 1 to 8."),
    ("from float4 to int4", lambda: call(self=np.ones((2, 3), np.uint8), input_dtype=296, dtype="int4"), ParamError, 161002, "self has shape (2, 6), expected a last axis of a multiple of 8"),
    ("codes beyond an int64", lambda: call(self=np.broadcast_to(np.uint8(0), (0, 2**62)), input_dtype=296), ParamError, 161002, "self has shape (0, 4611686018427387904), expected at most 4503599627370496 elements, counting axes of length 0 as 1."),
    ("out of float4", lambda: call(self=X.astype(np.uint8), input_dtype=297), ParamError, 161002, "out has shape (2, 4), expected (2, 8)."),
    ("out of int4", lambda: call(self=X.astype(np.int32), input_dtype="int4"), ParamError, 161002, "out has shape (2, 4), expected (2, 32)."),
    ("out dtype", lambda: call(dtype="hifloat8"), DTypeError, 161002, "out has dtype float16, expected uint8."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    (
        {"self": np.broadcast_to(X[0, 0], (2**60,))},
        ParamError,
        "self has shape (1152921504606846976,)",
    ),
    ({"dtype": "int16"}, ParamError, "dtype is int16"),
    ({"input_dtype": "int16"}, ParamError, "input_dtype is int16"),
    ({"out": Y.T}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"dtype": "torch.bfloat16"},
    {"dtype": 256, "input_dtype": np.float32},
    {"dtype": "hifloat8", "self": X.view(np.recarray)},
    {"dtype": 292, "self": X.astype(ml_dtypes.float8_e5m2), "input_dtype": 23},
    {"dtype": 285, "self": np.ones((3, 8), np.float16)},
    {"self": X.astype(np.int32), "input_dtype": "torch_npu.int4"},
    {"self": X.astype(np.uint8), "input_dtype": 290},
    {"self": X.astype(np.uint8), "input_dtype": "torch.float4_e2m1fn_x2"},
    {"self": X.astype(np.uint8), "input_dtype": "float8_e8m0fnu"},
    {"dtype": ml_dtypes.float4_e2m1fn},
    {"dtype": 297, "self": np.ones((3, 2), np.float16)},
    {"dtype": 44, "self": X.astype(ml_dtypes.float8_e8m0fnu)},
    {"self": np.array(3, np.float32)},
    {"numerics": "reference"},
]
