"""The fake quantization with a scale per channel: its forms, and its gradient."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from witnesses import Array, assert_same_but_nan, on_steps, random_patterns

import npu_quant
from cases import fake_quantize_per_tensor as per_tensor
from cases.case import DTYPES, Arguments, Case, DType, Rng, Tries, each, kinds, settings
from npu_quant.ops.fake_quantize_per_channel import reference

WIDE = 1 << 20
RANGES = [(-128, 127), (0, 255), (-8, 7), (1, 255), (-WIDE, WIDE), (5, 5)]
ZEROS = [np.dtype(d) for d in (np.int32, np.float32, np.float16)]
BFLOAT16 = DTYPES[1]
SPECIAL = [1.0, -0.37, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 2e-39, 6e-39, 3e38]
SHAPES = [(70,), (35, 70), (3, 1, 65), (4, 3, 2, 33), (2, 3, 1, 5, 17), (1, 1), (2,) * 8]


def channels(rng: Rng, n: int, zeros: DType, quant_min: int, quant_max: int) -> tuple[Array, Array]:
    """Return scales and zero points; of the latter floats are halves, zeros and others."""
    scale = np.exp(rng.uniform(-4, 2, n)).astype(np.float32)
    if zeros == np.int32:
        return scale, rng.integers(quant_min, quant_max + 1, n).astype(zeros)
    zero_point = rng.uniform(max(quant_min, -2000), min(quant_max, 2000), n)
    halves = np.rint(zero_point * 2) / 2
    zero_point = np.where(rng.random(n) < 0.5, halves, zero_point).astype(zeros)
    zero_point[rng.random(n) < 0.2] = -0.0
    return scale, zero_point


def along(values: Array, axis: int, rank: int) -> Array:
    """Shape values of channels so that they broadcast."""
    shape = [1] * rank
    shape[axis] = -1
    return values.reshape(shape)


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    zeros: DType,
    axis: int = -1,
    range_: tuple[int, int] = RANGES[0],
) -> Arguments:
    scale, zero_point = channels(rng, shape[axis], zeros, *range_)
    x = on_steps(rng, shape, dtype, along(scale, axis, len(shape)))
    a = {"self": x, "scale": scale, "zero_point": zero_point, "axis": axis}
    return a | dict(zip(("quant_min", "quant_max"), range_, strict=True))


def widths(rng: Rng, dtype: DType, zeros: DType) -> Tries:
    for n, range_ in itertools.product(per_tensor.WIDTHS, RANGES):
        for shape, axis in (((3, n), 0), ((3, n), 1), ((n, 3), 0)):
            yield arguments(rng, shape, dtype, zeros, axis, range_)


def scales(rng: Rng, dtype: DType, zeros: DType) -> Tries:
    scale = np.array(SPECIAL, np.float32)
    for range_ in RANGES:
        for shape, axis in (((len(scale), 70), 0), ((70, len(scale)), 1)):
            a = arguments(rng, shape, dtype, zeros, axis, range_)
            yield a | {"scale": scale, "self": on_steps(rng, shape, dtype)}


def every_16_bit_pattern(rng: Rng, dtype: DType, zeros: DType) -> Tries:
    x = np.repeat(np.arange(65536, dtype=np.uint16)[None], 7, axis=0).view(dtype)
    for range_ in RANGES:
        a = arguments(rng, (7, 1), dtype, zeros, 0, range_)
        yield from (a | {"self": x}, a | {"self": np.ascontiguousarray(x.T), "axis": 1})


def millions(rng: Rng, dtype: DType, zeros: DType) -> Tries:
    for range_, axis in itertools.product([(-128, 127), (0, 255), (-WIDE, WIDE)], (0, 1)):
        a = arguments(rng, (1, 1 << 10), dtype, zeros, 1, range_)
        yield a | {"self": random_patterns(rng, (1 << 10, 1 << 10), dtype), "axis": axis}


CACHEMASK = Case(
    name="fake_quantize_per_channel-cachemask",
    operator=npu_quant.fake_quantize_per_channel_affine_cachemask,
    reference=reference,
    fields=("output", "mask"),
    arguments=arguments,
    rows=("self",),
    kinds=kinds(dtype=DTYPES, zeros=ZEROS),
    in_memory=each(dtype=DTYPES, zeros=ZEROS),
    formulas={
        "widths": widths,
        "scales": scales,
        "every 16-bit pattern": (every_16_bit_pattern, kinds(dtype=DTYPES[:2], zeros=ZEROS)),
        "millions": millions,
    },
    layouts=[s for shape in SHAPES for s in settings(shape, axis=range(-len(shape), len(shape)))],
    outs=[
        *settings((3, 5, 70), (3, 4500), axis=[1]),
        *settings((4500, 3), axis=[0]),
    ],
    guards={"axis": [0, 1]},
    threads=[
        *settings((70, 4096), (2, 35, 2000), dtype=[BFLOAT16], zeros=ZEROS, axis=[1]),
        *settings((3, 100_001), dtype=[BFLOAT16], zeros=ZEROS, axis=[0]),
    ],
    large=[
        *settings((19, 1001), dtype=DTYPES, zeros=ZEROS[:1], axis=[-2]),
        *settings((1903, 10), dtype=DTYPES, zeros=ZEROS[:1], axis=[-1]),
        *settings((19, 1001), dtype=DTYPES, zeros=ZEROS[1:2], axis=[-1]),
        *settings((3, 6001), dtype=DTYPES, zeros=ZEROS[2:], axis=[-2]),
    ],
    same=assert_same_but_nan,
)
CASES = [
    CACHEMASK,
    replace(
        CACHEMASK,
        name="fake_quantize_per_channel-plain",
        operator=npu_quant.fake_quantize_per_channel_affine,
        reference=lambda **a: reference(**a).output,
        fields=(),
        formulas={"widths": widths},
        threads=CACHEMASK.threads[:1],
        large=CACHEMASK.large[:1],
    ),
    replace(
        per_tensor.CASES[-1],
        name="fake_quantize_per_channel-backward",
        operator=npu_quant.fake_quantize_per_channel_affine_cachemask_backward,
    ),
]
