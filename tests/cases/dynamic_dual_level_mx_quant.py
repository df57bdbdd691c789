"""npu_dynamic_dual_level_mx_quant: groups of 512, and blocks of what they have become."""

from __future__ import annotations

import math

from exhaustive import every
from witnesses import normal, random_patterns, with_specials

import npu_quant
from cases.case import (
    BFLOAT16,
    FLOAT16,
    Arguments,
    Case,
    DType,
    Rng,
    Tries,
    kinds,
    settings,
)
from npu_quant.ops.dynamic_dual_level_mx_quant import reference

# Around a block, a tile, a group, what is divided at a time (4096), and ragged ends.
WIDTHS = [2, 30, 32, 34, 62, 64, 66, 126, 130, 510, 512, 514, 576, 1022, 1024, 4094, 4096, 4098]
WIDTHS += [4608, 8706]
ROUND_MODES = ["rint", "round", "floor"]


def arguments(rng: Rng, shape: tuple[int, ...], dtype: DType, mode: str = "rint") -> Arguments:
    shape = (*shape[:-1], -shape[-1] // 2 * -2)
    return {"input": normal(rng, shape, dtype), "round_mode": mode}


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Put special values into some rows, of which one spoils a group."""
    x = a["input"].copy()
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    rows[::2] = with_specials(rng, rows[::2])
    return a | {"input": x}


def random_bits(rng: Rng, dtype: DType) -> Tries:
    """Groups of finite numbers of every size, in one of which there are others."""
    x = random_patterns(rng, ((1 << 13) // every(8), 1 << 10), dtype)
    x[::8][~(abs(x[::8]) <= 1e4)] = 0
    yield {"input": x}


CASES = [
    Case(
        name="dynamic_dual_level_mx_quant",
        operator=npu_quant.npu_dynamic_dual_level_mx_quant,
        reference=reference,
        fields=("y", "level0_scale", "level1_scale"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("input",),
        kinds=kinds(dtype=[FLOAT16, BFLOAT16]),
        formulas={
            "widths": settings(*[(5, n) for n in WIDTHS], mode=ROUND_MODES),
            "axes": settings((3, 40, 5, 2, 66), (1, 7, 1, 1, 2, 1, 4), (2, 5, 4, 512), (2100,)),
            "random bits": random_bits,
        },
        layouts=settings((35, 72), (2, 4504), (2, 70, 1032)),
        outs=settings((3, 256), (3, 1100), (3, 7, 66), (3, 9002)),
        threads=settings((70, 4096), (1, 300_000), (3, 50, 4002), dtype=[BFLOAT16]),
        large=settings((67, 4096), (67, 4002), dtype=[FLOAT16]),
    )
]
