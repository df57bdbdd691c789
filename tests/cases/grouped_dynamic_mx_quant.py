"""npu_grouped_dynamic_mx_quant: a power of two per block of rows of a group."""

from __future__ import annotations

from typing import Any

import numpy as np
from witnesses import normal, with_specials

import npu_quant
from cases.case import BFLOAT16, Arguments, Case, DType, Rng, settings
from cases.dynamic_mx_quant import FLOAT4, FLOAT8, KINDS, OF_DTYPES
from npu_quant.ops.grouped_dynamic_mx_quant import reference

SHAPES = [(1, 2), (32, 16), (63, 18), (200, 66), (300, 2100), (130, 4200)]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    to: str = "float8_e5m2",
    mode: str = "rint",
    alg: int = 0,
    greatest: float = 0.0,
    groups: int = 1,
) -> Arguments:
    m, n = shape
    if to in FLOAT4:
        n = -n // 2 * -2
    ends = np.sort([*rng.integers(0, m + 1, groups - 1), m])
    a: dict[str, Any] = {"x": normal(rng, (m, n), dtype), "group_index": ends.astype(np.int32)}
    a |= {"round_mode": mode, "dst_type": to, "scale_alg": alg, "dst_type_max": greatest}
    return a


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return a | {"x": with_specials(rng, a["x"])}


CASES = [
    Case(
        name="grouped_dynamic_mx_quant",
        operator=npu_quant.npu_grouped_dynamic_mx_quant,
        reference=reference,
        fields=("y", "mxscale"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=KINDS,
        formulas={
            "groups": (settings(*SHAPES, to=[*FLOAT8, *FLOAT4], groups=[1, 2, 7]), OF_DTYPES),
            "algorithms": (
                settings((100, 66), to=FLOAT8, alg=[0, 1], groups=[3])
                + settings((100, 66), to=["float4_e2m1"], alg=[2], greatest=[0.0, 7.0])
                + settings((100, 66), to=["float4_e1m2"], alg=[2], greatest=[0.0, 2.25])
                + settings((100, 66), to=FLOAT4, mode=["rint", "round", "floor"], groups=[3]),
                OF_DTYPES,
            ),
        },
        layouts=settings((135, 72), (70, 2064)),
        outs=settings((3, 256), (300, 66), groups=[3]),
        threads=settings(
            (70, 4096),
            (300, 302),
            dtype=[BFLOAT16],
            to=["float8_e4m3fn", "float4_e2m1"],
            groups=[9],
        ),
        large=[],
    )
]
