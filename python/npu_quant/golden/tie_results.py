"""How codes that differ lie to the tie between them, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._shown import ShortRepr


@dataclass(frozen=True)
class TieTest:
    """Elements whose codes differ, against the tie between their two codes; float64 arrays."""

    value: NDArray[np.float64]
    """The exact number before rounding, by the golden scale; NaN where there is none."""
    tie: NDArray[np.float64]
    """The midpoint between the actual and the golden code (or value)."""
    magnitude: NDArray[np.float64]
    """The largest term of the formula: what an ulp is one of."""
    steps: NDArray[np.float64]
    """Codes (or neighbouring values) from golden to actual; inf where one is not on the grid."""


@dataclass(frozen=True, repr=False)
class Ties(ShortRepr):
    """How far the differing codes lie from a rounding tie, in ulp of float32."""

    allowed: float
    """k: what the roundings of the formula can explain (docs/golden.md)."""
    within: int
    """Differing codes that are one step apart and within k ulp of the tie between them."""
    farthest: float
    """The greatest distance of all of them; NaN where it has none (x is NaN, scale is 0)."""
    farthest_index: int | None
    """Where, counted in C order."""
    farthest_value: float
    """The number before rounding, there."""
    ill_conditioned: int = 0
    """Differing codes of numbers so far beyond the codes' range that rounding explains any code."""
    contradicting: int = 0
    """Of these, codes that equal numbers of the same group do not have: rounding explains none."""
    all_ill_conditioned: bool = False
    """Whether all that differs is so, and all else that was looked at: any code would pass."""
