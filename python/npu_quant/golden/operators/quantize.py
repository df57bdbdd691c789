"""npu_quantize: numbers to codes by given scales; the zero point is added before rounding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import elements, steps
from .elements import ElementModel, ElementPart, formulas, others
from .formula import Form, Formula, Variant
from .model import Array


class Quantize(ElementModel):
    """npu_quantize."""

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        self.div_mode = bool(inputs["div_mode"])
        axis = int(inputs["axis"])
        axis = -1 if not self.div_mode and axis > -1 else axis
        self.read(inputs["self"], inputs["scales"], inputs["zero_points"], axis)
        self.read_format(inputs["dtype"])


def codes(formula: Formula, part: ElementPart) -> Array:
    """Return the codes of a part."""
    return steps.codes(formula, part, part.operands(formula))


STEPS = {"values": elements.VALUES, "scale": elements.SCALE}
MEASURED = "measured: torch 2.13 on x86"


# With div_mode=False the operations are reversed: their steps have other names.

FORM = Form(
    STEPS | {"quotient": steps.DIVIDED} | steps.ENDS | {"zero": steps.BEFORE},
    elements.text,
    (codes,),
)
REFERENCE = FORM.formula()
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
)
ZEROS = (steps.BEFORE, steps.AFTER_INSTEAD)
QUOTIENTS = (steps.DIVIDED, steps.RECIPROCAL, BY_RECIPROCAL)


def has_one_scale(model: Any) -> bool:
    """Tell whether there is one scale for all, that is divided by, and torch has the codes."""
    return model.scale.values.size == 1 and steps.divides(model) and has_torchs_codes(model)


def has_scales(model: Any) -> bool:
    """Tell whether there are scales per channel, that are divided by, and torch has the codes."""
    return model.scale.values.size > 1 and steps.divides(model) and has_torchs_codes(model)


def has_torchs_codes(model: Any) -> bool:
    """Tell whether torch has a quantized type of these codes: of 8 or 32 bits."""
    return steps.has_even_steps(model) and not model.format.name


VARIANTS: tuple[Variant, ...] = (
    REFERENCE.row(source="docs/numerics.md 8"),
    FORM.formula(quotient=steps.RECIPROCAL, zero=steps.FUSED, nan=steps.NAN_GREATEST).row(
        "torch.quantize_per_tensor", MEASURED, applies=has_one_scale
    ),
    FORM.formula(quotient=steps.RECIPROCAL, nan=steps.NAN_LEAST).row(
        "torch.quantize_per_channel", MEASURED, applies=has_scales
    ),
    *FORM.rows(formulas(REFERENCE, QUOTIENTS, ZEROS)),
    FORM.formula(zero=steps.FUSED).row(applies=steps.multiplies),
    *FORM.rows(others(REFERENCE, QUOTIENTS, ZEROS)),
    FORM.formula(quotient=DIVIDED_INSTEAD).row(),
    *FORM.rows(FORM.formula(quotient=step, round=steps.TO_EVEN) for step in QUOTIENTS),
    *FORM.rows(FORM.formula(clamp=step) for step in (steps.CLAMP_SYMMETRIC, steps.UNSATURATED)),
    FORM.formula(kept=steps.HYBRID).row(applies=lambda model: not steps.has_zero_points(model)),
)
