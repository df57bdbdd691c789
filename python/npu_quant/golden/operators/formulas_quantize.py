"""The named formulas of npu_quantize."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from . import steps_given as given
from .arithmetic import (
    BFLOAT16,
    CLAMP,
    CLAMP_SYMMETRIC,
    FLOAT16,
    HALF_AWAY,
    HALF_EVEN,
    HALF_UP,
    KEPT,
    OTHER_ROUNDINGS,
    Array,
    Step,
    composed,
    saturated,
)
from .steps_given import AFTER_INSTEAD, AS_GIVEN, BEFORE, BY_RECIPROCAL, FUSED, RECIPROCAL, Recipe
from .variant import Variant, always

if TYPE_CHECKING:
    from .elements import ElementPart

REFERENCE = Recipe(AS_GIVEN, KEPT, BEFORE)
ZEROS = (BEFORE, AFTER_INSTEAD)
QUOTIENTS = (AS_GIVEN, RECIPROCAL, BY_RECIPROCAL)
NAN_LEAST, NAN_GREATEST = "least", "greatest"


def codes(recipe: Recipe, clamp: Step = CLAMP, nan: str = "") -> Callable[[ElementPart], Array]:
    """Return the formula of the codes; NaN is 0, or an end of the range."""

    def formula(part: ElementPart) -> Array:
        limits = part.model.limits
        low = clamp.function(limits.min)
        missing = {NAN_LEAST: low, NAN_GREATEST: limits.max}.get(nan, 0)
        return saturated(recipe.rounded(part).copy(), low, limits.max, limits.dtype, missing)

    def once(part: ElementPart) -> Array:
        return part.once((recipe, clamp, nan), lambda: formula(part))

    return once


def row(
    recipe: Recipe,
    reference: Recipe = REFERENCE,
    clamp: Step = CLAMP,
    nan: str = "",
    name: str | None = None,
    source: str | None = None,
    applies: Callable[[Any], bool] = always,
) -> Variant:
    """Return the variant, named by the steps that the reference has not."""
    return composed(
        (*recipe.steps, clamp),
        recipe.text + clamp.text,
        (codes(recipe, clamp, nan),),
        reference=(*reference.steps, CLAMP),
        name=name,
        source=source,
        applies=applies,
    )


def has_one_scale(model: Any) -> bool:
    """Tell whether there is one scale for all, that is divided by."""
    return model.scale.values.size == 1 and given.divides(model)


def has_scales(model: Any) -> bool:
    """Tell whether there are scales per channel, that are divided by."""
    return model.scale.values.size > 1 and given.divides(model)


def others(
    quotients: Sequence[Step], zeros: Sequence[Step], narrow: Sequence[Step]
) -> Iterator[Recipe]:
    """What computes something else: other roundings, 16 bits, the zero point lost or reversed.

    Args:
        quotients: the ways to make it, and `zeros` those to add the zero point; the reference's
            first.
        zeros: see `quotients`.
        narrow: quotients of what was rounded to 16 bits.
    """
    for rounding, quotient, zero in product(OTHER_ROUNDINGS, quotients, zeros):
        yield Recipe(quotient, KEPT, zero, rounding)
    for kept, quotient in product((FLOAT16, BFLOAT16), quotients):
        yield Recipe(quotient, kept, zeros[0])
        yield Recipe(quotient, kept, given.KEPT_SUM)
    for quotient, zero in product(quotients, (given.SUBTRACTED, given.IGNORED)):
        yield Recipe(quotient, KEPT, zero)
    for quotient in (given.MULTIPLIED, *narrow):
        yield Recipe(quotient, KEPT, zeros[0])


def table() -> Iterator[Variant]:
    """List all: the reference, torch's, benign ones, others."""
    yield row(REFERENCE, source="docs/numerics.md 8")
    torch, reciprocal = "measured: torch 2.13 on x86", Recipe(RECIPROCAL, KEPT, BEFORE)
    yield row(
        Recipe(RECIPROCAL, KEPT, FUSED),
        nan=NAN_GREATEST,
        name="torch.quantize_per_tensor",
        source=torch,
        applies=has_one_scale,
    )
    yield row(
        reciprocal,
        nan=NAN_LEAST,
        name="torch.quantize_per_channel",
        source=torch,
        applies=has_scales,
    )
    for rounding, zero, quotient in product((HALF_EVEN, HALF_AWAY), ZEROS, QUOTIENTS):
        if (rounding, zero, quotient) != (HALF_EVEN, BEFORE, AS_GIVEN):
            yield row(Recipe(quotient, KEPT, zero, rounding))
    for quotient in QUOTIENTS:
        yield row(Recipe(quotient, KEPT, BEFORE, HALF_UP))
    yield row(Recipe(RECIPROCAL, KEPT, FUSED))
    yield row(Recipe(AS_GIVEN, KEPT, FUSED), applies=given.multiplies)
    for recipe in others(QUOTIENTS, ZEROS, given.NARROW):
        yield row(recipe)
    yield row(Recipe(given.DIVIDED, KEPT, BEFORE))
    yield row(REFERENCE, clamp=CLAMP_SYMMETRIC)


VARIANTS = tuple(table())
