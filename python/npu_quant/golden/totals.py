"""What the comparison's kernels count, and how it adds up to totals."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DTypeError

STEP_BINS = ("<=-3", "-2", "-1", "0", "+1", "+2", ">=3")
RELATIVE_LIMITS = (1e-2, 5e-3, 1e-3, 1e-4)
RELATIVE_FLOOR = 1e-7
KINDS = ("finite", "NaN", "inf", "-inf")

_NONE = (1 << 64) - 1
_CODES = 256
_NUMBERS = [
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
]


@dataclass(frozen=True)
class Totals:
    """Counts, sums and extremes; sums over the pairs that are both finite."""

    mismatches: int
    first: int | None
    worst: int | None
    """None where there is no mismatch, or only 0 against -0."""
    finite: int
    bins: tuple[int, ...]
    """As STEP_BINS."""
    max_steps: int
    over_relative: tuple[int, ...]
    saturated_actual: int
    saturated_golden: int
    sign_flips: int
    rounded_to_zero: int
    zero_signs: int
    nonfinite: dict[tuple[str, str], int]
    max_abs: float
    max_relative: float
    actual_range: tuple[float, float]
    golden_range: tuple[float, float]
    absolute: float
    squares: float
    relative: float
    difference: float
    steps: float
    signed_steps: float
    actual_squares: float
    golden_squares: float
    products: float


class Counter:
    """What ``_core.compare`` counts in, and how it takes blocks."""

    is_nan: NDArray[np.bool_] | None = None
    """Of each code of one byte."""
    counts: NDArray[np.uint64]
    sums: NDArray[np.float64] | None = None

    def as_stored(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return a block as the kernel takes it."""
        raise NotImplementedError

    def totals(self, count: int) -> Totals:
        """Return the totals of the `count` elements of all blocks."""
        raise NotImplementedError


_REMEDIES = {
    "c": "Compare its parts, .real and .imag.",
    "O": "Convert it, e.g. with .astype(np.float64).",
    "f": "Convert it with .astype(np.float64).",
    "M": "Compare .view(np.int64).",
    "m": "Compare .view(np.int64).",
}
_OF_BYTES = {1: "ml_dtypes.float8_e4m3fn", 2: "ml_dtypes.bfloat16"}


def counter_for(dtype: np.dtype) -> Counter:
    """Return the counter for arrays of a dtype, or raise DTypeError."""
    is_number = dtype.kind in "biuf" or dtype.type.__module__ == "ml_dtypes"
    if is_number and dtype.itemsize == 1:
        return CodeCounter(dtype)
    if is_number and dtype.newbyteorder("=").name in _NUMBERS:
        return NumberCounter(dtype)
    remedy = _REMEDIES.get(dtype.kind, "")
    if dtype.type is np.void and dtype.fields is None and dtype.itemsize in _OF_BYTES:
        remedy = f"If it holds that type: .view({_OF_BYTES[dtype.itemsize]})."
    raise DTypeError(
        f"compare: the arrays have dtype {dtype}, expected bool, integers or floats of 1, 2, 4 or "
        f"8 bytes. {remedy}".rstrip()
    )


