"""npu_grouped_dynamic_block_quant: a scale per block of a group."""

from __future__ import annotations

import numpy as np
from witnesses import normal

import npu_quant
from cases.case import BFLOAT16, DTYPES, Arguments, Case, DType, Rng, kinds, settings
from cases.dynamic_block_quant import sprinkled
from npu_quant.ops.grouped_dynamic_block_quant import reference

FORMATS = ["float8_e4m3fn", "float8_e5m2", "hifloat8"]
# Rows and columns of blocks, and what shapes have them whole, in part and several times.
BLOCKS = [(1, 64), (1, 128), (128, 128), (256, 192), (512, 256)]
MATRICES = [(1, 2), (3, 130), (2, 130, 200), (600, 512), (1100, 66)]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    min_scale: float = 0.0,
    to: str = "float8_e5m2",
    block: tuple[int, int] = (128, 128),
    greatest: float = 0.0,
    groups: int = 1,
) -> Arguments:
    m = shape[-2]
    ends = np.sort([*rng.integers(0, m + 1, groups - 1), m])
    return {
        "x": normal(rng, shape, dtype),
        "group_list": ends.astype(np.int32),
        "min_scale": min_scale,
        "dst_type": to,
        "row_block_size": block[0],
        "col_block_size": block[1],
        "dst_type_max": greatest,
        "round_mode": "round" if to == "hifloat8" else "rint",
    }


CASES = [
    Case(
        name="grouped_dynamic_block_quant",
        operator=npu_quant.npu_grouped_dynamic_block_quant,
        reference=reference,
        fields=("y", "scale"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "groups": settings(*MATRICES, to=FORMATS, block=BLOCKS, groups=[1, 3, 9]),
            "bounds": settings((300, 66), min_scale=[3.7], block=[(1, 128), (128, 64)], groups=[3]),
            "greatest": settings(
                (300, 66), to=["hifloat8"], greatest=[1e-6, 15.0, 99.5], groups=[3]
            ),
        },
        layouts=settings((135, 72), (2, 300, 130), block=[(1, 64), (128, 128)]),
        outs=settings((3, 256), (2, 300, 130), block=[(1, 64), (128, 128)], groups=[3]),
        threads=settings(
            (70, 4096), (2, 300, 302), dtype=[BFLOAT16], block=[(1, 128), (256, 64)], groups=[9]
        ),
        large=[],
    )
]
