"""What one pass over two arrays measures."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._decibels import decibels
from ..._kinds import Progress
from ...arrays import Source
from ..elements import Elements, elements_of
from ..results import Metrics
from ..sources import blocks, size_of
from .layout import Layout, step_of

STEP_BINS = ("<=-3", "-2", "-1", "0", "+1", "+2", ">=3")
RELATIVE_LIMITS = (1e-2, 5e-3, 1e-3, 1e-4)
RELATIVE_FLOOR = 1e-7
KINDS = ("finite", "NaN", "inf", "-inf")
MOST_ROW_BUCKETS, MOST_COLUMN_BUCKETS = 1 << 22, 1 << 16

_LEAST_SQUARES = 1e-290  # below, squares of float64 are subnormal or 0
_NONE = (1 << 64) - 1
_CODES = 256


@dataclass(frozen=True)
class Positions:
    """Where differences are: how many per row, a row being what the last axis holds, and column."""

    row_counts: NDArray[np.int64]
    """Per `row_bucket` rows; at most MOST_ROW_BUCKETS counts."""
    row_bucket: int
    column_counts: NDArray[np.int64]
    column_bucket: int


def measure(
    actual: Source,
    golden: Source,
    own: Elements | None = None,
    *,
    progress: Progress | None = None,
) -> tuple[Metrics, Positions]:
    """Compare two sources of one dtype and shape in one pass, block by block.

    Args:
        actual: what is compared.
        golden: what it is compared with.
        own: what the elements stand for; None: what their dtype says.
        progress: called as ``progress(done, total)``, in elements, after each block.

    Raises:
        DTypeError: there are no numbers of that dtype to compare.
    """
    size, columns = size_of(golden), max(1, Layout.of(golden.shape).columns)
    own = elements_of(golden.dtype) if own is None else own
    counter = _Pairs(own) if own.carrier.itemsize == 1 else _Totals(own)
    row_bucket = step_of(-(-size // columns), MOST_ROW_BUCKETS)
    column_bucket = step_of(columns, MOST_COLUMN_BUCKETS)
    positions = Positions(
        np.zeros((max(1, size // columns) - 1) // row_bucket + 1, np.int64),
        row_bucket,
        np.zeros((columns - 1) // column_bucket + 1, np.int64),
        column_bucket,
    )
    with closing(_read(actual, golden)) as pairs:
        for begin, ours, theirs in pairs:
            _core.compare(
                counter.as_stored(ours),
                counter.as_stored(theirs),
                counter.is_nan,
                positions.row_counts,
                positions.column_counts,
                counter.counts,
                counter.sums,
                begin,
                columns,
                row_bucket.bit_length() - 1,
                column_bucket.bit_length() - 1,
            )
            if progress is not None:
                progress(begin + len(theirs), size)
    return _metrics(size, *counter.totals()), positions


def _read(
    actual: Source, golden: Source
) -> Generator[tuple[int, NDArray[Any], NDArray[Any]], None, None]:
    """Read both block by block, each while its predecessor is worked on."""
    ranges = blocks(golden)

    def read(begin: int, end: int) -> tuple[int, NDArray[Any], NDArray[Any]]:
        return begin, actual.read(begin, end), golden.read(begin, end)

    if len(ranges) < 2:
        yield from (read(*r) for r in ranges)
        return
    with ThreadPoolExecutor(1, "npu_quant-read") as reader:
        coming = reader.submit(read, *ranges[0])
        for r in ranges[1:]:
            ready, coming = coming.result(), reader.submit(read, *r)
            yield ready
        yield coming.result()


class _Totals:
    """Types of 2, 4 and 8 bytes: the kernel's running totals (csrc/kernels/compare/compare.h)."""

    is_nan: NDArray[np.bool_] | None = None
    """Of each code of one byte."""
    sums: NDArray[np.float64] | None

    def __init__(self, own: Elements) -> None:
        self._dtype = own.carrier
        self.counts = np.zeros(36, np.uint64)
        self.counts[32:34] = _NONE
        self._totals = self.sums = np.zeros(16)
        self._totals[12:14] = np.inf
        self._totals[14:] = -np.inf

    def as_stored(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return a block as the kernel takes it: in this machine's order of bytes."""
        return np.asarray(block, self._dtype)

    def totals(self) -> tuple[list[int], list[float]]:
        """Return the counts, and the sums and extremes, in the order the kernel has them."""
        return [int(n) for n in self.counts], [float(x) for x in self._totals]


class _Pairs:
    """Types of one byte: how often each pair of codes occurs, from which all else follows."""

    sums = None

    def __init__(self, own: Elements) -> None:
        self.values = own.values(np.arange(_CODES, dtype=np.uint8).view(own.carrier))
        self.is_nan = np.isnan(self.values)
        self.counts = np.zeros(2 * _CODES * _CODES, np.uint64)
        self.counts[_CODES * _CODES :] = _NONE
        # Neighbouring values are a step apart; -0 and 0 are the same.
        finite = self.values[np.isfinite(self.values)]
        self._ranks = np.searchsorted(np.unique(finite), self.values)
        self._ends = own.ends
        self._kinds = np.where(self.is_nan, 1, 0)
        self._kinds[self.values == np.inf] = 2
        self._kinds[self.values == -np.inf] = 3

    def as_stored(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of a block."""
        return np.asarray(block).view(np.uint8)

    def totals(self) -> tuple[list[int], list[float]]:
        """Return what the kernel of other types counts and sums up, in the same order."""
        joint, firsts = self.counts.reshape(2, _CODES, _CODES)
        actual, golden = np.nonzero(joint)
        n = joint[actual, golden].astype(np.int64)
        a, g = self.values[actual], self.values[golden]
        kinds = 4 * self._kinds[actual] + self._kinds[golden]
        differ = (actual != golden) & ~(np.isnan(a) & np.isnan(g))
        with np.errstate(invalid="ignore"):
            size = np.where(kinds == 0, np.abs(a - g), np.inf)[differ]
        first = firsts[actual, golden][differ]
        places = [first.min(), first[size == size.max()].min()] if differ.any() else [_NONE] * 2
        finite = kinds == 0
        counts, sums, most_steps = self._of_finite(actual[finite], golden[finite], n[finite])
        limits = [int(n[np.isin(side, self._ends)].sum()) for side in (a, g)]
        pairs = np.bincount(kinds, n, 16).astype(np.int64) * (np.arange(16) > 0)
        ours, theirs = a[self._kinds[actual] == 0], g[self._kinds[golden] == 0]
        least = (ours.min(initial=np.inf), theirs.min(initial=np.inf))
        greatest = (ours.max(initial=-np.inf), theirs.max(initial=-np.inf))
        counts = [int(n[differ].sum()), *counts[:10], *limits, *counts[10:], *pairs.tolist()]
        return (
            [*counts, *map(int, places), 0, most_steps],
            [*sums, *map(float, (*least, *greatest))],
        )

    def _of_finite(
        self, actual: NDArray[np.intp], golden: NDArray[np.intp], n: NDArray[np.int64]
    ) -> tuple[list[int], list[float], int]:
        a, g = self.values[actual], self.values[golden]
        difference, steps = a - g, self._ranks[actual] - self._ranks[golden]
        relative = np.abs(difference) / (np.abs(g) + RELATIVE_FLOOR)
        zeros = (a == 0) & (g == 0)
        counted = [np.clip(steps, -3, 3) == step for step in (-1, -2, -3, 1, 2, 3)]
        counted += [relative > limit for limit in RELATIVE_LIMITS]
        counted += [a * g < 0, (a == 0) & (g != 0), zeros & (np.signbit(a) != np.signbit(g))]
        summed = [np.abs(difference), difference * difference, relative, difference]
        summed += [np.abs(steps), steps, a * a, g * g, a * g]
        return (
            [int(n[which].sum()) for which in counted],
            [
                *(fsum(n * values) for values in summed),
                0.0,
                float(np.abs(difference).max(initial=0)),
                float(relative.max(initial=0)),
            ],
            int(np.abs(steps).max(initial=0)),
        )


def _metrics(count: int, counts: list[int], sums: list[float]) -> Metrics:
    """Put counts and sums into their formulas."""
    below, above, kinds = counts[1:4], counts[4:7], counts[16:32]
    first, worst = (None if place == _NONE else place for place in counts[32:34])
    finite = count - sum(kinds)
    equal = finite - sum(below + above)
    actual_range, golden_range = _range(*sums[12::2]), _range(*sums[13::2])
    return Metrics(
        count=count,
        mismatches=counts[0],
        first=first,
        worst=first if worst is None else worst,
        finite=finite,
        steps=dict(zip(STEP_BINS, (*below[::-1], equal, *above), strict=True)),
        max_steps=counts[35],
        over_one_step=sum(below[1:] + above[1:]),
        over_relative=dict(zip(RELATIVE_LIMITS, counts[7:11], strict=True)),
        saturated_actual=counts[11],
        saturated_golden=counts[12],
        sign_flips=counts[13],
        rounded_to_zero=counts[14],
        zero_signs=counts[15],
        nonfinite={(KINDS[i // 4], KINDS[i % 4]): n for i, n in enumerate(kinds) if n and i % 5},
        actual_range=actual_range,
        golden_range=golden_range,
        **_of_sums(max(1, finite), sums, _most(actual_range), _most(golden_range)),
    )


def _of_sums(n: int, sums: list[float], actual_most: float, golden_most: float) -> dict[str, float]:
    """Return means and what is made of squares, over n pairs, with each side's greatest number."""
    absolute, squares, relative, difference, steps, signed_steps, *lengths, equal = sums[:10]
    actual_squares, golden_squares, products = (equal + length for length in lengths)
    max_abs, max_rel = sums[10:12]
    noise, signal = _root(squares, max_abs), _root(golden_squares, golden_most)
    rmse = noise / float(np.sqrt(n))
    sizes = _root(actual_squares, actual_most) * signal
    return {
        "mean_steps": steps / n,
        "bias": difference / n,
        "step_bias": signed_steps / n,
        "max_abs": max_abs,
        "mean_abs": absolute / n,
        "max_rel": max_rel,
        "mean_rel": relative / n,
        "rmse": rmse,
        "cosine": 1.0 if max_abs == 0 else _cosine(products, sizes),
        "sqnr_db": float(decibels(signal, noise)),
        "psnr_db": float(decibels(golden_most, rmse)),
    }


def _range(least: float, greatest: float) -> tuple[float, float]:
    """Return the least and the greatest of finite values; (NaN, NaN) where there are none."""
    return (least + 0.0, greatest + 0.0) if least <= greatest else (float("nan"),) * 2


def _root(squares: float, most: float) -> float:
    """Return the root of a sum of squares, of which the greatest is that of `most`.

    NaN where float64 cannot hold it, which only float64 itself brings about.
    """
    if not squares < float("inf") or (squares < _LEAST_SQUARES and most > 0):
        return float("nan")
    return float(np.sqrt(squares))


def _most(bounds: tuple[float, float]) -> float:
    """Return the greatest magnitude in a range; 0 where it is none."""
    return 0.0 if np.isnan(bounds[0]) else max(abs(bound) for bound in bounds)


def _cosine(products: float, lengths: float) -> float:
    cosine = products / lengths if lengths else 0.0
    return cosine if np.isnan(cosine) else min(1.0, max(-1.0, cosine))
