"""What differences look like: a wrong scale, swapped rows, a shifted block, an unwritten result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats import Format, format_of
from ..measure.layout import Layout
from ..operators import Model
from ..read.sources import size_of
from ..results import Concentration, OutputComparison, Source
from . import words

_MOST_ELEMENTS = 1 << 24
_MOST_ROWS = 1 << 12
_MOST_SHIFT = 64
# Fewer differing elements could look like anything.
_FEW = 4


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
    if actual is None or golden is None or output.where is None:
        return ()
    if not 0 < size_of(golden) <= _MOST_ELEMENTS:
        return ()
    with np.errstate(all="ignore"):
        own = format_of(output.type_name)
        for look in (_constant, _negated, _transposed, _swapped_rows):
            found = look(actual, golden, own)
            if found:
                return (found,)
        places = [c for c in output.where.concentrations if c.kind in ("row", "block")]
        if not places:
            return ()
        found = _constant_part(actual, golden, own, places[0]) or _shifted(
            actual, golden, places[0]
        )
        found = found or _scaled(output, actual, golden, model, places[0])
    return (found,) if found else ()


def _constant(actual: Source, golden: Source, own: Format) -> str | None:
    return _same_everywhere("actual", actual.array(), golden.array(), own)


def _same_everywhere(
    what: str, actual: NDArray[Any], golden: NDArray[Any], own: Format
) -> str | None:
    values = actual.reshape(-1)
    if values.size < _FEW or not np.all(values == values[0]) or np.all(golden == values[0]):
        return None
    value = float(own.values(values[:1])[0])
    never = ": was it ever written?" if value == 0 else ""
    return f"probably: {what} is {words.number(value)} everywhere{never}"


def _negated(actual: Source, golden: Source, own: Format) -> str | None:
    a, g = (own.values(s.array()) for s in (actual, golden))
    if np.count_nonzero(g) < _FEW or not np.all(np.abs(a + g) <= (g == -own.limits[1] - 1)):
        return None
    return "probably: the sign is flipped everywhere"


def _transposed(actual: Source, golden: Source, own: Format) -> str | None:
    shape = golden.shape
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        return None
    if not np.array_equal(actual.array(), np.swapaxes(golden.array(), -1, -2)):
        return None
    return "probably: the last two axes are swapped"


def _swapped_rows(actual: Source, golden: Source, own: Format) -> str | None:
    """Find whole rows of the golden at other places."""
    rows, columns = Layout.of(golden.shape)
    if not rows >= 2 or columns < _FEW:
        return None
    a, g = (np.ascontiguousarray(s.array()).reshape(rows, columns) for s in (actual, golden))
    wrong = np.flatnonzero((a.view(np.uint8) != g.view(np.uint8)).reshape(rows, -1).any(axis=1))
    if not 2 <= len(wrong) <= _MOST_ROWS:
        return None
    places: dict[bytes, int] = {}
    for row in range(rows) if rows <= _MOST_ROWS else wrong:
        places.setdefault(g[row].tobytes(), int(row))
    moved = [(int(row), places.get(a[row].tobytes())) for row in wrong]
    origins = {origin for _, origin in moved}
    varied = all(np.any(a[row] != a[row][0]) for row in wrong)
    if None in origins or len(origins) < len(moved) or not varied:
        return None
    shown = ", ".join(f"{row} is the golden's {origin}" for row, origin in moved[:3])
    more = f" and {len(moved) - 3} more" if len(moved) > 3 else ""
    return f"probably: rows are at other places: {shown}{more}"


def _span(place: Concentration, layout: Layout) -> tuple[int, int, int]:
    """Return (row, first column, column after the last) of the fullest row or block."""
    if place.kind == "row":
        return place.places[0], 0, layout.columns
    return layout.block(place.places[0])


def _part(place: Concentration, layout: Layout) -> str:
    row, begin, end = _span(place, layout)
    return f"row {row}" if place.kind == "row" else f"row {row} columns {begin}-{end - 1}"


def _constant_part(actual: Source, golden: Source, own: Format, place: Concentration) -> str | None:
    """Find a row or a block that was never written, or holds one value."""
    layout = Layout.of(golden.shape)
    row, begin, end = _span(place, layout)
    first, last = row * layout.columns + begin, row * layout.columns + end
    a, g = actual.read(first, last), golden.read(first, last)
    return _same_everywhere(_part(place, layout), a, g, own)


def _shifted(actual: Source, golden: Source, place: Concentration) -> str | None:
    """Find the golden's elements some columns away."""
    layout = Layout.of(golden.shape)
    columns = layout.columns
    row, begin, end = _span(place, layout)
    a = actual.read(row * columns + begin, row * columns + end)
    g = golden.read(row * columns, (row + 1) * columns)
    if end - begin < 2 * _FEW or len(np.unique(a)) < _FEW:
        return None
    for shift in sorted(range(-_MOST_SHIFT, _MOST_SHIFT + 1), key=abs)[1:]:
        source = np.arange(begin, end) - shift
        inside = (source >= 0) & (source < columns)
        if np.count_nonzero(inside) < max(_FEW, (end - begin) // 2):
            continue
        if np.array_equal(a[inside], g[source[inside]]) or np.array_equal(
            a, np.roll(g[begin:end], shift)
        ):
            way = "right" if shift > 0 else "left"
            span = f"row {row} columns {begin}-{end - 1}"
            return f"probably: {span} are shifted {way} by {words.counted(abs(shift), 'column')}"
    return None


def scale_interval(
    value: NDArray[np.float64], codes: NDArray[Any], own: Format
) -> tuple[float, float] | None:
    """Return the factors f for which round(value * f) gives the codes; None if none does.

    Args:
        value: the numbers before rounding by the golden scale.
        codes: the actual codes.
        own: their format. Saturated ones bound f from one side only.
    """
    usable = (np.abs(value) > own.least_tie) & np.isfinite(value)
    v, q = value[usable], own.values(codes[usable])
    if len(v) < _FEW:
        return None
    inside = (q > own.limits[0]) & (q < own.limits[1])
    slack, (low, high) = 1e-6, own.ties(codes[usable])
    near = np.where(v > 0, low, -high) / np.abs(v) * (1 - slack)
    far = np.where(v > 0, high, -low) / np.abs(v) * (1 + slack)
    if np.any((np.sign(q) != np.sign(v)) & (q != 0)) or not np.any(inside):
        return None
    least, most = float(near.max()), float(far.min())
    # A factor of 1 would say nothing is wrong.
    return (least, most) if least <= most and not least <= 1 <= most else None


def _scaled(
    output: OutputComparison,
    actual: Source,
    golden: Source,
    model: Model | None,
    place: Concentration,
) -> str | None:
    """Find the factor of the scale that gives a row's or block's codes."""
    # Only where a row's scale is its own, and codes are x / scale.
    if model is None or output.ties is None or "scale" not in model.kinds:
        return None
    if not model.has_scale_per_row:
        return None
    layout = Layout.of(output.shape)
    row, begin, end = _span(place, layout)
    index = np.arange(begin, end, dtype=np.int64) + row * layout.columns
    a, g = (side.read(int(index[0]), int(index[-1]) + 1) for side in (actual, golden))
    value = model.before_rounding(model.outputs.index(output.name), index, a, g).value
    found = scale_interval(value, a, format_of(output.type_name))
    if found is None:
        return None
    percent = 100 * (2 / (found[0] + found[1]) - 1)
    what = _part(place, layout)
    return f"probably: the scale of {what} is wrong by {percent:+.2g} %: one factor gives its codes"
