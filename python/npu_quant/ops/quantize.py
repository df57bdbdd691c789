"""npu_quantize: int8, uint8 or int32 codes by scales that are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core, dtypes
from ..dtypes import DTypeName


def npu_quantize(
    self: NDArray[Any],
    scales: NDArray[Any],
    zero_points: NDArray[Any] | None,
    dtype: DTypeName,
    axis: int = 1,
    div_mode: bool = True,
    *,
    out: NDArray[Any] | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Quantize an array by given scales and zero points, one for all or one per channel.

    ::

        q = self / scales                 div_mode=True
        q = self * scales                 div_mode=False
        y = round(q + zero_points)        saturated to the range of dtype

    Every operation is one IEEE float32 operation per element (docs/numerics.md 8); 16-bit inputs
    are widened exactly, int32 zero points are rounded to float32. Without zero points nothing is
    added.

    Args:
        self: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 0 to 8. Any strides,
            unaligned and read-only arrays included, here and below.
        scales: float16, bfloat16 or float32, whatever self's dtype: one element of any shape, or
            1-D of the axis' length; with ``div_mode=False`` also of self's rank with ones but for
            the axis, such as ``(16, 1)``. Any sign.
        zero_points: int8, uint8, int32, float16, bfloat16 or float32; shapes as for scales but its
            own; None for nothing.
        dtype: the type of the codes: int8, uint8 or int32, as torch_npu's code (1, 0, 3, or 12, 13,
            14 for qint8, quint8, qint32), dtype or name.
        axis: the axis of the channels. With ``div_mode=False`` any axis from -1 on means the last
            one, as in torch_npu, and -2 the one before it; there are no others.
        div_mode: whether to divide by the scales or to multiply.
        out: where to write the result: an array of exactly its shape and dtype, any strides, apart
            from the inputs, such as an earlier result. After Ctrl-C it holds some new elements and
            some old ones.
        numerics: the arithmetic profile, by default the current one
            (:func:`npu_quant.numerics`).

    Returns:
        The codes, of self's shape. The way back to about ``self`` is ``(y - zero_points) *
        scales``, or ``/ scales`` with ``div_mode=False``.

    Rounding is to nearest, ties to even, after the zero point is added. Out of the ordinary:

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
        MemoryError: no memory for the result.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[2.25, 1.65, -0.5, 99]], dtype=np.float32)
        >>> scales = np.array([0.3, 0.3, 1, 0.5], dtype=np.float32)
        >>> zero_points = np.array([0, 0, 1, 0], dtype=np.int32)
        >>> npu_quant.npu_quantize(x, scales, zero_points, np.int8)  # torch: 8, 6, 0, 127
        array([[  7,   5,   0, 127]], dtype=int8)
        >>> npu_quant.npu_quantize(x, np.float32([2]), None, "uint8", div_mode=False)
        array([[  4,   3,   0, 198]], dtype=uint8)

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
    row = dtypes.resolve(dtype)
    assert row is not None
    limits = np.iinfo(row.numpy)

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
        # In float64, which holds the limits of int32.
        y = np.clip(np.rint(q).astype(np.float64), limits.min, limits.max)
        return np.where(np.isnan(q), 0, y).astype(limits.dtype)
