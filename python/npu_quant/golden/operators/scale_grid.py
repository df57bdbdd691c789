"""The bytes of MX blocks as rows and columns, and what these are of the input, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..measure.layout import Layout, every, ranged, runs
from ..results import Concentration
from ..sources import ArraySource


@dataclass(frozen=True, eq=False)
class ScaleGrid:
    """The bytes of an output, of which a row or a column is one of the input, the other a block."""

    shape: tuple[int, ...]
    """The input's."""
    block: int
    edges: NDArray[np.int64] | None = None
    """With which row each pair of blocks begins; None where blocks lie along the last axis."""
    between: int = 1
    """How many places there are along the axes between the blocks' and the last one."""

    @property
    def axes(self) -> tuple[str, str]:
        """What a row and a column are called."""
        return ("row", "block") if self.edges is None else ("block", "column")

    @property
    def layout(self) -> Layout:
        """How many rows and columns there are; some may be of no block."""
        rows, columns = Layout.of(self.shape)
        if self.edges is None:
            return Layout(rows, 2 * -(-columns // (2 * self.block)))
        return Layout(2 * (len(self.edges) - 1) * self.between, columns)

    def arranged(self, source: Source) -> ArraySource:
        """Return bytes as rows and columns."""
        array, (rows, columns) = source.array(), self.layout
        if self.edges is not None:  # those of a pair of blocks lie side by side
            array = array.reshape(-1, self.between * columns, 2).swapaxes(1, 2)
        return ArraySource(np.ascontiguousarray(array).reshape(rows, columns), source.name)

    def where(self, found: Concentration) -> str:
        """Say where differences lie, by rows and columns of the input and by blocks."""
        places = found.places
        if found.kind.endswith("period"):
            (period, first), axis = places, self.axes[not found.kind.startswith("row")]
            return f"{axis}s {every(period, first)}"
        if found.kind == "block":
            spans = [self.layout.block(place) for place in places[:2]]
            texts = [f"{self.rows((r, r))}, {self.columns((b, e - 1))}" for r, b, e in spans]
            more = f" and {len(places) - 2} more" if len(places) > 2 else ""
            return " and ".join(texts) + more
        named = self.rows if found.kind.startswith("row") else self.columns
        if found.kind.endswith("s"):
            return named((places[0], places[1]))
        return ", ".join(named(run) for run in runs(places))

    def rows(self, places: tuple[int, int]) -> str:
        """Name a range of rows, the last one too, by the input's."""
        if self.edges is None:
            return ranged("row", *places)
        (first, column), (last, _) = (divmod(place, self.between) for place in places)
        begin, end = self._begin(first), self._end(last)
        if begin >= end:
            return "no block"
        if self.between == 1:
            return ranged("row", begin, end - 1)
        axes = self.shape[:-1]
        ends = (np.unravel_index(r * self.between + column, axes) for r in (begin, end - 1))
        return "rows {} to {}".format(*([int(i) for i in index] for index in ends))

    def columns(self, places: tuple[int, int]) -> str:
        """Name a range of columns, the last one too, by the input's."""
        if self.edges is not None:
            return ranged("column", *places)
        begin, end = places[0] * self.block, min((places[1] + 1) * self.block, self.shape[-1])
        if begin >= end:
            return "no block"
        return f"{ranged('block', *places)} ({ranged('column', begin, end - 1)})"

    def _begin(self, block: int) -> int:
        assert self.edges is not None
        pair, lane = divmod(block, 2)
        return int(self.edges[pair]) + lane * self.block

    def _end(self, block: int) -> int:
        assert self.edges is not None
        return min(self._begin(block) + self.block, int(self.edges[block // 2 + 1]))
