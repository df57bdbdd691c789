"""npu_swiglu_group_quant: a gated linear unit, and its codes with one scale per block."""

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
    """Codes, with half of x's last axis."""
    scale: NDArray[Any]
    """A float32 for each 128 elements of a row; for ``quant_mode=1`` two E8M0 bytes per 64."""
    origin: NDArray[Any]
    """``o`` before it is quantized, in x's dtype; without ``output_origin`` no elements."""


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
    """Multiply the swish of one half of each row by the other half, and quantize in blocks.

    ::

        a, b     = the halves of the last axis
        a, b     = min(a, L), max(min(b, L), -L)    where L = clamp_limit is above 0
        swish(a) = a / (1 + exp(-a))
        o        = swish(a) * b                     or  swish(a) * b * weight
        quant_mode 0:  amax  = max |o| of the finite ones of 128 elements, at least 1e-4
                       scale = amax / MAX           round_scale: up to a power of 2
                       y     = code(o * (MAX / amax)),   or  code(o * (1 / scale))
        quant_mode 1:  amax  = max |o| of 32 elements, at least 1e-4
                       scale = the least byte b with amax <= MAX * 2^(b - 127)
                       y     = code(o * 2^(127 - b))

    Every operation is one IEEE float32 operation per element, from left to right, and exp is
    correctly rounded (docs/numerics.md 23); inputs are widened exactly. code is the nearest of
    dst_type, ties to even, saturated; NaN gives 0. The last block of a row may be shorter.

    Args:
        x: float16 or bfloat16 (``ml_dtypes.bfloat16``), of rank 2 to 8, or 2 to 7 with
            ``quant_mode=1``. Its last axis is even. It may have any strides and be unaligned or
            read-only; so may the arrays below.
        weight: float32, one element for each row of ``x``.
        group_index: int64, ``(G,)``: the number of rows of each group, counted in C order over
            ``x.shape[:-1]``. The rows of all groups are computed, at most those of x; rows after
            the last group give results of 0.
        scale: None; it belongs to ``quant_mode=2``, which is not available.
        dst_type: the format of ``y``: float8_e5m2 or float8_e4m3fn, given as torch_npu's number
            (291, 292), torch's number (23, 24), a dtype or a name. MAX is 57344 and 448.
        quant_mode: 0: one float32 scale per block of 128; 1: one power of two per block of 32 (MX).
        block_size: 0, or the block size of the mode: 128 or 32.
        round_scale: whether scales are powers of two; True with ``quant_mode=1``.
        clamp_limit: L, rounded to float32; 0 or less, such as -1.0, means no clamping.
        dst_type_max: has no effect; it belongs to ``quant_mode=3``, which is not available.
        output_origin: whether to return ``o``, too.
        out: where to write ``(y, scale, origin)``: arrays of exactly the result's shapes and
            dtypes, with any strides and no memory shared with each other or the inputs. None stands
            for an output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale, origin)``: ``y`` has the codes ``(..., H)``, H = ``x.shape[-1] // 2``.
        ``scale`` is float32 ``(..., ceil(H / 128))``, or uint8 ``(..., ceil(H / 64), 2)``, whose
        byte b stands for ``2**(b - 127)``; a byte that belongs to no block is 0. ``origin`` is
        ``o`` rounded to x's dtype, ``(..., H)``, or ``(0,)``. ``y.astype(np.float32) *
        np.repeat(scale, 128, axis=-1)[..., :H]`` dequantizes to about ``o``; for MX use
        :func:`npu_quant.npu_anti_mx_quant`.

    Rounding is to nearest, ties to even. Edge cases, by block:

    ==============================  =====================  ===========================
    block                           scale                  y
    ==============================  =====================  ===========================
    o all zero                      1e-4 / MAX             0, or -0 as o
    amax less than 1e-4             1e-4 / MAX             by the formula
    holds NaN, mode 0               of the finite ones     0 for NaN
    holds inf or -inf, mode 0       of the finite ones     the greatest or the least code
    holds NaN or inf, mode 1        255                    +0 everywhere
    after the last group            0                      +0
    no elements                     none                   empty
    ==============================  =====================  ===========================

    In quant_mode 1 the scale 1e-4 / MAX is byte 105 for float8_e4m3fn, and 98 for float8_e5m2.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
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
    ``activation/swiglu_group_quant``, Ascend/op-plugin). The golden there multiplies amax by fl(1 /
    MAX) to get the scale; its modes 2 and 3 are for hifloat8.
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
