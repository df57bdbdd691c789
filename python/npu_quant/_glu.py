"""Gated linear units in plain NumPy, which the ``reference()`` of several operators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]


def exp(x: Float32) -> Float32:
    """Return the correctly rounded exponential.

    That of float64 is nearer to the real one than any of these is to a tie of float32.
    """
    return np.exp(x.astype(np.float64)).astype(np.float32)


def swish(a: Float32, alpha: np.float32 | None = None) -> Float32:
    """Return a / (1 + exp(-a)), or a / (1 + exp(-(alpha * a)))."""
    exponent = a if alpha is None else alpha * a
    return np.asarray(a / (np.float32(1) + exp(-exponent)))


def halves(v: NDArray[Any], axis: int = -1) -> list[NDArray[Any]]:
    """Return the first half of an axis and the second."""
    return np.split(v, 2, axis=axis)


class Groups:
    """The groups of rows that parameters are for: without a list one, of all rows."""

    def __init__(self, lengths: NDArray[Any] | None, rows: int) -> None:
        self.count = 1 if lengths is None else len(lengths)
        ends = np.array([rows]) if lengths is None else np.cumsum(lengths)
        self.of_row = np.searchsorted(ends, np.arange(rows), side="right")
        self.is_behind = self.of_row == self.count
        """Whether a row is behind the last group."""

    def of_rows(self, parameter: NDArray[Any]) -> NDArray[Any]:
        """Return each row's values: one, or one per element. Those behind have the last group's."""
        own = parameter.reshape(self.count, -1)
        return own[np.minimum(self.of_row, self.count - 1)]


def amax(o: Float32) -> Float32:
    """Return the greatest magnitude of each row; a NaN among these is np.nan."""
    greatest = np.abs(o).max(axis=-1, initial=np.float32(0))
    return np.asarray(np.where(np.isnan(greatest), np.float32(np.nan), greatest))
