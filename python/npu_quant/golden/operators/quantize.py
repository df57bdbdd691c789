"""npu_quantize and quantize_val: numbers to codes by given scales and zero points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from . import elements, steps
from .elements import ElementModel, ElementPart, dtype_of, others
from .formats import whole
from .formula import Form, Formula, Variant
from .model import Array


class Quantize(ElementModel):
    """npu_quantize: the zero point is added before rounding."""

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        self.div_mode = bool(inputs["div_mode"])
        axis = int(inputs["axis"])
        axis = -1 if not self.div_mode and axis > -1 else axis
        self.read(inputs["self"], inputs["scales"], inputs["zero_points"], axis)
        self.format = whole(dtype_of(inputs["dtype"]))


class QuantizeVal(ElementModel):
    """quantize_val, of arrays and numbers: the zero point is added after rounding."""

    def prepare(self) -> None:
        """Read the arguments."""
        self.read(self.inputs["value"], self.inputs["scale"], self.inputs["zero_point"])
        self.format = whole(dtype_of(self.inputs["scalar_type"]))

    def golden(self) -> tuple[Array | None, ...]:
        """Return npu_quant's own codes; those of a number as an array without axes."""
        (codes,) = super().golden()
        assert codes is not None
        own = codes.astype(dtype_of(self.inputs["scalar_type"]), copy=False)
        self._golden = (own,)
        return self._golden


def codes(formula: Formula, part: ElementPart) -> Array:
    """Return the codes of a part."""
    return steps.codes(formula, part, part.operands(formula))


STEPS = {"values": elements.VALUES, "scale": elements.SCALE}
MEASURED = "measured: torch 2.13 on x86"


# npu_quantize. With div_mode=False the operations are reversed: their steps have other names.

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
    """Tell whether there is one scale for all, that is divided by."""
    return model.scale.values.size == 1 and steps.divides(model)


def has_scales(model: Any) -> bool:
    """Tell whether there are scales per channel, that are divided by."""
    return model.scale.values.size > 1 and steps.divides(model)


def formulas() -> Iterator[Formula]:
    """Every benign order of operations and rule for ties."""
    for rounding, zero, quotient in product((steps.HALF_EVEN, steps.HALF_AWAY), ZEROS, QUOTIENTS):
        yield FORM.formula(quotient=quotient, zero=zero, round=rounding)
    for quotient in QUOTIENTS:
        yield FORM.formula(quotient=quotient, round=steps.HALF_UP)
    yield FORM.formula(quotient=steps.RECIPROCAL, zero=steps.FUSED)


VARIANTS: tuple[Variant, ...] = (
    REFERENCE.row(source="docs/numerics.md 8"),
    FORM.formula(quotient=steps.RECIPROCAL, zero=steps.FUSED, nan=steps.NAN_GREATEST).row(
        "torch.quantize_per_tensor", MEASURED, applies=has_one_scale
    ),
    FORM.formula(quotient=steps.RECIPROCAL, nan=steps.NAN_LEAST).row(
        "torch.quantize_per_channel", MEASURED, applies=has_scales
    ),
    *FORM.rows(formulas()),
    FORM.formula(zero=steps.FUSED).row(applies=steps.multiplies),
    *FORM.rows(others(REFERENCE, QUOTIENTS, ZEROS)),
    FORM.formula(quotient=DIVIDED_INSTEAD).row(),
    FORM.formula(clamp=steps.CLAMP_SYMMETRIC).row(),
)


# quantize_val.

VAL_FORM = Form(
    STEPS
    | {"quotient": steps.RECIPROCAL}
    | steps.ENDS
    | {"zero": steps.AFTER, "nan": steps.NAN_LEAST},
    elements.text,
    (codes,),
)
VAL_REFERENCE = VAL_FORM.formula()
VAL_QUOTIENTS = (steps.RECIPROCAL, steps.DIVIDED)
VAL_ZEROS = (steps.AFTER, steps.BEFORE_INSTEAD)


def has_8_bits(model: Any) -> bool:
    """Tell whether the codes are qint8 or quint8."""
    return bool(model.format.carrier.itemsize == 1)


def val_formulas() -> Iterator[Formula]:
    """Every benign order of operations and rule for ties, then others."""
    for rounding, zero, quotient in product(
        (steps.HALF_EVEN, steps.HALF_AWAY), VAL_ZEROS, VAL_QUOTIENTS
    ):
        yield VAL_FORM.formula(quotient=quotient, zero=zero, round=rounding)
    for quotient in VAL_QUOTIENTS:
        yield VAL_FORM.formula(quotient=quotient, round=steps.HALF_UP)
    yield VAL_FORM.formula(zero=steps.FUSED)
    yield from others(VAL_REFERENCE, VAL_QUOTIENTS, VAL_ZEROS)


VAL_VARIANTS: tuple[Variant, ...] = (
    VAL_REFERENCE.row(source="docs/numerics.md 7"),
    VAL_FORM.formula(zero=steps.FUSED, nan=steps.NAN_GREATEST).row(
        "torch.quantize_per_tensor", MEASURED, applies=has_8_bits
    ),
    VAL_FORM.formula(zero=steps.BEFORE_INSTEAD).row(
        "torch.quantize_per_tensor (qint32)", MEASURED, applies=lambda model: not has_8_bits(model)
    ),
    *VAL_FORM.rows(val_formulas()),
    VAL_FORM.formula(clamp=steps.CLAMP_SYMMETRIC).row(),
    VAL_FORM.formula(nan=steps.NAN_0).row("NaN is 0", "npu_quantize"),
)
