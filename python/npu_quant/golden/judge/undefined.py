"""What operators leave undefined, left out of a comparison; operators/undefined.py says what."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._kinds import Progress
from ...arrays import Source
from ..elements import Elements
from ..measure.metrics import Positions, measure
from ..operators import Model
from ..operators.undefined import Region
from ..results import Element, LeftOut, Metrics, OutputComparison
from ..sides import Paired, are_alike
from ..sources import ArraySource, Cast


def in_place(pair: Paired, model: Model | None) -> Paired:
    """Return both arrays without undefined rows at their end, so that places stay what they are.

    Undefined rows elsewhere stay, and those of outputs whose places are named by the input: there
    both sides are golden.
    """
    region = _region_of(pair, model)
    return pair if region is None or not _is_cut(pair, region, model) else _without(pair, region)


def defined(pair: Paired, model: Model | None) -> Paired:
    """Return both arrays, which may be `in_place`, without any undefined rows."""
    region = _region_of(pair, model)
    return pair if region is None or _is_cut(pair, region, model) else _without(pair, region)


def both_of(pair: Paired) -> tuple[Source, Source]:
    """Return the two arrays of a pair that has both."""
    _, actual, golden = pair
    assert actual is not None
    assert golden is not None
    return actual, golden


def measured_in(
    pair: Paired, kept: Paired, own: Elements, progress: Progress | None
) -> tuple[Metrics, Positions]:
    """Compare what is `defined` of two arrays, and find the places in all of them."""
    metrics, positions = measure(*both_of(pair), own, progress=progress)
    if kept is pair:
        return metrics, positions
    some, _ = measure(*both_of(kept), own)
    return dataclasses.replace(some, first=metrics.first, worst=metrics.worst), positions


def in_full(output: OutputComparison, whole: Paired, model: Model | None) -> OutputComparison:
    """Return an output with its shape, and what was left out of it."""
    region = _region_of(whole, model)
    if region is None or whole[2] is None:
        return output
    shape, before = whole[2].shape, output.shape

    def placed(element: Element) -> Element:
        index = np.unravel_index(np.ravel_multi_index(element.index, before), shape)
        return dataclasses.replace(element, index=tuple(map(int, index)))

    worst = tuple(map(placed, output.seen.worst))
    return dataclasses.replace(
        output,
        shape=shape,
        same=output.same and region.count > 0,
        rows_compared=region.count,
        left_out=LeftOut(region.words, region.why),
        seen=dataclasses.replace(output.seen, worst=worst),
    )


def _region_of(pair: Paired, model: Model | None) -> Region | None:
    """Return what is undefined of a pair that can be compared."""
    name, *sides = pair
    if model is None or not are_alike(*sides):
        return None
    return model.undefined(model.outputs.index(name))


def _is_cut(pair: Paired, region: Region, model: Model | None) -> bool:
    """Say whether `in_place` leaves out what is undefined of a pair."""
    assert model is not None
    return region.is_tail and model.scale_grid(model.outputs.index(pair[0])) is None


def _without(pair: Paired, region: Region) -> Paired:
    name, *sides = pair
    actual, golden = (None if side is None else _rows_of(side, region) for side in sides)
    return name, actual, golden


def _rows_of(source: Source, region: Region) -> Source:
    """Return the defined rows of a source; one that is converted stays so."""
    if isinstance(source, Cast):
        return source.of(_rows_of(source.source, region))
    return ArraySource(region.kept(source.array()), source.name)
