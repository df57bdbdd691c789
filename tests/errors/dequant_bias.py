"""Every message of npu_dequant_bias, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import FORMAT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_dequant_bias

OP = "npu_dequant_bias"
X = np.ones((2, 4), np.int32)
W = np.ones(4, np.float32)
A = np.ones(2, np.float32)
Y = np.zeros((2, 4), np.float16)
UNWRITTEN = (Y,)
GIVEN: dict[str, Any] = {"x": X, "weight_scale": W, "activation_scale": A, "bias": W}
# Good arguments, and out, so that nothing may be written.
call = partial(npu_dequant_bias, **GIVEN, out=Y)
PER_COLUMN = "expected 1. It holds one element per column."
TAKES = {
    "x": Takes("int32.", "expected 2. Merge leading axes with x.reshape(-1, n).", "np.int32"),
    "weight_scale": Takes("float32 or bfloat16.", PER_COLUMN, "np.float32"),
    "activation_scale": Takes("float32.", "expected 1. It holds one element per row.", "np.float32", optional=True),
    "bias": Takes("int32, float32, float16 or bfloat16.", PER_COLUMN, "np.int32", optional=True),
}  # fmt: skip
COLUMNS = "expected (4,): an element for each column of x."

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    *of_kinds(call, optional=("output_dtype",), output_dtype=FORMAT),
    ("x int64", lambda: call(x=X.astype(np.int64)), DTypeError, 161002, "x has dtype int64, expected int32. Convert it, e.g. with x.astype(np.int32)."),
    ("x rank 1", lambda: call(x=X[0]), ParamError, 161002, "x has 1 dimension, expected 2. Give it two axes, e.g. with x.reshape(1, -1)."),
    ("x rank 3", lambda: call(x=X[None]), ParamError, 161002, "x has 3 dimensions, expected 2. Merge leading axes with x.reshape(-1, n)."),
    ("weight_scale float16", lambda: call(weight_scale=W.astype(np.float16)), DTypeError, 161002, "weight_scale has dtype float16, expected float32 or bfloat16. Convert it, e.g. with weight_scale.astype(np.float32)."),
    ("weight_scale of one", lambda: call(weight_scale=W[:1]), ParamError, 161002, f"weight_scale has shape (1,), {COLUMNS}"),
    ("weight_scale rank 2", lambda: call(weight_scale=W[None]), ParamError, 161002, f"weight_scale has 2 dimensions, {PER_COLUMN}"),
    ("activation_scale bfloat16", lambda: call(activation_scale=A.astype(ml_dtypes.bfloat16)), DTypeError, 161002, "activation_scale has dtype bfloat16, expected float32."),
    ("activation_scale of columns", lambda: call(activation_scale=W), ParamError, 161002, "activation_scale has shape (4,), expected (2,): an element for each row of x."),
    ("activation_scale rank 2", lambda: call(activation_scale=A[:, None]), ParamError, 161002, "activation_scale has 2 dimensions, expected 1. It holds one element per row."),
    ("bias int64", lambda: call(bias=W.astype(np.int64)), DTypeError, 161002, "bias has dtype int64, expected int32, float32, float16 or bfloat16."),
    ("bias of rows", lambda: call(bias=A), ParamError, 161002, f"bias has shape (2,), {COLUMNS}"),
    ("output_dtype", lambda: call(output_dtype=np.float32), ParamError, 161002, "output_dtype is float32, available: float16, bfloat16. Pass torch_npu's code (257, 283), a dtype or a dtype's name."),
    ("output_dtype of ACL", lambda: call(output_dtype=27), ParamError, 161002, "output_dtype is 27, available: float16, bfloat16."),
    ("out of another dtype", lambda: call(output_dtype="bfloat16"), DTypeError, 161002, "out has dtype float16, expected bfloat16."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"output_dtype": "int16"}, ParamError, "output_dtype is int16"),
    ({"weight_scale": W[:3]}, ParamError, "weight_scale has shape (3,)"),
    ({"activation_scale": A[:1]}, ParamError, "activation_scale has shape (1,)"),
    ({"bias": W[:2]}, ParamError, "bias has shape (2,)"),
    ({"out": Y.T}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"activation_scale": None},
    {"bias": None, "weight_scale": W.astype(ml_dtypes.bfloat16)},
    *({"bias": W.astype(dtype)} for dtype in (np.int32, np.float16, ml_dtypes.bfloat16)),
    *({"output_dtype": dtype} for dtype in (5, 257, 15, 283, np.float16, "bfloat16")),
    {"numerics": "reference"},
]
