"""npu_dynamic_quant: a scale per row."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from witnesses import normal, random_patterns, with_specials

import npu_quant
from cases.case import BFLOAT16, DTYPES, FLOAT16, GUARDED, Arguments, Case, kinds, settings
from npu_quant.ops.dynamic_quant import reference

KINDS = kinds(dtype=DTYPES)
SHAPES = [(1, 1), (1, 16), (3, 4), (7, 63), (5, 64), (5, 65), (9, 127), (4, 300), (3, 5000)]
SHAPES += [(33, 2049)]


def arguments(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, smooth: bool = False
) -> Arguments:
    a = {"input": normal(rng, shape, dtype)}
    return a | {"smooth_scales": normal(rng, shape[-1:], dtype)} if smooth else a


def sprinkled(rng: np.random.Generator, a: Arguments) -> Arguments:
    return a | {"input": with_specials(rng, a["input"])}


def shapes(rng: np.random.Generator, dtype: np.dtype) -> Iterator[Arguments]:
    for shape, smooth in itertools.product(SHAPES, (False, True)):
        a = arguments(rng, shape, dtype, smooth)
        yield from (a, sprinkled(rng, a))


def ranks(rng: np.random.Generator, dtype: np.dtype) -> Iterator[Arguments]:
    for rank in range(2, 9):
        a = arguments(rng, (2,) * (rank - 1) + (70,), dtype)
        yield from (a, {"input": a["input"].T})


def a_hundred_million(rng: np.random.Generator, dtype: np.dtype) -> Iterator[Arguments]:
    """Over the dtypes, 1.2 * 10^8 values."""
    for i in range(10):
        x = random_patterns(rng, (1 << 10, 1 << 12), dtype)
        smooth = {"smooth_scales": normal(rng, x.shape[-1:], dtype)} if i % 2 else {}
        yield {"input": x} | smooth


CASES = [
    Case(
        name="dynamic_quant",
        operator=npu_quant.npu_dynamic_quant,
        reference=reference,
        fields=("y", "scale"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("input",),
        kinds=KINDS,
        formulas=[(shapes, KINDS), (ranks, KINDS), (a_hundred_million, KINDS)],
        layouts=settings((5, 70), (3, 2, 130), (2, 4500), smooth=[False, True]),
        outs=settings((3, 5, 70), smooth=[False, True]),
        guards=settings(*GUARDED),
        threads=settings((1500, 4096), dtype=[BFLOAT16], smooth=[False, True]),
        large=settings((1009, 4000), dtype=[FLOAT16]),
    )
]
