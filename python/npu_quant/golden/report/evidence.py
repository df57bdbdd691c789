"""The evidence below a verdict: what differs, by how much, where, and what it is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from ..._face import either
from ..._shown import some_of
from ..elements import elements_of_output
from ..judge.power import power_text
from ..judge.verdict import passes
from ..results import ComparisonData, Metrics, OutputComparison
from ..tie_results import Ties
from . import words
from .reports import WIDTH, Line
from .why import (
    differ,
    exact,
    follows,
    in_order_of_cause,
    is_maybe_rounding,
    nonfinite,
    noun_of,
    pair_text,
    places,
    reason_of,
    set_aside,
    structure,
)

_MOST_VARIANTS, _MOST_NAMES = 3, 70
_NEAR = 0.5
"""A formula that leaves so much of the differences may be one of two faults."""
_IN_NUMBERS = ("exact", "sqnr=40")
"""Presets whose answers the counts and the SQNR give."""

# What a line is worth when there are more than fit.
_HEAD, _CAUSE, _FACT, _PLACE, _DETAIL, _EXTRA = 5, 4, 3, 2, 1, 0


def facts_of(comparison: ComparisonData) -> list[Line]:
    """Return what there is to say below the first line: files first, causes, then facts."""
    said, several, lines = reason_of(comparison).text, len(comparison.outputs) > 1, list[Line]()
    head = [*_files(comparison), *(line for line in structure(comparison) if line not in said)]
    head += set_aside(comparison)
    alone = (*comparison.missing, *comparison.extra)
    for output in in_order_of_cause(comparison):
        if output.name not in alone and comparison.rung != "identical":
            name = f"{output.name}: " if several and output.name else ""
            facts = _facts(comparison, output)
            lines += [Line(worth, name + text) for worth, text in facts if text != said]
    lines += _conclusion(comparison)
    lines.sort(key=lambda line: line.worth != _CAUSE)
    return [*(Line(_HEAD, line) for line in head), *lines]


def _files(comparison: ComparisonData) -> list[str]:
    titles = some_of(comparison.outputs, 2, lambda output: output.title)
    start = f"{comparison.op} {titles}" if comparison.op else titles
    sides = f"actual={comparison.actual_name}  golden={comparison.golden_name}"
    both = f"{start}  {sides}"
    return [both] if len(both) < WIDTH else [start, sides]


def _facts(comparison: ComparisonData, output: OutputComparison) -> Iterator[Line]:
    m = output.metrics
    if output.problem is not None:
        yield Line(_FACT, output.problem)
    if output.rung_of_values is not None:
        yield Line(_FACT, output.notes[0])
        output = dataclasses.replace(output, rung=output.rung_of_values, notes=output.notes[1:])
    if output.rows_compared == 0:
        return
    if m is not None and m.mismatches == 0:
        several = len(comparison.outputs) > 1
        text = f"identical: all {words.counted(m.count, noun_of(output))}"
        yield Line(_EXTRA if several else _FACT, text)
    elif m is not None:
        yield from _of_differences(comparison, output, m)
    yield from (Line(_CAUSE, text) for text in (*output.notes, *output.causes))


def _of_differences(
    comparison: ComparisonData, output: OutputComparison, m: Metrics
) -> Iterator[Line]:
    is_scale = comparison.computed and output.kind == "scale"
    maybe, found = is_maybe_rounding(comparison, output), places(output)
    if m.nonfinite:
        yield Line(_FACT, nonfinite(m))
    yield Line(_FACT, _counts_of_scale(output, m) if is_scale else _counts(output, m))
    if not is_scale:
        yield from _rounding(output, m)
    if output.rung != "tie":
        if maybe:
            pattern = "" if found else ", and they form no pattern"
            yield Line(_FACT, f"may be rounding: each is one step{pattern}")
        else:
            yield from _consequence(output)
        yield from (Line(_PLACE, text) for text in found)
        yield Line(_FACT if is_scale else _DETAIL, f"worst {_worst(output)}")
    if not is_scale:
        yield from _extremes(m)
        yield from _similarity(output, m, maybe)


def _counts(output: OutputComparison, m: Metrics) -> str:
    own = elements_of_output(output)
    text = f"{differ(m, own.noun)} ({words.share(m.mismatches, m.count)}); "
    below, above = words.count(m.steps["-1"]), words.count(m.steps["+1"])
    if own.carrier.kind == "b":
        other = m.mismatches - m.steps["-1"] - m.steps["+1"]
        rest = f"  same, in other bytes: {words.count(other)}" if other else ""
        return f"{text}False for True: {below}  True for False: {above}{rest}"
    far = sum(n for step, n in m.steps.items() if step not in ("-1", "0", "+1"))
    return f"{text}{own.step} -1: {below}  +1: {above}  beyond: {words.count(far)}"


def _counts_of_scale(output: OutputComparison, m: Metrics) -> str:
    """Return how many scales differ, and how far beyond rounding."""
    own, text = elements_of_output(output), differ(m, "scale")
    if not m.max_steps:
        return text
    explained = own.scale_steps if output.ties is None else f"{output.ties.allowed:g} ulp"
    step = own.step.removesuffix("s") if m.max_steps == 1 else own.step
    return f"{text}, by up to {words.count(m.max_steps)} {step} (rounding explains {explained})"


def _consequence(output: OutputComparison) -> Iterator[Line]:
    """Say whether codes are what their own, wrong scale gives."""
    if output.follows_scale is None or output.rung == "identical":
        return
    if output.follows_scale:
        text = "follows from the actual scale: the fault is in amax or scale"
        yield Line(_FACT, text)
    else:
        yield Line(_FACT, "does not follow from the actual scale either")
    m, power = output.numbers, "y * 2^(mxscale - 127)"
    if m is not None:
        wrong = m.mismatches - m.zero_signs
        text = f"as numbers, {power}: {differ(m, 'number', wrong)}"
        text += f" · SQNR {words.number(m.sqnr_db, 3)} dB" if m.max_abs else ""
        same = f"the same numbers in other codes: {power} is the golden's"
        yield Line(_FACT, text if wrong else same)


def _extremes(m: Metrics) -> Iterator[Line]:
    """Say what happened at the ends of the range, at zero and to signs, where anything did."""
    counts = {"signs flipped": m.sign_flips, "became 0": m.rounded_to_zero}
    counts["sign of zero"] = m.zero_signs
    texts = [f"{what}: {words.count(n)}" for what, n in counts.items() if n]
    if m.saturated_actual != m.saturated_golden:
        actual, golden = words.count(m.saturated_actual), words.count(m.saturated_golden)
        texts.insert(0, f"at the range's ends: actual {actual}, golden {golden}")
    if texts:
        yield Line(_EXTRA, " · ".join(texts))


def _rounding(output: OutputComparison, m: Metrics) -> Iterator[Line]:
    """Say how far the differing codes lie from a tie: what it is, or is not."""
    ties = output.ties
    if ties is None:
        return
    allowed, farthest = f"{ties.allowed:g}", words.distance(ties.farthest)
    if output.rung == "tie":
        steps = "one step" if m.max_steps <= 1 else f"up to {words.count(m.max_steps)} steps"
        text = f"rounding: each is {steps}, within {farthest} ulp of a tie ({allowed} are allowed)"
        yield Line(_FACT, text)
        if ties.ill_conditioned:
            text = (
                f"ill-conditioned: {words.count(ties.ill_conditioned)} in groups whose numbers lie "
            )
            text += "far beyond their range: any code that equal numbers share passes; compare "
            text += "(y - offset) * scale"
            yield Line(_PLACE, text)
    else:
        yield Line(_FACT, _no_rounding(ties, m, f"rounding explains {allowed}"))


def _no_rounding(ties: Ties, m: Metrics, explained: str) -> str:
    farthest = words.distance(ties.farthest)
    if np.isnan(ties.farthest) and np.isnan(ties.farthest_value):
        why = "some have no number before rounding (scale 0, inf, NaN; or none is computed)"
        return f"not rounding: {why}"
    if not np.isfinite(ties.farthest):
        return "not rounding: some values belong to no code"
    if ties.within == m.mismatches:
        return f"another formula's bytes: all within {farthest} ulp of a tie, {explained}"
    if m.max_steps == 0:
        return f"not rounding: zeros have another sign, {explained}"
    if ties.farthest <= ties.allowed:
        return f"not rounding: more than one step apart, {explained}"
    return f"not rounding: up to {farthest} ulp from a tie, {explained}"


def _worst(output: OutputComparison) -> str:
    """Return the worst element, with its number before rounding where that is known."""
    assert output.where is not None
    pair = pair_text(output, output.where)
    if output.ties is None or output.ties.farthest_index != output.where.worst:
        return pair
    return f"{pair}; {words.number(output.ties.farthest_value)} before rounding"


def _similarity(output: OutputComparison, m: Metrics, maybe: bool) -> Iterator[Line]:
    """Say what other tools make of it; no cosine or SQNR where no pair of finite values differs."""
    told = {name: passed for name, passed in output.presets.items() if name not in _IN_NUMBERS}
    parts = [f"cosine {words.number(m.cosine, 9)}", f"SQNR {words.number(m.sqnr_db, 3)} dB"]
    parts = parts if m.max_abs or not m.nonfinite else []
    note = " despite this" if output.rung == "different" and not maybe else ""
    if any(told.values()):
        parts.append(f"passes {', '.join(name for name, passed in told.items() if passed)}{note}")
    if not all(told.values()) and output.rung != "different":
        parts.append(f"fails {', '.join(name for name, passed in told.items() if not passed)}")
    if parts:
        worth = _EXTRA if output.rung == "tie" else _DETAIL
        yield Line(worth, f"also: {' · '.join(parts)}")


def _conclusion(comparison: ComparisonData) -> Iterator[Line]:
    """Say which formulas match, what follows, and what to do next."""
    names = [m.name for m in exact(comparison)]
    if names[comparison.rung == "variant" :]:
        shown = names[:1]
        for name in names[1:_MOST_VARIANTS]:
            if len(", ".join([*shown, name])) < _MOST_NAMES:
                shown.append(name)
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        listed = ", ".join(f'"{name}"' for name in shown) + more
        yield Line(_FACT if comparison.passed else _CAUSE, f"identical to: {listed}")
    elif comparison.rung == "tie" and comparison.variants:
        also = follows(comparison, comparison.variants[0], comparison.decisive)
        yield Line(_FACT, f"also {also}")
    for output in comparison.outputs:
        yield from _tolerance(output)
    if comparison.accepted_variant is not None and comparison.rung == "variant":
        yield Line(_FACT, f'accepted: variant "{comparison.accepted_variant}"')
    elif comparison.rung == "variant":
        name = comparison.variants[0].name
        option = either(f'variant="{name}"', f'--variant "{name}"')
        yield Line(_FACT, f"not the operator's function; if it is meant, pass {option}")
    if not comparison.passed:
        yield from (Line(_HEAD, text) for text in (_next(comparison),) if text)
    elif comparison.blind_spot is not None:
        median, greatest = (words.number(100 * x, 2) for x in comparison.blind_spot)
        text = f"power: scale was not compared: an error of {median} % in a row's scale "
        yield Line(_PLACE, f"{text}(median row; at most {greatest} %) does not show in the codes")
    elif comparison.not_compared:
        yield Line(_PLACE, f"not compared: {words.names(comparison.not_compared)}")


def _tolerance(output: OutputComparison) -> Iterator[Line]:
    """Say what was asked for, whether it was kept, and what else would have kept it."""
    tolerance = output.tolerance
    if tolerance is None or output.rung == "identical":
        return
    verdict = "kept" if tolerance.passed else "exceeded"
    name = f"{output.name}: " if output.name else ""
    used = f"{words.number(tolerance.margin, 3)} times what it allows"
    yield Line(_FACT, f"{name}{tolerance.text} {verdict}: {used}")
    if tolerance.passed and tolerance.power:
        yield Line(_PLACE, f"{name}it would also accept {power_text(tolerance.power)}")


def _next(comparison: ComparisonData) -> str:
    if comparison.rerun:
        return f"rerun: {comparison.rerun}"
    if comparison.missing or comparison.extra:
        what = either("write None for", "leave out")
        return f"next: {what} an output that is not to be compared"
    failing = [o for o in comparison.outputs if not o.passed]
    if all(passes(o.rung_of_values or o.rung, o.variant_accepted) for o in failing):
        given = (f"{o.name or 'actual'} as {o.type_name}" for o in failing)
        text = f"next: give {', '.join(given)}, if the dtype is not what is tested"
        return either(text, "")
    if any(o.problem for o in failing):  # inputs tell nothing of another dtype or shape
        return ""
    if not comparison.computed:
        what = either("op= and inputs=", "--op and its inputs by name")
        what = "inputs instead of a golden" if comparison.op else what
        return f"next: give {what} to learn whether it is rounding"
    if comparison.variants or comparison.least_left <= _NEAR:
        return either(f'next: npu_quant.golden.explain(actual, "{comparison.op}", inputs)', "")
    return _next_without_formula(failing)


def _next_without_formula(failing: Sequence[OutputComparison]) -> str:
    """Say what to do where no cause is known, and no formula comes near."""
    if any(o.causes or o.notes for o in failing):
        return ""
    known = ["no formula is near"]
    metrics = [o.metrics for o in failing if o.metrics is not None]
    for step, way in (("+1", "up"), ("-1", "down")):
        if all(m.steps[step] == m.mismatches for m in metrics):
            known.append(f"all are one step {way}")
    if not any(o.where.concentrations for o in failing if o.where is not None):
        known.append("and they form no pattern")
    return f"next: {', '.join(known)}: run it twice and compare the two"
