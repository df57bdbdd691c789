"""Fake quantization with a scale per channel: values moved to the grids that quantizing leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from .fake_quantize_per_tensor import FakeQuantizeResult, saturate
from .fake_quantize_per_tensor import reference as reference_per_tensor


def fake_quantize_per_channel_affine_cachemask(
    self: Array,
    scale: Array,
    zero_point: Array,
    axis: int,
    quant_min: int,
    quant_max: int,
    *,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> FakeQuantizeResult:
    """Quantize and dequantize with a scale per channel; also return what was in the range.

    ::

        inv    = 1 / scale
        q      = zero_point + round(self * inv)        or  round(zero_point + self * inv)
        mask   = quant_min <= q <= quant_max
        output = (clamp(q, quant_min, quant_max) - zero_point) * scale

    Each element uses the scale and zero point of its channel, its index along ``axis``. Integer
    zero points are added after rounding, float ones before it. Every operation is one IEEE float32
    operation per element (docs/numerics.md 6), except the last line with float zero points: it is
    computed in float64 and rounded to float32; 16-bit elements are widened exactly, and ``output``
    is rounded to self's dtype at the end.

    Args:
        self: float16, bfloat16 (``ml_dtypes.bfloat16``; an extension: the device takes the other
            two) or float32, of rank 1 to 8. It may have any strides and be unaligned or read-only.
        scale: the steps of the grids, float32, of shape ``(self.shape[axis],)``. Any numbers: see
            below.
        zero_point: where 0 lies on the integer grids, of scale's shape: int32, each ``quant_min``
            to ``quant_max``, or float32 or float16, each -16777216 to 16777216.
        axis: the axis of the channels; negative ones count from the end.
        quant_min: the lowest grid point, -16777216 to 16777216 and not above ``quant_max``.
        quant_max: the highest grid point, -16777216 to 16777216.
        out: where to write ``(output, mask)``: arrays of exactly the result's shape and dtypes,
            with any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(output, mask)``: of self's dtype and bool, both of self's shape.

    Rounding is to nearest, ties to even. Edge cases, by channel:

    ====================================  =====================================  ===============
    element, scale or zero point          output                                 mask
    ====================================  =====================================  ===============
    NaN                                   (quant_min - zero_point) * scale       False
    inf, or q above quant_max             (quant_max - zero_point) * scale       False
    -inf, or q below quant_min            (quant_min - zero_point) * scale       False
    output too large for self's dtype     inf or -inf                            by the formula
    float zero point, q rounds to -0      as for 0: q is never -0                by the formula
    float zero point outside the range    by the formula                         by the formula
    scale negative                        by the formula: signs change sides     by the formula
    scale 0, or so small that inv is inf  0 counts as NaN, others as inf, -inf   False
    scale inf                             NaN, but inf or -inf where c is not    by q; False for
                                          zero_point; inf and -inf count as NaN  inf and -inf
    scale NaN                             NaN                                    False
    empty                                 empty                                  empty
    ====================================  =====================================  ===============

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, ``axis``, range, length, a zero point or ``out`` is not allowed.
        TypeError: an attribute is of the wrong kind, such as ``axis=0.0``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0.25, 99], [0.75, -9]], dtype=np.float32)
        >>> scale, zero_point = np.array([0.1, 0.5], np.float32), np.array([0, 1], np.int32)
        >>> output, mask = npu_quant.fake_quantize_per_channel_affine_cachemask(
        ...     x, scale, zero_point, 0, -8, 7
        ... )
        >>> output
        array([[ 0.2,  0.7],
               [ 1. , -4.5]], dtype=float32)
        >>> mask
        array([[ True, False],
               [ True, False]])

    Source: aten's function of this name (PyTorch
    ``aten/src/ATen/native/quantized/FakeQuantPerChannelAffine.cpp``) and
    aclnnFakeQuantPerChannelAffineCachemask (hicann/ops-nn ``quant/fake_quant_affine_cachemask``).
    The results are the same bits as torch 2.13's on a CPU, except that its kernel

    * converts q to int64, where on x86 inf and all from 2^63 overflow to quant_min: here they
      saturate, as they do per tensor;
    * with float32 zero points, fuses the product and the sum where the CPU can: here each is
      rounded, as torch does with float16 ones, and a q next to a tie may differ by one;
    * keeps integer differences from the zero point beyond 2^24 in float64: here they are float32.

    The device gives (0 - zero_point) * scale for NaN, with a mask of
    quant_min <= zero_point <= quant_max, computes in float32 with float zero points too, and
    compares the mask of float16 in float16, which is coarse beyond 2048.
    """
    return _core.fake_quantize_per_channel_affine_cachemask(
        FakeQuantizeResult, self, scale, zero_point, axis, quant_min, quant_max, out, numerics
    )


def fake_quantize_per_channel_affine(
    self: Array,
    scale: Array,
    zero_point: Array,
    axis: int,
    quant_min: int,
    quant_max: int,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Quantize and dequantize with a scale per channel.

    ::

        q      = zero_point + round(self * (1 / scale))
        output = (clamp(q, quant_min, quant_max) - zero_point) * scale

    The result is the ``output`` of :func:`fake_quantize_per_channel_affine_cachemask`, bit for bit.
    That page gives the order of operations, also for float zero points, and the edge cases
    (docs/numerics.md 6).

    Args:
        self: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8, any strides.
        scale: the steps, float32, of shape ``(self.shape[axis],)``.
        zero_point: of scale's shape: int32, each ``quant_min`` to ``quant_max``, or float32 or
            float16, each -16777216 to 16777216.
        axis: the axis of the channels; negative ones count from the end.
        quant_min: the lowest grid point, -16777216 to 16777216 and not above ``quant_max``.
        quant_max: the highest grid point, -16777216 to 16777216.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        An array of self's dtype and shape.

    Rounding is to nearest, ties to even; integer zero points are added after it.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, ``axis``, range, length, a zero point or ``out`` is not allowed.
        TypeError: an attribute is of the wrong kind, such as ``axis=0.0``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0.25, 99], [0.75, -9]], dtype=np.float32)
        >>> scale, zero_point = np.array([0.1, 0.5], np.float32), np.array([0, 1], np.int32)
        >>> npu_quant.fake_quantize_per_channel_affine(x, scale, zero_point, 0, -8, 7)
        array([[ 0.2,  0.7],
               [ 1. , -4.5]], dtype=float32)

    Source: aten ``fake_quantize_per_channel_affine`` (PyTorch
    ``aten/src/ATen/native/quantized/FakeQuantPerChannelAffine.cpp``).
    """
    return _core.fake_quantize_per_channel_affine(
        self, scale, zero_point, axis, quant_min, quant_max, out, numerics
    )


