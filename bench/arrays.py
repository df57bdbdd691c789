"""Arrays at chosen addresses: their alignment is part of what is measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

# Where an array of elements of so many bytes starts, modulo 64. NumPy's own large arrays start at
# 16; a slice such as x.ravel()[1:] of an aligned one starts one element later.
PLACES: dict[str, Callable[[int], int]] = {
    "aligned": lambda itemsize: 0,
    "numpy": lambda itemsize: 16,
    "sliced": lambda itemsize: itemsize,
}

_PATTERN = np.random.default_rng(0).standard_normal(1 << 20, np.float32)
_CODES_PER_UNIT = 32  # of normally distributed integers


def dtype_named(name: str) -> np.dtype[Any]:
    """NumPy's or ml_dtypes' type of that name."""
    return np.dtype(getattr(ml_dtypes, name, name))


def empty(shape: tuple[int, ...], dtype: str, place: str) -> NDArray[Any]:
    """Uninitialised, at one of PLACES."""
    kind = dtype_named(dtype)
    raw = np.empty(math.prod(shape) * kind.itemsize + 64, np.uint8)
    start = (PLACES[place](kind.itemsize) - raw.ctypes.data) % 64
    return raw[start : start + raw.size - 64].view(kind).reshape(shape)


def normal(shape: tuple[int, ...], dtype: str, place: str, which: int = 0) -> NDArray[Any]:
    """Normally distributed values: 2**20 of them, over and over, as drawing 10**8 takes seconds.

    Another `which` gives other values.
    """
    x = empty(shape, dtype, place)
    pattern = np.roll(_PATTERN, 12345 * which)
    if x.dtype.kind == "i":
        pattern = np.clip(np.rint(pattern * _CODES_PER_UNIT), -128, 127)
    pattern = pattern.astype(x.dtype)
    flat = x.reshape(-1)
    for i in range(0, flat.size, pattern.size):
        flat[i : i + pattern.size] = pattern[: flat.size - i]
    return x


def scales(count: int, place: str, middle: float = 0.03) -> NDArray[np.float32]:
    """Positive ones around `middle`, as many."""
    x = normal((count,), "float32", place, 7)
    x[:] = middle * np.exp2(x / 4)
    return x


def zero_points(count: int, place: str) -> NDArray[np.int32]:
    """Small ones of both signs, as many."""
    x = empty((count,), "int32", place)
    x[:] = np.rint(4 * normal((count,), "float32", place, 8))
    return x
