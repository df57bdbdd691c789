"""What one pass over two arrays measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .sources import Source, blocks, size_of
from .totals import RELATIVE_LIMITS, STEP_BINS, Totals, counter_for

__all__ = ["RELATIVE_LIMITS", "STEP_BINS", "Metrics", "Positions", "measure"]

_LEAST_SQUARES = 1e-290  # below, squares of float64 are subnormal or 0
MOST_ROW_BUCKETS, MOST_COLUMN_BUCKETS = 1 << 22, 1 << 16


@dataclass(frozen=True)
class Metrics:
    """Differences of two arrays of one dtype and shape, actual minus golden.

    Sums are in float64 over the pairs that are both finite, in an order that neither the CPU nor
    the number of threads nor the size of the blocks changes (csrc/kernels/compare.h). NaN equals
    NaN wherever both have it; -0 differs from 0 by zero steps. What float64 cannot hold (squares
    of float64 beyond 1e154 or below 1e-145) is inf or NaN.
    """

    count: int
    mismatches: int
    """Elements whose bytes differ, but for two NaN."""
    first: int | None
    """The first of them, counted in C order."""
    worst: int | None
    """The first of the greatest absolute difference; that of NaN or an infinity is the greatest."""
    finite: int
    """Pairs that are both finite: means are over these, and 0 where there are none."""
    steps: dict[str, int]
    """Finite pairs by steps between neighbouring values (codes, floats of the dtype): STEP_BINS."""
    max_steps: int
    mean_steps: float
    """Of absolute steps, over all finite pairs: ULP error for floats."""
    over_one_step: int
    bias: float
    """Mean signed difference."""
    step_bias: float
    """Mean signed step."""
    max_abs: float
    mean_abs: float
    max_rel: float
    """Of |actual - golden| / (|golden| + 1e-7): MARE; its mean is MERE."""
    mean_rel: float
    over_relative: dict[float, int]
    """Elements whose relative difference exceeds each of RELATIVE_LIMITS."""
    rmse: float
    cosine: float
    """1 where both are all zero, 0 where one is."""
    sqnr_db: float
    """20 log10(|golden| / |golden - actual|); inf where nothing differs."""
    psnr_db: float
    """20 log10(the greatest finite |golden| / rmse); inf where nothing differs."""
    saturated_actual: int
    """Elements at the greatest or least (finite) value of the dtype, or at minus the greatest,
    where symmetric codes end. 0 for bool."""
    saturated_golden: int
    sign_flips: int
    rounded_to_zero: int
    """Golden is not zero, actual is."""
    zero_signs: int
    """0 against -0."""
    nonfinite: dict[tuple[str, str], int]
    """Pairs of (actual, golden) that differ in kind: "finite", "NaN", "inf", "-inf"."""
    actual_range: tuple[float, float]
    """Least and greatest finite value; (NaN, NaN) where there is none."""
    golden_range: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON takes: numbers that are not finite are their names."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        data["over_relative"] = {str(limit): n for limit, n in self.over_relative.items()}
        data["nonfinite"] = {" vs ".join(kinds): n for kinds, n in self.nonfinite.items()}
        return {name: _plain(value) for name, value in data.items()}


@dataclass(frozen=True)
class Positions:
    """Where differences are: how many per row, a row being what the last axis holds, and column."""

    row_counts: NDArray[np.int64]
    """Per `row_bucket` rows; at most MOST_ROW_BUCKETS counts."""
    row_bucket: int
    column_counts: NDArray[np.int64]
    column_bucket: int


def measure(
    actual: Source, golden: Source, *, progress: Callable[[int, int], None] | None = None
) -> tuple[Metrics, Positions]:
    """Compare two sources of one dtype and shape in one pass, block by block.

    Args:
        actual: what is compared.
        golden: what it is compared with.
        progress: called as ``progress(done, total)``, in elements, after each block.

    Raises:
        DTypeError: there are no numbers of that dtype to compare.
    """
    dtype, size = golden.dtype, size_of(golden)
    counter = counter_for(dtype)
    columns = max(1, golden.shape[-1]) if golden.shape else 1
    row_shift = _shift(-(-size // columns), MOST_ROW_BUCKETS)
    column_shift = _shift(columns, MOST_COLUMN_BUCKETS)
    positions = Positions(
        np.zeros(((max(1, size // columns) - 1) >> row_shift) + 1, np.int64),
        1 << row_shift,
        np.zeros(((columns - 1) >> column_shift) + 1, np.int64),
        1 << column_shift,
    )
    with closing(_read(actual, golden)) as pairs:
        for begin, ours, theirs in pairs:
            _core.compare(
                counter.as_stored(ours),
                counter.as_stored(theirs),
                counter.is_nan,
                begin,
                columns,
                positions.row_counts,
                row_shift,
                positions.column_counts,
                column_shift,
                counter.counts,
                counter.sums,
            )
            if progress is not None:
                progress(begin + len(theirs), size)
    return _metrics(size, counter.totals(size)), positions


def _shift(places: int, most: int) -> int:
    """Return the least power of two that so many places are to be put together by."""
    return ((places - 1) // most).bit_length() if places > 0 else 0


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


def _metrics(count: int, t: Totals) -> Metrics:
    """Put sums into their formulas."""
    n = max(1, t.finite)
    noise = _root(t.squares, t.max_abs)
    rmse = noise / float(np.sqrt(n))
    return Metrics(
        count=count,
        mismatches=t.mismatches,
        first=t.first,
        worst=t.first if t.worst is None else t.worst,
        finite=t.finite,
        steps=dict(zip(STEP_BINS, t.bins, strict=True)),
        max_steps=t.max_steps,
        mean_steps=t.steps / n,
        over_one_step=t.bins[0] + t.bins[1] + t.bins[5] + t.bins[6],
        bias=t.difference / n,
        step_bias=t.signed_steps / n,
        max_abs=t.max_abs,
        mean_abs=t.absolute / n,
        max_rel=t.max_relative,
        mean_rel=t.relative / n,
        over_relative=dict(zip(RELATIVE_LIMITS, t.over_relative, strict=True)),
        rmse=rmse,
        cosine=_cosine(t),
        sqnr_db=_decibels(_root(t.golden_squares, _most(t.golden_range)), noise),
        psnr_db=_decibels(_most(t.golden_range), rmse),
        saturated_actual=t.saturated_actual,
        saturated_golden=t.saturated_golden,
        sign_flips=t.sign_flips,
        rounded_to_zero=t.rounded_to_zero,
        zero_signs=t.zero_signs,
        nonfinite=t.nonfinite,
        actual_range=t.actual_range,
        golden_range=t.golden_range,
    )


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


def _cosine(t: Totals) -> float:
    if t.max_abs == 0:
        return 1.0
    lengths = _root(t.actual_squares, _most(t.actual_range))
    lengths *= _root(t.golden_squares, _most(t.golden_range))
    cosine = t.products / lengths if lengths else 0.0
    return cosine if np.isnan(cosine) else min(1.0, max(-1.0, cosine))


def _decibels(signal: float, noise: float) -> float:
    """Return 20 log10(signal / noise)."""
    if noise == 0:
        return float("inf")
    with np.errstate(divide="ignore"):
        return 20 * float(np.log10(signal) - np.log10(noise))


def _plain(value: Any) -> Any:
    """Return what JSON has for a number or several."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "inf" if value > 0 else "-inf"
    return value
