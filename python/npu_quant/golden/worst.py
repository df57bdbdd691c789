"""The worst elements of an output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .comparison import Comparison, Element, OutputComparison
from .differences import Differences, differences
from .ties import distance_from_tie

if TYPE_CHECKING:
    from .operators import TieTest


def _tie_test(
    comparison: Comparison, output: OutputComparison, some: Differences
) -> TieTest | None:
    if comparison.model is None or output.ties is None:
        return None
    number = comparison.model.outputs.index(output.name)
    return comparison.model.before_rounding(number, *some)


def _badness(some: Differences, test: TieTest | None) -> NDArray[np.float64]:
    """Return what the worst is chosen by; NaN and infinities count as the greatest."""
    with np.errstate(all="ignore"):
        if test is not None:
            bad = distance_from_tie(test)
        else:
            # Of 64-bit integers exactly.
            wide = np.longdouble if some.golden.dtype.kind in "iu" else np.float64
            bad = np.abs(some.actual.astype(wide) - some.golden.astype(wide))
    return np.where(np.isnan(bad), np.inf, bad).astype(np.float64)


def worst_elements(comparison: Comparison, output: OutputComparison, k: int) -> list[Element]:
    """Return the k worst elements of an output, the worst first, equals in C order."""
    if output.actual is None or output.golden is None or output.problem or k < 1:
        return []
    found: list[tuple[float, int, Element]] = []
    for some in differences(output.actual, output.golden):
        test = _tie_test(comparison, output, some)
        bad = _badness(some, test)
        # All that are as bad as the k-th: of equals, the first count.
        least = -np.inf if len(bad) <= k else np.partition(bad, len(bad) - k)[len(bad) - k]
        candidates = np.flatnonzero(bad >= least)
        for i in candidates[np.argsort(-bad[candidates], kind="stable")][:k]:
            index = np.unravel_index(int(some.places[i]), output.shape)
            element = Element(
                tuple(int(n) for n in index),
                float(some.actual[i]),
                float(some.golden[i]),
                None if test is None else float(test.value[i]),
                None if test is None else float(bad[i]),
            )
            found.append((-float(bad[i]), int(some.places[i]), element))
        found = sorted(found, key=lambda f: f[:2])[:k]
    return [element for _, _, element in found]
