"""Every message of npu_quantize, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from errors.common import BOOL, FORMAT, INT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_quantize

OP = "npu_quantize"
X = np.ones((2, 4), np.float16)
S = np.ones(4, np.float32)
Z = np.ones(4, np.int32)
Y = np.zeros((2, 4), np.int8)
Y32 = np.zeros((2, 4), np.int32)
UNWRITTEN = (Y, Y32)
GIVEN = {"self": X, "scales": S, "zero_points": Z, "dtype": np.int8}
AVAILABLE = "available: int8, int4, hifloat8, float8_e5m2, float8_e4m3fn, uint8, int32."
CODES = f"{AVAILABLE} Pass torch_npu's code (258, 285, 290, 291, 292, 260, 259), a dtype or a dtype's name."
KIND = "expected an int code, a dtype or a dtype's name."
# Good arguments, and out, so that nothing may be written.
call = partial(npu_quantize, **GIVEN, out=Y)
products = partial(call, div_mode=False)


FLOATS = "float16, bfloat16 or float32."
TAKES = {
    "self": Takes(FLOATS, "expected 0 to 8."),
    "scales": Takes(FLOATS, "expected 0 to 8.", "np.float32"),
    "zero_points": Takes(
        "int8, uint8, int32, float16, bfloat16 or float32.",
        "expected 0 to 8.",
        "np.int32",
        optional=True,
    ),
}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    ("self int8", lambda: call(self=X.astype(np.int8)), DTypeError, 161002, "self has dtype int8, expected float16, bfloat16 or float32."),
    ("zero_points int16", lambda: call(zero_points=Z.astype(np.int16)), DTypeError, 161002, "zero_points has dtype int16, expected int8, uint8, int32, float16, bfloat16 or float32."),
    ("zero_points int64", lambda: call(zero_points=Z.astype(np.int64)), DTypeError, 161002, "zero_points has dtype int64, expected int8, uint8, int32, float16, bfloat16 or float32. Convert it, e.g. with zero_points.astype(np.int32)."),
    ("zero_points float64", lambda: call(zero_points=Z.astype(float)), DTypeError, 161002, "zero_points has dtype float64, expected int8, uint8, int32, float16, bfloat16 or float32. Convert it, e.g. with zero_points.astype(np.float32)."),
    ("zero_points bool", lambda: call(zero_points=Z.astype(bool)), DTypeError, 161002, "zero_points has dtype bool, expected int8"),
    ("dtype", lambda: call(dtype=np.int16), ParamError, 161002, f"dtype is int16, {CODES}"),
    ("dtype code", lambda: call(dtype=2), ParamError, 161002, f"dtype is int16, {AVAILABLE} Numbers below 256 are torch's codes; torch_npu's code of int8 is 258."),
    ("dtype float", lambda: call(dtype=np.float32), ParamError, 161002, f"dtype is float32, {AVAILABLE}"),
    ("dtype float8 of another kind", lambda: call(dtype=ml_dtypes.float8_e4m3), ParamError, 161002, "dtype is <class 'ml_dtypes.float8_e4m3'>, available: int8, int4"),
    ("dtype of ACL", lambda: call(dtype=29), ParamError, 161002, f"dtype is 29, {AVAILABLE} Numbers below 256 are torch's codes; torch_npu's code of int4 is 285."),
    ("int4, last axis", lambda: call(dtype=285), ParamError, 161002, "self has shape (2, 4), expected a last axis of a multiple of 8: an element of int32 holds 8 codes of int4."),
    ("int4, no axis", lambda: call(self=np.ones((), np.float16), scales=S[:1], zero_points=None, dtype="int4", out=None), ParamError, 161002, "self has shape (), expected a last axis of a multiple of 8"),
    ("int4, scales of elements", lambda: call(self=np.ones((2, 16), np.float16), scales=S[:2], zero_points=None, dtype="int4", out=None), ParamError, 161002, "scales has shape (2,), expected one element or (16,): the length of axis 1 of self."),
    ("int4, out", lambda: call(self=np.ones((2, 16), np.float16), scales=S[:1], zero_points=None, dtype="int4", out=Y32), ParamError, 161002, "out has shape (2, 4), expected (2, 2)."),
    ("dtype unknown", lambda: call(dtype="codes"), ParamError, 161002, f"dtype is 'codes', {CODES}"),
    ("dtype misspelt", lambda: call(dtype="torch.qunit8"), ParamError, 161002, f"dtype is 'torch.qunit8', {AVAILABLE} Did you mean uint8?"),
    ("dtype unknown code", lambda: call(dtype=-7), ParamError, 161002, f"dtype is -7, {CODES}"),
    *of_kinds(call, dtype=FORMAT, axis=INT, div_mode=BOOL),
    ("axis high", lambda: call(axis=3), ParamError, 161002, "axis is 3, expected -2 to 1: self has 2 dimensions."),
    ("axis low", lambda: call(axis=-3), ParamError, 161002, "axis is -3, expected -2 to 1: self has 2 dimensions."),
    ("axis huge", lambda: call(axis=10**30), ParamError, 161002, "axis is "),
    ("axis of zero_points", lambda: call(scales=S[:1], axis=2), ParamError, 161002, "axis is 2, expected -2 to 1: self has 2 dimensions."),
    ("axis of scales", lambda: call(zero_points=None, axis=2), ParamError, 161002, "axis is 2, expected -2 to 1: self has 2 dimensions."),
    ("axis of one dimension", lambda: call(self=X[0], out=None), ParamError, 161002, "axis is 1, expected -1 to 0: self has 1 dimension"),
    ("axis of products", lambda: products(self=np.ones((2, 2, 4), np.float16), axis=-3, out=None), ParamError, 161002, "axis is -3, available with div_mode=False: -1 or -2."),
    ("axis of products, one dimension", lambda: products(self=X[0], axis=-2, out=None), ParamError, 161002, "axis is -2, expected -1 to 0: self has 1 dimension"),
    ("scales shape", lambda: call(scales=S[:3]), ParamError, 161002, "scales has shape (3,), expected one element or (4,): the length of axis 1 of self."),
    ("scales shape, axis", lambda: call(axis=-2), ParamError, 161002, "scales has shape (4,), expected one element or (2,): the length of axis -2 of self."),
    ("scales empty", lambda: call(scales=S[:0]), ParamError, 161002, "scales has shape (0,), expected one element or (4,): the length of axis 1 of self."),
    ("scales ranked", lambda: call(scales=S[None]), ParamError, 161002, "scales has shape (1, 4), expected one element or (4,): the length of axis 1 of self."),
    ("scales of self", lambda: call(scales=X), ParamError, 161002, "scales has shape (2, 4), expected one element or (4,): the length of axis 1 of self."),
    ("scales of no dimensions", lambda: call(self=np.ones((), np.float16), scales=S[:3], zero_points=None, out=None), ParamError, 161002, "axis is 1, expected no axis: self has 0 dimensions."),
    ("zero_points shape", lambda: call(zero_points=Z[:3]), ParamError, 161002, "zero_points has shape (3,), expected one element or (4,): the length of axis 1 of self."),
    ("zero_points ranked", lambda: call(zero_points=Z[None]), ParamError, 161002, "zero_points has shape (1, 4), expected one element or (4,): the length of axis 1 of self."),
    ("zero_points, one scale", lambda: call(scales=S[:1], zero_points=Z[:3]), ParamError, 161002, "zero_points has shape (3,), expected one element or (4,)"),
    ("products, shape", lambda: products(scales=S[:3], axis=-1), ParamError, 161002, "scales has shape (3,), expected one element, (4,) or (1, 4): the length of axis -1 of self."),
    ("products, last axis", lambda: products(scales=S[:2], axis=0), ParamError, 161002, "scales has shape (2,), expected one element, (4,) or (1, 4): the length of axis -1 of self."),
    ("products, other axis", lambda: products(scales=S[:2, None]), ParamError, 161002, "scales has shape (2, 1), expected one element, (4,) or (1, 4): the length of axis -1 of self."),
    ("products, axis -2", lambda: products(scales=S[None], axis=-2), ParamError, 161002, "scales has shape (1, 4), expected one element, (2,) or (2, 1): the length of axis -2 of self."),
    ("products, zero_points", lambda: products(zero_points=np.ones((2, 4), np.int32), axis=-1), ParamError, 161002, "zero_points has shape (2, 4), expected one element, (4,) or (1, 4): the length of axis -1 of self."),
    ("products, rank", lambda: products(scales=S[None, None]), ParamError, 161002, "scales has shape (1, 1, 4), expected one element, (4,) or (1, 4): the length of axis -1 of self."),
    ("products, one dimension", lambda: products(self=X[0], scales=S[:3], axis=-1, out=None), ParamError, 161002, "scales has shape (3,), expected one element or (4,): the length of axis -1 of self."),
    ("out dtype", lambda: call(dtype=np.uint8), DTypeError, 161002, "out has dtype int8, expected uint8."),
    ("out dtype int32", lambda: call(dtype="qint32"), DTypeError, 161002, "out has dtype int8, expected int32."),
    ("out int32 for int8", lambda: call(out=Y32), DTypeError, 161002, "out has dtype int32, expected int8."),
    ("out int64", lambda: call(out=Y.astype(np.int64)), DTypeError, 161002, "out has dtype int64, expected int8."),
    ("out shape", lambda: call(out=Y.T), ParamError, 161002, "out has shape (4, 2), expected (2, 4)."),
    ("out in place", lambda: (lambda x: call(self=x.view(np.float32), dtype="int32", out=x))(np.ones((2, 4), np.int32)), ParamError, 161002, "out shares memory with self. Pass a fresh array."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"dtype": "int16"}, ParamError, "dtype is int16"),
    ({"scales": S[:3]}, ParamError, "scales has shape"),
    ({"zero_points": Z[:3]}, ParamError, "zero_points has shape"),
    ({"out": Y.T}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"div_mode": np.False_},
    {"div_mode": np.True_, "axis": np.int64(-1)},
    {"axis": 99, "scales": S[:1], "zero_points": None},
    {"axis": 99, "div_mode": False},
    {"zero_points": None},
    {"zero_points": np.ones((), ml_dtypes.bfloat16)},
    {"self": X.view(np.recarray)},
    {"numerics": "reference"},
    *({"dtype": dtype} for dtype in ("hifloat8", 291, ml_dtypes.float8_e4m3fn)),
    {
        "dtype": "torch.quint4x2",
        "self": np.ones((2, 8), np.float16),
        "scales": S[:1],
        "zero_points": None,
    },
]