class CodeCounter(Counter):
    """Of types of one byte: how often each pair of codes occurs, from which all else follows."""

    def __init__(self, dtype: np.dtype) -> None:
        codes = np.arange(_CODES, dtype=np.uint8).view(dtype)
        with np.errstate(invalid="ignore"):
            self.values: NDArray[np.float64] = codes.astype(np.float64)
        self.is_nan = np.isnan(self.values)
        self.counts = np.zeros(2 * _CODES * _CODES, np.uint64)
        self.counts[_CODES * _CODES :] = _NONE
        finite = self.values[np.isfinite(self.values)]
        # Neighbouring values are a step apart; -0 and 0 are the same.
        self._ranks = np.searchsorted(np.unique(finite), self.values)
        self._limits = {finite.min(), finite.max(), -finite.max()} if dtype.kind != "b" else set()

    def as_stored(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of a block."""
        return np.asarray(block).view(np.uint8)

    def totals(self, count: int) -> Totals:
        """Return the totals of all pairs that were counted."""
        joint, firsts = self.counts.reshape(2, _CODES, _CODES)
        actual, golden = np.nonzero(joint)
        return self._totals(
            actual, golden, joint[actual, golden].astype(np.int64), firsts[actual, golden]
        )

    def _totals(
        self,
        actual: NDArray[np.intp],
        golden: NDArray[np.intp],
        n: NDArray[np.int64],
        firsts: NDArray[np.uint64],
    ) -> Totals:
        """Add up pairs of codes that occur n times each."""
        a, g = self.values[actual], self.values[golden]
        kinds = self._kinds(a), self._kinds(g)
        differ = (actual != golden) & ~(np.isnan(a) & np.isnan(g))
        finite = (kinds[0] == 0) & (kinds[1] == 0)
        with np.errstate(invalid="ignore"):
            size = np.where(finite, np.abs(a - g), np.inf)[differ]
        first = firsts[differ]
        worst = first[size == size.max()].min() if differ.any() else None
        nonfinite = {
            (KINDS[i], KINDS[j]): int(n[(kinds[0] == i) & (kinds[1] == j)].sum())
            for i in range(4)
            for j in range(4)
            if i != j
        }
        return Totals(
            mismatches=int(n[differ].sum()),
            first=int(first.min()) if differ.any() else None,
            worst=None if worst is None else int(worst),
            nonfinite={pair: times for pair, times in nonfinite.items() if times},
            saturated_actual=int(n[self._is_limit(a)].sum()),
            saturated_golden=int(n[self._is_limit(g)].sum()),
            actual_range=_range(a[kinds[0] == 0]),
            golden_range=_range(g[kinds[1] == 0]),
            **self._of_finite(actual[finite], golden[finite], n[finite]),
        )

    def _of_finite(
        self, actual: NDArray[np.intp], golden: NDArray[np.intp], n: NDArray[np.int64]
    ) -> dict[str, Any]:
        a, g = self.values[actual], self.values[golden]
        difference = a - g
        relative = np.abs(difference) / (np.abs(g) + RELATIVE_FLOOR)
        steps = self._ranks[actual] - self._ranks[golden]

        def count(which: NDArray[np.bool_]) -> int:
            return int(n[which].sum())

        def total(values: NDArray[np.float64]) -> float:
            return fsum(n * values)

        return {
            "finite": int(n.sum()),
            "bins": tuple(count(np.clip(steps, -3, 3) == step) for step in range(-3, 4)),
            "max_steps": int(np.abs(steps).max(initial=0)),
            "over_relative": tuple(count(relative > limit) for limit in RELATIVE_LIMITS),
            "sign_flips": count(a * g < 0),
            "rounded_to_zero": count((a == 0) & (g != 0)),
            "zero_signs": count((a == 0) & (g == 0) & (np.signbit(a) != np.signbit(g))),
            "max_abs": float(np.abs(difference).max(initial=0)),
            "max_relative": float(relative.max(initial=0)),
            "absolute": total(np.abs(difference)),
            "squares": total(difference * difference),
            "relative": total(relative),
            "difference": total(difference),
            "steps": float((n * np.abs(steps)).sum()),
            "signed_steps": float((n * steps).sum()),
            "actual_squares": total(a * a),
            "golden_squares": total(g * g),
            "products": total(a * g),
        }

    @staticmethod
    def _kinds(values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return indices into KINDS."""
        kinds = np.where(np.isnan(values), 1, 0)
        kinds[values == np.inf] = 2
        kinds[values == -np.inf] = 3
        return kinds

    def _is_limit(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.isin(values, list(self._limits))


class NumberCounter(Counter):
    """Of types of 2, 4 and 8 bytes: running totals (csrc/kernels/compare.h)."""

    def __init__(self, dtype: np.dtype) -> None:
        self._dtype = dtype.newbyteorder("=")
        self.counts = np.zeros(36, np.uint64)
        self.counts[32:34] = _NONE
        self._sums = self.sums = np.zeros(16)
        self._sums[12:14] = np.inf
        self._sums[14:] = -np.inf

    def as_stored(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return a block in this machine's order of bytes."""
        return np.asarray(block, self._dtype)

    def totals(self, count: int) -> Totals:
        """Return the totals so far."""
        counts = [int(n) for n in self.counts]
        sums = [float(x) for x in self._sums[:9]]
        equal, max_abs, max_relative, *bounds = (float(x) for x in self._sums[9:])
        below, above = counts[1:4], counts[4:7]
        kinds = {
            (a, g): counts[16 + 4 * i + j] for i, a in enumerate(KINDS) for j, g in enumerate(KINDS)
        }
        finite = count - sum(kinds.values())
        bins = (*reversed(below), finite - sum(below) - sum(above), *above)
        first, worst, _, max_steps = counts[32:]
        return Totals(
            mismatches=counts[0],
            first=None if first == _NONE else first,
            worst=None if worst == _NONE else worst,
            finite=finite,
            bins=bins,
            max_steps=max_steps,
            over_relative=tuple(counts[7:11]),
            saturated_actual=counts[11],
            saturated_golden=counts[12],
            sign_flips=counts[13],
            rounded_to_zero=counts[14],
            zero_signs=counts[15],
            nonfinite={(a, g): n for (a, g), n in kinds.items() if n and a != g},
            max_abs=max_abs,
            max_relative=max_relative,
            actual_range=_range(np.array(bounds[::2])),
            golden_range=_range(np.array(bounds[1::2])),
            absolute=sums[0],
            squares=sums[1],
            relative=sums[2],
            difference=sums[3],
            steps=sums[4],
            signed_steps=sums[5],
            actual_squares=equal + sums[6],
            golden_squares=equal + sums[7],
            products=equal + sums[8],
        )


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least and the greatest of finite values."""
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return float("nan"), float("nan")
    return float(finite.min()) + 0.0, float(finite.max()) + 0.0
