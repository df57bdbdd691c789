"""npu_swiglu_group_quant: a gated linear unit, and codes of blocks of it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _glu, _mx
from ..arrays import Array
from ..dtypes import DTypeName


class SwigluGroupQuantResult(NamedTuple):
    """What :func:`npu_swiglu_group_quant` returns; a field is None where ``out`` holds None."""

    y: NDArray[Any]
    """Codes, of half of x's last axis."""
    scale: NDArray[Any]
    """A float32 for each 128 elements of a row; with ``quant_mode=1`` E8M0 bytes, two for 64."""
    origin: NDArray[Any]
    """What was quantized, in x's dtype; without ``output_origin`` of no elements."""


def npu_swiglu_group_quant(
    x: Array,
    *,
    weight: Array | None = None,
    group_index: Array | None = None,
    scale: None = None,
    dst_type: DTypeName = 291,
    quant_mode: int = 0,
    block_size: int = 0,
    round_scale: bool = False,
    clamp_limit: float = -1.0,
    dst_type_max: float = 15.0,
    output_origin: bool = False,
    out: tuple[Array | None, Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> SwigluGroupQuantResult:
    """Multiply the swish of one half of each row by the other half, and quantize blocks of it.

    ::

        a, b     = the halves of the last axis
        a, b     = min(a, L), max(min(b, L), -L)    where L = clamp_limit is above 0
        swish(a) = a / (1 + exp(-a))
        o        = swish(a) * b                     or  swish(a) * b * weight
        quant_mode 0:  amax  = max |o| of what is finite of 128 elements, at least 1e-4
                       scale = amax / MAX           with round_scale up to a power of 2
                       y     = code(o * (MAX / amax)),   or  code(o * (1 / scale))
        quant_mode 1:  amax  = max |o| of 32 elements, at least 1e-4
                       scale = the least byte b with amax <= MAX * 2^(b - 127)
                       y     = code(o * 2^(127 - b))

    Every operation is one IEEE float32 operation per element, from left to right, and exp is the
    correctly rounded one (docs/numerics.md 23); inputs are widened exactly. code is the nearest of
    dst_type, ties to even, saturated; NaN gives 0. The last block of a row holds what is left.

    Args:
        x: float16 or bfloat16 (``ml_dtypes.bfloat16``), of rank 2 to 8, with ``quant_mode=1`` to 7.
            Its last axis is even. Any strides, unaligned and read-only arrays included, here and
            below.
        weight: float32, an element for each row of ``x``.
        group_index: int64, ``(G,)``, how many rows each group has. The rows of all groups are
            computed, counted in C order over ``x.shape[:-1]``, or as many as there are; those
            behind have results of 0.
        scale: None; it belongs to ``quant_mode=2``, which is not available.
        dst_type: the format of ``y``: float8_e5m2 or float8_e4m3fn, as torch_npu's code (291, 292),
            torch's (23, 24), dtype or name. MAX is 57344 and 448.
        quant_mode: 0, blocks of 128 by a float32 each; 1, blocks of 32 by a power of two (MX).
        block_size: 0 or the mode's own, 128 or 32.
        round_scale: whether scales are powers of two: with ``quant_mode=1`` True.
        clamp_limit: L, rounded to float32; without one where it is 0 or less, as -1.0.
        dst_type_max: of no effect; it belongs to ``quant_mode=3``, which is not available.
        output_origin: whether ``o`` is returned, too.
        out: where to write ``(y, scale, origin)``: arrays of exactly the result's shapes and
            dtypes, any strides, apart from each other and the inputs; None for one that is not
            wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale, origin)``: codes ``(..., H)``, H = ``x.shape[-1] // 2``; float32
        ``(..., ceil(H / 128))``, or uint8 ``(..., ceil(H / 64), 2)``, of which byte b stands for
        ``2**(b - 127)`` and one that is no block's is 0; ``o`` rounded to x's dtype, ``(..., H)``,
        or ``(0,)``. The way back to about ``o`` is ``y.astype(np.float32) * np.repeat(scale, 128,
        axis=-1)[..., :H]``; of MX it is :func:`npu_quant.npu_anti_mx_quant`.

    Rounding is to nearest, ties to even. Blocks out of the ordinary:

    ==============================  =====================  ===========================
    block                           scale                  y
    ==============================  =====================  ===========================
    o all zero                      1e-4 / MAX             0, or -0 as o
    amax less than 1e-4             1e-4 / MAX             by the formula
    holds NaN, quant_mode 0         of what is finite      0 for NaN
    holds inf or -inf, the same     of what is finite      the greatest or the least code
    holds one of them, mode 1       255                    +0 everywhere
    behind the last group           0                      +0
    without elements                none                   empty
    ==============================  =====================  ===========================

    In mode 1 the scale of 1e-4 / MAX is the byte 105 of float8_e4m3fn, 98 of float8_e5m2.

    Raises:
        DTypeError: an array is missing (code 161001), is no ndarray, or has another dtype.
        ParamError: rank, shape, ``out``, an attribute or an entry of ``group_index`` is not
            allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``round_scale="yes"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[20, 32, 2, -7]], dtype=np.float16)
        >>> y, scale, origin = npu_quant.npu_swiglu_group_quant(x, output_origin=True)
        >>> y.astype(np.float32).tolist(), scale.tolist(), origin.tolist()
        ([[10240.0, -57344.0]], [[0.00390625]], [[40.0, -224.0]])

    Source: aclnnSwigluGroupQuant and torch_npu.npu_swiglu_group_quant (hicann/ops-nn
    ``activation/swiglu_group_quant``, Ascend/op-plugin). The golden there multiplies by
    fl(1 / MAX) for the scale; its modes 2 and 3 are hifloat8.
    """
    return _core.npu_swiglu_group_quant(
        SwigluGroupQuantResult,
        x,
        weight,
        group_index,
        scale,
        dst_type,
        quant_mode,
        block_size,
        round_scale,
        clamp_limit,
        dst_type_max,
        output_origin,
        out,
        numerics,
    )


_BLOCK, _LEAST = 128, np.float32(1e-4)


def _by_blocks(o: NDArray[np.float32], dst_type: DTypeName, round_scale: bool) -> tuple[Any, Any]:
    """Return codes of blocks of 128, and the scale of each."""
    most, n = np.float32(_codes.row_of(dst_type).greatest), o.shape[-1]
    magnitudes = np.where(np.isfinite(o), np.abs(o), np.float32(0))
    padded = np.pad(magnitudes, ((0, 0), (0, -n % _BLOCK)))
    blocks = padded.reshape(len(o), -(-n // _BLOCK), _BLOCK)
    amax = np.maximum(blocks.max(axis=-1, initial=0), _LEAST)
    scale, inverse = amax / most, most / amax
    if round_scale:
        fraction, exponent = np.frexp(scale)
        scale = np.ldexp(np.float32(1), exponent - (fraction == 0.5))
        inverse = 1 / scale
    q = o * np.repeat(inverse, _BLOCK, axis=-1)[:, :n]
    return _codes.encode(np.where(np.isfinite(q), q, o), dst_type), scale


def reference(
    x: NDArray[Any],
    *,
    weight: NDArray[np.float32] | None = None,
    group_index: NDArray[np.int64] | None = None,
    scale: None = None,
    dst_type: DTypeName = 291,
    quant_mode: int = 0,
    block_size: int = 0,
    round_scale: bool = False,
    clamp_limit: float = -1.0,
    dst_type_max: float = 15.0,
    output_origin: bool = False,
) -> SwigluGroupQuantResult:
    """Compute :func:`npu_swiglu_group_quant` in plain NumPy: the formula, without checks."""
    rows = math.prod(x.shape[:-1])
    computed = rows if group_index is None else min(sum(group_index.tolist()), rows)
    with np.errstate(all="ignore"):
        limit = np.float32(clamp_limit)
        a, b = _glu.halves(x.astype(np.float32))
        if limit > 0:
            a, b = np.minimum(a, limit), np.maximum(np.minimum(b, limit), -limit)
        o = (_glu.swish(a) * b).reshape(rows, a.shape[-1])
        if weight is not None:
            o = o * weight.reshape(rows, 1)
        if quant_mode == 1:
            y, found = _mx.quantized(o, -1, "rint", dst_type, 1, 0, float(_LEAST))
        else:
            y, found = _by_blocks(o, dst_type, round_scale)
        origin = o.astype(x.dtype)
    for result in (y, found, origin):
        result[computed:] = 0
    return SwigluGroupQuantResult(
        y.reshape(a.shape),
        found.reshape(*x.shape[:-1], *found.shape[1:]),
        origin.reshape(a.shape) if output_origin else np.empty(0, x.dtype),
    )
