"""Products of matrices in plain NumPy: the sums that the operators' ``reference()`` share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _codes
from .dtypes import DTypeName

CHUNK = 128
"""How many products are added one after another, before the sums of these are."""
BLOCK = 32
"""How many products of small floats are summed in float64."""


def chunked(x: NDArray[Any], w: NDArray[Any]) -> NDArray[np.float32]:
    """Return x @ w in float32, every operation rounded, in the order of docs/numerics.md 21.

    Args:
        x: of shape (..., K), of any float dtype that float32 holds.
        w: of shape (K, N), likewise.
    """
    left, right = x.astype(np.float32), w.astype(np.float32)
    total = np.zeros((*x.shape[:-1], w.shape[-1]), np.float32)
    for begin in range(0, len(right), CHUNK):
        chunk = np.zeros_like(total)
        for k in range(begin, min(begin + CHUNK, len(right))):
            chunk += left[..., k, None] * right[k]
        total = total + chunk if begin else chunk
    return total


def codes_in(array: NDArray[Any], named: DTypeName | None = None) -> DTypeName:
    """Return the format of an array's codes: of int32 int4, of float32 float4_e2m1.

    What those of uint8 are has to be named.
    """
    if named is not None and array.dtype == np.uint8:
        return named
    words = {np.dtype(np.int32): "int4", np.dtype(np.float32): "float4_e2m1"}
    return words.get(array.dtype, str(array.dtype))


def matrix_of(
    codes: NDArray[Any], named: DTypeName | None = None, k: int | None = None
) -> NDArray[np.float32]:
    """Return the numbers that the codes of a matrix (..., K, N) stand for.

    Args:
        codes: some may share an element along N or, where axis -2 is not k, along K.
        named: what they are, where codes is uint8.
        k: K, where codes may share elements along it.
    """
    if k is not None and codes.shape[-2] != k:
        return np.swapaxes(matrix_of(np.swapaxes(codes, -1, -2), named), -1, -2)
    return _codes.decode(codes, codes_in(codes, named))


def spread(values: NDArray[Any], group_size: int, k: int) -> NDArray[np.float32]:
    """Return parameters of columns, or of groups of rows for each of K rows, as float32.

    Bytes are powers of two.
    """
    if values.itemsize == 1:
        values = _codes.decode(values.view(np.uint8), "float8_e8m0fnu")
    rows = np.repeat(values, group_size, axis=-2)[..., :k, :] if group_size else values
    return rows.astype(np.float32)


def carried(words: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the scales and the offsets in the words of npu_trans_quant_param."""
    low = (words & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
    high = (words >> 37 & 0x1FF).astype(np.int32)
    return low, ((high ^ 256) - 256).astype(np.float32)


def factors(
    x1: NDArray[Any], x2: NDArray[Any], x1_dtype: Any = None, x2_dtype: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the codes of both matrices stand for: (..., M, K) and (..., K, N)."""
    a = matrix_of(x1, x1_dtype)
    b = matrix_of(x2, x2_dtype, a.shape[-1])
    return a.astype(np.float64), b.astype(np.float64)


def whole_sums(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return sums of products of integers, modulo 2^32: float64 holds each partial sum exactly."""
    assert a.shape[-1] < 2**38
    return (a @ b).astype(np.int64).astype(np.int32)


def group_sums(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    scale: NDArray[np.float32],
    offset: NDArray[Any] | None = None,
) -> NDArray[np.float32]:
    """Return totals of sums by groups along k, each less its offset and times its scale."""
    total = np.zeros((1, 1), np.float32)
    size = a.shape[-1] // max(1, len(scale))
    for j, factor in enumerate(scale):
        own = slice(j * size, (j + 1) * size)
        p = whole_sums(a[..., own], b[..., own, :]).astype(np.float32)
        if offset is not None:
            rows = a[..., own].sum(axis=-1, keepdims=True).astype(np.float32)
            p = p - rows * offset[j].astype(np.float32)
        total = total + p * factor
    shape = np.broadcast_shapes(total.shape, (a[..., :1] @ b[..., :1, :]).shape)
    return np.broadcast_to(total, shape)


def block_sums(
    a: NDArray[np.float64], b: NDArray[np.float64], powers: Any = None
) -> NDArray[np.float32]:
    """Return totals of sums by blocks of 32 k, each rounded to float32, times its power of two.

    In a block product i and product i + h are added, of h 16, 8, 4, 2 and 1.
    """
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    total = np.zeros((*shape, a.shape[-2], b.shape[-1]), np.float32)
    # Where float64 holds every sum, any order gives it.
    add = np.matmul if is_exact_in_blocks(a) and is_exact_in_blocks(b) else _by_halves
    for j in range(-(-a.shape[-1] // BLOCK)):
        k = slice(j * BLOCK, (j + 1) * BLOCK)
        block = add(a[..., k], b[..., k, :]).astype(np.float32)
        if powers is not None:
            block = (block * powers[0][..., :, None, j] * powers[1][..., None, j, :]).astype(
                np.float32
            )
        total = total + block
    return total


def is_exact_in_blocks(x: NDArray[np.float64]) -> bool:
    """Tell whether float64 holds all sums of 32 products of such numbers: those of float8_e4m3fn.

    They are multiples of 2^-9 up to 448, their products of 2^-18; NaN makes NaN of any.
    """
    is_whole = (np.abs(x) <= 448) & (np.rint(x * 512) == x * 512)
    return bool(np.all(is_whole | np.isnan(x)))


def _by_halves(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums of at most 32 products, each added to the one so many behind it."""
    p = a[..., :, None, :] * b.swapaxes(-1, -2)[..., None, :, :]
    p = np.pad(p, [(0, 0)] * (p.ndim - 1) + [(0, BLOCK - p.shape[-1])])
    for h in (16, 8, 4, 2, 1):
        p = p[..., :h] + p[..., h:]
    return np.asarray(p[..., 0])


def powers_of_two(
    pertoken_scale: NDArray[Any], scale: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factors of the blocks of rows, (..., M, blocks), and of columns; 255 is NaN."""
    rows, columns = (
        _codes.decode(x.view(np.uint8), "float8_e8m0fnu").astype(np.float64)
        for x in (pertoken_scale, scale.swapaxes(-1, -2))
    )
    rows = rows.reshape(*rows.shape[:-2], 2 * rows.shape[-2])
    return rows, columns.reshape(*columns.shape[:-3], 2 * columns.shape[-3], columns.shape[-1])
