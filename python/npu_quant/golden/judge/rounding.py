"""Whether rounding or another scale explains codes that differ (docs/golden.md 2 and 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..measure.differing import Differences, differences, distance_from_tie
from ..measure.layout import evenly
from ..operators import Model
from ..results import Ties, TieTest
from ..sources import blocks, size_of
from .verdict import explains_any, is_tie

_LOOKED_AT = 1 << 16


class Rounding:
    """Measures the differing codes of an output, some at a time, in C order."""

    def __init__(self, model: Model, output: int) -> None:
        self.model, self.output = model, output
        self.allowed = model.allowed_for(output)
        self._most_steps, self._own = model.most_steps(output), model.elements_of(output)
        self._within, self._ill = 0, 0
        self._farthest, self._index, self._value = -1.0, 0, float("nan")

    def add(self, some: Differences) -> tuple[NDArray[np.bool_], TieTest, NDArray[np.float64]]:
        """Take the next ones.

        Returns:
            Whether rounding explains them, their numbers before it, and how far these are off.
        """
        test = self.model.before_rounding(self.output, *some)
        distance = distance_from_tie(test)
        ties = is_tie(test.steps, distance, self.allowed, self._most_steps)
        self._within += int(np.count_nonzero(ties))
        self._ill += int(np.count_nonzero(explains_any(test.magnitude, self.allowed, self._own)))
        # Elements that have no such number are farther than any that has.
        order = np.where(np.isnan(distance), np.inf, distance)
        at = int(np.argmax(order)) if len(order) else 0
        if len(order) and order[at] > self._farthest:
            self._farthest, self._value = float(order[at]), float(test.value[at])
            self._index = int(some.places[at])
        return ties, test, order

    @property
    def ties(self) -> Ties:
        """How far they lie from a tie."""
        return Ties(self.allowed, self._within, self._farthest, self._index, self._value, self._ill)


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
        self._model, self._output, self._codes, self._scale = model, output, codes, scale

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return numbers ``[begin, end)``, counted in C order."""
        codes, index = self._codes.read(begin, end), np.arange(begin, end)
        return self._model.numbers(self._output, index, codes, self._scale)

    def array(self) -> NDArray[Any]:
        """Return all of them, in their shape."""
        return self.read(0, size_of(self)).reshape(self.shape)
