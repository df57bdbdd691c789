"""What the elements of arrays stand for: their values, the neighbours and ties between them.

Elements of a format are an object, so that another format is a row here and no case elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, ClassVar

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import _codes
from ..errors import DTypeError
from .results import OutputComparison
from .tie_results import TieTest

Rounding = Callable[[Any], Any]
"""Of floats, to floats of the same type."""
Float64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Elements:
    """Elements of a dtype, one code or value each."""

    carrier: np.dtype[Any]
    """The dtype of the arrays."""
    limits: tuple[float, float]
    """The least and the greatest finite value."""
    name: str = field(default="", kw_only=True)
    """What reports call it, where the dtype does not say it."""
    ties_away: bool = field(default=False, kw_only=True)
    """Whether ties go away from zero, and not to the even code."""
    least_tie: float = 0.0
    """The smallest magnitude a tie between neighbours is taken to have."""
    scale_steps: int = 1
    """How far apart two ways of computing a scale may lie: amax * (1 / 127) and 1 / (127 / amax)
    are never more than an ulp of float32 from amax / 127, for any amax."""
    step: ClassVar[str] = "ulp"
    """What a report calls what lies between neighbours."""

    @property
    def noun(self) -> str:
        """What a report calls an element: floats, masks and wide integers are no codes."""
        return "code" if self.carrier.itemsize == 1 and self.carrier.kind != "b" else "value"

    @property
    def is_even(self) -> bool:
        """Whether neighbours are everywhere equally far apart."""
        return False

    @property
    def ends(self) -> tuple[float, ...]:
        """The values that count as saturated."""
        return () if self.carrier.kind == "b" else (*self.limits, -self.limits[1])

    def values(self, codes: NDArray[Any]) -> Float64:
        """Return what elements stand for; of bools their bytes, which may be any."""
        codes = codes.view(np.uint8) if codes.dtype.kind == "b" else codes
        with np.errstate(invalid="ignore"):
            return codes.astype(np.float64)

    def wide(self, codes: NDArray[Any]) -> NDArray[np.floating]:
        """Return what elements stand for exactly, those of integers of 8 bytes, too."""
        is_long = self.carrier.kind in "iu" and self.carrier.itemsize == 8
        return codes.astype(np.longdouble) if is_long else self.values(codes)

    def steps(self, actual: NDArray[Any], golden: NDArray[Any]) -> Float64:
        """Count from one element to the other, in the order of values; inf if one is no number."""
        steps: Float64 = np.abs(self.places(actual) - self.places(golden)).astype(np.float64)
        steps[~(np.isfinite(self.values(actual)) & np.isfinite(self.values(golden)))] = np.inf
        return steps

    def places(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of each element in the order of values; -0 has that of 0."""
        return ordinal(codes)

    def neighbours(self, codes: NDArray[Any]) -> tuple[Float64, Float64]:
        """Return the values before and after those of some elements; the ends are their own."""
        raise NotImplementedError

    def nearest(self, values: Float64) -> NDArray[Any]:
        """Return the elements nearest to some values, of two the even one."""
        return values.astype(self.carrier)

    def ties(self, codes: NDArray[Any]) -> tuple[Float64, Float64]:
        """Return between which ties numbers are rounded to some elements; infinite at the ends."""
        values, (below, above) = self.values(codes), self.neighbours(codes)
        with np.errstate(all="ignore"):  # of an infinity and the greatest float beside it
            low, high = (below + values) / 2, (values + above) / 2
        low = np.where(values == self.limits[0], -np.inf, low)
        return low, np.where(values == self.limits[1], np.inf, high)

    def tie(
        self, value: Float64, actual: NDArray[Any], golden: NDArray[Any], *terms: Float64
    ) -> TieTest:
        """Return the test of numbers against the tie at which elements begin to be what they are.

        That is the one between an actual element and its neighbour on the golden one's side.

        Args:
            value: the numbers before they were rounded to this format.
            actual: the elements as they are.
            golden: the elements as they should be.
            terms: what the numbers were added up from.
        """
        steps, (low, high) = self.steps(actual, golden), self.ties(actual)
        ours, theirs = self.values(actual), self.values(golden)
        with np.errstate(all="ignore"):
            border = np.where(theirs > ours, high, low)
            tie = np.where((steps > 1) & (steps < np.inf), border, (ours + theirs) / 2)
        magnitude = np.maximum(largest(tie, *terms), self.least_tie)
        return TieTest(value, tie, magnitude, steps)

    def rounding(self, to_whole: Rounding) -> Rounding:
        """Return the rounding to this format that is a given one of whole numbers."""
        return to_whole

    def codes(self, rounded: NDArray[Any], low: float | None = None, nan: int = 0) -> NDArray[Any]:
        """Return the elements that rounded numbers are, the ends for those beyond.

        Args:
            rounded: numbers, which are kept.
            low: the least of them instead of this format's; -inf: those beyond become infinite.
            nan: what a NaN becomes.
        """
        raise NotImplementedError


