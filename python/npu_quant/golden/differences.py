"""The elements that differ, found a second time: only where something needs each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .sources import Source, blocks

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


def elements(source: Source, index: NDArray[np.int64]) -> NDArray[Any]:
    """Return single elements of a source, by their numbers in C order."""
    values = [source.read(int(i), int(i) + 1) for i in index]
    return np.concatenate(values) if values else np.empty(0, source.dtype)
