"""The MX operators element by element, in exact numbers: witnesses of their references."""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from witnesses import Array


class Grid(NamedTuple):
    """The numbers of a float: multiples of 2^-mantissa of their binade, or of the least one."""

    mantissa: int
    least: int
    top: Fraction

    def near(self, v: Fraction, mode: str = "rint") -> Fraction:
        """Round, as if there were no top."""
        if v == 0:
            return v
        step = power(max(binade(abs(v)), self.least) - self.mantissa)
        return step * {"rint": round, "round": half_away, "floor": math.floor}[mode](v / step)


FLOATS = {
    "float32": Grid(23, -126, (2 - Fraction(1, 2**23)) * 2**127),
    "bfloat16": Grid(7, -126, (2 - Fraction(1, 2**7)) * 2**127),
    "float16": Grid(10, -14, Fraction(65504)),
}
CODES = {
    "float8_e4m3fn": Grid(3, -6, Fraction(448)),
    "float8_e5m2": Grid(2, -14, Fraction(57344)),
    "float4_e2m1": Grid(1, 0, Fraction(6)),
    "float4_e1m2": Grid(2, 0, Fraction(7, 4)),
}


def power(e: int) -> Fraction:
    return Fraction(2) ** e


def binade(a: Fraction) -> int:
    """Return floor(log2 a)."""
    e = a.numerator.bit_length() - a.denominator.bit_length()
    return e if a >= power(e) else e - 1


def half_away(k: Fraction) -> int:
    return math.floor(abs(k) + Fraction(1, 2)) * (-1 if k < 0 else 1)


def float32(value: float) -> Fraction:
    """Return a double rounded to float32."""
    return Fraction(struct.unpack("<f", struct.pack("<f", value))[0])


def sign_bit(format: str) -> int:
    return 8 if format.startswith("float4") else 128


def code_of(v: Fraction, is_negative: bool, format: str, mode: str) -> int:
    """Return the code of a number; a zero has the sign that is said."""
    grid = CODES[format]
    a = min(abs(grid.near(v, mode)), grid.top)
    e = max(binade(a), grid.least) if a else grid.least
    # One code for each multiple; the codes of a binade follow those of the binades below it.
    index = (e - grid.least) * 2**grid.mantissa + a / power(e - grid.mantissa)
    assert index.denominator == 1
    return int(index) + sign_bit(format) * is_negative


def value_of(code: int, format: str) -> float:
    grid, sign = CODES[format], sign_bit(format)
    exponent, mantissa = divmod(code % sign, 2**grid.mantissa)
    value = (mantissa + (2**grid.mantissa if exponent else 0)) * power(
        max(exponent, 1) - 1 + grid.least - grid.mantissa
    )
    infinite = {"float8_e5m2": 0x7C}.get(format)
    number = (
        float(value) if value <= grid.top else math.inf if code % sign == infinite else math.nan
    )
    return math.copysign(number, -1 if code >= sign else 1)


def byte_of(
    amax: Fraction, format: str, scale_alg: int, dst_type_max: float = 0, max_low_bound: float = 0
) -> int:
    """Return a block's byte, by the least power that is enough."""
    if scale_alg == 0:
        emax = binade(CODES[format].top)
        return max(binade(amax) - emax + 127, 0) if amax else 0
    end = float32(dst_type_max) if dst_type_max else CODES[format].top
    bounded = max(amax, float32(max_low_bound))
    return bisect_left(range(254), True, key=lambda b: bounded <= end * power(b - 127))


def block_of(xs: list[float], format: str, mode: str, *rule: Any) -> tuple[int, list[int]]:
    """Return a block's byte and codes."""
    if not all(map(math.isfinite, xs)):
        return 255, [0] * len(xs)
    b = byte_of(max((abs(Fraction(x)) for x in xs), default=Fraction(0)), format, *rule)
    products = [FLOATS["float32"].near(Fraction(x) * power(127 - b)) for x in xs]
    signs = [math.copysign(1, x) < 0 for x in xs]
    return b, [code_of(v, s, format, mode) for v, s in zip(products, signs, strict=True)]


