"""Why a comparison came out as it did, in a line: its cause, else a formula, a place, numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ..._shown import some_of
from ..elements import elements_of_output
from ..judge.verdict import may_be_rounding
from ..measure.layout import every
from ..results import (
    ComparisonData,
    Concentration,
    LeftOut,
    Metrics,
    OutputComparison,
    VariantMatch,
    Where,
)
from . import words

_COUNTED = {
    "": "",
    "unexplained": " that rounding does not explain",
    "far": " that are more than one step off",
}
_MOST_LEFT = 20
"""A formula that leaves one in so many differences is worth a word, whatever lies at ties."""
_MOST_NAMED = 2
_CAUSE = 1
"""The rank of a cause."""


class Reason(NamedTuple):
    """What a verdict stands on."""

    text: str
    of: str = ""
    """Of which output, and of how many of its differences."""
    rank: int = 0
    """The less the more it tells: a cause, a formula, one element, a place, numbers."""

    def __str__(self) -> str:
        return f"{self.text} ({self.of})" if self.of else self.text


def reason_of(comparison: ComparisonData) -> Reason:
    """Return what the verdict of a comparison stands on."""
    if comparison.missing or comparison.extra:
        return Reason("; ".join(structure(comparison)))
    if comparison.rung == "variant" and exact(comparison):
        return Reason(follows(comparison, exact(comparison)[0]))
    if comparison.rung == "identical":
        of_each = partial(reason_of_output, comparison)
        outputs = [o for o in comparison.outputs if o.rows_compared != 0] or comparison.outputs
        return Reason(some_of(outputs, _MOST_NAMED, lambda o: str(of_each(o))))
    failing = [o for o in in_order_of_cause(comparison) if not o.passed]
    failing = failing or [comparison.decisive]
    reasons = [reason_of_output(comparison, o) for o in failing]
    # A cause of the codes says what was done to rows; that of their scales follows from it.
    least = min(reason.rank for reason in reasons)
    best = [pair for pair in zip(reasons, failing, strict=True) if pair[0].rank == least]
    of_codes = (reason for reason, o in best if o.kind not in ("scale", "offset"))
    return next(of_codes, best[0][0]) if least == _CAUSE else best[0][0]


def reason_of_output(comparison: ComparisonData, output: OutputComparison) -> Reason:
    """Return the best that is known of one output."""
    return next(_reasons(comparison, output))


def in_order_of_cause(comparison: ComparisonData) -> list[OutputComparison]:
    """Return the outputs, the decisive one first: a wrong scale before its consequences."""
    first = comparison.decisive
    return [first, *(o for o in comparison.outputs if o is not first)]


def structure(comparison: ComparisonData) -> list[str]:
    """List the outputs that only one side has."""
    both = (("missing from", comparison.missing), ("extra in", comparison.extra))
    return [f"{what} actual: {words.names(names)}" for what, names in both if names]


def set_aside(comparison: ComparisonData) -> list[str]:
    """Say what operators leave undefined, and of which outputs where others have such rows, too."""
    found: dict[LeftOut, list[str]] = {}
    for o in comparison.outputs:
        if o.left_out is not None:
            found.setdefault(o.left_out, []).append(o.name)
    compared = {o.name for o in comparison.outputs if o.shape and o.rows_compared != 0}
    return [
        f"{words.names(names)}: " * bool(left_out.rows and compared - {*names})
        + left_out_text(left_out, *names)
        for left_out, names in found.items()
    ]


def left_out_text(left_out: LeftOut, *names: str) -> str:
    """Say what is left out of outputs of these names."""
    rows = left_out.rows
    is_one = rows.startswith("row ") if rows else len(names) == 1
    return f"{rows or words.names(names)} {'is' if is_one else 'are'} {left_out.why}: not compared"


def exact(comparison: ComparisonData) -> list[VariantMatch]:
    """Return the formulas that give all of the actual outputs, byte for byte."""
    return [variant for variant in comparison.variants if not any(variant.left.values())]


def _reasons(comparison: ComparisonData, output: OutputComparison) -> Iterator[Reason]:
    """Yield what there is to say of an output, the most telling first."""
    name, m = output.name, output.metrics
    if output.left_out is not None and output.rows_compared == 0:
        yield Reason(left_out_text(output.left_out, name))
        return
    if output.problem is not None or m is None:
        text = output.notes[0] if output.rung_of_values else output.problem or "not compared"
        yield Reason(text, "" if output.rung_of_values else name)
        return
    if output.passed:
        yield Reason(_stands_on(comparison, output, m), name)
        return
    noun, found = noun_of(output), output.where.concentrations[:2] if output.where else ()
    counts = f"{words.count(m.mismatches)} of {words.counted(m.count, noun)}"
    if found:
        counts = f"{words.count(found[0].held)} of {words.counted(found[0].of, 'difference')}"
    of = ", ".join(filter(None, [name, counts]))
    for cause in (*output.causes, *output.notes):
        yield Reason(cause, of, _CAUSE)
    if output.ties is not None and output.ties.contradicting:
        yield Reason("equal numbers of a group have different codes", of, _CAUSE)
    for variant in comparison.variants:
        if _is_near(variant, output, m):
            yield Reason(follows(comparison, variant, output), name, 2)
    if is_maybe_rounding(comparison, output):
        yield Reason("may be rounding: each is one step", of, 3)
    if m.mismatches == 1 and output.where is not None:
        yield Reason(pair_text(output, output.where), of, 3)
    if found:
        both = all(each.held == each.of and each.kind != "block" for each in found)
        yield Reason(" and ".join(map(place_text, found[: 1 + both])), of, 4)
    yield Reason(_numbers(m, noun), name, 5)


def _stands_on(comparison: ComparisonData, output: OutputComparison, m: Metrics) -> str:
    noun = noun_of(output)
    if output.rung == "identical":
        return f"all {words.counted(m.count, noun)}"
    if output.rung == "variant" and comparison.variants:
        return follows(comparison, comparison.variants[0])
    differing, step = differ(m, noun), elements_of_output(output).step.removesuffix("s")
    if output.rung == "tie" and output.ties is not None and output.kind != "scale":
        return f"{differing}, each within {words.distance(output.ties.farthest)} ulp of a tie"
    if output.tolerance is not None and output.rung == "tolerated":
        used = words.number(output.tolerance.margin, 3)
        return f"{differing}, by {used} times what {output.tolerance.text} allows"
    return f"{differing}, by up to {words.counted(m.max_steps, step)}"


def _is_near(variant: VariantMatch, output: OutputComparison, m: Metrics) -> bool:
    """Say whether a formula explains nearly all differences of an output."""
    left = variant.left.get(output.name, 0)
    return left <= variant.at_ties.get(output.name, 0) or left * _MOST_LEFT <= m.mismatches


def follows(
    comparison: ComparisonData, variant: VariantMatch, output: OutputComparison | None = None
) -> str:
    """Say that outputs, or this one, are what a formula gives, and how many elements are not."""
    left = "" if output is None else left_by(variant, output.name, noun_of(output))
    rest = f"all but {left}" if left else "byte for byte"
    if variant.unwritten:
        rest += f", but for {words.counted(variant.unwritten, 'row')} that it never writes"
    return f"follows {comparison.op} with {named(variant)}, {rest}"


def named(variant: VariantMatch) -> str:
    """Return a formula's name, with the attribute that chooses it."""
    return variant.name + (f" (= --attr {variant.attribute})" if variant.attribute else "")


