"""npu_swiglu: every 16-bit gate, lengths around vectors and pieces, halves of any axis."""

from __future__ import annotations

from collections.abc import Iterator

import exhaustive
import numpy as np
from witnesses import Array, assert_same_but_nan, normal, with_specials

import npu_quant
from cases.case import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    FLOAT32,
    Arguments,
    Case,
    DType,
    Rng,
    Tries,
    kinds,
    settings,
)
from npu_quant.ops.swiglu import reference

# Of a half: around a vector, a tile, pieces of it, and more than a part that threads share.
HALVES = [1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130, 300, 511, 513, 1000, 2049, 4097, 33000]


def halved(shape: tuple[int, ...], of: int = 2, dim: int = -1) -> tuple[int, ...]:
    """Return a shape whose axis has a multiple of 2 elements, or of others."""
    whole = list(shape)
    whole[dim] = -whole[dim] // of * -of
    return tuple(whole)


def arguments(rng: Rng, shape: tuple[int, ...], dtype: DType, dim: int = -1) -> Arguments:
    return {"self": normal(rng, halved(shape, dim=dim), dtype), "dim": dim}


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return a | {"self": with_specials(rng, a["self"])}


def pairs(a: Array, b: Array) -> Arguments:
    return {"self": np.stack([a, b], axis=-1)}


def every_16_bit_gate(rng: Rng, dtype: DType) -> Tries:
    """Each pattern as a, beside 1 and beside random patterns."""
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    yield pairs(every, np.ones_like(every))
    yield pairs(every, rng.permutation(every))


def random_bits(rng: Rng) -> Tries:
    """Gates of every exponent, and those of which swish is neither 0 nor a."""
    count = (1 << 22) // exhaustive.every(8)
    gates = rng.integers(0, 1 << 32, count, np.uint32).view(np.float32)
    yield pairs(gates, rng.permutation(gates))
    yield pairs(rng.uniform(-105, 20, count).astype(np.float32), np.ones(count, np.float32))


def axes() -> Iterator[tuple[tuple[int, ...], Arguments]]:
    """Yield shapes of every rank, with each of their axes."""
    for rank in range(1, 9):
        yield from settings((2, 3, 1, 4, 1, 2, 3, 6)[8 - rank :], dim=range(-rank, rank))


CASES = [
    Case(
        name="swiglu",
        operator=npu_quant.npu_swiglu,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("self",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "axes": [*axes()],
            "widths": settings(*[(3, 2 * n) for n in HALVES]),
            "every 16-bit gate": (every_16_bit_gate, kinds(dtype=[FLOAT16, BFLOAT16])),
            "random bits": (random_bits, {"float32": {}}),
        },
        layouts=[*settings((35, 140), (2, 9008)), *settings((6, 4, 130), dim=[0, 1, 2])],
        outs=settings((4, 6, 144), dim=[0, 1, -1]) + settings((70, 260), (400,)),
        threads=settings((70, 4096), (1, 150_002), dtype=[BFLOAT16]),
        large=settings((19, 8402), dtype=[FLOAT16, FLOAT32]),
        same=assert_same_but_nan,
    )
]
