"""What formulas beside the reference give, operator by operator, written by hand in plain NumPy.

Nothing here is the package's: `test_golden_named.py` asks it to name each of these formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

F32 = np.float32
BF16 = ml_dtypes.bfloat16
DTYPES = [np.float16, BF16, F32]
Outputs = tuple[Any, ...]


class Wrong(NamedTuple):
    """A formula's outputs for some inputs."""

    op: str
    name: str
    """The formula's."""
    benign: bool
    make: Callable[[], tuple[dict[str, Any], Outputs]]
    """Return the inputs, and what the formula gives."""
    words: str = ""
    """What tells these inputs from others."""
    is_told_apart: bool = True
    """Whether it is neither the reference nor equal to it on these inputs."""

    def __str__(self) -> str:
        return f"{self.op}-{self.name}-{self.words}".rstrip("-")


def every() -> Iterator[Wrong]:
    """Return those of all operators."""
    from . import (
        block_rows,
        experts,
        fake,
        gated_experts,
        given,
        glu,
        grouped_products,
        matmul,
        norm,
        norm_siblings,
        norm_values,
        products,
        scatter,
        sums,
        words,
    )

    for module in (
        given,
        sums,
        fake,
        glu,
        block_rows,
        matmul,
        norm,
        norm_siblings,
        norm_values,
        products,
        grouped_products,
        gated_experts,
        scatter,
        experts,
        words,
    ):
        yield from module.wrongs()


def codes(q: Any, round_: Callable[[Any], Any] = np.rint, low: int = -128, high: int = 127) -> Any:
    """Round in float64, which holds every float32 and its halves; NaN is 0."""
    with np.errstate(all="ignore"):
        q = round_(np.asarray(q).astype(np.float64))
        kept = np.where(np.isnan(q), 0, np.clip(q, low, high))
        return kept.astype(np.uint8 if high == 255 else np.int8 if high == 127 else np.int32)


def away(q: Any) -> Any:
    return np.copysign(np.floor(np.abs(q) + 0.5), q)


def to(dtype: Any) -> Callable[[Any], Any]:
    return lambda q: np.asarray(q).astype(dtype).astype(F32)


f16, bf16 = to(np.float16), to(BF16)


def on_ties(scale: Any, zero: Any, dtype: Any, seed: int = 20240607) -> Any:
    """Return an array whose quotients lie at ties, next to them, and elsewhere."""
    rng, shape = np.random.default_rng(seed), (250, len(scale))
    steps = rng.integers(-150, 150, shape) / 2 - zero
    steps = np.where(rng.random(shape) < 0.5, steps, rng.standard_normal(shape) * 60)
    return (steps * scale.astype(np.float64)).astype(dtype)


def channels(width: int = 64) -> tuple[Any, Any]:
    """Return a scale and a whole zero point per column."""
    rng = np.random.default_rng(20240607)
    return F32(rng.uniform(0.1, 3, width)), rng.integers(-9, 9, width).astype(np.int32)
