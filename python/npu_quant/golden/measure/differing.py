"""The elements that differ, found once more: where they are few, or each may be a tie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..sources import blocks
from ..tie_results import TieTest

MOST_AT_ONCE = 1 << 18
"""Elements that are read at a time: where all differ, tests hold 100 bytes for each."""


class Differences(NamedTuple):
    """Some differing elements, in C order."""

    places: NDArray[np.int64]
    """Counted in C order."""
    actual: NDArray[Any]
    golden: NDArray[Any]


def differ(actual: NDArray[Any], golden: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which elements of two arrays of one dtype have different bytes and are not both NaN."""
    bits = f"u{golden.dtype.itemsize}"
    different: NDArray[np.bool_] = actual.view(bits) != golden.view(bits)
    if golden.dtype.kind not in "iub":  # of those that differ, two NaN do not
        at = np.flatnonzero(different)
        if len(at):
            a, g = actual[at], golden[at]
            with np.errstate(invalid="ignore"):  # signalling ones
                different[at] = (a == a) | (g == g)
    return different


def differences(actual: Source, golden: Source, first: int = 0) -> Iterator[Differences]:
    """Yield all differing elements of two sources of one dtype and shape, some at a time.

    Args:
        actual: the actual array.
        golden: the golden one.
        first: an element before which none differs.
    """
    for begin, end in blocks(golden, MOST_AT_ONCE):
        if end <= first:
            continue
        a, g = actual.read(begin, end), golden.read(begin, end)
        index = np.flatnonzero(differ(a, g))
        if len(index):
            yield Differences(index + begin, a[index], g[index])


def distance_from_tie(test: TieTest) -> NDArray[np.float64]:
    """Return |v - h| in ulp of float32 at the largest term of the formula (docs/golden.md 2)."""
    with np.errstate(all="ignore"):
        magnitude = np.abs(test.magnitude).astype(np.float32)
        ulp = np.where(np.isfinite(magnitude), np.spacing(magnitude), np.nan).astype(np.float64)
        distance: NDArray[np.float64] = np.abs(test.value - test.tie) / ulp
    return distance
