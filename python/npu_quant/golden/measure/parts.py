"""Parts of two arrays, of which some elements are looked at: what a difference looks like there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..elements import Elements, Float64
from ..results import Concentration
from .differing import differ
from .layout import Layout, every, ranged, runs

Index = NDArray[np.int64]

_MX = 32
"""Elements of a row that a block of MX has, a quarter of those that are counted together."""
_MOST_ROWS = 256
"""Of a part with more rows so many are looked at, by chance."""
_MOST = 1 << 18
_PIECE = 128
"""Columns that are looked at beside each other, at least."""


def some_of(count: int, most: int = _MOST_ROWS) -> Index:
    """Return some numbers below a count in order, always the same: none that data repeat by."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.random.default_rng(count).integers(0, count, most))


class Names(Protocol):
    """Words for ranges of rows and of columns, the last one included."""

    def rows(self, places: tuple[int, int]) -> str:
        """Return rows in words."""
        ...

    def columns(self, places: tuple[int, int]) -> str:
        """Return columns in words."""
        ...


@dataclass(frozen=True)
class Part:
    """Some rows and columns of two arrays: where they cross."""

    actual: Source
    golden: Source
    own: Elements
    name: str
    """Such as "row 7"; "" for all."""
    rows: Index
    columns: Index

    @property
    def is_several(self) -> bool:
        """Whether the name is that of several rows or columns."""
        return self.name.startswith(("rows", "columns", "blocks", "elements", "scales"))

    @property
    def where(self) -> str:
        """Where it is, in words."""
        return f"in {self.name}" if self.name else "everywhere"

    @property
    def subject(self) -> str:
        """What it is, with a verb."""
        return f"{self.name or 'actual'} {'are' if self.is_several else 'is'}"

    @property
    def layout(self) -> Layout:
        """How many rows and columns the arrays have."""
        return Layout.of(self.golden.shape)

    @cached_property
    def index(self) -> Index:
        """The places of the elements, counted in C order: a row each."""
        return self.rows[:, None] * self.layout.columns + self.columns

    @cached_property
    def codes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The actual and the golden elements: a row each."""
        return self.of(self.actual), self.of(self.golden)

    @cached_property
    def values(self) -> tuple[Float64, Float64]:
        """What these stand for."""
        actual, golden = map(self.own.values, self.codes)
        return actual, golden

    def of(self, source: Source) -> NDArray[Any]:
        """Return the elements of another array of this shape."""
        return elements(source, self.rows, self.columns)


def elements(source: Source, rows: Index, columns: Index) -> NDArray[Any]:
    """Return where some rows and columns of an array cross; columns are in order."""
    width = Layout.of(source.shape).columns
    first, last = (int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 0)
    whole = [source.read(row * width + first, row * width + last) for row in rows.tolist()]
    if not whole:
        return np.zeros((0, len(columns)), source.dtype)
    found = np.stack(whole)
    return found if len(columns) == last - first else found[:, columns - first]


@dataclass(frozen=True)
class Span:
    """Some rows, or some columns."""

    places: Index
    words: str

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last."""
        return int(self.places[0]), int(self.places[-1])


def whole(actual: Source, golden: Source, own: Elements) -> Part:
    """Return all of two arrays."""
    return _part(actual, golden, own, "", {})


def part_of(
    places: Sequence[Concentration],
    actual: Source,
    golden: Source,
    own: Elements,
    names: Names | None = None,
) -> Part | None:
    """Return what differences concentrate in: some rows, some columns, or where these meet.

    `names` has other words for both.
    """
    found = dict[str, Span]()
    for place in places:
        if place.kind == "block" and not found:
            row, begin, end = Layout.of(golden.shape).block(place.places[0])
            ends = {"row": (row, row), "column": narrowed(actual, golden, row, begin, end)}
            found = {kind: _span(kind, both, names) for kind, both in ends.items()}
        elif not found or place.of >= 10 * (place.of - place.held):
            kind, span = _span_of(place, Layout.of(golden.shape), names)
            known = found.get(kind)
            if kind and (known is None or _is_half(span.ends, known.ends)):
                found[kind] = span
    if not found:
        return None
    both = [found[kind] for kind in ("row", "column") if kind in found]
    name = ", ".join(span.words for span in both if span.words)
    if len(both) == 2 and names is None:
        name = "{} columns {}-{}".format(both[0].words, *both[1].ends)
        if len(both[1].places) != both[1].ends[1] + 1 - both[1].ends[0]:
            name = f"{both[0].words}, {both[1].words}"
    return _part(actual, golden, own, name, found)


def _span_of(place: Concentration, layout: Layout, names: Names | None) -> tuple[str, Span]:
    """Return the rows or columns of a concentration, and which of these they are."""
    if place.kind.endswith("period"):
        kind = "row" if place.kind.startswith("row") else "column"
        (period, first), end = place.places, layout.rows if kind == "row" else layout.columns
        words = place.named or f"{kind}s {every(period, first)}"
        return kind, Span(np.arange(first, end, period), words)
    kind = place.kind.rstrip("s")
    if kind not in ("row", "column"):
        return "", Span(np.zeros(0, np.int64), "")
    several = place.kind != kind  # a range; else a list
    if several or len(runs(place.places)) == 1:
        return kind, _span(kind, (place.places[0], place.places[-1]), names)
    listed = f"{kind}s {', '.join(map(str, place.places))}"
    return kind, Span(np.array(place.places), place.named or listed)


def _span(kind: str, ends: tuple[int, int], names: Names | None) -> Span:
    places = np.arange(ends[0], ends[1] + 1)
    return Span(places, ranged(kind, *ends) if names is None else getattr(names, f"{kind}s")(ends))


def _part(actual: Source, golden: Source, own: Elements, name: str, spans: dict[str, Span]) -> Part:
    """Return a part, of which some rows and columns are looked at where there are many."""
    full = Layout.of(golden.shape)
    rows, columns = (
        spans[kind].places if kind in spans else np.arange(0) for kind in ("row", "column")
    )
    if "row" not in spans:
        rows = some_of(full.rows)
    elif len(rows) > _MOST_ROWS:
        rows = rows[some_of(len(rows))]
    most = max(_PIECE, _MOST // max(1, len(rows)))
    if "column" not in spans:
        columns = _pieces(full.columns, most)
    elif len(columns) > most:
        columns = columns[_pieces(len(columns), most)]
    return Part(actual, golden, own, name, rows, columns)


def _pieces(count: int, most: int) -> Index:
    """Return all numbers below a count, or some pieces of them where they are many."""
    if count <= most:
        return np.arange(count)
    pieces = some_of(count // _PIECE, most // _PIECE)
    return (pieces[:, None] * _PIECE + np.arange(_PIECE)).reshape(-1)


def _is_half(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    """Say whether a range is half of one at most: a little less may be one that is alike there."""
    (first, last), (least, most) = inner, outer
    return least <= first and last <= most and 2 * (last - first) < most - least


def narrowed(actual: Source, golden: Source, row: int, begin: int, end: int) -> tuple[int, int]:
    """Return the first and the last column of a row's blocks of MX that differ, of some."""
    before = row * Layout.of(golden.shape).columns
    sides = (side.read(before + begin, before + end) for side in (actual, golden))
    at = np.flatnonzero(differ(*sides)) // _MX
    return begin + int(at[0]) * _MX, min(begin + (int(at[-1]) + 1) * _MX, end) - 1
