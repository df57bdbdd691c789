"""compare: on which rung an actual result stands, and everything that led there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import ParamError
from . import verdict
from .arguments import Paired, as_outputs, checked_names, completed, names_of, paired
from .comparison import Comparison, OutputComparison, Tolerance, VariantMatch
from .diagnose import diagnose
from .judge import judge
from .metrics import Metrics, measure
from .operators import (
    Model,
    applicable,
    list_variants,
    matching_variants,
    model_of,
    name_of,
    outputs_of,
)
from .power import power_of
from .request import Limit, Limits, Request
from .sources import Source
from .tolerance import Measured, excess_of_sources, is_kept, rule_of
from .where import has_axis


def compare(
    actual: Any,
    golden: Any = None,
    *,
    op: str | Callable[..., Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    numerics: str | None = None,
    atol: Limit = None,
    rtol: Limit = None,
    preset: str | None = None,
    variant: str | None = None,
    names: Sequence[str] | None = None,
) -> Comparison:
    """Compare results with their golden, and tell rounding from a bug.

    The verdict is one of five rungs, the best that applies (docs/golden.md has the definitions):

    ==============  ==============================================================================
    rung            meaning
    ==============  ==============================================================================
    ``identical``   the same bytes (NaN equals NaN)
    ``tie``         every differing code is one step off, and the number before rounding lies so
                    near the tie between the two that the formula's own roundings explain it
    ``variant``     the bytes of a named other formula
    ``tolerated``   beyond that, but within the tolerance that was asked for
    ``different``   none of these
    ==============  ==============================================================================

    `tie` and `variant` need the inputs: with two arrays alone no tie is claimed.

    Args:
        actual: what is to be judged: an array, or a tuple or dict of arrays, None for an output
            that is not at hand. NumPy arrays of any strides, numbers, torch tensors, and what
            :func:`npu_quant.golden.load` returns. Where `op` computes the golden, an array alone
            is the operator's first output, and no other is compared.
        golden: what it should be, in the same form. None where `op` computes it. An output that
            only one of the two has is `different`, unless the other says None of it.
        op: the operator, as a name or a function. With `inputs` it computes the golden; beside a
            golden it names the outputs.
        inputs: the operator's arguments by their names, attributes too.
        numerics: the arithmetic profile to compute the golden with.
        atol: the greatest difference that is tolerated; a dict gives one per output. None: none.
        rtol: the same relative to the golden: ``|actual - golden| <= atol + rtol * |golden|``.
        preset: the acceptance rule of another tool instead: ``exact``, ``off_by_one``,
            ``thousandth``, ``sqnr=40`` (any number of dB), ``cann``, ``cann-en``, ``msprobe``.
        variant: the name of a formula that is accepted too (:func:`list_variants`).
        names: names of the outputs, where no operator gives them.

    Returns:
        A :class:`Comparison`. It passes if every output does; its rung is the worst output's, what
        fails being worse than whatever passes. Nothing is refused here: empty or constant arrays
        compare as what they are (:func:`npu_quant.testing.assert_golden` refuses what could only
        pass).

    Raises:
        DTypeError: an argument is no array, or of a dtype that cannot be compared.
        ParamError: `op`, `inputs`, `preset`, `variant` or `names` do not fit.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0, 1, -2, 4]], dtype=np.float16)
        >>> y = np.array([[0, 32, -63, 127]], dtype=np.int8)  # -63.5 is a tie
        >>> comparison = npu_quant.golden.compare(y, op="npu_dynamic_quant", inputs={"input": x})
        >>> comparison.rung, comparison.passed
        ('tie', True)
    """
    request = Request(op, inputs, numerics, Limits(atol, rtol, preset), variant, names)
    return run(actual, golden, request)


def run(actual: Any, golden: Any, request: Request) -> Comparison:
    """Compare as :func:`compare` does."""
    request.limits.check()
    op, names = _operator(golden, request)
    model = None
    if op is not None and request.inputs is not None:
        model = model_of(op, request.inputs, request.numerics)
        golden = {n: g for n, g in zip(model.outputs, model.golden(), strict=True) if g is not None}
        actual = completed(actual, model.outputs)
    names = names_of(actual, golden) if names is None else names
    given, goldens = as_outputs(actual, names, "actual"), as_outputs(golden, names, "golden")
    order = list(dict.fromkeys([*given, *goldens])) if names is None else names
    request.limits.check_names(order)
    pairs = paired(given, goldens, order)
    _check_axis(request.axis, pairs)
    outputs = [judge(pair, given, model, request) for pair in pairs]
    matches = _matches(model, given, outputs, request)
    accepted = verdict.accepted_of(matches, request.variant)
    return Comparison(
        op=op,
        outputs=tuple(_lift(outputs, matches, accepted, model, request)),
        actual_name=request.actual_name or _name_of([a for _, a, _ in pairs]),
        golden_name=request.golden_name or _name_of([g for *_, g in pairs], model),
        variants=matches,
        accepted_variant=accepted,
        formulas=0 if model is None else len(applicable(model)),
        rerun=request.rerun,
        not_compared=tuple(verdict.not_compared(order, given, goldens)),
        model=model,
    )


def _name_of(sources: Sequence[Source | None], model: Model | None = None) -> str:
    """Return where arrays came from: the name of the first one that is there."""
    if model is not None:
        return "computed"
    return next((source.name for source in sources if source is not None), "") or "array"


def _check_axis(axis: int | None, pairs: Sequence[Paired]) -> None:
    """Raise ParamError if no array has the axis that was asked for."""
    there = [source for _, *both in pairs for source in both if source is not None]
    if axis is not None and not any(has_axis(source, axis) for source in there):
        ranks = ", ".join(sorted({str(len(source.shape)) for source in there}))
        raise ParamError(f"compare: axis is {axis}, the arrays have rank {ranks}.")


def _operator(golden: Any, request: Request) -> tuple[str | None, Sequence[str] | None]:
    """Return the operator's name and the outputs' names, where there are any."""
    given = golden is not None
    if request.op is None:
        if request.inputs is not None:
            raise ParamError("compare: inputs are given, but no op that takes them.")
        if not given:
            raise ParamError("compare: give a golden, or op and inputs to compute it.")
    elif not given and request.inputs is None:
        raise ParamError("compare: give inputs, from which op computes the golden, or a golden.")
    if given and request.inputs is not None:
        raise ParamError("compare: give a golden or inputs, not both.")
    if given and request.variant is not None:
        raise ParamError("compare: variant needs op and inputs, which it is computed from.")
    if request.numerics is not None and request.inputs is None:
        raise ParamError("compare: numerics needs op and inputs, which it computes the golden by.")
    if request.op is None:
        return None, checked_names(request.names)
    if request.names is not None:
        raise ParamError("compare: names are given by op.")
    return name_of(request.op), outputs_of(request.op)


def _matches(
    model: Model | None,
    given: Mapping[str, Source | None],
    outputs: list[OutputComparison],
    request: Request,
) -> tuple[VariantMatch, ...]:
    """Return the named formulas that give all outputs."""
    if model is None:
        return ()
    if request.variant is not None:
        known = [v.name for v in list_variants(model.op)]
        if request.variant not in known:
            listed = ", ".join(known[:8])
            raise ParamError(
                f"compare: variant is {request.variant!r}, which {model.op} does not know. Known: "
                f"{listed} ...: npu_quant.golden.list_variants({model.op!r})."
            )
    if any(o.problem for o in outputs) or all(o.rung == "identical" for o in outputs):
        return ()
    first = {
        model.outputs.index(o.name): o.metrics.first
        for o in outputs
        if o.metrics is not None and o.metrics.first is not None
    }
    sources = (given.get(name) for name in model.outputs)
    arrays = tuple(None if source is None else source.array() for source in sources)
    return matching_variants(model, arrays, first)


def _lift(
    outputs: list[OutputComparison],
    matches: tuple[VariantMatch, ...],
    accepted: str | None,
    model: Model | None,
    request: Request,
) -> list[OutputComparison]:
    """Give the outputs that rounding does not explain their last chances."""
    passes = accepted is not None
    lifted = []
    for output in outputs:
        tolerance = _tolerance(output, request.limits)
        kept = tolerance is not None and tolerance.passed
        mismatches = 0 if output.metrics is None else output.metrics.mismatches
        rung = verdict.settled(
            output.rung, mismatches, named=bool(matches), accepted=passes, kept=kept
        )
        done = dataclasses.replace(output, rung=rung, variant_accepted=passes, tolerance=tolerance)
        notes = diagnose(done, model) if rung == "different" else ()
        lifted.append(dataclasses.replace(done, notes=notes))
    unheeded = all(o.tolerance is None and o.problem is None for o in lifted)
    if request.limits.preset is not None and unheeded:
        kinds = ", ".join(sorted({o.dtype.name for o in outputs}))
        raise ParamError(f"compare: preset {request.limits.preset} says nothing about {kinds}.")
    return lifted


def _used(
    metrics: Metrics, actual: Source, golden: Source, limits: Limits, name: str
) -> float | None:
    """Return how much of a tolerance two arrays use; None where none was asked for."""
    if limits.preset is not None:
        return rule_of(limits.preset)(Measured(metrics, actual, golden))
    bounds = limits.of(name)
    return None if bounds is None else excess_of_sources(actual, golden, *bounds).ratio


def _tolerance(output: OutputComparison, limits: Limits) -> Tolerance | None:
    """Measure an output against the tolerance that was asked for."""
    if output.metrics is None or output.actual is None or output.golden is None:
        return None
    used = _used(output.metrics, output.actual, output.golden, limits, output.name)
    if used is None:
        return None

    def accepts(actual: Source, golden: Source) -> bool:
        wrong = _used(measure(actual, golden)[0], actual, golden, limits, output.name)
        return wrong is not None and is_kept(wrong)

    power = power_of(output.golden, accepts)
    return Tolerance(limits.text(output.name), is_kept(used), used, power)
