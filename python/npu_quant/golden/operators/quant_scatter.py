"""npu_quant_scatter, in place or not: npu_quantize's codes where updates lie, self's elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from . import elements, steps
from .codes import Codes
from .elements import ElementModel
from .formula import Before, Form, Formula
from .model import Array, Flat, Operator

MULTIPLIED = replace(
    steps.MULTIPLIED,
    source="reciprocal_scale of hicann/ops-nn index/quant_update_scatter",
    attribute="",
)
QUOTIENTS = (steps.DIVIDED, steps.RECIPROCAL, MULTIPLIED)
# Updates have 16 bits anyway.
SLOTS = elements.slots(QUOTIENTS, (steps.BEFORE, steps.AFTER_INSTEAD)) | {
    "values": elements.INPUTS[:1]
}


class Scattered(Codes):
    """Codes of the updates, and those of self, which no formula changes."""

    def make(self, formula: Formula, part: Any) -> Array:
        """Return the codes of a part."""
        is_new, kept = part.model.is_new.read(*part.range), part.model.kept.read(*part.range)
        return np.asarray(np.where(is_new, super().make(formula, part), kept))

    def before(self, formula: Formula, part: Any) -> Before:
        """Return the numbers before rounding; those of self are what its codes stand for."""
        is_new, kept = part.model.is_new.read(*part.range), part.model.kept.read(*part.range)
        value, magnitude = super().before(formula, part)
        return np.where(is_new, value, part.model.format.values(kept)), magnitude * is_new


class QuantScatter(ElementModel):
    """npu_quant_scatter and npu_quant_scatter_."""

    form = Form(
        SLOTS,
        elements.text,
        (Scattered(elements.operands),),
        "docs/numerics.md 19",
    )

    is_new: Flat
    """Which elements of self are updated."""
    kept: Flat
    """The elements of self."""

    def __init__(self, operator: Operator, inputs: Mapping[str, Any], numerics: str | None) -> None:
        """Hand over a copy of self, which the operator may write into: where is_new says so."""
        super().__init__(operator, {**inputs, "self": copy(inputs["self"])}, numerics)

    def prepare(self) -> None:
        """Read the arguments, and put the numbers where their codes go."""
        inputs, cache, new = self.inputs, self.inputs["self"], self.inputs["updates"]
        place = int(inputs["axis"]) % cache.ndim
        x, is_new = np.zeros(cache.shape, new.dtype), np.zeros(cache.shape, bool)
        for i, index in enumerate(inputs["indices"].tolist()):
            b, p = index if isinstance(index, list) else (i, index)
            slab = (b, *[slice(None)] * (place - 1), slice(p, p + new.shape[place]))
            x[slab], is_new[slab] = new[i], True
        self.read(x, inputs["quant_scales"], inputs["quant_zero_points"])
        self.read_format(inputs["dst_type"])
        self.is_new, self.kept = Flat(is_new), Flat(self.as_elements(0, cache))
