"""Where differences lie, counted in cells: what the pictures draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..results import Explains, OutputComparison, Where
from .differing import differences, distance_from_tie
from .layout import Layout

MOST_CELLS = 64
"""How many cells a side has at most."""

MOST_DRAWN = 4 << 20
"""More differences than these are not read again for a picture."""

_DECADES = (1e1, 1e2, 1e3, 1e4, 1e5)


@dataclass(frozen=True)
class Map:
    """Differences per cell: some rows by some columns (a row is what the last axis holds)."""

    counts: NDArray[np.int64]
    """Two-dimensional."""
    row_step: int
    """How many rows a cell has, a power of two; the last cell may have fewer."""
    column_step: int
    rows: int
    columns: int


def step_of(places: int) -> int:
    """Return the least power of two that cuts some places into MOST_CELLS cells or fewer."""
    step = 1
    while step * MOST_CELLS < places:
        step *= 2
    return step


def map_of(output: OutputComparison) -> Map | None:
    """Count an output's differences in cells; None where there are none, or too many to read."""
    if output.metrics is None or output.actual is None or output.golden is None:
        return None
    if not 0 < output.metrics.mismatches <= MOST_DRAWN:
        return None
    rows, columns = Layout.of(output.shape)
    row_step, column_step = step_of(rows), step_of(columns)
    shape = -(-rows // row_step), -(-columns // column_step)
    counts = np.zeros(shape[0] * shape[1], np.int64)
    for index, _, _ in differences(output.actual, output.golden):
        cell = index // columns // row_step * shape[1] + index % columns // column_step
        counts += np.bincount(cell, minlength=counts.size)
    return Map(counts.reshape(shape), row_step, column_step, rows, columns)


def _strip(counts: NDArray[np.int64], bucket: int) -> tuple[NDArray[np.int64], int]:
    """Return counts per bucket as counts per cell, and how many places a cell has."""
    together = step_of(len(counts))
    return np.add.reduceat(counts, np.arange(0, len(counts), together)), together * bucket


def margins_of(where: Where) -> tuple[Map, Map]:
    """Return the differences per row and per column, each as a map that is one cell wide."""
    by_row, row_step = _strip(where.row_counts, where.row_bucket)
    by_column, column_step = _strip(where.column_counts, where.column_bucket)
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


def distances_of(model: Explains | None, output: OutputComparison) -> NDArray[np.float64] | None:
    """Return how far each differing code lies from the tie, in ulp; None where not known."""
    if model is None or output.ties is None or output.metrics is None:
        return None
    if output.actual is None or output.golden is None or output.metrics.mismatches > MOST_DRAWN:
        return None
    number = model.outputs.index(output.name)
    found = [
        distance_from_tie(model.before_rounding(number, *some))
        for some in differences(output.actual, output.golden)
    ]
    return np.concatenate(found) if found else None


def by_decade(distances: NDArray[np.float64], allowed: float) -> dict[str, int]:
    """Count distances from a tie: what rounding explains, then the others by powers of ten."""
    limits = [allowed, *(limit for limit in _DECADES if limit > allowed)]
    names = [f"≤ {limit:g}" if limit < 1e4 else f"≤ 1e{np.log10(limit):.0f}" for limit in limits]
    # Where a code has no number before rounding, its distance is NaN: beyond all limits.
    at = np.searchsorted(limits, np.nan_to_num(distances, nan=np.inf))
    counts = np.bincount(at, minlength=len(limits) + 1).tolist()
    return dict(zip([*names, "beyond"], counts, strict=True))
