"""Rows, columns and blocks of an array: a row is what its last axis holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK = 128
"""Elements of a row that a block has; blocks are counted row by row."""


class Layout(NamedTuple):
    """How many rows and columns an array has."""

    rows: int
    columns: int

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> Layout:
        """Return the layout of a shape; a number is a row of one column."""
        return cls(math.prod(shape[:-1]), shape[-1] if shape else 1)

    @property
    def blocks_per_row(self) -> int:
        """How many blocks a row has; the last one may be shorter."""
        return -(-self.columns // BLOCK)

    def at(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows and the columns of places that are counted in C order."""
        rows = places // self.columns
        return rows, places - rows * self.columns

    def block(self, number: int) -> tuple[int, int, int]:
        """Return a block's row, its first column, and the column after its last."""
        row, place = divmod(number, self.blocks_per_row)
        return row, place * BLOCK, min((place + 1) * BLOCK, self.columns)


def step_of(places: int, most: int) -> int:
    """Return the least power of two that puts some places together into so many or fewer."""
    return 1 << ((places - 1) // most).bit_length() if places > 0 else 1


def together(counts: NDArray[np.int64], bucket: int, most: int) -> tuple[NDArray[np.int64], int]:
    """Return counts per bucket as so many or fewer, and how many places each of these has."""
    step = step_of(len(counts), most)
    return np.add.reduceat(counts, np.arange(0, len(counts), step)), step * bucket


def ranged(kind: str, first: int, last: int) -> str:
    """Write a range of places: row 7, rows 5 to 9."""
    return f"{kind} {first}" if first == last else f"{kind}s {first} to {last}"


def runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each run of neighbouring places, which are in order."""
    found: list[tuple[int, int]] = []
    for place in places:
        if found and place == found[-1][1] + 1:
            found[-1] = found[-1][0], place
        else:
            found.append((place, place))
    return found


def every(period: int, first: int) -> str:
    """Write a period of places: 5, 13, ... (every 8th)."""
    ending = "nd" if period % 10 == 2 and period != 12 else "th"
    return f"{first}, {first + period}, ... (every {period}{ending})"


def evenly(size: int, count: int) -> NDArray[np.int64]:
    """Return so many of `size` numbers from 0 on, or all of them if they are fewer."""
    return np.linspace(0, max(0, size - 1), min(size, count)).astype(np.int64)
