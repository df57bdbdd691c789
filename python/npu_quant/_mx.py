"""MX blocks in plain NumPy: what the MX operators' ``reference()`` share.

Of a block whose greatest magnitude is A::

    b = floor(log2 A) - floor(log2 greatest) + 127      scale_alg 0
    b = the least with A <= D * 2^(b - 127)             1, 2: D is dst_type_max, or the greatest
    y = code(x * 2^(127 - b))                           the product is one float32 operation

b ends at 0 and 254. Where A is 0 it is 0; where a block holds NaN or an infinity it is 255, and
every y is +0. A bound that A lies below takes its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _codes
from .dtypes import DTypeName

BLOCK = 32


def greatest_of(v: NDArray[np.float32], axis: int, block: int = BLOCK) -> NDArray[np.float32]:
    """Return the greatest magnitude of each block along an axis: NaN where one holds NaN."""
    starts = np.arange(0, v.shape[axis], block)
    return np.asarray(np.maximum.reduceat(np.abs(v), starts, axis=axis))


def bytes_of(
    amax: NDArray[np.float32],
    dst_type: DTypeName,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
    max_low_bound: float = 0.0,
) -> NDArray[np.uint8]:
    """Return b of blocks, by their greatest magnitudes."""
    end = np.float32(dst_type_max or _codes.row_of(dst_type).greatest)
    bounded = np.maximum(amax, np.float32(max_low_bound))
    # In float64, where no float32 number is subnormal. A fraction is at least .5, and below 1.
    fraction, exponent = np.frexp(bounded.astype(np.float64))
    end_fraction, end_exponent = np.frexp(np.float64(end))
    b = exponent - end_exponent + 127 + ((fraction > end_fraction) if scale_alg else 0)
    b = np.where(bounded == 0, 0, np.clip(b, 0, 254))
    return np.where(np.isfinite(amax), b, 255).astype(np.uint8)


def spread(b: NDArray[Any], axis: int, n: int, block: int = BLOCK) -> NDArray[Any]:
    """Return the bytes of n elements along an axis, by those of their blocks."""
    return np.repeat(b, block, axis).take(range(n), axis)


def scaled(v: NDArray[np.float32], b: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return what becomes codes: elements by the inverse of their blocks' scales."""
    factor = np.ldexp(np.float32(1), 127 - b.astype(np.int32))
    return np.where(b == 255, 0, v * factor).astype(np.float32)


def paired(b: NDArray[np.uint8], axis: int) -> NDArray[np.uint8]:
    """Return bytes as mxscale: those of blocks 2p and 2p + 1 in a last axis; 0 if there is none."""
    axis %= b.ndim
    n = b.shape[axis]
    even = np.pad(b, [(0, n % 2 if a == axis else 0) for a in range(b.ndim)])
    pairs = even.reshape(*b.shape[:axis], -(-n // 2), 2, *b.shape[axis + 1 :])
    return np.moveaxis(pairs, axis + 1, -1)


def unpaired(mxscale: NDArray[Any], axis: int) -> NDArray[Any]:
    """Return the bytes along the axis that :func:`paired` took them from."""
    axis %= mxscale.ndim - 1
    n = mxscale.shape[axis]
    pairs = np.moveaxis(mxscale, -1, axis + 1)
    return pairs.reshape(*pairs.shape[:axis], 2 * n, *pairs.shape[axis + 2 :])


def quantized(
    x: NDArray[Any],
    axis: int,
    round_mode: str,
    dst_type: DTypeName,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
    max_low_bound: float = 0.0,
    block: int = BLOCK,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return the codes and the mxscale of blocks along an axis.

    Args:
        x: the numbers.
        axis: along which a block's elements lie.
        round_mode: how they become codes.
        dst_type: of which format.
        scale_alg: the rule of the scales: 0, 1 or 2. None is 0, of the next, too.
        dst_type_max: what A becomes by rule 2, if not the greatest value.
        max_low_bound: the least A by rule 1.
        block: how many elements a block has; the last one may have fewer.
    """
    with np.errstate(all="ignore"):
        v = x.astype(np.float32)
        amax = greatest_of(v, axis, block)
        b = bytes_of(amax, dst_type, scale_alg, dst_type_max, max_low_bound)
        q = scaled(v, spread(b, axis, v.shape[axis], block))
        return _codes.encode(q, dst_type, round_mode), paired(b, axis)
