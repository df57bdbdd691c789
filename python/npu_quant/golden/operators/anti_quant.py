"""npu_anti_quant: codes back to values of 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..elements import elements_of
from . import steps
from .arithmetic import Floats, compiled, fused, roundings, stored_in
from .elements import ElementModel, ElementPart, Spread, dtype_of
from .formula import Test, Variant, always
from .model import Array, Exact, unpacked

KERNEL = "hicann/ops-nn quant/ascend_anti_quant_v2"
TORCH = "torch in the dtype of a 16-bit model"


class AntiQuant(ElementModel):
    """npu_anti_quant."""

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

    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Return (x + offset) * scale."""
        o = self.wide(index)
        offset = np.zeros(1) if o.zero_point is None else o.zero_point
        value = reference(o.x, o.scale, offset, None)
        return value, (value, o.x * o.scale, offset * o.scale)


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


NAMES = ("x", "scale", "offset", "dst_dtype")
"""What a formula is made of; dst_dtype rounds to the values' dtype."""
REFERENCE = "(x + offset) * scale"
PRODUCTS = "x * scale + offset * scale"


def row(
    name: str,
    text: str,
    source: str,
    applies: Test = always,
    benign: bool = False,
    function: Callable[..., Floats] | None = None,
) -> Variant:
    """Return a variant that does as its text says, unless it has a function."""
    formula = function or compiled(text, *NAMES)

    def values(part: ElementPart) -> Array:
        to = part.model.values.carrier
        offset = part.read("zero_point") if has_offset(part.model) else np.zeros(1, np.float32)
        return np.asarray(
            formula(part.read("elements"), part.read("scale"), offset, stored_in(to)).astype(to)
        )

    most = 1 + roundings(text.partition(",")[0])  # 1 of the scale, which was rounded itself
    return Variant(name, benign, f"y = {text}", source, (values,), applies, roundings=most)


reference = compiled(REFERENCE, *NAMES)
VARIANTS: tuple[Variant, ...] = (
    row("reference", REFERENCE, "docs/numerics.md 9", benign=True),
    row(PRODUCTS, PRODUCTS, "scripts", has_offset, benign=True),
    row(
        f"{PRODUCTS}, fused",
        f"{PRODUCTS}, the first product and the sum rounded once",
        "fused multiply-add",
        has_offset,
        True,
        lambda x, scale, offset, to: fused(x, scale, offset * scale),
    ),
    row(
        "rounded once",
        f"{REFERENCE} in float64, rounded to dst_dtype",
        "NumPy scripts in float64",
        benign=True,
        function=lambda x, scale, offset, to: (x.astype(np.float64) + offset) * scale,
    ),
    row("offset subtracted", "(x - offset) * scale", "the zero point of npu_quantize", has_offset),
    row("offset ignored", "x * scale", steps.MISTAKE, has_offset),
    row("x * scale + offset", "x * scale + offset", steps.MISTAKE, has_offset),
    row("x / scale", "(x + offset) / scale", "a scale that is a multiplier"),
    row("sum in 16 bits", "dst_dtype(x + offset) * scale", KERNEL, has_offset),
    row("scale in 16 bits", "(x + offset) * dst_dtype(scale)", steps.NARROW_SCALES),
    row("all in 16 bits", "dst_dtype(x + dst_dtype(offset)) * dst_dtype(scale)", TORCH),
    row(
        "product in 16 bits before the sum",
        "dst_dtype(x * scale) + dst_dtype(offset * scale)",
        TORCH,
        has_offset,
    ),
    row("scale twice (sqrtMode)", f"{REFERENCE} * scale", "aclnnAscendAntiQuant with sqrtMode"),
    row(
        "saturated",
        f"{REFERENCE}, at most 65504",
        "the device's saturation mode",
        gives_float16,
        function=lambda *some: np.clip(reference(*some), np.float32(-65504), np.float32(65504)),
    ),
)
