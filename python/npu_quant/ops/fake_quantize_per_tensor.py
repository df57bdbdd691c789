"""Fake quantization with one scale: values moved to the grid that quantizing would leave."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array


class FakeQuantizeResult(NamedTuple):
    """What the cachemask functions return; a field is None where ``out`` holds None."""

    output: NDArray[Any]
    """of self's dtype and shape."""
    mask: NDArray[np.bool_]
    """bool, of self's shape: True where the gradient passes."""


def fake_quantize_per_tensor_affine_cachemask(
    self: Array,
    scale: float,
    zero_point: int,
    quant_min: int,
    quant_max: int,
    *,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> FakeQuantizeResult:
    """Quantize and dequantize with one scale; also return which elements were in the range.

    ::

        inv    = 1 / scale
        q      = zero_point + round(self * inv)
        mask   = quant_min <= q <= quant_max
        output = (clamp(q, quant_min, quant_max) - zero_point) * scale

    Every operation is one IEEE float32 operation per element (docs/numerics.md 6); 16-bit elements
    are widened exactly, and ``output`` is rounded to self's dtype at the end.

    Args:
        self: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 0 to 8. It may have any
            strides and be unaligned or read-only.
        scale: the step, rounded to float32 first. Any number: see below.
        zero_point: where 0 lies on the integer grid, ``quant_min`` to ``quant_max``.
        quant_min: the lowest grid point, -16777216 to 16777216 and not above ``quant_max``.
        quant_max: the highest grid point, -16777216 to 16777216.
        out: where to write ``(output, mask)``: arrays of exactly the result's shape and dtypes,
            with any strides and no memory shared with each other or self. None stands for an output
            that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(output, mask)``: of self's dtype and bool, both of self's shape.

    Rounding is to nearest, ties to even, before the zero point is added. Edge cases:

    ====================================  =====================================  ===============
    element or scale                      output                                 mask
    ====================================  =====================================  ===============
    NaN                                   (quant_min - zero_point) * scale       False
    inf, or q above quant_max             (quant_max - zero_point) * scale       False
    -inf, or q below quant_min            (quant_min - zero_point) * scale       False
    output too large for self's dtype     inf or -inf                            by the formula
    scale negative                        by the formula: signs change sides     by the formula
    scale 0, or so small that inv is inf  0 counts as NaN, others as inf, -inf   False
    scale inf (in float32)                NaN; inf and -inf count as NaN         True; False
    scale NaN                             NaN                                    False
    quant_min == quant_max                one value everywhere                   q == quant_min
    empty                                 empty                                  empty
    ====================================  =====================================  ===============

    Raises:
        DTypeError: ``self`` is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, range, ``zero_point`` or ``out`` is not allowed.
        TypeError: an attribute is of the wrong kind, such as ``zero_point=0.0``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([0.05, 0.15, 0.25, 12.75], dtype=np.float32)
        >>> output, mask = npu_quant.fake_quantize_per_tensor_affine_cachemask(x, 0.1, 0, -128, 127)
        >>> output
        array([ 0. ,  0.2,  0.2, 12.7], dtype=float32)
        >>> mask
        array([ True,  True,  True, False])

    Source: aten ``fake_quantize_per_tensor_affine_cachemask`` (PyTorch
    ``aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp``): the same bits as torch 2.13 on
    a CPU. torch_npu has no kernel of its own for it; its ``tensor_qparams`` form has one.
    """
    return _core.fake_quantize_per_tensor_affine_cachemask(
        FakeQuantizeResult, self, scale, zero_point, quant_min, quant_max, out, numerics
    )


def _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
    self: Array,
    scale: Array,
    zero_point: Array,
    fake_quant_enabled: Array,
    quant_min: int,
    quant_max: int,
    *,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> FakeQuantizeResult:
    """Quantize and dequantize with scale and zero point in arrays, if a switch is on.

    ::

        inv    = 1 / scale
        q      = zero_point + round(self * inv)
        mask   = quant_min <= q <= quant_max                               switched off: True
        output = (clamp(q, quant_min, quant_max) - zero_point) * scale     switched off: self

    Every operation is one IEEE float32 operation per element (docs/numerics.md 6); 16-bit elements
    are widened exactly, and ``output`` is rounded to self's dtype at the end.

    Args:
        self: float16, bfloat16 (``ml_dtypes.bfloat16``; an extension: the device takes the other
            two) or float32, of rank 0 to 8. It may have any strides and be unaligned or read-only.
        scale: one element, float32, float16 or bfloat16.
        zero_point: one element, int32 or int64 (an extension, torch's), -16777216 to 16777216; it
            may lie outside ``quant_min`` to ``quant_max``.
        fake_quant_enabled: the switch: one element of any real dtype, on if it is at least 1.
        quant_min: the lowest grid point, -16777216 to 16777216 and not above ``quant_max``.
        quant_max: the highest grid point, -16777216 to 16777216.
        out: where to write ``(output, mask)``: arrays of exactly the result's shape and dtypes,
            with any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(output, mask)``: of self's dtype and bool, both of self's shape.

    Rounding is to nearest, ties to even, before the zero point is added. Edge cases:

    ====================================  =====================================  ===============
    element or argument                   output                                 mask
    ====================================  =====================================  ===============
    NaN                                   (quant_min - zero_point) * scale       False
    inf, or q above quant_max             (quant_max - zero_point) * scale       False
    -inf, or q below quant_min            (quant_min - zero_point) * scale       False
    fake_quant_enabled below 1, or NaN    self, NaN and infinities included      True
    zero_point outside the range          by the formula                         by the formula
    scale negative, 0, inf or NaN         by the formula                         by the formula
    empty                                 empty                                  empty
    ====================================  =====================================  ===============

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, range, number of elements, ``zero_point`` or ``out`` is not allowed.
        TypeError: an attribute is of the wrong kind, such as ``quant_min=0.0``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([0.25, -3, 99], dtype=np.float32)
        >>> scale, zero_point = np.array([0.1], np.float32), np.array([128], np.int32)
        >>> output, mask = npu_quant._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
        ...     x, scale, zero_point, np.array([1]), 0, 255
        ... )
        >>> output
        array([ 0.2, -3. , 12.7], dtype=float32)
        >>> mask
        array([ True,  True, False])

    Source: aten's function of this name and aclnnFakeQuantPerTensorAffineCachemask (hicann/ops-nn
    ``quant/fake_quant_affine_cachemask``). torch 2.13 on a CPU gives the same bits, but its switch
    is off only at 0 (truncated to an integer): -1 and less are on there, and off here and on the
    device. The device gives (0 - zero_point) * scale for NaN, with a mask of quant_min <=
    zero_point <= quant_max, and compares the mask of float16 in float16, which is coarse beyond
    2048. Its page prints ``self / scale`` where it multiplies by ``inv``.
    """
    return _core._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
        FakeQuantizeResult,
        self,
        scale,
        zero_point,
        fake_quant_enabled,
        quant_min,
        quant_max,
        out,
        numerics,
    )


