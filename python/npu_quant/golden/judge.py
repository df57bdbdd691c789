"""One output: measured, judged, located."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import verdict
from .arguments import Paired
from .comparison import OutputComparison, Ties
from .metrics import Metrics, measure
from .operators import Model
from .request import Request
from .sources import ArraySource, Source, size_of
from .ties import follows_scale, tie_distances
from .tolerance import Measured, verdicts_of_presets
from .where import locate

Pair = tuple[str, Source, Source]


def judge(
    pair: Paired,
    given: Mapping[str, Source | None],
    model: Model | None,
    request: Request,
) -> OutputComparison:
    """Compare one output, as far as it can be told without the other formulas.

    Args:
        pair: its name, its actual and its golden array; one may be missing.
        given: all actual outputs by name, for the scale that codes go with.
        model: what the golden was computed by, if it was.
        request: what was asked for.
    """
    name, actual, golden = pair
    there = actual if golden is None else golden
    assert there is not None
    blank = OutputComparison(name, there.dtype, there.shape, "different")
    blank = dataclasses.replace(blank, actual=actual, golden=golden)
    problem = verdict.problem_of(actual, golden)
    if problem is not None:
        return dataclasses.replace(blank, problem=problem)
    assert actual is not None
    assert golden is not None
    return _measured(blank, (name, actual, golden), given, model, request)


def _measured(
    blank: OutputComparison,
    pair: Pair,
    given: Mapping[str, Source | None],
    model: Model | None,
    request: Request,
) -> OutputComparison:
    """Measure, judge and locate an output of which both sides have the same kind of array."""
    name, actual, golden = pair
    metrics, positions = measure(actual, golden, progress=request.progress)
    ties = _ties(pair, model, metrics)
    rung = _rung(name, model, metrics, ties)
    worst = None if ties is None else ties.farthest_index
    presets = verdicts_of_presets(Measured(metrics, actual, golden))
    return dataclasses.replace(
        blank,
        rung=rung,
        metrics=metrics,
        ties=ties,
        where=locate(actual, golden, metrics, positions, worst, request.axis),
        presets=presets,
        dequantized=_dequantized(pair, given, model, metrics),
        follows_scale=_follows_scale(pair, given, model),
    )


def _kind(name: str, model: Model) -> str:
    return model.kinds[model.outputs.index(name)]


def _ties(pair: Pair, model: Model | None, metrics: Metrics) -> Ties | None:
    """Measure the differing codes, where the numbers before rounding are known."""
    name, actual, golden = pair
    if model is None or metrics.mismatches == 0 or _kind(name, model) == "scale":
        return None
    return tie_distances(model, model.outputs.index(name), actual, golden)


def _rung(name: str, model: Model | None, metrics: Metrics, ties: Ties | None) -> str:
    if model is not None and _kind(name, model) == "scale":
        return verdict.rung_of_scales(metrics)
    return verdict.rung_of_codes(metrics.mismatches, ties)


def _other_scale(given: Mapping[str, Source | None], model: Model) -> NDArray[Any] | None:
    """Return the actual scale output, where the operator computes one and it is not the golden."""
    if "scale" not in model.kinds:
        return None
    number = model.kinds.index("scale")
    source, golden = given.get(model.outputs[number]), model.golden()[number]
    if source is None or golden is None or verdict.problem_of(source, ArraySource(golden)):
        return None
    scale = source.array()
    return None if scale.tobytes() == golden.tobytes() else scale


def _follows_scale(
    pair: Pair, given: Mapping[str, Source | None], model: Model | None
) -> bool | None:
    """Judge codes by the scale they came with, where that is not the golden one."""
    name, actual, golden = pair
    if model is None or _kind(name, model) != "codes":
        return None
    scale = _other_scale(given, model)
    if scale is None:
        return None
    return follows_scale(model, model.outputs.index(name), actual, golden, scale)


class _Dequantized:
    """Codes times scales, as a source."""

    def __init__(
        self, codes: Source, model: Model, output: int, scale: NDArray[Any] | None
    ) -> None:
        self.name = codes.name
        self.dtype: np.dtype = np.dtype(np.float32)
        self.shape = codes.shape
        self._codes, self._model, self._output, self._scale = codes, model, output, scale

    def read(self, begin: int, end: int) -> NDArray[Any]:
        codes = self._codes.read(begin, end)
        values = self._model.dequantize(self._output, codes, begin, end, scale=self._scale)
        assert values is not None
        return np.ascontiguousarray(values, np.float32)

    def array(self) -> NDArray[Any]:
        return self.read(0, size_of(self)).reshape(self.shape)


def _dequantized(
    pair: Pair, given: Mapping[str, Source | None], model: Model | None, metrics: Metrics
) -> Metrics | None:
    """Measure what the model sees: codes times scales, each by its own."""
    name, actual, golden = pair
    if model is None or _kind(name, model) != "codes":
        return None
    output = model.outputs.index(name)
    none = golden.read(0, 0)
    if model.dequantize(output, none, 0, 0) is None:
        return None
    scale = _other_scale(given, model)
    if metrics.mismatches == 0 and scale is None:
        return None  # nothing would differ
    mine = _Dequantized(actual, model, output, scale)
    theirs = _Dequantized(golden, model, output, None)
    return measure(mine, theirs)[0]
