"""npu_trans_quant_param: scales and offsets in the words that the device's products take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array


def npu_trans_quant_param(
    scale: Array,
    offset: Array | None = None,
    round_mode: int | None = 0,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[np.int64]:
    """Put scales of a quantized product, and offsets, into words of 64 bits.

    ::

        y = f | 2^46 | (clamp(rint(offset), -256, 255) & 0x1FF) << 37
        f = the bits of scale, of which the last 13 are 0

    A word holds the scale as a float of 19 bits (a sign, 8 bits of exponent, 10 of mantissa) in
    bits 13 to 31, and the offset as a signed integer in bits 37 to 45 (docs/numerics.md 16).
    ``(y & 0xFFFFFFFF).astype(np.uint32).view(np.float32)`` is that scale.

    Args:
        scale: float32, of rank 1 or 2. Any strides, unaligned and read-only arrays included, here
            and below.
        offset: float32, of rank 1 or 2: one element, or as many as scale has, in that order; None
            for 0. Of rank 1 it may also have more than a scale of rank 1 and one element, which
            then holds for all.
        round_mode: how 32 bits become 19: 0, and None, cuts; 1 rounds to nearest, ties to even.
        out: where to write the result: an array of exactly its shape and dtype, any strides, apart
            from the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        int64, of scale's shape; of offset's where that has more elements than one scale.

    Rounding of the offset is to nearest, ties to even. Out of the ordinary:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    scale negative, -0.0                        positive: the sign of the scale is bit 31
    scale subnormal                             cut with round_mode 0; 0 with its sign with 1
    scale rounded up to a power of 2            its exponent is one more: 3.4e38 becomes inf
    scale infinite                              the same bits
    NaN in scale                                cut in both modes, so that 0x7F800001 becomes inf
    offset beyond -256 to 255, infinite         the end
    NaN in offset                               as 0
    one scale and several offsets               as many words, with the same scale
    no elements                                 empty
    ==========================================  ===================================================

    Raises:
        DTypeError: scale is missing (code 161001), an array is no ndarray, or has another dtype.
        ParamError: rank, shape, ``round_mode`` or ``out`` is not allowed.
        TypeError: an attribute is of the wrong kind, such as ``round_mode=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> y = npu_quant.npu_trans_quant_param(np.array([1.1, -0.3], dtype=np.float32))
        >>> [hex(word) for word in y]
        ['0x40003f8cc000', '0x4000be998000']
        >>> (y & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
        array([ 1.0996094, -0.2998047], dtype=float32)

    Source: torch_npu.npu_trans_quant_param (Ascend/op-plugin), which calls aclnnTransQuantParamV3
    (hicann/ops-nn ``quant/trans_quant_param_v2``).
    """
    return _core.npu_trans_quant_param(scale, offset, round_mode, out, numerics)


def reference(
    scale: NDArray[Any], offset: NDArray[Any] | None = None, round_mode: int | None = 0
) -> NDArray[Any]:
    """Compute :func:`npu_trans_quant_param` in plain NumPy: the same, to the bit, no checks."""
    u = np.ascontiguousarray(scale).view(np.uint32).astype(np.int64).reshape(scale.shape)
    if round_mode == 1:
        exponent = u >> 23 & 0xFF
        nearest = u + 0xFFF + (u >> 13 & 1)
        u = np.where(exponent == 0, u & 0x80000000, np.where(exponent == 255, u, nearest))
    y = u & 0xFFFFE000 | 1 << 46
    if offset is None:
        return np.asarray(y)
    with np.errstate(invalid="ignore"):  # signaling NaN
        nearest = np.clip(np.rint(offset), -256, 255)
    whole = np.where(np.isnan(nearest), 0, nearest).astype(np.int64)
    if whole.size == y.size or whole.size == 1:
        whole = np.broadcast_to(whole.reshape(-1), y.size).reshape(y.shape)
    return np.asarray(y | (whole & 0x1FF) << 37)
