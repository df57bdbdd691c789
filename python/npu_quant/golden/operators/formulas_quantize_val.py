"""The named formulas of quantize_val."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from .arithmetic import CLAMP_SYMMETRIC, HALF_AWAY, HALF_EVEN, HALF_UP, KEPT
from .formulas_quantize import NAN_GREATEST, NAN_LEAST, others, row
from .steps_given import (
    AFTER,
    AS_GIVEN,
    BEFORE_INSTEAD,
    FUSED,
    NARROW_RECIPROCAL,
    RECIPROCAL,
    Recipe,
)
from .variant import Variant

REFERENCE = Recipe(RECIPROCAL, KEPT, AFTER)
QUOTIENTS = (RECIPROCAL, AS_GIVEN)
ZEROS = (AFTER, BEFORE_INSTEAD)
TORCH = "measured: torch 2.13 on x86"


def has_8_bits(model: Any) -> bool:
    """Tell whether the codes are qint8 or quint8."""
    return bool(model.limits.bits == 8)


def has_32_bits(model: Any) -> bool:
    """Tell whether the codes are qint32."""
    return not has_8_bits(model)


def formulas() -> Iterator[Recipe]:
    """Every benign order of operations and rule for ties, then others."""
    for rounding, zero, quotient in product((HALF_EVEN, HALF_AWAY), ZEROS, QUOTIENTS):
        yield Recipe(quotient, KEPT, zero, rounding)
    for quotient in QUOTIENTS:
        yield Recipe(quotient, KEPT, AFTER, HALF_UP)
    yield Recipe(RECIPROCAL, KEPT, FUSED)
    yield from others(QUOTIENTS, ZEROS, NARROW_RECIPROCAL)


def table() -> Iterator[Variant]:
    """List all: the reference, torch's, benign ones, others."""
    yield row(REFERENCE, REFERENCE, nan=NAN_LEAST, source="docs/numerics.md 7")
    yield row(
        Recipe(RECIPROCAL, KEPT, FUSED),
        nan=NAN_GREATEST,
        name="torch.quantize_per_tensor",
        source=TORCH,
        applies=has_8_bits,
    )
    yield row(
        Recipe(RECIPROCAL, KEPT, BEFORE_INSTEAD),
        nan=NAN_LEAST,
        name="torch.quantize_per_tensor (qint32)",
        source=TORCH,
        applies=has_32_bits,
    )
    for recipe in formulas():
        if recipe != REFERENCE:
            yield row(recipe, REFERENCE, nan=NAN_LEAST)
    yield row(REFERENCE, REFERENCE, CLAMP_SYMMETRIC, NAN_LEAST)
    yield row(REFERENCE, REFERENCE, name="NaN is 0", source="npu_quantize")


VARIANTS = tuple(table())
