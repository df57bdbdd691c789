"""Where differences lie, counted in cells: what the pictures draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..results import Map, Where
from .layout import Layout, together

MOST_CELLS = 64
"""How many cells a side has at most."""

_DECADES = (1e1, 1e2, 1e3, 1e4, 1e5)


def margins_of(where: Where) -> tuple[Map, Map]:
    """Return the differences per row and per column, each as a map that is one cell wide."""
    by_row, row_step = together(where.row_counts, where.row_bucket, MOST_CELLS)
    by_column, column_step = together(where.column_counts, where.column_bucket, MOST_CELLS)
    rows, columns = where.of_rows, where.of_columns
    return (
        Map(by_row[:, None], row_step, columns, rows, columns),
        Map(by_column[None], rows, column_step, rows, columns),
    )


def gathered(where: Where) -> tuple[list[int], list[int]]:
    """Return the rows and the columns in which differences gather, if not by chance."""
    if not where.concentrations:
        return [], []
    found = where.concentrations[0]
    places = list(found.places)
    if found.kind == "block":
        blocks = [Layout(where.of_rows, where.of_columns).block(place) for place in places]
        return [row for row, _, _ in blocks], [begin for _, begin, _ in blocks]
    if found.kind in ("row", "rows"):
        return places, []
    return [], places if found.kind in ("column", "columns") else []


def by_decade(distances: NDArray[np.float64], allowed: float) -> dict[str, int]:
    """Count distances from a tie: what rounding explains, then the others by powers of ten."""
    limits = [allowed, *(limit for limit in _DECADES if limit > allowed)]
    names = [f"≤ {limit:g}" if limit < 1e4 else f"≤ 1e{np.log10(limit):.0f}" for limit in limits]
    # Where a code has no number before rounding, its distance is NaN: beyond all limits.
    upto = [int(np.count_nonzero(distances <= limit)) for limit in limits] + [len(distances)]
    counts = np.diff(upto, prepend=0).tolist()
    return dict(zip([*names, "beyond"], counts, strict=True))
