"""Whether rounding or another scale explains codes that differ (docs/golden.md 2 and 3)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..measure.differing import Differences, differences, distance_from_tie
from ..measure.layout import evenly
from ..operators import Model
from ..sources import blocks, size_of
from ..tie_results import Ties, TieTest
from .verdict import contradict, explains_any, is_tie

_LOOKED_AT = 1 << 16
_LOOKED_BESIDE, _BESIDE = 32, 32
"""Of so many ill-conditioned numbers, so many elements on each side along each axis."""


class Rounding:
    """Measures the differing codes of an output, some at a time, in C order."""

    def __init__(self, model: Model, output: int, actual: Source | None = None) -> None:
        """Take a model's output.

        Args:
            model: what the golden was computed by.
            output: which of its outputs is measured.
            actual: all of it, to look at what is beside ill-conditioned codes; None: not to look.
        """
        self.model, self.output, self._actual = model, output, actual
        self.allowed = model.allowed_for(output)
        self._most_steps, self._own = model.most_steps(output), model.elements_of(output)
        self._count, self._within, self._ill, self._contradicting = 0, 0, 0, 0
        self._farthest, self._index, self._value = -1.0, 0, float("nan")

    def add(self, some: Differences) -> tuple[NDArray[np.bool_], TieTest, NDArray[np.float64]]:
        """Take the next ones.

        Returns:
            Whether rounding explains them, their numbers before it, and how far these are off.
        """
        test = self.model.before_rounding(self.output, *some)
        distance = distance_from_tie(test)
        ties = is_tie(test.steps, distance, self.allowed, self._most_steps)
        ill = explains_any(test.magnitude, self.allowed, self._own)
        if ill.any():
            beyond = np.flatnonzero(ties & ill)
            wrong = beyond[self._contradict(some.places[beyond], some.actual[beyond], test, beyond)]
            ties[wrong] = False
            self._contradicting += len(wrong)
        self._count += len(ties)
        self._within += int(np.count_nonzero(ties))
        self._ill += int(np.count_nonzero(ill))
        # Elements that have no such number are farther than any that has.
        order = np.where(np.isnan(distance), np.inf, distance)
        at = int(np.argmax(order)) if len(order) else 0
        if len(order) and order[at] > self._farthest:
            self._farthest, self._value = float(order[at]), float(test.value[at])
            self._index = int(some.places[at])
        return ties, test, order

    def _contradict(
        self, places: NDArray[np.int64], codes: NDArray[Any], test: TieTest, at: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Say which ill-conditioned codes are not those of others with the same number."""
        value, magnitude = test.value[at], test.magnitude[at]
        wrong = contradict(value, magnitude, codes)
        if self._actual is None:
            return wrong
        numbers = value + 1j * magnitude
        _, first = np.unique(numbers, return_index=True)
        for i in first[evenly(len(first), _LOOKED_BESIDE)].tolist():
            if not wrong[i] and self._is_alone(int(places[i]), codes[i], value[i], magnitude[i]):
                wrong |= numbers == numbers[i]
        return wrong

    def _is_alone(self, place: int, code: Any, value: float, magnitude: float) -> bool:
        """Say whether an element next to a place, with the same number, has another code."""
        shape, beside = self.model.golden()[self.output].shape, list[int]()  # type: ignore[union-attr]
        for axis, n in enumerate(shape):
            step = int(np.prod(shape[axis + 1 :]))
            here = place // step % n
            near = range(max(0, here - _BESIDE), min(n, here + _BESIDE + 1))
            beside += [place + (i - here) * step for i in near if i != here]
        index = np.array([i for i in beside if i < size_of(self._actual)], np.int64)  # type: ignore[arg-type]
        with np.errstate(all="ignore"):
            values, terms = self.model.exact(self.output, index)
        same = index[(values == value) & (np.abs(terms) == magnitude)]
        return any(self._actual.read(i, i + 1)[0] != code for i in same.tolist())  # type: ignore[union-attr]

    @cached_property
    def _is_ill_everywhere(self) -> bool:
        golden = self.model.golden()[self.output]
        assert golden is not None
        with np.errstate(all="ignore"):
            _, terms = self.model.exact(self.output, evenly(golden.size, _LOOKED_AT))
        return bool(explains_any(np.abs(terms), self.allowed, self._own).all())

    @property
    def ties(self) -> Ties:
        """How far they lie from a tie."""
        farthest = self._farthest, self._index, self._value
        all_ill = 0 < self._ill == self._count and self._is_ill_everywhere
        ill = self._ill, self._contradicting, all_ill
        return Ties(self.allowed, self._within, *farthest, *ill)


def follows_scale(
    model: Model, output: int, actual: Source, golden: Source, scale: NDArray[Any]
) -> bool:
    """Say whether codes are the rounded numbers that their own scale gives.

    Looked at are all codes that differ from the golden's, and some 65,536 of the others.
    """
    size = size_of(golden)
    some = evenly(size, _LOOKED_AT)
    for begin, end in blocks(golden):
        index = some[(some >= begin) & (some < end)]
        a, g = (s.read(begin, end)[index - begin] for s in (actual, golden))
        if not _follows(model, output, Differences(index, a, g), scale):
            return False
    return all(_follows(model, output, d, scale) for d in differences(actual, golden))


def _follows(model: Model, output: int, some: Differences, scale: NDArray[Any]) -> bool:
    test = model.before_rounding(output, *some, scale=scale)
    own = model.elements_of(output)
    value = np.where(np.isnan(test.value), 0, np.clip(test.value, *own.limits))
    # The clipped |h| may be the largest term left: an ulp of it.
    with np.errstate(over="ignore"):  # a wrong scale may be as small as it likes
        ulp = np.spacing(np.fmax(np.abs(test.magnitude), np.abs(value)).astype(np.float32))
    low, high = own.ties(some.actual)
    beyond = np.maximum(low - value, value - high)
    return bool(np.all(beyond <= model.allowed_for(output) * ulp.astype(np.float64)))


class Dequantized:
    """The numbers that codes and their scales stand for: other codes may stand for the same."""

    name = ""
    dtype = np.dtype(np.float64)

    def __init__(self, model: Model, output: int, codes: Source, scale: Any) -> None:
        self.shape = codes.shape
        self.model, self.output, self._codes, self._scale = model, output, codes, scale

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return numbers ``[begin, end)``, counted in C order."""
        codes, index = self._codes.read(begin, end), np.arange(begin, end)
        return self.model.numbers(self.output, index, codes, self._scale)

    def array(self) -> NDArray[Any]:
        """Return all of them, in their shape."""
        return self.read(0, size_of(self)).reshape(self.shape)
