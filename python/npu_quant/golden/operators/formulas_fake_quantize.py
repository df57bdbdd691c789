"""The named formulas of fake quantization, per tensor and per channel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from . import steps_given as given
from .arithmetic import (
    BFLOAT16,
    FLOAT16,
    HALF_AWAY,
    HALF_EVEN,
    HALF_UP,
    KEPT,
    OTHER_ROUNDINGS,
    Array,
    Computed,
    Float32,
    Step,
    composed,
    to_bfloat16,
    to_float16,
)
from .steps_given import AS_GIVEN, BEFORE, FUSED, RECIPROCAL, Recipe
from .variant import Formula, Variant, always

if TYPE_CHECKING:
    from .elements import ElementPart
    from .fake_quantize import FakeQuantize

KERNELS = "hicann/ops-nn quant/fake_quant_affine_cachemask/op_kernel"
INT32 = (-(2.0**31), 2.0**31 - 1)


def is_on(model: FakeQuantize) -> bool:
    """Tell whether fake quantization is switched on."""
    return model.is_on


def is_on_with_floats(model: FakeQuantize) -> bool:
    """Tell whether it is on and the zero points are floats."""
    return model.is_on and model.has_float_zero_points


def is_on_with_integers(model: FakeQuantize) -> bool:
    """Tell whether it is on and the zero points are integers."""
    return model.is_on and not model.has_float_zero_points


def own_zero(part: ElementPart, *others: Any) -> Computed:
    """Add integer zero points after rounding, float ones before it."""
    if part.model.has_float_zero_points:
        return given.before(part, *others) + np.float32(0)
    return given.after(part, *others)


ZERO = Step("", True, "{round}({quotient}) + zero_point", own_zero)
BEFORE_INTEGERS = replace(BEFORE, applies=lambda m: is_on_with_integers(m) and m.has_zero_points())
AFTER_FLOATS = replace(
    given.AFTER_INSTEAD, applies=lambda m: is_on_with_floats(m) and m.has_zero_points()
)
ZEROS = (ZERO, BEFORE_INTEGERS, AFTER_FLOATS)
REFERENCE = Recipe(RECIPROCAL, KEPT, ZERO)


def dequantized(part: ElementPart, c: Float32, scale: Float32 | None = None) -> Array:
    """Return what clamped codes stand for."""
    from .fake_quantize import on_grid

    model = part.model
    scale = part.scale if scale is None else scale
    values = on_grid(c, part.zero_point, scale, model.has_float_zero_points)
    return np.asarray(values.astype(model.x.dtype))


def output(recipe: Recipe, narrow: int = 0, scale: Callable[..., Float32] | None = None) -> Formula:
    """Return the formula of the output; NaN counts as below the range."""

    def formula(part: ElementPart) -> Array:
        model = part.model
        if not model.is_on:
            return np.asarray(model.elements.read(*part.range))
        q = recipe.rounded(part)
        low, high = np.float32(model.low + narrow), np.float32(model.high)
        c = np.where(np.isnan(q), low, np.clip(q, low, high))
        return dequantized(part, c, None if scale is None else scale(part.scale))

    def once(part: ElementPart) -> Array:
        return part.once(("output", recipe, narrow, scale), lambda: formula(part))

    return once


def mask(recipe: Recipe, narrow: int = 0) -> Formula:
    """Return the formula of the mask."""

    def formula(part: ElementPart) -> Array:
        model = part.model
        if not model.is_on:
            return np.ones(part.range[1] - part.range[0], np.bool_)
        q = recipe.rounded(part)
        return np.asarray((model.low + narrow <= q) & (q <= model.high))

    def once(part: ElementPart) -> Array:
        return part.once(("mask", recipe, narrow), lambda: formula(part))

    return once


def row(
    recipe: Recipe,
    name: str | None = None,
    source: str | None = None,
    applies: Callable[[Any], bool] = is_on,
) -> Variant:
    """Return the variant, named by the steps that the reference has not."""
    return composed(
        recipe.steps,
        f"q = {recipe.text}",
        (output(recipe), mask(recipe)),
        reference=REFERENCE.steps,
        name=name,
        source=source,
        applies=applies,
    )


# The device's formula: docs/numerics.md 4.


def to_int32(t: Float32) -> Computed:
    """Convert to int32 with saturation, ties to even, and back; NaN is 0."""
    whole = np.nan_to_num(np.rint(t), posinf=np.inf, neginf=-np.inf)
    return np.asarray(np.clip(whole, *INT32), np.float32)


def device(part: ElementPart) -> tuple[Float32, Float32]:
    """Return what is compared with the range, and what is clamped."""
    t = part.x * (np.float32(1) / part.scale)
    if part.model.has_float_zero_points:
        t = to_int32(t + part.zero_point)
        return t, t
    t = to_int32(t) + part.zero_point
    return t, to_int32(t)


def device_output(part: ElementPart) -> Array:
    """Return the output; NaN stands for code 0, and the product is float32."""
    from .fake_quantize import on_grid

    model = part.model
    _, q = part.once("device", lambda: device(part))
    c = np.clip(q, np.float32(model.low), np.float32(model.high))
    c = np.where(np.isnan(part.x), np.float32(0), c)
    values = on_grid(c, part.zero_point, part.scale, in_float64=False)
    return np.asarray(values.astype(model.x.dtype))


def device_mask(part: ElementPart) -> Array:
    """Return the mask; of float16 it is compared in float16."""
    model = part.model
    t, _ = part.once("device", lambda: device(part))
    low: Any = np.float32(model.low)
    high: Any = np.float32(model.high)
    if model.x.dtype == np.float16:
        t, low, high = to_float16(t), to_float16(low), to_float16(high)
    return np.asarray((t >= low) & (t <= high))


def new_device(part: ElementPart) -> Computed:
    """Return the codes of the 950 before they are clamped; NaN is 0."""
    q = np.rint(part.x / part.scale + part.zero_point)
    return np.where(np.isnan(q), np.float32(0), q)


def new_device_output(part: ElementPart) -> Array:
    """Return the output of the 950."""
    q = new_device(part)
    return dequantized(part, np.clip(q, np.float32(part.model.low), np.float32(part.model.high)))


def new_device_mask(part: ElementPart) -> Array:
    """Return the mask of the 950."""
    q = new_device(part)
    return np.asarray((part.model.low <= q) & (q <= part.model.high))


def overflowing(part: ElementPart) -> Array:
    """Return the output with codes beyond int64 at the low end, as x86 converts them."""
    q, low = REFERENCE.rounded(part), np.float32(part.model.low)
    c = np.where(np.abs(q) < np.float32(2.0**63), np.clip(q, low, np.float32(part.model.high)), low)
    return dequantized(part, c)


def strict_mask(part: ElementPart) -> Array:
    """Return a mask without the ends of the range."""
    q = REFERENCE.rounded(part)
    return np.asarray((part.model.low < q) & (q < part.model.high))


def with_narrow_scale(narrow: Callable[[Float32], Float32]) -> Step:
    """Return the quotient by a scale of 16 bits."""
    return Step(
        "",
        False,
        "",
        lambda part: (part.x, given.multiplied, np.float32(1) / narrow(part.scale)),
    )


OWN = (
    Variant(
        "ascend910b",
        True,
        "q = rint(x * (1 / scale)) + zero_point in int32, NaN is 0; mask of float16 in float16",
        f"{KERNELS}/fake_quant_affine_cachemask_fp32.h:99-145",
        (device_output, device_mask),
        is_on,
    ),
    Variant(
        "ascend950",
        True,
        "q = rint(x / scale + zero_point), NaN is 0",
        f"{KERNELS}/arch35",
        (new_device_output, new_device_mask),
        is_on,
    ),
    Variant(
        "beyond int64 is quant_min",
        False,
        "q = rint(x * (1 / scale)) + zero_point; from 2 ** 63 on, and inf: quant_min",
        "torch 2.13 per channel on x86",
        (overflowing, mask(REFERENCE)),
        is_on,
    ),
    Variant(
        "narrow range",
        False,
        "c = clamp(q, quant_min + 1, quant_max)",
        "symmetric quantization of weights",
        (output(REFERENCE, narrow=1), mask(REFERENCE, narrow=1)),
        is_on,
    ),
    Variant(
        "mask without the ends",
        False,
        "mask = quant_min < q < quant_max",
        "by mistake",
        (output(REFERENCE), strict_mask),
        is_on,
    ),
    *(
        Variant(
            f"{short} scale",
            False,
            f"scale rounded to {short} first",
            "scales kept in the dtype of a 16-bit model",
            (
                output(Recipe(step, KEPT, ZERO), scale=narrow),
                mask(Recipe(step, KEPT, ZERO)),
            ),
            is_on,
        )
        for short, narrow, step in (
            ("fp16", to_float16, with_narrow_scale(to_float16)),
            ("bf16", to_bfloat16, with_narrow_scale(to_bfloat16)),
        )
    ),
)


def table() -> Iterator[Variant]:
    """List all: the reference, the devices' profiles, benign ones, others."""
    yield row(REFERENCE, source="docs/numerics.md 6", applies=always)
    yield from OWN[:2]
    for rounding, zero, quotient in product((HALF_EVEN, HALF_AWAY), ZEROS, (RECIPROCAL, AS_GIVEN)):
        recipe = Recipe(quotient, KEPT, zero, rounding)
        if recipe != REFERENCE:
            yield row(recipe)
    yield row(Recipe(RECIPROCAL, KEPT, ZERO, HALF_UP))
    yield row(Recipe(RECIPROCAL, KEPT, FUSED))
    for rounding, zero, quotient in product(OTHER_ROUNDINGS, ZEROS, (RECIPROCAL, AS_GIVEN)):
        yield row(Recipe(quotient, KEPT, zero, rounding))
    for kept, quotient in product((FLOAT16, BFLOAT16), (RECIPROCAL, AS_GIVEN)):
        yield row(Recipe(quotient, kept, ZERO))
    for zero in (given.SUBTRACTED, given.IGNORED):
        yield row(Recipe(RECIPROCAL, KEPT, zero))
    yield row(Recipe(given.MULTIPLIED, KEPT, ZERO))
    for quotient in given.NARROW_RECIPROCAL:
        if quotient.name.startswith("input"):  # a narrow scale is also what codes stand for
            yield row(Recipe(quotient, KEPT, ZERO))
    yield from OWN[2:]


VARIANTS = tuple(table())
