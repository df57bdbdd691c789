"""npu_dynamic_quant: a scale per row."""

from __future__ import annotations

from witnesses import normal, random_patterns, with_specials

import npu_quant
from cases.case import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    Arguments,
    Case,
    DType,
    Rng,
    Tries,
    kinds,
    settings,
)
from npu_quant.ops.dynamic_quant import reference

SHAPES = [(1, 1), (1, 16), (3, 4), (7, 63), (5, 64), (5, 65), (9, 127), (4, 300), (3, 5000)]
SHAPES += [(33, 2049), (2, 9000), (1, 70_001)]
RANKS = [(2,) * (rank - 1) + (70,) for rank in range(2, 9)]


def arguments(rng: Rng, shape: tuple[int, ...], dtype: DType, smooth: bool = False) -> Arguments:
    a = {"input": normal(rng, shape, dtype)}
    return a | {"smooth_scales": normal(rng, shape[-1:], dtype)} if smooth else a


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return a | {"input": with_specials(rng, a["input"])}


def a_hundred_million(rng: Rng, dtype: DType) -> Tries:
    """Over the dtypes, 1.2 * 10^8 values."""
    for i in range(10):
        a = {"input": random_patterns(rng, (1 << 10, 1 << 12), dtype)}
        yield a | {"smooth_scales": normal(rng, (1 << 12,), dtype)} if i % 2 else a


CASES = [
    Case(
        name="dynamic_quant",
        operator=npu_quant.npu_dynamic_quant,
        reference=reference,
        fields=("y", "scale"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("input",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "shapes": settings(*SHAPES, smooth=[False, True]),
            "a hundred million": a_hundred_million,
        },
        layouts=[
            *settings((5, 70), (3, 2, 130), (40, 700), (2, 9001), smooth=[False, True]),
            *settings(*RANKS, *(shape[::-1] for shape in RANKS)),
        ],
        outs=settings((3, 5, 70), smooth=[False, True]),
        guards={"smooth": [False, True]},
        threads=settings((1500, 4096), dtype=[BFLOAT16], smooth=[False, True]),
        large=settings((1009, 4001), dtype=[FLOAT16], smooth=[False, True]),
    )
]
