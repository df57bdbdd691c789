"""The named formulas of npu_dynamic_quant."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from . import steps_grouped as grouped
from .arithmetic import (
    BFLOAT16,
    CLAMP_SYMMETRIC,
    FLOAT16,
    HALF_AWAY,
    HALF_EVEN,
    HALF_UP,
    OTHER_ROUNDINGS,
    Array,
    Float32,
    saturated,
)
from .steps_grouped import (
    AMAX_OVER_127,
    BFLOAT16_SCALE,
    BY_127_OVER_AMAX,
    BY_INVERSE_AMAX,
    CODES,
    DIVIDED,
    EPSILONS,
    FLOAT16_SCALE,
    INPUT_BFLOAT16,
    INPUT_FLOAT16,
    INVERSE,
    INVERSE_TWICE,
    KERNELS,
    OVER_127_5,
    OVER_128,
    PER_COLUMN,
    PER_TENSOR,
    RECIPROCAL,
    SCALES,
    SMOOTH_DIVIDES,
    SMOOTH_IGNORED,
    TIMES_INVERSE,
    UNBOUNDED_CODES,
    Recipe,
    with_epsilon,
)
from .variant import Variant

if TYPE_CHECKING:
    from .dynamic_quant import GroupedPart

S1 = Recipe(scale=TIMES_INVERSE, code=BY_127_OVER_AMAX)
S2 = Recipe(scale=INVERSE, code=BY_127_OVER_AMAX)
ASCEND950 = Recipe(scale=TIMES_INVERSE)
PROFILES = {
    S1: ("ascend910b (S1)", f"{KERNELS}: single_row.h:147, multi_row.h:236, db.h:321"),
    S2: ("ascend910b (S2)", f"{KERNELS}: dynamic_quant.h:165, large_shape_opt.h:78, moe.h:198"),
    ASCEND950: ("ascend950", f"{KERNELS}/arch35/dynamic_quant_regbase_full_load.h:259-272"),
}


def benign_recipes() -> Iterator[Recipe]:
    """Every order of operations, with every rule for ties."""
    for rounding, scale, code in product((HALF_EVEN, HALF_AWAY), SCALES, CODES):
        yield Recipe(scale=scale, code=code, rounding=rounding)
    yield Recipe(scale=INVERSE_TWICE, code=BY_INVERSE_AMAX)
    for rounding, scale, code in product((HALF_EVEN, HALF_AWAY), SCALES[:2], UNBOUNDED_CODES):
        yield Recipe(scale=scale, code=code, rounding=rounding)
    for scale, code in product(SCALES[:2], CODES):
        yield Recipe(scale=scale, code=code, rounding=HALF_UP)


def other_recipes() -> Iterator[Recipe]:
    """What rounds in another way, or to fewer bits, or has another scale."""
    for rounding, scale, code in product(OTHER_ROUNDINGS, SCALES, CODES):
        yield Recipe(scale=scale, code=code, rounding=rounding)
    for kept, scale, code in product((FLOAT16, BFLOAT16), SCALES, CODES):
        yield Recipe(scale=scale, code=code, kept=kept)
    for (scale, kept), code in product(
        ((FLOAT16_SCALE, FLOAT16), (BFLOAT16_SCALE, BFLOAT16)), (DIVIDED, RECIPROCAL)
    ):
        yield Recipe(scale=scale, code=code)
        yield Recipe(scale=scale, code=code, kept=kept)
    for scale, code in product((OVER_128, OVER_127_5), (DIVIDED, RECIPROCAL)):
        yield Recipe(scale=scale, code=code)
    for eps in EPSILONS:
        for scale in with_epsilon(eps):
            yield Recipe(scale=scale)


def asymmetric_scale(part: GroupedPart) -> Float32:
    """Return max((max - min) / 255, 1e-12)."""
    v = part.groups().v
    wide = v.max(axis=-1, initial=-np.inf) - v.min(axis=-1, initial=np.inf)
    return np.asarray(np.maximum(wide / np.float32(255), np.float32(1e-12)))


def asymmetric_y(part: GroupedPart) -> Array:
    """Return the codes around an offset of 127 - max / scale."""
    v, scale = part.groups().v, asymmetric_scale(part)
    offset = np.float32(127) - v.max(axis=-1, initial=-np.inf) / scale
    q = v * (np.float32(1) / scale)[:, None] + offset[:, None]
    return part.flat(saturated(np.rint(q), -128, 127))


def multiplier(part: GroupedPart) -> Array | None:
    """Return 127 / amax in the place of the scale."""
    amax = part.groups().reported
    return None if amax is None else part.model.bounded_below(grouped.MAX / amax)


def narrow_scales() -> Iterator[Variant]:
    """List what only returns a scale of 16 bits."""
    for narrow in (FLOAT16_SCALE, BFLOAT16_SCALE):
        yield Variant(
            f"{narrow.name}, y by the float32 one",
            False,
            f"scale = {narrow.text}, y = rint(x / (amax / 127))",
            "scales stored in the dtype of a 16-bit model",
            (REFERENCE.y, Recipe(scale=narrow).scales),
        )


REFERENCE = Recipe()
OWN = (
    Variant(
        "asymmetric",
        False,
        "scale = max((max - min) / 255, 1e-12), y = rint(x * (1/scale) + (127 - max / scale))",
        f"{KERNELS}/dynamic_quant_base.h:189-198, npu_dynamic_quant_asymmetric",
        (asymmetric_y, asymmetric_scale),
    ),
    Variant(
        "scale is 127 / amax",
        False,
        "scale = 127 / amax, y = rint(x / (amax / 127))",
        "the multiplier returned for the scale",
        (REFERENCE.y, multiplier),
    ),
    Variant(
        "scale is 127 / amax, x * (127/amax)",
        False,
        "scale = 127 / amax, y = rint(x * (127 / amax))",
        "the multiplier returned for the scale",
        (S1.y, multiplier),
    ),
)


def table() -> Iterator[Variant]:
    """List all: the reference, the devices' profiles, benign ones, others."""
    yield REFERENCE.row(source="docs/numerics.md 2")
    for recipe, (name, source) in PROFILES.items():
        yield recipe.row(name, source=source)
    for recipe in (*benign_recipes(), *other_recipes()):
        if recipe != REFERENCE and recipe not in PROFILES:
            yield recipe.row()
    yield Recipe(clamp=CLAMP_SYMMETRIC).row()
    yield from OWN
    yield from narrow_scales()
    for values, scale in product((PER_COLUMN, PER_TENSOR), (AMAX_OVER_127, TIMES_INVERSE)):
        yield Recipe(values, scale).row()
        yield Recipe(values, scale, BY_127_OVER_AMAX).row()
    for values, code in product((INPUT_FLOAT16, INPUT_BFLOAT16), (DIVIDED, BY_127_OVER_AMAX)):
        yield Recipe(values, code=code).row()
    for values, code in product((SMOOTH_IGNORED, SMOOTH_DIVIDES), (DIVIDED, BY_127_OVER_AMAX)):
        yield Recipe(values, code=code).row()


VARIANTS = tuple(table())
