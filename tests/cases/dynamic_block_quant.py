"""npu_dynamic_block_quant: a scale per 128 elements of a row."""

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
from npu_quant.ops.dynamic_block_quant import reference

# Around a block (128), a group of blocks on each target (512, 1024, 2048), and ragged ends of each.
WIDTHS = [1, 16, 127, 128, 129, 300, 511, 512, 513, 1024, 1100, 2047, 2048, 2049, 4096, 6300]


def arguments(rng: Rng, shape: tuple[int, ...], dtype: DType, min_scale: float = 0.0) -> Arguments:
    return {"x": normal(rng, shape, dtype), "min_scale": min_scale}


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return a | {"x": with_specials(rng, a["x"])}


def a_hundred_million(rng: Rng, dtype: DType) -> Tries:
    """Over the dtypes, 1.2 * 10^8 values."""
    for _ in range(10):
        yield {"x": random_patterns(rng, (1 << 15, 1 << 7), dtype).reshape(1 << 10, 1 << 12)}


CASES = [
    Case(
        name="dynamic_block_quant",
        operator=npu_quant.npu_dynamic_block_quant,
        reference=reference,
        fields=("y", "scale"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "widths": settings(*[(5, n) for n in WIDTHS], min_scale=[0.0, 3.7]),
            "a hundred million": a_hundred_million,
        },
        layouts=settings((35, 70), (3, 2, 130), (2, 4500), (2, 3, 2176)),
        outs=settings((3, 256), (3, 300), (3, 4096)),
        threads=settings(
            *[(1500, 4096), (1, 6_000_000), (2, 3_000_001), (3, 500, 4000)], dtype=[BFLOAT16]
        ),
        large=settings((1009, 4096), (1009, 4001), dtype=[FLOAT16]),
    )
]
