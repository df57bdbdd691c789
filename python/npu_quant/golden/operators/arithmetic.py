"""The small parts that formulas are put together from: roundings, number formats, saturation.

Every function on float32 arrays is one IEEE operation per element and step, as NumPy's are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .variant import Formula, Glance, Variant, always

Array = NDArray[Any]
Float32 = NDArray[np.float32]
Computed = Any
"""A float32 array: what NumPy's annotations make of arithmetic on one."""

ONE = np.float32(1)


@dataclass(frozen=True)
class Step:
    """A step of a formula: what it is called in names, how it is printed, what it does."""

    name: str
    """Empty for a step of every reference formula."""
    benign: bool
    text: str
    function: Callable[..., Any]
    source: str = ""
    applies: Callable[[Any], bool] = always
    """Whether it means anything for a model."""
    benign_if: Callable[[Any], bool] | None = None
    """Whether a benign one is so with a model's inputs; None: always."""
    benign_when: str = ""
    glance: Glance | None = None
    """For what needs all of the inputs: whether it can have made some elements."""


def composed(
    steps: Sequence[Step],
    summary: str,
    formulas: tuple[Formula, ...],
    *,
    reference: Sequence[Step],
    name: str | None = None,
    source: str | None = None,
    applies: Callable[[Any], bool] = always,
) -> Variant:
    """Return the variant made of some steps, named by those that the reference has not."""
    own = [step for step, theirs in zip(steps, reference, strict=True) if step is not theirs]
    found = dict.fromkeys(step.source for step in own if step.source)
    conditions = [step.benign_if for step in steps if step.benign_if is not None]
    benign = all(step.benign for step in steps)
    return Variant(
        name or ", ".join(step.name for step in own) or "reference",
        benign,
        summary,
        source or "; ".join(found) or ("another order of operations" if benign else "scripts"),
        formulas,
        lambda model: applies(model) and all(step.applies(model) for step in steps),
        (lambda model: all(is_so(model) for is_so in conditions))
        if benign and conditions
        else None,
        next((step.benign_when for step in steps if step.benign_when and benign), ""),
        next((step.glance for step in steps if step.glance is not None), None),
        tuple(step.name for step in own),
    )


def half_even(q: Float32) -> Computed:
    """Round to nearest, ties to even."""
    return np.rint(q)


def half_away(q: Float32) -> Computed:
    """Round to nearest, ties away from zero; q - trunc(q) is exact."""
    whole = np.trunc(q)
    return np.asarray(whole + np.copysign(np.abs(q - whole) >= np.float32(0.5), q), np.float32)


def half_up(q: Float32) -> Computed:
    """Add a half, in float32, and round down."""
    return np.asarray(np.floor(q + np.float32(0.5)), np.float32)


def stored_in(dtype: Any) -> Callable[[Float32], Float32]:
    """Return the rounding to a dtype of 16 bits."""

    def store(q: Float32) -> Float32:
        return np.asarray(q.astype(dtype), np.float32)

    return store


to_float16 = stored_in(np.float16)
to_bfloat16 = stored_in(ml_dtypes.bfloat16)


def as_it_is(q: Float32) -> Computed:
    """Keep float32."""
    return q


TIES_SOURCE = "std::round; AscendQuant on 310P; pypto-lib #279, tt-metal #56525, oneflow #5038"
HALF_EVEN = Step("", True, "rint", half_even)
HALF_AWAY = Step("half away", True, "round half away from zero", half_away, TIES_SOURCE)
HALF_UP = Step("half up", True, "round half up", half_up, "the usual way to write it in C")
TRUNCATION = Step(
    "truncation",
    False,
    "trunc",
    np.trunc,
    "a plain cast to int8; onnxruntime #25045, sglang-jax #1598",
)
FLOOR = Step("floor", False, "floor", np.floor, "CAST_FLOOR of the device")
CEILING = Step("ceil", False, "ceil", np.ceil, "CAST_CEIL of the device")
ROUNDINGS = (HALF_EVEN, HALF_AWAY, HALF_UP)
OTHER_ROUNDINGS = (TRUNCATION, FLOOR, CEILING)

CLAMP = Step("", True, "", lambda low: low)
CLAMP_SYMMETRIC = Step(
    "clamp -127",
    False,
    ", least code left out",
    lambda low: low + 1,
    "scripts; hicann/ops-nn dynamic_block_quant_data_910b/gen_data.py",
)

KEPT = Step("", True, "", as_it_is)
FLOAT16 = Step(
    "fp16 quotient",
    False,
    "float16",
    to_float16,
    "the casts float32 -> float16 -> int8 that NPU kernels chain",
)
BFLOAT16 = Step(
    "bf16 quotient", False, "bfloat16", to_bfloat16, "quotients in the dtype of a bfloat16 input"
)


def saturated(rounded: Float32, low: int, high: int, dtype: Any = np.int8, nan: int = 0) -> Array:
    """Return codes of rounded numbers, which are lost: beyond the range its ends, NaN is `nan`."""
    if np.dtype(dtype).itemsize > 2:
        wide = rounded.astype(np.float64)  # which holds the limits of int32
        return np.where(np.isnan(wide), nan, np.clip(wide, low, high)).astype(dtype)
    missing = np.isnan(rounded)
    np.clip(rounded, np.float32(low), np.float32(high), out=rounded)
    rounded[missing] = nan
    return rounded.astype(dtype)


def fused(x: Float32, w: Float32, zero_point: Float32) -> Computed:
    """Return x * w + zero_point, rounded once.

    The product is exact in float64, the sum is rounded to odd there: so the last rounding, to
    float32, sees on which side of a tie it lies.
    """
    product = x.astype(np.float64) * w
    addend = zero_point.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    inexact = np.isfinite(total) & np.isfinite(error) & (error != 0)
    even = (total.view(np.int64) & 1) == 0
    toward = np.where((error > 0) == (total > 0), 1, -1)
    odd = (total.view(np.int64) + np.where(inexact & even, toward, 0)).view(np.float64)
    return odd.astype(np.float32)
