"""What a comparison could have missed: probes that a tolerance must not accept, and blind spots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..elements import Elements, elements_of
from ..measure.layout import Layout, evenly
from ..measure.parts import Part, elements
from ..operators import Model
from ..results import BlindSpot
from ..sources import ArraySource, size_of

_MOST_PROBED = 1 << 18
_ROWS_PROBED, _FEW_ROWS, _ELEMENTS_PROBED = 256, 16, 1 << 15

VACUOUS = ("all zeros", "shuffled rows")
"""A tolerance that accepts one of these says nothing about the data."""


def _sample(golden: Source) -> NDArray[Any]:
    """Return some rows, evenly spaced; of a row that is long, its beginning."""
    rows, columns = Layout.of(golden.shape)
    if columns == 0 or rows == 0:
        return np.empty((0, columns), golden.dtype)
    kept = min(columns, _MOST_PROBED)
    several = min(rows, max(1, _MOST_PROBED // kept))
    places = evenly(rows, several)
    if len(places) == rows and kept == columns:
        return golden.read(0, rows * columns).reshape(rows, columns)
    return elements(golden, places, np.arange(kept))


def _zeros(golden: NDArray[Any], own: Elements) -> NDArray[Any]:
    wrong: NDArray[Any] = golden.copy()
    wrong[np.isfinite(own.values(golden))] = 0
    return wrong


def _shuffled(golden: NDArray[Any], own: Elements) -> NDArray[Any]:
    """Move rows, or, where all are alike, columns: by an odd number, since data often repeat."""
    for axis in (0, 1):
        moved = np.roll(golden, golden.shape[axis] // 2 | 1, axis=axis)
        if moved.tobytes() != golden.tobytes():
            return moved
    return golden


def _one_row_scaled(golden: NDArray[Any], own: Elements) -> NDArray[Any]:
    scaled: NDArray[Any] = golden.copy()
    values = own.values(golden)
    amax = np.where(np.isfinite(values), np.abs(values), 0).max(axis=1)
    row = int(np.argmax(amax))
    with np.errstate(all="ignore"):  # of signaling NaN
        scaled[row] = own.nearest(values[row] * 1.01)
    return scaled


_PROBES: dict[str, Callable[[NDArray[Any], Elements], NDArray[Any]]] = {
    "all zeros": _zeros,
    "shuffled rows": _shuffled,
    "scale +1 % on one row": _one_row_scaled,
}


def power_of(
    golden: Source, accepts: Callable[[Source, Source], bool], own: Elements | None = None
) -> dict[str, bool]:
    """Say of each wrong result whether a tolerance would accept it, tried on some of the rows.

    Args:
        golden: what the wrong results are made of.
        accepts: the tolerance: whether it takes (actual, golden).
        own: what its elements stand for; None: what their dtype says.

    Returns:
        By the probe's name; without those that leave the golden as it is.
    """
    sample = _sample(golden)
    if size_of(golden) == 0:
        return {}
    own = elements_of(golden.dtype) if own is None else own
    answers = {}
    for name, probe in _PROBES.items():
        if golden.dtype.kind == "b" and probe is _one_row_scaled:
            continue
        wrong = probe(sample, own)
        if wrong.tobytes() != sample.tobytes():
            answers[name] = accepts(ArraySource(wrong), ArraySource(sample))
    return answers


def power_text(power: dict[str, bool]) -> str:
    """Return the probes with their answers."""
    return " · ".join(f"{name}: {'YES' if taken else 'no'}" for name, taken in power.items())


def blind_spot(model: Model, output: int, golden: Source) -> BlindSpot | None:
    """Measure by how much a scale must change until a code changes that rounding does not explain.

    Args:
        model: what the golden was computed by.
        output: which of its outputs has the codes.
        golden: these codes.
    """
    rows, columns = Layout.of(golden.shape)
    if rows * columns == 0:
        return None
    own = model.elements_of(output)
    several = min(rows, _ROWS_PROBED, max(_FEW_ROWS, _ELEMENTS_PROBED // columns))
    probed = evenly(rows, several)
    together = max(1, _ELEMENTS_PROBED // columns)
    needed: list[float] = []
    for some in (probed[i : i + together] for i in range(0, len(probed), together)):
        part = Part(golden, golden, own, "", some, np.arange(columns))
        index, codes = part.index.reshape(-1), part.of(golden).reshape(-1)
        with np.errstate(all="ignore"):
            v, terms = model.exact(output, index)
            away = np.min([np.abs(v - tie) for tie in own.ties(codes)], axis=0)
            v = np.abs(v)
            ulp = np.spacing(np.fmax(v, terms).astype(np.float32)).astype(np.float64)
            change = np.where(away > model.allowed_for(output) * ulp, away / v, np.inf)
        change = change.reshape(len(some), columns)
        least = np.where(np.isfinite(change), change, np.inf).min(axis=1)
        needed += least[np.isfinite(least)].tolist()
    return BlindSpot(float(np.median(needed)), max(needed)) if needed else None
