"""npu_dynamic_dual_level_mx_quant: float4 by two levels of scales."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core, _mx
from ..arrays import Array


class DynamicDualLevelMxQuantResult(NamedTuple):
    """What :func:`npu_dynamic_dual_level_mx_quant` returns; None where ``out`` holds None."""

    y: NDArray[np.uint8]
    """Codes of float4_e2m1, two in a byte: half of input's last axis."""
    level0_scale: NDArray[np.float32]
    """A float32 for each 512 elements of the last axis."""
    level1_scale: NDArray[np.uint8]
    """E8M0 bytes: two for each 64 elements, in a last axis of 2 that is added."""


def npu_dynamic_dual_level_mx_quant(
    input: Array,
    *,
    smooth_scale: None = None,
    round_mode: str = "rint",
    out: tuple[Array | None, Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> DynamicDualLevelMxQuantResult:
    """Quantize groups of 512 elements by a scale each, and blocks of 32 by a power of two (MX).

    ::

        level0_scale = max |x| / 6                  over 512 elements of the last axis
        t            = x / level0_scale             rounded to x's dtype; x where the scale is 0
        b            = floor(log2(max |t|)) + 125, at least 0         over 32 elements
        y            = code(t * 2^(127 - b))        the nearest of float4_e2m1, saturated

    Every operation is one IEEE float32 operation per element (docs/numerics.md 23), and t is
    rounded once more, to nearest, ties to even. Codes and bytes are those of
    :func:`npu_dynamic_mx_quant`, of t. The last group and the last block hold what is left.

    Args:
        input: float16 or bfloat16 (``ml_dtypes.bfloat16``), of rank 1 to 7. Its last axis is even.
            Any strides, unaligned and read-only arrays included.
        smooth_scale: None; it is not available.
        round_mode: ``"rint"``: ties go to the even code; ``"round"``: away from zero; ``"floor"``:
            to the next code below.
        out: where to write ``(y, level0_scale, level1_scale)``: arrays of exactly the result's
            shapes and dtypes, any strides, apart from each other and from input; None for one that
            is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, level0_scale, level1_scale)`` of input ``(..., K)``: uint8 ``(..., K / 2)``, the
        first of two codes in the low nibble; float32 ``(..., ceil(K / 512))``; uint8
        ``(..., ceil(K / 64), 2)``, of which byte b stands for ``2**(b - 127)``, 255 for NaN, and
        one that is no block's is 0. The way back to about ``input`` is
        ``npu_anti_mx_quant(y, level1_scale, dst_type="float32", src_type="float4_e2m1")
        * np.repeat(level0_scale, 512, axis=-1)[..., :K]``.

    Rounding of codes is by ``round_mode``. Groups and blocks out of the ordinary:

    ===============================  ============  ============  ================================
    group or block                   level0_scale  level1_scale  y
    ===============================  ============  ============  ================================
    group all zero, of any sign      0             0             0, or -0 as the element
    block of zeros, group not        of the group  0             0, or -0 as the element
    group holds NaN                  NaN           255           +0 in all of its blocks
    group holds inf or -inf, no NaN  inf           0             0, or -0 of what is negative;
                                                   255           +0 in blocks that hold one
    a last odd block                 of the group  b             its neighbour's byte is 0
    empty: ``(m, 0)``                none          none          empty
    ===============================  ============  ============  ================================

    Raises:
        DTypeError: ``input`` is missing (code 161001), is no ndarray, or has another dtype.
        ParamError: rank, ``out``, the last axis or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``round_mode=0``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[96, -40, 1.5, 48]], dtype=np.float16)
        >>> y, level0_scale, level1_scale = npu_quant.npu_dynamic_dual_level_mx_quant(x)
        >>> [f"{byte:02X}" for byte in y[0]], level0_scale, level1_scale
        (['C7', '50'], array([[16.]], dtype=float32), array([[[127,   0]]], dtype=uint8))

    Source: aclnnDynamicDualLevelMxQuant and torch_npu.npu_dynamic_dual_level_mx_quant
    (hicann/ops-nn ``quant/dynamic_dual_level_mx_quant``, Ascend/op-plugin).
    """
    return _core.npu_dynamic_dual_level_mx_quant(
        DynamicDualLevelMxQuantResult, input, smooth_scale, round_mode, out, numerics
    )


_GROUP, _MOST = 512, np.float32(6)


def reference(
    input: NDArray[Any], *, smooth_scale: None = None, round_mode: str = "rint"
) -> DynamicDualLevelMxQuantResult:
    """Compute :func:`npu_dynamic_dual_level_mx_quant` in plain NumPy, without checks."""
    with np.errstate(all="ignore"):
        v, n = input.astype(np.float32), input.shape[-1]
        scale = _mx.greatest_of(v, -1, _GROUP) / _MOST
        scale = np.where(np.isnan(scale), np.float32(np.nan), scale)
        by = np.where(scale == 0, np.float32(1), scale)
        t = (v / np.repeat(by, _GROUP, axis=-1)[..., :n]).astype(input.dtype)
        y, b = _mx.quantized(t, -1, round_mode, "float4_e2m1")
    return DynamicDualLevelMxQuantResult(y, scale, b)
