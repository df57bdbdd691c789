"""npu_grouped_matmul_swiglu_quant: products by experts, a gated linear unit, and its codes."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from ... import _products
from ...ops import grouped_matmul_swiglu_quant as page
from ..elements import largest
from . import dynamic_quant, float_sums, glu, glu_quant, groups, products, steps
from .arithmetic import Floats
from .codes import Codes
from .formula import Form, Formula, Made, Other, Step
from .glu_quant import GluPart, GluQuant, Scales, operands
from .model import Array, Flat
from .products import AS_COUNTS, AS_TOLD, FIRST_FOR_ALL, ORDERS, Product, is_shifted
from .tiles import GroupedPart

GOLDEN = "Ascend/op-plugin test_npu_grouped_matmul_swiglu_quant.py, its golden"


def scales_columns(model: Any) -> bool:
    """Tell whether sums are scaled as they are whole, by their columns' scales."""
    return not model.is_float_sum


def has_row_scales(model: Any) -> bool:
    """Tell whether sums are scaled by those of rows: not of MX, whose scales are in the sum."""
    return scales_columns(model) or bool(model.in_groups)


BIASES = (
    Step("", "", lambda total, bias: total + bias),
    Other("bias ignored", ", without bias", lambda total, bias: total, steps.MISTAKE, is_shifted),
)
DEQUANTIZED = (
    Step("", "sums * x_scale * weight_scale", lambda v, x, w: v * x * w),
    Step(
        "weight_scale first",
        "sums * weight_scale * x_scale",
        lambda v, x, w: v * w * x,
        GOLDEN,
        scales_columns,
    ),
    Step(
        "product of the scales",
        "sums * (x_scale * weight_scale)",
        lambda v, x, w: v * (x * w),
        "scripts",
        scales_columns,
    ),
    Other(
        "weight_scale ignored",
        "sums * x_scale",
        lambda v, x, w: v * x,
        steps.MISTAKE,
        scales_columns,
    ),
    Other(
        "x_scale ignored",
        "sums * weight_scale",
        lambda v, x, w: v * w,
        steps.MISTAKE,
        has_row_scales,
    ),
    *steps.in_16_bits(
        "c in {short}",
        "{long}(sums * x_scale * weight_scale)",
        "npu_grouped_matmul in the dtype of a 16-bit model, gated by another operator",
        lambda stored: lambda v, x, w: stored(v * x * w),
    ),
)
OF_SUMS = {
    "order": (ORDERS[0], *ORDERS[3:]),
    "bias": BIASES,
    "dequantized": DEQUANTIZED,
    "groups": (AS_TOLD, AS_COUNTS, FIRST_FOR_ALL),
}
LEAST = dynamic_quant.scale_step(
    "amax at least 2^-126",
    "max(amax, 1.1754943508222875e-38) / 127",
    "cann-bench, its golden",
    benign=False,
)
BY_ROWS = {
    "values": (replace(groups.AS_GIVEN, text="o"),),
    "scale": (*dynamic_quant.SCALES, LEAST),
    "bound": (dynamic_quant.BOUND,),
    "reported": dynamic_quant.REPORTED,
    "quotient": dynamic_quant.QUOTIENTS,
}


def text(formula: Formula) -> str:
    """Return how scale, y, o and c come about."""
    own, order, *more = (formula[s].text for s in ("dequantized", "order", "bias", "groups"))
    own += "".join([f", sums{order}" if order else "", *more])
    return f"{glu_quant.text(formula)}, of c = {own}"


class ExpertPart(GluPart):
    """Some rows; the first ones have the offset, which is one for all."""

    model: ExpertModel

    def __init__(self, model: Any, first: int, last: int) -> None:
        super().__init__(model, first, last)
        y, *others = self.spans
        if model.scales_per_row > 1:
            others[0] = first * model.scales_per_row, last * model.scales_per_row
        if len(others) > 1:
            others[1] = min(first, 1), 1
        self.spans = y, *others

    def _branch(self, formula: Formula) -> GroupedPart:
        made = super()._branch(formula)
        own = self.model.by(formula["groups"])
        made.model.behind, made.model.experts = own.behind, own.experts  # type: ignore[attr-defined]
        return made


def no_offset(formula: Formula, part: ExpertPart) -> Array:
    """Return the offset, where the part has it."""
    begin, end = part.spans[2]
    return np.zeros(end - begin, np.float32)


