"""The elements that differ, found a second time: only where something needs each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..read.sources import blocks
from ..results import Element, Explains, OutputComparison, Source, TieTest

MOST_AT_ONCE = 1 << 20


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
        a, g = actual[at], golden[at]
        with np.errstate(invalid="ignore"):  # signalling ones
            different[at] = (a == a) | (g == g)
    return different


def differences(actual: Source, golden: Source) -> Iterator[Differences]:
    """Yield all differing elements of two sources of one dtype and shape, some at a time."""
    for begin, end in blocks(golden):
        block = actual.read(begin, end), golden.read(begin, end)
        for i in range(0, end - begin, MOST_AT_ONCE):
            a, g = (side[i : i + MOST_AT_ONCE] for side in block)
            index = np.flatnonzero(differ(a, g))
            if len(index):
                yield Differences(index + begin + i, a[index], g[index])


def distance_from_tie(test: TieTest) -> NDArray[np.float64]:
    """Return |v - h| in ulp of float32 at the largest term of the formula (docs/golden.md 2)."""
    with np.errstate(all="ignore"):
        magnitude = np.abs(test.magnitude).astype(np.float32)
        ulp = np.where(np.isfinite(magnitude), np.spacing(magnitude), np.nan).astype(np.float64)
        distance: NDArray[np.float64] = np.abs(test.value - test.tie) / ulp
    return distance


def worst_elements(model: Explains | None, output: OutputComparison, k: int) -> list[Element]:
    """Return the k worst elements of an output, the worst first, equals in C order."""
    if output.actual is None or output.golden is None or output.problem or k < 1:
        return []
    found: list[tuple[float, int, Element]] = []
    for some in differences(output.actual, output.golden):
        test = None
        if model is not None and output.ties is not None:
            test = model.before_rounding(model.outputs.index(output.name), *some)
        bad = _badness(some, test)
        # All that are as bad as the k-th: of equals, the first count.
        least = -np.inf if len(bad) <= k else np.partition(bad, len(bad) - k)[len(bad) - k]
        candidates = np.flatnonzero(bad >= least)
        for i in candidates[np.argsort(-bad[candidates], kind="stable")][:k]:
            element = Element(
                tuple(int(n) for n in np.unravel_index(int(some.places[i]), output.shape)),
                float(some.actual[i]),
                float(some.golden[i]),
                None if test is None else float(test.value[i]),
                None if test is None else float(bad[i]),
            )
            found.append((-float(bad[i]), int(some.places[i]), element))
        found = sorted(found, key=lambda f: f[:2])[:k]
    return [element for _, _, element in found]


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
