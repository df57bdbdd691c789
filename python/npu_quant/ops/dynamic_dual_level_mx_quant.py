"""npu_dynamic_dual_level_mx_quant: float4 codes with two levels of scales."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core, _mx
from ..arrays import Array


class DynamicDualLevelMxQuantResult(NamedTuple):
    """What :func:`npu_dynamic_dual_level_mx_quant` returns; None where ``out`` holds None."""

    y: NDArray[np.uint8]
    """Codes of float4_e2m1, two in a byte: the last axis is half of input's."""
    level0_scale: NDArray[np.float32]
    """A float32 for each 512 elements of the last axis."""
    level1_scale: NDArray[np.uint8]
    """E8M0 bytes: two for each 64 elements, in an added last axis of 2."""


def npu_dynamic_dual_level_mx_quant(
    input: Array,
    *,
    smooth_scale: None = None,
    round_mode: str = "rint",
    out: tuple[Array | None, Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> DynamicDualLevelMxQuantResult:
    """Quantize with one scale per 512 elements and one power of two per block of 32 (MX).

    ::

        level0_scale = max |x| / 6                  over 512 elements of the last axis
        t            = x / level0_scale             rounded to x's dtype; x where the scale is 0
        b            = floor(log2(max |t|)) + 125, at least 0         over 32 elements
        y            = code(t * 2^(127 - b))        the nearest of float4_e2m1, saturated

    Every operation is one IEEE float32 operation per element (docs/numerics.md 23), and t is
    rounded once more, to nearest, ties to even. Codes and bytes are those that
    :func:`npu_dynamic_mx_quant` gives for t. The last group and the last block may be shorter.

    Args:
        input: float16 or bfloat16 (``ml_dtypes.bfloat16``), of rank 1 to 7. Its last axis is even.
            It may have any strides and be unaligned or read-only.
        smooth_scale: not available; pass None.
        round_mode: ``"rint"``: ties go to the even code; ``"round"``: away from zero; ``"floor"``:
            to the next code below.
        out: where to write ``(y, level0_scale, level1_scale)``: arrays of exactly the result's
            shapes and dtypes, with any strides and no memory shared with each other or input. None
            stands for an output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, level0_scale, level1_scale)`` for input ``(..., K)``: ``y`` is uint8 ``(..., K / 2)``,
        the first of two codes in the low nibble; ``level0_scale`` is float32 ``(..., ceil(K /
        512))``; ``level1_scale`` is uint8 ``(..., ceil(K / 64), 2)``, whose byte b stands for
        ``2**(b - 127)``, and 255 for NaN. A byte that belongs to no block is 0. To dequantize to
        about ``input``, compute ``npu_anti_mx_quant(y, level1_scale, dst_type="float32",
        src_type="float4_e2m1") * np.repeat(level0_scale, 512, axis=-1)[..., :K]``.

    Rounding of codes follows ``round_mode``. Edge cases, by group or block:

    ===============================  ============  ============  ================================
    group or block                   level0_scale  level1_scale  y
    ===============================  ============  ============  ================================
    group all zero, of any sign      0             0             0, or -0 as the element
    block of zeros, group not        of the group  0             0, or -0 as the element
    group holds NaN                  NaN           255           +0 in all of its blocks
    group holds inf or -inf, no NaN  inf           0             0, or -0 of negative values;
                                                   255           +0 in blocks that hold inf
    an odd last block                of the group  b             the byte beside it is 0
    empty: ``(m, 0)``                none          none          empty
    ===============================  ============  ============  ================================

    Raises:
        DTypeError: ``input`` is missing (code 161001), is not an ndarray, or has another dtype.
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
