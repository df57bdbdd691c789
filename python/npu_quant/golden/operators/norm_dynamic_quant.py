"""Norms that are quantized, each row by a scale of its own: what their models and formulas share.

A formula is one of norm.py's, and behind it one of dynamic_quant.py's.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import dynamic_quant, groups, norm, steps
from .codes import Codes
from .formula import Cited, Form, Formula, Made, Output
from .model import PART, Array, Exact, Float32, Float64, Part, ranges
from .norm_rows import NormModel, NormPart
from .steps import Operands
from .tiles import GroupedModel, GroupedPart, scale_of


class NormDynamicPart(NormPart):
    """Some rows, and what becomes of them by each norm and for each output of codes."""

    def branch(self, formula: Formula, which: int) -> GroupedPart:
        """Return the rows that an output quantizes, by the norm of a formula."""
        own = tuple(formula[slot] for slot in norm.SLOTS)
        model = self.model
        return self.once(
            (which, own), lambda: GroupedPart(model.branch(formula, which, self), *self.rows)
        )


class NormDynamicQuant(NormModel, GroupedModel):
    """Codes of a norm, and the scale of each row."""

    scales_have_ties = True
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

    def part(self, first: int, last: int) -> Part:
        """Return some rows."""
        return NormDynamicPart(self, first, last)

    def branch(self, formula: Formula, which: int, part: NormPart) -> NormDynamicQuant:
        """Return the model of one output of codes alone, whose input is a norm of these rows."""
        own = copy.copy(self)
        own.smooth, own._branch = self.factors_by_output[which], (formula, part)
        return own

    def inputs_of_rows(self, first: int, last: int) -> Float32:
        """Return the norm of rows [first, last)."""
        assert self._branch is not None
        formula, part = self._branch
        assert part.rows == (first, last)
        with np.errstate(all="ignore"):
            return np.asarray(norm.normed(formula, part))

    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Divide by the golden scales; for the scales themselves, divide amax; for x, the sums."""
        if self.kinds[output] == "values":
            return self.exact_sums(index)
        which = self.nth(output)
        if not self.is_wanted[which]:
            return np.full(len(index), np.nan), ()
        if self.kinds[output] == "scale":
            made = [scale_of(self.reference, self, v) for v in self._amax_of(index, which)]
            return made[0], tuple(made)
        chosen = self.golden()[self.scale_outputs(output)[0]] if scale is None else scale
        assert chosen is not None
        wide = chosen.reshape(-1)[index // self.n].astype(np.float64)
        part, (v, terms) = Part(self), self._smoothed_at(index, which)
        values = [
            steps.before_rounding(self.reference, part, Operands(x, wide))[1] for x in (v, *terms)
        ]
        return values[0], tuple(values[1:])

    def _smoothed_at(
        self, index: NDArray[np.int64], which: int
    ) -> tuple[Float64, tuple[Float64, ...]]:
        """Return what is quantized of some elements, and what it is the sum of, if of several."""
        (t, terms), own = self.exact_t(index), self.factors_by_output[which]
        factor = np.ones(1) if own is None else np.broadcast_to(own, self.n)[index % self.n]
        return t * factor, tuple(term * factor for term in terms if len(terms) > 1)

    def _amax_of(self, row: NDArray[np.int64], which: int) -> Float64:
        """Return the greatest magnitude of rows, and of the terms it is the sum of, in float64."""
        result = np.zeros((1 + 2 * (self.beta is not None), len(row)))
        for begin, end in ranges(len(row), max(1, PART // max(1, self.n))):
            if not self.n:
                break
            index = (row[begin:end, None] * self.n + np.arange(self.n)).reshape(-1)
            v, terms = self._smoothed_at(index, which)
            each = np.abs(np.stack([v, *terms])).reshape(len(result), end - begin, self.n)
            place = each[0].argmax(axis=1)
            result[:, begin:end] = each[:, np.arange(end - begin), place]
        return result


# What a formula makes of a part.


def operands(formula: Formula, part: NormDynamicPart, which: int) -> Operands | None:
    """Return what is quantized of a part; None for an output that is not wanted."""
    if not part.model.is_wanted[which]:
        return None
    return groups.operands(formula, part.branch(formula, which))


def scales(formula: Formula, part: NormDynamicPart, which: int) -> Array | None:
    """Return the scales of a part; of an output that is not wanted 0."""
    if not part.model.is_wanted[which]:
        begin, end = part.spans[part.model.nth_of("scale", which)]
        return np.zeros(end - begin, np.float32)
    return groups.scales(formula, part.branch(formula, which))


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
# Scripts that have the last quotients, x * 127 / amax and x / amax * 127, norm apart.
SLOTS = norm.SLOTS | dynamic_quant.SLOTS
SLOTS |= {"values": VALUES, "quotient": dynamic_quant.QUOTIENTS[:4]}


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
    own = (Made(partial(scales, which=i)) for i in range(branches))
    all_slots = more.pop("slots", SLOTS)
    return Form(all_slots, text, (*codes, *outputs, *own), "docs/numerics.md 5", CITED, **more)
