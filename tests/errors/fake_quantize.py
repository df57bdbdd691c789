"""Every message of the fake-quantization functions, and the order of their checks."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from errors.arrays import filled
from errors.common import INT, NUMBER, Takes, of_function, of_kinds
from npu_quant import DTypeError, ParamError
from npu_quant import _fake_quantize_per_tensor_affine_cachemask_tensor_qparams as qparams_
from npu_quant import fake_quantize_per_channel_affine as plain_c_
from npu_quant import fake_quantize_per_channel_affine_cachemask as channel_
from npu_quant import fake_quantize_per_channel_affine_cachemask_backward as backward_c_
from npu_quant import fake_quantize_per_tensor_affine as plain_
from npu_quant import fake_quantize_per_tensor_affine_cachemask as tensor_
from npu_quant import fake_quantize_per_tensor_affine_cachemask_backward as backward_

X = np.ones((2, 4), np.float16)
Y = np.zeros((2, 4), np.float16)
MASK = np.zeros((2, 4), np.bool_)
UNWRITTEN = (Y, MASK)
S1 = np.ones(1, np.float32)
Z1 = np.zeros(1, np.int32)
S4 = np.ones(4, np.float32)
Z4 = np.zeros(4, np.int32)
T = "fake_quantize_per_tensor_affine_cachemask: "
Q = "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams: "
P = "fake_quantize_per_tensor_affine: "
B = "fake_quantize_per_tensor_affine_cachemask_backward: "
C = "fake_quantize_per_channel_affine_cachemask: "
PC = "fake_quantize_per_channel_affine: "
BC = "fake_quantize_per_channel_affine_cachemask_backward: "


ENDS = {"quant_min": -128, "quant_max": 127}
tensor = partial(tensor_, self=X, scale=0.1, zero_point=0, **ENDS)
qparams = partial(qparams_, self=X, scale=S1, zero_point=Z1, fake_quant_enabled=S1, **ENDS)
plain = partial(plain_, self=X, scale=0.1, zero_point=0, **ENDS)
channel = partial(channel_, self=X, scale=S4, zero_point=Z4, axis=1, **ENDS)
plain_c = partial(plain_c_, self=X, scale=S4, zero_point=Z4, axis=1, **ENDS)
backward = partial(backward_, grad=X, mask=MASK)
backward_c = partial(backward_c_, grad=X, mask=MASK)
M = 1 << 24

FLOATS = "float16, bfloat16 or float32."
ONE = "expected 0 to 8. It holds one element."
MASKED = {"output": Y, "mask": MASK}
OF_SELF = Takes(FLOATS, "expected 0 to 8.")
OF_SWITCHED = {
    "self": OF_SELF,
    "scale": Takes(FLOATS, ONE, "np.float32"),
    "zero_point": Takes("int32 or int64.", ONE, "np.int32"),
    "fake_quant_enabled": Takes("a real number.", ONE, "np.float32"),
}
OF_CHANNELS = {
    "self": Takes(FLOATS, "expected 1 to 8."),
    "scale": Takes("float32.", "expected 1.", "np.float32"),
    "zero_point": Takes("int32, float32 or float16.", "expected 1.", "np.int32"),
}
OF_BACKWARD = {
    "grad": Takes(FLOATS, "expected 0 to 8."),
    "mask": Takes("bool.", "expected the shape of grad, (2, 4).", "np.bool_"),
}

# Name, call, exception, code, message (from its beginning).
ERRORS = [
    *of_function(tensor, {"self": OF_SELF}, MASKED),
    *of_function(qparams, OF_SWITCHED, MASKED),
    *of_function(plain, {"self": OF_SELF}, {"": Y}),
    *of_function(backward, OF_BACKWARD, {"": Y}),
    *of_function(channel, OF_CHANNELS, MASKED),
    *of_function(plain_c, OF_CHANNELS, {"": Y}),
    *of_function(backward_c, OF_BACKWARD, {"": Y}),
    *of_kinds(tensor, T, scale=NUMBER, zero_point=INT, quant_min=INT, quant_max=INT),
    ("tensor scale huge", lambda: tensor(scale=10**400), ParamError, 161002, T + "scale is too large for a float."),
    ("tensor range", lambda: tensor(quant_min=5, quant_max=4), ParamError, 161002, T + "quant_min is 5 and quant_max is 4, expected quant_min <= quant_max."),
    ("tensor quant_min", lambda: tensor(quant_min=-M - 1), ParamError, 161002, T + "quant_min is -16777217, expected -16777216 to 16777216."),
    ("tensor quant_max", lambda: tensor(quant_max=M + 1), ParamError, 161002, T + "quant_max is 16777217, expected -16777216 to 16777216."),
    ("tensor quant_max huge", lambda: tensor(quant_max=10**30), ParamError, 161002, T + "quant_max is "),
    ("tensor zero_point", lambda: tensor(zero_point=300, quant_min=0, quant_max=255), ParamError, 161002, T + "zero_point is 300, expected quant_min to quant_max (0 to 255)."),
    ("tensor zero_point below", lambda: tensor(zero_point=-129), ParamError, 161002, T + "zero_point is -129, expected quant_min to quant_max (-128 to 127)."),
    ("tensor zero_point huge", lambda: tensor(zero_point=10**30), ParamError, 161002, T + "zero_point is "),
    ("tensor out dtype", lambda: tensor(out=(np.zeros((2, 4), np.float32), MASK)), DTypeError, 161002, T + "out[output] has dtype float32, expected float16."),
    ("tensor out bfloat16", lambda: tensor(self=X.astype(ml_dtypes.bfloat16), out=(Y, MASK)), DTypeError, 161002, T + "out[output] has dtype float16, expected bfloat16."),
    ("tensor out mask dtype", lambda: tensor(out=(Y, MASK.view(np.uint8))), DTypeError, 161002, T + "out[mask] has dtype uint8, expected bool."),
    ("tensor out shape", lambda: tensor(out=(Y, MASK.T)), ParamError, 161002, T + "out[mask] has shape (4, 2), expected (2, 4)."),
    ("qparams zero_point dtype", lambda: qparams(zero_point=np.zeros(1, np.int8)), DTypeError, 161002, Q + "zero_point has dtype int8, expected int32 or int64."),
    ("qparams zero_point float", lambda: qparams(zero_point=S1), DTypeError, 161002, Q + "zero_point has dtype float32, expected int32 or int64."),
    ("qparams range", lambda: qparams(quant_min=5, quant_max=4), ParamError, 161002, Q + "quant_min is 5 and quant_max is 4, expected quant_min <= quant_max."),
    ("qparams range switched off", lambda: qparams(fake_quant_enabled=Z1, quant_min=5, quant_max=4), ParamError, 161002, Q + "quant_min is 5 and quant_max is 4, expected"),
    ("qparams quant_min", lambda: qparams(quant_min=-M - 1), ParamError, 161002, Q + "quant_min is -16777217, expected -16777216 to 16777216."),
    ("qparams quant_max kind", lambda: qparams(quant_max=1.5), TypeError, None, Q + "quant_max is a float, expected an int."),
    ("qparams scale shape", lambda: qparams(scale=S4[:2]), ParamError, 161002, Q + "scale has shape (2,), expected one element."),
    ("qparams scale empty", lambda: qparams(scale=S4[:0]), ParamError, 161002, Q + "scale has shape (0,), expected one element."),
    ("qparams zero_point shape", lambda: qparams(zero_point=Z4[None]), ParamError, 161002, Q + "zero_point has shape (1, 4), expected one element."),
    *[(f"qparams enabled {kind.__name__}", lambda kind=kind: qparams(fake_quant_enabled=S1.astype(kind)), DTypeError, 161002, f"{Q}fake_quant_enabled has dtype {kind.__name__}, expected a real number.") for kind in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu, ml_dtypes.int4)],
    ("qparams enabled shape", lambda: qparams(fake_quant_enabled=S4), ParamError, 161002, Q + "fake_quant_enabled has shape (4,), expected one element."),
    ("qparams zero_point value", lambda: qparams(zero_point=np.array([20000000])), ParamError, 161002, Q + "zero_point holds 20000000, expected -16777216 to 16777216."),
    ("qparams zero_point most", lambda: qparams(zero_point=np.array([-(2**63)])), ParamError, 161002, Q + "zero_point holds -9223372036854775808, expected -16777216 to 16777216."),
    ("qparams out shape", lambda: qparams(out=(Y[0], None)), ParamError, 161002, Q + "out[output] has shape (4,), expected (2, 4)."),
    ("plain zero_point", lambda: plain(zero_point=300), ParamError, 161002, P + "zero_point is 300, expected quant_min to quant_max (-128 to 127)."),
    ("plain range", lambda: plain(quant_min=5, quant_max=4), ParamError, 161002, P + "quant_min is 5 and quant_max is 4, expected quant_min <= quant_max."),
    ("plain scale kind", lambda: plain(scale="a"), TypeError, None, P + "scale is a str, expected"),
    ("plain one array", lambda: plain(scale=S1), TypeError, None, P + "scale is an array and zero_point is not, expected two numbers or two arrays."),
    ("plain other array", lambda: plain(zero_point=Z1), TypeError, None, P + "zero_point is an array and scale is not, expected two numbers or two arrays."),
    ("plain self missing first", lambda: plain_(None, S1, 0, 0, 1), DTypeError, 161001, P + "self is None, expected a numpy.ndarray."),
    ("plain scale dtype", lambda: plain(scale=np.ones(1), zero_point=Z1), DTypeError, 161002, P + "scale has dtype float64, expected float16, bfloat16 or float32."),
    ("plain zero_point dtype", lambda: plain(scale=S1, zero_point=S1), DTypeError, 161002, P + "zero_point has dtype float32, expected int32 or int64."),
    ("plain scale shape", lambda: plain(scale=S4, zero_point=Z1), ParamError, 161002, P + "scale has shape (4,), expected one element."),
    ("plain zero_point value", lambda: plain(scale=S1, zero_point=np.array([M + 1])), ParamError, 161002, P + "zero_point holds 16777217, expected -16777216 to 16777216."),
    ("plain out dtype", lambda: plain(out=MASK), DTypeError, 161002, P + "out has dtype bool, expected float16."),
    ("plain out shape", lambda: plain(out=Y[0]), ParamError, 161002, P + "out has shape (4,), expected (2, 4)."),
    ("backward mask dtype", lambda: backward_(X, MASK.view(np.uint8)), DTypeError, 161002, B + "mask has dtype uint8, expected bool."),
    ("backward shape", lambda: backward_(X[0].copy(), MASK[0, :3].copy()), ParamError, 161002, B + "mask has shape (3,), expected the shape of grad, (4,)."),
    ("backward out dtype", lambda: backward_(X, MASK, out=np.zeros((2, 4), np.float32)), DTypeError, 161002, B + "out has dtype float32, expected float16."),
    ("channel scale dtype", lambda: channel(scale=S4.astype(np.float16)), DTypeError, 161002, C + "scale has dtype float16, expected float32."),
    ("channel zero_point dtype", lambda: channel(zero_point=np.zeros(4, np.int64)), DTypeError, 161002, C + "zero_point has dtype int64, expected int32, float32 or float16. Convert it, e.g. with zero_point.astype(np.int32)."),
    ("channel zero_point bfloat16", lambda: channel(zero_point=Z4.astype(ml_dtypes.bfloat16)), DTypeError, 161002, C + "zero_point has dtype bfloat16, expected int32, float32 or float16."),
    ("channel rank 0", lambda: channel(self=np.ones((), np.float16), axis=0), ParamError, 161002, C + "self has 0 dimensions, expected 1 to 8."),
    ("channel scale rank", lambda: channel(scale=S4[None]), ParamError, 161002, C + "scale has 2 dimensions, expected 1."),
    ("channel scale rank 0", lambda: channel(scale=np.ones((), np.float32)), ParamError, 161002, C + "scale has 0 dimensions, expected 1."),
    ("channel zero_point rank", lambda: channel(zero_point=Z4[None]), ParamError, 161002, C + "zero_point has 2 dimensions, expected 1."),
    *of_kinds(channel, C, axis=INT, quant_min=INT),
    ("channel axis", lambda: channel(axis=3), ParamError, 161002, C + "axis is 3, expected -2 to 1: self has 2 dimensions."),
    ("channel axis below", lambda: channel(axis=-3), ParamError, 161002, C + "axis is -3, expected -2 to 1: self has 2 dimensions."),
    ("channel axis of a row", lambda: channel(self=X[0], axis=1), ParamError, 161002, C + "axis is 1, expected -1 to 0: self has 1 dimension"),
    ("channel axis huge", lambda: channel(axis=10**30), ParamError, 161002, C + "axis is "),
    ("channel range", lambda: channel(quant_min=5, quant_max=4), ParamError, 161002, C + "quant_min is 5 and quant_max is 4, expected quant_min <= quant_max."),
    ("channel quant_min", lambda: channel(quant_min=-M - 1), ParamError, 161002, C + "quant_min is -16777217, expected -16777216 to 16777216."),
    ("channel quant_max", lambda: channel(quant_max=M + 1), ParamError, 161002, C + "quant_max is 16777217, expected -16777216 to 16777216."),
    ("channel scale length", lambda: channel(scale=S4[:3]), ParamError, 161002, C + "scale has shape (3,), expected (4,): the length of axis 1 of self."),
    ("channel scale one", lambda: channel(scale=S1), ParamError, 161002, C + "scale has shape (1,), expected (4,): the length of axis 1 of self."),
    ("channel zero_point length", lambda: channel(zero_point=Z4[:3]), ParamError, 161002, C + "zero_point has shape (3,), expected (4,): the length of axis 1 of self."),
    ("channel zero_point above", lambda: channel(zero_point=filled(128, np.int32)), ParamError, 161002, C + "zero_point holds a value outside quant_min to quant_max (-128 to 127)."),
    ("channel zero_point below", lambda: channel(zero_point=filled(-129, np.int32)), ParamError, 161002, C + "zero_point holds a value outside quant_min to quant_max (-128 to 127)."),
    ("channel float zero_point", lambda: channel(zero_point=filled(2e7, np.float32)), ParamError, 161002, C + "zero_point holds a value outside -16777216 to 16777216."),
    ("channel zero_point NaN", lambda: channel(zero_point=filled(np.nan, np.float32)), ParamError, 161002, C + "zero_point holds a value outside -16777216 to 16777216."),
    ("channel zero_point inf", lambda: channel(zero_point=filled(np.inf, np.float16)), ParamError, 161002, C + "zero_point holds a value outside -16777216 to 16777216."),
    ("channel out shape", lambda: channel(out=(Y.T, MASK)), ParamError, 161002, C + "out[output] has shape (4, 2), expected (2, 4)."),
    ("plain channel scale dtype", lambda: plain_c(scale=np.ones(4)), DTypeError, 161002, PC + "scale has dtype float64, expected float32. Convert it, e.g. with scale.astype(np.float32)."),
    ("plain channel axis", lambda: plain_c(axis=2), ParamError, 161002, PC + "axis is 2, expected -2 to 1: self has 2 dimensions."),
    ("plain channel zero_point", lambda: plain_c(zero_point=filled(128, np.int32)), ParamError, 161002, PC + "zero_point holds a value outside quant_min to quant_max (-128 to 127)."),
    ("channel backward mask dtype", lambda: backward_c_(X, X), DTypeError, 161002, BC + "mask has dtype float16, expected bool."),
    ("channel backward shape", lambda: backward_c_(X, MASK.T), ParamError, 161002, BC + "mask has shape (4, 2), expected the shape of grad, (2, 4)."),
    ("channel backward out", lambda: backward_c_(X, MASK, out=Y.T), ParamError, 161002, BC + "out has shape (4, 2), expected (2, 4)."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = {
    C.rstrip(": "): (
        channel,
        [
            ({"self": None}, DTypeError, "self is None"),
            ({"scale": [1.0]}, DTypeError, "scale is a list"),
            ({"zero_point": np.zeros(4, np.int64)}, DTypeError, "zero_point has dtype"),
            ({"self": np.ones((), np.float16)}, ParamError, "self has 0 dimensions"),
            ({"scale": S4[None]}, ParamError, "scale has 2 dimensions"),
            ({"axis": 2}, ParamError, "axis is 2"),
            ({"scale": S4[:3]}, ParamError, "scale has shape"),
            ({"out": ()}, ParamError, "out has 0 entries"),
            (
                {"zero_point": filled(128, np.int32)},
                ParamError,
                "zero_point holds",
            ),  # a value, read at last
        ],
    )
}
