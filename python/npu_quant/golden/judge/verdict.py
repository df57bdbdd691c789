"""The verdict: which rung a comparison stands on, and whether that passes (docs/golden.md 1).

Nothing here computes: every decision is one comparison of numbers that other modules have measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ..elements import Elements, Floats, elements_of_output, remedy_of
from ..results import Metrics, OutputComparison, Rung, VariantMatch
from ..sources import given_dtype, given_names, size_of
from ..tie_results import Ties

RUNGS: tuple[Rung, ...] = get_args(Rung)
"""Best first."""

FEW, FEW_OF_ROW = 1 / 100, 1 / 32
"""The share of codes that orders of operations and 16-bit quotients may move: 0.1 % and 1 % were
measured. Ties gather in rows whose amax has few bits, where up to 1 % were."""
MANY = 1 / 50
"""A share of ties that is looked into: a formula that leaves far fewer is told."""
EVIDENCE = 3
"""How many differing elements an exact match must have, to speak against a tie."""
MOST_LEFT = 20
"""A formula that leaves one in so many differences is told, too."""


def to_compare(names: Sequence[str], *sides: Mapping[str, Source | None]) -> list[str]:
    """Return the outputs that are compared: all that a side has and none says None of.

    What one side has and the other lacks without a word is compared, and differs (`problem_of`).

    Args:
        names: of all outputs.
        sides: actual and golden.
    """
    return [name for name in names if _said_of(name, sides) == {True}]


def not_compared(names: Sequence[str], *sides: Mapping[str, Source | None]) -> list[str]:
    """Return the outputs that one side has and the other says None of, likewise."""
    return [name for name in names if _said_of(name, sides) == {True, False}]


def _said_of(name: str, sides: Sequence[Mapping[str, Source | None]]) -> set[bool]:
    """Return whether the sides that say anything of an output have it."""
    return {side[name] is not None for side in sides if name in side}


def problem_of(actual: Source | None, golden: Source | None) -> str | None:
    """Say why two arrays cannot be compared, which makes them different; None if they can be.

    Args:
        actual: the actual array; None where there is none.
        golden: the golden array, likewise.
    """
    if actual is None:
        return "missing: only the golden has it"
    if golden is None:
        return "extra: only actual has it"
    if given_dtype(actual) != given_dtype(golden):
        return _of_dtypes(actual, golden)
    if actual.shape == golden.shape:
        return None
    text = f"shape differs: actual {actual.shape}, golden {golden.shape}"
    if size_of(actual) == size_of(golden):
        text += f"; equal sizes: reshape({golden.shape}), if they mean the same"
    return text


def _of_dtypes(actual: Source, golden: Source) -> str:
    """Say that dtypes differ, and what NumPy calls it where bytes are swapped or of no type."""
    ours, theirs = given_names(actual, golden)
    texts = [f"dtype differs: actual {ours}, golden {theirs}"]
    dtypes = {"actual": given_dtype(actual), "golden": given_dtype(golden)}
    for name, dtype in dtypes.items():
        if not dtype.isnative and dtype.newbyteorder() in dtypes.values():
            texts.append(
                f"Its bytes are swapped: pass {name}.astype({dtype.newbyteorder().str!r})."
            )
        elif dtype.kind == "V" and (remedy := remedy_of(dtype, name)):
            texts.append(remedy)
    return ". ".join(texts)


def is_tie(
    steps: NDArray[np.float64],
    distance: NDArray[np.float64],
    allowed: float,
    most_steps: float = 1,
) -> NDArray[np.bool_]:
    """Say of each differing code whether rounding explains it.

    Args:
        steps: how many codes apart actual and golden are.
        distance: of the number before rounding from the tie between the two, in ulp; NaN where
            there is no such number.
        allowed: k, what the roundings of the formula add up to.
        most_steps: how many codes apart they may be.
    """
    explained: NDArray[np.bool_] = (steps >= 1) & (steps <= most_steps) & (distance <= allowed)
    return explained


def steps_of_rounding(own: Elements, *, is_scale: bool) -> float:
    """Return how many steps off rounding may put an element of which no tie is known.

    Codes and floats by one, computed scales by those of their format; wide integers by none.

    Args:
        own: what the elements stand for.
        is_scale: whether they are scales that an operator computes.
    """
    if is_scale:
        return own.scale_steps
    return 0 if own.is_even and own.noun != "code" else 1


def is_rounded_to(own: Elements) -> bool:
    """Say whether operators round to a format: codes of up to 8 bits, and floats.

    A mask, an index and a sum in wider integers are exact: one off is no rounding.
    """
    return own.noun == "code" or isinstance(own, Floats)


def explains_any(
    magnitude: NDArray[np.float64], allowed: float, own: Elements
) -> NDArray[np.bool_]:
    """Say of each code whether rounding would explain any other one, too.

    Args:
        magnitude: of the largest term that the number before rounding is a sum of.
        allowed: k.
        own: the format of the codes.
    """
    with np.errstate(all="ignore"):
        moved = allowed * np.spacing(magnitude.astype(np.float32)).astype(np.float64)
    explained: NDArray[np.bool_] = moved >= own.limits[1] - own.limits[0]
    return explained


def contradict(
    value: NDArray[np.float64], magnitude: NDArray[np.float64], codes: NDArray[Any]
) -> NDArray[np.bool_]:
    """Say which ill-conditioned codes are not those of other elements with the same number.

    Roundings may give any code there, but one for equal numbers of a group, as terms are equal.

    Args:
        value: the numbers before rounding.
        magnitude: of their largest terms, by which groups are told apart.
        codes: the actual codes.
    """
    if not len(codes):
        return np.zeros(0, np.bool_)
    which = np.unique(value + 1j * magnitude, return_inverse=True)[1].reshape(-1)
    numbers = np.unique(codes, return_inverse=True)[1].reshape(-1)
    low, high = (np.full(len(codes), end, np.int64) for end in (len(codes), -1))
    np.minimum.at(low, which, numbers)
    np.maximum.at(high, which, numbers)
    return np.asarray((low != high)[which])


def rung_of_codes(mismatches: int, ties: Ties | None) -> Rung:
    """Return the rung of rounded numbers: rounding explains all that differ, or it does not."""
    if mismatches == 0:
        return "identical"
    if ties is not None and ties.within == mismatches:
        return "tie"
    return "different"


def has_many_ties(output: OutputComparison) -> bool:
    """Say whether more differs within ties than roundings of sums move: 0.3 % were measured."""
    m = output.metrics
    return m is not None and output.rung == "tie" and m.mismatches > m.count * MANY


def rung_of_scales(metrics: Metrics, own: Elements) -> Rung:
    """Return the rung of computed scales, which are compared in steps of their format."""
    if metrics.mismatches == 0:
        return "identical"
    if metrics.max_steps <= own.scale_steps and not metrics.nonfinite:
        return "tie"
    return "different"


def speaks_against_ties(
    outputs: Sequence[OutputComparison], matches: Sequence[VariantMatch]
) -> bool:
    """Say whether another function, and no benign formula, gives nearly all that differs.

    Then the report names it, and rounding is not what the differences come from.
    """
    mismatches = sum(o.metrics.mismatches for o in outputs if o.metrics is not None)
    near = [match for match in matches if match.total * MOST_LEFT <= mismatches]
    return bool(near) and not any(match.benign for match in near)


def settled(
    rung: Rung, mismatches: int, *, named: bool, accepted: bool, kept: bool, near: bool = False
) -> Rung:
    """Return the rung of an output after formulas and tolerance were tried.

    A bound on roundings is generous, above all that of a sum. Where some codes differ and are, all
    or nearly all, another function's and no benign formula's, it is not rounding that they come
    from.

    Args:
        rung: what the output itself reached.
        mismatches: how many of its elements differ.
        named: a named formula gives all outputs.
        near: another function gives nearly all that differs (`speaks_against_ties`).
        accepted: one that does is benign, or was named.
        kept: the tolerance that was asked for is kept.
    """
    overruled = rung == "tie" and mismatches >= EVIDENCE and (named or near) and not accepted
    if rung != "different" and not overruled:
        return rung
    if accepted or (named and not kept):
        return "variant"
    return "tolerated" if kept else "different"


def accepted_of(matches: Sequence[VariantMatch], named: str | None) -> str | None:
    """Return the matching formula that passes, the named one before others; None if none does.

    One passes if it is the same in real numbers, or was named.
    """
    passing = [match for match in matches if match.explains]
    accepted = [match.name for match in passing if match.benign or match.name == named]
    return min(accepted, key=lambda name: name != named, default=None)


def passes(rung: Rung, variant_accepted: bool) -> bool:
    """Say whether a rung passes; a variant only where one that matches is accepted."""
    if rung == "variant":
        return variant_accepted
    return rung != "different"


def concluded(output: OutputComparison) -> OutputComparison:
    """Return an output with what follows from its rung: whether it passes, and its margin.

    Equal values in another dtype are no equal bytes: they are told, and do not pass.
    """
    if output.problem is not None and output.metrics is not None:
        output = dataclasses.replace(output, rung="different", rung_of_values=output.rung)
    passed = passes(output.rung, output.variant_accepted)
    return dataclasses.replace(output, passed=passed, margin=margin_of(output))


def may_be_rounding(output: OutputComparison) -> bool:
    """Say whether differences look like rounding, of which nothing is known without the inputs.

    Each is a step, and like no fault; codes are few in all and in each row. Of floats all may be an
    ulp off. Masks and integers of more than 8 bits are not rounded.
    """
    m, where = output.metrics, output.where
    if m is None or where is None or output.ties is not None:
        return False
    if m.max_steps > 1 or m.zero_signs or m.nonfinite or output.notes or output.causes:
        return False
    own = elements_of_output(output)
    if own.noun != "code":
        return is_rounded_to(own)
    row = max(1, m.count // max(1, where.of_rows)) * where.row_bucket
    few = m.mismatches <= max(1, m.count * FEW)
    few &= int(where.row_counts.max()) <= max(1, row * FEW_OF_ROW)
    return few and all(place.kind == "row" for place in where.concentrations)


def badness(output: OutputComparison) -> tuple[bool, int]:
    """Return what outputs are ordered by: whatever fails is worse than whatever passes.

    A tolerance that one output keeps would else hide another's formula that nobody accepted.
    """
    return not output.passed, RUNGS.index(output.rung)


def decisive_of(outputs: Sequence[OutputComparison]) -> OutputComparison:
    """Return the worst of some outputs: its rung is the comparison's, and all pass if it does.

    Of several the first, but scales before what follows from them.
    """
    worst = max(map(badness, outputs))
    first, *others = (output for output in outputs if badness(output) == worst)
    return next((output for output in (first, *others) if output.kind == "scale"), first)


def greatest_margin(outputs: Sequence[OutputComparison]) -> float:
    """Return the greatest of the margins that are known; NaN if none is."""
    known = [output.margin for output in outputs if output.margin == output.margin]
    return max(known, default=float("nan"))


def margin_of(output: OutputComparison) -> float:
    """Return how much of what is allowed was used: 0 for none, 1 for all.

    It is infinite for whatever fails, and NaN for an accepted formula: no number was allowed.
    """
    if not passes(output.rung, output.variant_accepted):
        return float("inf")
    if output.rung == "identical":
        return 0.0
    if output.rung == "tie":
        if output.ties is not None:
            return output.ties.farthest / max(output.ties.allowed, 1)  # 0: both are
        assert output.metrics is not None
        return output.metrics.max_steps / elements_of_output(output).scale_steps
    if output.rung == "tolerated" and output.tolerance is not None:
        return output.tolerance.margin
    return float("nan")


def is_constant(values: NDArray[Any]) -> bool:
    """Say whether an array of several elements repeats one: it could hide any permutation."""
    if values.size < 2:
        return False
    first = values.reshape(-1)[0]
    same = values == first if first == first else values != values
    return bool(np.all(same))
