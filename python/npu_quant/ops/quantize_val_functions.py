"""quantize_val and dequantize_val: a number or an array to codes, and back."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core, dtypes
from ..arrays import Array
from ..dtypes import DTypeName


@overload
def quantize_val(
    scale: float,
    zero_point: int,
    value: float | np.number[Any],
    scalar_type: DTypeName,
    *,
    out: None = None,
    numerics: str | None = None,
) -> int: ...
@overload
def quantize_val(
    scale: float,
    zero_point: int,
    value: Array,
    scalar_type: DTypeName,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]: ...
def quantize_val(
    scale: float,
    zero_point: int,
    value: float | np.number[Any] | Array,
    scalar_type: DTypeName,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> int | NDArray[Any]:
    """Quantize a number or an array with one scale and zero point.

    ::

        inv = 1 / scale
        q   = zero_point + round(value * inv)     saturated to the range of scalar_type

    Every operation, the sum included, is one IEEE float32 operation per element (docs/numerics.md
    7); 16-bit elements are widened exactly.

    Args:
        scale: the step, rounded to float32 first. Any number: see below.
        zero_point: the code of 0, in the range of ``scalar_type``.
        value: a number, which is rounded to float32, or an array: float16, bfloat16
            (``ml_dtypes.bfloat16``) or float32, of rank 0 to 8. It may have any strides and be
            unaligned or read-only.
        scalar_type: the type of the codes: :data:`npu_quant.qint8` (-128 to 127, held in int8),
            ``quint8`` (0 to 255, uint8) or ``qint32`` (int32); or its name, ``torch.qint8``,
            torch's number (12, 13, 14), or the storage type given in the same ways (``np.int8``).
        out: where to write the codes of an array: an array of exactly its shape and the storage
            type, with any strides and no memory shared with ``value``.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        An int if value is a number; if it is an array, codes of its shape: int8, uint8 or int32.

    Rounding is to nearest, ties to even, before the zero point is added. Edge cases:

    ======================================  ==================================================
    value or scale                          code
    ======================================  ==================================================
    NaN                                     the least
    inf, -inf, beyond the range             the greatest, the least
    a tie, such as 0.5 with zero point 1    rounded before the sum: 0 + 1
    scale negative                          by the formula: signs change sides
    scale 0, or so small that inv is inf    greatest for value > 0, least for < 0 and for 0
    scale -0.0                              least for value > 0, greatest for < 0, least for 0
    scale inf (in float32)                  zero_point; an infinite value gives NaN: the least
    scale NaN                               the least
    zero_point beyond 2 ** 24 (qint32)      rounded to float32 first, and so is the sum
    no elements                             empty
    ======================================  ==================================================

    ``torch.quantize_per_tensor`` (measured: 2.13 on x86) adds the zero point *before* it rounds,
    unlike the document of ``quantize_val``, this function and torch's own fake quantization. Its
    codes differ by one at ties with an odd zero point, as in the example below, and next to ties if
    ``zero_point + value * inv`` rounds to another side in float32: 1.5000001 with zero point 1
    gives 2 there. It turns a NaN into the greatest code of qint8 and quint8. All other codes are
    equal.

    Raises:
        DTypeError: ``value`` is missing (code 161001), is neither number nor ndarray, or has
            another dtype.
        ParamError: rank, ``zero_point``, ``scalar_type`` or ``out`` is not allowed.
        TypeError: an attribute is of the wrong kind, such as ``zero_point=0.0``, or ``out`` is
            given for a number.

    Example:
        >>> import numpy as np, npu_quant
        >>> npu_quant.quantize_val(0.1, 10, 0.25, "qint8")
        12
        >>> x = np.array([0.5, 1.5, 2.5, -0.5], dtype=np.float32)
        >>> npu_quant.quantize_val(1.0, 1, x, "qint8")  # torch.quantize_per_tensor: 2, 2, 4, 0
        array([1, 3, 3, 1], dtype=int8)

    Source: PyTorch's documentation of its quantizers and
    ``aten/src/ATen/native/quantized/AffineQuantizerBase.cpp``.
    """
    return _core.quantize_val(scale, zero_point, value, scalar_type, out, numerics)


@overload
def dequantize_val(
    scale: float,
    zero_point: int,
    value: int | np.integer[Any],
    *,
    out: None = None,
    numerics: str | None = None,
) -> float: ...
@overload
def dequantize_val(
    scale: float,
    zero_point: int,
    value: Array,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[np.float32]: ...
def dequantize_val(
    scale: float,
    zero_point: int,
    value: int | np.integer[Any] | Array,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> float | NDArray[np.float32]:
    """Dequantize a code or an array of codes with one scale and zero point.

    ::

        x = scale * (value - zero_point)

    The difference is computed in int32 and rounded to float32; the product is one IEEE float32
    operation (docs/numerics.md 7). After :func:`quantize_val` over the same range, this is fake
    quantization to the bit (:func:`npu_quant.fake_quantize_per_tensor_affine`).

    Args:
        scale: the step, rounded to float32 first. Any number.
        zero_point: the code of 0, in the range of ``value``'s type (of int32 for a number).
        value: an int in the range of int32, or an array: int8, uint8 or int32, of rank 0 to 8. It
            may have any strides and be unaligned or read-only.
        out: where to write the values of an array: a float32 array of exactly its shape, with any
            strides and no memory shared with ``value``.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        A float, exact in float32, if value is an int; if it is an array, a float32 array of its
        shape.

    Rounding is to nearest, ties to even. Edge cases:

    ==========================================  ===========================================
    value or scale                              x
    ==========================================  ===========================================
    value - zero_point beyond the int32 range   the difference wraps, as int32 does
    value - zero_point beyond 2 ** 24           rounded to float32, then multiplied
    too large for float32                       inf, -inf
    scale negative                              by the formula; -0.0 where value is zero_point
    scale 0 or -0.0                             0.0 or -0.0, by the signs of both factors
    scale inf (in float32)                      inf, -inf; NaN where value is zero_point
    scale NaN                                   NaN
    no elements                                 empty
    ==========================================  ===========================================

    Raises:
        DTypeError: ``value`` is missing (code 161001), is neither number nor ndarray, or has
            another dtype.
        ParamError: rank, ``zero_point``, an int ``value`` or ``out`` is not allowed.
        TypeError: an argument is of the wrong kind, such as ``value=1.0``, or ``out`` is given for
            a number.

    Example:
        >>> import numpy as np, npu_quant
        >>> q = np.array([-128, 10, 12, 127], dtype=np.int8)
        >>> npu_quant.dequantize_val(0.1, 10, q)
        array([-13.8,   0. ,   0.2,  11.7], dtype=float32)
        >>> npu_quant.dequantize_val(0.5, 10, 13)
        1.5

    Source: PyTorch's documentation of its quantizers and
    ``aten/src/ATen/native/quantized/AffineQuantizerBase.cpp``; the bits of
    ``torch.quantize_per_tensor(...).dequantize()`` (2.13).
    """
    return _core.dequantize_val(scale, zero_point, value, out, numerics)


def reference(
    scale: ArrayLike, zero_point: ArrayLike, value: ArrayLike, scalar_type: DTypeName
) -> NDArray[Any]:
    """Compute :func:`quantize_val` in plain NumPy: the formula, to the bit, without checks.

    Scale and zero point may be numbers or arrays that broadcast.
    """
    row = dtypes.resolve(scalar_type)
    assert row is not None
    limits = np.iinfo(row.numpy)
    with np.errstate(all="ignore"):
        inv = np.float32(1) / np.asarray(scale, np.float32)
        q = np.asarray(zero_point, np.float32) + np.rint(np.asarray(value).astype(np.float32) * inv)
        # In float64, which holds the limits of int32.
        code = np.clip(q.astype(np.float64), limits.min, limits.max)
        return np.where(np.isnan(q), limits.min, code).astype(limits.dtype)


def reference_dequantize(
    scale: ArrayLike, zero_point: ArrayLike, value: ArrayLike
) -> NDArray[np.float32]:
    """Compute :func:`dequantize_val` in plain NumPy, without checks; arrays may broadcast."""
    with np.errstate(all="ignore"):
        steps = np.asarray(value).astype(np.int32) - np.asarray(zero_point).astype(np.int32)
        x = np.asarray(scale, np.float32) * steps.astype(np.float32)
        return np.asarray(x, np.float32)
