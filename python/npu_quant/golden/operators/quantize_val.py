"""quantize_val, of arrays and numbers: the zero point is added after rounding."""

from __future__ import annotations

from typing import Any

from ..elements import whole
from . import elements, steps
from .codes import Codes
from .elements import ElementModel, dtype_of
from .formula import Cited, Form
from .model import Array
from .quantize import MEASURED


def has_8_bits(model: Any) -> bool:
    """Tell whether the codes are qint8 or quint8."""
    return bool(model.format.carrier.itemsize == 1)


SLOTS = elements.slots(
    (steps.RECIPROCAL, steps.DIVIDED, steps.MULTIPLIED), (steps.AFTER, steps.BEFORE_INSTEAD)
)
SLOTS["nan"] = (steps.NAN_LEAST, steps.NAN_GREATEST, steps.NAN_0)
CITED = (
    Cited(
        "torch.quantize_per_tensor",
        {"zero": steps.FUSED, "nan": steps.NAN_GREATEST},
        MEASURED,
        has_8_bits,
    ),
    Cited(
        "torch.quantize_per_tensor (qint32)",
        {"zero": steps.BEFORE_INSTEAD},
        MEASURED,
        lambda model: not has_8_bits(model),
    ),
)


class QuantizeVal(ElementModel):
    """quantize_val."""

    form = Form(SLOTS, elements.text, (Codes(elements.operands),), "docs/numerics.md 7", CITED)

    def prepare(self) -> None:
        """Read the arguments."""
        self.read(self.inputs["value"], self.inputs["scale"], self.inputs["zero_point"])
        self.format = whole(dtype_of(self.inputs["scalar_type"]))

    def as_elements(self, output: int, array: Array) -> Array:
        """Return codes; those of a number have its type."""
        return array.astype(self.format.carrier) if array.ndim == 0 else array
