"""npu_dequant_bias: sums of every size, with scales and a bias, or without."""

from __future__ import annotations

from typing import Any

import numpy as np
from witnesses import assert_same_but_nan

import npu_quant
from cases.case import (
    BFLOAT16,
    DTYPES,
    FLOAT32,
    SPECIALS,
    Arguments,
    Case,
    DType,
    Rng,
    Tries,
    each,
    kinds,
    settings,
    sprinkle,
)
from npu_quant.ops.dequant_bias import reference

RESULTS = DTYPES[:2]
SCALES = [FLOAT32, BFLOAT16]
BIASES = [None, np.dtype(np.int32), *DTYPES]
# Around a vector of 4, 8 or 16 elements, and of 64 bytes, on each target; ragged ends of each.
WIDTHS = [1, 2, 7, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 1025, 4096]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    to: DType,
    bias: DType | None = FLOAT32,
    scales: DType = FLOAT32,
    activations: bool = True,
) -> Arguments:
    """Return arguments whose results are spread over the range of float16, and beyond; some sums
    have more bits than float32, some wrap around."""
    m, n = shape
    bits = rng.integers(0, 32, shape)
    x = (rng.integers(-(2**31), 2**31, shape) >> bits).astype(np.int32)
    weights = np.exp(rng.uniform(-20, 2, n)) * rng.choice([1, -1], n, p=[0.8, 0.2])
    offsets: Any = rng.integers(-(2**31), 2**31, n) >> rng.integers(0, 32, n)
    if bias is not None and bias.kind != "i":
        offsets = rng.standard_normal(n) * 100
    return {
        "x": x,
        "weight_scale": weights.astype(scales),
        "activation_scale": np.exp(rng.uniform(-3, 3, m)).astype(FLOAT32) if activations else None,
        "bias": None if bias is None else offsets.astype(bias),
        "output_dtype": to,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Return the arguments with special values among scales and biases."""
    a = sprinkle(rng, a, ("bias",), every=8)
    extremes = [*SPECIALS, -3e-39, 3.3e38, 1e-30]
    return sprinkle(rng, a, ("weight_scale", "activation_scale"), extremes, every=8)


def every_step_rounds(rng: Rng, to: DType) -> Tries:
    """Float32 patterns near each other, so that every bit of each step shows after the sum."""
    x = rng.integers(2**24, 2**31, (40, 2000)).astype(np.int32)
    weights, activations = rng.uniform(1, 2, 2000), rng.uniform(1, 2, 40)
    a = {"x": x, "weight_scale": weights.astype(FLOAT32), "output_dtype": to}
    a |= {"activation_scale": activations.astype(FLOAT32)}
    near = -(x[0] * weights * activations[0]).astype(FLOAT32)
    yield from (a | {"bias": near}, a | {"bias": -x[0]}, a | {"bias": None})


def random_bits(rng: Rng, to: DType) -> Tries:
    """Scales and biases of every exponent, integers of all bits."""
    x = rng.integers(-(2**31), 2**31, (100, 3001)).astype(np.int32)
    patterns = rng.integers(0, 1 << 32, (2, 3001), np.uint32).view(FLOAT32)
    rows = rng.integers(0, 1 << 32, 100, np.uint32).view(FLOAT32)
    a = {"x": x, "weight_scale": patterns[0], "activation_scale": rows, "output_dtype": to}
    yield from (a | {"bias": bias} for bias in (patterns[1], x[0], None))


CASES = [
    Case(
        name="dequant_bias",
        operator=npu_quant.npu_dequant_bias,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x", "activation_scale"),
        kinds=kinds(to=RESULTS, bias=BIASES),
        in_memory=each(to=RESULTS, bias=BIASES[1:3]),
        formulas={
            "combinations": settings(
                (5, 19), (19, 5), (1, 200), scales=SCALES, activations=[True, False]
            ),
            "widths": settings(*[(6, n) for n in WIDTHS], activations=[True, False]),
            "every step rounds": (every_step_rounds, kinds(to=RESULTS)),
            "random bits": (random_bits, kinds(to=RESULTS)),
        },
        layouts=settings((35, 70), (200, 24), (2, 4500), (130, 1)),
        outs=settings((5, 70), (70, 130), (2, 700)),
        threads=settings((70, 4096), (2, 100_001), (9000, 24), to=[BFLOAT16], bias=BIASES[:3]),
        large=settings((19, 4201), to=RESULTS, bias=BIASES[1:3]),
        stacks=False,
        same=assert_same_but_nan,
    )
]
