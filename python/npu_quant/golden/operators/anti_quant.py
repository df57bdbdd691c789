"""npu_anti_quant: codes back to values of 16 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..elements import elements_of, largest
from . import steps
from .arithmetic import Floats, as_it_is, compiled, fused, roundings, stored_in
from .elements import ElementModel, ElementPart, Spread, dtype_of
from .formula import Before, Form, Formula, Other, Output, Step, Test, always
from .model import Array, unpacked

TORCH = "torch in the dtype of a 16-bit model"


def numbers_of(x: Array) -> Array:
    """Return the numbers that codes stand for: HiFloat8 is in uint8, int4 8 to an int32."""
    if x.dtype == np.uint8:
        return elements_of("hifloat8").values(x).astype(np.float16)  # which has them all
    return unpacked(x)


def axis_of(values: Array, shape: tuple[int, ...]) -> int:
    """Return the axis that a parameter is for: the last one, or the one before it."""
    if values.ndim > 1:
        is_column = values.shape[-1] == 1 and values.size != 1
    else:
        is_column = len(shape) > 1 and values.size not in (1, shape[-1])
    return -2 if is_column else -1


def has_offset(model: Any) -> bool:
    """Tell whether there is an offset."""
    return model.zero_point is not None


def gives_float16(model: Any) -> bool:
    """Tell whether the values are float16."""
    return bool(model.values.carrier == np.float16)


REFERENCE = "(x + offset) * scale"
PRODUCTS = "x * scale + offset * scale"
NAMES = ("x", "scale", "offset", "dst_dtype")
"""What a formula is made of; dst_dtype rounds to the values' dtype."""


def as_text(name: str, text: str, source: str, applies: Test = always, **more: Any) -> Step:
    """Return a formula that does as its text says, unless it has a function."""
    function = more.pop("function", None) or compiled(text, *NAMES)
    most = 1 + roundings(text.partition(",")[0])  # 1 of the scale, which was rounded itself
    return Step(name, text, function, source, applies, roundings=most, **more)


def other(name: str, text: str, source: str, applies: Test = always) -> Step:
    """Return a formula that is another one over the real numbers, too."""
    return as_text(name, text, source, applies, benign=False)


BENIGN = (
    as_text("", REFERENCE, ""),
    as_text(PRODUCTS, PRODUCTS, "scripts", has_offset),
    as_text(
        f"{PRODUCTS}, fused",
        f"{PRODUCTS}, the first product and the sum rounded once",
        "fused multiply-add",
        has_offset,
        function=lambda x, scale, offset, to: fused(x, scale, offset * scale),
    ),
    as_text(
        "rounded once",
        f"{REFERENCE} in float64, rounded to dst_dtype",
        "NumPy scripts in float64",
        function=lambda x, scale, offset, to: (x.astype(np.float64) + offset) * scale,
    ),
)
OTHERS = (
    other(
        "offset subtracted", "(x - offset) * scale", "the zero point of npu_quantize", has_offset
    ),
    other("offset ignored", "x * scale", steps.MISTAKE, has_offset),
    other("x * scale + offset", "x * scale + offset", steps.MISTAKE, has_offset),
    other("x / scale", "(x + offset) / scale", "a scale that is a multiplier"),
    other("sum in 16 bits", "dst_dtype(x + offset) * scale", "scripts in 16 bits", has_offset),
    other("scale in 16 bits", "(x + offset) * dst_dtype(scale)", steps.NARROW_SCALES),
    other("all in 16 bits", "dst_dtype(x + dst_dtype(offset)) * dst_dtype(scale)", TORCH),
    other(
        "product in 16 bits before the sum",
        "dst_dtype(x * scale) + dst_dtype(offset * scale)",
        TORCH,
        has_offset,
    ),
    other("scale twice (sqrtMode)", f"{REFERENCE} * scale", "aclnnAscendAntiQuant with sqrtMode"),
)
SLOTS = {
    "formula": (*BENIGN, *OTHERS),
    "end": (
        Step("", "", as_it_is),
        Other(
            "saturated",
            ", at most 65504",
            lambda y: np.clip(y, np.float32(-65504), np.float32(65504)),
            "the device's saturation mode",
            gives_float16,
        ),
    ),
}


def operands(part: ElementPart) -> tuple[Floats, Floats, Floats]:
    """Return the numbers, scale and offset of a part; 0 if there is none."""
    offset = part.read("zero_point") if has_offset(part.model) else np.zeros(1, part.floats)
    return part.read("elements"), part.read("scale"), offset


class Values(Output):
    """Values of the elements of a part."""

    def make(self, formula: Formula, part: ElementPart) -> Array:
        """Return them in their dtype."""
        return np.asarray(self._of(formula, part).astype(part.model.values.carrier))

    def before(self, formula: Formula, part: ElementPart) -> Before:
        """Return them in float64, and the largest of themselves and their terms."""
        part = part.wide()
        value, (x, scale, offset) = self._of(formula, part), operands(part)
        return value, largest(value, x * scale, offset * scale)

    def _of(self, formula: Formula, part: ElementPart) -> Floats:
        to = stored_in(part.model.values.carrier)
        return formula["end"].function(formula["formula"].function(*operands(part), to))


class AntiQuant(ElementModel):
    """npu_anti_quant."""

    form = Form(
        SLOTS,
        lambda formula: f"y = {formula['formula'].text}{formula['end'].text}",
        (Values(),),
        "docs/numerics.md 9",
    )

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        x, scale, offset = numbers_of(inputs["x"]), inputs["scale"], inputs["offset"]
        shape = x.shape
        self.read(x, scale, None, axis_of(scale, shape))
        if offset is not None:
            self.zero_point = Spread(offset, shape, axis_of(offset, shape))
        to = inputs["dst_dtype"]
        self.values = elements_of(dtype_of("float16" if to is None else to))
