"""Every message of npu_weight_quant_batchmatmul, the order of its checks, and what it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import FORMAT, INT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_weight_quant_batchmatmul

OP = "npu_weight_quant_batchmatmul"
X = np.ones((2, 64), np.float16)
W = np.ones((64, 8), np.int8)
S = np.ones(8, np.float16)
F = np.ones(8, np.float32)
Y = np.zeros((2, 8), np.int8)
FLOAT4 = np.zeros((64, 1), np.float32)
BYTES = np.full((2, 8), 127, np.uint8)
UNWRITTEN = (Y,)
GIVEN: dict[str, Any] = {"x": X, "weight": W, "antiquant_scale": S, "antiquant_offset": S}
GIVEN |= {"quant_scale": F, "quant_offset": F, "bias": F}
# Good arguments, and out, so that nothing may be written.
call = partial(npu_weight_quant_batchmatmul, **GIVEN, out=Y)
OF_X = "the dtype of x (float16). Convert it with antiquant_scale.astype(x.dtype)."
OF_SCALE = "the dtype of antiquant_scale (float16). Convert it with"
MERGE = "expected 1 or 2. Merge leading axes with {}.reshape(-1, n)."
TAKES = {
    "x": Takes("float16 or bfloat16.", "expected 2 to 8. Merge axes with x.reshape."),
    "weight": Takes("int8, int32 or float32.", "expected 2. Merge leading axes with weight.reshape(-1, n).", "np.int8"),
    "antiquant_scale": Takes(OF_X, MERGE.format("antiquant_scale")),
    "antiquant_offset": Takes(OF_SCALE, MERGE.format("antiquant_offset"), optional=True),
    "quant_scale": Takes("float32 or int64.", MERGE.format("quant_scale"), "np.float32", optional=True),
    "quant_offset": Takes("float32.", MERGE.format("quant_offset"), "np.float32", optional=True),
    "bias": Takes("float32 or the dtype of x (float16).", "expected 1. It holds one element per column.", "np.float32", optional=True),
}  # fmt: skip
COLUMNS = "expected (8,), (1, 8), (1,) or (1, 1): an element for each column of the product with weight of shape (64, 8), or one for all."
GROUPS = (
    "expected 0 (no groups) or a multiple of 32 less than 64, the length of the last axis of x."
)
float4 = partial(
    npu_weight_quant_batchmatmul, X, FLOAT4, antiquant_scale=BYTES, antiquant_group_size=32
)

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    *of_kinds(call, antiquant_group_size=INT, inner_precise=INT),
    *of_kinds(call, optional=("weight_dtype",), weight_dtype=FORMAT),
    ("x float32", lambda: call(x=X.astype(np.float32)), DTypeError, 161002, "x has dtype float32, expected float16 or bfloat16."),
    ("x rank 1", lambda: call(x=X[0]), ParamError, 161002, "x has 1 dimension, expected 2 to 8."),
    ("weight uint8", lambda: call(weight=W.astype(np.uint8)), DTypeError, 161002, "weight has dtype uint8, expected int8, int32 or float32."),
    ("weight of other rows", lambda: call(weight=W[:63]), ParamError, 161002, "weight has shape (63, 8), expected length 64 along axis -2: x of shape (2, 64) has 64 columns."),
    ("words of other rows", lambda: call(weight=W[:7, :1].astype(np.int32)), ParamError, 161002, "weight has shape (7, 1), expected length 64 (or 8 if it is packed) along axis -2: x of shape (2, 64) has 64 columns."),
    ("antiquant_scale float32", lambda: call(antiquant_scale=F), DTypeError, 161002, "antiquant_scale has dtype float32, expected the dtype of x (float16)."),
    ("antiquant_scale of float4", lambda: float4(antiquant_scale=S), DTypeError, 161002, "antiquant_scale has dtype float16, expected uint8 or float8_e8m0fnu."),
    ("antiquant_scale of others", lambda: call(antiquant_scale=S[:7]), ParamError, 161002, f"antiquant_scale has shape (7,), {COLUMNS}"),
    ("antiquant_scale in a column", lambda: call(antiquant_scale=S[:, None]), ParamError, 161002, f"antiquant_scale has shape (8, 1), {COLUMNS}"),
    ("antiquant_scale of a group", lambda: call(antiquant_group_size=32), ParamError, 161002, "antiquant_scale has shape (8,), expected (2, 8): a row for each 32 rows of weight of shape (64, 8)."),
    ("antiquant_offset of others", lambda: call(antiquant_offset=S[None]), ParamError, 161002, "antiquant_offset has shape (1, 8), expected the shape of antiquant_scale, (8,)."),
    ("antiquant_offset of float4", lambda: float4(antiquant_offset=BYTES), ParamError, 161002, "antiquant_offset is given, expected None: weight of float32 holds float4_e2m1."),
    ("quant_scale float16", lambda: call(quant_scale=S), DTypeError, 161002, "quant_scale has dtype float16, expected float32 or int64."),
    ("quant_scale of others", lambda: call(quant_scale=F[:3]), ParamError, 161002, f"quant_scale has shape (3,), {COLUMNS}"),
    ("quant_offset of others", lambda: call(quant_offset=F[:3]), ParamError, 161002, f"quant_offset has shape (3,), {COLUMNS}"),
    ("quant_offset alone", lambda: call(quant_scale=None), ParamError, 161002, "quant_scale is None, expected an array with quant_offset."),
    ("bias of others", lambda: call(bias=F[:1]), ParamError, 161002, "bias has shape (1,), expected (8,): an element for each column of the product with weight of shape (64, 8)."),
    *((f"antiquant_group_size {size}", partial(call, antiquant_group_size=size), ParamError, 161002, f"antiquant_group_size is {size}, {GROUPS}") for size in (-32, 1, 33, 64)),
    ("antiquant_group_size of few", lambda: call(x=X[:, :32], antiquant_group_size=32), ParamError, 161002, "antiquant_group_size is 32, expected 0 (no groups)."),
    ("antiquant_group_size of float4", lambda: float4(antiquant_group_size=0), ParamError, 161002, "antiquant_group_size is 0, expected 32 for float4_e2m1."),
    ("inner_precise", lambda: call(inner_precise=2), ParamError, 161002, "inner_precise is 2, expected 0 or 1, which give the same result."),
    ("weight_dtype", lambda: call(weight_dtype="int4"), ParamError, 161002, "weight_dtype is int4, expected None or the dtype of weight (int8)."),
    ("out of values", lambda: call(quant_scale=None, quant_offset=None), DTypeError, 161002, "out has dtype int8, expected float16."),
    ("a product of too many", lambda: npu_weight_quant_batchmatmul(np.broadcast_to(X[:1, :1], (2**30, 1)), np.broadcast_to(W[:1, :1], (1, 2**30)), S[:1]), ParamError, 161002, "x has shape (1073741824, 1), expected at most 4503599627370496 elements in the product with weight of shape (1, 1073741824)."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"antiquant_group_size": 5}, ParamError, "antiquant_group_size is 5"),
    ({"inner_precise": 3}, ParamError, "inner_precise is 3"),
    ({"weight_dtype": "int16"}, ParamError, "weight_dtype is int16"),
    ({"weight": W[1:]}, ParamError, "weight has shape (63, 8)"),
    ({"antiquant_scale": S[:3]}, ParamError, "antiquant_scale has shape (3,)"),
    ({"antiquant_offset": S[:1]}, ParamError, "antiquant_offset has shape (1,)"),
    ({"quant_scale": F[:2]}, ParamError, "quant_scale has shape (2,)"),
    ({"quant_offset": F[:2]}, ParamError, "quant_offset has shape (2,)"),
    ({"bias": F[:2]}, ParamError, "bias has shape (2,)"),
    ({"out": Y.T}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"antiquant_offset": None, "bias": None, "inner_precise": 1},
    {"bias": S, "antiquant_scale": S[:1], "antiquant_offset": S[:1], "quant_scale": F[:1]},
    {"quant_scale": np.ones((1, 8), np.int64), "quant_offset": None},
    {"antiquant_scale": np.stack([S, S]), "antiquant_offset": np.stack([S, S]), "antiquant_group_size": 32},
    {"weight": np.ones((64, 1), np.int32), "weight_dtype": "int4"},
    {"weight": np.ones((8, 8), np.int32), "weight_dtype": 285},
    {"weight": FLOAT4, "antiquant_scale": BYTES, "antiquant_offset": None, "antiquant_group_size": 32},
    {"weight": FLOAT4, "antiquant_scale": BYTES.view(ml_dtypes.float8_e8m0fnu), "antiquant_offset": None, "antiquant_group_size": 32, "weight_dtype": 296},
    *({"weight_dtype": dtype} for dtype in (1, 258, np.int8, "int8")),
    {"numerics": "reference"},
]  # fmt: skip
