"""npu_dynamic_mx_quant, npu_dynamic_mx_quant_with_dual_axis: a power of two per block."""

from __future__ import annotations

from typing import Any

from exhaustive import every
from witnesses import normal, random_patterns, with_specials

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
    settings,
)
from npu_quant.ops import dynamic_mx_quant_with_dual_axis
from npu_quant.ops.dynamic_mx_quant import reference

# Around a block, the cells that are reduced together (4 to 32), a span (1024), and ragged ends.
WIDTHS = [1, 2, 31, 32, 33, 64, 95, 128, 130, 256, 300, 512, 544, 1023, 1024, 1026, 2080, 4200]
FLOAT8, FLOAT4 = ["float8_e4m3fn", "float8_e5m2"], ["float4_e2m1", "float4_e1m2"]
SIZES = [64, 96, 192, 352, 1024]
MATRICES = [(1, 2), (32, 16), (33, 18), (64, 64), (70, 130), (200, 66), (2, 65, 70), (100, 2100)]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    to: str = "float8_e4m3fn",
    axis: int = -1,
    mode: str = "rint",
    block: int = 32,
    alg: int = 0,
    greatest: float = 0.0,
    bound: float = 0.0,
) -> Arguments:
    if to in FLOAT4:
        shape = (*shape[:-1], -shape[-1] // 2 * -2)
    return {
        "input": normal(rng, shape, dtype),
        "axis": axis,
        "round_mode": mode,
        "dst_type": to,
        "block_size": block,
        "scale_alg": alg,
        "dst_type_max": greatest,
        "max_low_bound": bound,
    }


def on_both_axes(rng: Rng, shape: tuple[int, ...], dtype: DType, **options: Any) -> Arguments:
    a = arguments(rng, shape, dtype, **options)
    return {name: a[name] for name in a if name not in ("axis", "block_size", "max_low_bound")}


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return a | {"input": with_specials(rng, a["input"])}


def a_hundred_million(rng: Rng, dtype: DType) -> Tries:
    """Over the dtypes, 10^8 values, or an eighth of them."""
    for i in range(8):
        x = random_patterns(rng, ((1 << 15) // every(8), 1 << 7), dtype).reshape(-1, 1 << 12)
        to = [*FLOAT8, *FLOAT4][i % 4]
        yield {"input": x, "dst_type": to, "axis": -1 if i < 4 else 0}


KINDS = {
    "float16-float8_e4m3fn": {"dtype": FLOAT16},
    "bfloat16-float8_e5m2": {"dtype": BFLOAT16, "to": "float8_e5m2", "alg": 1},
    "bfloat16-float4_e2m1": {"dtype": BFLOAT16, "to": "float4_e2m1", "mode": "round"},
    "float32-float4_e1m2": {"dtype": FLOAT32, "to": "float4_e1m2", "mode": "floor"},
}
OF_DTYPES = {dtype.name: {"dtype": dtype} for dtype in DTYPES}

CASES = [
    Case(
        name="dynamic_mx_quant",
        operator=npu_quant.npu_dynamic_mx_quant,
        reference=reference,
        fields=("y", "mxscale"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("input",),
        kinds=KINDS,
        formulas={
            "widths": (settings(*[(5, n) for n in WIDTHS], to=[*FLOAT8, *FLOAT4]), OF_DTYPES),
            "matrices": (settings(*MATRICES, to=[*FLOAT8, *FLOAT4], axis=[0, -2]), OF_DTYPES),
            "algorithms": (
                settings((5, 300), (70, 66), to=FLOAT8, alg=[0, 1], axis=[-1, 0], bound=[0.0])
                + settings((5, 300), to=FLOAT8, alg=[1], bound=[0.5, 1e-39])
                + settings((5, 300), (70, 66), to=["float4_e2m1"], alg=[2], greatest=[0.0, 7.0])
                + settings((5, 300), to=FLOAT4, mode=["rint", "round", "floor"], axis=[-1, 0]),
                OF_DTYPES,
            ),
            "blocks": settings((3, 4200), (2500, 6), (2, 700, 34), axis=[-1, -2], block=SIZES),
            "axes": settings((3, 40, 5, 2, 66), (1, 70, 1, 1, 2, 1, 4), axis=[0, 1, 2, 3, 4]),
            "a hundred million": (a_hundred_million, OF_DTYPES),
        },
        layouts=[
            *settings((35, 72), (2, 4504), axis=[-1, 0]),
            *settings((2, 130, 72), axis=[-1, -2, 0]),
            *settings((70, 2064), axis=[-1, 0], block=[96]),
        ],
        outs=settings((3, 256), (3, 300), (130, 330), (3, 70, 66), axis=[-1, -2]),
        threads=settings(
            *[(70, 4096), (1, 300_000), (3, 50, 4002)],
            dtype=[BFLOAT16],
            axis=[-1, -2, 0],
            to=["float8_e4m3fn", "float4_e2m1"],
        ),
        large=settings(
            *[(67, 4096), (67, 4002)],
            dtype=[FLOAT16],
            axis=[-1, -2],
            to=["float8_e5m2", "float4_e2m1"],
        ),
    ),
    Case(
        name="dynamic_mx_quant_with_dual_axis",
        operator=npu_quant.npu_dynamic_mx_quant_with_dual_axis,
        reference=dynamic_mx_quant_with_dual_axis.reference,
        fields=("y1", "mxscale1", "y2", "mxscale2"),
        arguments=on_both_axes,
        sprinkled=sprinkled,
        rows=("input",),
        kinds=KINDS,
        formulas={
            "matrices": (settings(*MATRICES, to=[*FLOAT8, *FLOAT4]), OF_DTYPES),
            "algorithms": (
                settings((70, 66), to=FLOAT8, alg=[0, 1])
                + settings((70, 66), to=["float4_e2m1"], alg=[2], greatest=[0.0, 7.0])
                + settings((70, 66), to=FLOAT4, mode=["rint", "round", "floor"]),
                OF_DTYPES,
            ),
            "axes": settings((3, 40, 5, 2, 66), (1, 70, 1, 1, 2, 1, 4), (2, 5, 64, 128)),
        },
        layouts=settings((35, 72), (2, 130, 72), (70, 2064)),
        outs=settings((3, 256), (3, 70, 66)),
        threads=settings((70, 4096), (3, 50, 4002), dtype=[BFLOAT16], to=["float8_e4m3fn"]),
        large=settings((67, 4096), dtype=[FLOAT16], to=["float8_e5m2", "float4_e2m1"]),
    ),
]
