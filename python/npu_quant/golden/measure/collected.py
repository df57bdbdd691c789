"""What is kept of the elements that differ, as they are met: the worst, where they are, how far."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..elements import Elements, elements_of
from ..results import Element, Map, Seen
from ..tie_results import TieTest
from .differing import Differences
from .layout import BLOCK, Layout, step_of
from .maps import MOST_CELLS, by_decade
from .metrics import Positions

MOST_WORST = 100
MOST_LISTED = 1 << 20
"""Of more differences than these, no map is drawn and no blocks are counted: it would be slow."""


class Tally:
    """Counts differences by row, column, block, and place along an axis."""

    def __init__(
        self,
        shape: tuple[int, ...],
        positions: Positions,
        axis: int | None,
        *,
        by_block: bool,
        is_counted: bool,
    ) -> None:
        """Prepare to count.

        Args:
            shape: the array's.
            positions: all differences by row and column.
            axis: the one to count along.
            by_block: whether to count by block.
            is_counted: whether those that come are all: then rows and columns are counted already.
        """
        self._layout, self._by_block, self._is_counted = Layout.of(shape), by_block, is_counted
        self.positions = positions
        if not is_counted:
            rows, columns = len(positions.row_counts), len(positions.column_counts)
            self.positions = dataclasses.replace(
                positions,
                row_counts=np.zeros(rows, np.int64),
                column_counts=np.zeros(columns, np.int64),
            )
        self.count = 0
        self._inner = 1 if axis is None else int(np.prod(shape[axis:][1:], dtype=np.int64))
        self.along = np.zeros(0 if axis is None else shape[axis], np.int64)
        """By their place along the axis."""
        self._blocks: list[NDArray[np.int64]] = []

    def add(self, places: NDArray[np.int64]) -> None:
        """Take the next ones, counted in C order."""
        if len(places) == 0:
            return
        self.count += len(places)
        row, column = self._layout.at(places)
        if not self._is_counted:
            _add(self.positions.row_counts, row // self.positions.row_bucket)
            _add(self.positions.column_counts, column // self.positions.column_bucket)
        if len(self.along):
            _add(self.along, places // self._inner % len(self.along))
        if self._by_block and self._layout.columns > BLOCK:
            self._blocks.append(row * self._layout.blocks_per_row + column // BLOCK)

    def blocks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the numbers of the blocks that have differences, and how many; None if unknown."""
        if not self._blocks:
            return None
        every = np.concatenate(self._blocks)  # in order, as the elements are
        begins = np.flatnonzero(np.diff(every, prepend=-1))
        return every[begins], np.diff(begins, append=len(every))


def _add(counts: NDArray[np.int64], places: NDArray[np.int64]) -> None:
    """Count some more places, of which there may be few beside all that there could be."""
    first = int(places.min())
    more = np.bincount(places - first)
    counts[first : first + len(more)] += more


class Collector:
    """Takes the differing elements of an output, some at a time, in C order."""

    def __init__(
        self,
        shape: tuple[int, ...],
        of: int,
        positions: Positions,
        axis: int | None = None,
        own: Elements | None = None,
    ) -> None:
        self._own = own
        self._shape, self._layout, self._few = shape, Layout.of(shape), of <= MOST_LISTED
        rows, columns = self._layout
        self._steps = step_of(rows, MOST_CELLS), step_of(columns, MOST_CELLS)
        self._cells = tuple(
            -(-n // step) for n, step in zip(self._layout, self._steps, strict=True)
        )
        self._counts = np.zeros(self._cells[0] * self._cells[1], np.int64)
        self._distances: Counter[str] = Counter()
        self._worst = [np.empty(0, dtype) for dtype in (np.float64, np.int64, *[np.float64] * 3)]
        self._has_values = False
        self.all, self.unexplained = (
            Tally(shape, positions, axis, by_block=self._few, is_counted=is_counted)
            for is_counted in (True, False)
        )
        """Where the differences lie: all, and those that no rounding explains."""

    def add(
        self,
        some: Differences,
        explained: NDArray[np.bool_],
        test: TieTest | None = None,
        distance: NDArray[np.float64] | None = None,
        allowed: float = 0,
    ) -> None:
        """Take the next ones, and where known how far from a tie, inf where there is none."""
        own = self._own or elements_of(some.golden.dtype)
        bad = _badness(some, own) if distance is None else distance
        self._add_worst(some, test, bad, own)
        self.all.add(some.places)
        self.unexplained.add(some.places[~explained])
        if not self._few:
            return
        if distance is not None:
            self._distances.update(by_decade(distance, allowed))
        row, column = self._layout.at(some.places)
        cell = row // self._steps[0] * self._cells[1] + column // self._steps[1]
        self._counts += np.bincount(cell, minlength=len(self._counts))

    def _add_worst(
        self, some: Differences, test: TieTest | None, bad: NDArray[np.float64], own: Elements
    ) -> None:
        kept = self._worst[0]
        at = np.arange(len(bad)) if len(kept) < MOST_WORST else np.flatnonzero(bad > kept[-1])
        if len(at) == 0:
            return
        if len(at) > MOST_WORST:
            # The first of those that are as bad as the last one that is kept.
            among = bad[at]
            least = np.partition(among, -MOST_WORST)[-MOST_WORST]
            equal = np.flatnonzero(among == least)[:MOST_WORST]
            at = at[np.sort(np.concatenate([np.flatnonzero(among > least), equal]))]
        self._has_values = test is not None
        value = np.full(len(at), np.nan) if test is None else test.value[at]
        with np.errstate(all="ignore"):
            both = [own.values(side[at]) for side in (some.actual, some.golden)]
        new = bad[at], some.places[at], *both, value
        joined = [np.concatenate(pair) for pair in zip(self._worst, new, strict=True)]
        order = np.argsort(-joined[0], kind="stable")[:MOST_WORST]
        self._worst = [values[order] for values in joined]

    def seen(self) -> Seen:
        """Return what reports show of single differences."""
        columns = (each.tolist() for each in self._worst)
        worst = []
        for bad, place, actual, golden, value in zip(*columns, strict=True):
            index = tuple(int(i) for i in np.unravel_index(place, self._shape))
            rounding = (value, bad) if self._has_values else (None, None)
            worst.append(Element(index, actual, golden, *rounding))
        if not self._few:
            return Seen(tuple(worst))
        drawn = Map(self._counts.reshape(self._cells), *self._steps, *self._layout)
        return Seen(tuple(worst), drawn, dict(self._distances) or None)


def _badness(some: Differences, own: Elements) -> NDArray[np.float64]:
    """Return how far apart they are; NaN and infinities count as the greatest."""
    with np.errstate(all="ignore"):
        apart = np.abs(own.wide(some.actual) - own.wide(some.golden))
        return np.where(np.isnan(apart), np.inf, apart).astype(np.float64)
