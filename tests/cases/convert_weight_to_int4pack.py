"""npu_convert_weight_to_int4pack: integers of any bits, and floats on and beside the numbers."""

from __future__ import annotations

import numpy as np

import npu_quant
from cases.case import Arguments, Case, Rng, Tries, kinds, settings, sprinkle, whole_elements
from npu_quant._codes import values_of
from npu_quant.ops.convert_weight_to_int4pack import reference

# Around a vector, a tile and a piece, on each target; one element of the result, too.
WIDTHS = [8, 16, 24, 56, 64, 72, 120, 128, 136, 512, 520, 2048, 2056, 4096]


def arguments(rng: Rng, shape: tuple[int, ...], dtype: str = "int32") -> Arguments:
    shape = whole_elements(shape)
    if dtype == "int32":
        return {"weight": rng.integers(-(2**31), 2**31, shape).astype(np.int32)}
    weight = values_of("float4_e2m1")[rng.integers(0, 16, shape)]
    beside = np.where(rng.random(shape) < 0.3, rng.standard_normal(shape), 1)
    return {"weight": (weight * beside).astype(np.float32)}


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return sprinkle(rng, a, ("weight",))


def random_bits(rng: Rng, dtype: str) -> Tries:
    yield {"weight": rng.integers(0, 1 << 32, (1000, 2000), np.uint32).view(dtype)}


def same_bits(results: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...]) -> None:
    """Fail unless the words are the same, of which floats may be NaN of any bits."""
    for result, e in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (e.dtype, e.shape)
        assert np.array_equal(result.view(np.uint32), e.view(np.uint32))


CASES = [
    Case(
        name="convert_weight_to_int4pack",
        may_be_empty=False,
        operator=npu_quant.npu_convert_weight_to_int4pack,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("weight",),
        kinds=kinds(dtype=["int32", "float32"]),
        formulas={
            "widths": settings(*[(3, n) for n in WIDTHS], (2, 3, 40), (5, 1, 8), (1, 7, 24)),
            "random bits": random_bits,
        },
        layouts=settings((35, 72), (2, 4504), (3, 4, 24)),
        outs=settings((3, 5, 72), (40, 1024)),
        threads=settings((70, 2048), (4, 30, 1024), dtype=["int32", "float32"]),
        large=settings((19, 4208)),
        same=same_bits,
    )
]
