"""Arrays that are hard to take: read-only, of too many dimensions, sharing memory."""

from __future__ import annotations

import numpy as np
from witnesses import Array


def frozen(a: Array) -> Array:
    """Return a read-only copy."""
    a = a.copy()
    a.flags.writeable = False
    return a


def nine(a: Array) -> Array:
    """Return a with nine dimensions."""
    return a.reshape((1,) * (9 - a.ndim) + a.shape)


def filled(value: float, dtype: type) -> Array:
    """Return zeros, one of them another value."""
    a = np.zeros(4, dtype)
    a[2] = value
    return a


def on_itself(a: Array) -> Array:
    """Return a view of a whose first axis is the same memory again and again."""
    words = a.view(f"u{a.itemsize}")  # NumPy knows no name of float8 that as_strided could use
    again = np.lib.stride_tricks.as_strided(words, a.shape, (0, *a.strides[1:]))
    return again.view(a.dtype)


def overlapping(first: Array, second: Array) -> tuple[Array, Array]:
    """Return copies, of which the second begins in the last byte of the first."""
    memory = np.zeros(first.nbytes + second.nbytes, np.uint8)
    a, b = memory[: first.nbytes], memory[first.nbytes - 1 :][: second.nbytes]
    b = b.view(second.dtype).reshape(second.shape)
    b[...] = second
    a = a.view(first.dtype).reshape(first.shape)
    a[...] = first
    return a, b
