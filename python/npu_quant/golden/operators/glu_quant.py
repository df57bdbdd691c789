"""Gated linear units that are quantized: what the models and formulas of two operators share.

A formula is one of glu.py's, of sums that are dequantized first where there are such, and behind
it one of dynamic_quant.py's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ... import _codes
from ..._codes import int4_of
from ..elements import largest
from . import glu, groups, steps
from .arithmetic import Floats
from .codes import Codes
from .formula import Before, Form, Formula, Output, Step, none_of, only_if
from .model import ANY, Array, Flat, Float32, Part
from .steps import Operands
from .tiles import GroupedModel, GroupedPart


def is_dynamic(model: Any) -> bool:
    """Tell whether rows have scales of their own."""
    return bool(model.is_dynamic)


of_rows = partial(only_if, is_dynamic)
"""Steps of which others than the first are for scales of rows."""
ENDS = steps.ENDS | {
    "zero": (
        replace(steps.BEFORE, text="{round}({quotient} (+ offset))"),
        replace(steps.AFTER_INSTEAD, source="torch.ao's convention"),
        steps.SUBTRACTED,
        steps.IGNORED,
    )
}


def values(factor: str) -> tuple[Step, ...]:
    """Return what is quantized: o, or its products with factors of that name."""
    return (
        replace(groups.AS_GIVEN, text=f"o or o * {factor}"),
        replace(groups.SMOOTH_IGNORED, name=f"{factor} ignored", text="o"),
        replace(groups.SMOOTH_DIVIDES, name=f"divided by {factor}", text=f"o / {factor}"),
    )


def text(formula: Formula) -> str:
    """Return how scale, y, t, o and v come about."""
    own = groups.text(formula.but(values=groups.AS_GIVEN), "t")
    own += f", t = {formula['values'].text}, o = {glu.text(formula)}"
    if "mode" not in formula.steps:
        return own
    own += formula["mode"].text + formula["limit"].text
    return f"{own}, v = {formula['dequantized'].text}{formula['bias'].text}"


def as_added(parameter: Array) -> Array:
    """Return a parameter as formulas read it: in float32, or the integers of a bias."""
    return parameter if parameter.dtype == np.int32 else parameter.astype(np.float32)


class GluPart(GroupedPart):
    """Some rows, and what becomes of them by each unit."""

    model: GluQuant

    def branch(self, formula: Formula) -> GroupedPart:
        """Return the rows that are quantized, by the unit of a formula."""
        own = tuple(formula[slot] for slot in self.model.unit_slots)
        return self.once(("unit", own), lambda: self._branch(formula))

    def _branch(self, formula: Formula) -> GroupedPart:
        model = copy.copy(self.model)
        model.unit_of = lambda: gated(formula, self)[0]
        made = GroupedPart(model, *self.range)
        made.floats, made.scale = self.floats, self.scale
        made.narrow = None if self.narrow is None else self.narrow.branch(formula)
        return made


def gated(formula: Formula, part: GluPart) -> tuple[Floats, Floats | None]:
    """Return o of a part, and of a wide one how far it moves as its terms do by their size."""
    model, floats = part.model, part.floats
    v, size = model.dequantized(formula, part)
    mode = formula["mode"].function(model) if "mode" in formula.steps else 0

    def pair(row: Floats) -> Any:
        n = row.shape[1] // 2
        even = row[:, ::2], row[:, 1::2]
        first, second = even if mode == 1 else (row[:, :n], row[:, n:])
        is_first = mode == 1 or model.inputs.get("activate_left", True)
        return formula["half"].function(*((first, second) if is_first else (second, first)))

    a, b = pair(v)
    exponent, bias = a, floats(0)
    if mode:
        a, b = formula["limit"].function(a, b, floats(model.limit))
        bias = floats(model.glu_bias)
        exponent, b = floats(model.alpha) * a, b + bias
    o = glu.product(formula, a, exponent, b)
    if part.narrow is None or not (mode or model.is_sum):
        return model.without_those_behind(o, *part.range), None
    sigmoid = 1 / (1 + np.exp(-exponent))
    slope = sigmoid * (1 + np.abs(exponent) * (1 - sigmoid))
    of_a, of_b = pair(size)
    terms = (b * slope * largest(a, of_a), sigmoid * a * largest(bias, of_b))
    return model.without_those_behind(o, *part.range), largest(o, *terms)


def operands(formula: Formula, part: GluPart) -> Operands:
    """Return what is quantized of a part."""
    own, model = part.branch(formula), part.model
    if model.is_dynamic:
        made = groups.operands(formula, own)
    else:
        v, rows = groups.groups_of(formula, own).v, part.range
        scale, offset = (model.parameter(name, *rows) for name in model.given_by)
        one = np.ones((1, 1, 1), part.floats)
        spread = [None if p is None else p[:, None].astype(part.floats) for p in (scale, offset)]
        made = Operands(v, one if spread[0] is None else spread[0], spread[1])
    term = None if part.narrow is None else moved(formula, part)
    return made if term is None else replace(made, terms=(term[:, None],))


def moved(formula: Formula, part: GluPart) -> Floats | None:
    """Return by what o is measured with its factors, where that is not its own size."""
    size = part.once(("size", formula.key), lambda: gated(formula, part)[1])
    return None if size is None else part.model.smoothed(size, *part.range)


class Scales(Output):
    """The scales of rows; zeros where there are none."""

    def make(self, formula: Formula, part: GluPart) -> Array | None:
        """Return those of a part."""
        if not part.model.is_dynamic:
            return np.zeros(part.range[1] - part.range[0], np.float32)
        return groups.scales(formula, part.branch(formula))

    def before(self, formula: Formula, part: GluPart) -> Before | None:
        """Return them in float64, and what the terms of a row's amax would make of them."""
        part = part.wide()
        made, term = self.make(formula, part), moved(formula, part)
        if not part.model.is_dynamic or made is None:
            return none_of(part.range[1] - part.range[0])
        if term is None or not part.model.columns:
            return made, np.abs(made)
        v = groups.groups_of(formula, part.branch(formula)).v[:, 0]
        at = np.arange(len(v)), np.abs(v).argmax(axis=1)
        return made, np.abs(made) * np.fmax(1, np.abs(term[at] / v[at]))


