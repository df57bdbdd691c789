"""npu_dual_level_quant_matmul: all codes of float4, with powers and scales around 1."""

from __future__ import annotations

import numpy as np
from witnesses import assert_same_but_nan

import npu_quant
from cases.case import (
    DTYPES,
    FLOAT32,
    Arguments,
    Case,
    DType,
    Rng,
    kinds,
    settings,
    sprinkle,
)
from npu_quant.ops.dual_level_quant_matmul import reference

RESULTS = [DTYPES[1], DTYPES[0]]
# Of bytes along k: around a block of 32 codes, a group of 512, a block that is packed at a time.
DEPTHS = [0, 1, 15, 16, 17, 32, 120, 128, 255, 256, 257, 600]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    to: DType = RESULTS[0],
    columns: int = 21,
    bias: bool = True,
    scales: str = "uint8",
) -> Arguments:
    """Return arguments of a product with so many columns."""
    rows, half = shape
    levels, pairs = -(-half // 256), -(-half // 32)

    def powers(n: int) -> np.ndarray:
        return rng.integers(118, 134, (n, pairs, 2), np.uint8).view(scales)

    def values(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(FLOAT32)

    return {
        "x1": rng.integers(0, 256, shape, np.uint8),
        "x2": rng.integers(0, 256, (columns, half), np.uint8),
        "x1_level0_scale": values(rows, levels),
        "x2_level0_scale": values(levels, columns),
        "x1_level1_scale": powers(rows),
        "x2_level1_scale": powers(columns),
        "bias": values(columns) * 100 if bias else None,
        "output_dtype": to,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Return the arguments with special values among scales and biases, and bytes of all kinds."""
    a = sprinkle(rng, a, ("x1_level0_scale", "x2_level0_scale", "bias"), every=40)
    for name in ("x1_level1_scale", "x2_level1_scale"):
        some = rng.random(a[name].shape) < 0.02
        a[name].view(np.uint8)[some] = rng.choice([0, 1, 254, 255], int(some.sum()))
    return a


CASES = [
    Case(
        name="dual_level_quant_matmul",
        operator=npu_quant.npu_dual_level_quant_matmul,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x1", "x1_level0_scale", "x1_level1_scale"),
        kinds=kinds(to=RESULTS),
        formulas={
            "depths": settings(*[(5, half) for half in DEPTHS], bias=[True, False]),
            "columns": settings((1, 40), (7, 270), columns=[1, 16, 63, 64, 65, 300]),
            "rows": settings(
                *[(rows, 20) for rows in (0, 1, 2, 3, 6, 13)], scales=["float8_e8m0fnu"]
            ),
        },
        layouts=settings((13, 40), (3, 270)),
        outs=settings((5, 40), (70, 30)),
        threads=settings((400, 40), (3, 270), columns=[700]),
        large=[],
        stacks=False,
        same=assert_same_but_nan,
    )
]
