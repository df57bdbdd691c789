"""The named formulas of npu_anti_quant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .arithmetic import Array, Float32, fused
from .variant import Variant, always

if TYPE_CHECKING:
    from .elements import ElementPart

SCRIPTS = "scripts"
MISTAKE = "by mistake"
KERNEL = "hicann/ops-nn quant/ascend_anti_quant_v2"
ANTI_QUANT = Callable[[Float32, Float32, Float32, Any], Array]


def has_offset(model: Any) -> bool:
    """Tell whether there is an offset."""
    return bool(model.has_zero_point)


def gives_float16(model: Any) -> bool:
    """Tell whether the values are float16."""
    return bool(model.dtype == np.float16)


def plus(x: Float32, offset: Float32) -> Float32:
    """Return x + offset; without an offset nothing is added."""
    return x + offset if offset.any() else x


def in_float64(x: Float32, scale: Float32, offset: Float32) -> Array:
    """Return the exact product, or almost."""
    wide: Array = (x.astype(np.float64) + offset) * scale
    return wide


def saturated(values: Float32, to: Any) -> Array:
    """Return values that are never infinite."""
    limit = np.float32(65504)
    return np.clip(values, -limit, limit).astype(to)


def row(
    name: str,
    benign: bool,
    summary: str,
    formula: ANTI_QUANT,
    source: str,
    applies: Callable[[Any], bool] = always,
) -> Variant:
    """Return a variant from a function of x, scale, offset and the dtype of the values."""

    def values(part: ElementPart) -> Array:
        model = part.model
        return formula(part.x, part.scale, part.zero_point, model.dtype).astype(model.dtype)

    return Variant(name, benign, summary, source, (values,), applies)


VARIANTS = (
    row(
        "reference",
        True,
        "y = (x + offset) * scale",
        lambda x, s, o, to: plus(x, o) * s,
        "docs/numerics.md 9",
    ),
    row(
        "x * scale + offset * scale",
        True,
        "y = x * scale + offset * scale",
        lambda x, s, o, to: x * s + o * s,
        SCRIPTS,
        has_offset,
    ),
    row(
        "x * scale + offset * scale, fused",
        True,
        "y = x * scale + offset * scale, the first product and the sum rounded once",
        lambda x, s, o, to: fused(x, s, o * s),
        "fused multiply-add",
        has_offset,
    ),
    row(
        "rounded once",
        True,
        "y = (x + offset) * scale in float64, rounded to dst_dtype",
        lambda x, s, o, to: in_float64(x, s, o),
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
    row("offset ignored", False, "y = x * scale", lambda x, s, o, to: x * s, MISTAKE, has_offset),
    row(
        "x * scale + offset",
        False,
        "y = x * scale + offset",
        lambda x, s, o, to: x * s + o,
        MISTAKE,
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
        lambda x, s, o, to: plus(x, o).astype(to).astype(np.float32) * s,
        KERNEL,
        has_offset,
    ),
    row(
        "scale in 16 bits",
        False,
        "y = (x + offset) * dst_dtype(scale)",
        lambda x, s, o, to: plus(x, o) * s.astype(to).astype(np.float32),
        "scales kept in the dtype of a 16-bit model",
    ),
    row(
        "all in 16 bits",
        False,
        "y = dst_dtype(x + dst_dtype(offset)) * dst_dtype(scale)",
        lambda x, s, o, to: (
            plus(x, o.astype(to).astype(np.float32)).astype(to).astype(np.float32)
            * s.astype(to).astype(np.float32)
        ),
        "torch in the dtype of a 16-bit model",
    ),
    row(
        "product in 16 bits before the sum",
        False,
        "y = dst_dtype(x * scale) + dst_dtype(offset * scale)",
        lambda x, s, o, to: (
            (x * s).astype(to).astype(np.float32) + (o * s).astype(to).astype(np.float32)
        ),
        "torch in the dtype of a 16-bit model",
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
        lambda x, s, o, to: saturated(plus(x, o) * s, to),
        "the device's saturation mode",
        gives_float16,
    ),
)
