"""Every message of quantize_val, dequantize_val and the quantizers, and the order of their checks."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.arrays import nine
from errors.common import INT, NUMBER, Takes, of_function, of_kinds
from npu_quant import (
    DTypeError,
    ParamError,
    PerChannelAffineQuantizer,
    PerTensorAffineQuantizer,
    make_per_channel_affine_quantizer,
    make_per_tensor_affine_quantizer,
)
from npu_quant import dequantize_val as dequantize_val_
from npu_quant import quantize_val as quantize_val_

X = np.ones((2, 4), np.float32)
Q = np.ones((2, 4), np.int8)
CODES = np.zeros((2, 4), np.int8)
VALUES = np.zeros((2, 4), np.float32)
UNWRITTEN = (CODES, VALUES)
S4 = np.ones(4)
Z4 = np.zeros(4, np.int64)
TENSOR = PerTensorAffineQuantizer(0.1, 3, "qint8")
CHANNEL = PerChannelAffineQuantizer(S4, Z4, 1, "qint8")
V = "quantize_val: "
D = "dequantize_val: "
T = "PerTensorAffineQuantizer: "
C = "PerChannelAffineQuantizer: "
TQ, TD = "PerTensorAffineQuantizer.quantize: ", "PerTensorAffineQuantizer.dequantize: "
CQ, CD = "PerChannelAffineQuantizer.quantize: ", "PerChannelAffineQuantizer.dequantize: "
AVAILABLE = ", available: qint8, quint8, qint32 (also as torch.qint8, its code 12, 13, 14, or the storage type int8, uint8, int32)."
FLOATS = "float16, bfloat16 or float32."
OF_X, OF_X_CHANNELS = ({"x": Takes(FLOATS, f"expected {least} to 8.")} for least in (0, 1))
OF_Q, OF_Q_CHANNELS = (
    {"q": Takes("int8.", f"expected {least} to 8.", "np.int8")} for least in (0, 1)
)
WAYS = ", expected an int code, a dtype or a dtype's name."


val = partial(quantize_val_, value=X, scale=0.1, zero_point=0, scalar_type="qint8")
deq = partial(dequantize_val_, value=Q, scale=0.1, zero_point=0)


def tensor(scale: Any = 0.1, zero_point: Any = 0, scalar_type: Any = "qint8") -> Any:
    return PerTensorAffineQuantizer(scale, zero_point, scalar_type)


def channel(scales: Any = S4, zero_points: Any = Z4, axis: Any = 1, scalar_type: Any = "qint8") -> Any:  # fmt: skip
    return PerChannelAffineQuantizer(scales, zero_points, axis, scalar_type)


ERRORS = [
    *of_function(val, {}, {"": CODES}),
    *of_function(deq, {}, {"": VALUES}),
    *of_function(partial(TENSOR.quantize, x=X), OF_X, {"": CODES}, TQ),
    *of_function(partial(TENSOR.dequantize, q=Q), OF_Q, {"": VALUES}, TD),
    *of_function(partial(CHANNEL.quantize, x=X), OF_X_CHANNELS, {"": CODES}, CQ),
    *of_function(partial(CHANNEL.dequantize, q=Q), OF_Q_CHANNELS, {"": VALUES}, CD),
    ("None", lambda: val(value=None), DTypeError, 161001, V + "value is None, expected a numpy.ndarray."),
    ("list", lambda: val(value=[1.0]), DTypeError, 161002, V + "value is a list, expected a numpy.ndarray. Convert it"),
    ("str", lambda: val(value="1.0"), DTypeError, 161002, V + "value is a str, expected a numpy.ndarray. Convert it"),
    ("fraction", lambda: val(value=Fraction(1, 2)), DTypeError, 161002, V + "value is a fractions.Fraction, expected a numpy.ndarray."),
    ("masked", lambda: val(value=np.ma.masked_array(X)), DTypeError, 161002, V + "value is a numpy.ma.MaskedArray, expected a numpy.ndarray. Its mask"),
    ("dtype", lambda: val(value=X.astype(np.float64)), DTypeError, 161002, V + "value has dtype float64, expected float16, bfloat16 or float32. Convert it, e.g. with value.astype(np.float32)."),
    ("codes", lambda: val(value=Q), DTypeError, 161002, V + "value has dtype int8, expected float16, bfloat16 or float32."),
    ("swapped", lambda: val(value=X.astype(">f4")), DTypeError, 161002, V + "value has dtype >f4, expected float16, bfloat16 or float32. Its bytes"),
    ("rank", lambda: val(value=nine(X)), ParamError, 161002, V + "value has 9 dimensions, expected 0 to 8. Merge axes with value.reshape."),
    *of_kinds(val, V, scale=NUMBER, zero_point=INT),
    ("scale huge", lambda: val(scale=10**400), ParamError, 161002, V + "scale is too large for a float."),
    ("zero_point", lambda: val(zero_point=300), ParamError, 161002, V + "zero_point is 300, expected -128 to 127 (qint8)."),
    ("zero_point unsigned", lambda: val(zero_point=-1, scalar_type="quint8"), ParamError, 161002, V + "zero_point is -1, expected 0 to 255 (quint8)."),
    ("zero_point qint32", lambda: val(zero_point=2**31, scalar_type="qint32"), ParamError, 161002, V + "zero_point is 2147483648, expected -2147483648 to 2147483647 (qint32)."),
    ("zero_point huge", lambda: val(zero_point=10**30, scalar_type="qint32"), ParamError, 161002, V + "zero_point is 9223372036854775807, expected"),
    ("scalar_type", lambda: val(scalar_type=np.float16), ParamError, 161002, V + "scalar_type is float16" + AVAILABLE),
    ("scalar_type name", lambda: val(scalar_type="qint4"), ParamError, 161002, V + "scalar_type is 'qint4'" + AVAILABLE),
    ("scalar_type code", lambda: val(scalar_type=2), ParamError, 161002, V + "scalar_type is int16" + AVAILABLE),
    ("scalar_type other", lambda: val(scalar_type=np.int64), ParamError, 161002, V + "scalar_type is int64" + AVAILABLE),
    ("scalar_type None", lambda: val(scalar_type=None), TypeError, None, V + "scalar_type is None" + WAYS),
    ("scalar_type kind", lambda: val(scalar_type=1.0), TypeError, None, V + "scalar_type is a float" + WAYS),
    ("scalar_type bool", lambda: val(scalar_type=True), TypeError, None, V + "scalar_type is a bool" + WAYS),
    ("out dtype", lambda: val(out=CODES.view(np.uint8)), DTypeError, 161002, V + "out has dtype uint8, expected int8."),
    ("out shape", lambda: val(out=CODES.T), ParamError, 161002, V + "out has shape (4, 2), expected (2, 4)."),
    ("number out", lambda: val(value=1.0, out=CODES), TypeError, None, V + "out is a numpy.ndarray, expected None where value is a number."),
    ("number complex", lambda: val(value=np.complex64(1)), TypeError, None, V + "value is a numpy.complex64, expected a number."),
    ("number str", lambda: val(value=np.str_("a")), TypeError, None, V + "value is a numpy.str_, expected a number."),
    ("number huge", lambda: val(value=10**400), ParamError, 161002, V + "value is too large for a float."),
    ("number zero_point", lambda: val(value=1.0, zero_point=128), ParamError, 161002, V + "zero_point is 128, expected -128 to 127 (qint8)."),
    ("number scalar_type", lambda: val(value=1.0, scalar_type="float16"), ParamError, 161002, V + "scalar_type is float16" + AVAILABLE),
    ("number numerics", lambda: val(value=1.0, numerics="x"), ParamError, 161002, V + "numerics is 'x', available: reference."),
    ("back None", lambda: deq(value=None), DTypeError, 161001, D + "value is None, expected a numpy.ndarray."),
    ("back list", lambda: deq(value=[1]), DTypeError, 161002, D + "value is a list, expected a numpy.ndarray. Convert it, e.g. with np.asarray(value, dtype=np.int8)."),
    ("back dtype", lambda: deq(value=X), DTypeError, 161002, D + "value has dtype float32, expected int8, uint8 or int32."),
    ("back dtype int64", lambda: deq(value=Z4), DTypeError, 161002, D + "value has dtype int64, expected int8, uint8 or int32."),
    ("back dtype first", lambda: deq(value=Z4, zero_point=2**40), DTypeError, 161002, D + "value has dtype int64, expected int8, uint8 or int32."),
    ("back rank", lambda: deq(value=nine(Q)), ParamError, 161002, D + "value has 9 dimensions, expected 0 to 8."),
    *of_kinds(deq, D, scale=NUMBER, zero_point=INT),
    ("back zero_point", lambda: deq(zero_point=128), ParamError, 161002, D + "zero_point is 128, expected -128 to 127 (qint8)."),
    ("back zero_point unsigned", lambda: deq(value=Q.view(np.uint8), zero_point=-1), ParamError, 161002, D + "zero_point is -1, expected 0 to 255 (quint8)."),
    ("back out dtype", lambda: deq(out=np.zeros((2, 4), np.float16)), DTypeError, 161002, D + "out has dtype float16, expected float32."),
    ("back out shape", lambda: deq(out=VALUES[0]), ParamError, 161002, D + "out has shape (4,), expected (2, 4)."),
    ("back number float", lambda: deq(value=1.0), TypeError, None, D + "value is a float, expected an int."),
    ("back number", lambda: deq(value=2**31), ParamError, 161002, D + "value is 2147483648, expected -2147483648 to 2147483647 (qint32)."),
    ("back number below", lambda: deq(value=-(2**31) - 1), ParamError, 161002, D + "value is -2147483649, expected -2147483648 to 2147483647 (qint32)."),
    ("back number zero_point", lambda: deq(value=1, zero_point=2**31), ParamError, 161002, D + "zero_point is 2147483648, expected -2147483648 to 2147483647 (qint32)."),
    ("back number out", lambda: deq(value=1, out=VALUES), TypeError, None, D + "out is a numpy.ndarray, expected None where value is a number."),
    *of_kinds(tensor, T, scale=NUMBER, zero_point=INT),
    ("tensor zero_point", lambda: tensor(zero_point=300), ParamError, 161002, T + "zero_point is 300, expected -128 to 127 (qint8)."),
    ("tensor scalar_type", lambda: tensor(scalar_type="float16"), ParamError, 161002, T + "scalar_type is float16" + AVAILABLE),
    ("tensor scalar_type kind", lambda: tensor(scalar_type=None), TypeError, None, T + "scalar_type is None" + WAYS),
    ("make tensor", lambda: make_per_tensor_affine_quantizer(0.1, 300, "quint8"), ParamError, 161002, T + "zero_point is 300, expected 0 to 255 (quint8)."),
    ("tensor out", lambda: TENSOR.quantize(X, out=VALUES), DTypeError, 161002, TQ + "out has dtype float32, expected int8."),
    ("tensor back dtype", lambda: TENSOR.dequantize(Q.view(np.uint8)), DTypeError, 161002, TD + "q has dtype uint8, expected int8."),
    ("tensor back out", lambda: TENSOR.dequantize(Q, out=CODES), DTypeError, 161002, TD + "out has dtype int8, expected float32."),
    ("channel None", lambda: channel(None), DTypeError, 161001, C + "scales is None, expected a numpy.ndarray."),
    ("channel zero_points None", lambda: channel(zero_points=None), DTypeError, 161001, C + "zero_points is None, expected a numpy.ndarray."),
    ("channel list", lambda: channel([0.1]), DTypeError, 161002, C + "scales is a list, expected a numpy.ndarray. Convert it, e.g. with np.asarray(scales, dtype=np.float32)."),
    ("channel list of zero_points", lambda: channel(zero_points=[0]), DTypeError, 161002, C + "zero_points is a list, expected a numpy.ndarray. Convert it, e.g. with np.asarray(zero_points, dtype=np.int32)."),
    ("back list of qint32", lambda: tensor(scalar_type="qint32").dequantize([1]), DTypeError, 161002, TD + "q is a list, expected a numpy.ndarray. Convert it, e.g. with np.asarray(q, dtype=np.int32)."),
    ("channel number", lambda: channel(zero_points=0), DTypeError, 161002, C + "zero_points is an int, expected a numpy.ndarray."),
    ("channel dtype", lambda: channel(S4.astype(ml_dtypes.bfloat16)), DTypeError, 161002, C + "scales has dtype bfloat16, expected float32 or float64."),
    ("channel zero_points dtype", lambda: channel(zero_points=S4), DTypeError, 161002, C + "zero_points has dtype float64, expected int32 or int64."),
    ("channel rank", lambda: channel(S4[None]), ParamError, 161002, C + "scales has 2 dimensions, expected 1. It holds one element per channel."),
    ("channel rank 0", lambda: channel(np.array(0.1)), ParamError, 161002, C + "scales has 0 dimensions, expected 1."),
    ("channel zero_points rank", lambda: channel(zero_points=Z4[None]), ParamError, 161002, C + "zero_points has 2 dimensions, expected 1."),
    *of_kinds(channel, C, axis=INT),
    ("channel axis", lambda: channel(axis=8), ParamError, 161002, C + "axis is 8, expected -8 to 7."),
    ("channel axis below", lambda: channel(axis=-9), ParamError, 161002, C + "axis is -9, expected -8 to 7."),
    ("channel scalar_type", lambda: channel(scalar_type="int4"), ParamError, 161002, C + "scalar_type is int4" + AVAILABLE),
    ("channel scalar_type kind", lambda: channel(scalar_type=[]), TypeError, None, C + "scalar_type is a list" + WAYS),
    ("channel length", lambda: channel(zero_points=Z4[:3]), ParamError, 161002, C + "zero_points has shape (3,), expected the shape of scales, (4,)."),
    ("channel zero_point", lambda: channel(zero_points=np.full(4, 128)), ParamError, 161002, C + "zero_points holds 128, expected -128 to 127 (qint8)."),
    ("channel zero_point most", lambda: channel(zero_points=np.full(4, 2**63 - 1)), ParamError, 161002, C + "zero_points holds 9223372036854775807, expected -128 to 127 (qint8)."),
    ("channel zero_point least", lambda: channel(zero_points=np.full(4, -(2**63)), scalar_type="qint32"), ParamError, 161002, C + "zero_points holds -9223372036854775808, expected -2147483648 to 2147483647 (qint32)."),
    ("make channel", lambda: make_per_channel_affine_quantizer(S4, Z4[:3], 0, 12), ParamError, 161002, C + "zero_points has shape (3,), expected the shape of scales, (4,)."),
    ("channel value dtype", lambda: CHANNEL.quantize(Q), DTypeError, 161002, CQ + "x has dtype int8, expected float16, bfloat16 or float32."),
    ("channel value rank", lambda: CHANNEL.quantize(X[0, 0, ...].reshape(())), ParamError, 161002, CQ + "x has 0 dimensions, expected 1 to 8. Give it an axis with x.reshape(1)."),
    ("channel value axis", lambda: CHANNEL.quantize(X[0]), ParamError, 161002, CQ + "axis is 1, expected -1 to 0: x has 1 dimension"),
    ("channel value shape", lambda: CHANNEL.quantize(X.T), ParamError, 161002, CQ + "x has shape (4, 2), expected length 4 along axis 1, the number of scales."),
    ("channel out", lambda: CHANNEL.quantize(X, out=CODES.T), ParamError, 161002, CQ + "out has shape (4, 2), expected (2, 4)."),
    ("channel back dtype", lambda: CHANNEL.dequantize(X), DTypeError, 161002, CD + "q has dtype float32, expected int8."),
    ("channel back shape", lambda: CHANNEL.dequantize(Q[:, :3]), ParamError, 161002, CD + "q has shape (2, 3), expected length 4 along axis 1, the number of scales."),
    ("channel back out", lambda: CHANNEL.dequantize(Q, out=VALUES[:1]), ParamError, 161002, CD + "out has shape (1, 4), expected (2, 4)."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
VAL_FAULTS = [
    ({"value": None}, DTypeError, "value is None"),
    ({"value": [1.0]}, DTypeError, "value is a list"),
    ({"value": Q}, DTypeError, "value has dtype"),
    ({"value": nine(X)}, ParamError, "value has 9 dimensions"),
    ({"zero_point": 300}, ParamError, "zero_point is 300"),
    ({"numerics": "x"}, ParamError, "numerics is 'x'"),
    ({"out": VALUES}, DTypeError, "out has dtype"),
]
CHANNEL_FAULTS = [
    ({"zero_points": None}, DTypeError, "zero_points is None"),
    ({"scales": [1.0]}, DTypeError, "scales is a list"),
    ({"zero_points": S4}, DTypeError, "zero_points has dtype"),
    ({"scales": S4[None]}, ParamError, "scales has 2 dimensions"),
    ({"scalar_type": "int4"}, ParamError, "scalar_type is int4"),
    ({"axis": 8}, ParamError, "axis is 8"),
    ({"zero_points": Z4[:3]}, ParamError, "zero_points has shape"),
    ({"zero_points": np.full(4, 128)}, ParamError, "zero_points holds"),
]
FAULTS = {
    "quantize_val": (val, VAL_FAULTS),
    "dequantize_val": (deq, VAL_FAULTS[:2]),
    "PerChannelAffineQuantizer": (channel, CHANNEL_FAULTS),
}
