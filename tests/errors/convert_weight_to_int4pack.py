"""Every message of npu_convert_weight_to_int4pack, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from errors.common import INT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_convert_weight_to_int4pack

OP = "npu_convert_weight_to_int4pack"
WEIGHT = np.ones((2, 16), np.int32)
Y = np.zeros((2, 2), np.int32)
UNWRITTEN = (Y,)
GIVEN = {"weight": WEIGHT}
# Good arguments, and out, so that nothing may be written.
call = partial(npu_convert_weight_to_int4pack, **GIVEN, out=Y)
TAKES = {"weight": Takes("int32 or float32.", "expected 2 or 3.", "np.int32")}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    *of_kinds(call, inner_k_tiles=INT),
    *[(f"weight {np.dtype(kind)}", lambda kind=kind: call(weight=WEIGHT.astype(kind)), DTypeError, 161002, f"weight has dtype {np.dtype(kind)}, expected int32 or float32.") for kind in (np.int8, np.int64, np.float16, ml_dtypes.int4)],
    ("weight, one axis", lambda: call(weight=WEIGHT[0]), ParamError, 161002, "weight has 1 dimension, expected 2 or 3. Give it two axes, e.g. with weight.reshape(1, -1)."),
    ("weight, four axes", lambda: call(weight=WEIGHT[None, None]), ParamError, 161002, "weight has 4 dimensions, expected 2 or 3. Merge leading axes with weight.reshape(-1, m, n)."),
    ("last axis of int32", lambda: call(weight=WEIGHT[:, :12]), ParamError, 161002, "weight has shape (2, 12), expected a last axis of a multiple of 8: an element of int32 holds 8 codes of int4."),
    ("last axis of float32", lambda: call(weight=np.ones((2, 4), np.float32)), ParamError, 161002, "weight has shape (2, 4), expected a last axis of a multiple of 8: an element of float32 holds 8 codes of float4_e2m1."),
    *[(f"empty {shape}", lambda shape=shape: call(weight=np.zeros(shape, np.int32)), ParamError, 161002, f"weight has shape {shape}, expected no axis of length 0.") for shape in ((0, 8), (2, 0), (2, 0, 8))],
    ("out of float32", lambda: call(weight=WEIGHT.astype(np.float32)), DTypeError, 161002, "out has dtype int32, expected float32."),
    ("out unpacked", lambda: call(out=np.zeros((2, 16), np.int32)), ParamError, 161002, "out has shape (2, 16), expected (2, 2)."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"inner_k_tiles": "a"}, TypeError, "inner_k_tiles is a str"),
    ({"weight": WEIGHT[:, :9]}, ParamError, "weight has shape (2, 9)"),
    ({"out": Y.T[:1]}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"weight": WEIGHT[None]},
    {"weight": WEIGHT.astype(np.float32)},
    {"weight": WEIGHT.T.repeat(4, axis=1)},
    {"inner_k_tiles": -3},
    {"inner_k_tiles": np.int64(8)},
    {"numerics": "reference"},
]
