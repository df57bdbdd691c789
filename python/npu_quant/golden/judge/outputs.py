"""The outputs of a comparison: paired, measured, judged, located."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._face import either
from ..._kinds import told
from ...arrays import Source
from ...errors import ParamError
from ..elements import Elements, elements_of_output
from ..measure.collected import MOST_LISTED, Collector
from ..measure.differing import differences
from ..measure.metrics import Positions, measure
from ..measure.where import axis_of, has_axis, locate
from ..operators import Model
from ..operators.formula import named as formula_named
from ..operators.scale_grid import Grid
from ..results import Element, Metrics, OutputComparison, Seen, Tolerance, VariantMatch, Where
from ..sides import Outputs, Paired, are_alike
from ..sources import ArraySource, Cast, Number
from . import verdict
from .casts import note_of, note_of_bytes
from .look import grid_of
from .power import power_of
from .profiles import PROFILES
from .refusal import is_constant, is_same
from .request import Limits, Request
from .rounding import Dequantized, Rounding, follows_scale
from .search import Explained, explained
from .tolerance import Measured, is_kept, rule_of, verdicts_of_presets
from .undefined import both_of, defined, measured_in


def paired(actual: Outputs, golden: Outputs, order: Sequence[str]) -> list[Paired]:
    """Return what is to be compared.

    Args:
        actual: the actual outputs.
        golden: the golden ones.
        order: the names of all.

    Raises:
        ParamError: there is nothing to compare.
    """
    pairs = [
        (name, _fitting(actual.get(name), golden.get(name)), golden.get(name))
        for name in verdict.to_compare(order, actual, golden)
    ]
    if not pairs:
        raise ParamError("no array can be compared: each one is None in actual or in golden.")
    return pairs


def as_elements(given: Outputs, model: Model) -> Outputs:
    """Return the outputs of an operator with an element for each of its codes.

    What means nothing is golden; an output that the operator does not give need not be there.
    """
    regions = map(model.undefined, range(len(model.outputs)))
    whole = (n for n, r in zip(model.outputs, regions, strict=True) if r is not None and r.is_whole)
    return dict.fromkeys(whole) | {
        name: None if source is None else _elements(source, model, model.outputs.index(name))
        for name, source in given.items()
    }


def _elements(source: Source, model: Model, output: int) -> Source:
    golden, region = model.golden()[output], model.undefined(output)
    if golden is not None and region is not None and region.is_whole:
        return ArraySource(golden, source.name)
    if golden is None or isinstance(source, Number):
        return source
    own = model.elements_of(output)
    is_plain = not own.name and (own.is_even or model.kinds[output] != "codes")
    # Of a last axis without elements, packed int32 has the shape of numbers.
    may_be_wide = source.dtype == np.int32 and golden.shape[-1:] != (0,)
    is_unpacked = (source.dtype == own.carrier or may_be_wide) and source.shape == golden.shape
    if not (is_plain or is_unpacked):
        source = ArraySource(model.as_elements(output, source.array()), source.name)
    if region is None:
        return source
    return ArraySource(region.filled(source.array(), golden), source.name)


def _fitting(source: Source | None, golden: Source | None) -> Source | None:
    """Return a Python number in the golden's dtype, where that holds it."""
    if not isinstance(source, Number) or golden is None:
        return source
    value = source.array()
    with np.errstate(all="ignore"):
        fitted = value.astype(golden.dtype)
    # A NaN becomes some integer, which is not the same.
    same = np.array_equal(fitted.astype(value.dtype), value, equal_nan=True)
    return ArraySource(fitted) if same else source


def check_axis(axis: int | None, pairs: Sequence[Paired]) -> None:
    """Raise ParamError if no array has the axis that was asked for."""
    there = [source for _, *both in pairs for source in both if source is not None]
    if axis is not None and not any(has_axis(source.shape, axis) for source in there):
        ranks = ", ".join(sorted({str(len(source.shape)) for source in there}))
        raise ParamError(f"axis is {told(axis)}, the arrays have rank {ranks}.")