def held(codes: Array, format: str) -> Array:
    """Return codes in the arrays that operators give."""
    if not format.startswith("float4"):
        return codes.view(getattr(ml_dtypes, format))
    packed = np.zeros((*codes.shape[:-1], codes.shape[-1] // 2), np.uint8)
    for index in np.ndindex(*packed.shape):
        low, high = (codes[(*index[:-1], 2 * index[-1] + k)] for k in (0, 1))
        packed[index] = low + 16 * high
    return packed


def chunks(n: int, block: int) -> Iterator[tuple[int, range]]:
    """Yield each block's number and elements."""
    for k in range(-(-n // block)):
        yield k, range(k * block, min((k + 1) * block, n))


def along(
    x: Array, axis: int, format: str, mode: str, *rule: Any, block: int = 32
) -> tuple[Array, Array]:
    """Quantize blocks along an axis."""
    axis, n = axis % x.ndim, x.shape[axis]
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    codes = np.zeros(x.shape, np.uint8)
    mxscale = np.zeros((*before, (n + 2 * block - 1) // (2 * block), *after, 2), np.uint8)
    for index in np.ndindex(*before, *after):
        head, tail = index[:axis], index[axis:]
        for k, inside in chunks(n, block):
            xs = [float(x[(*head, i, *tail)]) for i in inside]
            b, found = block_of(xs, format, mode, *rule)
            mxscale[(*head, k // 2, *tail, k % 2)] = b
            for i, code in zip(inside, found, strict=True):
                codes[(*head, i, *tail)] = code
    return held(codes, format), mxscale


def tiles(x: Array, format: str, mode: str, *rule: Any) -> tuple[Array, Array, Array]:
    """Quantize tiles of 32 x 32, and tell of their bytes twice."""
    *batches, m, n = x.shape
    codes = np.zeros(x.shape, np.uint8)
    scale1 = np.zeros((*batches, m, (n + 63) // 64, 2), np.uint8)
    scale2 = np.zeros((*batches, (m + 63) // 64, n, 2), np.uint8)
    for head in np.ndindex(*batches):
        for (i, rows), (j, columns) in (
            (down, across) for down in chunks(m, 32) for across in chunks(n, 32)
        ):
            places = [(*head, r, c) for r in rows for c in columns]
            b, found = block_of([float(x[p]) for p in places], format, mode, *rule)
            for place, code in zip(places, found, strict=True):
                codes[place] = code
            for r in rows:
                scale1[(*head, r, j // 2, j % 2)] = b
            for c in columns:
                scale2[(*head, i // 2, c, i % 2)] = b
    return held(codes, format), scale1, scale2


def grouped(
    x: Array, group_index: list[int], format: str, mode: str, *rule: Any
) -> tuple[Array, Array]:
    """Quantize blocks of 32 rows of each group."""
    (m, n), start = x.shape, 0
    codes = np.zeros(x.shape, np.uint8)
    mxscale = np.zeros((m // 64 + len(group_index), n, 2), np.uint8)
    for j, end in enumerate(group_index):
        for k, inside in chunks(end - start, 32):
            for c in range(n):
                xs = [float(x[start + i, c]) for i in inside]
                b, found = block_of(xs, format, mode, *rule)
                mxscale[start // 64 + j + k // 2, c, k % 2] = b
                for i, code in zip(inside, found, strict=True):
                    codes[start + i, c] = code
        start = end
    return held(codes, format), mxscale


def rounded(v: Fraction, is_negative: bool, to: str) -> float:
    """Return an exact number in a float's grid, as a float that holds it, infinite if beyond."""
    near = FLOATS[to].near(v)
    magnitude = math.inf if abs(near) > FLOATS[to].top else float(abs(near))
    return -magnitude if is_negative else magnitude


def anti(x: Array, mxscale: Array, axis: int, format: str, to: str) -> Array:
    """Return what codes and bytes stand for."""
    codes = np.ascontiguousarray(x).view(np.uint8)
    shape = codes.shape
    if format.startswith("float4"):
        shape = (*shape[:-1], 2 * shape[-1])
    y, axis = np.zeros(shape), axis % len(shape)
    for index in np.ndindex(*shape):
        if format.startswith("float4"):
            byte = int(codes[(*index[:-1], index[-1] // 2)])
            q = value_of(byte >> 4 if index[-1] % 2 else byte & 15, format)
        else:
            q = value_of(int(codes[index]), format)
        k = index[axis] // 32
        b = int(mxscale[(*index[:axis], k // 2, *index[axis + 1 :], k % 2)])
        if b == 255 or not math.isfinite(q):
            y[index] = math.nan if b == 255 else q
            continue
        is_negative = math.copysign(1, q) < 0
        product = rounded(Fraction(q) * power(b - 127), is_negative, "float32")
        is_finite = math.isfinite(product)
        y[index] = rounded(Fraction(product), is_negative, to) if is_finite else product
    return y.astype(getattr(ml_dtypes, to, to))
