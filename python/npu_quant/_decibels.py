"""How far numbers are above their errors, in dB."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._kinds import whole


def decibels(signal: Any, noise: Any) -> NDArray[np.float64]:
    """Return 20 log10(signal / noise) of norms: inf where there is no noise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 20 * (np.log10(signal) - np.log10(noise))
    return np.where(np.equal(noise, 0), np.inf, ratio)


def worst(found: NDArray[np.float64], k: int) -> list[tuple[tuple[int, ...], float]]:
    """Return the places of the k least dB, each with these, the worst first; NaN is the least."""
    order = np.argsort(np.nan_to_num(found, nan=-np.inf), axis=None, kind="stable")
    places = (np.unravel_index(at, found.shape) for at in order[: max(0, whole("worst", "k", k))])
    return [(tuple(map(int, place)), float(found[place])) for place in places]
