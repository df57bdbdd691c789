"""Codes in plain NumPy: what the operators' ``reference()`` share, and nothing else uses."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import dtypes
from .dtypes import DType, DTypeName

_INTEGERS = {"int4": (-8, 7), "int8": (-128, 127), "uint8": (0, 255)}
_INTEGERS |= {"int32": (-(2**31), 2**31 - 1)}


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
    if name == "hifloat8":
        return np.array([_hifloat8(code) for code in range(256)], np.float32)
    return np.arange(256, dtype=np.uint8).view(name).astype(np.float32)


values_of: Callable[[str], NDArray[np.float32]] = cache(_values)
"""The value of each of the 256 codes of a float of 8 bits, by its name."""


def encode(v: NDArray[Any], format: DTypeName) -> NDArray[Any]:
    """Return the codes of float32 numbers: the nearest, saturated; NaN gives 0."""
    row = row_of(format)
    if row.name not in _INTEGERS:
        return _float_codes(v, row.name).view(row.carrier)
    # In float64, which holds the limits of int32.
    codes = np.clip(np.rint(v).astype(np.float64), *_INTEGERS[row.name])
    codes = np.where(np.isnan(v), 0, codes).astype(np.int64)
    return packed(codes) if row.name == "int4" else codes.astype(row.carrier)


def _float_codes(v: NDArray[np.float32], name: str) -> NDArray[np.uint8]:
    """Ties go to the even code, in hifloat8 away from zero; it has no -0, others have."""
    values = values_of(name)[:128].astype(np.float64)
    ascending = np.argsort(np.where(np.isfinite(values), values, np.inf), kind="stable")
    ascending = ascending[: np.isfinite(values).sum()]
    middles = (values[ascending][1:] + values[ascending][:-1]) / 2
    magnitude = np.abs(v).astype(np.float64)
    below, above = (ascending[np.searchsorted(middles, magnitude, s)] for s in ("left", "right"))
    codes = np.where((name == "hifloat8") | (below % 2 == 1), above, below)
    has_sign = np.signbit(v) & ((name != "hifloat8") | (codes != 0))
    return np.where(np.isnan(v), 0, codes | has_sign * 0x80).astype(np.uint8)


def packed(codes: NDArray[Any]) -> NDArray[np.int32]:
    """Return int4 codes, 8 to an element: the first is its low nibble."""
    nibbles = codes.reshape(*codes.shape[:-1], codes.shape[-1] // 8, 8).astype(np.uint32) & 15
    words: NDArray[np.uint32] = (nibbles << np.arange(0, 32, 4, dtype=np.uint32)).sum(
        -1, dtype=np.uint32
    )
    return words.view(np.int32)


def unpacked(words: NDArray[np.int32]) -> NDArray[np.int8]:
    """Return the codes in packed elements, each in a byte."""
    nibbles = words[..., None] >> np.arange(0, 32, 4, dtype=np.int32) & 15
    return ((nibbles ^ 8) - 8).astype(np.int8).reshape(*words.shape[:-1], -1)


def decode(codes: NDArray[Any], format: DTypeName) -> NDArray[np.float32]:
    """Return the numbers that codes stand for."""
    name = row_of(format).name
    if name == "int4":
        codes = unpacked(codes)
    if name in _INTEGERS:
        return codes.astype(np.float32)
    return values_of(name)[np.ascontiguousarray(codes).view(np.uint8).reshape(codes.shape)]
