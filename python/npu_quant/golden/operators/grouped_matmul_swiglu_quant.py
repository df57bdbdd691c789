"""npu_grouped_matmul_swiglu_quant: products by experts, a gated linear unit, and its codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ... import _products
from ...ops import grouped_matmul_swiglu_quant as page
from ..elements import largest
from . import dynamic_quant, glu, glu_quant, groups, steps
from .arithmetic import Floats
from .codes import Codes
from .formula import Form, Formula, Made, Other, Step
from .glu_quant import GluPart, GluQuant, Scales, operands
from .model import Array, Flat

DOCUMENT = "cann/ops-transformer gmm/grouped_matmul_swiglu_quant/docs"
GOLDEN = "Ascend/op-plugin test_npu_grouped_matmul_swiglu_quant.py, its golden"


def is_int4(model: Any) -> bool:
    """Tell whether products are scaled in groups along k."""
    return bool(model.is_int4)


def is_int8(model: Any) -> bool:
    """Tell whether sums are scaled as they are whole."""
    return not model.is_int4


# The sums of rows of x in groups along k, and what they add up to.


def in_one(x: Array, total: Callable[[Array], Floats]) -> Floats:
    """Add up products of x - 8."""
    return total(x.astype(np.int16) - 8)


def in_halves(x: Array, total: Callable[[Array], Floats]) -> Floats:
    """Add up products of the upper and the lower four bits of x by themselves."""
    return np.float32(16) * total(x >> 4) + total((x & 15) - 8)


TOTALS = (
    Step("", "", in_one),
    Step("halves of x apart", ", 4 bits of x at a time", in_halves, DOCUMENT, is_int4),
)
BIASES = (
    Step("", "", lambda total, bias: total + bias),
    Other("bias ignored", ", without bias", lambda total, bias: total, steps.MISTAKE, is_int4),
)
DEQUANTIZED = (
    Step("", "sums * x_scale * weight_scale", lambda v, x, w: v * x * w),
    Step(
        "weight_scale first",
        "sums * weight_scale * x_scale",
        lambda v, x, w: v * w * x,
        GOLDEN,
        is_int8,
    ),
    Step(
        "product of the scales",
        "sums * (x_scale * weight_scale)",
        lambda v, x, w: v * (x * w),
        "scripts",
        is_int8,
    ),
    Other("weight_scale ignored", "sums * x_scale", lambda v, x, w: v * x, steps.MISTAKE, is_int8),
    Other("x_scale ignored", "sums * weight_scale", lambda v, x, w: v * w, steps.MISTAKE),
    *steps.in_16_bits(
        "c in {short}",
        "{long}(sums * x_scale * weight_scale)",
        "npu_grouped_matmul in the dtype of a 16-bit model, gated by another operator",
        lambda stored: lambda v, x, w: stored(v * x * w),
    ),
)
OF_SUMS = {"total": TOTALS, "bias": BIASES, "dequantized": DEQUANTIZED}
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
    own = "".join(formula[slot].text for slot in ("dequantized", "total", "bias"))
    return f"{glu_quant.text(formula)}, of c = {own}"


class ExpertPart(GluPart):
    """Some rows; the first ones have the offset, which is one for all."""

    def __init__(self, model: Any, first: int, last: int) -> None:
        super().__init__(model, first, last)
        self.spans = (*self.spans[:2], (min(first, 1), 1))


def no_offset(formula: Formula, part: ExpertPart) -> Array:
    """Return the offset, where the part has it."""
    begin, end = part.spans[2]
    return np.zeros(end - begin, np.float32)


class GroupedMatmulSwigluQuant(GluQuant):
    """npu_grouped_matmul_swiglu_quant."""

    part = ExpertPart
    form = Form(
        OF_SUMS | glu.SLOTS | BY_ROWS | groups.ENDS,
        text,
        (Codes(operands), Scales(), Made(no_offset)),
        "docs/numerics.md 24",
    )
    unit_slots = (*OF_SUMS, *glu.SLOTS)
    is_sum = is_dynamic = True

    def prepare(self) -> None:
        """Read the arguments, and multiply."""
        inputs = self.inputs
        self.is_int4 = inputs["weight"].dtype != np.int8
        self.behind = inputs["group_list"]
        scale = page.scales_of(inputs["weight_scale"])
        self.scales = scale[:, None] if self.is_int4 and scale.ndim == 2 else scale
        self.read_format(None)
        shape = (len(inputs["x"]), scale.shape[-1] // 2)
        self.group(np.broadcast_to(np.int8(0), shape), "pertoken")
        self.of_rows = Flat(inputs["x_scale"])
        self.given = {"bias": inputs["bias"]} if self.is_int4 else {"weight_scale": scale}
        self._sums: dict[Any, Flat] = {}

    def by_experts(self, multiply: Callable[[Array, Array, Array], Array]) -> Array:
        """Return what becomes of the rows of each expert, its matrix and its scales."""
        x, weight, first, made = self.inputs["x"], self.inputs["weight"], 0, []
        for e, end in enumerate(self.behind.tolist()):
            matrix = _products.factors(x[:0], weight[e])[1]
            made.append(multiply(x[first:end], matrix, self.scales[e]))
            first = end
        made.append(np.zeros((len(x) - first, self.scales.shape[-1]), made[0].dtype))
        return np.concatenate(made)

    def sums(self, way: Any) -> Flat:
        """Return the sums of all rows, or totals over groups along k, in a way."""
        if way not in self._sums:
            self._sums[way] = Flat(self.by_experts(way))
        return self._sums[way]

    def dequantized(self, formula: Formula, part: GluPart) -> tuple[Floats, Floats]:
        """Return what is gated, and the largest of its terms."""
        first, last = part.range
        n, floats = 2 * self.columns, part.floats

        def read(sums: Flat) -> Floats:
            own = sums.read(first * n, last * n).reshape(last - first, n)
            return own.astype(floats)

        of_row = self.of_rows.floats(first, last)[:, None].astype(floats)
        finish = formula["dequantized"].function
        if not self.is_int4:
            scale = self.parameter("weight_scale", first, last).astype(floats)
            v = finish(read(self.sums(_whole)), of_row, scale)
            return v, v
        bias = self.parameter("bias", first, last).astype(floats)
        total = read(self.sums(BY_STEP[formula["total"]]))
        v = finish(formula["bias"].function(total, bias), of_row, floats(1))
        size = read(self.sums(_sizes))
        return v, largest(v, size * of_row, bias * of_row)

    def without_those_behind(self, o: Floats, first: int, last: int) -> Floats:
        """Return o, and 0 behind the last group."""
        return np.where(np.arange(first, last)[:, None] < self.behind[-1], o, o.dtype.type(0))

    def allowed_for(self, output: int) -> float:
        """Return k: of int4 each group is scaled and added, and its sum is rounded."""
        count = int(self.scales.shape[1]) if self.is_int4 else 0
        return super().allowed_for(output) + 3 * count


def _totals(step: Step) -> Callable[[Array, Array, Array], Floats]:
    """Return the totals over groups along k of what a step multiplies."""
    return lambda x, weight, scale: step.function(x, lambda own: page.totals(own, weight, scale))


def _sizes(x: Array, weight: Array, scale: Array) -> Floats:
    """Return the magnitudes of what is added up for totals."""
    centred = np.abs(x.astype(np.int16) - 8)
    return page.totals(centred, np.abs(weight), np.abs(scale))


def _whole(x: Array, weight: Array, scale: Array) -> Array:
    """Return sums of integers."""
    return _products.whole_sums(x.astype(np.float64), weight)


BY_STEP = {step: _totals(step) for step in TOTALS}