def judged(pair: Paired, given: Outputs, model: Model | None, request: Request) -> OutputComparison:
    """Compare one output, as far as it can be told without the other formulas.

    Args:
        pair: its name, its actual and its golden array; one may be missing.
        given: all actual outputs by name, for the scale that codes go with.
        model: what the golden was computed by, if it was.
        request: what was asked for.
    """
    name, actual, golden = pair
    blank = _blank(pair, model, verdict.problem_of(actual, golden))
    if actual is None or golden is None or not are_alike(actual, golden):
        return blank
    # What is not in the operator's dtype is none of its roundings.
    model = None if isinstance(golden, Cast) else model
    own = elements_of_output(blank)
    kept = defined(pair, model)
    measured = measured_in(pair, kept, own, request.progress)
    metrics, is_scale = measured[0], model is not None and blank.kind == "scale"
    by_steps = is_scale and model is not None and not model.scales_have_ties
    rounding = None
    if model is not None and not by_steps and metrics.mismatches:
        rounding = Rounding(model, model.outputs.index(name), actual)
    steps = verdict.steps_of_rounding(own, is_scale=by_steps)
    collected = _collected(actual, golden, own, measured, rounding, request.axis, steps)
    ties = None if rounding is None else rounding.ties
    of_codes = verdict.rung_of_codes(metrics.mismatches, ties)
    rung = verdict.rung_of_scales(metrics, own) if by_steps else of_codes
    worst = None if ties is None else ties.farthest_index
    by_ties = rounding is not None or is_scale
    follows, numbers = _by_actual_scale(actual, golden, given, model, name)
    where = locate(actual, golden, measured, collected, worst, request.axis, own, by_ties=by_ties)
    seen = _only_the_worst(where, blank.shape) if collected is None else collected.seen()
    grid = grid_of(name, golden.shape, model, _main_shape(given))
    where = _with_worst_place(where, name, model)
    where, seen = _in_the_input(where, seen, grid, pair, (own, rounding, steps))
    return dataclasses.replace(
        blank,
        rung=rung,
        metrics=metrics,
        ties=ties,
        where=where,
        presets=verdicts_of_presets(Measured(metrics, *both_of(kept), own)),
        follows_scale=follows,
        numbers=numbers if metrics.mismatches else None,
        notes=note_of_bytes(actual, golden) if metrics.mismatches else (),
        same=not metrics.mismatches and is_same(actual, golden),
        seen=seen,
    )


def _with_worst_place(where: Where | None, name: str, model: Model | None) -> Where | None:
    """Say which part of the input the worst scale is for."""
    number = -1 if model is None else model.outputs.index(name)
    if where is None or model is None or model.kinds[number] != "scale":
        return where
    return dataclasses.replace(where, worst_place=model.place_of(number, where.worst))


def _main_shape(given: Outputs) -> tuple[int, ...]:
    return next(side.shape for side in given.values() if side is not None)


def _in_the_input(
    where: Where | None,
    seen: Seen,
    grid: Grid | None,
    pair: Paired,
    by: tuple[Elements, Rounding | None, float],
) -> tuple[Where | None, Seen]:
    """Return where elements differ by what they are of the input.

    Args:
        where: where they differ in their own array, if they do.
        seen: what was seen there.
        grid: what they are of the input; None where nothing else.
        pair: both arrays.
        by: what the elements stand for, and by what differences are explained.
    """
    if grid is None or where is None:
        return where, seen
    own, rounding, steps = by
    actual, golden = (grid.arranged(side) for side in pair[1:] if side is not None)
    other = where
    if golden is not pair[2]:
        measured = measure(actual, golden, own)
        again = rounding and Rounding(rounding.model, rounding.output)
        collected = _collected(actual, golden, own, measured, again, None, steps)
        found = locate(actual, golden, measured, collected, own=own, by_ties=True)
        assert found is not None
        other = found
        if collected is not None:
            seen = dataclasses.replace(seen, map=collected.seen().map)
    along = [c for c in where.concentrations if c.kind.startswith("axis")]
    rest = [c for c in other.concentrations if not c.kind.startswith("axis")]
    named = [dataclasses.replace(c, named=grid.where(c)) for c in rest]
    kept = {
        name: getattr(where, name) for name in ("first", "worst", "worst_place", "worst_values")
    }
    where = dataclasses.replace(other, **kept, axes=grid.axes, concentrations=(*named, *along))
    return where, seen


