"""How far numbers are above their errors, in dB."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def decibels(signal: Any, noise: Any) -> NDArray[np.float64]:
    """Return 20 log10(signal / noise) of norms: inf where there is no noise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 20 * (np.log10(signal) - np.log10(noise))
    return np.where(np.equal(noise, 0), np.inf, ratio)
