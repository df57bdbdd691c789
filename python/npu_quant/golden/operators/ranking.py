"""Every named formula of an operator against actual outputs, ranked by what it gets right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import get_num_threads
from ..._kinds import Progress
from ...errors import DTypeError, ParamError
from ..explanation_results import VariantResult
from .formula import Variant
from .matching import Actual, Work
from .model import Model, Part
from .registry import applicable

Array = NDArray[Any]
Counts = NDArray[np.int64]
Advance = Callable[[Part], None]

SAMPLED = 16
"""Parts on which all formulas are tried, where there are more than twice as many."""
NEAREST = 24
"""Smallest counts there, zero or not, whose formulas are tried on all parts: those reports show."""


def ranked_formulas(
    model: Model, arrays: Sequence[Array | None], progress: Progress | None = None
) -> tuple[VariantResult, ...]:
    """Count for every formula the elements that it has otherwise; the nearest first.

    Of large outputs all formulas are tried on some parts, and on the others only those that come
    nearest there: what fails on a part cannot be exact. The counts of the rest are multiplied up;
    they come last, since what is wrong in other parts alone is not in them.

    Args:
        model: the operator with its inputs.
        arrays: its actual outputs in its order, None for one that is not known.
        progress: called with (elements tried, elements in all), now and then.

    Raises:
        ParamError: there is no output, or one has another shape than the operator gives.
        DTypeError: one has another dtype.
    """
    if all(array is None for array in arrays):
        raise ParamError("actual has no array.")
    _check(model, arrays)
    actual, variants, parts = Actual(model, arrays), applicable(model), model.parts()
    step = len(parts) // SAMPLED if len(parts) > 2 * SAMPLED else 1
    first, rest = parts[::step], [part for i, part in enumerate(parts) if i % step]
    advance = _advancing(progress, actual, parts)
    totals = _counted(variants, actual, first, advance)
    nearest = _nearest(totals) if rest else np.ones(len(variants), bool)
    chosen = [variant for variant, near in zip(variants, nearest, strict=True) if near]
    totals[nearest] += _counted(chosen, actual, rest, advance)
    sizes, tried = (_elements(actual, some) for some in (parts, first))
    totals[~nearest] = np.rint(totals[~nearest] * (sizes / np.maximum(tried, 1)))
    names = [model.outputs[output] for output in actual.given]
    results = [
        VariantResult(
            v.name, v.benign, v.summary, v.source, dict(zip(names, row, strict=True)), not near
        )
        for v, row, near in zip(variants, totals.tolist(), nearest.tolist(), strict=True)
    ]
    # At the same number the reference, then benign ones, then in the table's order.
    return tuple(
        sorted(results, key=lambda r: (r.estimated, r.total, r.name != "reference", not r.benign))
    )


def _counted(
    variants: Sequence[Variant], actual: Actual, parts: Sequence[Part], advance: Advance
) -> Counts:
    """Count what each formula has otherwise in some parts: a row each, a column per output."""

    def counts(part: Part) -> Counts:
        work = Work(part, actual)
        table = [[work.count(variant, output) for output in actual.given] for variant in variants]
        part.forget()
        return np.array(table, np.int64).reshape(len(variants), len(actual.given))

    totals = np.zeros((len(variants), len(actual.given)), np.int64)
    with ThreadPoolExecutor(get_num_threads()) as pool:
        for part, table in zip(parts, pool.map(counts, parts), strict=True):
            totals += table
            advance(part)
    return totals


def _nearest(totals: Counts) -> NDArray[np.bool_]:
    """Say which formulas have one of the NEAREST smallest counts."""
    sums = totals.sum(axis=1)
    near: NDArray[np.bool_] = sums <= np.unique(sums)[:NEAREST][-1]
    return near


def _elements(actual: Actual, parts: Sequence[Part]) -> Counts:
    """Return how many elements of each given output some parts have."""
    spans = np.array([[part.spans[output] for output in actual.given] for part in parts], np.int64)
    sizes: Counts = np.diff(spans.reshape(len(parts), len(actual.given), 2))[..., 0].sum(axis=0)
    return sizes


def _advancing(progress: Progress | None, actual: Actual, parts: Sequence[Part]) -> Advance:
    """Return what is told of each part that has been tried."""
    total, done = int(_elements(actual, parts).sum()), 0

    def advance(part: Part) -> None:
        nonlocal done
        done += int(_elements(actual, [part]).sum())
        if progress is not None:
            progress(done, total)

    return advance


def _check(model: Model, arrays: Sequence[Array | None]) -> None:
    """Complain of outputs that the operator does not give."""
    for name, array, golden in zip(model.outputs, arrays, model.golden(), strict=False):
        if array is None or golden is None:
            continue
        if array.dtype != golden.dtype:
            raise DTypeError(
                f"actual {name} has dtype {array.dtype}, {model.op} gives {golden.dtype}."
            )
        if array.shape != golden.shape:
            raise ParamError(
                f"actual {name} has shape {array.shape}, {model.op} gives {golden.shape}."
            )
