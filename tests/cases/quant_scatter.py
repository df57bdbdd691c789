"""npu_quant_scatter and npu_quant_scatter_: slabs of codes by scales that are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from witnesses import normal

import npu_quant
from cases.case import DTYPES, FLOAT32, Arguments, Case, DType, Rng, each, kinds, settings, sprinkle
from npu_quant._codes import row_of
from npu_quant.ops.quant_scatter import reference

FLOAT16, BFLOAT16, _ = DTYPES
FORMATS = ["int8", "float8_e4m3fn", "float8_e5m2", "hifloat8"]
INT32 = np.dtype(np.int32)
# Around a vector of 8 or 16 elements, and of 64 bytes, on each target; ragged ends of each.
WIDTHS = [1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 1025, 4100]


def places(rng: Rng, form: str, shape: tuple[int, ...], place: int, length: int) -> Any:
    """Return indices: one per batch, or pairs, some of them of one place and many that overlap."""
    batches, count = shape[0], shape[0] if form == "each" else shape[0] * 3 // 4
    positions = rng.integers(0, shape[place] - length + 1, count)
    if form == "each":
        return positions.astype(np.int32)
    return np.stack([rng.integers(0, batches, count), positions], axis=1).reshape(count, 2)


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    to: str,
    *,
    axis: int = -2,
    form: str = "each",
    length: int | None = None,
    scales: DType = FLOAT32,
    zeros: DType | None = INT32,
    ranked: bool = False,
) -> Arguments:
    """Return arguments whose codes are spread over the range of to; matrices get an axis of 3."""
    if len(shape) == 2:
        shape = (shape[0], 3, shape[1])
    place, n = axis % len(shape), shape[-1]
    length = (shape[place] + 1) // 2 if length is None else length
    indices = places(rng, form, shape, place, length)
    slab = tuple(length if i == place else m for i, m in enumerate(shape))[1:]
    row = row_of(to)
    wide = 8 if row.name in ("hifloat8", "float8_e5m2") else 0
    factors = np.exp(rng.uniform(-5, 2, n) - wide) * rng.choice([1, -1], n, p=[0.8, 0.2])
    return {
        "self": rng.integers(0, 256, (*shape, 1), np.uint8).view(row.carrier)[..., 0],
        "indices": indices,
        "updates": normal(rng, (len(indices), *slab), dtype),
        "quant_scales": factors.astype(scales).reshape((1, 1, n) if ranked else (n,)),
        "quant_zero_points": None if zeros is None else rng.integers(-90, 90, n).astype(zeros),
        "axis": axis,
        "dst_type": to,
        "round_mode": "round" if to == "hifloat8" else "rint",
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return sprinkle(rng, a, ("updates", "quant_scales", "quant_zero_points"))


OF_INT8 = {"dtype": [BFLOAT16], "to": ["int8"]}
COPIED = Case(
    name="quant_scatter",
    operator=npu_quant.npu_quant_scatter,
    reference=reference,
    arguments=arguments,
    sprinkled=sprinkled,
    rows=("self", "updates", "indices"),
    kinds=kinds(dtype=[FLOAT16, BFLOAT16], to=FORMATS),
    in_memory=each(dtype=[FLOAT16, BFLOAT16], to=FORMATS[::3]),
    formulas={
        "axes": settings(
            (5, 3, 19),
            (4, 3, 6, 33),
            (4, 2, 3, 2, 1, 2, 3, 7),
            axis=[1, -2],
            form=["each", "pairs"],
        ),
        "parameters": settings(
            (3, 4, 70),
            scales=[FLOAT32, BFLOAT16],
            zeros=[None, INT32, BFLOAT16],
            ranked=[False, True],
        ),
        "widths": settings(*[(2, 3, n) for n in WIDTHS], form=["each"]),
        "later ones": settings((40, 9, 70), (90, 2, 5), form=["pairs"], length=[1, 2]),
        "no room to spare": settings((3, 4, 70), (3, 4, 2, 20), axis=[1], length=[0, 4]),
    },
    layouts=[
        *settings((5, 3, 35), (3, 2, 4, 130), (2, 1, 4500), form=["each"]),
        *settings((4, 3, 70), form=["pairs"]),
        *settings((4, 2, 3, 2, 1, 2, 3, 5), axis=[-3]),
    ],
    outs=settings((3, 5, 70), (4, 3, 2, 200), form=["each", "pairs"]),
    guards={"form": ["each", "pairs"]},
    threads=[
        *settings((70, 6, 512), form=["each"], **OF_INT8),
        *settings((130, 3, 301), form=["pairs"], length=[1, 3], **OF_INT8),
    ],
    large=settings((19, 4201), (70, 129), **OF_INT8),
    stacks=False,
)
CASES = [
    COPIED,
    replace(
        COPIED,
        name="quant_scatter in place",
        operator=npu_quant.npu_quant_scatter_,
        in_place="self",
    ),
]
