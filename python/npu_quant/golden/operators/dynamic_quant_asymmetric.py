"""npu_dynamic_quant_asymmetric: codes from the least to the greatest number of a group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..elements import Elements, largest
from ..tie_results import TieTest
from . import groups, steps
from .arithmetic import Floats, compiled, hybrid
from .codes import Codes
from .dynamic_quant import KERNELS, RECIPROCAL, REPORTED, DynamicQuant
from .formula import Before, Form, Formula, Other, Output, Rounded, Step
from .model import ANY, Array, Float64, Places
from .tiles import GroupedPart, Groups


class Differences:
    """Numbers that are differences, of which their own ulp is no measure."""

    def __init__(self, own: Elements) -> None:
        self._own = own

    def tie(self, value: Float64, actual: Array, golden: Array, *terms: Float64) -> TieTest:
        """Compare as others do, in ulp of the terms."""
        test = self._own.tie(value, actual, golden, *terms)
        return replace(test, magnitude=largest(*terms))


# How the range becomes the scale, and the scale and the greatest number the offset.


def scale_step(name: str, text: str, roundings: int, source: str = "", **more: Any) -> Step:
    """Return a step that does as its text says; it rounds once more than k counts of a scale."""
    function = compiled(steps.of_format(text), "range", "reach")
    return Step(name, text, function, source, roundings=roundings, **more)


RANGE_OVER_255 = scale_step("", "range / 255", 1)
TIMES_INVERSE = scale_step(
    "scale range * (1/255)", "range * (1/255)", 3, f"{KERNELS}/arch35, dynamic_quant_v2"
)
OVER_256 = scale_step(
    "scale range / 256", "range / 256", 1, applies=steps.has_even_steps, benign=False
)
NARROW_SCALES = steps.in_16_bits(
    "{short} scale",
    "{long}(range / 255)",
    steps.NARROW_SCALES,
    lambda stored: lambda size, reach: stored(size / reach),
)
LEAST = "1e-12"
AT_LEAST = Step(
    "",
    f"max({{scale}}, {LEAST})",
    lambda scale, least: np.where(scale < np.float32(LEAST), scale.dtype.type(LEAST), scale),
)
UNBOUNDED = Other(
    "no epsilon",
    "{scale}",
    lambda scale, least: scale,
    f"{KERNELS}/arch35, dynamic_quant_v2",
    lambda model: bool(np.any(model.golden()[1] == np.float32(LEAST))),
)


def offset_step(name: str, text: str, source: str = "", **more: Any) -> Step:
    """Return a step that does as its text says."""
    function = compiled(steps.of_format(text), "hi", "scale", "most")
    return Step(name, text, function, source, **more)


OFFSET = offset_step("", "127 - hi / scale", roundings=2)
WHOLE_OFFSET = offset_step(
    "rint(offset)", "rint(127 - hi / scale)", "torch.ao's zero points", benign=False
)


def zero_step(name: str, text: str, source: str = "", **more: Any) -> Step:
    """Return a step that does as its text says: of a Quotient, offset, and what rounds."""
    own = text.format(round="rounding", quotient="q.value")
    return Step(name, text, compiled(own, "q", "offset", "rounding"), source, **more)


ADDED = zero_step("", "{round}({quotient} + offset)", roundings=1)
AFTER = zero_step(
    "offset after rounding",
    "{round}({quotient}) + offset",
    "torch.ao's convention",
    applies=steps.has_even_steps,
    benign=False,
)
SUBTRACTED = zero_step(
    "offset subtracted", "{round}({quotient} - offset)", steps.MISTAKE, benign=False
)

HYBRID = Other(
    "hybrid",
    "{round}(hybrid({quotient} + offset))",
    lambda q, offset, rounding: rounding(hybrid(q.value + offset)),
    steps.HYBRID.source,
    steps.ties_away,
)

# Which numbers.


def around_zero(part: GroupedPart) -> Groups:
    """Widen the range of each group so that it has 0."""
    own = part.groups()

    def clipped(which: str) -> Floats:
        if which == "range":
            return clipped("hi") - clipped("lo")
        return (np.maximum if which == "hi" else np.minimum)(own.extreme(which), 0)

    return Groups(own.v, clipped, own.in_order)


def is_beside_zero(model: Any) -> bool:
    """Tell whether the range of a group is on one side of 0, as its offset shows."""
    offset = model.golden()[2]
    return bool(np.any((offset > model.most) | (offset < model.most - model.reach)))


AROUND_ZERO = Other(
    "0 in the range",
    "hi at least 0, lo at most 0",
    around_zero,
    "torch.ao's observers",
    is_beside_zero,
)


class Offsets(Output):
    """The offsets of groups."""

    def make(self, formula: Formula, part: GroupedPart) -> Array | None:
        """Return those of the tiles that begin in a part."""
        own = groups.groups_of(formula, part)
        made = own.in_order(groups.operands(formula, part).zero_point)
        return None if made is None else np.asarray(part.same(made))

    def before(self, formula: Formula, part: GroupedPart) -> Before | None:
        """Return them in float64, and the larger of what they are the difference of."""
        part = part.wide()
        value, own = self.make(formula, part), groups.groups_of(formula, part)
        quotient = own.in_order(own.extreme("hi") / groups.operands(formula, part).scale)
        if value is None or quotient is None:
            return None
        return value, largest(quotient, np.full(value.shape, part.model.most, np.float64))


def text(formula: Formula) -> str:
    """Return how scale, offset and y come about."""
    scale = formula["bound"].text.format(scale=formula["scale"].text)
    text = f"scale = {scale}, offset = {formula['offset'].text}, y = {steps.codes_text(formula)}"
    values = formula["values"].name
    return f"{text}, {values}" if values else text


SLOTS = {
    "values": (
        groups.AS_GIVEN,
        AROUND_ZERO,
        groups.PER_TENSOR,
        groups.PER_COLUMN,
        groups.PER_TOKEN,
        *groups.INPUTS,
        groups.SMOOTH_IGNORED,
        groups.SMOOTH_DIVIDES,
    ),
    "scale": (RANGE_OVER_255, TIMES_INVERSE, OVER_256, *NARROW_SCALES),
    "bound": (AT_LEAST, UNBOUNDED),
    "reported": REPORTED[:1],
    "offset": (OFFSET, WHOLE_OFFSET),
    "quotient": (steps.DIVIDED, RECIPROCAL),
} | steps.ENDS
SLOTS["zero"] = (ADDED, AFTER, SUBTRACTED, HYBRID)
SLOTS["kept"] = (steps.KEPT, steps.FLOAT16, steps.BFLOAT16)


class DynamicQuantAsymmetric(DynamicQuant):
    """npu_dynamic_quant_asymmetric."""

    form = Form(
        SLOTS,
        text,
        (Codes(groups.operands), Rounded(groups.scales), Offsets()),
        "docs/numerics.md 12",
    )
    size = "range"
    made_of = ("values", "scale", "bound", "offset")

    def has_sum(self, output: int) -> bool:
        """Tell that an offset is added."""
        return True

    def most_steps(self, output: int) -> float:
        """Return any number: beside a great offset codes and offsets have steps of no meaning."""
        return ANY

    def allowed_for(self, output: int) -> float:
        """Return k; that of the offset has its own roundings only.

        A reciprocal of R, its product with the range, hi / scale, T - it; and the golden scale's.
        """
        return 5.0 if self.kinds[output] == "offset" else super().allowed_for(output)

    def scale_outputs(self, output: int) -> tuple[int, ...]:
        """Return the output with the scales, by which offsets go as well."""
        return (self.kinds.index("scale"),)

    def grid(self, output: int, index: Places) -> Any:
        """Return what ties an output: an offset goes by what it is the difference of."""
        own = super().grid(output, index)
        return Differences(own) if self.kinds[output] == "offset" else own
