"""Every message of npu_add_rms_norm_quant, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from errors.common import BOOL, FORMAT, INT, NUMBER, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_add_rms_norm_quant

OP = "npu_add_rms_norm_quant"
X = np.ones((2, 4), np.float16)
G = np.ones(4, np.float16)
S = np.ones(4, np.float32)
Z = np.ones(4, np.int32)
Y1 = np.zeros((2, 4), np.int8)
Y2 = np.zeros((2, 4), np.int8)
SUM = np.zeros((2, 4), np.float16)
OUT = (Y1, Y2, SUM)
UNWRITTEN = OUT
GIVEN = {"x1": X, "x2": X, "gamma": G, "scales1": S, "zero_points1": Z, "beta": G, "scales2": S, "zero_points2": Z}  # fmt: skip
AVAILABLE = "available: int8, int4, hifloat8, float8_e5m2, float8_e4m3fn."
call = partial(npu_add_rms_norm_quant, **GIVEN)


ZEROS = "int32, float32 or the dtype of x1 (float16)."
TAKES = {
    "x1": Takes("float16, bfloat16 or float32.", "expected 1 to 8."),
    "x2": Takes("the dtype of x1 (float16).", "expected the shape of x1, (2, 4)."),
    "gamma": Takes("the dtype of x1 (float16).", "expected 1 to 8."),
    "scales1": Takes("float32 or the dtype of x1 (float16).", "expected 0 to 8.", "np.float32"),
    "zero_points1": Takes(ZEROS, "expected 0 to 8.", "np.int32", optional=True),
    "beta": Takes(
        "the dtype of x1 (float16).", "expected the shape of gamma, (4,).", optional=True
    ),
    "scales2": Takes(
        "float32 or the dtype of x1 (float16).", "expected 0 to 8.", "np.float32", optional=True
    ),
    "zero_points2": Takes(ZEROS, "expected 0 to 8.", "np.int32", optional=True),
}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, dict(zip(("y1", "y2", "x"), OUT, strict=True))),
    *[(f"{name} dtype", lambda name=name: call(**{name: GIVEN[name].astype(np.float32)}), DTypeError, 161002, f"{name} has dtype float32, expected the dtype of x1 (float16). Convert it with {name}.astype(x1.dtype).") for name in ("x2", "gamma", "beta")],
    ("gamma other 16 bits", lambda: call(gamma=G.astype(ml_dtypes.bfloat16)), DTypeError, 161002, "gamma has dtype bfloat16, expected the dtype of x1 (float16)."),
    *[(f"{name} dtype", lambda name=name: call(**{name: S.astype(np.float64)}), DTypeError, 161002, f"{name} has dtype float64, expected float32 or the dtype of x1 (float16).") for name in ("scales1", "scales2")],
    ("scales1 other 16 bits", lambda: call(scales1=S.astype(ml_dtypes.bfloat16)), DTypeError, 161002, "scales1 has dtype bfloat16, expected float32 or the dtype of x1 (float16)."),
    ("scales1 int", lambda: call(scales1=Z), DTypeError, 161002, "scales1 has dtype int32, expected float32 or the dtype of x1 (float16)."),
    ("scales1 dtype of float32", lambda: npu_add_rms_norm_quant(S, S, S, G, None), DTypeError, 161002, "scales1 has dtype float16, expected float32."),
    *[(f"{name} dtype", lambda name=name: call(**{name: Z.astype(np.int8)}), DTypeError, 161002, f"{name} has dtype int8, expected int32, float32 or the dtype of x1 (float16).") for name in ("zero_points1", "zero_points2")],
    ("zero_points1 int64", lambda: call(zero_points1=Z.astype(np.int64)), DTypeError, 161002, "zero_points1 has dtype int64, expected int32, float32 or the dtype of x1 (float16). Convert it, e.g. with zero_points1.astype(np.int32)."),
    ("zero_points1 other 16 bits", lambda: call(zero_points1=S.astype(ml_dtypes.bfloat16)), DTypeError, 161002, "zero_points1 has dtype bfloat16, expected int32, float32 or the dtype of x1 (float16)."),
    ("zero_points1 dtype of float32", lambda: npu_add_rms_norm_quant(S, S, S, S, G), DTypeError, 161002, "zero_points1 has dtype float16, expected int32"),
    ("zero_points2 alone", lambda: call(scales2=None, zero_points2=Z.astype(np.int8)), DTypeError, 161002, "zero_points2 has dtype int8, expected"),
    ("zero_points2 alone, shape", lambda: call(scales2=None, zero_points2=Z[:3]), ParamError, 161002, "zero_points2 has shape (3,), expected"),
    ("x1 rank 0", lambda: call(x1=np.ones((), np.float16)), ParamError, 161002, "x1 has 0 dimensions, expected 1 to 8."),
    ("gamma rank 0", lambda: call(gamma=np.ones((), np.float16)), ParamError, 161002, "gamma has 0 dimensions, expected 1 to 8."),
    ("beta rank 30", lambda: call(beta=G.reshape((1,) * 29 + (4,))), ParamError, 161002, "beta has "),
    ("axis", lambda: call(axis=0), ParamError, 161002, "axis is 0, available: -1 (the norm runs over all axes of gamma)."),
    ("axis last", lambda: call(axis=1), ParamError, 161002, "axis is 1, available: -1"),
    ("axis huge", lambda: call(axis=10**30), ParamError, 161002, "axis is "),
    *of_kinds(call, optional=("dst_type",), axis=INT, epsilon=NUMBER, div_mode=BOOL, dst_type=FORMAT),
    ("epsilon too large", lambda: call(epsilon=10**400), ParamError, 161002, "epsilon is too large for a float."),
    ("dst_type", lambda: call(dst_type=np.int16), ParamError, 161002, f"dst_type is int16, {AVAILABLE} Pass torch_npu's code (258, 285, 290, 291, 292), a dtype or a dtype's name."),
    ("dst_type code", lambda: call(dst_type=2), ParamError, 161002, f"dst_type is int16, {AVAILABLE} Numbers below 256 are torch's codes; torch_npu's code of int8 is 258."),
    ("dst_type uint8", lambda: call(dst_type=np.uint8), ParamError, 161002, f"dst_type is uint8, {AVAILABLE}"),
    ("int4, last axis", lambda: call(dst_type="int4"), ParamError, 161002, f"x1 has shape {X.shape}, expected a last axis of a multiple of 8: an element of int32 holds 8 codes of int4."),
    ("x2 shape", lambda: npu_add_rms_norm_quant(G, G[:3], G, S, None), ParamError, 161002, "x2 has shape (3,), expected the shape of x1, (4,)."),
    ("x2 does not broadcast", lambda: call(x2=X[:1]), ParamError, 161002, "x2 has shape (1, 4), expected the shape of x1, (2, 4)."),
    ("gamma shape", lambda: call(gamma=G[:3]), ParamError, 161002, "gamma has shape (3,), expected the last axes of x1 of shape (2, 4)."),
    ("gamma of the first axis", lambda: call(gamma=G[:2]), ParamError, 161002, "gamma has shape (2,), expected the last axes of x1 of shape (2, 4)."),
    ("gamma one element", lambda: call(gamma=G[:1]), ParamError, 161002, "gamma has shape (1,), expected the last axes of x1"),
    ("gamma with ones", lambda: call(gamma=G[None]), ParamError, 161002, "gamma has shape (1, 4), expected the last axes of x1"),
    ("gamma longer than x1", lambda: call(gamma=np.ones((1, 2, 4), np.float16)), ParamError, 161002, "gamma has shape (1, 2, 4), expected the last axes of x1 of shape (2, 4)."),
    ("beta shape", lambda: call(beta=G[:3]), ParamError, 161002, "beta has shape (3,), expected the shape of gamma, (4,)."),
    ("beta with ones", lambda: call(beta=G[None]), ParamError, 161002, "beta has shape (1, 4), expected the shape of gamma, (4,)."),
    ("beta one element", lambda: call(beta=G[:1]), ParamError, 161002, "beta has shape (1,), expected the shape of gamma, (4,)."),
    *[(f"{name} shape", lambda name=name: call(**{name: GIVEN[name][:3]}), ParamError, 161002, f"{name} has shape (3,), expected the shape of gamma, (4,), its last axis, or one element.") for name in ("scales1", "zero_points1", "scales2", "zero_points2")],
    ("scales1 column", lambda: call(scales1=S[:, None]), ParamError, 161002, "scales1 has shape (4, 1), expected the shape of gamma, (4,), its last axis, or one element."),
    ("scales1 empty", lambda: call(scales1=S[:0]), ParamError, 161002, "scales1 has shape (0,), expected the shape of gamma, (4,)"),
    ("scales1 of x1", lambda: call(scales1=np.ones((2, 4), np.float32)), ParamError, 161002, "scales1 has shape (2, 4), expected the shape of gamma, (4,)"),
    ("scales1 of the first axis", lambda: call(gamma=X, beta=X, scales1=np.ones((2, 1), np.float32)), ParamError, 161002, "scales1 has shape (2, 1), expected the shape of gamma, (2, 4), its last axis, or one element."),
    ("scales1 of gamma with ones", lambda: call(gamma=X, beta=X, scales1=np.ones((1, 2, 4), np.float32)), ParamError, 161002, "scales1 has shape (1, 2, 4), expected the shape of gamma, (2, 4), its last axis, or one element."),
    ("out y1 dtype", lambda: call(out=(Y1.view(np.uint8), Y2, SUM)), DTypeError, 161002, "out[y1] has dtype uint8, expected int8."),
    ("out y2 dtype", lambda: call(out=(Y1, Y2.astype(np.float16), SUM)), DTypeError, 161002, "out[y2] has dtype float16, expected int8."),
    ("out x dtype", lambda: call(out=(Y1, Y2, SUM.astype(np.float32))), DTypeError, 161002, "out[x] has dtype float32, expected float16."),
    ("out x bits", lambda: call(out=(Y1, Y2, SUM.view(ml_dtypes.bfloat16))), DTypeError, 161002, "out[x] has dtype bfloat16, expected float16."),
    ("out y1 shape", lambda: call(out=(Y1[:1], Y2, SUM)), ParamError, 161002, "out[y1] has shape (1, 4), expected (2, 4)."),
    ("out x shape", lambda: call(out=(Y1, Y2, SUM.T)), ParamError, 161002, "out[x] has shape (4, 2), expected (2, 4)."),
    ("out x in place", lambda: (lambda x: call(x1=x, out=(Y1, Y2, x)))(X.copy()), ParamError, 161002, "out[x] shares memory with x1. Pass a fresh array."),
]  # fmt: skip
# In the order in which faults are reported; that of dtypes is not that of arguments.
ROWS = [
    ({"x1": None}, DTypeError, "x1 is None"),
    ({"scales1": None}, DTypeError, "scales1 is None"),
    ({"x2": [1.0]}, DTypeError, "x2 is a list"),
    ({"zero_points2": [1.0]}, DTypeError, "zero_points2 is a list"),
    ({"x1": X.astype(float)}, DTypeError, "x1 has dtype"),
    ({"zero_points1": Z.astype(np.int8)}, DTypeError, "zero_points1 has dtype"),
    ({"gamma": np.ones((), np.float16)}, ParamError, "gamma has 0 dimensions"),
    ({"axis": 0}, ParamError, "axis is 0"),
    ({"x2": X[:1]}, ParamError, "x2 has shape"),
    ({"gamma": G[:3]}, ParamError, "gamma has shape"),
    ({"beta": G[:3]}, ParamError, "beta has shape"),
    ({"scales1": S[:3]}, ParamError, "scales1 has shape"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]
FAULTS = {OP: (call, ROWS)}

ACCEPTED = [
    {"div_mode": np.False_},
    {"div_mode": np.True_, "axis": np.int64(-1)},
    {"epsilon": 2},
    {"epsilon": np.float32(0.1)},
    {"dst_type": 1},
    {"dst_type": 258},
    {"dst_type": "torch.int8"},
    {"dst_type": np.dtype(np.int8)},
    *({"dst_type": dtype} for dtype in (290, "torch.float8_e5m2", ml_dtypes.float8_e4m3fn)),
    {"dst_type": 285, **{name: np.tile(array, 2) for name, array in GIVEN.items()}},
    {"numerics": "reference"},
    {"out": None, "scales2": None, "zero_points2": None, "beta": None, "zero_points1": None},
]