class Whole(Elements):
    """Whole numbers, saturated at the ends."""

    step = "steps"
    is_even = True

    def steps(self, actual: NDArray[Any], golden: NDArray[Any]) -> Float64:
        """Count whole numbers: from 2 ** 24 on, which only int32 reaches, those float32 has."""
        a, g = self.values(actual), self.values(golden)
        step = np.maximum(1.0, np.spacing(np.fmax(np.abs(a), np.abs(g)).astype(np.float32)))
        return np.asarray(np.ceil(np.abs(a - g) / step))

    def neighbours(self, codes: NDArray[Any]) -> tuple[Float64, Float64]:
        """Return the numbers one less and one more."""
        values = self.values(codes)
        return np.maximum(values - 1, self.limits[0]), np.minimum(values + 1, self.limits[1])

    def nearest(self, values: Float64) -> NDArray[Any]:
        """Return the whole numbers nearest to some values, and the ends for those beyond."""
        return self.codes(np.rint(values))

    def codes(self, rounded: NDArray[Any], low: float | None = None, nan: int = 0) -> NDArray[Any]:
        """Return the whole numbers that rounded numbers are, the ends for those beyond."""
        wide = np.float64 if self.carrier.itemsize > 2 else np.float32  # float64 holds int32's ends
        least = self.limits[0] if low is None else low
        clipped = np.clip(rounded.astype(wide, copy=False), wide(least), wide(self.limits[1]))
        clipped[np.isnan(clipped)] = nan
        return np.asarray(clipped.astype(self.carrier))


class Floats(Elements):
    """Floats of a dtype; 0 and -0 are one value."""

    def neighbours(self, codes: NDArray[Any]) -> tuple[Float64, Float64]:
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