def fake_quantize_per_tensor_affine(
    self: Array,
    scale: float | Array,
    zero_point: int | Array,
    quant_min: int,
    quant_max: int,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Quantize and dequantize with one scale.

    ::

        q      = zero_point + round(self * (1 / scale))
        output = (clamp(q, quant_min, quant_max) - zero_point) * scale

    The result is the ``output`` of :func:`fake_quantize_per_tensor_affine_cachemask`, bit for bit;
    if scale and zero point are arrays, it is that of the ``tensor_qparams`` form, switched on. That
    page gives the order of operations and the edge cases (docs/numerics.md 6).

    Args:
        self: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 0 to 8, any strides.
        scale: the step: a number, or an array of one element, float32, float16 or bfloat16.
        zero_point: if scale is a number, an int, ``quant_min`` to ``quant_max``; if scale is an
            array, an array of one element, int32 or int64, -16777216 to 16777216.
        quant_min: the lowest grid point, -16777216 to 16777216 and not above ``quant_max``.
        quant_max: the highest grid point, -16777216 to 16777216.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        An array of self's dtype and shape.

    Rounding is to nearest, ties to even, before the zero point is added.

    Raises:
        DTypeError: ``self`` is missing (code 161001), is not an ndarray, or an array has another
            dtype.
        ParamError: rank, range, number of elements, ``zero_point`` or ``out`` is not allowed.
        TypeError: an attribute is of the wrong kind, or only one of scale and zero point an array.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([0.05, 0.15, 0.25, 12.75], dtype=np.float32)
        >>> npu_quant.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)
        array([ 0. ,  0.2,  0.2, 12.7], dtype=float32)

    Source: aten ``fake_quantize_per_tensor_affine``, both overloads (PyTorch
    ``aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp``).
    """
    return _core.fake_quantize_per_tensor_affine(
        self, scale, zero_point, quant_min, quant_max, out, numerics
    )


def fake_quantize_per_tensor_affine_cachemask_backward(
    grad: Array,
    mask: Array,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Pass the gradient where the element was in the range (straight-through estimator).

    ::

        result = grad * mask                mask counts as 1 and 0

    The result is a product, not a selection: where mask is False, infinities and NaN give NaN, and
    negative numbers give -0 (docs/numerics.md 6).

    Args:
        grad: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 0 to 8, any strides.
        mask: bool, of grad's shape: the second result of
            :func:`fake_quantize_per_tensor_affine_cachemask`.
        out: where to write the result: an array of exactly grad's shape and dtype, with any strides
            and no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        An array of grad's dtype and shape.

    Rounding does not occur: the product with 1 or 0 is exact.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape or ``out`` is not allowed.
        TypeError: ``numerics`` is no str.

    Example:
        >>> import numpy as np, npu_quant
        >>> grad = np.array([1.5, -2, np.inf], dtype=np.float32)
        >>> mask = np.array([True, False, False])
        >>> npu_quant.fake_quantize_per_tensor_affine_cachemask_backward(grad, mask)
        array([ 1.5, -0. ,  nan], dtype=float32)

    Source: aten ``fake_quantize_per_tensor_affine_cachemask_backward`` (PyTorch
    ``aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp``).
    """
    return _core.fake_quantize_per_tensor_affine_cachemask_backward(grad, mask, out, numerics)


