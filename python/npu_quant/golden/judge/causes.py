"""What differences look like: a wrong scale, moved rows, a shifted block, an unwritten result.

A cause is named if it takes away nearly all differences: what it leaves may be ordinary rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...arrays import Source
from ..elements import Elements, Float64, Floats, Whole, elements_of_output
from ..measure.layout import Layout
from ..measure.parts import (
    Part,
    factors_of,
    nearest_rows,
    part_of,
    rows_of,
    some_of,
    unlike,
    whole,
)
from ..operators import Model
from ..operators.scale_grid import ScaleGrid
from ..results import Metrics, OutputComparison, Where
from ..sources import size_of
from . import verdict
from .refusal import is_constant

_LEFT = 20
"""One in so many differences may be left."""
_FEW, _FEW_CODES, _FEW_FLOATS = 4, 32, 8
"""Fewer differing elements could look like anything; floats are less alike by chance."""
_MOST_ROWS, _MOST_WIDTH = 1 << 12, 1 << 10
_MOST_SHIFT, _ROWS_SHIFTED, _COLUMNS_SHIFTED = 64, 8, 1 << 12
_WRONG_ROW = 10
"""A row is wrong, and not off by ties, if one in so many of its elements differs."""
_LEAST_UNRELATED, _COSINE = 1 << 12, 0.05
"""A cosine of chance is 3 times smaller, of so many elements."""
_SCATTERED = 1000
"""What is wrong everywhere makes one in so many elements differ, at least."""


def causes_of(
    output: OutputComparison, actual: Source | None, golden: Source | None, model: Model | None
) -> tuple[str, ...]:
    """Return what the differences of an output look like, a sentence each; nothing if unsure.

    Args:
        output: one that differs.
        actual: its actual array.
        golden: its golden one.
        model: what its golden was computed by, if it was.
    """
    if actual is None or golden is None or actual.dtype != golden.dtype or not size_of(golden):
        return ()
    grid = None if model is None else model.scale_grid(model.outputs.index(output.name))
    if grid is not None and actual.shape == golden.shape:
        actual, golden = grid.arranged(actual), grid.arranged(golden)
    with np.errstate(all="ignore"):
        found = next(_found(output, actual, golden, model, grid), None)
    return (found,) if found else ()


def _found(
    output: OutputComparison,
    actual: Source,
    golden: Source,
    model: Model | None,
    grid: ScaleGrid | None,
) -> Iterator[str]:
    """Yield what is found, the surest first."""
    own, where, metrics = elements_of_output(output), output.where, output.metrics
    if where is None or metrics is None:
        yield from _swapped_axes(actual, golden, own)
        return
    if metrics.mismatches * _LEFT >= metrics.count:
        yield from _swapped_axes(actual, golden, own)
    parts = []
    if metrics.mismatches * _SCATTERED >= metrics.count:
        parts.append(whole(actual, golden, own))
    part = part_of(where.concentrations, actual, golden, own, grid)
    parts += [] if part is None else [part]
    for part in parts:
        if part.name or is_constant(actual):
            yield from _constant(part)
        yield from _negated(part)
    yield from _moved_rows(actual, golden, own, where)
    for part in parts:
        yield from _added(part)
        yield from _multiplied(part)
        yield from _scaled(part, output, model)
        yield from _shifted(part, where.axes[1])
    yield from _unrelated(metrics)


def _explains(left: int, differing: int, own: Elements) -> bool:
    """Say whether a cause explains so many differences of which it leaves some."""
    few = _FEW_FLOATS if isinstance(own, Floats) else _FEW_CODES
    return differing >= few and left * _LEFT <= differing


def _constant(part: Part) -> Iterator[str]:
    """Find what was never written, or holds one value."""
    actual = part.values[0]
    if actual.size < _FEW or not verdict.is_constant(actual) or not part.differing:
        return
    never = f": {'were they' if part.is_several else 'was it'} ever written?"
    yield f"{part.subject} {_number(actual[0], part.own)} everywhere{'' if actual[0] else never}"


def _number(value: float, own: Elements, digits: int = 6) -> str:
    """Write a number of a format: integers in full."""
    if not isinstance(own, Whole):
        return f"{value:.{digits}g}".replace("nan", "NaN")
    return f"{value:.0f}"


def _negated(part: Part) -> Iterator[str]:
    (actual, golden), own = part.values, part.own
    expected = own.values(own.nearest(-golden))
    if own.limits[0] < 0 and _explains(unlike(actual, expected, own), part.differing, own):
        yield f"the sign is flipped {part.where}"


def _swapped_axes(actual: Source, golden: Source, own: Elements) -> Iterator[str]:
    """Compare some rows of the golden with the columns that would come from them."""
    *batch, n, m = golden.shape if len(golden.shape) > 1 else (0, 0)
    if min(n, m) < 2 or actual.shape != (*batch, m, n):
        return
    ours, theirs = some_of(m), some_of(n)
    a = own.values(rows_of(actual, ours, n)[:, theirs])
    g = own.values(rows_of(golden, theirs, m)[:, ours]).T
    # Neighbours are as much alike as chance has it; and there may be nothing to swap.
    others = [np.roll(g, 1, axis=0), np.roll(g, 1, axis=1)]
    if n == m:
        others.append(g.T)
    if _explains(unlike(a, g, own), min(unlike(a, other, own) for other in others), own):
        yield "the last two axes are swapped"


def _moved_rows(actual: Source, golden: Source, own: Elements, where: Where) -> Iterator[str]:
    """Find whole rows of the golden at other places."""
    rows, columns = Layout.of(golden.shape)
    begins = np.flatnonzero(where.row_counts * _WRONG_ROW > columns) * where.row_bucket
    wrong = (begins[:, None] + np.arange(where.row_bucket)).reshape(-1)
    wrong = wrong[wrong < rows][:_MOST_ROWS]
    if rows < 2 or columns < _FEW_FLOATS or not len(wrong):
        return
    width = min(columns, _MOST_WIDTH)
    among = np.arange(rows) if rows <= _MOST_ROWS else wrong
    a, g = rows_of(actual, wrong, width), rows_of(golden, among, width)
    nearest = nearest_rows(a, g, own, some_of(width, _MOST_SHIFT))
    moved = [
        (int(row), int(among[at]))
        for row, codes, own_row, at in zip(
            wrong, a, g[np.searchsorted(among, wrong)], nearest, strict=True
        )
        if _is_other(own.values(codes), own.values(g[at]), own.values(own_row), own)
    ]
    if not moved or 2 * len(moved) < len(wrong):
        return
    shown = ", ".join(f"{row} is the golden's {origin}" for row, origin in moved[:3])
    more = f" and {len(moved) - 3} more" if len(moved) > 3 else ""
    yield f"{where.axes[0]}s are at other places: {shown}{more}"


def _is_other(actual: Float64, other: Float64, golden: Float64, own: Elements) -> bool:
    """Say whether a row is another one of the golden than its own, and not of one value."""
    left, differing = unlike(actual, other, own), unlike(actual, golden, own)
    varied = bool(np.any(actual != actual[0]))
    return varied and differing >= _FEW_FLOATS and left * _LEFT <= differing


def _added(part: Part) -> Iterator[str]:
    (actual, golden), own = part.values, part.own
    more = float(np.median(actual - golden))
    if not np.isfinite(more) or more == 0 or own.carrier.kind == "b":
        return
    expected, most = own.values(own.nearest(golden + more)), np.maximum(np.abs(golden), abs(more))
    left = unlike(actual, expected, own, most)
    # Of few values two runs of one each would do.
    if _explains(left, part.differing, own) and len(np.unique(golden)) >= _FEW:
        yield f"{_number(more, own, 3)} is added {part.where}"


def _multiplied(part: Part) -> Iterator[str]:
    """Find one factor between floats."""
    (actual, golden), own = part.values, part.own
    if not isinstance(own, Floats) or not np.any(golden):
        return
    factor = float(np.median((actual / golden)[golden != 0]))
    if not np.isfinite(factor):
        return
    if _explains(unlike(actual, golden * factor, own, np.abs(actual)), part.differing, own):
        yield f"a factor of {factor:.6g} ({100 * (factor - 1):+.3g} %) {part.where}"


def _scaled(part: Part, output: OutputComparison, model: Model | None) -> Iterator[str]:
    """Find one factor on the numbers before rounding: the scale's, where it is x / scale."""
    own, (actual, golden) = part.own, part.codes
    if isinstance(own, Floats) or own.carrier.kind == "b":
        return
    is_known = model is not None and output.ties is not None
    if model is not None and is_known and "scale" in model.kinds and model.has_scale_per_row:
        number = model.outputs.index(output.name)
        value = model.before_rounding(number, part.index, actual, golden).value
        found = factors_of(value, value, actual, own)
        if found is not None and (part.name or _explains(0, part.differing, own)):
            percent = 100 * (2 / sum(found) - 1)
            what = f"{part.name or 'every row'} is wrong by {percent:+.2g} %"
            yield f"the scale of {what}: one factor gives its codes"
    elif len(np.unique(golden)) >= _FEW_FLOATS and _explains(0, part.differing, own):
        found = factors_of(*own.ties(golden), actual, own)
        if found is not None:
            yield f"a factor of about {sum(found) / 2:.3g} {part.where}, before rounding"


