"""Rows, columns and blocks of an array: a row is what its last axis holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

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

    def block(self, number: int) -> tuple[int, int, int]:
        """Return a block's row, its first column, and the column after its last."""
        row, place = divmod(number, self.blocks_per_row)
        return row, place * BLOCK, min((place + 1) * BLOCK, self.columns)


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
