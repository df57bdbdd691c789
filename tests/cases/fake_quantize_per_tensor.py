"""The fake quantization with one scale: its forms, and its gradient."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
from exhaustive import every
from witnesses import Array, assert_same_but_nan, on_steps, random_patterns

import npu_quant
from cases.case import DTYPES, Arguments, Case, DType, Rng, Tries, kinds, settings
from npu_quant.ops.fake_quantize_per_tensor import reference, reference_backward

FLOAT16, BFLOAT16, _ = DTYPES
OF_SCALES = kinds(dtype=DTYPES, of_scale=DTYPES)
WIDTHS = [1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 4096, 5000]
SHAPES = [(70,), (35, 70), (3, 2, 130), (2, 4500), (2,) * 8]
WIDE = 1 << 20
# zero_point, quant_min, quant_max: odd zero points move the ties.
RANGES = [(0, -128, 127), (3, -128, 127), (128, 0, 255), (101, 0, 255), (-1, -8, 7)]
RANGES += [(7, 1, 255), (12345, -WIDE, WIDE), (-WIDE, -WIDE, WIDE), (5, 5, 5)]
SCALES = [1.0, 0.1, 3e-5, -0.37, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 2e-39, 6e-39, 3e38]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL = ["bool", *INTEGERS, "float16", "bfloat16", "float32", "float64"]
ONE, ZERO = np.ones(1, np.float32), np.zeros(1, np.int32)
# Names in the order of the functions' parameters.
NUMBERS = ("scale", "zero_point", "quant_min", "quant_max")


def of(x: Array, scale: Any = 0.1, range_: tuple[int, int, int] = RANGES[1]) -> Arguments:
    return {"self": x} | dict(zip(NUMBERS, (scale, *range_), strict=True))


def arguments(rng: Rng, shape: tuple[int, ...], dtype: DType) -> Arguments:
    return of(on_steps(rng, shape, dtype))


def widths(rng: Rng, dtype: DType) -> Tries:
    for n, range_ in itertools.product(WIDTHS, RANGES):
        yield of(on_steps(rng, (3, n), dtype, 0.1 if range_[2] < WIDE else 300.0), 0.1, range_)


def scales(rng: Rng, dtype: DType) -> Tries:
    for scale in SCALES:
        x = on_steps(rng, (5, 300), dtype, abs(scale) if 0 < abs(scale) < 1e30 else 1.0)
        yield from (of(x, scale, range_) for range_ in RANGES)


def every_16_bit_pattern(rng: Rng, dtype: DType) -> Tries:
    x = np.arange(65536, dtype=np.uint16).view(dtype)
    for scale, range_ in itertools.product((0.1, 0.0078125, 3.7, -0.3, 1e-5), RANGES):
        yield of(x, scale, range_)


def millions(rng: Rng, dtype: DType) -> Tries:
    """Over the dtypes, 5 * 10^7 values, or an eighth of them."""
    ranges = RANGES[0], RANGES[3], (5, -WIDE, WIDE), (1, -8, 7)
    for scale, range_ in zip((0.1, 0.7, 1e-4, 3), ranges, strict=True):
        yield of(random_patterns(rng, (1024 // every(8), 1 << 12), dtype), scale, range_)


def in_arrays(rng: Rng, shape: tuple[int, ...], dtype: DType, enabled: Array = ONE) -> Arguments:
    a = arguments(rng, shape, dtype)
    a |= {"scale": np.array([0.1], np.float32), "zero_point": np.array([3], np.int32)}
    return a | {"fake_quant_enabled": enabled}


def scales_in_arrays(rng: Rng, dtype: DType, of_scale: DType) -> Tries:
    x = on_steps(rng, (3, 200), dtype)
    scale = np.array([0.1, 0.2]).astype(of_scale)[::-1][1:]
    for value in (0, 3, -(1 << 24), 1 << 24, 70000):
        for zero_point in (np.array(value, np.int32), np.array([[value]], np.int64)):
            yield of(x, scale, (zero_point, -WIDE, WIDE))


def scales_and_switch(rng: Rng, dtype: DType, of_scale: DType) -> Tries:
    for a in scales_in_arrays(rng, dtype, of_scale):
        yield a | {"fake_quant_enabled": ONE}


def switches(rng: Rng) -> Tries:
    x = on_steps(rng, (3, 200), np.dtype(np.float16))
    for name in REAL:
        dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
        for enabled in (np.ones((1, 1), dtype), np.zeros((), dtype), np.ones(3, dtype)[1:2]):
            yield of(x, ONE, (ZERO, -8, 7)) | {"fake_quant_enabled": enabled}


def reference_of_arrays(
    self: Array, scale: Any, zero_point: Any, quant_min: int, quant_max: int, **switch: Array
) -> tuple[Array, Array]:
    numbers = (np.asarray(value).reshape(()) for value in (scale, zero_point))
    return reference(self, *numbers, quant_min, quant_max, **switch)


def gradient(rng: Rng, shape: tuple[int, ...], dtype: DType) -> Arguments:
    return {"grad": on_steps(rng, shape, dtype), "mask": rng.random(shape) < 0.7}


def every_16_bit_gradient(rng: Rng, dtype: DType) -> Tries:
    grad = np.arange(65536, dtype=np.uint16).view(dtype)
    yield from ({"grad": grad, "mask": np.full(65536, m)} for m in (True, False))


CACHEMASK = Case(
    name="fake_quantize_per_tensor-cachemask",
    operator=npu_quant.fake_quantize_per_tensor_affine_cachemask,
    reference=reference,
    fields=("output", "mask"),
    arguments=arguments,
    rows=("self",),
    kinds=kinds(dtype=DTYPES),
    formulas={
        "widths": widths,
        "scales": scales,
        "every 16-bit pattern": (every_16_bit_pattern, kinds(dtype=DTYPES[:2])),
        "millions": millions,
    },
    layouts=settings(*SHAPES),
    outs=settings((3, 5, 70), (2, 4500), (1,)),
    threads=settings((70, 4096), dtype=[BFLOAT16]),
    large=settings((19, 1001), dtype=DTYPES),
    same=assert_same_but_nan,
)
CASES = [
    CACHEMASK,
    replace(
        CACHEMASK,
        name="fake_quantize_per_tensor-plain",
        operator=npu_quant.fake_quantize_per_tensor_affine,
        reference=lambda **a: reference_of_arrays(**a).output,
        fields=(),
        formulas={"widths": widths, "scales in arrays": (scales_in_arrays, OF_SCALES)},
    ),
    replace(
        CACHEMASK,
        name="fake_quantize_per_tensor-qparams",
        operator=npu_quant._fake_quantize_per_tensor_affine_cachemask_tensor_qparams,
        reference=reference_of_arrays,
        arguments=in_arrays,
        formulas={
            "scales and switch": (scales_and_switch, OF_SCALES),
            "switches": (switches, {"float16": {}}),
        },
        layouts=settings(*SHAPES, enabled=[ONE, ZERO]),
        outs=settings((3, 5, 70), enabled=[ONE, ZERO]),
        guards={"enabled": [ONE, ZERO]},
        large=settings((19, 1001), dtype=[FLOAT16], enabled=[ONE, ZERO]),
    ),
    replace(
        CACHEMASK,
        name="fake_quantize_per_tensor-backward",
        operator=npu_quant.fake_quantize_per_tensor_affine_cachemask_backward,
        reference=reference_backward,
        fields=(),
        arguments=gradient,
        rows=("grad", "mask"),
        formulas={
            "widths": settings(*[(3, n) for n in WIDTHS]),
            "every 16-bit pattern": (every_16_bit_gradient, kinds(dtype=DTYPES[:2])),
        },
    ),
]
