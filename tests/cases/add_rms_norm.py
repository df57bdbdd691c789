"""npu_rms_norm and npu_add_rms_norm: a norm as it is, over one axis or several."""

from __future__ import annotations

import itertools

import numpy as np
from witnesses import assert_same_but_nan, normal, with_specials

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
    kinds,
    settings,
    sprinkle,
)
from cases.rms_norm import MEMORY, SHAPES, WIDTHS
from npu_quant.ops import add_rms_norm, rms_norm

# Rows of several axes; the last ones are few elements, or many.
DEEP = [(2, 3, 4), (5, 3, 1, 8), (2, 3, 5, 7, 2), (70, 9, 8), (3, 40, 65), (2, 3, 40, 130)]


def alone(
    rng: Rng, shape: tuple[int, ...], dtype: DType, *, axes: int = 1, gamma: DType | None = None
) -> Arguments:
    """Return arguments of npu_rms_norm; gamma has so many axes."""
    weights = rng.uniform(-2, 2, shape[len(shape) - axes :])
    return {"self": normal(rng, shape, dtype), "gamma": weights.astype(gamma or dtype)}


def added(rng: Rng, shape: tuple[int, ...], dtype: DType, *, axes: int = 1) -> Arguments:
    """Return arguments of npu_add_rms_norm."""
    a = alone(rng, shape, dtype, axes=axes)
    return {"x1": a.pop("self"), "x2": normal(rng, shape, dtype), **a}


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    terms = [name for name in ("self", "x1", "x2") if name in a]
    return sprinkle(rng, a | {name: with_specials(rng, a[name]) for name in terms}, ["gamma"])


def epsilons(rng: Rng, dtype: DType) -> Tries:
    """Try each width with epsilons out of the ordinary, and rows so small that they count."""
    for n, epsilon in itertools.product(WIDTHS, (0.0, 1e-5, 1.0, 1e-50, 1e300, -1e-3, np.nan)):
        a = alone(rng, (9, n), dtype)
        a["self"] = (a["self"] * dtype.type(1e-3)).astype(dtype)
        yield a | {"epsilon": epsilon}


CASES = [
    Case(
        name="rms_norm",
        operator=npu_quant.npu_rms_norm,
        reference=rms_norm.reference,
        fields=("y", "rstd"),
        arguments=alone,
        sprinkled=sprinkled,
        same=assert_same_but_nan,
        rows=("self",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "shapes": settings(*SHAPES, gamma=[None, FLOAT32]),
            "widths": settings(*[(5, n) for n in WIDTHS]),
            "rows in turn": settings(*[(rows, n) for rows in (7, 14) for n in (5, 100, 1100)]),
            "axes": settings(*DEEP, axes=[1, 2, 3]),
            "epsilons": epsilons,
        },
        layouts=[*MEMORY, *settings((4, 3, 2, 35), (3, 40, 65), axes=[2])],
        outs=settings((3, 5, 72), (70, 130), axes=[1, 2]),
        guards={"gamma": [None, FLOAT32]},
        threads=settings((70, 4096), dtype=[BFLOAT16, FLOAT32]),
        large=settings((19, 4001), dtype=DTYPES),
    ),
    Case(
        name="add_rms_norm",
        operator=npu_quant.npu_add_rms_norm,
        reference=add_rms_norm.reference,
        fields=("y", "rstd", "x"),
        arguments=added,
        sprinkled=sprinkled,
        same=assert_same_but_nan,
        rows=("x1", "x2"),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "shapes": settings(*SHAPES),
            "widths": settings(*[(5, n) for n in WIDTHS]),
            "axes": settings(*DEEP, axes=[1, 2, 3]),
        },
        layouts=[*MEMORY, *settings((4, 3, 2, 35), axes=[2])],
        outs=settings((3, 5, 72), (70, 130), axes=[1, 2]),
        guards={"axes": [1]},
        threads=settings((70, 4096), dtype=[FLOAT16]),
        large=settings((19, 4001), dtype=[BFLOAT16]),
    ),
]