def _blank(pair: Paired, model: Model | None, problem: str | None) -> OutputComparison:
    """Return an output of which nothing is measured yet."""
    name, actual, golden = pair
    there = actual if golden is None else golden
    assert there is not None
    # Without an operator it is what its name says.
    kind = name if model is None else model.kinds[model.outputs.index(name)]
    only_in = "golden" if actual is None else "actual" if golden is None else ""
    own = ""
    if model is not None and not isinstance(golden, Cast) and are_alike(actual, golden):
        own = model.elements_of(model.outputs.index(name)).name
    return OutputComparison(
        name, there.dtype, there.shape, "different", kind, own, problem=problem, only_in=only_in
    )


def _collected(
    actual: Source,
    golden: Source,
    own: Elements,
    measured: tuple[Metrics, Positions],
    rounding: Rounding | None,
    axis: int | None,
    most_steps: float,
) -> Collector | None:
    """Look at the differing elements one by one; None where that is not worth its time."""
    metrics, positions = measured
    axis = axis_of(golden.shape, axis)
    few = metrics.mismatches <= MOST_LISTED
    if metrics.first is None or not (few or rounding is not None or axis is not None):
        return None
    collected = Collector(golden.shape, metrics.mismatches, positions, axis, own)
    for some in differences(actual, golden, metrics.first):
        if rounding is None:
            collected.add(some, own.steps(some.actual, some.golden) <= most_steps)
        else:
            collected.add(some, *rounding.add(some), rounding.allowed)
    return collected


def _by_actual_scale(
    actual: Source, golden: Source, given: Outputs, model: Model | None, name: str
) -> tuple[bool | None, Metrics | None]:
    """Say whether codes follow from their own scale, and compare the numbers that both stand for.

    None where the scale is the golden's, or these are no codes.
    """
    number = -1 if model is None else model.outputs.index(name)
    if model is None or model.kinds[number] != "codes":
        return None, None
    scales = [s for n in model.scale_outputs(number) if (s := _other_scale(given, model, n))]
    if not scales:
        return None, None
    # Of several, that which they follow from; the first one that could be.
    follows = [follows_scale(model, number, actual, golden, scale) for scale, _ in scales]
    scale, theirs = scales[follows.index(max(follows))]
    if not model.has_numbers:
        return max(follows), None
    ours = Dequantized(model, number, actual, scale)
    return max(follows), measure(ours, Dequantized(model, number, golden, theirs))[0]


def _only_the_worst(where: Where | None, shape: tuple[int, ...]) -> Seen:
    if where is None:
        return Seen()
    index = tuple(int(i) for i in np.unravel_index(where.worst, shape))
    actual, golden = where.worst_values
    return Seen((Element(index, float(actual), float(golden), None, None),))


