"""A part of two arrays as a cause is judged by it: what is wrong there beyond ordinary rounding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ..elements import Float64, Floats
from ..measure.differing import Differences
from ..measure.parts import Part
from ..operators import Model
from ..operators.scale_grid import Grid, list_grid
from ..tie_results import TieTest
from .rounding import Rounding

Mask = NDArray[np.bool_]

LEFT = 20
"""One in so many differences may be left."""
FEW, FEW_CODES, FEW_FLOATS = 4, 32, 8
"""Fewer differing elements could look like anything; floats are less alike by chance."""
_FLOAT_STEPS = 2
_FIRST = 64


class Guess(NamedTuple):
    """What may have happened."""

    text: str
    values: Float64
    """What it would give of a part."""
    known: Any = True
    """Where it gives any."""
    has_many: bool = False
    """Whether all elements of the part bear it out, not only those that are wrong."""


@dataclass(frozen=True)
class Look:
    """A part of an output that differs."""

    part: Part
    model: Model | None
    """What the golden was computed by, if it was."""
    output: int
    """Which of its outputs it is."""
    has_ties: bool
    """Whether it is known of each difference if rounding explains it."""
    axes: tuple[str, str] = ("row", "column")
    """What a row and a column are."""

    def alike(self, actual: Float64, expected: Float64) -> Mask:
        """Say which values are what is expected; a float may be next to it."""
        same: Mask = (actual == expected) | ((actual != actual) & (expected != expected))
        if isinstance(self.part.own, Floats):
            info = ml_dtypes.finfo(self.part.own.carrier)  # type: ignore[no-untyped-call]
            allowed = _FLOAT_STEPS * float(info.eps) * np.abs(expected)
            if self.rounded is not None and self.rounded.shape == np.shape(expected):
                allowed = np.maximum(allowed, self.rounded)
            apart = np.abs(actual - expected)
            same |= (apart <= allowed) & np.isfinite(apart)
        return same

    @cached_property
    def rounded(self) -> Float64 | None:
        """How far the roundings of a formula may move a float; None where that is not known."""
        if self.model is None or not self.has_ties or not isinstance(self.part.own, Floats):
            return None
        if self.model.codes_behind(self.output, self.part.index) is not None:
            return None  # they move a code
        magnitude = self._test.magnitude.astype(np.float32)
        allowed = self.model.allowed_for(self.output) * np.spacing(magnitude).astype(np.float64)
        return np.nan_to_num(allowed).reshape(self.part.index.shape)

    @cached_property
    def differs(self) -> Mask:
        """Which elements differ."""
        differs: Mask = ~self.alike(*self.part.values)
        return differs

    @cached_property
    def wrong(self) -> Mask:
        """Which elements differ by more than rounding explains.

        Where no tie is known, one step may be rounding, if not nearly all that differ are so.
        """
        actual, golden = self.part.codes
        differs: Mask = self.differs.copy()
        if not self.has_ties:
            far: Mask = differs & (self.part.own.steps(actual, golden) > 1)
            is_few = np.count_nonzero(far) * LEFT < np.count_nonzero(differs)
            return differs if is_few or isinstance(self.part.own, Floats) else far
        if self.model is not None:
            some = Differences(self.part.index[differs], actual[differs], golden[differs])
            differs[differs] = ~Rounding(self.model, self.output).add(some)[0]
        return differs

    @cached_property
    def before_rounding(self) -> Float64 | None:
        """The golden's numbers before rounding; None where they are not known."""
        if self.model is None or not self.has_ties:
            return None
        return self._test.value.reshape(self.part.index.shape)

    @cached_property
    def _test(self) -> TieTest:
        assert self.model is not None
        flat = self.part.index.reshape(-1)
        actual, golden = (codes.reshape(-1) for codes in self.part.codes)
        return self.model.before_rounding(self.output, flat, actual, golden)

    @cached_property
    def count(self) -> int:
        """How many elements are wrong."""
        return int(np.count_nonzero(self.wrong))

    @property
    def is_enough(self) -> bool:
        """Whether so many are wrong that a cause can be told."""
        if isinstance(self.part.own, Floats):
            return self.count >= FEW_FLOATS
        # Where no tie is known, those one step off are to be explained as well.
        count = self.count if self.has_ties else int(np.count_nonzero(self.differs))
        return count >= FEW_CODES and self.count >= FEW_FLOATS

    def unlike(self, guess: Guess, most: float = np.inf) -> int:
        """Count what a guess leaves of what is wrong, and, if that is not too much, what it spoils.

        What is not wrong may be the golden's or, by rounding, beside it.
        """
        actual, golden = self.part.values
        unlike = ~self.alike(actual, guess.values) & guess.known
        left = int(np.count_nonzero(unlike & self.wrong))
        if left > most:
            return left
        spoilt = unlike & ~self.wrong & ~self.alike(golden, guess.values)
        return left + int(np.count_nonzero(spoilt))

    def left(self, guess: Guess) -> float:
        """Return which share of what is wrong a guess leaves or spoils; inf if too much."""
        count = np.count_nonzero(self.wrong & guess.known)
        is_enough = self.is_enough or (guess.has_many and self.count >= FEW_FLOATS)
        if not is_enough or 3 * count < self.count:
            return np.inf
        left = self.unlike(guess, count / LEFT)
        return left / count if left * LEFT <= count else np.inf


def is_varied(values: NDArray[Any], least: int = FEW) -> bool:
    """Say whether there are so many different values: two runs of one each fit too much."""
    flat = values.reshape(-1)
    # Of most arrays the first elements are enough.
    return any(len(np.unique(some)) >= least for some in (flat[:_FIRST], flat))


def grid_of(
    name: str, shape: tuple[int, ...], model: Model | None, main: tuple[int, ...]
) -> Grid | None:
    """Return what the places of an output are of another array, where they are.

    Args:
        name: the output's.
        shape: its.
        model: what the golden was computed by, if it was.
        main: the first output's shape.
    """
    if model is None:
        return list_grid(shape, main, by_column=False)
    return model.scale_grid(model.outputs.index(name))
