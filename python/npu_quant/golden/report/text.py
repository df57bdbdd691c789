"""The report: at most 12 lines that say what differs, where, and what it is not."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._face import either
from ..elements import elements_of_output
from ..judge.power import power_text
from ..judge.verdict import may_be_rounding, passes
from ..results import ComparisonData, Concentration, Metrics, OutputComparison, Ties, Where
from . import words

MOST_LINES = 12
_MOST_VARIANTS, _MOST_NAMES = 3, 70
_IN_NUMBERS = ("exact", "sqnr=40")
"""Presets whose answers the counts and the SQNR give."""
_COUNTED = {
    "": "",
    "unexplained": " that rounding does not explain",
    "far": " that are more than one step off",
}

# What a line is worth when there are more than fit.
_HEAD, _CAUSE, _FACT, _PLACE, _DETAIL, _EXTRA = 5, 4, 3, 2, 1, 0
Line = tuple[int, str]


def text_of(comparison: ComparisonData) -> str:
    """Return the report of a comparison."""
    head, lines = [(_HEAD, _headline(comparison)), *_structure(comparison)], list[Line]()
    for output in _in_order_of_cause(comparison):
        lines += _lines_of(comparison, output)
    lines = sorted([*lines, *_conclusion(comparison)], key=lambda line: line[0] != _CAUSE)
    return "\n".join(_fitting([*head, *lines]))


def brief_of(comparison: ComparisonData) -> str:
    """Return what was found in a line, the cause first: for lists of failures, which cut lines."""
    if comparison.missing or comparison.extra:
        return _structure(comparison)[0][1]
    failing = [o for o in _in_order_of_cause(comparison) if not o.passed] or [comparison.decisive]
    output = next((o for o in failing if _causes(o)), failing[0])
    m, places = output.metrics, [text.partition(" (")[0] for _, text in _places(output)]
    name = f"{output.name}: " if output.name else ""
    parts = [name + output.problem] if output.problem else []
    if output.rung_of_values:
        parts, name = [output.notes[0]], ""
    if comparison.variants:
        parts.append(f'identical to "{comparison.variants[0].name}"')
    maybe = ["may be rounding"] * _may_be_rounding(comparison, output)
    parts += _causes(output) or maybe or places[:1]
    if m is not None and m.mismatches:
        parts.append(_differ(m, elements_of_output(output).noun))
    return (name if not output.problem else "") + "; ".join(parts)


def _causes(output: OutputComparison) -> list[str]:
    """Return what the differences look like."""
    return list(output.notes[output.rung_of_values is not None :])


def _fitting(lines: list[Line]) -> list[str]:
    """Drop the least of the lines, from the end, until they fit."""
    kept = list(lines)
    while len(kept) > MOST_LINES:
        least = min(worth for worth, _ in kept)
        last = max(i for i, (worth, _) in enumerate(kept) if worth == least)
        del kept[last]
    return [text if i == 0 else f"  {text}" for i, (_, text) in enumerate(kept)]


def _in_order_of_cause(comparison: ComparisonData) -> list[OutputComparison]:
    """Return the outputs, the decisive one first: a wrong scale before its consequences."""
    first = comparison.decisive
    return [first, *(o for o in comparison.outputs if o is not first)]


def _headline(comparison: ComparisonData) -> str:
    start = f"OK ({comparison.rung})" if comparison.passed else "GoldenMismatch:"
    op = f" {comparison.op}" if comparison.op else ""
    outputs = [comparison.decisive.title]
    if comparison.passed:
        outputs = [o.title for o in comparison.outputs[:2]]
        if len(comparison.outputs) > 2:
            outputs.append(f"and {len(comparison.outputs) - 2} more")
    return (
        f"{start}{op} {', '.join(outputs)}  actual={comparison.actual_name}  "
        f"golden={comparison.golden_name}"
    )


def _structure(comparison: ComparisonData) -> list[Line]:
    """List the outputs that only one side has."""
    both = (("missing from", comparison.missing), ("extra in", comparison.extra))
    return [(_HEAD, f"{what} actual: {words.names(names)}") for what, names in both if names]


def _lines_of(comparison: ComparisonData, output: OutputComparison) -> list[Line]:
    """Return what there is to say of one output."""
    several = len(comparison.outputs) > 1
    m, lines = output.metrics, list[Line]()
    name = f"{output.name}: " if several and output.name else ""
    if output.name in (*comparison.missing, *comparison.extra):
        return []  # listed above
    if output.rung_of_values is not None:
        values = dataclasses.replace(output, rung=output.rung_of_values, problem=None)
        values = dataclasses.replace(values, rung_of_values=None, notes=output.notes[1:])
        lines = [(_FACT, f"{name}{output.problem}"), (_FACT, output.notes[0])]
        return lines + _lines_of(comparison, values)
    if output.problem is not None:
        lines = [(_FACT, output.problem), *_notes(output)]
    elif m is not None and m.mismatches == 0:
        text = f"identical: all {words.counted(m.count, elements_of_output(output).noun)}"
        lines = [(_EXTRA if several else _FACT, text)]
    elif m is not None and comparison.computed and output.kind == "scale":
        lines = _lines_of_scale(output, m)
    elif m is not None:
        lines = _lines_of_values(output, m, _may_be_rounding(comparison, output))
    return [(worth, name + text) for worth, text in lines]


def _differ(m: Metrics, noun: str, wrong: int | None = None) -> str:
    wrong = m.mismatches if wrong is None else wrong
    verb = "differs" if wrong == 1 else "differ"
    return f"{words.count(wrong)} of {words.counted(m.count, noun)} {verb}"


def _counts(output: OutputComparison, m: Metrics) -> str:
    """Return how many differ, and by how many steps."""
    own = elements_of_output(output)
    text = f"{_differ(m, own.noun)} ({words.share(m.mismatches, m.count)}); "
    below, above = words.count(m.steps["-1"]), words.count(m.steps["+1"])
    if own.carrier.kind == "b":
        return f"{text}False for True: {below}  True for False: {above}"
    far = sum(n for step, n in m.steps.items() if step not in ("-1", "0", "+1"))
    return f"{text}{own.step} -1: {below}  +1: {above}  beyond: {words.count(far)}"


def _lines_of_scale(output: OutputComparison, m: Metrics) -> list[Line]:
    """A scale: how many differ, by how much, the worst with both values."""
    text, own = _differ(m, output.kind), elements_of_output(output)
    if m.max_steps:
        step = own.step.removesuffix("s") if m.max_steps == 1 else own.step
        text += f", by up to {words.count(m.max_steps)} {step} "
        explained = own.scale_steps if output.ties is None else f"{output.ties.allowed:g} ulp"
        text += f"(rounding explains {explained})"
    lines = [*_nonfinite(m), (_FACT, text)]
    if output.rung != "tie" and output.where is not None:
        lines += [(_FACT, _pair(output, output.where)), *_places(output), *_notes(output)]
    return lines


def _may_be_rounding(comparison: ComparisonData, output: OutputComparison) -> bool:
    """Say whether differences look like rounding, where no inputs tell."""
    return not comparison.computed and may_be_rounding(output)


def _lines_of_values(output: OutputComparison, m: Metrics, maybe: bool) -> list[Line]:
    """Return what there is to say of codes and numbers, which may differ by rounding."""
    lines = [*_nonfinite(m), (_FACT, _counts(output, m)), *_rounding(output, m)]
    if output.rung == "tie":
        return lines + _similarity(output, m, maybe)
    places = _places(output)
    if maybe:
        pattern = "" if places else ", and in no pattern"
        lines.append((_FACT, f"may be rounding: each is one step{pattern}"))
    else:
        lines += _consequence(output)
    lines += [*places, *_notes(output), (_DETAIL, f"worst {_worst(output)}"), *_extremes(m)]
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
        text = f"as numbers, {power}: {_differ(m, 'number', wrong)}"
        text += f" · SQNR {words.number(m.sqnr_db, 3)} dB" if m.max_abs else ""
        texts.append(text if wrong else f"the same numbers in other codes: {power} is the golden's")
    return [(_FACT, text) for text in texts]


def _pair(output: OutputComparison, where: Where) -> str:
    """Return the worst element, actual and golden, with what lies between."""
    actual, golden = where.worst_values
    place = words.index([int(i) for i in np.unravel_index(where.worst, output.shape)])
    place += f" ({where.worst_place})" if where.worst_place else ""
    if elements_of_output(output).is_even:
        return f"{place} actual {actual}, golden {golden}"
    text = f"{place} actual {words.number(actual)}, golden {words.number(golden)}"
    if np.isfinite(actual) and np.isfinite(golden) and golden != 0:
        text += f" ({100 * (actual - golden) / abs(golden):+.3g} %)"
    return text


def _nonfinite(m: Metrics) -> list[Line]:
    texts = []
    for (actual, golden), n in m.nonfinite.items():
        is_, was = ("a number" if kind == "finite" else kind for kind in (actual, golden))
        texts.append(f"{is_} where the golden has {was}: {words.count(n)}")
    return [(_FACT, ", ".join(texts))] if texts else []


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
    return [(_EXTRA, " · ".join(texts))] if texts else []


def _rounding(output: OutputComparison, m: Metrics) -> list[Line]:
    """Say how far the differing codes lie from a tie: what it is, or is not."""
    ties = output.ties
    if ties is None:
        return []
    allowed, farthest = f"{ties.allowed:g}", words.distance(ties.farthest)
    if output.rung == "tie":
        steps = "one step" if m.max_steps <= 1 else f"up to {words.count(m.max_steps)} steps"
        text = f"rounding: each is {steps}, within {farthest} ulp of a tie"
        text += f" (the formula's roundings allow {allowed})"
        return [(_FACT, text), *_of_zeros(m), *_ill_conditioned(ties)]
    if not np.isfinite(ties.farthest):
        why = "some are none of the values that codes stand for"
        if np.isnan(ties.farthest_value):
            why = "some have no number before rounding (scale 0, inf, NaN; or none is computed)"
        return [(_FACT, f"not rounding: {why}")]
    text = f"not rounding: up to {farthest} ulp from a tie"
    if ties.within == m.mismatches:
        text = f"another formula's bytes: all within {farthest} ulp of a tie"
    elif m.max_steps == 0:
        text = "not rounding: zeros have another sign"
    elif ties.farthest <= ties.allowed:
        text = "not rounding: more than one step apart"
    return [(_FACT, f"{text}, rounding explains {allowed}")]


def _of_zeros(m: Metrics) -> list[Line]:
    """Say of how many the sign of a zero is all."""
    return [(_DETAIL, f"sign of zero: {words.count(m.zero_signs)}")] if m.zero_signs else []


def _ill_conditioned(ties: Ties) -> list[Line]:
    """Say of how many any other code would be a tie, too."""
    if not ties.ill_conditioned:
        return []
    text = f"ill-conditioned: {words.count(ties.ill_conditioned)}, of groups whose numbers lie far "
    return [(_PLACE, text + "beyond their range: any code is; compare (y - offset) * scale")]


def _notes(output: OutputComparison) -> list[Line]:
    return [(_CAUSE, note) for note in output.notes]


def _places(output: OutputComparison) -> list[Line]:
    """Say where the differences lie, if chance would not put them there."""
    if output.where is None:
        return []
    counted = _COUNTED[output.where.counts]
    found = output.where.concentrations[:2]
    return [(_PLACE, _place(each, counted)) for each in found]


def _place(found: Concentration, counted: str) -> str:
    only = "only" if found.held == found.of else "mostly"
    plural = "s" if len(found.places) > 1 else ""
    where = f"in {found.kind}{plural} {words.places(found.places)}"
    if found.named:
        where = f"in {found.named}"
    elif found.kind == "period":
        period, residue = found.places
        where = f"in columns {residue}, {residue + period}, ...: every {period}th"
    elif found.kind in ("rows", "columns"):
        where = f"in {found.kind} {words.count(found.places[0])} to {words.count(found.places[1])}"
    elif found.kind.startswith("axis"):
        where = f"at {words.places(found.places)} of {found.kind}"
    held = f"{words.count(found.held)} of {words.count(found.of)}{counted}"
    return f"{only} {where} ({held}; by chance {words.odds(found.log10_odds)})"


def _worst(output: OutputComparison) -> str:
    """Return the worst element, with its number before rounding where that is known."""
    assert output.where is not None
    pair = _pair(output, output.where)
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
    return [(worth, f"also: {' · '.join(parts)}")] if parts else []


def _conclusion(comparison: ComparisonData) -> list[Line]:
    """Say which formulas match, what follows, and what to do next."""
    lines: list[Line] = []
    named = [m.name for m in comparison.variants]
    if named:
        shown = named[:1]
        for n in named[1:_MOST_VARIANTS]:
            if len(", ".join([*shown, n])) < _MOST_NAMES:
                shown.append(n)
        more = f" and {len(named) - len(shown)} more" if len(named) > len(shown) else ""
        listed = ", ".join(f'"{n}"' for n in shown) + more
        lines.append((_FACT if comparison.passed else _CAUSE, f"identical to: {listed}"))
    for output in comparison.outputs:
        if output.tolerance is not None and output.rung != "identical":
            lines += _tolerance(output)
    if comparison.rung == "variant":
        lines.append((_FACT, _variant(comparison)))
    if not comparison.passed and _next(comparison):
        lines.append((_HEAD, _next(comparison)))
    return lines + (_blind_spot(comparison) or _not_compared(comparison))


def _not_compared(comparison: ComparisonData) -> list[Line]:
    """Say what a comparison that passes does not cover."""
    if not comparison.passed or not comparison.not_compared:
        return []
    return [(_PLACE, f"not compared: {words.names(comparison.not_compared)}")]


def _blind_spot(comparison: ComparisonData) -> list[Line]:
    """Say how wrong a scale can be that was not compared."""
    spot = comparison.blind_spot
    if spot is None:
        return []
    text = (
        f"power: without scale, a row's scale that is {words.number(100 * spot.median, 2)} % off "
        f"(median row; at most {words.number(100 * spot.greatest, 2)} %) does not show"
    )
    return [(_PLACE, text)]


def _tolerance(output: OutputComparison) -> list[Line]:
    tolerance = output.tolerance
    assert tolerance is not None
    verdict = "kept" if tolerance.passed else "exceeded"
    name = f"{output.name}: " if output.name else ""
    used = f"{words.number(tolerance.margin, 3)} of what it allows"
    lines: list[Line] = [(_FACT, f"{name}{tolerance.text} {verdict}: {used}")]
    if tolerance.passed and tolerance.power:
        lines.append((_PLACE, f"{name}it would also accept {power_text(tolerance.power)}"))
    return lines


def _variant(comparison: ComparisonData) -> str:
    if comparison.accepted_variant is not None:
        return f'accepted: variant "{comparison.accepted_variant}"'
    name = comparison.variants[0].name
    return "another function than the operator; if it is meant: " + either(
        f'variant="{name}"', f'--variant "{name}"'
    )


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
        return f"next: give {what} to learn whether rounding or another formula explains it"
    call = f'npu_quant.golden.explain(actual, "{comparison.op}", inputs)'
    return either(f"next: {call} ranks {comparison.formulas} formulas", "")
