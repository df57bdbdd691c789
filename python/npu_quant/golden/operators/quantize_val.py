"""quantize_val, of arrays and numbers: the zero point is added after rounding."""

from __future__ import annotations

from typing import Any

from ..elements import whole
from . import elements, steps
from .elements import ElementModel, dtype_of, formulas, others
from .formula import Form, Variant
from .model import Array
from .quantize import MEASURED, STEPS, codes


class QuantizeVal(ElementModel):
    """quantize_val."""

    def prepare(self) -> None:
        """Read the arguments."""
        self.read(self.inputs["value"], self.inputs["scale"], self.inputs["zero_point"])
        self.format = whole(dtype_of(self.inputs["scalar_type"]))

    def as_elements(self, output: int, array: Array) -> Array:
        """Return codes; those of a number have its type."""
        return array.astype(self.format.carrier) if array.ndim == 0 else array


FORM = Form(
    STEPS
    | {"quotient": steps.RECIPROCAL}
    | steps.ENDS
    | {"zero": steps.AFTER, "nan": steps.NAN_LEAST},
    elements.text,
    (codes,),
)
REFERENCE = FORM.formula()
QUOTIENTS = (steps.RECIPROCAL, steps.DIVIDED)
ZEROS = (steps.AFTER, steps.BEFORE_INSTEAD)


def has_8_bits(model: Any) -> bool:
    """Tell whether the codes are qint8 or quint8."""
    return bool(model.format.carrier.itemsize == 1)


VARIANTS: tuple[Variant, ...] = (
    REFERENCE.row(source="docs/numerics.md 7"),
    FORM.formula(zero=steps.FUSED, nan=steps.NAN_GREATEST).row(
        "torch.quantize_per_tensor", MEASURED, applies=has_8_bits
    ),
    FORM.formula(zero=steps.BEFORE_INSTEAD).row(
        "torch.quantize_per_tensor (qint32)", MEASURED, applies=lambda model: not has_8_bits(model)
    ),
    *FORM.rows(formulas(REFERENCE, QUOTIENTS, ZEROS)),
    *FORM.rows(others(REFERENCE, QUOTIENTS, ZEROS)),
    FORM.formula(clamp=steps.CLAMP_SYMMETRIC).row(),
    FORM.formula(nan=steps.NAN_0).row("NaN is 0", "npu_quantize"),
)
