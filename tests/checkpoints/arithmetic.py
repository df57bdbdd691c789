"""The numbers of a quantized module, in whole arrays of float32, each step as it is written."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .tensor_files import FLOAT8, Array

ONE, SEVEN, EIGHT, MOST = (np.float32(v) for v in (1, 7, 8, 127))


def widened(a: Array) -> Array:
    """Return numbers in float32: exact, but that float64 is rounded."""
    return np.asarray(a.astype(np.float32))


def rounded(a: Array, dtype: Any) -> Array:
    """Return float32 that went through a narrower dtype, to nearest even."""
    return np.asarray(a.astype(dtype).astype(np.float32))


def scales(w: Array, greatest: np.float32, dtype: Any) -> Array:
    """Return a scale per row, [N, 1]: of amax / greatest, rounded to a dtype."""
    amax = np.abs(w).max(axis=1, keepdims=True)
    s = rounded(amax / greatest, dtype)
    s[s == 0] = ml_dtypes.finfo(dtype).smallest_subnormal.astype(np.float32)
    s[amax == 0] = 1
    return s


def codes(w: Array, s: Array, greatest: np.float32) -> Array:
    """Return integer codes, [N, K]."""
    return np.asarray(np.clip(np.rint(w / s), -greatest, greatest).astype(np.int8))


def int8(w: Array, dtype: Any) -> tuple[Array, Array]:
    """Return codes [N, K] and scales [N, 1] of W8A8_DYNAMIC and W8A16."""
    s = scales(w, MOST, dtype)
    return codes(w, s, MOST), s


def int4(w: Array, dtype: Any) -> tuple[Array, Array]:
    """Return codes [N, K], one to a byte, and scales [N, 1] of W4A8_DYNAMIC."""
    s = scales(w, SEVEN, dtype)
    return codes(w, s, SEVEN), s


def nibbles(q: Array) -> Array:
    """Return pairs of rows in a byte, [N/2, K]: the even one in the low half."""
    low, high = q[0::2].view(np.uint8) & 15, q[1::2].view(np.uint8) & 15
    return np.asarray((low | high << 4).view(np.int8))


def halves(packed: Array) -> Array:
    """Return int4 of packed pairs of rows: nibbles() undone."""
    low, high = packed << 4 >> 4, packed >> 4  # of int8: the sign goes along
    return np.stack([low, high], axis=1).reshape(-1, packed.shape[1])


def scale_bias(q: Array, s: Array, runs: int) -> Array:
    """Return the bias of each row, [N, runs], of as many runs of columns."""
    n, k = q.shape
    sums = q.reshape(n, runs, k // runs).sum(axis=2, dtype=np.int64)
    return (8 * sums).astype(np.float32) * s


def in_groups(w: Array) -> Array:
    """Return [N, ceil(K/32), 32], the last block filled with zeros."""
    n, k = w.shape
    return np.pad(w, ((0, 0), (0, -k % 32))).reshape(n, -1, 32)


def mxfp8(w: Array, rule: str) -> tuple[Array, Array]:
    """Return codes [N, K] and E8M0 scales [N, ceil(K/32)]; the rule is "up" or "floor"."""
    blocks = in_groups(w)
    amax = np.abs(blocks).max(axis=2)
    half, above = np.frexp(amax)  # amax = half * 2^above, and half < 1
    m, e = 2 * half, above.astype(np.int64) - 1
    power = np.where((rule == "floor") | (m <= 1.75), e - 8, e - 7)
    power = np.where(amax == 0, 0, np.clip(power, -127, 127))
    y = np.clip(np.ldexp(blocks, -power[:, :, None].astype(np.int32)), -448, 448)
    q = y.astype(FLOAT8).reshape(w.shape[0], -1)[:, : w.shape[1]]
    return np.ascontiguousarray(q), (power + 127).astype(np.uint8)
