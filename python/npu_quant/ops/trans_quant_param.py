"""npu_trans_quant_param: scales and offsets packed into the words that a device's matmul takes."""

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
    """Pack the scales and offsets of a quantized product into 64-bit words.

    ::

        y = f | 2^46 | (clamp(rint(offset), -256, 255) & 0x1FF) << 37
        f = the bits of scale, the last 13 set to 0

    A word holds the scale as a float of 19 bits (a sign, 8 bits of exponent, 10 of mantissa) in
    bits 13 to 31, and the offset as a signed integer in bits 37 to 45 (docs/numerics.md 16). ``(y &
    0xFFFFFFFF).astype(np.uint32).view(np.float32)`` returns that scale.

    Args:
        scale: float32, of rank 1 or 2. It may have any strides and be unaligned or read-only; so
            may the arrays below.
        offset: float32, of rank 1 or 2: one element, or as many as scale has, in the same order;
            None for 0. If scale has rank 1 and one element, an offset of rank 1 may have more; the
            scale then serves all of them.
        round_mode: how 32 bits become 19: 0 (also None) truncates; 1 rounds to nearest, ties to
            even.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        int64, of scale's shape; of offset's shape if one scale serves several offsets.

    Rounding of the offset is to nearest, ties to even. Edge cases:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    scale negative, -0.0                        positive: the sign of the scale is bit 31
    scale subnormal                             truncated with round_mode 0; a signed 0 with 1
    scale rounded up to a power of 2            the exponent is one more: 3.4e38 becomes inf
    scale infinite                              the same bits
    NaN in scale                                truncated in both modes: 0x7F800001 becomes inf
    offset beyond -256 to 255, or infinite      -256 or 255
    NaN in offset                               as 0
    one scale and several offsets               as many words, with the same scale
    no elements                                 empty
    ==========================================  ===================================================

    Raises:
        DTypeError: scale is missing (code 161001), an array is not an ndarray, or has another
            dtype.
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
