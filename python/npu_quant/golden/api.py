"""compare and explain, and what they return: the data of results.py, with its reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._kinds import Progress, whole
from .._shown import some_of
from ..arrays import Source
from ..errors import ParamError
from ..files import check_sums
from .explanation_results import ExplanationData
from .judge import verdict
from .judge.casts import in_one_dtype
from .judge.causes import with_causes
from .judge.outputs import (
    as_elements,
    check_axis,
    judged,
    matches_of,
    paired,
    settled,
)
from .judge.power import blind_spot
from .judge.ranking import ranked_formulas
from .judge.refusal import refusal_of
from .judge.request import Limit, Limits, OperatorName, Request
from .judge.tolerance import Preset
from .judge.undefined import defined, in_full, in_place
from .operators import Model, model_of, name_of, outputs_of
from .report import explanation as of_formulas
from .report import pair
from .report.reports import Reported
from .results import BlindSpot, ComparisonData, Element, OutputComparison
from .sides import (
    Outputs,
    Paired,
    as_outputs,
    checked_names,
    completed,
    names_of,
    of_numbers,
)
from .sources import ArraySource


class Comparison(Reported, ComparisonData):
    """What :func:`npu_quant.golden.compare` returns: the rung, and everything that led to it.

    ``str()`` is the report, at most 12 facts; a notebook shows tables and pictures, and
    :meth:`to_html` returns a page of them. A comparison is plain data: it holds none of the arrays,
    does not change when they change, and can be pickled.
    """

    def worst(self, k: int = 10, output: str | None = None) -> list[Element]:
        """Return the k worst elements of an output, the worst first.

        The worst element is the farthest from a rounding tie if that distance is known, else the
        one with the greatest difference. A comparison keeps the 100 worst. If no tie is known and
        more than 1,048,576 elements differ, it keeps only one: compare a part of the arrays to see
        others.

        Args:
            k: how many.
            output: its name; None means the decisive one.
        """
        chosen = self.decisive if output is None else self.output(output)
        return list(chosen.seen.worst[: max(0, whole("worst", "k", k))])

    _report, _data = pair.report_of, pair.data_of

    def __repr__(self) -> str:
        op = f"{self.op} " if self.op else ""
        return f"<Comparison {op}{some_of([o.title for o in self.outputs])}: {self.rung}>"


class Explanation(Reported, ExplanationData):
    """Every named formula of an operator, compared with its actual outputs: print it."""

    _report, _data = of_formulas.report_of, of_formulas.data_of

    def __repr__(self) -> str:
        return f"<Explanation {self.op}: {len(self.matches)} of {len(self.ranked)} formulas match>"


def compare(
    actual: Any,
    golden: Any = None,
    *,
    op: OperatorName | Callable[..., Any] | None = None,
    inputs: Any = None,
    numerics: str | None = None,
    atol: Limit = None,
    rtol: Limit = None,
    preset: Preset | None = None,
    variant: str | None = None,
    names: Sequence[str] | None = None,
    axis: int | None = None,
    progress: Progress | None = None,
    allow_constant: bool = False,
) -> Comparison:
    """Compare results with a golden, and tell rounding from a bug.

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

    `tie` and `variant` need the inputs: a comparison of two arrays alone never ends in `tie`. Codes
    of int4, hifloat8 and float8 are judged by the numbers that they stand for, which the operator's
    own arguments say: int4 packed in int32 or an element each, hifloat8 and float8 as bytes, too.
    What an operator's documents leave undefined is not compared, and the report says what that is.

    Args:
        actual: what is to be judged: an array, or a tuple or dict of arrays, None for an output
            that is not at hand. NumPy arrays of any strides, numbers, torch tensors, and what
            :func:`npu_quant.golden.load` returns; a list of numbers is an array, too, where no
            operator and no names say that it is a list of outputs. Where `op` computes the golden,
            an array alone is the operator's first output, and no other is compared.
        golden: what it should be, in the same form. None where `op` computes it. An output that
            only one side has is `different`, unless the other side gives None for it.
        op: the operator, as a name or a function. With `inputs` it computes the golden; beside a
            golden it names the outputs.
        inputs: the operator's arguments by name, attributes included; or a tuple or list of them in
            the operator's order, or its first argument alone.
        numerics: the arithmetic profile to compute the golden with.
        atol: the greatest difference that is tolerated; a dict gives one per output. None means
            none.
        rtol: the same relative to the golden: ``|actual - golden| <= atol + rtol * |golden|``.
        preset: the acceptance rule of another tool instead: ``exact``, ``off_by_one``,
            ``thousandth`` (or ``双千分之一``), ``sqnr=40`` (any number of dB), ``cann``,
            ``cann-en``, ``msprobe``.
        variant: the name of a formula that is accepted too (:func:`list_variants`).
        names: names of the outputs, where no operator gives them.
        axis: an axis along which the report also locates differences, besides rows and columns.
        progress: called with (elements compared, elements in all) of each output, now and then.
        allow_constant: accept a golden that holds one value only; otherwise `refusal` says so.

    Returns:
        A :class:`Comparison`. It passes if every output passes; its rung is the worst output's, and
        any rung that fails is worse than any that passes. This function refuses no comparison: it
        compares empty or constant arrays, and `refusal` says why they could only pass;
        :func:`npu_quant.testing.assert_golden` refuses them for that reason.

    Raises:
        DTypeError: an argument is not an array, or its dtype cannot be compared.
        ParamError: `op`, `inputs`, `preset`, `variant` or `names` do not fit.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0, 1, -2, 4]], dtype=np.float16)
        >>> y = np.array([[0, 32, -63, 127]], dtype=np.int8)  # -63.5 is a tie
        >>> comparison = npu_quant.golden.compare(y, op="npu_dynamic_quant", inputs={"input": x})
        >>> comparison.rung, comparison.passed
        ('tie', True)
    """
    limits = Limits(atol, rtol, preset)
    request = Request(op, inputs, numerics, limits, variant, names, axis=axis)
    request = dataclasses.replace(request, progress=progress, allow_constant=allow_constant)
    return run(actual, golden, request)


@dataclasses.dataclass(frozen=True)
class Sides:
    """What is to be compared, as arrays by name."""

    op: str | None
    model: Model | None
    """What computed the golden, if anything did."""
    actual: Outputs
    golden: Outputs
    order: Sequence[str]
    """The names of all outputs."""
    pairs: Sequence[Paired]
    twice: bool
    """Whether an output is the same object on both sides."""
    given: tuple[Any, ...] = ()
    """Actual, golden and inputs as they were given, whose files may have checksums."""


def run(actual: Any, golden: Any, request: Request) -> Comparison:
    """Compare as :func:`compare` does."""
    return compared(sides_of(actual, golden, request), request)


def sides_of(actual: Any, golden: Any, request: Request) -> Sides:
    """Return what is to be compared; compute the golden where there are inputs."""
    request.check()
    given_so = actual, golden, request.inputs
    twice = _has_one_object_twice(actual, golden)
    op, names = _operator(golden, request)
    if names is None:
        actual, golden = of_numbers(actual), of_numbers(golden)
    model = None
    if op is not None and request.inputs is not None:
        model = model_of(op, request.inputs, request.numerics)
        golden = {n: g for n, g in zip(model.outputs, model.golden(), strict=True) if g is not None}
        names = model.outputs  # of some operators as many as there are groups
        actual = completed(actual, names)
    names = names_of(actual, golden) if names is None else names
    given, goldens = as_outputs(actual, names, "actual"), as_outputs(golden, names, "golden")
    given = given if model is None else as_elements(given, model)
    order = list(dict.fromkeys([*given, *goldens])) if names is None else names
    request.limits.check_names(order)
    pairs = paired(given, goldens, order)
    check_axis(request.axis, pairs)
    return Sides(op, model, given, goldens, order, pairs, twice, given_so)


def compared(sides: Sides, request: Request) -> Comparison:
    """Compare two sides.

    Raises:
        FileError: something differs, and a file has a checksum that its bytes do not have.
    """
    model = sides.model
    whole = [in_one_dtype(pair, model) for pair in sides.pairs]
    given = {**sides.actual, **{name: actual for name, actual, _ in whole if actual is not None}}
    pairs = [in_place(pair, model) for pair in whole]
    outputs = [judged(pair, given, model, request) for pair in pairs]
    if any(output.rung != "identical" for output in outputs):
        check_sums(*sides.given)  # before anything is said of what may be damage
    matches, least_left = matches_of(model, given, outputs, request.variant)
    accepted = verdict.accepted_of(matches, request.variant)
    kept = [defined(pair, model) for pair in pairs]
    outputs = settled(outputs, kept, matches, accepted, request.limits)
    outputs = with_causes(outputs, pairs, model)
    outputs = [in_full(*both, model) for both in zip(outputs, whole, strict=True)]
    comparison = Comparison(
        op=sides.op,
        outputs=tuple(outputs),
        decisive=verdict.decisive_of([o for o in outputs if o.rows_compared != 0] or outputs),
        margin=verdict.greatest_margin(outputs),
        actual_name=request.actual_name or _origin([a for _, a, _ in pairs]),
        golden_name=request.golden_name or _origin([g for *_, g in pairs], model),
        variants=matches,
        accepted_variant=accepted,
        least_left=least_left,
        formulas=0 if model is None else 1 + len(model.form.steps_for(model)),
        rerun=request.rerun,
        not_compared=tuple(verdict.not_compared(sides.order, given, sides.golden)),
        blind_spot=_blind_spot(model, outputs, whole),
    )
    return dataclasses.replace(comparison, refusal=_refusal(comparison, sides, request))


def _refusal(comparison: Comparison, sides: Sides, request: Request) -> str | None:
    if not comparison.passed:
        return None
    twice = "actual and golden are the same object, which equals itself." if sides.twice else None
    return refusal_of(comparison, request.allow_constant) or twice


def _blind_spot(
    model: Model | None, outputs: Sequence[OutputComparison], pairs: Sequence[Paired]
) -> BlindSpot | None:
    """Measure what codes that pass say of a scale that was not compared."""
    kinds = [output.kind for output in outputs]
    if model is None or "scale" not in model.kinds or "codes" not in kinds or "scale" in kinds:
        return None
    name, _, golden = pairs[kinds.index("codes")]
    all_pass = all(output.passed for output in outputs)
    # A factor on all of a row that is normed is in its scale alone: codes say nothing of it.
    if golden is None or not all_pass or not model.has_scale_per_row or model.scales_have_ties:
        return None
    return blind_spot(model, model.outputs.index(name), golden)


def _has_one_object_twice(actual: Any, golden: Any) -> bool:
    """Say whether an output is compared with itself; numbers are the same object by chance."""
    if isinstance(actual, Mapping) and isinstance(golden, Mapping):
        return any(_has_one_object_twice(actual[n], golden.get(n)) for n in actual)
    if isinstance(actual, (tuple, list)) and isinstance(golden, (tuple, list)):
        return any(_has_one_object_twice(a, g) for a, g in zip(actual, golden, strict=False))
    return actual is golden and not isinstance(actual, (int, float, type(None)))


def _origin(sources: Sequence[Source | None], model: Model | None = None) -> str:
    """Return where arrays came from: the name of the first one that is there."""
    if model is not None:
        return "computed"
    return next((source.name for source in sources if source is not None), "") or "array"


def _operator(golden: Any, request: Request) -> tuple[str | None, Sequence[str] | None]:
    given = golden is not None
    if request.op is None:
        if request.inputs is not None:
            raise ParamError("inputs are given, but no op that takes them.")
        if not given:
            raise ParamError("give a golden, or op and inputs to compute it.")
    elif not given and request.inputs is None:
        raise ParamError("give inputs, from which op computes the golden, or a golden.")
    if given and request.inputs is not None:
        raise ParamError("give a golden or inputs, not both.")
    if given and request.variant is not None:
        raise ParamError("variant needs op and inputs, which it is computed from.")
    if request.numerics is not None and request.inputs is None:
        raise ParamError("numerics needs op and inputs, which it computes the golden by.")
    if request.op is None:
        return None, checked_names(request.names)
    if request.names is not None:
        raise ParamError("op gives the names of the outputs; leave names out.")
    return name_of(request.op), outputs_of(request.op)


def explain(
    actual: Any,
    op: OperatorName | Callable[..., Any],
    inputs: Any,
    *,
    numerics: str | None = None,
    progress: Progress | None = None,
) -> Explanation:
    """Try every named formula of an operator on its inputs, and rank them by how well they fit.

    Args:
        actual: the operator's results: its first output, a tuple in its order with None for an
            output that is not at hand, or a dict by the outputs' names.
        op: the operator or its name.
        inputs: the operator's arguments, as :func:`compare` takes them.
        numerics: the arithmetic profile of the golden, by default the current one; the formulas
            do not depend on it.
        progress: called with (elements tried, elements in all), now and then.

    Returns:
        An :class:`Explanation`: print it, or look at ``matches`` and ``ranked``. With more than 4
        million elements, the nearest formulas are counted on all of them, and the others on a
        sample of rows (``estimated``). The formulas in ``matches`` give every element.

    Raises:
        ParamError: `op` or `inputs` do not fit, or an actual output has another shape.
        DTypeError: an actual output has a dtype that cannot be converted to the operator's without
            a loss.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0.3, 1, -2, 4], [5, 2.6, 1.2, -3.4]], dtype=np.float16)
        >>> y = np.array([[9, 31, -63, 127], [127, 66, 30, -86]], dtype=np.int8)
        >>> explanation = npu_quant.golden.explain(y, op="npu_dynamic_quant", inputs={"input": x})
        >>> explanation.matches[0].name
        'truncation'
    """
    Request(op, inputs, numerics, progress=progress).check("explain")
    model = model_of(op, inputs, numerics)
    given = as_elements(as_outputs(actual, model.outputs, "actual"), model)
    pairs = [
        (name, given.get(name), None if golden is None else ArraySource(golden))
        for name, golden in zip(model.outputs, model.golden(), strict=True)
    ]
    sources = [in_one_dtype(pair, model)[1] for pair in pairs]
    regions = [model.undefined(i) for i in range(len(pairs))]
    arrays = [
        None if source is None or (region is not None and not region.count) else source.array()
        for source, region in zip(sources, regions, strict=True)
    ]
    if any(s is not None for s in sources) and all(array is None for array in arrays):
        raise ParamError(f"{model.op} leaves all of actual undefined: nothing can be explained.")
    results = ranked_formulas(model, arrays, progress)
    known = {n: a for n, a in zip(model.outputs, arrays, strict=True) if a is not None}
    titles = tuple(
        f"{name} {model.elements_of(model.outputs.index(name)).name or array.dtype} {array.shape}"
        for name, array in known.items()
    )
    sizes = {name: int(array.size) for name, array in known.items()}
    return Explanation(model.op, sizes, results, titles)