def _shifted(part: Part, column: str) -> Iterator[str]:
    """Find the golden's elements some columns away, in all of some rows."""
    pieces, own = [_Piece(part, *p) for p in _row_pieces(part)], part.own
    if part.name.startswith(column) or not all(piece.is_varied for piece in pieces):
        return
    for shift in sorted(range(-_MOST_SHIFT, _MOST_SHIFT + 1), key=abs)[1:]:
        if all(_explains(*piece.left(shift), own) for piece in pieces):
            columns = f"{abs(shift)} {column}{'' if abs(shift) == 1 else 's'}"
            yield f"{part.subject} shifted {'right' if shift > 0 else 'left'} by {columns}"


def _row_pieces(part: Part) -> Iterator[tuple[int, int, int]]:
    """Yield some of its rows, with what columns of these are looked at."""
    columns = Layout.of(part.golden.shape).columns
    of_row = part.index // columns
    rows = np.unique(of_row)
    for row in rows[some_of(len(rows), _ROWS_SHIFTED)].tolist():
        places = part.index[of_row == row] - row * columns
        length = int(np.argmax(np.diff(places, append=-1) != 1)) + 1
        yield row, int(places[0]), int(places[0]) + min(length, _COLUMNS_SHIFTED)


class _Piece:
    """A row, or some columns of it, that may be shifted."""

    def __init__(self, part: Part, row: int, begin: int, end: int) -> None:
        self._own, columns = part.own, Layout.of(part.golden.shape).columns
        self._before = min(begin, _MOST_SHIFT)
        first, after = row * columns + begin, min(columns, end + _MOST_SHIFT) - begin
        self._actual = part.own.values(part.actual.read(first, first + end - begin))
        self._golden = part.own.values(part.golden.read(first - self._before, first + after))
        self._source = np.arange(self._before, self._before + end - begin)
        self.is_varied = len(np.unique(self._actual)) >= _FEW

    def left(self, shift: int) -> tuple[int, int]:
        """Return how many differ if it was shifted, within its row or round, and how many do."""
        source = self._source - shift
        inside = (source >= 0) & (source < len(self._golden))
        golden = self._golden[self._source]
        round_ = unlike(self._actual, np.roll(golden, shift), self._own)
        if 2 * np.count_nonzero(inside) < len(inside):
            return round_, unlike(self._actual, golden, self._own)
        actual = self._actual[inside]
        differing = unlike(actual, golden[inside], self._own)
        return min(round_, unlike(actual, self._golden[source[inside]], self._own)), differing


def _unrelated(metrics: Metrics) -> Iterator[str]:
    """Find codes of both signs that have nothing to do with the golden's."""
    about = metrics.mismatches * 2 >= metrics.count >= _LEAST_UNRELATED
    flipped = metrics.sign_flips * 5 >= metrics.count
    if about and flipped and abs(metrics.cosine) < _COSINE:
        yield f"another input's, or in another order: cosine {metrics.cosine:.2g}"
