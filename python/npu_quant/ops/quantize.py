"""npu_quantize: codes of eight bits, of four or of 32, by scales that are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array
from ..dtypes import DTypeName


def npu_quantize(
    self: Array,
    scales: Array,
    zero_points: Array | None,
    dtype: DTypeName,
    axis: int = 1,
    div_mode: bool = True,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Quantize an array by given scales and zero points, one for all or one per channel.

    ::

        q = self / scales                 div_mode=True
        q = self * scales                 div_mode=False
        y = code(q + zero_points)         the nearest of dtype, saturated

    Every operation is one IEEE float32 operation per element (docs/numerics.md 8); 16-bit inputs
    are widened exactly, int32 zero points are rounded to float32. Without zero points nothing is
    added.

    ==============================  =============================  ========================
    dtype                           the result                     codes end at
    ==============================  =============================  ========================
    int8 (258), uint8 (260)         int8, uint8                    -128, 127; 0, 255
    int32 (259)                     int32                          -2**31, 2**31 - 1
    int4 (285)                      int32, 8 codes in an element:  -8, 7
                                    the first is its low nibble
    float8_e4m3fn (292)             ml_dtypes.float8_e4m3fn        +-448
    float8_e5m2 (291)               ml_dtypes.float8_e5m2          +-57344
    hifloat8 (290)                  uint8                          +-32768
    ==============================  =============================  ========================

    Args:
        self: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 0 to 8. Any strides,
            unaligned and read-only arrays included, here and below.
        scales: float16, bfloat16 or float32, whatever self's dtype: one element of any shape, or
            1-D of the axis' length; with ``div_mode=False`` also of self's rank with ones but for
            the axis, such as ``(16, 1)``. Any sign.
        zero_points: int8, uint8, int32, float16, bfloat16 or float32; shapes as for scales but its
            own; None for nothing.
        dtype: the format of the codes, one of the table, as torch_npu's number there, torch's (1,
            0, 3; 12, 13, 14 for qint8, quint8, qint32; 16 for quint4x2), dtype or name. torch_npu
            lacks int4, and int8 by that number, with ``div_mode=True``; with ``div_mode=False`` it
            takes int32 for packed int4.
        axis: the axis of the channels. With ``div_mode=False`` any axis from -1 on means the last
            one, as in torch_npu, and -2 the one before it; there are no others.
        div_mode: whether to divide by the scales or to multiply.
        out: where to write the result: an array of exactly its shape and dtype, any strides, apart
            from the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The codes, of self's shape; of int4, whose last axis has to be a multiple of 8, an eighth of
        that. The way back to about ``self`` is ``(y - zero_points) *
        scales``, or ``/ scales`` with ``div_mode=False``.

    Rounding is to nearest, ties to even, in hifloat8 away from zero, after the zero point is added.
    Out of the ordinary:

    ==============================================  ===============================================
    what                                            y
    ==============================================  ===============================================
    NaN in self, scales or zero_points              0
    inf or -inf in self, scale > 0 and finite       dtype's largest code, its smallest
    beyond the range of dtype, int32 too            dtype's largest code, its smallest
    a tie, such as 0.5 with zero point 1            to even after the sum: 1.5 gives 2
    scale 0 (not -0), div_mode=True                 largest for self > 0, smallest for self < 0,
                                                    0 for 0 (0 / 0 is NaN), whatever the zero point
    scale infinite, div_mode=True                   the zero point; 0 for an infinite self
    0 * inf, div_mode=False                         0, whatever the zero point
    fractional or infinite zero points              added as they are
    int32 zero points beyond 2 ** 24                rounded to float32 first
    float8: -0, or below 0 and rounded to 0         -0 (80), but a zero point of 0 makes -0 a 0
    hifloat8: rounded to 0, -0 too                  0: it has no -0
    no elements                                     empty
    ==============================================  ===============================================

    ``torch.quantize_per_channel`` adds the zero point before rounding, too, but multiplies by
    ``1 / scale`` (measured, torch 2.13): its codes differ where that rounds otherwise than the
    division next to a tie. 2.25 / 0.3 is just below 7.5 in float32, 2.25 * (1 / 0.3) is 7.5. It
    also makes a NaN -2147483648 in qint32.

    Raises:
        DTypeError: an array is missing (code 161001), is no ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``dtype=None``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[2.25, 1.65, -0.5, 99]], dtype=np.float32)
        >>> scales = np.array([0.3, 0.3, 1, 0.5], dtype=np.float32)
        >>> zero_points = np.array([0, 0, 1, 0], dtype=np.int32)
        >>> npu_quant.npu_quantize(x, scales, zero_points, np.int8)  # torch: 8, 6, 0, 127
        array([[  7,   5,   0, 127]], dtype=int8)
        >>> npu_quant.npu_quantize(x, np.float32([2]), None, "uint8", div_mode=False)
        array([[  4,   3,   0, 198]], dtype=uint8)

        As scripts of torch_npu write it, with reciprocals of the scales, and with its own dtypes:

        >>> npu_quant.npu_quantize(x, 1 / scales, None, npu_quant.qint8, axis=-1, div_mode=False)
        array([[  8,   6,   0, 127]], dtype=int8)
        >>> npu_quant.npu_quantize(x, scales, None, npu_quant.hifloat8, axis=-1)
        array([[ 39,  35, 152,  78]], dtype=uint8)
        >>> y = npu_quant.npu_quantize(x, scales, None, npu_quant.float8_e4m3fn, axis=-1)
        >>> y.astype(np.float32)
        array([[  7.5,   5.5,  -0.5, 192. ]], dtype=float32)

    Source: torch_npu.npu_quantize (Ascend/op-plugin), which calls aclnnQuantize, and with
    ``div_mode=False`` aclnnAscendQuantV3 (hicann/ops-nn ``quant/ascend_quant_v2``).
    """
    return _core.npu_quantize(self, scales, zero_points, dtype, axis, div_mode, out, numerics)


def reference(
    self: NDArray[Any],
    scales: NDArray[Any],
    zero_points: NDArray[Any] | None,
    dtype: DTypeName,
    axis: int = 1,
    div_mode: bool = True,
) -> NDArray[Any]:
    """Compute :func:`npu_quantize` in plain NumPy: the formula, to the bit, without checks."""
    if not div_mode and axis > -1:
        axis = -1

    def along_axis(a: NDArray[Any]) -> NDArray[np.float32]:
        shape = [1] * self.ndim
        if a.size != 1:
            shape[axis] = -1
        return a.astype(np.float32).reshape(shape)

    with np.errstate(all="ignore"):
        x = self.astype(np.float32)
        q = x / along_axis(scales) if div_mode else x * along_axis(scales)
        if zero_points is not None:
            q = q + along_axis(zero_points)
        return _codes.encode(q, dtype)
