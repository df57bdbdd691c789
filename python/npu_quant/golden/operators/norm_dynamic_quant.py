"""Norms that are quantized, each row by a scale of its own: what their models and formulas share.

A formula is one of norm.py's, and behind it one of dynamic_quant.py's.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import dynamic_quant, groups, norm, steps
from .formula import Form, Formula, Step, Variant
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

    def zeros(self, kind: str, which: int, dtype: Any) -> Array:
        """Return what an output that is not wanted has here."""
        begin, end = self.spans[self.model.nth_of(kind, which)]
        return np.zeros(end - begin, dtype)


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


def y(formula: Formula, part: NormDynamicPart, which: int) -> Array:
    """Return the codes of a part; of an output that is not wanted its zero."""
    if not part.model.is_wanted[which]:
        return part.zeros("codes", which, part.model.format.carrier)
    return groups.y(formula, part.branch(formula, which))


def scales(formula: Formula, part: NormDynamicPart, which: int) -> Array | None:
    """Return the scales of a part, likewise."""
    if not part.model.is_wanted[which]:
        return part.zeros("scale", which, np.float32)
    return groups.scales(formula, part.branch(formula, which))


def text(formula: Formula) -> str:
    """Return how the scale and y come about."""
    own = groups.text(formula.but(values=groups.AS_GIVEN), "v")
    return f"{own}, v = {formula['values'].text}, {norm.text_of_t(formula)}"


# The formulas.

V = replace(groups.AS_GIVEN, text="t or t * smooth_scale")
SMOOTH_IGNORED = replace(groups.SMOOTH_IGNORED, name="smooth_scale ignored", text="t")
SMOOTH_DIVIDES = replace(
    groups.SMOOTH_DIVIDES, name="divided by smooth_scale", text="t / smooth_scale"
)
FORM = Form(
    {**norm.SLOTS, **dynamic_quant.FORM.reference, "values": V},
    text,
    (
        lambda formula, part: y(formula, part, 0),
        lambda formula, part: scales(formula, part, 0),
    ),
)
REFERENCE = FORM.formula()


KERNELS = "hicann/ops-nn norm/add_rms_norm_dynamic_quant/op_kernel"
ASCEND910B = {"scale": dynamic_quant.INVERSE, "quotient": dynamic_quant.BY_127_OVER_AMAX}
ASCEND950 = {"scale": dynamic_quant.TIMES_INVERSE}


def formulas(form: Any) -> Iterator[Formula]:
    """Every order of the sum and the products with each device's scale, rules for ties; others."""
    rules: tuple[dict[str, Step], ...] = ({}, ASCEND910B, ASCEND950)
    for rule, order, products in product(rules, norm.SUM_ORDERS, norm.PRODUCTS):
        yield form(**rule, sum=order, product=products)
    means = (norm.TIMES_INVERSE_N, norm.SCALED_FIRST)
    for rule, mean, order in product(rules, means, norm.SUM_ORDERS):
        yield form(**rule, mean=mean, sum=order)
    ties = (steps.HALF_EVEN, steps.HALF_AWAY, steps.TO_EVEN)
    orders = product(ties, dynamic_quant.SCALES, dynamic_quant.QUOTIENTS)
    for rounding, scale, quotient in orders:
        yield form(scale=scale, quotient=quotient, round=rounding)
    for rounding, rule in product((steps.HALF_UP, *steps.OTHER_ROUNDINGS), rules):
        yield form(**rule, round=rounding)
    for kept, rule in product((steps.FLOAT16, steps.BFLOAT16), rules):
        yield form(**rule, kept=kept)
    for source, end in product((norm.SUMS, norm.ROUNDED), (norm.BETA, norm.T_ROUNDED)):
        yield form(source=source, end=end)
    for root in (*norm.EPSILONS, norm.OUTSIDE):
        yield form(root=root)
    yield form(end=norm.BETA_IGNORED)
    for values in (SMOOTH_IGNORED, SMOOTH_DIVIDES):
        yield form(values=values)
    for scale in (*dynamic_quant.NARROW_SCALES, dynamic_quant.OVER_128, dynamic_quant.OVER_127_5):
        yield form(scale=scale)
    for eps in dynamic_quant.EPSILONS:
        for scale in dynamic_quant.with_epsilon(eps):
            yield form(scale=scale)
    for reported in (dynamic_quant.MULTIPLIER, *dynamic_quant.NARROW_REPORTED):
        yield form(reported=reported)
    for clamp in (steps.CLAMP_SYMMETRIC, groups.UNSATURATED):
        yield form(clamp=clamp)


def variants(form: Form) -> Iterator[Variant]:
    """List the formulas of an operator."""
    own = form.formula(**ASCEND910B), form.formula(**ASCEND950)
    yield form.formula().row(source="docs/numerics.md 5")
    yield own[0].row("ascend910b", KERNELS, profile="ascend910b")
    yield own[1].row("ascend950", f"{KERNELS}/arch35", profile="ascend950")
    yield from form.rows(dict.fromkeys(formulas(form.formula)), own)
