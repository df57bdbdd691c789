"""Every named formula of an operator against actual outputs, ranked by what it gets right."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import get_num_threads
from ...errors import DTypeError, ParamError
from ..explanation_results import VariantResult
from .matching import Actual, Work
from .model import Model, Part
from .registry import applicable

Array = NDArray[Any]


def ranked_formulas(model: Model, arrays: Sequence[Array | None]) -> tuple[VariantResult, ...]:
    """Count for every formula the elements that it has otherwise; the nearest first.

    Args:
        model: the operator with its inputs.
        arrays: its actual outputs in its order, None for one that is not known.

    Raises:
        ParamError: there is no output, or one has another shape than the operator gives.
        DTypeError: one has another dtype.
    """
    if all(array is None for array in arrays):
        raise ParamError("explain: actual has no array.")
    _check(model, arrays)
    actual, variants = Actual(model, arrays), applicable(model)

    def counts(part: Part) -> NDArray[np.int64]:
        work = Work(part, actual)
        table = [[work.count(variant, output) for output in actual.given] for variant in variants]
        part.forget()
        return np.array(table, np.int64).reshape(len(variants), len(actual.given))

    totals = np.zeros((len(variants), len(actual.given)), np.int64)
    with ThreadPoolExecutor(get_num_threads()) as pool:
        for table in pool.map(counts, model.parts()):
            totals += table
    names = [model.outputs[output] for output in actual.given]
    results = [
        VariantResult(v.name, v.benign, v.summary, v.source, dict(zip(names, row, strict=True)))
        for v, row in zip(variants, totals.tolist(), strict=True)
    ]
    # At the same number the reference, then benign ones, then in the table's order.
    return tuple(sorted(results, key=lambda r: (r.total, r.name != "reference", not r.benign)))


def _check(model: Model, arrays: Sequence[Array | None]) -> None:
    """Complain of outputs that the operator does not give."""
    for name, array, golden in zip(model.outputs, arrays, model.golden(), strict=False):
        if array is None or golden is None:
            continue
        if array.dtype != golden.dtype:
            raise DTypeError(
                f"explain: actual {name} has dtype {array.dtype}, {model.op} gives {golden.dtype}."
            )
        if array.shape != golden.shape:
            raise ParamError(
                f"explain: actual {name} has shape {array.shape}, {model.op} gives {golden.shape}."
            )
