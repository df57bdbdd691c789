"""Formulas against actual outputs, ranked by what they get right."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._kinds import Progress
from ...errors import DTypeError, ParamError
from ..explanation_results import VariantResult
from ..operators.formula import Formula
from ..operators.model import Model
from .profiles import called
from .search import Search
from .trial import Actual, Array, Trial, counted

SAMPLED = 16
"""Parts on which all listed formulas are counted, where there are more than twice as many."""
NEAREST = 24
"""Smallest shares of a sample, zero or not, whose formulas are counted on all parts."""


@np.errstate(all="ignore")
def ranked_formulas(
    model: Model, arrays: Sequence[Array | None], progress: Progress | None = None
) -> tuple[VariantResult, ...]:
    """Count for every formula the elements that it has otherwise; the nearest first.

    Of large outputs only the formulas that come nearest in a sample are counted on all. The counts
    of the others are multiplied up; they come last, since what is wrong elsewhere is not in them.

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
    actual = Actual(model, arrays)
    search = Search(model, actual)
    nearest, others = _nearest(search)
    parts, done, total = model.parts(), 0, int(actual.sizes.sum())
    step = len(parts) // SAMPLED if len(parts) > 2 * SAMPLED else 1

    def advance(elements: int) -> None:
        nonlocal done
        done += elements
        if progress is not None:
            progress(done, total)

    sizes = (
        sum(part.spans[i][1] - part.spans[i][0] for part in parts[::step]) for i in actual.given
    )
    share = actual.sizes / np.maximum(np.fromiter(sizes, np.int64), 1)
    estimates = counted(actual, others, parts[::step], ties=False)
    results = [(trial, False) for trial in called(actual)]
    results += [(trial, False) for trial in counted(actual, nearest, parts, advance)]
    for trial in estimates:
        left = np.rint(trial.left * share).astype(np.int64)
        results.append((dataclasses.replace(trial, left=left), step > 1))
    names = [model.outputs[output] for output in actual.given]
    return tuple(_result(*result, names, model) for result in sorted(results, key=_rank))


def _nearest(search: Search) -> tuple[list[Formula], list[Formula]]:
    """Return the formulas that come nearest in a sample, and the listed ones that do not."""
    for formula in search.model.form.listed(search.model):
        search.differing(formula)
    tried = sorted((formula for formula, _ in search.tried.values()), key=search.score)
    scores = [search.score(formula) for formula in tried]
    most = sorted(set(scores))[:NEAREST][-1]
    listed = {formula.key for formula in search.model.form.listed()}
    count = sum(score <= most for score in scores)
    return tried[:count], [formula for formula in tried[count:] if formula.key in listed]


def _rank(result: tuple[Trial, bool]) -> tuple[Any, ...]:
    """What formulas are ordered by: at the same number the reference, then benign ones."""
    trial, is_estimated = result
    left = int(trial.left.sum())
    is_reference = trial.variant.name == "reference"
    return is_estimated, trial.unexplained > 0, left, not is_reference, not trial.variant.benign


def _result(trial: Trial, is_estimated: bool, names: Sequence[str], model: Model) -> VariantResult:
    return VariantResult(**vars(trial.match(names, model)), estimated=is_estimated)


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
