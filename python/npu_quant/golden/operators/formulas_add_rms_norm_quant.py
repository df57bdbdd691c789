"""The named formulas of npu_add_rms_norm_quant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from . import steps_norm as norm
from .arithmetic import (
    BFLOAT16,
    CLAMP_SYMMETRIC,
    FLOAT16,
    HALF_AWAY,
    HALF_UP,
    OTHER_ROUNDINGS,
    Computed,
    Float32,
    Step,
)
from .steps_norm import (
    AFTER,
    BY_RECIPROCAL,
    BY_SCALE,
    FOLDED,
    KERNELS,
    LANES,
    PRODUCTS,
    SCALED_FIRST,
    SUM_ORDERS,
    SUMS,
    TIMES_INVERSE_N,
    Recipe,
)
from .variant import Variant

if TYPE_CHECKING:
    from .add_rms_norm_quant import AddRmsNormQuant, NormPart

REFERENCE = Recipe()


def is_float16(model: AddRmsNormQuant) -> bool:
    """Tell whether the inputs are float16."""
    return bool(model.dtype == np.float16)


def is_bfloat16(model: AddRmsNormQuant) -> bool:
    """Tell whether the inputs are bfloat16."""
    return bool(model.dtype.name == "bfloat16")


def is_per_tensor(model: AddRmsNormQuant) -> bool:
    """Tell whether the device takes its kernel for one scale: it needs a beta."""
    scale = model.scales[0]
    return scale is not None and scale.size == 1 and model.beta is not None and model.div_mode


def half_products(s: Float32, root: Float32, gamma: Float32) -> Computed:
    """Round s * rstd to float16, and its product with gamma."""
    h = (s * (np.float32(1) / root)).astype(np.float16).astype(np.float32)
    return (gamma * h).astype(np.float16).astype(np.float32)


def rounded_sums(part: NormPart) -> Computed:
    """Return the sums in the dtype of the inputs, widened."""
    return part.once("rounded", lambda: part.x.astype(np.float32))


# The device's own steps are benign: they are its profile, docs/numerics.md 4.
DEVICE_X = Step("rounded x", True, "x1 + x2 rounded to x1's dtype", rounded_sums)
HALF_PRODUCTS = Step("half products", True, "float16(float16(s * rstd) * gamma)", half_products)
DEVICE_FLOAT16 = Recipe(values=DEVICE_X, mean=SCALED_FIRST, product=HALF_PRODUCTS)
DEVICE_BFLOAT16 = Recipe(mean=SCALED_FIRST)
DEVICE_BFLOAT16_ROUNDED = Recipe(values=DEVICE_X, mean=SCALED_FIRST)


def profiles() -> Iterator[Variant]:
    """List the devices' formulas; the order of their sums is not public."""
    where = f"{KERNELS}/add_rms_norm_quant.h, add_rms_norm_quant_split_d.h"
    few = f"{KERNELS}/add_rms_norm_quant_single_n.h, and where beta is given"
    for order, suffix in ((LANES, ""), (FOLDED, ", folded sum")):
        yield replace(DEVICE_FLOAT16, sum=order).row(f"ascend910b{suffix}", where, is_float16)
        yield replace(DEVICE_BFLOAT16, sum=order).row(f"ascend910b{suffix}", where, is_bfloat16)
        yield replace(DEVICE_BFLOAT16_ROUNDED, sum=order).row(
            f"ascend910b, rounded x{suffix}", few, is_bfloat16
        )
    for values in (SUMS, DEVICE_X):
        yield Recipe(values=values, mean=SCALED_FIRST, quotient=BY_RECIPROCAL).row(
            f"ascend910b per tensor{', rounded x' if values is DEVICE_X else ''}",
            f"{KERNELS}/add_rms_norm_quant.h:305-312",
            is_per_tensor,
        )
    yield REFERENCE.row("ascend950", "hicann/ops-nn norm/add_rms_norm_quant/op_kernel/arch35")


def benign_recipes() -> Iterator[Recipe]:
    """Every order of the sum, the products and the quotient, and other rules for ties."""
    for quotient, order, products in product((BY_SCALE, BY_RECIPROCAL), SUM_ORDERS, PRODUCTS):
        yield Recipe(sum=order, product=products, quotient=quotient)
    for mean, order in product((TIMES_INVERSE_N, SCALED_FIRST), SUM_ORDERS):
        yield Recipe(sum=order, mean=mean)
    for rounding, quotient in product((HALF_AWAY, HALF_UP), (BY_SCALE, BY_RECIPROCAL)):
        yield Recipe(quotient=quotient, rounding=rounding)
    for quotient in (BY_SCALE, BY_RECIPROCAL):
        yield Recipe(quotient=quotient, zero=AFTER)


def other_recipes() -> Iterator[Recipe]:
    """What computes something else."""
    for rounding, quotient in product(OTHER_ROUNDINGS, (BY_SCALE, BY_RECIPROCAL)):
        yield Recipe(rounding=rounding, quotient=quotient)
    for kept in (FLOAT16, BFLOAT16):
        yield Recipe(kept=kept)
    for values, end in product((SUMS, norm.ROUNDED), (norm.BETA, norm.T_ROUNDED)):
        if (values, end) != (SUMS, norm.BETA):
            yield Recipe(values=values, end=end)
    for epsilon in (*norm.EPSILONS, norm.OUTSIDE):
        yield Recipe(epsilon=epsilon)
    for zero in (norm.SUBTRACTED, norm.IGNORED):
        yield Recipe(zero=zero)
    yield Recipe(end=norm.BETA_IGNORED)
    yield Recipe(quotient=norm.BY_OTHER)
    yield Recipe(clamp=CLAMP_SYMMETRIC)


def table() -> Iterator[Variant]:
    """List all: the reference, the devices' profiles, benign ones, others."""
    yield REFERENCE.row(source="docs/numerics.md 5")
    yield from profiles()
    for recipe in (*benign_recipes(), *other_recipes()):
        if recipe != REFERENCE:
            yield recipe.row()


VARIANTS = tuple(table())
