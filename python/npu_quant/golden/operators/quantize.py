"""npu_quantize, npu_group_quant: numbers to codes by given scales.

The zero point, or the offset, is added before rounding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import elements, steps
from .codes import Codes
from .elements import ElementModel, Spread
from .formula import Cited, Form
from .model import Array, Float32, Places

MEASURED = "measured: torch 2.13 on x86"
# With div_mode=False the operations are reversed: their steps have other names.
BY_RECIPROCAL = replace(
    steps.RECIPROCAL,
    name="x / (1/scale)",
    text="{x} / (1 / {scale})",
    source="the same step handed over as its reciprocal",
    applies=steps.multiplies,
)
DIVIDED_INSTEAD = replace(
    steps.MULTIPLIED,
    name="x / scale",
    text="{x} / {scale}",
    source="aclnnQuantize's scale, which divides; div_mode=True",
    applies=steps.multiplies,
    attribute="div_mode=True",
)


def has_one_scale(model: Any) -> bool:
    """Tell whether there is one scale for all, that is divided by, and torch has the codes."""
    return model.scale.values.size == 1 and steps.divides(model) and has_torchs_codes(model)


def has_scales(model: Any) -> bool:
    """Tell whether there are scales per channel, that are divided by, and torch has the codes."""
    return model.scale.values.size > 1 and steps.divides(model) and has_torchs_codes(model)


def has_torchs_codes(model: Any) -> bool:
    """Tell whether torch has a quantized type of these codes: of 8 or 32 bits."""
    return steps.has_even_steps(model) and not model.format.name


QUOTIENTS = (
    steps.DIVIDED,
    steps.RECIPROCAL,
    BY_RECIPROCAL,
    steps.MULTIPLIED,
    DIVIDED_INSTEAD,
)
RECIPROCAL = {"quotient": steps.RECIPROCAL}
CITED = (
    Cited(
        "torch.quantize_per_tensor",
        RECIPROCAL | {"zero": steps.FUSED, "nan": steps.NAN_GREATEST},
        MEASURED,
        has_one_scale,
    ),
    Cited(
        "torch.quantize_per_channel",
        RECIPROCAL | {"nan": steps.NAN_LEAST},
        MEASURED,
        has_scales,
    ),
)


class Quantize(ElementModel):
    """npu_quantize."""

    form = Form(
        elements.slots(QUOTIENTS, (steps.BEFORE, steps.AFTER_INSTEAD)),
        elements.text,
        (Codes(elements.operands),),
        "docs/numerics.md 8",
        CITED,
    )

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        self.div_mode = bool(inputs["div_mode"])
        axis = int(inputs["axis"])
        axis = -1 if not self.div_mode and axis > -1 else axis
        self.read(inputs["self"], inputs["scales"], inputs["zero_points"], axis)
        self.read_format(inputs["dtype"])


# Where scales always multiply.
PRODUCTS = (
    steps.quotient_step("x * scale", "{x} * {scale}"),
    steps.quotient_step(BY_RECIPROCAL.name, BY_RECIPROCAL.text, BY_RECIPROCAL.source),
    steps.quotient_step(
        "x / scale", "{x} / {scale}", "npu_quantize's scale, which divides", benign=False
    ),
)


def of_offset(text: str) -> str:
    """Call a zero point what the operator calls it."""
    return text.replace("zero_point", "offset").replace("zero point", "offset")


class OfGroups(Spread):
    """A parameter of which each group of rows has a row."""

    def __init__(self, values: Any, columns: int, ends: Array) -> None:
        super().__init__(values, (columns,))
        self._columns, self._ends = columns, ends

    def at(self, index: Places) -> Float32:
        """Return its values at these elements of the array."""
        row, column = np.divmod(index, self._columns)
        group = np.searchsorted(self._ends, row, side="right")
        return self.values[group * self._columns + column]


class GroupQuant(ElementModel):
    """npu_group_quant."""

    form = Form(
        elements.slots(PRODUCTS, (steps.BEFORE, steps.AFTER_INSTEAD)),
        elements.text,
        (Codes(elements.operands),),
        "docs/numerics.md 19",
        words=of_offset,
    )

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        self.read(inputs["x"], inputs["scale"], inputs["offset"])
        self.scale = OfGroups(inputs["scale"], self.x.shape[1], np.asarray(inputs["group_index"]))
        self.read_format(inputs["dst_dtype"])
