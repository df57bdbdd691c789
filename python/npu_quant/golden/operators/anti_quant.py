"""npu_anti_quant: codes back to values of 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import steps
from .elements import ElementModel, ElementPart, Float64, Spread, dtype_of
from .formats import format_of
from .formula import Test, Variant, always
from .model import Array
from .steps import Floats

SCRIPTS = "scripts"
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
        self.format = format_of(dtype_of("float16" if to is None else to))

    def exact(self, index: NDArray[np.int64]) -> tuple[Float64, tuple[Float64, ...]]:
        """Return the values in float64, and what they are the sum of."""
        o = self.wide(index)
        with np.errstate(all="ignore"):
            value = reference(o.x, o.scale, o.zero_point)
            products = () if o.zero_point is None else (o.x * o.scale, o.zero_point * o.scale)
        return value, (value, *products)


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
    return bool(model.format.carrier == np.float16)


def plus(x: Floats, offset: Floats) -> Floats:
    """Return x + offset; without an offset nothing is added."""
    return x if offset is None or not offset.any() else x + offset


def reference(x: Floats, scale: Floats, offset: Floats, to: Any = None) -> Floats:
    """Return (x + offset) * scale."""
    return plus(x, offset) * scale


def row(
    name: str,
    benign: bool,
    summary: str,
    formula: Callable[..., Floats],
    source: str,
    applies: Test = always,
    roundings: int = 0,
) -> Variant:
    """Return a variant from a function of x, scale, offset and the rounding to their dtype.

    `roundings` are those in float32; 1 of the scale, which was rounded itself, comes to them.
    """

    def values(part: ElementPart) -> Array:
        to = part.model.format.carrier
        offset = part.read("zero_point") if has_offset(part.model) else np.zeros(1, np.float32)
        operands = part.read("elements"), part.read("scale"), offset
        return np.asarray(formula(*operands, steps.stored_in(to)).astype(to))

    return Variant(
        name, benign, summary, source, (values,), applies, roundings=1 + roundings if benign else 0
    )


def saturated(x: Floats, scale: Floats, offset: Floats, to: Any) -> Floats:
    """Return values that are never infinite."""
    limit = np.float32(65504)
    return np.clip(reference(x, scale, offset), -limit, limit)


VARIANTS: tuple[Variant, ...] = (
    row("reference", True, "y = (x + offset) * scale", reference, "docs/numerics.md 9", always, 2),
    row(
        "x * scale + offset * scale",
        True,
        "y = x * scale + offset * scale",
        lambda x, s, o, to: x * s + o * s,
        SCRIPTS,
        has_offset,
        3,
    ),
    row(
        "x * scale + offset * scale, fused",
        True,
        "y = x * scale + offset * scale, the first product and the sum rounded once",
        lambda x, s, o, to: steps.fused(x, s, o * s),
        "fused multiply-add",
        has_offset,
        2,
    ),
    row(
        "rounded once",
        True,
        "y = (x + offset) * scale in float64, rounded to dst_dtype",
        lambda x, s, o, to: (x.astype(np.float64) + o) * s,
        "NumPy scripts in float64",
    ),
    row(
        "offset subtracted",
        False,
        "y = (x - offset) * scale",
        lambda x, s, o, to: (x - o) * s,
        "the zero point of npu_quantize",
        has_offset,
    ),
    row(
        "offset ignored",
        False,
        "y = x * scale",
        lambda x, s, o, to: x * s,
        steps.MISTAKE,
        has_offset,
    ),
    row(
        "x * scale + offset",
        False,
        "y = x * scale + offset",
        lambda x, s, o, to: x * s + o,
        steps.MISTAKE,
        has_offset,
    ),
    row(
        "x / scale",
        False,
        "y = (x + offset) / scale",
        lambda x, s, o, to: plus(x, o) / s,
        "a scale that is a multiplier",
    ),
    row(
        "sum in 16 bits",
        False,
        "y = dst_dtype(x + offset) * scale",
        lambda x, s, o, to: to(plus(x, o)) * s,
        KERNEL,
        has_offset,
    ),
    row(
        "scale in 16 bits",
        False,
        "y = (x + offset) * dst_dtype(scale)",
        lambda x, s, o, to: plus(x, o) * to(s),
        steps.NARROW_SCALES,
    ),
    row(
        "all in 16 bits",
        False,
        "y = dst_dtype(x + dst_dtype(offset)) * dst_dtype(scale)",
        lambda x, s, o, to: to(plus(x, to(o))) * to(s),
        TORCH,
    ),
    row(
        "product in 16 bits before the sum",
        False,
        "y = dst_dtype(x * scale) + dst_dtype(offset * scale)",
        lambda x, s, o, to: to(x * s) + to(o * s),
        TORCH,
        has_offset,
    ),
    row(
        "scale twice (sqrtMode)",
        False,
        "y = (x + offset) * scale * scale",
        lambda x, s, o, to: plus(x, o) * s * s,
        "aclnnAscendAntiQuant with sqrtMode",
    ),
    row(
        "saturated",
        False,
        "y = (x + offset) * scale, at most 65504",
        saturated,
        "the device's saturation mode",
        gives_float16,
    ),
)