def left_by(variant: VariantMatch, name: str = "", noun: str = "element") -> str:
    """Return how many elements of an output, by default of all, a formula does not give."""
    names = [name] if name else [*variant.left]
    left, at_ties = (sum(d.get(n, 0) for n in names) for d in (variant.left, variant.at_ties))
    if not left:
        return ""
    where = "each at a tie" if at_ties == left else f"{words.count(at_ties)} of these at a tie"
    return f"{words.counted(left, noun)}, {where}"


def noun_of(output: OutputComparison) -> str:
    """Return what an element is called."""
    return "scale" if output.kind == "scale" else elements_of_output(output).noun


def is_maybe_rounding(comparison: ComparisonData, output: OutputComparison) -> bool:
    """Say whether differences look like rounding, where no inputs tell."""
    return not comparison.computed and may_be_rounding(output)


def differ(m: Metrics, noun: str, wrong: int | None = None) -> str:
    """Say how many elements differ."""
    wrong = m.mismatches if wrong is None else wrong
    verb = "differs" if wrong == 1 else "differ"
    return f"{words.count(wrong)} of {words.counted(m.count, noun)} {verb}"


def nonfinite(m: Metrics) -> str:
    """Say where one side has NaN or an infinity and the other has not."""
    texts = []
    for (actual, golden), n in m.nonfinite.items():
        is_, was = ("a number" if kind == "finite" else kind for kind in (actual, golden))
        texts.append(f"{is_} where the golden has {was}: {words.count(n)}")
    return ", ".join(texts)


def pair_text(output: OutputComparison, where: Where) -> str:
    """Return the worst element, actual and golden, with what lies between."""
    actual, golden = where.worst_values
    index = [int(i) for i in np.unravel_index(where.worst, output.shape)]
    place = f"{words.index(index)} " if index else ""
    place += f"({where.worst_place}) " if where.worst_place else ""
    if elements_of_output(output).carrier.kind == "b":
        ours, theirs = (
            str(bool(byte)) + (f" (byte {byte})" if byte > 1 else "") for byte in (actual, golden)
        )
        return f"{place}actual {ours}, golden {theirs}"
    if elements_of_output(output).is_even:
        return f"{place}actual {actual}, golden {golden}"
    text = f"{place}actual {words.number(actual)}, golden {words.number(golden)}"
    if np.isfinite(actual) and np.isfinite(golden) and golden != 0:
        text += f" ({100 * (actual - golden) / abs(golden):+.3g} %)"
    return text


def _numbers(m: Metrics, noun: str) -> str:
    text = differ(m, noun)
    if m.nonfinite:
        return f"{text}; {nonfinite(m)}"
    return f"{text}, by up to {words.number(m.max_abs)}" if m.max_abs else text


def places(output: OutputComparison) -> list[str]:
    """Say where the differences lie, if chance would not put them there, and how sure that is."""
    if output.where is None:
        return []
    counted = _COUNTED[output.where.counts]
    return [
        f"{place_text(each)} ({words.count(each.held)} of {words.count(each.of)}{counted}; "
        f"by chance {words.odds(each.log10_odds)})"
        for each in output.where.concentrations[:2]
    ]


def place_text(found: Concentration) -> str:
    """Say where differences gather."""
    only = "only" if found.held == found.of else "mostly"
    plural = "s" if len(found.places) > 1 else ""
    where = f"in {found.kind}{plural} {words.places(found.places)}"
    if found.named:
        where = f"in {found.named}"
    elif found.kind.endswith("period"):
        period, residue = found.places
        kind = "rows" if found.kind.startswith("row") else "columns"
        where = f"in {kind} {every(period, residue)}"
    elif found.kind in ("rows", "columns"):
        where = f"in {found.kind} {words.count(found.places[0])} to {words.count(found.places[1])}"
    elif found.kind.startswith("axis"):
        where = f"at {words.places(found.places)} of {found.kind}"
    return f"{only} {where}"
