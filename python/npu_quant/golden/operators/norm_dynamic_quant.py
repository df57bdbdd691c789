"""Norms that are quantized, each row by a scale of its own: what their models and formulas share.

A formula is one of norm.py's, and behind it one of dynamic_quant.py's.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..elements import largest
from . import dynamic_quant, groups, norm
from .arithmetic import Floats
from .codes import Codes
from .formula import Before, Cited, Form, Formula, Other, Output, none_of
from .model import Array
from .norm_rows import NormModel, NormPart
from .steps import Operands
from .tiles import GroupedModel, GroupedPart, scale_of


class NormDynamicPart(NormPart):
    """Some rows, and what becomes of them by each norm and for each output of codes."""

    def branch(self, formula: Formula, which: int) -> GroupedPart:
        """Return the rows that an output quantizes, by the norm of a formula."""
        own = tuple(formula[slot] for slot in norm.SLOTS)
        return self.once((which, own), lambda: self._branch(formula, which))

    def _branch(self, formula: Formula, which: int) -> GroupedPart:
        made = GroupedPart(self.model.branch(formula, which, self), *self.range)
        made.floats, made.scale = self.floats, self.scale
        made.narrow = None if self.narrow is None else self.narrow.branch(formula, which)
        return made


class NormDynamicQuant(NormModel, GroupedModel):
    """Codes of a norm, and the scale of each row."""

    scales_have_ties = True
    part = NormDynamicPart
    smooths: tuple[str, ...] = ("smooth_scale",)
    """The arguments that are factors, of each output of codes."""
    _branch: tuple[Formula, NormPart] | None = None

    def prepare(self) -> None:
        """Read the arguments."""
        self.group(self.inputs[self.terms[0]], "pertoken")
        self.read_norm()
        self.goal = self.most
        self.factors_by_output = tuple(self.over_gamma(name) for name in self.smooths)
        self.smooth = next((own for own in self.factors_by_output if own is not None), None)
        self.is_wanted = self.wanted()

    def wanted(self) -> tuple[bool, ...]:
        """Tell which outputs of codes there are."""
        return (True,)

    def nth(self, output: int) -> int:
        """Return which of the outputs of its kind one is."""
        return self.kinds[:output].count(self.kinds[output])

    def nth_of(self, kind: str, which: int) -> int:
        """Return that output; those of a kind follow on each other."""
        return self.kinds.index(kind) + which

    def scale_outputs(self, output: int) -> tuple[int, ...]:
        """Return the output that has the scales of these codes, as the k-th scales are."""
        return (self.nth_of("scale", self.nth(output)),)

    def allowed_for(self, output: int) -> float:
        """Return k: factors round once more."""
        is_sum = self.kinds[output] == "values"
        return super().allowed_for(output) + (self.smooth is not None and not is_sum)

    def has_sum(self, output: int) -> bool:
        """Tell whether there is a beta."""
        return self.beta is not None

    def branch(self, formula: Formula, which: int, part: NormPart) -> NormDynamicQuant:
        """Return the model of one output of codes alone, whose input is a norm of these rows."""
        own = copy.copy(self)
        own.smooth, own._branch = self.factors_by_output[which], (formula, part)
        return own

    def inputs_of_rows(self, first: int, last: int) -> Floats:
        """Return the norm of rows [first, last)."""
        assert self._branch is not None
        formula, part = self._branch
        assert part.range == (first, last)
        with np.errstate(all="ignore"):
            return np.asarray(norm.normed(formula, part))


# What a formula makes of a part.


def terms_of(formula: Formula, part: NormDynamicPart, which: int) -> tuple[Floats, ...]:
    """Return what the numbers that an output quantizes are the sum of, if they are one."""
    factor = part.model.factors_by_output[which]
    terms = norm.terms_of(formula, part)
    return terms if factor is None else tuple(term * factor for term in terms)


def operands(formula: Formula, part: NormDynamicPart, which: int) -> Operands | None:
    """Return what is quantized of a part; None for an output that is not wanted."""
    if not part.model.is_wanted[which]:
        return None
    own = groups.operands(formula, part.branch(formula, which))
    if part.narrow is None:
        return own
    return replace(own, terms=tuple(v[:, None] for v in terms_of(formula, part, which)))


class Scales(Output):
    """The scales of an output of codes."""

    def __init__(self, which: int) -> None:
        self._which = which

    def make(self, formula: Formula, part: NormDynamicPart) -> Array | None:
        """Return those of a part; of an output that is not wanted 0."""
        if not part.model.is_wanted[self._which]:
            begin, end = part.spans[part.model.nth_of("scale", self._which)]
            return np.zeros(end - begin, np.float32)
        return groups.scales(formula, part.branch(formula, self._which))

    def before(self, formula: Formula, part: NormDynamicPart) -> Before | None:
        """Return them in float64, and the largest that the terms of a row's amax would have."""
        part = part.wide()
        made, own = self.make(formula, part), part.branch(formula, self._which)
        if made is None or not part.model.is_wanted[self._which]:
            return None if made is None else none_of(len(made))
        terms = terms_of(formula, part, self._which) if part.model.n else ()
        at = np.abs(own.groups().v[:, 0]).argmax(axis=1) if terms else 0
        sizes = (np.abs(term)[np.arange(len(term)), at] for term in terms)
        return made, largest(made, *(scale_of(formula, own.model, size) for size in sizes))


def text(formula: Formula) -> str:
    """Return how the scale and y come about."""
    own = groups.text(formula.but(values=groups.AS_GIVEN), "v")
    return f"{own}, v = {formula['values'].text}, {norm.text_of_t(formula)}"


# The formulas.

VALUES = (
    replace(groups.AS_GIVEN, text="t or t * smooth_scale"),
    replace(groups.SMOOTH_IGNORED, name="smooth_scale ignored", text="t"),
    replace(groups.SMOOTH_DIVIDES, name="divided by smooth_scale", text="t / smooth_scale"),
)
ONE_FOR_0 = Other(
    "scale 1 for 0",
    "({scale}, or 1 for 0)",
    lambda scale, amax, model: np.where(amax == 0, np.float32(1), scale),
    "Ascend/op-plugin test/test_custom_ops/test_npu_add_rms_norm_dynamic_quant.py",
)
# Scripts that have the last quotients, x * 127 / amax and x / amax * 127, norm apart.
SLOTS = norm.SLOTS | dynamic_quant.SLOTS
SLOTS |= {"values": VALUES, "quotient": dynamic_quant.QUOTIENTS[:4]}
SLOTS |= {"reported": (*dynamic_quant.REPORTED, ONE_FOR_0)}


KERNELS = "hicann/ops-nn norm/add_rms_norm_dynamic_quant/op_kernel"
SCALES, QUOTIENTS = dynamic_quant.SCALES, dynamic_quant.QUOTIENTS
CITED = (
    Cited("ascend910b", {"scale": SCALES[2], "quotient": QUOTIENTS[2]}, KERNELS),
    Cited("ascend950", {"scale": SCALES[1]}, f"{KERNELS}/arch35"),
)


def form(branches: int, outputs: tuple[Output, ...], **more: Any) -> Form:
    """Return the form of an operator that quantizes a norm for some branches.

    Args:
        branches: how many outputs of codes there are, and of scales.
        outputs: those between codes and scales.
        more: what else the form has.
    """
    codes = (Codes(partial(operands, which=i), i) for i in range(branches))
    own = (Scales(i) for i in range(branches))
    all_slots = more.pop("slots", SLOTS)
    return Form(all_slots, text, (*codes, *outputs, *own), "docs/numerics.md 5", CITED, **more)