@dataclass(frozen=True, eq=False)
class Small(Elements):
    """Floats of up to 8 bits, by a table: neighbours are so by value, whatever their codes are."""

    table: Float64 = field(kw_only=True)
    """What each byte stands for."""
    step = "steps"

    def tie(
        self, value: Float64, actual: NDArray[Any], golden: NDArray[Any], *terms: Float64
    ) -> TieTest:
        """Return the test of numbers against ties; between zeros of both signs it is 0."""
        test = super().tie(value, actual, golden, *terms)
        zeros = (test.steps == 0) & (actual.view(np.uint8) != golden.view(np.uint8))
        test.value[zeros], test.steps[zeros] = 0, 1
        return test

    def rounding(self, to_whole: Rounding) -> Rounding:
        """Return the same rounding in the steps that this format has at a number."""
        if self.ties_away and to_whole is np.rint:
            return self.rounding(half_away)
        if to_whole not in self._roundings:
            self._roundings[to_whole] = lambda q: self._in_steps(q, to_whole)
        return self._roundings[to_whole]

    def _in_steps(self, q: NDArray[np.float32], to_whole: Rounding) -> NDArray[np.float32]:
        # A power of two each: both operations are exact.
        step = self._step_at[(np.ascontiguousarray(q).view(np.uint32) >> 23) & 0xFF]
        return np.asarray(to_whole(q / step) * step)

    @cached_property
    def _roundings(self) -> dict[Rounding, Rounding]:
        return {}

    @cached_property
    def _step_at(self) -> NDArray[np.float32]:
        """The distance between neighbours of numbers, by the exponents of float32."""
        positive = self._ordered[0][self._ordered[0] >= 0]
        gaps = np.diff(positive)
        begins = 2.0 ** np.arange(-127, 129)
        places = np.searchsorted(positive, begins, "right") - 1
        steps = gaps[np.minimum(places, len(gaps) - 1)]
        # Beyond the last gap that begins with a power of two, as if there were more of them.
        steps = np.where(places < len(gaps), steps, 2 * steps)
        return steps.astype(np.float32)

    def codes(self, rounded: NDArray[Any], low: float | None = None, nan: int = 0) -> NDArray[Any]:
        """Return the codes that rounded numbers are; all are numbers of float16, too."""
        with np.errstate(over="ignore"):
            halves = rounded.astype(np.float16)
        own = self._codes_of_halves[int(low == -np.inf)]
        return np.asarray(own[halves.view(np.uint16)].view(self.carrier))

    @cached_property
    def _codes_of_halves(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """The codes of all float16, saturated and not."""
        with np.errstate(invalid="ignore"):
            numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
        saturated = self.nearest(numbers).view(np.uint8)
        nan = np.append(np.flatnonzero(np.isnan(self.table)), 0)[0]  # float4 has none
        infinite = np.append(np.flatnonzero(self.table == np.inf), nan)[0]
        beyond = np.where(np.abs(numbers) > self.limits[1], infinite | saturated & 128, saturated)
        return saturated, np.where(np.isnan(numbers), nan, beyond).astype(np.uint8)

    def values(self, codes: NDArray[Any]) -> Float64:
        """Return what codes stand for."""
        return np.asarray(self.table[codes.view(np.uint8)], np.float64)

    @cached_property
    def _ordered(self) -> tuple[Float64, NDArray[np.uint8]]:
        """All finite values, from the least, and the first code of each."""
        finite = np.flatnonzero(np.isfinite(self.table)).astype(np.uint8)
        values, first = np.unique(self.table[finite], return_index=True)
        return values, finite[first]

    def places(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of each code in the order of values."""
        return self._places[codes.view(np.uint8)]

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """The number of each byte."""
        return np.searchsorted(self._ordered[0], self.table)

    def neighbours(self, codes: NDArray[Any]) -> tuple[Float64, Float64]:
        """Return the next finite value towards either infinity."""
        ordered, places = self._ordered[0], self.places(codes)
        below, above = (np.clip(places + step, 0, len(ordered) - 1) for step in (-1, 1))
        return ordered[below], ordered[above]

    def nearest(self, values: Float64) -> NDArray[Any]:
        """Return the codes nearest to some values, the ends for those beyond, 0 for NaN."""
        mode = "round" if self.ties_away else "rint"
        return _codes.nearest(values, self.table, mode).view(self.carrier)


def elements_of(dtype: Any) -> Elements:
    """Return what an array's elements stand for: by its dtype, or by a name in FORMATS.

    Raises:
        DTypeError: there are no numbers of that dtype to compare.
    """
    return FORMATS[dtype] if isinstance(dtype, str) and dtype in FORMATS else _kept(np.dtype(dtype))


def elements_of_output(output: OutputComparison) -> Elements:
    """Return what an output's elements stand for, which its dtype need not say."""
    return elements_of(output.format or output.dtype)


_REMEDIES = {
    "c": "Compare its parts, .real and .imag.",
    "O": "Convert it, e.g. with .astype(np.float64).",
    "f": "Convert it with .astype(np.float64).",
    "M": "Compare .view(np.int64).",
    "m": "Compare .view(np.int64).",
}
_OF_BYTES = {1: "ml_dtypes.float8_e4m3fn", 2: "ml_dtypes.bfloat16"}


def _made(dtype: np.dtype) -> Elements:
    carrier = dtype.newbyteorder("=")
    is_number = carrier.kind in "biuf" or dtype.type.__module__ == "ml_dtypes"
    if not is_number or carrier.itemsize > 8 or "complex" in carrier.name:
        what = "expected bool, integers or floats of 1, 2, 4 or 8 bytes."
        raise DTypeError(f"the arrays have dtype {dtype}, {what} {remedy_of(dtype)}".rstrip())
    if carrier.kind == "b":
        return Whole(carrier, (0.0, 1.0), 0.5)
    if "int" in carrier.name:  # NumPy does not count those of 4 bits among integers
        info = ml_dtypes.iinfo(carrier)  # type: ignore[no-untyped-call]
        return Whole(carrier, (float(info.min), float(info.max)), 0.5)  # its ties are .5 or more
    if carrier.itemsize == 1:
        with np.errstate(invalid="ignore"):
            return _small(carrier, _BYTES.view(carrier).astype(np.float64))
    greatest = float(ml_dtypes.finfo(carrier).max)  # type: ignore[no-untyped-call]
    return Floats(carrier, (-greatest, greatest))


_kept: Callable[[np.dtype], Elements] = cache(_made)
_BYTES = np.arange(256, dtype=np.uint8)


def remedy_of(dtype: np.dtype, array: str = "") -> str:
    """Return what to do with an array of a dtype without numbers; "" if unknown."""
    if dtype.type is np.void and dtype.fields is None and dtype.itemsize in _OF_BYTES:
        return f"If it holds that type: {array}.view({_OF_BYTES[dtype.itemsize]})."
    return _REMEDIES.get(dtype.kind, "")


def _small(carrier: np.dtype, table: Float64) -> Small:
    finite = table[np.isfinite(table)]
    ends = float(finite.min()), float(finite.max())
    steps = int(ends[0] <= 0)  # e8m0 has powers of two only, in which no formula may differ
    return Small(carrier, ends, scale_steps=steps, table=table)


def _named(name: str, *, ties_away: bool = False, stored: str = "") -> Elements:
    """Elements of a named format in bytes; of float4 the upper half of a byte does not count."""
    table = np.resize(_codes.values_of(stored or name).astype(np.float64), 256)
    own = _small(np.dtype(np.uint8), table)
    return dataclasses.replace(own, name=name, ties_away=ties_away)


FORMATS: dict[str, Elements] = {
    "hifloat8": _named("hifloat8", ties_away=True),
    "float4_e2m1": _named("float4_e2m1"),
    "float4_e1m2": _named("float4_e1m2"),
    "float8_e8m0": _named("float8_e8m0", stored="float8_e8m0fnu"),
    "int4": Whole(np.dtype(np.int8), (-8.0, 7.0), 0.5, name="int4"),
}
"""What no dtype of arrays says: bytes of HiFloat8 and E8M0; int4 and float4, an element each."""


def half_away(q: Any) -> Any:
    """Round to nearest whole numbers, ties away from zero; q - trunc(q) is exact."""
    whole = np.trunc(q)
    return np.asarray(whole + np.copysign(np.abs(q - whole) >= np.float32(0.5), q), q.dtype)


def whole(dtype: Any) -> Whole:
    """Return elements that are whole numbers."""
    found = elements_of(dtype)
    assert isinstance(found, Whole)
    return found


def ordinal(floats: NDArray[Any]) -> NDArray[np.int64]:
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
