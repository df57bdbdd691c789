"""What a place in an output is of the input, in words: a row, or a row or column of an MX block."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..measure.layout import Layout, every, ranged, runs
from ..results import Concentration
from ..sources import ArraySource


class Grid(abc.ABC):
    """The elements of an output as rows and columns that have other names."""

    axes: tuple[str, str]
    """What a row and a column are called."""

    @property
    @abc.abstractmethod
    def layout(self) -> Layout:
        """How many rows and columns there are."""

    @abc.abstractmethod
    def arranged(self, source: Source) -> Source:
        """Return elements as rows and columns."""

    @abc.abstractmethod
    def rows(self, places: tuple[int, int]) -> str:
        """Name a range of rows, the last one too."""

    @abc.abstractmethod
    def columns(self, places: tuple[int, int]) -> str:
        """Name a range of columns, likewise."""

    def where(self, found: Concentration) -> str:
        """Say where differences lie, in these names."""
        places = found.places
        if found.kind.endswith("period"):
            (period, first), axis = places, self.axes[not found.kind.startswith("row")]
            return f"{axis}s {every(period, first)}"
        if found.kind == "block":
            spans = [self.layout.block(place) for place in places[:2]]
            named = [(self.rows((r, r)), self.columns((b, e - 1))) for r, b, e in spans]
            more = f" and {len(places) - 2} more" if len(places) > 2 else ""
            return " and ".join(", ".join(filter(None, both)) for both in named) + more
        name = self.rows if found.kind.startswith("row") else self.columns
        if found.kind.endswith("s"):
            return name((places[0], places[1]))
        return ", ".join(name(run) for run in runs(places))


@dataclass(frozen=True, eq=False)
class ListGrid(Grid):
    """Elements in a list, such as a scale for each row of another array: no columns."""

    size: int
    noun: str = "element"
    """What each is of: "row"."""

    @property
    def axes(self) -> tuple[str, str]:  # type: ignore[override]
        """All are one row, of which nothing is said."""
        return self.noun, self.noun

    @property
    def layout(self) -> Layout:
        """One row of all."""
        return Layout(1, self.size)

    def arranged(self, source: Source) -> Source:
        """Return elements in a row: a source of one axis, which may be in a file, is that."""
        if len(source.shape) == 1:
            return source
        return ArraySource(source.array().reshape(1, -1), source.name)

    def rows(self, places: tuple[int, int]) -> str:
        """Name the only row: not at all."""
        return ""

    def columns(self, places: tuple[int, int]) -> str:
        """Name a range of elements."""
        return ranged(self.noun, *places)


def list_grid(shape: tuple[int, ...], main: tuple[int, ...], *, by_column: bool) -> Grid | None:
    """Return what the elements of an output are called that has one for each row of another one.

    Args:
        shape: the output's.
        main: that of the first output, which has the rows.
        by_column: whether one for each column is meant, where both could be.
    """
    size = math.prod(shape)
    if size > 1 and len(main) > 1 and shape == main[:-1] and not by_column:
        return ListGrid(size, "row")
    is_of_columns = by_column or (len(main) > 1 and shape == main[-1:])
    return None if is_of_columns or len(shape) != 1 or size < 2 else ListGrid(size)


@dataclass(frozen=True, eq=False)
class ScaleGrid(Grid):
    """The bytes of an output, of which a row or a column is one of the input, the other a block."""

    shape: tuple[int, ...]
    """The input's."""
    block: int
    edges: NDArray[np.int64] | None = None
    """With which row each pair of blocks begins; None where blocks lie along the last axis."""
    between: int = 1
    """How many places there are along the axes between the blocks' and the last one."""

    @property
    def axes(self) -> tuple[str, str]:  # type: ignore[override]
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
