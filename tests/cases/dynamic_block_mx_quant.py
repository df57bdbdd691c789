"""npu_dynamic_block_mx_quant: a power of two per tile."""

from __future__ import annotations

import npu_quant
from cases.case import BFLOAT16, FLOAT16, Case, settings
from cases.dynamic_mx_quant import (
    FLOAT4,
    FLOAT8,
    KINDS,
    MATRICES,
    OF_DTYPES,
    on_both_axes,
    sprinkled,
)
from npu_quant.ops.dynamic_block_mx_quant import reference

CASES = [
    Case(
        name="dynamic_block_mx_quant",
        operator=npu_quant.npu_dynamic_block_mx_quant,
        reference=reference,
        fields=("y", "scale1", "scale2"),
        arguments=on_both_axes,
        sprinkled=sprinkled,
        rows=("input",),
        # There is no scale_alg 1.
        kinds={name: options | {"alg": 0} for name, options in KINDS.items()},
        formulas={
            "matrices": (settings(*MATRICES, to=[*FLOAT8, *FLOAT4]), OF_DTYPES),
            "algorithms": (
                settings((70, 66), to=["float4_e2m1"], alg=[2], greatest=[0.0, 6.0, 7.0])
                + settings((70, 66), to=FLOAT4, mode=["rint", "round", "floor"]),
                OF_DTYPES,
            ),
            "several": settings((3, 40, 66), (5, 64, 128), (2, 33, 4200), (1, 300, 34)),
        },
        layouts=settings((35, 72), (2, 130, 72), (3, 5, 128), (70, 2064)),
        outs=settings((3, 256), (3, 70, 66), (2, 40, 128)),
        threads=settings((70, 4096), (3, 50, 4002), dtype=[BFLOAT16], to=["float8_e4m3fn"]),
        large=settings((67, 4096), dtype=[FLOAT16], to=["float8_e5m2", "float4_e2m1"]),
    )
]
