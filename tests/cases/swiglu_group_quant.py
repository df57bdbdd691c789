"""npu_swiglu_group_quant: blocks by a float and by a power of two, for the first rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from witnesses import assert_same_but_nan, with_specials

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
    sprinkle,
)
from cases.swiglu import HALVES, halved
from cases.swiglu_quant import gated
from npu_quant.ops.swiglu_group_quant import reference

FORMATS = ["float8_e5m2", "float8_e4m3fn"]
# The groups' rows are fewer than there are, as many, and more.
FEWER, ALL, MORE = "fewer", "all", "more"


def counts(rows: int, form: str) -> Any:
    """Return the rows of three groups, of which the second has none."""
    behind = {FEWER: -(-rows // 3), ALL: 0, MORE: -7}[form]
    first = (rows - behind) // 2
    return np.array([first, 0, rows - behind - first])


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    mode: int = 0,
    rounds: bool = False,
    to: str = FORMATS[1],
    weighted: bool = False,
    groups: str | None = None,
    limit: float = -1.0,
    origin: bool = True,
) -> Arguments:
    shape = halved(shape)
    rows = shape[:-1]
    # Rows, and blocks of them, are of different sizes.
    x = gated(rng, shape, np.dtype(np.float32)) * np.exp2(rng.integers(-9, 3, (*rows, 1)))
    return {
        "x": x.astype(dtype),
        "weight": rng.uniform(-2, 2, rows).astype(np.float32) if weighted else None,
        "group_index": None if groups is None else counts(int(np.prod(rows)), groups),
        "dst_type": to,
        "quant_mode": mode,
        "round_scale": rounds or mode == 1,
        "clamp_limit": limit,
        "output_origin": origin,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    a = a | {"x": with_specials(rng, a["x"])}
    return a if a["weight"] is None else sprinkle(rng, a, ["weight"])


def widths(rng: Rng, dtype: DType) -> Tries:
    for n, mode, to in itertools.product(HALVES, (0, 1), FORMATS):
        a = arguments(rng, (5, 2 * n), dtype, mode=mode, to=to)
        yield from (a, sprinkled(rng, a))


def powers(rng: Rng) -> Tries:
    """Blocks whose amax is around what a power of two of each scale ends at."""
    tops = np.exp2(np.arange(-13, 14))[:, None] * [0.875, 1.75, 3.5]
    near = tops.reshape(-1, 1) * (1 + np.array([-1, 0, 1]) * 2.0**-10)
    x = np.zeros((near.size, 4), np.float16)
    x[:, 0], x[:, 2] = 32, near.ravel() / 32
    for to, mode in itertools.product(FORMATS, (0, 1)):
        yield arguments(rng, x.shape, FLOAT16, mode=mode, to=to, rounds=True) | {"x": x}


MODES: dict[str, Any] = {"mode": [0, 1], "to": FORMATS}

CASES = [
    Case(
        name="swiglu_group_quant",
        operator=npu_quant.npu_swiglu_group_quant,
        reference=reference,
        fields=("y", "scale", "origin"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=kinds(dtype=[FLOAT16, BFLOAT16], mode=[0, 1]),
        formulas={
            "forms": (
                settings(
                    (7, 12), (2, 3, 520), **MODES, weighted=[False, True], origin=[True, False]
                )
                + settings((5, 600), mode=[0], rounds=[True], to=FORMATS),
                kinds(dtype=[FLOAT16, BFLOAT16]),
            ),
            "groups": settings((23, 70), (2, 5, 300), groups=[FEWER, ALL, MORE], weighted=[True]),
            "limits": settings((9, 64), limit=[0.0, 1e-50, 0.25, 7.0, 1e39]),
            "powers": (powers, {"float16": {}}),
            "widths": (widths, kinds(dtype=[FLOAT16, BFLOAT16])),
            "ranks": settings(*[(2, 1, 3, 1, 2, 2, 8)[7 - r :] for r in range(2, 8)]),
        },
        layouts=[
            *settings((35, 140), (2, 9008), origin=[True]),
            *settings((3, 2, 136), weighted=[True], groups=[FEWER]),
        ],
        outs=settings((3, 5, 144), (70, 520), groups=[FEWER], weighted=[True]),
        guards={"weighted": [False, True]},
        threads=settings(
            (70, 4096),
            dtype=[BFLOAT16],
            mode=[0, 1],
            weighted=[True],
            groups=[None, FEWER],
            origin=[False, True],
        ),
        large=settings((19, 8402), dtype=[FLOAT16], mode=[0, 1]),
        same=assert_same_but_nan,
    )
]
