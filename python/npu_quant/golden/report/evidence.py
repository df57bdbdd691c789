"""The evidence below a verdict: what differs, by how much, where, and what it is not."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..elements import elements_of_output
from ..judge.power import power_text
from ..judge.verdict import passes
from ..results import ComparisonData, Metrics, OutputComparison, Ties
from . import words
from .reports import WIDTH, Line
from .why import (
    differ,
    exact,
    in_order_of_cause,
    is_maybe_rounding,
    nonfinite,
    pair_text,
    places,
    reason_of,
    structure,
)

_MOST_VARIANTS, _MOST_NAMES = 3, 70
_IN_NUMBERS = ("exact", "sqnr=40")
"""Presets whose answers the counts and the SQNR give."""

# What a line is worth when there are more than fit.
_HEAD, _CAUSE, _FACT, _PLACE, _DETAIL, _EXTRA = 5, 4, 3, 2, 1, 0


def facts_of(comparison: ComparisonData) -> list[Line]:
    """Return what there is to say below the first line: files first, causes, then facts."""
    said = reason_of(comparison).text
    lines = [Line(_HEAD, line) for line in structure(comparison) if line not in said]
    for output in in_order_of_cause(comparison):
        lines += _lines_of(comparison, output, said)
    lines = sorted([*lines, *_conclusion(comparison)], key=lambda line: line.worth != _CAUSE)
    return [*(Line(_HEAD, line) for line in _files(comparison)), *lines]


def _files(comparison: ComparisonData) -> list[str]:
    """Say what was compared, and where it came from."""
    outputs = [o.title for o in comparison.outputs[:2]]
    more = len(comparison.outputs) - len(outputs)
    titles = ", ".join(outputs) + f" and {more} more" * (more > 0)
    start = f"{comparison.op} {titles}" if comparison.op else titles
    sides = f"actual={comparison.actual_name}  golden={comparison.golden_name}"
    both = f"{start}  {sides}"
    return [both] if len(both) < WIDTH else [start, sides]


def _lines_of(comparison: ComparisonData, output: OutputComparison, said: str) -> list[Line]:
    """Return what there is to say of one output, but for what the first line has said."""
    several = len(comparison.outputs) > 1
    m, lines = output.metrics, list[Line]()
    name = f"{output.name}: " if several and output.name else ""
    if output.name in (*comparison.missing, *comparison.extra) or comparison.rung == "identical":
        return []  # said above
    if output.rung_of_values is not None:
        values = dataclasses.replace(output, rung=output.rung_of_values, problem=None)
        values = dataclasses.replace(values, rung_of_values=None, notes=output.notes[1:])
        lines = [Line(_FACT, f"{name}{output.problem}")]
        lines += [Line(_FACT, output.notes[0])] * (output.notes[0] != said)
        return lines + _lines_of(comparison, values, said)
    if output.problem is not None:
        lines = [Line(_FACT, output.problem), *_notes(output)]
    elif m is not None and m.mismatches == 0:
        text = f"identical: all {words.counted(m.count, elements_of_output(output).noun)}"
        lines = [Line(_EXTRA if several else _FACT, text)]
    elif m is not None and comparison.computed and output.kind == "scale":
        lines = _lines_of_scale(output, m)
    elif m is not None:
        lines = _lines_of_values(output, m, is_maybe_rounding(comparison, output))
    return [Line(worth, name + text) for worth, text in lines if text != said]


def _counts(output: OutputComparison, m: Metrics) -> str:
    """Return how many differ, and by how many steps."""
    own = elements_of_output(output)
    text = f"{differ(m, own.noun)} ({words.share(m.mismatches, m.count)}); "
    below, above = words.count(m.steps["-1"]), words.count(m.steps["+1"])
    if own.carrier.kind == "b":
        return f"{text}False for True: {below}  True for False: {above}"
    far = sum(n for step, n in m.steps.items() if step not in ("-1", "0", "+1"))
    return f"{text}{own.step} -1: {below}  +1: {above}  beyond: {words.count(far)}"


def _lines_of_scale(output: OutputComparison, m: Metrics) -> list[Line]:
    """A scale: how many differ, by how much, the worst with both values."""
    text, own = differ(m, output.kind), elements_of_output(output)
    if m.max_steps:
        step = own.step.removesuffix("s") if m.max_steps == 1 else own.step
        text += f", by up to {words.count(m.max_steps)} {step} "
        explained = own.scale_steps if output.ties is None else f"{output.ties.allowed:g} ulp"
        text += f"(rounding explains {explained})"
    lines = [*_nonfinite(m), Line(_FACT, text)]
    if output.rung != "tie" and output.where is not None:
        lines += [Line(_FACT, pair_text(output, output.where)), *_places(output), *_notes(output)]
    return lines


def _lines_of_values(output: OutputComparison, m: Metrics, maybe: bool) -> list[Line]:
    """Return what there is to say of codes and numbers, which may differ by rounding."""
    lines = [*_nonfinite(m), Line(_FACT, _counts(output, m)), *_rounding(output, m)]
    if output.rung == "tie":
        return lines + _similarity(output, m, maybe)
    places = _places(output)
    if maybe:
        pattern = "" if places else ", and in no pattern"
        lines.append(Line(_FACT, f"may be rounding: each is one step{pattern}"))
    else:
        lines += _consequence(output)
    lines += [*places, *_notes(output), Line(_DETAIL, f"worst {_worst(output)}"), *_extremes(m)]
    return lines + _similarity(output, m, maybe)


def _consequence(output: OutputComparison) -> list[Line]:
    """Say whether codes are what their own, wrong scale gives."""
    if output.follows_scale is None or output.rung in ("identical", "tie"):
        return []
    follows = "does not follow from the actual scale either"
    if output.follows_scale:
        follows = "follows from the scale it was given: the fault is in amax or scale"
    m, texts = output.numbers, [follows]
    if m is not None:
        wrong, power = m.mismatches - m.zero_signs, "y * 2^(mxscale - 127)"
        text = f"as numbers, {power}: {differ(m, 'number', wrong)}"
        text += f" · SQNR {words.number(m.sqnr_db, 3)} dB" if m.max_abs else ""
        texts.append(text if wrong else f"the same numbers in other codes: {power} is the golden's")
    return [Line(_FACT, text) for text in texts]


def _nonfinite(m: Metrics) -> list[Line]:
    return [Line(_FACT, nonfinite(m))] if m.nonfinite else []


def _extremes(m: Metrics) -> list[Line]:
    """Say what happened at the ends of the range, at zero and to signs, where anything did."""
    texts = []
    if m.saturated_actual != m.saturated_golden:
        actual, golden = words.count(m.saturated_actual), words.count(m.saturated_golden)
        texts.append(f"at the range's ends: actual {actual}, golden {golden}")
    rest = {"signs flipped": m.sign_flips, "became 0": m.rounded_to_zero}
    for what, n in {**rest, "sign of zero": m.zero_signs}.items():
        if n:
            texts.append(f"{what}: {words.count(n)}")
    return [Line(_EXTRA, " · ".join(texts))] if texts else []


def _rounding(output: OutputComparison, m: Metrics) -> list[Line]:
    """Say how far the differing codes lie from a tie: what it is, or is not."""
    ties = output.ties
    if ties is None:
        return []
    allowed, farthest = f"{ties.allowed:g}", words.distance(ties.farthest)
    if output.rung == "tie":
        steps = "one step" if m.max_steps <= 1 else f"up to {words.count(m.max_steps)} steps"
        text = f"rounding: each is {steps}, within {farthest} ulp of a tie"
        text += f" ({allowed} are allowed)"
        return [Line(_FACT, text), *_of_zeros(m), *_ill_conditioned(ties)]
    if not np.isfinite(ties.farthest):
        why = "some are none of the values that codes stand for"
        if np.isnan(ties.farthest_value):
            why = "some have no number before rounding (scale 0, inf, NaN; or none is computed)"
        return [Line(_FACT, f"not rounding: {why}")]
    text = f"not rounding: up to {farthest} ulp from a tie"
    if ties.within == m.mismatches:
        text = f"another formula's bytes: all within {farthest} ulp of a tie"
    elif m.max_steps == 0:
        text = "not rounding: zeros have another sign"
    elif ties.farthest <= ties.allowed:
        text = "not rounding: more than one step apart"
    return [Line(_FACT, f"{text}, rounding explains {allowed}")]


def _of_zeros(m: Metrics) -> list[Line]:
    """Say of how many the sign of a zero is all."""
    return [Line(_DETAIL, f"sign of zero: {words.count(m.zero_signs)}")] if m.zero_signs else []


def _ill_conditioned(ties: Ties) -> list[Line]:
    """Say of how many any other code would be a tie, too."""
    if not ties.ill_conditioned:
        return []
    text = f"ill-conditioned: {words.count(ties.ill_conditioned)}, of groups whose numbers lie far "
    return [Line(_PLACE, text + "beyond their range: any code is; compare (y - offset) * scale")]


def _notes(output: OutputComparison) -> list[Line]:
    return [Line(_CAUSE, text) for text in (*output.notes, *output.causes)]


def _places(output: OutputComparison) -> list[Line]:
    return [Line(_PLACE, text) for text in places(output)]


def _worst(output: OutputComparison) -> str:
    """Return the worst element, with its number before rounding where that is known."""
    assert output.where is not None
    pair = pair_text(output, output.where)
    if output.ties is None or output.ties.farthest_index != output.where.worst:
        return pair
    before = words.number(output.ties.farthest_value)
    return f"{pair}; {before} before rounding"


def _similarity(output: OutputComparison, m: Metrics, maybe: bool) -> list[Line]:
    """Say what other tools make of it; no cosine or SQNR where no pair of finite values differs."""
    told = {name: passed for name, passed in output.presets.items() if name not in _IN_NUMBERS}
    parts = [f"cosine {words.number(m.cosine, 9)}", f"SQNR {words.number(m.sqnr_db, 3)} dB"]
    parts = parts if m.max_abs or not m.nonfinite else []
    blind = " (blind to this)" if output.rung == "different" and not maybe else ""
    if any(told.values()):
        parts.append(f"pass by {', '.join(name for name, passed in told.items() if passed)}{blind}")
    if not all(told.values()) and output.rung != "different":
        parts.append(f"not by {', '.join(name for name, passed in told.items() if not passed)}")
    worth = _EXTRA if output.rung == "tie" else _DETAIL
    return [Line(worth, f"also: {' · '.join(parts)}")] if parts else []


def _conclusion(comparison: ComparisonData) -> list[Line]:
    """Say which formulas match, what follows, and what to do next."""
    lines: list[Line] = []
    named = [m.name for m in exact(comparison)]
    if named[comparison.rung == "variant" :]:
        shown = named[:1]
        for n in named[1:_MOST_VARIANTS]:
            if len(", ".join([*shown, n])) < _MOST_NAMES:
                shown.append(n)
        more = f" and {len(named) - len(shown)} more" if len(named) > len(shown) else ""
        listed = ", ".join(f'"{n}"' for n in shown) + more
        lines.append(Line(_FACT if comparison.passed else _CAUSE, f"identical to: {listed}"))
    for output in comparison.outputs:
        if output.tolerance is not None and output.rung != "identical":
            lines += _tolerance(output)
    if comparison.rung == "variant":
        lines.append(Line(_FACT, _variant(comparison)))
    if not comparison.passed:
        lines.append(Line(_HEAD, _next(comparison)))
    return lines + (_blind_spot(comparison) or _not_compared(comparison))


def _not_compared(comparison: ComparisonData) -> list[Line]:
    """Say what a comparison that passes does not cover."""
    if not comparison.passed or not comparison.not_compared:
        return []
    return [Line(_PLACE, f"not compared: {words.names(comparison.not_compared)}")]


def _blind_spot(comparison: ComparisonData) -> list[Line]:
    """Say how wrong a scale can be that was not compared."""
    spot = comparison.blind_spot
    if spot is None:
        return []
    text = (
        f"power: without scale, a row's scale that is {words.number(100 * spot.median, 2)} % off "
        f"(median row; at most {words.number(100 * spot.greatest, 2)} %) does not show"
    )
    return [Line(_PLACE, text)]


def _tolerance(output: OutputComparison) -> list[Line]:
    tolerance = output.tolerance
    assert tolerance is not None
    verdict = "kept" if tolerance.passed else "exceeded"
    name = f"{output.name}: " if output.name else ""
    used = f"{words.number(tolerance.margin, 3)} of what it allows"
    lines: list[Line] = [Line(_FACT, f"{name}{tolerance.text} {verdict}: {used}")]
    if tolerance.passed and tolerance.power:
        lines.append(Line(_PLACE, f"{name}it would also accept {power_text(tolerance.power)}"))
    return lines


def _variant(comparison: ComparisonData) -> str:
    if comparison.accepted_variant is not None:
        return f'accepted: variant "{comparison.accepted_variant}"'
    name = comparison.variants[0].name
    return f'another function than the operator; if it is meant: variant="{name}"'


def _next(comparison: ComparisonData) -> str:
    if comparison.rerun:
        return f"rerun: {comparison.rerun}"
    if comparison.missing or comparison.extra:
        return "next: write None for an output that is not to be compared"
    failing = [o for o in comparison.outputs if not o.passed]
    if all(passes(o.rung_of_values or o.rung, o.variant_accepted) for o in failing):
        given = (f"{o.name or 'actual'} as {o.type_name}" for o in failing)
        return f"next: give {', '.join(given)}, if the dtype is not what is tested"
    if not comparison.computed:
        return "next: give op= and inputs= to learn whether it is rounding"
    return f'next: npu_quant.golden.explain(actual, "{comparison.op}", inputs)'