def reference(
    self: NDArray[Any],
    scale: ArrayLike,
    zero_point: ArrayLike,
    quant_min: int,
    quant_max: int,
    *,
    fake_quant_enabled: ArrayLike = 1,
) -> FakeQuantizeResult:
    """Compute the fake quantization in plain NumPy: the formula, to the bit, without checks.

    Scale and zero point may be numbers or arrays that broadcast.
    """
    if not np.all(np.asarray(fake_quant_enabled) >= 1):
        return FakeQuantizeResult(self.copy(), np.ones(self.shape, np.bool_))
    with np.errstate(all="ignore"):
        s, zp = np.asarray(scale, np.float32), np.asarray(zero_point, np.float32)
        q = zp + np.rint(self.astype(np.float32) * (np.float32(1) / s))
        y = (saturate(q, quant_min, quant_max) - zp) * s
        output = np.asarray(y, np.float32).astype(self.dtype)
    return FakeQuantizeResult(output, np.asarray((quant_min <= q) & (q <= quant_max)))


def saturate(q: NDArray[np.float32], quant_min: int, quant_max: int) -> NDArray[np.float32]:
    """Return what is left of q in the range; NaN counts as below it."""
    low, high = np.float32(quant_min), np.float32(quant_max)
    return np.where(np.isnan(q), low, np.clip(q, low, high))


def reference_backward(grad: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    """Compute the gradient in plain NumPy, without checks."""
    with np.errstate(all="ignore"):
        return np.asarray(np.multiply(grad, mask.astype(grad.dtype)))
