"""The steps of formulas with given scales and zero points: npu_quantize, quantize_val, fake quant.

A formula is a choice of steps: how the quotient is made (QUOTIENT), what format it is kept in,
where the zero point comes in (ZERO), and how it is rounded. The references differ in the first and
third: so every family says which its own are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arithmetic
from .arithmetic import Computed, Float32, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from .elements import ElementModel, ElementPart

ONE = np.float32(1)


def divides(model: Any) -> bool:
    """Tell whether the scale is divided by."""
    return bool(getattr(model, "div_mode", True))


def multiplies(model: Any) -> bool:
    """Tell whether the scale is multiplied by: div_mode=False."""
    return not divides(model)


def has_zero_points(model: ElementModel) -> bool:
    """Tell whether there are zero points other than 0."""
    return model.has_zero_points()


def has_integral_zero_points(model: ElementModel) -> bool:
    """Tell whether all zero points are whole numbers."""
    return model.has_integral_zero_points()


def is_float32(model: ElementModel) -> bool:
    """Tell whether rounding the input would change it."""
    return model.x.dtype == np.float32


# What is divided by or multiplied with what: (x, operation, w).


def divided(x: Float32, w: Float32) -> Computed:
    """Return x / w."""
    return x / w


def multiplied(x: Float32, w: Float32) -> Computed:
    """Return x * w."""
    return x * w


def by_scale(
    part: ElementPart,
    scale_rounding: Any = arithmetic.as_it_is,
    x_rounding: Any = arithmetic.as_it_is,
) -> tuple[Any, ...]:
    """Return the operands of x / scale, or x * scale, as div_mode says."""
    operation = divided if divides(part.model) else multiplied
    return x_rounding(part.x), operation, scale_rounding(part.scale)


def by_reciprocal(
    part: ElementPart,
    scale_rounding: Any = arithmetic.as_it_is,
    x_rounding: Any = arithmetic.as_it_is,
) -> tuple[Any, ...]:
    """Return the operands of x * (1/scale)."""
    return x_rounding(part.x), multiplied, ONE / scale_rounding(part.scale)


AS_GIVEN = Step("x / scale", True, "x / scale", by_scale)
RECIPROCAL = Step(
    "x * (1/scale)",
    True,
    "x * (1 / scale)",
    by_reciprocal,
    "torch.quantize_per_tensor, torch.quantize_per_channel",
    divides,
)
BY_RECIPROCAL = Step(
    "x / (1/scale)",
    True,
    "x / (1 / scale)",
    lambda part: (part.x, divided, ONE / part.scale),
    "the same step handed over as its reciprocal",
    multiplies,
)
MULTIPLIED = Step(
    "x * scale",
    False,
    "x * scale",
    lambda part: (part.x, multiplied, part.scale),
    "aclnnAscendQuant's scale, which multiplies; div_mode=False",
    divides,
)
DIVIDED = Step(
    "x / scale",
    False,
    "x / scale",
    lambda part: (part.x, divided, part.scale),
    "aclnnQuantize's scale, which divides; div_mode=True",
    multiplies,
)


def narrow(quotient: Callable[..., tuple[Any, ...]], form: str) -> tuple[Step, ...]:
    """Return the quotients of a scale or an input that was rounded to 16 bits before."""
    steps = []
    for short, name, rounding in (
        ("fp16", "float16", arithmetic.to_float16),
        ("bf16", "bfloat16", arithmetic.to_bfloat16),
    ):
        steps += [
            Step(
                f"{short} scale",
                False,
                form.format(x="x", scale=f"{name}(scale)"),
                partial(quotient, scale_rounding=rounding),
                "hicann/ops-nn quant/ascend_quant_v2, which casts scales to x's dtype",
            ),
            Step(
                f"input as {short}",
                False,
                form.format(x=f"{name}(x)", scale="scale"),
                partial(quotient, x_rounding=rounding),
                f"x.{'half' if short == 'fp16' else 'bfloat16'}()",
                is_float32,
            ),
        ]
    return tuple(steps)


NARROW = narrow(by_scale, "{x} / {scale}")
NARROW_RECIPROCAL = narrow(by_reciprocal, "{x} * (1 / {scale})")

# Where the zero point comes in: from the operands, the format kept, and the rounding.


def quotient(part: ElementPart, operands: tuple[Any, ...], kept: Step) -> Float32:
    """Return the quotient of a part, made once."""
    x, combine, w = operands
    key = (combine, w.tobytes(), id(x), kept)
    # x is kept beside it, so that nothing else gets its id.
    made: tuple[Float32, Float32] = part.once(key, lambda: (kept.function(combine(x, w)), x))
    return made[0]


def before(part: ElementPart, operands: tuple[Any, ...], kept: Step, rounding: Any) -> Computed:
    """Round quotient + zero_point."""
    q = quotient(part, operands, kept)
    return rounding(q + part.zero_point if part.model.has_zero_points() else q)


def after(part: ElementPart, operands: tuple[Any, ...], kept: Step, rounding: Any) -> Computed:
    """Round the quotient, then add the zero point."""
    return rounding(quotient(part, operands, kept)) + part.zero_point


def fused(part: ElementPart, operands: tuple[Any, ...], kept: Step, rounding: Any) -> Float32:
    """Round the fused product and sum."""
    x, _, w = operands
    rounded: Float32 = rounding(arithmetic.fused(x, w, part.zero_point))
    return rounded


def subtracted(part: ElementPart, operands: tuple[Any, ...], kept: Step, rounding: Any) -> Computed:
    """Round quotient - zero_point."""
    return rounding(quotient(part, operands, kept) - part.zero_point)


def ignored(part: ElementPart, operands: tuple[Any, ...], kept: Step, rounding: Any) -> Computed:
    """Round the quotient."""
    return rounding(quotient(part, operands, kept))


def kept_sum(part: ElementPart, operands: tuple[Any, ...], kept: Step, rounding: Any) -> Float32:
    """Round quotient + zero_point, both in the format kept."""
    total = kept.function(quotient(part, operands, kept) + part.zero_point)
    rounded: Float32 = rounding(total)
    return rounded


BEFORE = Step(
    "zero point before rounding",
    True,
    "{round}({quotient} + zero_point)",
    before,
    "aclnnQuantize; torch.quantize_per_channel",
)
AFTER = Step(
    "zero point after rounding",
    True,
    "{round}({quotient}) + zero_point",
    after,
    "PyTorch's documentation of quantize_val; torch's fake quantization",
)
FUSED = Step(
    "fused",
    True,
    "{round}({quotient} + zero_point), product and sum rounded once",
    fused,
    "torch.quantize_per_tensor on x86; fused multiply-add",
    has_zero_points,
)
# Beside a reference that has the other one.
BEFORE_INSTEAD = replace(BEFORE, applies=has_zero_points)
AFTER_INSTEAD = replace(
    AFTER,
    applies=has_zero_points,
    benign_if=has_integral_zero_points,
    benign_when="zero points are whole numbers",
)
SUBTRACTED = Step(
    "zero point subtracted",
    False,
    "{round}({quotient} - zero_point)",
    subtracted,
    "by mistake",
    has_zero_points,
)
IGNORED = Step(
    "zero point ignored", False, "{round}({quotient})", ignored, "by mistake", has_zero_points
)
KEPT_SUM = Step(
    "so is the sum",
    False,
    "{round}({quotient} + zero_point), the sum in 16 bits too",
    kept_sum,
    "all in the dtype of a 16-bit input",
    has_zero_points,
)


@dataclass(frozen=True)
class Recipe:
    """One choice of steps."""

    quotient: Step
    kept: Step
    zero: Step
    rounding: Step = arithmetic.HALF_EVEN

    @property
    def steps(self) -> tuple[Step, ...]:
        """All of them, as a name lists them."""
        return (self.quotient, self.kept, self.zero, self.rounding)

    @property
    def text(self) -> str:
        """The formula in a line."""
        text = self.quotient.text
        text = f"{self.kept.text}({text})" if self.kept.text else text
        return self.zero.text.format(round=self.rounding.text, quotient=text)

    def rounded(self, part: ElementPart) -> Float32:
        """Return the codes of a part before they are clamped, made once."""

        def make() -> Float32:
            operands = part.once(self.quotient, lambda: self.quotient.function(part))
            rounded: Float32 = self.zero.function(part, operands, self.kept, self.rounding.function)
            return rounded

        return part.once((self.quotient, self.kept, self.zero, self.rounding), make)
