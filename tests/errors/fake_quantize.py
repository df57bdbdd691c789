"""Every message of the fake-quantization functions, and the order of their checks."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from errors.arrays import filled, frozen, nine, on_itself, overlapping
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


def tensor(self: Any = X, scale: Any = 0.1, zero_point: Any = 0, low: Any = -128, high: Any = 127, **ours: Any) -> Any:  # fmt: skip
    return tensor_(self, scale, zero_point, low, high, **ours)


def qparams(self: Any = X, scale: Any = S1, zero_point: Any = Z1, enabled: Any = S1, low: Any = -128, high: Any = 127, **ours: Any) -> Any:  # fmt: skip
    return qparams_(self, scale, zero_point, enabled, low, high, **ours)


def plain(self: Any = X, scale: Any = 0.1, zero_point: Any = 0, low: Any = -128, high: Any = 127, **ours: Any) -> Any:  # fmt: skip
    return plain_(self, scale, zero_point, low, high, **ours)


def channel(self: Any = X, scale: Any = S4, zero_point: Any = Z4, axis: Any = 1, low: Any = -128, high: Any = 127, **ours: Any) -> Any:  # fmt: skip
    return channel_(self, scale, zero_point, axis, low, high, **ours)


def plain_c(self: Any = X, scale: Any = S4, zero_point: Any = Z4, axis: Any = 1, low: Any = -128, high: Any = 127, **ours: Any) -> Any:  # fmt: skip
    return plain_c_(self, scale, zero_point, axis, low, high, **ours)


M = 1 << 24

# Name, call, exception, code, message (from its beginning).
ERRORS = [
    ("tensor None", lambda: tensor(None), DTypeError, 161001, T + "self is None, expected a numpy.ndarray."),
    ("tensor list", lambda: tensor([1.0]), DTypeError, 161002, T + "self is a list, expected a numpy.ndarray. Convert it, e.g. with np.asarray(self, dtype=np.float16)."),
    ("tensor scalar", lambda: tensor(np.float16(1)), DTypeError, 161002, T + "self is a numpy.float16, expected a numpy.ndarray."),
    ("tensor masked", lambda: tensor(np.ma.ones(2, dtype=np.float16)), DTypeError, 161002, T + "self is a numpy.ma.MaskedArray, expected a numpy.ndarray. Its mask would be lost"),
    ("tensor dtype", lambda: tensor(np.ones(3, np.int32)), DTypeError, 161002, T + "self has dtype int32, expected float16, bfloat16 or float32. Convert it, e.g. with self.astype(np.float32)."),
    ("tensor float64", lambda: tensor(np.ones(3)), DTypeError, 161002, T + "self has dtype float64, expected float16, bfloat16 or float32."),
    ("tensor byte-swapped", lambda: tensor(X.astype(">f2")), DTypeError, 161002, T + "self has dtype >f2, expected float16, bfloat16 or float32. Its bytes are swapped"),
    ("tensor rank", lambda: tensor(nine(X)), ParamError, 161002, T + "self has 9 dimensions, expected 0 to 8."),
    ("tensor scale kind", lambda: tensor(scale="a"), TypeError, None, T + "scale is a str, expected a number."),
    ("tensor scale array", lambda: tensor(scale=S1), TypeError, None, T + "scale is a numpy.ndarray, expected a number."),
    ("tensor scale complex", lambda: tensor(scale=1j), TypeError, None, T + "scale is a complex, expected a number."),
    ("tensor scale huge", lambda: tensor(scale=10**400), ParamError, 161002, T + "scale is too large for a float."),
    ("tensor zero_point kind", lambda: tensor(zero_point=0.0), TypeError, None, T + "zero_point is a float, expected an int."),
    ("tensor zero_point array", lambda: tensor(zero_point=Z1), TypeError, None, T + "zero_point is a numpy.ndarray, expected an int."),
    ("tensor quant_min kind", lambda: tensor(low=0.0), TypeError, None, T + "quant_min is a float, expected an int."),
    ("tensor quant_max kind", lambda: tensor(high="a"), TypeError, None, T + "quant_max is a str, expected an int."),
    ("tensor range", lambda: tensor(low=5, high=4), ParamError, 161002, T + "quant_min is 5 and quant_max is 4, expected quant_min <= quant_max."),
    ("tensor quant_min", lambda: tensor(low=-M - 1), ParamError, 161002, T + "quant_min is -16777217, expected -16777216 to 16777216."),
    ("tensor quant_max", lambda: tensor(high=M + 1), ParamError, 161002, T + "quant_max is 16777217, expected -16777216 to 16777216."),
    ("tensor quant_max huge", lambda: tensor(high=10**30), ParamError, 161002, T + "quant_max is "),
    ("tensor zero_point", lambda: tensor(zero_point=300, low=0, high=255), ParamError, 161002, T + "zero_point is 300, expected quant_min to quant_max, 0 to 255."),
    ("tensor zero_point below", lambda: tensor(zero_point=-129), ParamError, 161002, T + "zero_point is -129, expected quant_min to quant_max, -128 to 127."),
    ("tensor zero_point huge", lambda: tensor(zero_point=10**30), ParamError, 161002, T + "zero_point is "),
    ("tensor numerics", lambda: tensor(numerics="x"), ParamError, 161002, T + "numerics is 'x', available: reference."),
    ("tensor out kind", lambda: tensor(out=Y), DTypeError, 161002, T + "out is a numpy.ndarray, expected a tuple (output, mask) of arrays, None where one is not wanted."),
    ("tensor out length", lambda: tensor(out=(Y,)), ParamError, 161002, T + "out has 1 entries, expected 2: (output, mask), None where one is not wanted."),
    ("tensor out entry", lambda: tensor(out=(Y, [True])), DTypeError, 161002, T + "out[mask] is a list, expected a numpy.ndarray. Pass an array to be written."),
    ("tensor out dtype", lambda: tensor(out=(np.zeros((2, 4), np.float32), MASK)), DTypeError, 161002, T + "out[output] has dtype float32, expected float16."),
    ("tensor out bfloat16", lambda: tensor(X.astype(ml_dtypes.bfloat16), out=(Y, MASK)), DTypeError, 161002, T + "out[output] has dtype float16, expected bfloat16."),
    ("tensor out mask dtype", lambda: tensor(out=(Y, MASK.view(np.uint8))), DTypeError, 161002, T + "out[mask] has dtype uint8, expected bool."),
    ("tensor out shape", lambda: tensor(out=(Y, MASK.T)), ParamError, 161002, T + "out[mask] has shape (4, 2), expected (2, 4)."),
    ("tensor out read-only", lambda: tensor(out=(frozen(Y), MASK)), ParamError, 161002, T + "out[output] is read-only. Pass a writable array."),
    ("tensor out on itself", lambda: tensor(out=(on_itself(Y), MASK)), ParamError, 161002, T + "out[output] overlaps itself"),
    ("tensor out on self", lambda: tensor(Y, out=(Y, MASK)), ParamError, 161002, T + "out[output] shares memory with self. Pass a fresh array."),
    ("tensor out on out", lambda: tensor(out=overlapping(Y, MASK)), ParamError, 161002, T + "out[mask] shares memory with out[output]."),
    ("qparams None", lambda: qparams(None), DTypeError, 161001, Q + "self is None, expected a numpy.ndarray."),
    ("qparams scale None", lambda: qparams(scale=None), DTypeError, 161001, Q + "scale is None, expected a numpy.ndarray."),
    ("qparams zero_point None", lambda: qparams(zero_point=None), DTypeError, 161001, Q + "zero_point is None, expected a numpy.ndarray."),
    ("qparams enabled None", lambda: qparams(enabled=None), DTypeError, 161001, Q + "fake_quant_enabled is None, expected a numpy.ndarray."),
    ("qparams scale number", lambda: qparams(scale=0.1), DTypeError, 161002, Q + "scale is a float, expected a numpy.ndarray."),
    ("qparams zero_point list", lambda: qparams(zero_point=[0]), DTypeError, 161002, Q + "zero_point is a list, expected a numpy.ndarray."),
    ("qparams enabled number", lambda: qparams(enabled=1), DTypeError, 161002, Q + "fake_quant_enabled is an int, expected a numpy.ndarray."),
    ("qparams dtype", lambda: qparams(np.ones(3)), DTypeError, 161002, Q + "self has dtype float64, expected float16, bfloat16 or float32."),
    ("qparams scale dtype", lambda: qparams(scale=np.ones(1)), DTypeError, 161002, Q + "scale has dtype float64, expected float16, bfloat16 or float32."),
    ("qparams zero_point dtype", lambda: qparams(zero_point=np.zeros(1, np.int8)), DTypeError, 161002, Q + "zero_point has dtype int8, expected int32 or int64."),
    ("qparams zero_point float", lambda: qparams(zero_point=S1), DTypeError, 161002, Q + "zero_point has dtype float32, expected int32 or int64."),
    ("qparams enabled complex", lambda: qparams(enabled=np.ones(1, np.complex64)), DTypeError, 161002, Q + "fake_quant_enabled has dtype complex64, expected a real number."),
    ("qparams enabled text", lambda: qparams(enabled=np.array(["a"])), DTypeError, 161002, Q + "fake_quant_enabled has dtype <U1, expected a real number."),
    ("qparams enabled object", lambda: qparams(enabled=np.array([1], object)), DTypeError, 161002, Q + "fake_quant_enabled has dtype object, expected a real number."),
    ("qparams enabled swapped", lambda: qparams(enabled=S1.astype(">f4")), DTypeError, 161002, Q + "fake_quant_enabled has dtype >f4, expected a real number."),
    ("qparams rank", lambda: qparams(nine(X)), ParamError, 161002, Q + "self has 9 dimensions, expected 0 to 8."),
    ("qparams range", lambda: qparams(low=5, high=4), ParamError, 161002, Q + "quant_min is 5 and quant_max is 4, expected quant_min <= quant_max."),
    ("qparams range switched off", lambda: qparams(enabled=Z1, low=5, high=4), ParamError, 161002, Q + "quant_min is 5 and quant_max is 4, expected"),
    ("qparams quant_min", lambda: qparams(low=-M - 1), ParamError, 161002, Q + "quant_min is -16777217, expected -16777216 to 16777216."),
    ("qparams quant_max kind", lambda: qparams(high=1.5), TypeError, None, Q + "quant_max is a float, expected an int."),
    ("qparams scale shape", lambda: qparams(scale=S4[:2]), ParamError, 161002, Q + "scale has shape (2,), expected one element."),
    ("qparams scale empty", lambda: qparams(scale=S4[:0]), ParamError, 161002, Q + "scale has shape (0,), expected one element."),
    ("qparams zero_point shape", lambda: qparams(zero_point=Z4[None]), ParamError, 161002, Q + "zero_point has shape (1, 4), expected one element."),
    ("qparams enabled shape", lambda: qparams(enabled=S4), ParamError, 161002, Q + "fake_quant_enabled has shape (4,), expected one element."),
    ("qparams zero_point value", lambda: qparams(zero_point=np.array([20000000])), ParamError, 161002, Q + "zero_point holds 20000000, expected -16777216 to 16777216."),
    ("qparams zero_point most", lambda: qparams(zero_point=np.array([-(2**63)])), ParamError, 161002, Q + "zero_point holds -9223372036854775808, expected -16777216 to 16777216."),
    ("qparams out on scale", lambda: qparams(S1, scale=S4[:1], out=(S4[:1], None)), ParamError, 161002, Q + "out[output] shares memory with scale."),
    ("qparams out shape", lambda: qparams(out=(Y[0], None)), ParamError, 161002, Q + "out[output] has shape (4,), expected (2, 4)."),
    ("plain None", lambda: plain(None), DTypeError, 161001, P + "self is None, expected a numpy.ndarray."),
    ("plain dtype", lambda: plain(np.ones(3)), DTypeError, 161002, P + "self has dtype float64, expected float16, bfloat16 or float32."),
    ("plain rank", lambda: plain(nine(X)), ParamError, 161002, P + "self has 9 dimensions, expected 0 to 8."),
    ("plain zero_point", lambda: plain(zero_point=300), ParamError, 161002, P + "zero_point is 300, expected quant_min to quant_max, -128 to 127."),
    ("plain range", lambda: plain(low=5, high=4), ParamError, 161002, P + "quant_min is 5 and quant_max is 4, expected quant_min <= quant_max."),
    ("plain scale kind", lambda: plain(scale="a"), TypeError, None, P + "scale is a str, expected"),
    ("plain one array", lambda: plain(scale=S1), TypeError, None, P + "scale is an array and zero_point is not, expected two numbers or two arrays."),
    ("plain other array", lambda: plain(zero_point=Z1), TypeError, None, P + "zero_point is an array and scale is not, expected two numbers or two arrays."),
    ("plain self missing first", lambda: plain_(None, S1, 0, 0, 1), DTypeError, 161001, P + "self is None, expected a numpy.ndarray."),
    ("plain scale dtype", lambda: plain(scale=np.ones(1), zero_point=Z1), DTypeError, 161002, P + "scale has dtype float64, expected float16, bfloat16 or float32."),
    ("plain zero_point dtype", lambda: plain(scale=S1, zero_point=S1), DTypeError, 161002, P + "zero_point has dtype float32, expected int32 or int64."),
    ("plain scale shape", lambda: plain(scale=S4, zero_point=Z1), ParamError, 161002, P + "scale has shape (4,), expected one element."),
    ("plain zero_point value", lambda: plain(scale=S1, zero_point=np.array([M + 1])), ParamError, 161002, P + "zero_point holds 16777217, expected -16777216 to 16777216."),
    ("plain out kind", lambda: plain(out=(Y,)), DTypeError, 161002, P + "out is a tuple, expected a numpy.ndarray."),
    ("plain out dtype", lambda: plain(out=MASK), DTypeError, 161002, P + "out has dtype bool, expected float16."),
    ("plain out shape", lambda: plain(out=Y[0]), ParamError, 161002, P + "out has shape (4,), expected (2, 4)."),
    ("plain out read-only", lambda: plain(out=frozen(Y)), ParamError, 161002, P + "out is read-only. Pass a writable array."),
    ("plain out on self", lambda: plain(Y, out=Y), ParamError, 161002, P + "out shares memory with self. Pass a fresh array."),
    ("plain numerics kind", lambda: plain(numerics=3), TypeError, None, P + "numerics is an int, expected a str."),
    ("backward None", lambda: backward_(None, MASK), DTypeError, 161001, B + "grad is None, expected a numpy.ndarray."),
    ("backward mask None", lambda: backward_(X, None), DTypeError, 161001, B + "mask is None, expected a numpy.ndarray."),
    ("backward list", lambda: backward_(X, [True]), DTypeError, 161002, B + "mask is a list, expected a numpy.ndarray."),
    ("backward dtype", lambda: backward_(np.ones((2, 4)), MASK), DTypeError, 161002, B + "grad has dtype float64, expected float16, bfloat16 or float32."),
    ("backward mask dtype", lambda: backward_(X, MASK.view(np.uint8)), DTypeError, 161002, B + "mask has dtype uint8, expected bool."),
    ("backward rank", lambda: backward_(nine(X), nine(MASK)), ParamError, 161002, B + "grad has 9 dimensions, expected 0 to 8."),
    ("backward shape", lambda: backward_(X[0].copy(), MASK[0, :3].copy()), ParamError, 161002, B + "mask has shape (3,), expected that of grad, (4,)."),
    ("backward out dtype", lambda: backward_(X, MASK, out=np.zeros((2, 4), np.float32)), DTypeError, 161002, B + "out has dtype float32, expected float16."),
    ("backward out on grad", lambda: backward_(Y, MASK, out=Y), ParamError, 161002, B + "out shares memory with grad. Pass a fresh array."),
    ("backward out on mask", lambda: backward_(X[0, :2].copy(), Y[0].view(np.bool_)[:2], out=Y[0, :2]), ParamError, 161002, B + "out shares memory with mask. Pass a fresh array."),
    ("backward numerics", lambda: backward_(X, MASK, numerics="x"), ParamError, 161002, B + "numerics is 'x', available: reference."),
    ("channel None", lambda: channel(None), DTypeError, 161001, C + "self is None, expected a numpy.ndarray."),
    ("channel scale None", lambda: channel(scale=None), DTypeError, 161001, C + "scale is None, expected a numpy.ndarray."),
    ("channel zero_point None", lambda: channel(zero_point=None), DTypeError, 161001, C + "zero_point is None, expected a numpy.ndarray."),
    ("channel scale list", lambda: channel(scale=[1.0] * 4), DTypeError, 161002, C + "scale is a list, expected a numpy.ndarray."),
    ("channel scale number", lambda: channel(scale=0.1), DTypeError, 161002, C + "scale is a float, expected a numpy.ndarray."),
    ("channel dtype", lambda: channel(Z4), DTypeError, 161002, C + "self has dtype int32, expected float16, bfloat16 or float32."),
    ("channel scale dtype", lambda: channel(scale=S4.astype(np.float16)), DTypeError, 161002, C + "scale has dtype float16, expected float32."),
    ("channel zero_point dtype", lambda: channel(zero_point=np.zeros(4, np.int64)), DTypeError, 161002, C + "zero_point has dtype int64, expected int32, float32 or float16."),
    ("channel zero_point bfloat16", lambda: channel(zero_point=Z4.astype(ml_dtypes.bfloat16)), DTypeError, 161002, C + "zero_point has dtype bfloat16, expected int32, float32 or float16."),
    ("channel rank 0", lambda: channel(np.ones((), np.float16), axis=0), ParamError, 161002, C + "self has 0 dimensions, expected 1 to 8."),
    ("channel rank 9", lambda: channel(nine(X)), ParamError, 161002, C + "self has 9 dimensions, expected 1 to 8."),
    ("channel scale rank", lambda: channel(scale=S4[None]), ParamError, 161002, C + "scale has 2 dimensions, expected 1."),
    ("channel scale rank 0", lambda: channel(scale=np.ones((), np.float32)), ParamError, 161002, C + "scale has 0 dimensions, expected 1."),
    ("channel zero_point rank", lambda: channel(zero_point=Z4[None]), ParamError, 161002, C + "zero_point has 2 dimensions, expected 1."),
    ("channel axis kind", lambda: channel(axis=1.0), TypeError, None, C + "axis is a float, expected an int."),
    ("channel axis None", lambda: channel(axis=None), TypeError, None, C + "axis is a NoneType, expected an int."),
    ("channel axis", lambda: channel(axis=3), ParamError, 161002, C + "axis is 3, expected -2 to 1 for self of 2 dimensions."),
    ("channel axis below", lambda: channel(axis=-3), ParamError, 161002, C + "axis is -3, expected -2 to 1 for self of 2 dimensions."),
    ("channel axis of a row", lambda: channel(X[0], axis=1), ParamError, 161002, C + "axis is 1, expected -1 to 0 for self of 1 dimension"),
    ("channel axis huge", lambda: channel(axis=10**30), ParamError, 161002, C + "axis is "),
    ("channel range", lambda: channel(low=5, high=4), ParamError, 161002, C + "quant_min is 5 and quant_max is 4, expected quant_min <= quant_max."),
    ("channel quant_min", lambda: channel(low=-M - 1), ParamError, 161002, C + "quant_min is -16777217, expected -16777216 to 16777216."),
    ("channel quant_max", lambda: channel(high=M + 1), ParamError, 161002, C + "quant_max is 16777217, expected -16777216 to 16777216."),
    ("channel quant_min kind", lambda: channel(low="a"), TypeError, None, C + "quant_min is a str, expected an int."),
    ("channel scale length", lambda: channel(scale=S4[:3]), ParamError, 161002, C + "scale has shape (3,), expected (4,): the length of axis 1 of self."),
    ("channel scale one", lambda: channel(scale=S1), ParamError, 161002, C + "scale has shape (1,), expected (4,): the length of axis 1 of self."),
    ("channel zero_point length", lambda: channel(zero_point=Z4[:3]), ParamError, 161002, C + "zero_point has shape (3,), expected (4,): the length of axis 1 of self."),
    ("channel zero_point above", lambda: channel(zero_point=filled(128, np.int32)), ParamError, 161002, C + "zero_point holds a value outside quant_min to quant_max, -128 to 127."),
    ("channel zero_point below", lambda: channel(zero_point=filled(-129, np.int32)), ParamError, 161002, C + "zero_point holds a value outside quant_min to quant_max, -128 to 127."),
    ("channel float zero_point", lambda: channel(zero_point=filled(2e7, np.float32)), ParamError, 161002, C + "zero_point holds a value outside -16777216 to 16777216."),
    ("channel zero_point NaN", lambda: channel(zero_point=filled(np.nan, np.float32)), ParamError, 161002, C + "zero_point holds a value outside -16777216 to 16777216."),
    ("channel zero_point inf", lambda: channel(zero_point=filled(np.inf, np.float16)), ParamError, 161002, C + "zero_point holds a value outside -16777216 to 16777216."),
    ("channel out length", lambda: channel(out=(Y, MASK, Y)), ParamError, 161002, C + "out has 3 entries, expected 2: (output, mask), None where one is not wanted."),
    ("channel out shape", lambda: channel(out=(Y.T, MASK)), ParamError, 161002, C + "out[output] has shape (4, 2), expected (2, 4)."),
    ("channel out on self", lambda: channel(Y, out=(Y, MASK)), ParamError, 161002, C + "out[output] shares memory with self. Pass a fresh array."),
    ("channel out on scale", lambda: channel(S4, axis=0, out=(S4, None)), ParamError, 161002, C + "out[output] shares memory with s"),
    ("channel numerics", lambda: channel(numerics="x"), ParamError, 161002, C + "numerics is 'x', available: reference."),
    ("plain channel None", lambda: plain_c(None), DTypeError, 161001, PC + "self is None, expected a numpy.ndarray."),
    ("plain channel scale dtype", lambda: plain_c(scale=np.ones(4)), DTypeError, 161002, PC + "scale has dtype float64, expected float32."),
    ("plain channel axis", lambda: plain_c(axis=2), ParamError, 161002, PC + "axis is 2, expected -2 to 1 for self of 2 dimensions."),
    ("plain channel zero_point", lambda: plain_c(zero_point=filled(128, np.int32)), ParamError, 161002, PC + "zero_point holds a value outside quant_min to quant_max, -128 to 127."),
    ("plain channel out kind", lambda: plain_c(out=[Y]), DTypeError, 161002, PC + "out is a list, expected a numpy.ndarray."),
    ("plain channel out on self", lambda: plain_c(Y, out=Y), ParamError, 161002, PC + "out shares memory with self. Pass a fresh array."),
    ("channel backward None", lambda: backward_c_(None, MASK), DTypeError, 161001, BC + "grad is None, expected a numpy.ndarray."),
    ("channel backward mask dtype", lambda: backward_c_(X, X), DTypeError, 161002, BC + "mask has dtype float16, expected bool."),
    ("channel backward shape", lambda: backward_c_(X, MASK.T), ParamError, 161002, BC + "mask has shape (4, 2), expected that of grad, (2, 4)."),
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
