"""npu_quantize: codes of 8, 4 or 32 bits, with given scales."""

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
    """Quantize with given scales and zero points, per tensor or per channel.

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
        self: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 0 to 8. It may have any
            strides and be unaligned or read-only; so may the arrays below.
        scales: float16, bfloat16 or float32, whatever self's dtype: one element of any shape, or
            1-D of the axis' length; with ``div_mode=False`` also of self's rank with axes of 1
            except at ``axis``, such as ``(16, 1)``. Any sign.
        zero_points: int8, uint8, int32, float16, bfloat16 or float32, of any shape that scales may
            have; None for no zero points.
        dtype: the format of the codes, one from the table: torch_npu's number there, torch's number
            (1, 0, 3; 12, 13, 14 for qint8, quint8, qint32; 16 for quint4x2), a dtype or a name.
            With ``div_mode=True`` torch_npu does not take int4, nor int8 by the number 258; with
            ``div_mode=False`` it takes int32 for packed int4.
        axis: the axis of the channels. With ``div_mode=False``, as in torch_npu, any axis of -1 or
            more means the last axis, -2 means the axis before it, and others are refused.
        div_mode: True divides by the scales, False multiplies by them.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The codes, of self's shape; for int4 the last axis must be a multiple of 8, and the codes
        have an eighth of it. ``(y - zero_points) * scales``, or ``/ scales`` with
        ``div_mode=False``, dequantizes to about ``self``.

    Rounding comes after the zero point is added, and is to nearest, ties to even; in hifloat8 ties
    go away from zero. Edge cases:

    ==============================================  ===============================================
    what                                            y
    ==============================================  ===============================================
    NaN in self, scales or zero_points              0
    inf or -inf in self, scale > 0 and finite       dtype's greatest code, its least
    beyond the range of dtype, int32 too            dtype's greatest code, its least
    a tie, such as 0.5 with zero point 1            rounded after the sum: 1.5 gives 2
    scale 0 (not -0), div_mode=True                 greatest for self > 0, least for self < 0,
                                                    0 for 0 (0 / 0 is NaN), whatever the zero point
    scale infinite, div_mode=True                   the zero point; 0 for an infinite self
    0 * inf, div_mode=False                         0, whatever the zero point
    fractional or infinite zero points              added as they are
    int32 zero points beyond 2 ** 24                rounded to float32 first
    float8: -0, or below 0 and rounded to 0         -0 (80); with a zero point of 0, -0 gives 0
    hifloat8: rounded to 0, -0 too                  0: it has no -0
    no elements                                     empty
    ==============================================  ===============================================

    ``torch.quantize_per_channel`` also adds the zero point before rounding, but multiplies by ``1 /
    scale`` (measured, torch 2.13): next to a tie its codes differ if that product rounds to another
    side than the quotient. 2.25 / 0.3 is just below 7.5 in float32, 2.25 * (1 / 0.3) is 7.5. It
    also turns a NaN into -2147483648 in qint32.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
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
