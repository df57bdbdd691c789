"""Parts of two arrays, of which some elements are looked at: what a difference looks like there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..elements import Elements, Float64, Floats
from ..results import Concentration
from ..sources import size_of
from .differing import differ
from .layout import Layout, runs

_MX = 32
"""Elements of a row that a block of MX has, a quarter of those that are counted together."""
MOST_ROWS = 256
"""Of a part with more rows, or pieces, so many are looked at, by chance."""
_PIECE = 1 << 10
_FLOAT_STEPS = 2
_FEW = 4
"""Of fewer numbers no factor is told."""


def some_of(count: int, most: int = MOST_ROWS) -> NDArray[np.int64]:
    """Return some numbers below a count in order, always the same: none that data repeat by."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.random.default_rng(count).integers(0, count, most))


def unlike(actual: Float64, expected: Float64, own: Elements, most: Any = None) -> int:
    """Count the values that are not what is expected; a float may be next to it.

    Args:
        actual: the values.
        expected: what they should be.
        own: their format.
        most: the magnitudes that a float's neighbours are measured at; None: the values' own.
    """
    same = (actual == expected) | ((actual != actual) & (expected != expected))
    if isinstance(own, Floats):
        epsilon = float(ml_dtypes.finfo(own.carrier).eps)  # type: ignore[no-untyped-call]
        most = np.abs(expected) if most is None else most
        apart = np.abs(actual - expected)
        same |= (apart <= _FLOAT_STEPS * epsilon * most) & np.isfinite(apart)
    return int(np.count_nonzero(~same))


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
    """Some rows, columns or all of two arrays."""

    actual: Source
    golden: Source
    own: Elements
    name: str
    """Such as "row 7"; "" for all."""
    spans: NDArray[np.int64]
    """The elements that are looked at: where each piece begins and ends, counted in C order."""

    @property
    def is_several(self) -> bool:
        """Whether the name is that of several rows or columns."""
        return self.name.startswith(("rows", "columns", "blocks"))

    @property
    def where(self) -> str:
        """Where it is, in words."""
        return f"in {self.name}" if self.name else "everywhere"

    @property
    def subject(self) -> str:
        """What it is, with a verb."""
        return f"{self.name or 'actual'} {'are' if self.is_several else 'is'}"

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """The places of the elements."""
        return np.concatenate([np.arange(begin, end) for begin, end in self.spans])

    @cached_property
    def codes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The actual and the golden elements."""
        actual, golden = (
            np.concatenate([side.read(int(begin), int(end)) for begin, end in self.spans])
            for side in (self.actual, self.golden)
        )
        return actual, golden

    @cached_property
    def values(self) -> tuple[Float64, Float64]:
        """What these stand for."""
        actual, golden = map(self.own.values, self.codes)
        return actual, golden

    @cached_property
    def differing(self) -> int:
        """How many differ."""
        return unlike(*self.values, self.own)


def whole(actual: Source, golden: Source, own: Elements) -> Part:
    """Return all of two arrays."""
    return Part(actual, golden, own, "", _pieces(0, size_of(golden)))


def part_of(
    places: Sequence[Concentration],
    actual: Source,
    golden: Source,
    own: Elements,
    names: Names | None = None,
) -> Part | None:
    """Return what differences concentrate in: the first place or range, of rows and of columns.

    Where most lie in some rows and most in some columns, it is where these meet. `names` has other
    words for both.
    """
    layout, found = Layout.of(golden.shape), dict[str, tuple[int, int]]()
    for place in places:
        name = place.kind.rstrip("s")
        if name == "block" and not found:
            row, begin, end = layout.block(place.places[0])
            found = {"row": (row, row), "column": narrowed(actual, golden, row, begin, end)}
        elif name in ("row", "column") and (not found or place.of >= 10 * (place.of - place.held)):
            several = place.kind != name  # a range; else a list, which may begin with one
            span = place.places[0], place.places[1] if several else runs(place.places)[0][1]
            known = found.get(name, span)
            found[name] = span if _is_half(span, known) else known
    if not found:
        return None
    if names is not None:
        both = sorted(found.items(), reverse=True)  # the row before the column
        name = ", ".join(getattr(names, f"{kind}s")(span) for kind, span in both)
    elif len(found) == 2:
        name = "{} columns {}-{}".format(_named("row", found["row"]), *found["column"])
    else:
        name = " ".join(_named(*item) for item in found.items())
    (row, to_row), (begin, to) = (
        found.get(name, (0, count - 1))
        for name, count in zip(("row", "column"), layout, strict=True)
    )
    spans = _pieces(row * layout.columns, (to_row + 1) * layout.columns)
    if "column" in found:  # of many as many as of a long row
        rows = row + some_of(to_row + 1 - row)
        spans = np.array([[begin, min(to + 1, begin + _PIECE)]]) + rows[:, None] * layout.columns
    return Part(actual, golden, own, name, spans)


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


def _named(kind: str, places: tuple[int, int]) -> str:
    first, last = places
    return f"{kind} {first}" if first == last else f"{kind}s {first} to {last}"


def _pieces(begin: int, end: int) -> NDArray[np.int64]:
    """Return [begin, end), or some pieces of it where it is long."""
    if end - begin <= MOST_ROWS * _PIECE:
        return np.array([[begin, end]])
    firsts = begin + some_of((end - begin) // _PIECE) * _PIECE
    return np.stack([firsts, firsts + _PIECE], axis=1)


def rows_of(source: Source, rows: NDArray[np.int64], width: int) -> NDArray[Any]:
    """Return the beginnings of some rows."""
    columns = Layout.of(source.shape).columns
    return np.stack([source.read(int(r) * columns, int(r) * columns + width) for r in rows])


def nearest_rows(
    rows: NDArray[Any], among: NDArray[Any], own: Elements, columns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return of each row which of some others is nearest to it, by steps in some columns."""
    ours, theirs = (
        own.places(np.ascontiguousarray(side[:, columns])).astype(np.float64)
        for side in (rows, among)
    )
    lengths = (theirs * theirs).sum(axis=1)
    nearest = [
        np.argmin(lengths - 2 * (ours[i : i + MOST_ROWS] @ theirs.T), axis=1)
        for i in range(0, len(ours), MOST_ROWS)
    ]
    return np.concatenate(nearest)


def factors_of(
    low: Float64, high: Float64, codes: NDArray[Any], own: Elements
) -> tuple[float, float] | None:
    """Return the factors f for which round(value * f) gives the codes; None if none does.

    Args:
        low: the least that each number before rounding by the golden scale may have been.
        high: the greatest, likewise.
        codes: the actual codes. Saturated ones bound f from one side only.
        own: their format.
    """
    near_zero = np.where(low > 0, low, -high)
    usable = (near_zero > own.least_tie) & np.isfinite(near_zero)
    if np.count_nonzero(usable) < _FEW:
        return None
    low, high, q = low[usable], high[usable], own.values(codes[usable])
    inside = (q > own.limits[0]) & (q < own.limits[1])
    is_positive = low > 0
    if np.any((np.sign(q) != np.where(is_positive, 1, -1)) & (q != 0)) or not np.any(inside):
        return None
    slack, (below, above) = 1e-6, own.ties(codes[usable])
    farthest = np.where(is_positive, high, -low)
    near = np.where(is_positive, below, -above) / farthest * (1 - slack)
    far = np.where(is_positive, above, -below) / near_zero[usable] * (1 + slack)
    least, most = float(near.max()), float(far.min())
    # A factor of 1 would say nothing is wrong, one that may be 0 nothing at all.
    return (least, most) if 0 < least <= most and not least <= 1 <= most else None
