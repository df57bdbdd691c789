"""Every message of npu_dual_level_quant_matmul, the order of its checks, the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import FORMAT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_dual_level_quant_matmul

OP = "npu_dual_level_quant_matmul"
# M is 2, N is 3 and K is 40.
X1, X2 = np.zeros((2, 20), np.uint8), np.zeros((3, 20), np.uint8)
UPPER1, UPPER2 = np.ones((2, 1), np.float32), np.ones((1, 3), np.float32)
LOWER1, LOWER2 = np.full((2, 1, 2), 127, np.uint8), np.full((3, 1, 2), 127, np.uint8)
BIAS = np.ones(3, np.float32)
Y = np.zeros((2, 3), ml_dtypes.bfloat16)
UNWRITTEN = (Y,)
GIVEN: dict[str, Any] = {
    "x1": X1,
    "x2": X2,
    "x1_level0_scale": UPPER1,
    "x2_level0_scale": UPPER2,
    "x1_level1_scale": LOWER1,
    "x2_level1_scale": LOWER2,
    "bias": BIAS,
}
# Good arguments, and out, so that nothing may be written.
call = partial(npu_dual_level_quant_matmul, **GIVEN, out=Y)
CODES = Takes("uint8.", "expected 2. Each byte holds two codes along k.", "np.uint8")
UPPER = Takes("float32.", "expected 2.", "np.float32")
LOWER = Takes(
    "uint8 or float8_e8m0fnu.",
    "expected 3. Its last axis holds the bytes of two blocks of 32.",
    "np.uint8",
)
TAKES = {
    "x1": CODES,
    "x2": CODES,
    "x1_level0_scale": UPPER,
    "x2_level0_scale": UPPER,
    "x1_level1_scale": LOWER,
    "x2_level1_scale": LOWER,
    "bias": Takes(
        "float32.", "expected 1. It holds one element per column.", "np.float32", optional=True
    ),
}
OF_LEVEL = "an element for each 512 codes along k of"
OF_BLOCKS = "a byte for each block of 32 along k, in pairs, for"
OF_X1, OF_X2 = "x1 of shape (2, 20).", "x2 of shape (3, 20)."

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    *of_kinds(call, optional=("output_dtype",), output_dtype=FORMAT),
    ("x1 int8", lambda: call(x1=X1.view(np.int8)), DTypeError, 161002, "x1 has dtype int8, expected uint8."),
    ("x2 of another k", lambda: call(x2=X2[:, 1:]), ParamError, 161002, "x2 has shape (3, 19), expected (n, 20), with rows as long as in x1 of shape (2, 20)."),
    ("x2 not transposed", lambda: call(x2=X2.T), ParamError, 161002, "x2 has shape (20, 3), expected (n, 20)"),
    ("x1_level0_scale", lambda: call(x1_level0_scale=UPPER1.T), ParamError, 161002, f"x1_level0_scale has shape (1, 2), expected (2, 1): {OF_LEVEL} {OF_X1}"),
    ("x2_level0_scale", lambda: call(x2_level0_scale=UPPER2.T), ParamError, 161002, f"x2_level0_scale has shape (3, 1), expected (1, 3): {OF_LEVEL} {OF_X2}"),
    ("x1_level1_scale", lambda: call(x1_level1_scale=LOWER2), ParamError, 161002, f"x1_level1_scale has shape (3, 1, 2), expected (2, 1, 2): {OF_BLOCKS} {OF_X1}"),
    ("x2_level1_scale", lambda: call(x2_level1_scale=LOWER1), ParamError, 161002, f"x2_level1_scale has shape (2, 1, 2), expected (3, 1, 2): {OF_BLOCKS} {OF_X2}"),
    ("level0 float16", lambda: call(x1_level0_scale=UPPER1.astype(np.float16)), DTypeError, 161002, "x1_level0_scale has dtype float16, expected float32. Convert it"),
    ("too large", lambda: call(x1=np.broadcast_to(X1[:1, :0], (2**50, 0)), x2=np.broadcast_to(X2[:1, :0], (8, 0))), ParamError, 161002, f"x1 has shape ({2**50}, 0), expected at most {2**52} elements in the product with x2 of shape (8, 0)."),
    ("bias", lambda: call(bias=BIAS[:2]), ParamError, 161002, f"bias has shape (2,), expected (3,): an element for each column of the product with {OF_X2}"),
    ("output_dtype", lambda: call(output_dtype=np.float32), ParamError, 161002, "output_dtype is float32, available: float16, bfloat16."),
    ("out of another dtype", lambda: call(output_dtype="float16"), DTypeError, 161002, "out has dtype bfloat16, expected float16."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"output_dtype": "int16"}, ParamError, "output_dtype is int16"),
    ({"x2": X2[:, :3]}, ParamError, "x2 has shape (3, 3)"),
    ({"x1_level0_scale": UPPER1[:1]}, ParamError, "x1_level0_scale has shape (1, 1)"),
    ({"x2_level0_scale": UPPER2[:, :1]}, ParamError, "x2_level0_scale has shape (1, 1)"),
    ({"x1_level1_scale": LOWER1[:1]}, ParamError, "x1_level1_scale has shape (1, 1, 2)"),
    ({"x2_level1_scale": LOWER2[:1]}, ParamError, "x2_level1_scale has shape (1, 1, 2)"),
    ({"bias": BIAS[:2]}, ParamError, "bias has shape (2,)"),
    ({"out": Y.T}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"bias": None},
    {"x1_level1_scale": LOWER1.view(ml_dtypes.float8_e8m0fnu)},
    *({"output_dtype": dtype} for dtype in (None, 5, 257, 15, 283, np.float16, "bfloat16")),
    {"numerics": "reference"},
]
