"""quantize_val and dequantize_val on arrays, and the quantizers that do it per channel."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
from exhaustive import every
from witnesses import Array, assert_same_but_nan, on_steps, random_patterns

import npu_quant
from cases.case import DTYPES, Arguments, Case, DType, Rng, Tries, each, kinds, settings
from cases.fake_quantize_per_tensor import SCALES, SHAPES, WIDTHS
from npu_quant.ops.quantize_val_functions import reference, reference_dequantize

TYPES = {"qint8": np.int8, "quint8": np.uint8, "qint32": np.int32}
LIMITS = {name: (np.iinfo(t).min, np.iinfo(t).max) for name, t in TYPES.items()}
# Odd zero points move the ties; 12345678 is at the end of float32's integers.
ZERO_POINTS = {
    "qint8": [0, 3, -128, 127],
    "quint8": [0, 101, 128, 255],
    "qint32": [0, 3, -12345678, 2**31 - 1, -(2**31)],
}
BACK = kinds(name=TYPES)
BFLOAT16 = DTYPES[1]
# Of channels.
SCALES_OF_CHANNELS = np.array([0.1, 1.0, 0.5, -0.37, 3e-5, 2.7, np.inf, 0.0, np.nan])
ZERO_POINTS_OF_CHANNELS = np.array([0, 1, 3, 101, 127, 2, 5, 7, 9])


def codes(rng: Rng, shape: tuple[int, ...], name: str) -> Array:
    """Return codes of any size, the least and the greatest included."""
    low, high = LIMITS[name]
    q = rng.integers(low, high, shape, TYPES[name], endpoint=True)
    if name == "qint32":
        q >>= rng.integers(0, 32, shape, np.int32)
    q.reshape(-1)[: q.size // 8] = low
    q.reshape(-1)[-(q.size // 8) :] = high
    return rng.permuted(q)


def arguments(rng: Rng, shape: tuple[int, ...], dtype: DType, name: str) -> Arguments:
    x = on_steps(rng, shape, dtype)
    return {"scale": 0.1, "zero_point": 3, "value": x, "scalar_type": name}


def widths(rng: Rng, dtype: DType, name: str) -> Tries:
    for n, zero_point in itertools.product(WIDTHS, ZERO_POINTS[name]):
        x = on_steps(rng, (3, n), dtype, 0.1 if name != "qint32" else 3e6)
        yield {"scale": 0.1, "zero_point": zero_point, "value": x, "scalar_type": name}


def scales(rng: Rng, dtype: DType, name: str) -> Tries:
    for scale, zero_point in itertools.product(SCALES, ZERO_POINTS[name]):
        x = on_steps(rng, (5, 300), dtype, abs(scale) if 0 < abs(scale) < 1e30 else 1.0)
        yield {"scale": scale, "zero_point": zero_point, "value": x, "scalar_type": name}


def every_16_bit_pattern(rng: Rng, dtype: DType, name: str) -> Tries:
    x = np.arange(65536, dtype=np.uint16).view(dtype)
    for scale, zero_point in itertools.product(
        (0.1, 0.0078125, 3.7, -0.3, 1e-5), ZERO_POINTS[name]
    ):
        yield {"scale": scale, "zero_point": zero_point, "value": x, "scalar_type": name}


def millions(rng: Rng, dtype: DType) -> Tries:
    for scale, zero_point, name in [(0.1, 0, "qint8"), (0.7, 101, "quint8"), (1e-4, 5, "qint32")]:
        x = random_patterns(rng, (1024 // every(8), 1 << 12), dtype)
        yield {"scale": scale, "zero_point": zero_point, "value": x, "scalar_type": name}


def back(rng: Rng, shape: tuple[int, ...], name: str) -> Arguments:
    return {"scale": 0.1, "zero_point": 3, "value": codes(rng, shape, name)}


def back_of_widths(rng: Rng, name: str) -> Tries:
    for n, zero_point in itertools.product(WIDTHS, ZERO_POINTS[name]):
        yield back(rng, (3, n), name) | {"zero_point": zero_point}


def back_by_scales(rng: Rng, name: str) -> Tries:
    for scale, zero_point in itertools.product(SCALES, ZERO_POINTS[name]):
        yield back(rng, (5, 300), name) | {"scale": scale, "zero_point": zero_point}


def every_code(rng: Rng, name: str) -> Tries:
    q = np.arange(256, dtype=np.uint8).view(TYPES[name])
    for scale in (0.1, *SCALES, *rng.standard_normal(50)):
        for zero_point in ZERO_POINTS[name]:
            yield {"scale": scale, "zero_point": zero_point, "value": q}


QUANTIZE = Case(
    name="quantize_val",
    operator=npu_quant.quantize_val,
    reference=reference,
    arguments=arguments,
    rows=("value",),
    kinds=kinds(dtype=DTYPES, name=TYPES),
    in_memory=each(dtype=DTYPES, name=TYPES),
    formulas={
        "widths": widths,
        "scales": scales,
        "every 16-bit pattern": (every_16_bit_pattern, kinds(dtype=DTYPES[:2], name=TYPES)),
        "millions": (millions, kinds(dtype=DTYPES)),
    },
    layouts=settings(*SHAPES),
    outs=settings((3, 5, 70), (2, 4500), (1,)),
    threads=settings((70, 4096), dtype=[BFLOAT16], name=TYPES),
    large=settings((19, 1001), dtype=DTYPES, name=TYPES),
)
DEQUANTIZE = replace(
    QUANTIZE,
    name="quantize_val-dequantize",
    operator=npu_quant.dequantize_val,
    reference=reference_dequantize,
    arguments=back,
    kinds=BACK,
    in_memory=BACK,
    formulas={
        "widths": back_of_widths,
        "scales": back_by_scales,
        "every code": (every_code, kinds(name=["qint8", "quint8"])),
    },
    threads=settings((70, 4096), name=TYPES),
    large=settings((19, 1001), name=TYPES),
    same=assert_same_but_nan,
)


def per_channel(
    rng: Rng, shape: tuple[int, ...], dtype: DType, name: str, axis: int = -1
) -> Arguments:
    n = shape[axis]
    parameters = np.resize(SCALES_OF_CHANNELS, n), np.resize(ZERO_POINTS_OF_CHANNELS, n)
    a = dict(zip(("scales", "zero_points"), parameters, strict=True))
    return a | {"axis": axis, "scalar_type": name, "x": on_steps(rng, shape, dtype)}


def back_per_channel(rng: Rng, shape: tuple[int, ...], name: str, axis: int = -1) -> Arguments:
    a = per_channel(rng, shape, DTYPES[0], name, axis)
    return a | {"x": codes(rng, shape, name)}


def quantizer(name: str) -> Any:
    """Return a function that makes a quantizer and calls a method of it."""

    def call(*, x: Array, out: Array | None = None, **parameters: Any) -> Any:
        made = npu_quant.PerChannelAffineQuantizer(**parameters)
        return getattr(made, name)(x, out=out)

    return call


def along(a: Arguments) -> tuple[Array, Array]:
    """Return scales and zero points, to be broadcast."""
    shape = [1] * a["x"].ndim
    shape[a["axis"]] = -1
    return a["scales"].reshape(shape), a["zero_points"].reshape(shape)


def reference_back(**a: Any) -> Array:
    with np.errstate(invalid="ignore"):
        return reference_dequantize(*along(a), a["x"])


# And which of its axes has channels.
SHAPES_OF_CHANNELS = [((9,), 0), ((70,), -1), ((5, 70), 1), ((5, 70), 0), ((5, 70), -2)]
SHAPES_OF_CHANNELS += [((3, 20, 130), 1), ((2, 4500), 1), ((300, 1), 1), ((2,) * 8, 3)]
SHAPES_OF_CHANNELS += [((9, 1, 3), 0), ((4, 7, 33), -1)]
CHANNELS = [(shape, {"axis": axis}) for shape, axis in SHAPES_OF_CHANNELS]

PER_CHANNEL = replace(
    QUANTIZE,
    name="quantizer-quantize",
    operator=quantizer("quantize"),
    reference=lambda **a: reference(*along(a), a["x"], a["scalar_type"]),
    arguments=per_channel,
    rows=("x",),
    formulas={"shapes": CHANNELS},
    layouts=settings((6, 5, 70), axis=[0, 1, 2]),
    outs=settings((6, 5, 70), axis=[0, 1, 2]),
    guards={"axis": [0, 1]},
    threads=settings((201, 1100), axis=[0, 1], dtype=DTYPES[2:], name=TYPES),
    large=settings((19, 1101), axis=[-2, -1], dtype=DTYPES[2:], name=TYPES),
)
CASES = [
    QUANTIZE,
    DEQUANTIZE,
    PER_CHANNEL,
    replace(
        PER_CHANNEL,
        name="quantizer-dequantize",
        operator=quantizer("dequantize"),
        reference=reference_back,
        arguments=back_per_channel,
        kinds=BACK,
        in_memory=BACK,
        formulas={"shapes": CHANNELS},
        threads=settings((201, 1100), axis=[0, 1], name=TYPES),
        large=settings((19, 1101), axis=[-2, -1], name=TYPES),
        same=assert_same_but_nan,
    ),
]
