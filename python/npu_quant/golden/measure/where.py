"""Where differences lie, and how likely chance would put them there (docs/golden.md 5)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..elements import Elements, Small
from ..results import Concentration, Metrics, Where
from .collected import Collector, Tally
from .layout import Layout, together
from .metrics import MOST_COLUMN_BUCKETS, Positions
from .parts import narrowed

UNLIKELY = -6.0
"""log10 of the odds below which a concentration is reported."""

_MOST_PLACES = 8
_DENSER = 8
"""How much denser than beside it differences lie in a range or period that is named, at least."""
_PERIODS = {"period": (8, 16, 32, 64, 128), "row period": (2, 4, 8, 16, 20, 24, 32, 40, 48, 64)}
"""Of columns, which lanes keep to, and of rows, which cores take in turn."""

_MOST_ELSEWHERE = 10
"""Differences lie scattered if more than one in so many lies elsewhere."""


def log10_factorial(n: float) -> float:
    """Return log10(n!), of any n."""
    return math.lgamma(n + 1) / math.log(10)


def log10_odds(held: int, of: int, places: int, of_places: int, ways: float | None = None) -> float:
    """Bound the odds that `held` of `of` differences fall in some `places` of `of_places` places.

    By chance each difference falls in any place alike. The bound is Chernoff's of the binomial
    tail, times the number of ways to choose the places: they were looked for. Its logarithm is
    `ways`, by default of any places.
    """
    share, expected = held / of, places / of_places
    if share <= expected:
        return 0.0
    divergence = share * np.log(share / expected)
    if share < 1:
        divergence += (1 - share) * np.log((1 - share) / (1 - expected))
    if ways is None:
        ways = log10_factorial(of_places) - log10_factorial(places)
        ways -= log10_factorial(of_places - places)
    return float(min(0.0, ways - of * divergence / np.log(10)))


def places_of(kind: str, counts: NDArray[np.int64], places: int) -> Concentration | None:
    """Return the places, or the range of places, that chance would be least likely to choose."""
    single, spread = concentration_of(kind, counts, places), range_of(kind, counts, places)
    if single is None or spread is None:
        return single or spread
    return spread if spread.log10_odds < single.log10_odds else single


def _unlikely(
    kind: str, places: tuple[int, ...], held: int, of: int, share: tuple[int, int]
) -> Concentration | None:
    """Return some places, `share` of all, if they hold half of the differences beyond chance."""
    # Between all places and their neighbours there are so many ranges.
    is_range = 2 < share[0] == places[-1] - places[0] + 1
    ways = 2 * float(np.log10(share[1])) if is_range else None
    odds = log10_odds(held, of, *share, ways=ways)
    if odds >= UNLIKELY or 2 * held < of:
        return None
    return Concentration(kind, places, held, of, odds)


def _is_denser(held: int, of: int, length: int, places: int) -> bool:
    """Say whether differences lie so much more densely in some of all places than beside them."""
    return (of - held) * length * _DENSER <= held * (places - length)


def _least_likely(found: Iterable[Concentration | None]) -> Concentration | None:
    return min((f for f in found if f is not None), key=lambda f: f.log10_odds, default=None)


def concentration_of(kind: str, counts: NDArray[np.int64], places: int) -> Concentration | None:
    """Return the fewest places that hold differences beyond chance, of all that could."""
    of, occupied = int(counts.sum()), int(np.count_nonzero(counts))
    if of == 0 or places < 2:
        return None
    fullest = np.argsort(-counts, kind="stable")[: min(_MOST_PLACES, occupied)].tolist()
    held = np.cumsum(counts[fullest]).tolist()
    return _least_likely(
        _unlikely(kind, tuple(sorted(fullest[:k])), held[k - 1], of, (k, places))
        for k in range(1, len(fullest) + 1)
    )


def range_of(kind: str, counts: NDArray[np.int64], places: int) -> Concentration | None:
    """Return the range of neighbouring places that holds most differences, if that is no chance.

    Some may lie elsewhere, but far less densely.
    """
    of = int(counts.sum())
    if np.count_nonzero(counts) <= _MOST_PLACES:
        return None
    first, last = _densest(counts, *_densest(counts, *_shortest(counts)))
    inside = counts[first : last + 1]
    held, length = int(inside.sum()), len(inside)
    if np.count_nonzero(inside) <= _MOST_PLACES or not _is_denser(held, of, length, places):
        return None
    return _unlikely(f"{kind}s", (first, last), held, of, (length, places))


def _shortest(counts: NDArray[np.int64]) -> tuple[int, int]:
    """Return the first and the last place of the shortest range that holds half of all."""
    upto = np.cumsum(counts)
    before = upto - counts
    last = np.searchsorted(upto, before + (upto[-1] + 1) // 2)
    length = np.where(last < len(counts), last - np.arange(len(counts)), len(counts))
    first = int(np.argmin(length))
    return first, int(last[first])


def _densest(counts: NDArray[np.int64], first: int, last: int) -> tuple[int, int]:
    """Return the range most likely as dense as a given one, while all else is as sparse as beside.

    That is the one of the greatest sum of logarithms of Poisson's likelihoods.
    """
    held, length = int(counts[first : last + 1].sum()), last + 1 - first
    inside = held / length
    outside = max(int(counts.sum()) - held, 0.5) / max(1, len(counts) - length)
    if inside <= outside:
        return 0, len(counts) - 1
    upto = np.cumsum(counts * math.log(inside / outside) - (inside - outside))
    before = np.minimum.accumulate(np.concatenate([[0.0], upto[:-1]]))
    end = int(np.argmax(upto - before))
    begin = int(np.argmin(np.concatenate([[0.0], upto[:end]])))
    return begin, end


def period_of(kind: str, counts: NDArray[np.int64]) -> Concentration | None:
    """Return the period of a number that differences keep to, with their residue."""
    found = []
    for period in _PERIODS[kind]:
        if len(counts) >= 2 * period:
            padded = np.zeros(-(-len(counts) // period) * period, np.int64)
            padded[: len(counts)] = counts
            residues = padded.reshape(-1, period).sum(axis=0)
            residue, held, of = int(np.argmax(residues)), int(residues.max()), int(counts.sum())
            if _is_denser(held, of, 1, period):
                found.append(_unlikely(kind, (period, residue), held, of, (1, period)))
    return _least_likely(found)


def _blocks(tally: Tally, layout: Layout) -> Concentration | None:
    """Return the blocks that hold most differences, numbered row by row."""
    found = tally.blocks()
    if found is None:
        return None
    numbers, counts = found
    order = np.argsort(-counts, kind="stable")[: _MOST_PLACES + 1]
    blocks = layout.rows * layout.blocks_per_row
    best = concentration_of("block", counts[order], blocks)
    if best is None:
        return None
    # Those beyond the fullest hold some, too.
    places = tuple(sorted(int(numbers[order[p]]) for p in best.places))
    return _unlikely("block", places, best.held, tally.count, (len(places), blocks))


def _of_positions(
    positions: Positions, layout: Layout, by_block: Concentration | None = None
) -> tuple[Concentration, ...]:
    found: list[Concentration | None] = []
    if positions.row_bucket == 1:
        by_row = places_of("row", positions.row_counts, layout.rows)
        found.append(_least_likely((by_row, period_of("row period", positions.row_counts))))
    if positions.column_bucket == 1:
        by_column = places_of("column", positions.column_counts, layout.columns)
        found.append(_least_likely((by_column, period_of("period", positions.column_counts))))
    # A row's or column's own blocks say nothing new.
    if by_block is not None and all(
        f is None or by_block.log10_odds < f.log10_odds + UNLIKELY for f in found
    ):
        found.append(by_block)
    return tuple(sorted((f for f in found if f is not None), key=lambda f: f.log10_odds))


def _of_tally(tally: Tally, layout: Layout, axis: int | None) -> tuple[Concentration, ...]:
    found = _of_positions(tally.positions, layout, _blocks(tally, layout))
    along = concentration_of("axis", tally.along, len(tally.along))
    return found if along is None else (*found, dataclasses.replace(along, kind=f"axis {axis}"))


def _concentrations(
    collected: Collector | None,
    positions: Positions,
    layout: Layout,
    axis: int | None,
    *,
    by_ties: bool,
) -> tuple[tuple[Concentration, ...], str]:
    """Return where differences concentrate, and which were counted (Where.counts).

    Where ties are known, what rounding does not explain. Else all, unless they lie scattered and
    those that are more than one step off do not: one step may be rounding.
    """
    if collected is None:
        return _of_positions(positions, layout), ""
    some, are_some = collected.unexplained, 0 < collected.unexplained.count < collected.all.count
    if are_some and by_ties:
        return _of_tally(some, layout, axis), "unexplained"
    found = _of_tally(collected.all, layout, axis)
    if are_some and not any(_MOST_ELSEWHERE * (c.of - c.held) <= c.of for c in found):
        farther = _of_tally(some, layout, axis)
        return (farther, "far") if farther else (found, "")
    return found, ""


def _narrowed(found: Concentration, actual: Source, golden: Source) -> Concentration:
    """Name blocks by those of their columns that differ."""
    layout, texts = Layout.of(golden.shape), []
    for row, begin, end in map(layout.block, found.places[:2]):
        first, last = narrowed(actual, golden, row, begin, end)
        texts.append(f"row {row} columns {first}-{last}")
    more = f" and {len(found.places) - 2} more blocks" if len(found.places) > 2 else ""
    return dataclasses.replace(found, named=" and ".join(texts) + more)


def has_axis(shape: tuple[int, ...], axis: int) -> bool:
    """Say whether an array has an axis of that number, counted from either end."""
    return -len(shape) <= axis < len(shape)


def axis_of(shape: tuple[int, ...], axis: int | None) -> int | None:
    """Return an axis to look along besides rows and columns, which are named as such."""
    rank = len(shape)
    if axis is None or not has_axis(shape, axis) or axis % rank == rank - 1 or rank == 2:
        return None
    return axis % rank


def locate(
    actual: Source,
    golden: Source,
    measured: tuple[Metrics, Positions],
    collected: Collector | None = None,
    worst: int | None = None,
    axis: int | None = None,
    own: Elements | None = None,
    *,
    by_ties: bool = False,
) -> Where | None:
    """Say where the differences of two sources lie; None where there are none.

    Args:
        actual: the actual array.
        golden: the golden one.
        measured: what the pass over both measured and counted.
        collected: what is known of the single elements.
        worst: the element to call the worst; None means the greatest difference.
        axis: one that was looked along, besides rows and columns.
        own: what the elements stand for; None: what their dtype says.
        by_ties: whether it is known of each difference if rounding explains it.
    """
    metrics, positions = measured
    if metrics.mismatches == 0 or metrics.first is None:
        return None
    layout = Layout.of(golden.shape)
    worst = metrics.worst if worst is None else worst
    worst = metrics.first if worst is None else worst
    found, counts = _concentrations(collected, positions, layout, axis, by_ties=by_ties)
    row_counts, row_bucket = together(
        positions.row_counts, positions.row_bucket, MOST_COLUMN_BUCKETS
    )
    return Where(
        first=metrics.first,
        worst=worst,
        rows=int(np.count_nonzero(positions.row_counts)),
        of_rows=layout.rows,
        columns=int(np.count_nonzero(positions.column_counts)),
        of_columns=layout.columns,
        concentrations=tuple(
            _narrowed(each, actual, golden) if each.kind == "block" else each for each in found
        ),
        counts=counts,
        worst_values=(value_of(actual, worst, own), value_of(golden, worst, own)),
        row_counts=row_counts,
        column_counts=positions.column_counts,
        row_bucket=row_bucket,
        column_bucket=positions.column_bucket,
    )


def value_of(source: Source, place: int, own: Elements | None = None) -> int | float:
    """Return an element as a Python number; integers exactly."""
    element = source.read(place, place + 1)
    if own is not None and isinstance(own, Small):
        return float(own.values(element)[0])
    if source.dtype.kind == "b" and (byte := int(element.view(np.uint8)[0])) > 1:
        return byte  # NumPy takes it for True, though it is not the byte of True
    number: int | float = element[0].item() if source.dtype.kind in "iub" else float(element[0])
    return number
