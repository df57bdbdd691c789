"""npu_anti_quant: codes back to values of 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import steps
from .elements import ElementModel, ElementPart, Spread, dtype_of
from .formats import format_of
from .formula import Test, Variant, always
from .model import Array, Exact
from .steps import Floats

KERNEL = "hicann/ops-nn quant/ascend_anti_quant_v2"
TORCH = "torch in the dtype of a 16-bit model"


class AntiQuant(ElementModel):
    """npu_anti_quant."""

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        shape, scale, offset = inputs["x"].shape, inputs["scale"], inputs["offset"]
        self.read(inputs["x"], scale, None, axis_of(scale, shape))
        if offset is not None:
            self.zero_point = Spread(offset, shape, axis_of(offset, shape))
        to = inputs["dst_dtype"]
        self.values = format_of(dtype_of("float16" if to is None else to))

    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Return (x + offset) * scale."""
        o = self.wide(index)
        value = reference(Terms(o.x, o.scale, o.zero_point))
        return value, (value,) if o.zero_point is None else (
            value,
            o.x * o.scale,
            o.zero_point * o.scale,
        )


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


class Terms:
    """What a formula works on: numbers x, scales s, offsets o; without these nothing is added."""

    def __init__(self, x: Floats, s: Floats, o: Floats | None, dtype: Any = None) -> None:
        self.x, self.s = x, s
        self.o: Floats = np.zeros(1, x.dtype) if o is None else o
        self.to: Callable[[Floats], Floats] = steps.stored_in(dtype)
        """The rounding to the values' dtype."""

    def plus(self, o: Floats) -> Floats:
        """Return x + o."""
        return self.x + o if o.any() else self.x


def reference(v: Terms) -> Floats:
    """Return (x + offset) * scale."""
    return v.plus(v.o) * v.s


def row(
    name: str,
    text: str,
    formula: Callable[[Terms], Floats],
    source: str,
    applies: Test = always,
    roundings: int | None = None,
) -> Variant:
    """Return a variant: a benign one has so many roundings in float32.

    1 of the scale, which was rounded itself, comes to them.
    """

    def values(part: ElementPart) -> Array:
        to = part.model.values.carrier
        offset = part.read("zero_point") if has_offset(part.model) else None
        terms = Terms(part.read("elements"), part.read("scale"), offset, to)
        return np.asarray(formula(terms).astype(to))

    most = 0 if roundings is None else 1 + roundings
    return Variant(
        name, roundings is not None, f"y = {text}", source, (values,), applies, roundings=most
    )


SUM_OF_PRODUCTS = "x * scale + offset * scale"
LIMIT = np.float32(65504)
VARIANTS: tuple[Variant, ...] = (
    row("reference", "(x + offset) * scale", reference, "docs/numerics.md 9", roundings=2),
    row(
        SUM_OF_PRODUCTS, SUM_OF_PRODUCTS, lambda v: v.x * v.s + v.o * v.s, "scripts", has_offset, 3
    ),
    row(
        f"{SUM_OF_PRODUCTS}, fused",
        f"{SUM_OF_PRODUCTS}, the first product and the sum rounded once",
        lambda v: steps.fused(v.x, v.s, v.o * v.s),
        "fused multiply-add",
        has_offset,
        2,
    ),
    row(
        "rounded once",
        "(x + offset) * scale in float64, rounded to dst_dtype",
        lambda v: (v.x.astype(np.float64) + v.o) * v.s,
        "NumPy scripts in float64",
        roundings=0,
    ),
    row(
        "offset subtracted",
        "(x - offset) * scale",
        lambda v: (v.x - v.o) * v.s,
        "the zero point of npu_quantize",
        has_offset,
    ),
    row("offset ignored", "x * scale", lambda v: v.x * v.s, steps.MISTAKE, has_offset),
    row(
        "x * scale + offset",
        "x * scale + offset",
        lambda v: v.x * v.s + v.o,
        steps.MISTAKE,
        has_offset,
    ),
    row(
        "x / scale",
        "(x + offset) / scale",
        lambda v: v.plus(v.o) / v.s,
        "a scale that is a multiplier",
    ),
    row(
        "sum in 16 bits",
        "dst_dtype(x + offset) * scale",
        lambda v: v.to(v.plus(v.o)) * v.s,
        KERNEL,
        has_offset,
    ),
    row(
        "scale in 16 bits",
        "(x + offset) * dst_dtype(scale)",
        lambda v: v.plus(v.o) * v.to(v.s),
        steps.NARROW_SCALES,
    ),
    row(
        "all in 16 bits",
        "dst_dtype(x + dst_dtype(offset)) * dst_dtype(scale)",
        lambda v: v.to(v.plus(v.to(v.o))) * v.to(v.s),
        TORCH,
    ),
    row(
        "product in 16 bits before the sum",
        "dst_dtype(x * scale) + dst_dtype(offset * scale)",
        lambda v: v.to(v.x * v.s) + v.to(v.o * v.s),
        TORCH,
        has_offset,
    ),
    row(
        "scale twice (sqrtMode)",
        "(x + offset) * scale * scale",
        lambda v: reference(v) * v.s,
        "aclnnAscendAntiQuant with sqrtMode",
    ),
    row(
        "saturated",
        "(x + offset) * scale, at most 65504",
        lambda v: np.clip(reference(v), -LIMIT, LIMIT),
        "the device's saturation mode",
        gives_float16,
    ),
)
