"""Codes in plain NumPy: what the operators' ``reference()`` share, and the tables of formats."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import dtypes
from .dtypes import DType, DTypeName

_INTEGERS = {"int4": (-8, 7), "int8": (-128, 127), "uint8": (0, 255)}
_INTEGERS |= {"int32": (-(2**31), 2**31 - 1)}
_FLOAT4 = {"float4_e2m1": [0, 0.5, 1, 1.5, 2, 3, 4, 6]}
_FLOAT4 |= {"float4_e1m2": [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]}


def row_of(format: DTypeName) -> DType:
    """Return the row of a format that an operator has checked."""
    row = dtypes.resolve(format)
    assert row is not None
    return row


def _hifloat8(code: int) -> float:
    """Return the value of one code: a sign, a dot, an exponent of 0 to 4 bits, a mantissa."""
    field = code & 127
    sign = -1.0 if code & 128 else 1.0
    if field < 8:
        return (np.nan if code & 128 else 0.0) if field == 0 else math.ldexp(sign, field - 23)
    if field == 0x6F:
        return sign * np.inf
    bits = max(field.bit_length() - 4, 0) if field < 64 else 3 + (field >= 96)
    width = 3 if bits < 3 else 5 - bits
    exponent = 0
    if bits > 0:
        half = 1 << (bits - 1)
        found = field >> width & (2 * half - 1)
        exponent = half + found % half
        exponent = -exponent if found >= half else exponent
    return sign * math.ldexp((1 << width) + (field & ((1 << width) - 1)), exponent - width)


def _values(name: str) -> NDArray[np.float32]:
    if name in _FLOAT4:
        magnitudes = np.array(_FLOAT4[name], np.float32)
        return np.concatenate((magnitudes, -magnitudes))
    if name == "int4":
        return ((np.arange(16) ^ 8) - 8).astype(np.float32)
    if name == "hifloat8":
        return np.array([_hifloat8(code) for code in range(256)], np.float32)
    return np.arange(256, dtype=np.uint8).view(name).astype(np.float32)


values_of: Callable[[str], NDArray[np.float32]] = cache(_values)
"""The value of each code of a format of 4 bits, or of a float of 8, by its name."""


def encode(
    v: NDArray[Any],
    format: DTypeName,
    round_mode: str | None = None,
    carrier: DTypeLike | None = None,
) -> NDArray[Any]:
    """Return the codes of float32 numbers: the nearest, saturated; NaN gives 0, of e8m0 NaN.

    Args:
        v: the numbers.
        format: what their codes are of; two or eight of 4 bits share an element.
        round_mode: how floats are rounded: ``"rint"``, ties to the even code; ``"round"``, ties
            away from zero, as always in hifloat8; ``"floor"``, down; ``"ceil"``, up; ``"trunc"``,
            towards zero. None is the format's own.
        carrier: what codes of int4 share, where it is not the format's own.
    """
    row = row_of(format)
    if row.name == "float8_e8m0fnu":
        return _powers(v).view(row.carrier)
    if row.name not in _INTEGERS:
        codes = _float_codes(v, row.name, round_mode or "rint")
        return packed(codes, row.carrier) if row.bits == 4 else codes.view(row.carrier)
    # Only float64 holds the limits of int32.
    rounded = np.rint(v).astype(np.float64) if row.name == "int32" else np.rint(v)
    codes = np.where(np.isnan(v), 0, np.clip(rounded, *_INTEGERS[row.name]))
    if row.bits == 4:
        return packed(codes.astype(np.int8), row.carrier if carrier is None else carrier)
    return codes.astype(row.carrier)


def _float_codes(v: NDArray[np.float32], name: str, round_mode: str) -> NDArray[np.uint8]:
    """Look codes up by a number's first 16 bits and whether it has others.

    These are the sign, the exponent and 7 bits of the mantissa. Where a code changes there are at
    most 4, so that no change lies between two numbers that are alike.
    """
    assert v.dtype == np.float32
    bits = v.view(np.uint32)
    kinds: NDArray[np.uint32] = bits >> 15 & ~np.uint32(1) | (bits & 0xFFFF != 0)
    return _table_of(name, round_mode)[kinds]


def _code_table(name: str, round_mode: str) -> NDArray[np.uint8]:
    """The codes of numbers that have every first 16 bits, with and without others."""
    kinds = np.arange(1 << 17, dtype=np.uint32)
    v = (kinds >> 1 << 16 | kinds & 1).view(np.float32)
    is_away = name == "hifloat8" and round_mode == "rint"
    return nearest(v, values_of(name), "round" if is_away else round_mode)


_table_of: Callable[[str, str], NDArray[np.uint8]] = cache(_code_table)


def nearest(
    numbers: NDArray[Any], values: NDArray[Any], round_mode: str = "rint"
) -> NDArray[np.uint8]:
    """Return the codes nearest to numbers: the ends for those beyond, 0 for NaN.

    Args:
        numbers: floats.
        values: what each code stands for. Where it has -0, a negative number that becomes 0 does.
        round_mode: as for :func:`encode`.
    """
    finite = np.flatnonzero(np.isfinite(values)).astype(np.uint8)
    ordered, first = np.unique(values[finite].astype(np.float64), return_index=True)
    codes = finite[first]
    with np.errstate(invalid="ignore"):  # signaling NaN
        numbers = np.nan_to_num(numbers.astype(np.float64))
    if round_mode in ("floor", "ceil", "trunc"):
        below = codes[np.maximum(np.searchsorted(ordered, numbers, "right") - 1, 0)]
        above = codes[np.minimum(np.searchsorted(ordered, numbers), len(ordered) - 1)]
        is_up = numbers < 0 if round_mode == "trunc" else np.array(round_mode == "ceil")
        found = np.where(is_up, above, below)
    else:
        middles = (ordered[1:] + ordered[:-1]) / 2
        low = np.searchsorted(middles, numbers)
        high = low + (np.append(middles, np.inf)[low] == numbers)
        is_away = np.abs(ordered)[high] > np.abs(ordered)[low]
        found = codes[
            np.where(is_away if round_mode == "round" else codes[high] % 2 == 0, high, low)
        ]
    minus_zero = np.flatnonzero((values == 0) & np.signbit(values))
    if minus_zero.size:
        found[(values[found] == 0) & np.signbit(numbers)] = minus_zero[0]
    return found


def _powers(v: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return the bytes of the nearest powers of two, ties up; below 0 there is none but NaN."""
    found = nearest(v, values_of("float8_e8m0fnu"), "round")
    return np.where(v >= 0, found, 255).astype(np.uint8)