def fake_quantize_per_channel_affine_cachemask_backward(
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
            :func:`fake_quantize_per_channel_affine_cachemask`.
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
        >>> grad = np.array([[1.5, -2], [3, 4]], dtype=np.float32)
        >>> mask = np.array([[True, False], [True, False]])
        >>> npu_quant.fake_quantize_per_channel_affine_cachemask_backward(grad, mask)
        array([[ 1.5, -0. ],
               [ 3. ,  0. ]], dtype=float32)

    Source: aten ``fake_quantize_per_channel_affine_cachemask_backward`` (PyTorch
    ``aten/src/ATen/native/quantized/FakeQuantPerChannelAffine.cpp``).
    """
    return _core.fake_quantize_per_channel_affine_cachemask_backward(grad, mask, out, numerics)


def reference(
    self: NDArray[Any],
    scale: NDArray[np.float32],
    zero_point: NDArray[Any],
    axis: int,
    quant_min: int,
    quant_max: int,
) -> FakeQuantizeResult:
    """Compute the fake quantization in plain NumPy: the formula, to the bit, without checks."""
    along_axis = [1] * self.ndim
    along_axis[axis] = -1
    s, zp = scale.reshape(along_axis), zero_point.reshape(along_axis)
    if zp.dtype.kind == "i":
        return reference_per_tensor(self, s, zp, quant_min, quant_max)
    with np.errstate(all="ignore"):
        inv = np.float32(1) / s
        q = np.rint(zp.astype(np.float32) + self.astype(np.float32) * inv) + np.float32(0)
        c = saturate(q, quant_min, quant_max).astype(np.float64)
        output = ((c - zp) * s.astype(np.float64)).astype(np.float32).astype(self.dtype)
    return FakeQuantizeResult(output, (quant_min <= q) & (q <= quant_max))
