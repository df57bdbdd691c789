"""What the numbers of an array are like, from one or two passes over its blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kinds import Progress
from ..arrays import Source
from ..golden.elements import elements_of
from ..golden.sources import blocks, size_of

BINS = 48
"""Of the histogram."""

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Statistics:
    """An array's numbers. Range, mean and deviation are of the finite ones, NaN without any."""

    count: int
    nan: int
    inf: int
    minus_inf: int
    zeros: int
    minimum: float
    maximum: float
    mean: float
    deviation: float
    limits: tuple[float, float]
    """Of the dtype: of floats the greatest finite number, of integers where symmetric codes end."""
    at_least: int
    """Finite numbers there, or below."""
    at_greatest: int
    histogram: tuple[int, ...]
    """Finite numbers between minimum and maximum, in bins of one width; empty if none are."""


def statistics_of(source: Source, progress: Progress | None = None) -> Statistics:
    """Measure an array block by block: once where it has 8 or 16 bits, else twice.

    Args:
        source: the array.
        progress: called with (done, total) elements.
    """
    dtype, (least, greatest) = source.dtype, elements_of(source.dtype).limits
    limits = max(least, -greatest), greatest
    tally = [_tally(source, progress)] if dtype.itemsize <= 2 else None
    counts = np.zeros(8, np.int64)
    low, high, total, squares = math.inf, -math.inf, 0.0, 0.0
    for values, often in tally or _blocks(source, progress, half=0):
        finite = np.isfinite(values)
        kinds = (np.isnan(values), np.isposinf(values), np.isneginf(values), values == 0)
        ends = (finite & (values <= limits[0]), values == limits[1])
        every = np.ones_like(finite)
        counts += [_number(chosen, often) for chosen in (every, *kinds, *ends, finite)]
        finite = finite if often is None else finite & (often > 0)
        some, weights = values[finite], 1.0 if often is None else often[finite]
        low, high = min(low, some.min(initial=math.inf)), max(high, some.max(initial=-math.inf))
        with np.errstate(over="ignore"):
            total += float(np.sum(some * weights))
            squares += float(np.sum(some * some * weights))
    n = int(counts[7])
    mean = total / n if n else math.nan
    variance = squares / n - mean * mean if n else math.nan
    deviation = math.sqrt(max(0.0, variance)) if math.isfinite(variance) else math.nan
    bins = _Bins(low, high, whole=dtype.kind in "iub")
    for values, often in (tally or _blocks(source, progress, half=1)) if n else ():
        bins.add(values, often)
    ends_ = (float(low), float(high)) if n else (math.nan, math.nan)
    count, nan, inf, minus_inf, zeros, at_least, at_greatest = (int(c) for c in counts[:7])
    return Statistics(
        *(count, nan, inf, minus_inf, zeros, *ends_, mean, deviation),
        *(limits, at_least, at_greatest, tuple(bins.counts.tolist())),
    )


class _Bins:
    """A histogram of the finite numbers between two; bins of whole numbers hold equally many."""

    def __init__(self, low: float, high: float, *, whole: bool) -> None:
        count = 0 if high < low else BINS if high > low else 1
        # Halved, since the whole range of a dtype may be wider than its greatest number.
        self._half_width = (high / 2 - low / 2) / BINS if count > 1 else 1.0
        if whole and count:
            width = math.ceil((high - low + 1) / BINS)
            count = math.ceil((high - low + 1) / width)
            self._half_width = width / 2
        self.low, self.high = low, high
        self.counts: Counts = np.zeros(count, np.int64)

    def add(self, values: Floats, often: Counts | None) -> None:
        """Count numbers; `often` says how many times each, None once."""
        inside = (values >= self.low) & (values <= self.high)
        index = ((values[inside] / 2 - self.low / 2) / self._half_width).astype(np.int64)
        weights, last = None if often is None else often[inside], len(self.counts) - 1
        found = np.bincount(np.minimum(index, last), weights, minlength=last + 1)
        self.counts += found.astype(np.int64)


def _tally(source: Source, progress: Progress | None) -> tuple[Floats, Counts]:
    """Return every number of a dtype of 8 or 16 bits, and how often an array has it."""
    bits = np.dtype(f"u{source.dtype.itemsize}")
    kinds = 1 << (8 * bits.itemsize)
    often = np.zeros(kinds, np.int64)
    size = size_of(source)
    for begin, end in blocks(source):
        often += np.bincount(source.read(begin, end).view(bits), minlength=kinds)
        if progress is not None:
            progress(end, size)
    every = np.arange(kinds).astype(bits)
    if source.dtype.kind == "b":
        return (every != 0).astype(np.float64), often
    with np.errstate(all="ignore"):  # signalling NaN among them
        return every.view(source.dtype).astype(np.float64), often


def _blocks(
    source: Source, progress: Progress | None, half: int
) -> Iterator[tuple[Floats, Counts | None]]:
    size = size_of(source)
    for begin, end in blocks(source):
        with np.errstate(all="ignore"):
            yield source.read(begin, end).astype(np.float64), None
        if progress is not None:
            progress(half * size + end, 2 * size)


def _number(chosen: NDArray[np.bool_], often: Counts | None) -> int:
    return int(np.count_nonzero(chosen)) if often is None else int(often[chosen].sum())