def packed(codes: NDArray[Any], carrier: DTypeLike) -> NDArray[Any]:
    """Return codes of 4 bits, as many to an element as it has nibbles: the first is its lowest."""
    nibbles = codes.astype(np.uint8, copy=False) & 15
    pairs = np.ascontiguousarray(nibbles[..., ::2] | nibbles[..., 1::2] << 4)
    return pairs.view(carrier)


def unpacked(elements: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the codes in packed elements, each in a byte, without a sign."""
    pairs = np.ascontiguousarray(elements).view(np.uint8)
    codes = np.empty((*pairs.shape, 2), np.uint8)
    np.bitwise_and(pairs, 15, out=codes[..., 0])
    np.right_shift(pairs, 4, out=codes[..., 1])
    return codes.reshape(*pairs.shape[:-1], 2 * pairs.shape[-1])


def decode(codes: NDArray[Any], format: DTypeName) -> NDArray[np.float32]:
    """Return the numbers that codes stand for."""
    row = row_of(format)
    if row.bits == 4:
        return values_of(row.name)[unpacked(codes)]
    if row.name in _INTEGERS:
        return codes.astype(np.float32)
    return values_of(row.name)[np.ascontiguousarray(codes).view(np.uint8).reshape(codes.shape)]


def int4_of(elements: NDArray[Any], *, packed: bool = True) -> NDArray[np.int8]:
    """Return the int4 in packed elements, or in the lower halves of bytes."""
    codes = unpacked(elements) if packed else elements
    values: NDArray[np.int8] = (codes << 4).view(np.int8)
    values >>= 4
    return values
