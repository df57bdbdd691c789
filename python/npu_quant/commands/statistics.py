"""What the numbers of an array are like, from one or two passes over its blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ..golden.read.sources import blocks, size_of
from ..golden.results import Source

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


class Totals:
    """Sums over blocks of numbers, each with how often it occurs."""

    def __init__(self, limits: tuple[float, float]) -> None:
        self.limits = limits
        self.count = self.nan = self.inf = self.minus_inf = self.zeros = 0
        self.at_least = self.at_greatest = self.finite = 0
        self.low, self.high = math.inf, -math.inf
        self.sum = self.squares = 0.0

    def add(self, values: Floats, often: Counts | None = None) -> None:
        """Count numbers; `often` says how many times each, None once."""
        finite = np.isfinite(values)
        self.count += _number(np.ones_like(finite), often)
        self.nan += _number(np.isnan(values), often)
        self.inf += _number(np.isposinf(values), often)
        self.minus_inf += _number(np.isneginf(values), often)
        if often is not None:
            finite &= often > 0
            often = often[finite]
        values = values[finite]
        if values.size == 0:
            return
        self.finite += _number(np.ones(values.shape, np.bool_), often)
        self.zeros += _number(values == 0, often)
        self.at_least += _number(values <= self.limits[0], often)
        self.at_greatest += _number(values == self.limits[1], often)
        self.low = min(self.low, float(values.min()))
        self.high = max(self.high, float(values.max()))
        weights = 1.0 if often is None else often.astype(np.float64)
        with np.errstate(over="ignore"):
            self.sum += float(np.sum(values * weights))
            self.squares += float(np.sum(values * values * weights))

    def statistics(self, histogram: Counts) -> Statistics:
        """Return the result."""
        some = self.finite > 0
        mean = self.sum / self.finite if some else math.nan
        variance = self.squares / self.finite - mean * mean if some else math.nan
        return Statistics(
            self.count,
            self.nan,
            self.inf,
            self.minus_inf,
            self.zeros,
            self.low if some else math.nan,
            self.high if some else math.nan,
            mean,
            math.sqrt(max(0.0, variance)) if math.isfinite(variance) else math.nan,
            self.limits,
            self.at_least,
            self.at_greatest,
            tuple(int(n) for n in histogram),
        )


class Bins:
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

    def add(self, values: Floats, often: Counts | None = None) -> None:
        """Count numbers; `often` says how many times each, None once."""
        count = len(self.counts)
        inside = (values >= self.low) & (values <= self.high)
        index = ((values[inside] / 2 - self.low / 2) / self._half_width).astype(np.int64)
        weights = None if often is None else often[inside]
        found = np.bincount(np.minimum(index, count - 1), weights, minlength=count)
        self.counts += found.astype(np.int64)


def statistics_of(source: Source, progress: Callable[[int, int], None] | None = None) -> Statistics:
    """Measure an array block by block: once where it has 8 or 16 bits, else twice.

    Args:
        source: the array.
        progress: called with (done, total) elements.
    """
    dtype = source.dtype
    totals = Totals(limits_of(dtype))
    narrow = dtype.itemsize <= 2
    if narrow:
        values, often = _tally(source, progress)
        totals.add(values, often)
    else:
        for block in _blocks(source, progress, half=0):
            totals.add(block)
    bins = Bins(totals.low, totals.high, whole=dtype.kind in "iub")
    if narrow and len(bins.counts):
        bins.add(values, often)
    elif len(bins.counts):
        for block in _blocks(source, progress, half=1):
            bins.add(block)
    return totals.statistics(bins.counts)


def limits_of(dtype: np.dtype) -> tuple[float, float]:
    """Return the least and the greatest finite number of a dtype; of integers, symmetric ones."""
    if dtype.kind == "b":
        return 0.0, 1.0
    if dtype.kind in "iu":
        whole = np.iinfo(dtype)
        return (-float(whole.max) if dtype.kind == "i" else 0.0), float(whole.max)
    info: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(info.min), float(info.max)


def _tally(source: Source, progress: Callable[[int, int], None] | None) -> tuple[Floats, Counts]:
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
    source: Source, progress: Callable[[int, int], None] | None, half: int
) -> Iterator[Floats]:
    size = size_of(source)
    for begin, end in blocks(source):
        with np.errstate(all="ignore"):
            yield source.read(begin, end).astype(np.float64)
        if progress is not None:
            progress(half * size + end, 2 * size)


def _number(chosen: NDArray[np.bool_], often: Counts | None) -> int:
    return int(np.count_nonzero(chosen)) if often is None else int(often[chosen].sum())
