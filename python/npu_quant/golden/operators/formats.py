"""What the elements of an output stand for: their values, the neighbours and ties between them.

A format is an object, so that another one is a row here and no case elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ..results import TieTest

Array = NDArray[Any]
Float64 = NDArray[np.float64]


@dataclass(frozen=True)
class Format:
    """Elements of a dtype, one code or value each."""

    carrier: np.dtype[Any]
    """The dtype of the arrays."""
    limits: tuple[float, float]
    """The least and the greatest finite value."""
    least_tie: float = 0.0
    """The smallest magnitude a tie between neighbours is taken to have."""

    def values(self, codes: Array) -> Float64:
        """Return what elements stand for."""
        with np.errstate(invalid="ignore"):
            return codes.astype(np.float64)

    def steps(self, actual: Array, golden: Array) -> Float64:
        """Count from one element to the other, in the order of values; inf if one is no number."""
        raise NotImplementedError

    def neighbours(self, codes: Array) -> tuple[Float64, Float64]:
        """Return the values before and after those of some elements; the ends are their own."""
        raise NotImplementedError

    def nearest(self, values: Float64) -> Array:
        """Return the elements nearest to some values, of two the even one."""
        return values.astype(self.carrier)

    def ties(self, codes: Array) -> tuple[Float64, Float64]:
        """Return between which ties numbers are rounded to some elements; infinite at the ends."""
        values, (below, above) = self.values(codes), self.neighbours(codes)
        low = np.where(values == self.limits[0], -np.inf, (below + values) / 2)
        return low, np.where(values == self.limits[1], np.inf, (values + above) / 2)

    def tie(self, value: Float64, actual: Array, golden: Array, *terms: Float64) -> TieTest:
        """Return the test of numbers against the midpoints of what is and what should be.

        Args:
            value: the numbers before they were rounded to this format.
            actual: the elements as they are.
            golden: the elements as they should be.
            terms: what the numbers were added up from.
        """
        with np.errstate(all="ignore"):
            middle = (self.values(actual) + self.values(golden)) / 2
        magnitude = np.maximum(largest(middle, *terms), self.least_tie)
        return TieTest(value, middle, magnitude, self.steps(actual, golden))


class Whole(Format):
    """Whole numbers, saturated at the ends."""

    def steps(self, actual: Array, golden: Array) -> Float64:
        """Count whole numbers: from 2 ** 24 on, which only int32 reaches, those float32 has."""
        a, g = self.values(actual), self.values(golden)
        step = np.maximum(1.0, np.spacing(np.fmax(np.abs(a), np.abs(g)).astype(np.float32)))
        return np.asarray(np.ceil(np.abs(a - g) / step))

    def neighbours(self, codes: Array) -> tuple[Float64, Float64]:
        """Return the numbers one less and one more."""
        values = self.values(codes)
        return np.maximum(values - 1, self.limits[0]), np.minimum(values + 1, self.limits[1])

    def nearest(self, values: Float64) -> Array:
        """Return the whole numbers nearest to some values, and the ends for those beyond."""
        return self.codes(np.rint(values))

    def codes(self, rounded: Array, low: int | None = None, nan: int = 0) -> Array:
        """Return codes of rounded numbers, which are kept: ends beyond the range, NaN is `nan`."""
        wide = np.float64 if self.carrier.itemsize > 2 else np.float32  # float64 holds int32's ends
        least = self.limits[0] if low is None else low
        clipped = np.clip(rounded.astype(wide, copy=False), wide(least), wide(self.limits[1]))
        clipped[np.isnan(clipped)] = nan
        return np.asarray(clipped.astype(self.carrier))


class Floats(Format):
    """Floats of a dtype, those of 8 bits too; 0 and -0 are one value."""

    def steps(self, actual: Array, golden: Array) -> Float64:
        """Count neighbours."""
        steps: Float64 = np.abs(ordinal(actual) - ordinal(golden)).astype(np.float64)
        steps[~(np.isfinite(self.values(actual)) & np.isfinite(self.values(golden)))] = np.inf
        return steps

    def neighbours(self, codes: Array) -> tuple[Float64, Float64]:
        """Return the next value towards either infinity."""
        greatest = ordinal(np.array(self.limits[1], self.carrier).reshape(1))[0]
        below, above = (
            self._numbered(np.clip(ordinal(codes) + step, -greatest, greatest)) for step in (-1, 1)
        )
        return below, above

    def _numbered(self, ordinals: NDArray[np.int64]) -> Float64:
        sign = np.where(ordinals < 0, 1 << (8 * self.carrier.itemsize - 1), 0)
        bits = (np.abs(ordinals) | sign).astype(f"u{self.carrier.itemsize}")
        return self.values(bits.view(self.carrier))


def format_of(dtype: Any) -> Format:
    """Return the format of an array's elements."""
    return _kept(np.dtype(dtype))


def _made(carrier: np.dtype) -> Format:
    if carrier.kind == "b":
        return Whole(carrier, (0, 1), 0.5)
    if "int" in carrier.name:  # NumPy does not count those of 4 bits among integers
        info = ml_dtypes.iinfo(carrier)  # type: ignore[no-untyped-call]
        return Whole(carrier, (info.min, info.max), 0.5)  # no tie of whole numbers is nearer to 0
    greatest = float(ml_dtypes.finfo(carrier).max)  # type: ignore[no-untyped-call]
    return Floats(carrier, (-greatest, greatest))


_kept: Callable[[np.dtype], Format] = cache(_made)


def whole(dtype: Any) -> Whole:
    """Return a format of whole numbers."""
    found = format_of(dtype)
    assert isinstance(found, Whole)
    return found


def ordinal(floats: Array) -> NDArray[np.int64]:
    """Return the number of each float in the order of its dtype's values; 0 and -0 are both 0."""
    width = floats.dtype.itemsize * 8
    bits = np.ascontiguousarray(floats).view(f"u{floats.dtype.itemsize}").astype(np.int64)
    magnitude = bits & ((1 << (width - 1)) - 1)
    return np.where(bits >> (width - 1), -magnitude, magnitude)


def largest(*terms: Float64) -> Float64:
    """Return the largest magnitude, element by element; terms that are NaN do not count."""
    result = np.abs(terms[0])
    for term in terms[1:]:
        result = np.fmax(result, np.abs(term))
    return result