def _other_scale(
    given: Outputs, model: Model, number: int
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return an actual scale output and the golden one, where these are there and not the same."""
    source, golden = given.get(model.outputs[number]), model.golden()[number]
    if source is None or golden is None or not are_alike(source, ArraySource(golden)):
        return None
    scale = source.array()
    return None if scale.tobytes() == golden.tobytes() else (scale, golden)


def matches_of(
    model: Model | None, given: Outputs, outputs: Sequence[OutputComparison], named: str | None
) -> Explained:
    """Return the formulas that give all outputs, or come near where they fail.

    Raises:
        ParamError: the operator has no formula that goes by the name that was given.
    """
    if model is None:
        return Explained()
    if named is not None and not _is_known(model, named):
        every = either(
            f"npu_quant.golden.list_variants({model.op!r}) has the steps that names are made of",
            "--explain ranks what was tried",
        )
        raise ParamError(f"variant is {named!r}, which {model.op} does not know: {every}.")
    if any(o.metrics is None for o in outputs) or all(o.rung == "identical" for o in outputs):
        return Explained()
    sources = (given.get(name) for name in model.outputs)
    arrays = tuple(None if source is None else source.array() for source in sources)
    fails = any(o.rung == "different" for o in outputs)
    many = any(verdict.has_many_ties(o) for o in outputs)
    return explained(model, arrays, named, up_to_ties=fails, far_fewer=many)


def _is_known(model: Model, name: str) -> bool:
    """Tell whether a formula goes by a name."""
    others = (*PROFILES, *model.form.siblings)
    return name in others or formula_named(model.form, name, model) is not None


def settled(
    outputs: Sequence[OutputComparison],
    pairs: Sequence[Paired],
    matches: tuple[VariantMatch, ...],
    accepted: str | None,
    limits: Limits,
) -> list[OutputComparison]:
    """Give the outputs that rounding does not explain their last chances, and conclude."""
    result = []
    fails = any(output.rung == "different" for output in outputs)
    near = not fails and verdict.speaks_against_ties(outputs, matches)
    for output, (_, actual, golden) in zip(outputs, pairs, strict=True):
        tolerance = _tolerance(output, actual, golden, limits)
        rung = verdict.settled(
            output.rung,
            0 if output.metrics is None else output.metrics.mismatches,
            named=any(match.explains and (fails or not match.total) for match in matches),
            near=near,
            accepted=accepted is not None,
            kept=tolerance is not None and tolerance.passed,
        )
        done = dataclasses.replace(
            output, rung=rung, variant_accepted=accepted is not None, tolerance=tolerance
        )
        done = verdict.concluded(done)
        if done.rung_of_values is not None and actual is not None and golden is not None:
            done = dataclasses.replace(done, notes=(note_of(done, actual, golden), *done.notes))
        if done.passed and golden is not None:
            assert output.metrics is not None
            # Its range spares most goldens being read once more.
            least, greatest = output.metrics.golden_range
            constant = not least < greatest and is_constant(golden)
            done = dataclasses.replace(done, constant=constant)
        result.append(done)
    unheeded = all(o.tolerance is None and o.problem is None for o in result)
    if limits.preset is not None and unheeded:
        kinds = ", ".join(sorted({o.dtype.name for o in outputs}))
        raise ParamError(f"preset {limits.preset} has no rule for {kinds}.")
    return result


def _used(measured: Measured, limits: Limits, name: str) -> float | None:
    """Return how much of a tolerance two arrays use; None where none was asked for."""
    if limits.preset is not None:
        return rule_of(limits.preset)(measured)
    bounds = limits.of(name)
    return None if bounds is None else measured.excess(*bounds).ratio


def _tolerance(
    output: OutputComparison, actual: Source | None, golden: Source | None, limits: Limits
) -> Tolerance | None:
    """Measure an output against the tolerance that was asked for."""
    if output.metrics is None or actual is None or golden is None:
        return None
    own = elements_of_output(output)
    used = _used(Measured(output.metrics, actual, golden, own), limits, output.name)
    if used is None:
        return None

    def accepts(actual: Source, golden: Source) -> bool:
        metrics, _ = measure(actual, golden, own)
        wrong = _used(Measured(metrics, actual, golden, own), limits, output.name)
        return wrong is not None and is_kept(wrong)

    power = power_of(golden, accepts, own)
    return Tolerance(limits.text(output.name), is_kept(used), used, power)
