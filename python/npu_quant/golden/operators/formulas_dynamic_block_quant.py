"""The named formulas of npu_dynamic_block_quant."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from . import steps_grouped as grouped
from .arithmetic import CLAMP_SYMMETRIC, Array, Step, saturated
from .formulas_dynamic_quant import benign_recipes, multiplier, narrow_scales, other_recipes
from .steps_grouped import (
    AMAX_OVER_127,
    BY_127_OVER_AMAX,
    BY_INVERSE_AMAX,
    DIVIDED,
    INPUT_BFLOAT16,
    INPUT_FLOAT16,
    PER_TENSOR,
    TIMES_INVERSE,
    Recipe,
)
from .variant import Variant

if TYPE_CHECKING:
    from .dynamic_quant import GroupedModel, GroupedPart, Groups

KERNELS = "hicann/ops-nn quant/dynamic_block_quant/op_kernel"
PAGE = "the page of torch_npu.npu_dynamic_block_quant, unlike its example"
REFERENCE = Recipe()
ASCEND910B = Recipe(scale=TIMES_INVERSE, code=BY_INVERSE_AMAX)
PROFILES = {
    ASCEND910B: ("ascend910b", f"{KERNELS}/dynamic_block_quant.h:217, 347-435"),
}


def per_row(part: GroupedPart) -> Groups:
    """Group each row into one block."""
    groups = part.groups()
    blocks = groups.amax.reshape(-1, part.model.groups_per_row)
    amax = np.repeat(blocks.max(axis=-1, initial=0), part.model.groups_per_row)
    return type(groups)(groups.v, amax[:, None], amax)


PER_ROW = Step("per row", False, "max |x| of the row", per_row, "npu_dynamic_quant")


def is_bounded(model: GroupedModel) -> bool:
    """Tell whether there is a min_scale."""
    return bool(model.min_scale > 0)


def unbounded_scale(part: GroupedPart) -> Array | None:
    """Return the scale without the bound of min_scale."""
    amax = part.groups().reported
    return None if amax is None else amax / grouped.MAX


def unbounded_y(part: GroupedPart) -> Array:
    """Return the codes without the bound of min_scale."""
    groups = part.groups()
    q = groups.v / (groups.amax / grouped.MAX)
    return part.flat(saturated(np.rint(q), -128, 127))


def floored(part: GroupedPart) -> Array:
    """Return the scale with min_scale as its lower bound."""
    amax = part.groups().amax
    return np.asarray(np.maximum(amax / grouped.MAX, part.model.min_scale))


def floored_y(part: GroupedPart) -> Array:
    """Return the codes with min_scale as the scale's lower bound."""
    q = part.groups().v / floored(part)
    return part.flat(saturated(np.rint(q), -128, 127))


def printed_scale(part: GroupedPart) -> Array:
    """Return the scale as the page prints it."""
    scale = grouped.MAX / part.groups().amax
    if is_bounded(part.model):
        scale = np.minimum(scale, np.float32(1) / part.model.min_scale)
    return np.asarray(scale)


def printed_y(part: GroupedPart) -> Array:
    """Return the codes as the page prints them."""
    q = part.groups().v / printed_scale(part)
    return part.flat(saturated(np.rint(q), -128, 127))


OWN = (
    Variant(
        "as the page prints it",
        False,
        "scale = min(127 / amax, 1 / min_scale), y = rint(x / scale)",
        PAGE,
        (printed_y, lambda part: printed_scale(part)[:, 0]),
    ),
    Variant(
        "scale is 127 / amax",
        False,
        "scale = 127 / amax, y = rint(x / (amax / 127))",
        PAGE,
        (REFERENCE.y, multiplier),
    ),
    Variant(
        "scale is 127 / amax, x * ((1/amax) * 127)",
        False,
        "scale = 127 / amax, y = rint(x * ((1 / amax) * 127))",
        PAGE,
        (ASCEND910B.y, multiplier),
    ),
    Variant(
        "min_scale ignored",
        False,
        "scale = amax / 127, y = rint(x / scale)",
        "by mistake",
        (unbounded_y, unbounded_scale),
        is_bounded,
    ),
    Variant(
        "scale at least min_scale",
        False,
        "scale = max(amax / 127, min_scale), y = rint(x / scale)",
        "the name read literally",
        (floored_y, lambda part: floored(part)[:, 0]),
        is_bounded,
    ),
)


def table() -> Iterator[Variant]:
    """List all: the reference, the devices' profiles, benign ones, others."""
    source = "docs/numerics.md 2"
    yield REFERENCE.row(source=source)
    for recipe, (name, where) in PROFILES.items():
        yield recipe.row(name, source=where)
    # The 950 divides, as the reference does: the same bits but where its division is 1 ulp off.
    yield REFERENCE.row(
        "ascend950", source=f"{KERNELS}/arch35/dynamic_block_quant_single_row_kernel.h"
    )
    for recipe in (*benign_recipes(), *other_recipes()):
        if recipe != REFERENCE and recipe not in PROFILES:
            yield recipe.row()
    yield Recipe(clamp=CLAMP_SYMMETRIC).row()
    yield from OWN
    yield from narrow_scales()
    for values, scale in product((PER_ROW, PER_TENSOR), (AMAX_OVER_127, TIMES_INVERSE)):
        yield Recipe(values, scale).row()
        yield Recipe(values, scale, BY_127_OVER_AMAX).row()
    for values, code in product((INPUT_FLOAT16, INPUT_BFLOAT16), (DIVIDED, BY_INVERSE_AMAX)):
        yield Recipe(values, code=code).row()


VARIANTS = tuple(table())