class ExpertModel(GluQuant):
    """Products by experts that are gated; and, as a copy, by one way to find the experts' rows."""

    part = ExpertPart
    unit_slots = (*OF_SUMS, *glu.SLOTS)
    is_sum = is_dynamic = reads_list = True
    is_float_sum = in_groups = is_shifted = False
    scales_per_row = 1
    of_rows: Flat
    """The scales of rows."""
    experts: Array
    """Which expert the rows of each group are of; behind the last group of none."""

    def read_experts(self, weight: Array, scale: Array, list_type: int) -> None:
        """Take the weights, and which rows each has."""
        x, codes = self.inputs["x"], weight.dtype
        self.is_shifted = x.dtype == np.int8 and codes == np.int32
        self.weight = weight
        self.scales = scale if scale.itemsize == 1 else page.scales_of(scale)
        if self.is_shifted:
            self.is_float_sum = self.in_groups = True
            self.scales = self.scales.reshape(len(weight), -1, self.scales.shape[-1])
        self.group_list, self.list_type = self.inputs["group_list"], list_type
        self.row_count = len(x)
        self._by: dict[Step, ExpertModel] = {}
        self.unwritten_by: dict[Step, Array | None] = {}

    def take(self, step: Step) -> None:
        """Read which rows each expert has, by a step."""
        numbers, counts = step.function(self)
        self.behind = np.cumsum(counts)
        self.experts = np.append(numbers, len(self.weight))
        begins = self.behind - counts
        spans = zip(numbers.tolist(), begins.tolist(), self.behind.tolist(), strict=True)
        self.products = [self.product(e, slice(*own)) for e, *own in spans]

    def by(self, step: Step) -> ExpertModel:
        """Return a copy by a step."""
        if step not in self._by:
            own = copy.copy(self)
            own.take(step)
            self._by[step] = own
        return self._by[step]

    def product(self, e: int, rows: slice) -> Product:
        """Return the rows of an expert, times its matrix."""
        x = self.inputs["x"]

        def right() -> Array:
            return _products.factors(x[:0], self.weight[e])[1]

        def numbers_of(own: Array) -> Array:
            return products.numbers_in(own) - 8 * self.is_shifted

        if self.in_groups:
            return products.in_groups(x[rows], numbers_of, right, self.scales[e])
        return products.of_integers(x[rows], numbers_of, right)

    def parameter(self, name: str, first: int, last: int) -> Any:
        """Return a parameter of rows [first, last): nothing behind the last group."""
        if name not in self.given:
            return None
        nothing = float(name == self.factors)
        own = np.pad(self.given[name], ((0, 1), (0, 0)), constant_values=nothing)
        group = np.searchsorted(self.behind, np.arange(first, last), side="right")
        return own[self.experts[group]]

    def dequantized(self, formula: Formula, part: GluPart) -> tuple[Floats, Floats]:
        """Return what is gated, and the largest of its terms: 0 behind the last group."""
        (first, last), floats = part.range, part.floats
        own, n = self.by(formula["groups"]), 2 * self.columns

        def sums_by(order: Any) -> Floats:
            def make() -> Floats:
                return products.sums_of(own.products, n, order, first, last).astype(floats)

            return part.once(("sums", order, formula["groups"]), make)

        def of_groups(name: str, otherwise: float) -> Floats:
            given = own.parameter(name, first, last)
            return floats(otherwise) if given is None else given.astype(floats)

        is_wide = floats is np.float64 and self.is_float_sum
        sums = sums_by(products.exact if is_wide else formula["order"].function)
        of_row = self.of_rows.floats(first, last)[:, None].astype(floats)
        scale = of_groups("weight_scale", 1)
        bias = of_groups("bias", -0.0)
        v = formula["dequantized"].function(formula["bias"].function(sums, bias), of_row, scale)
        is_there = np.arange(first, last)[:, None] < own.behind[-1]
        v = np.where(is_there, v, floats(0))
        if not self.is_float_sum or not is_wide:
            return v, v
        left = float_sums.as_large(sums_by(float_sums.left_by), self.allowed_for(0))
        return v, largest(v, sums * of_row, left * of_row, bias * of_row)

    def unwritten(self, formula: Formula) -> Array | None:
        """Return which rows a way to find the groups gives to no expert."""
        return products.unwritten(self, formula["groups"])


class GroupedMatmulSwigluQuant(ExpertModel):
    """npu_grouped_matmul_swiglu_quant."""

    form = Form(
        OF_SUMS | glu.SLOTS | BY_ROWS | groups.ENDS,
        text,
        (Codes(operands), Scales(), Made(no_offset)),
        "docs/numerics.md 24",
    )

    def prepare(self) -> None:
        """Read the arguments, and which rows each expert has."""
        inputs = self.inputs
        self.read_experts(inputs["weight"], inputs["weight_scale"], 0)
        self.read_format(None)
        shape = (self.row_count, self.scales.shape[-1] // 2)
        self.group(np.broadcast_to(np.int8(0), shape), "pertoken")
        self.of_rows = Flat(inputs["x_scale"])
        self.given = {"weight_scale": self.scales}
        if self.in_groups:
            self.given = {"bias": inputs["bias"]}
        self.take(AS_TOLD)