def form(slots: Mapping[str, tuple[Step, ...]]) -> Form:
    """Return the form of an operator with these slots."""
    return Form(slots, text, (Codes(operands), Scales()), "docs/numerics.md 17")


class GluQuant(GroupedModel):
    """Codes of a gated linear unit, and the scale of each row."""

    part: type[GluPart] = GluPart
    scales_have_ties = True
    unit_slots: tuple[str, ...] = tuple(glu.SLOTS)
    is_sum = False
    swiglu_mode = 0
    limit = alpha = glu_bias = np.float32(1)
    factors = "smooth_scales"
    """The argument that is a factor of o."""
    given_by: tuple[str, str] = ("", "offsets")
    """The arguments that o is divided by and that is added, where rows have no scales."""
    unit_of: Callable[[], Floats] | None = None

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        x = inputs["x"]
        self.read_format(inputs["dst_type"])
        self.group(x[..., : x.shape[-1] // 2], "pertoken")
        self.rows_of_x = Flat(x)
        self.is_dynamic = inputs["quant_mode"] == 1
        self.has_scale_per_row = self.is_dynamic and bool(self.given_by[0])
        self.behind: Any = self.read_ends()
        self.given = {
            name: as_added(value).reshape(len(self.behind), -1)
            for name, value in inputs.items()
            if isinstance(value, np.ndarray)
            and name not in ("x", "group_index", "activation_scale")
        }
        if self.factors in self.given and (self.is_dynamic or not self.given_by[0]):
            self.smooth = self.given[self.factors]

    def read_ends(self) -> Any:
        """Return the row behind each group."""
        index = self.inputs["group_index"]
        if index is None:
            return np.array([self.row_count])
        is_ends = self.inputs.get("group_list_type", 1) == 0
        return index if is_ends else np.cumsum(index)

    def parameter(self, name: str, first: int, last: int) -> Any:
        """Return a parameter of rows [first, last): nothing behind the last group."""
        if name not in self.given:
            return None
        nothing = float(name in ("smooth_scales", "quant_scale"))
        own = np.pad(self.given[name], ((0, 1), (0, 0)), constant_values=nothing)
        return own[np.searchsorted(self.behind, np.arange(first, last), side="right")]

    def factors_of_rows(self, first: int, last: int) -> Float32:
        """Return the factors of rows [first, last)."""
        return np.asarray(self.parameter(self.factors, first, last))

    def inputs_of_rows(self, first: int, last: int) -> Floats:
        """Return o of the rows of a branch."""
        assert self.unit_of is not None
        with np.errstate(all="ignore"):
            return self.unit_of()

    def read_x(self, part: GluPart) -> Any:
        """Return the rows of a part as they are given."""
        first, last = part.range
        n = 2 * self.columns
        return self.rows_of_x.read(first * n, last * n).reshape(last - first, n)

    def dequantized(self, formula: Formula, part: GluPart) -> tuple[Floats, Floats]:
        """Return what is gated, and the largest of its terms."""
        v = self.read_x(part).astype(np.float32).astype(part.floats)
        return v, v

    def without_those_behind(self, o: Floats, first: int, last: int) -> Floats:
        """Return o as it is."""
        return o

    def all_zero_points(self) -> list[Any]:
        """Return what is added before rounding."""
        return [] if self.given_by[1] not in self.given else [self.given[self.given_by[1]]]

    def has_sum(self, output: int) -> bool:
        """Tell whether the numbers that are quantized are sums, or made of such."""
        return self.is_sum or bool(self.swiglu_mode) or bool(self.all_zero_points())

    def allowed_for(self, output: int) -> float:
        """Return k: factors round once more, sums four times: themselves, scales and a bias."""
        return super().allowed_for(output) + (self.smooth is not None) + 4 * self.is_sum

    def most_steps(self, output: int) -> float:
        """Return any number of scales, which the roundings of a row move by up to k."""
        return ANY if self.kinds[output] == "scale" else super().most_steps(output)

    def as_elements(self, output: int, array: Array) -> Array:
        """Return an output as an array of elements: of two codes to a byte each its own."""
        is_code = self.kinds[output] == "codes" and array.ndim > 0
        if not is_code or 2 * array.shape[-1] != self.columns or array.itemsize > 1:
            return super().as_elements(output, array)
        return int4_of(array) if self.format.is_even else _codes.unpacked(array)

    def whole(self) -> list[Part]:
        """Return all rows."""
        return [self.part(self, 0, self.row_count)]
