"""npu_quantize: scales and zero points that are given."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from witnesses import normal, with_specials

import npu_quant
from cases.case import (
    DTYPES,
    FLOAT32,
    Arguments,
    Case,
    DType,
    Kinds,
    Rng,
    Tries,
    each,
    kinds,
    settings,
    sprinkle,
    whole_elements,
)
from npu_quant.ops.quantize import reference

FLOAT16, BFLOAT16, _ = DTYPES
CODES = [np.dtype(d) for d in (np.int8, np.uint8, np.int32)]
ZEROS = [None, *CODES, *DTYPES]
# Around a vector of 8 or 16 elements, and of 64 bytes, on each target; ragged ends of each.
WIDTHS = [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 1000, 1025, 4096, 7168]
FORMS = ["channel", "one", "0-D", "ones"]
WIDE_RANGES = ("int32", "hifloat8", "float8_e5m2")


def shape_of(form: str, shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Return the shape of a scale or zero point."""
    ranked = tuple(n if a == axis % len(shape) else 1 for a, n in enumerate(shape))
    channel = (shape[axis],)
    return {"channel": channel, "ranked": ranked, "one": (1,), "0-D": (), "ones": (1, 1)}[form]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    to: DType | str,
    *,
    axis: int = -1,
    forms: tuple[str, str] = ("channel", "channel"),
    scales: Any = FLOAT32,
    zeros: Any = CODES[2],
    div_mode: bool = True,
) -> Arguments:
    """Return arguments whose codes are spread over the range of to, and beyond."""
    if to == "int4":
        shape = whole_elements(shape)
    first, second = (shape_of(form, shape, axis) for form in forms)
    magnitude = rng.uniform(-5, 2, first) - (8 if str(to) in WIDE_RANGES else 0)
    values = np.exp(magnitude) * rng.choice([1, -1], first, p=[0.8, 0.2])
    with np.errstate(over="ignore"):
        factors = np.asarray(values if div_mode else 1 / values).astype(scales or dtype)
    zero_points = None
    if zeros is not None:
        low, high = (0, 100) if np.dtype(zeros).itemsize == 1 else (-300, 300)
        exact = np.issubdtype(zeros, np.integer)
        drawn = rng.integers(low, high, second) if exact else rng.uniform(low, high, second)
        zero_points = np.asarray(drawn).astype(zeros)
    return {
        "self": normal(rng, shape, dtype),
        "scales": factors,
        "zero_points": zero_points,
        "dtype": to,
        "axis": axis,
        "div_mode": div_mode,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Return the arguments with special values in every array that holds floats."""
    return sprinkle(rng, a | {"self": with_specials(rng, a["self"])}, ("scales", "zero_points"))


def any_axis(rng: Rng, dtype: DType, to: DType) -> Tries:
    for setting in settings((5, 3, 19), axis=[-1], **MULTIPLIED, **OF_EVERY_DTYPE):
        yield arguments(rng, setting[0], dtype, to, **setting[1]) | {"axis": 1}


def next_to_ties(rng: Rng, to: DType) -> Tries:
    """Each tie of each scale, and the float32 numbers on either side."""
    scales = np.exp(rng.uniform(-3, 3, 500)).astype(np.float32)
    near = ((np.arange(-130, 258)[:, None] + 0.5) * scales).astype(np.float32)
    x = np.concatenate([np.nextafter(near, np.float32(s)) for s in (-1e9, 1e9)] + [near])
    for zeros in (None, np.array(1, np.int32)):
        a = {"self": x, "zero_points": zeros, "dtype": to}
        yield a | {"scales": scales}
        yield a | {"scales": 1 / scales, "div_mode": False}
        yield a | {"scales": scales[:1]}


def every_bit_of_the_quotient(rng: Rng, dtype: DType) -> Tries:
    """From 2**23 on a code in int32 is the quotient itself."""
    x = rng.uniform(1, 2, (200, 1000)).astype(dtype)
    scales = (2.0**-24 / rng.uniform(1, 60, 1000)).astype(np.float32)
    for form, mode in itertools.product((slice(None), slice(1)), (True, False)):
        a = {"self": x, "scales": (scales if mode else 1 / scales)[form], "zero_points": None}
        yield a | {"dtype": "int32", "div_mode": mode}


def scales_of_every_exponent(rng: Rng, dtype: DType) -> Tries:
    """One at a time: each decides how it is divided by. An int32 code shows the last bit."""
    for exponent in range(-149, 128, 3):
        scale = np.ldexp(rng.uniform(1, 2, 1), exponent).astype(dtype)
        with np.errstate(over="ignore"):
            x = (rng.uniform(2.0**20, 2.0**25, (3, 700)) * scale).astype(dtype)
        yield {"self": x, "scales": scale, "zero_points": None, "dtype": "int32"}


def every_16_bit_pattern(rng: Rng, dtype: DType, to: DType) -> Tries:
    """With scales of many kinds."""
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    scales = [1, 0.1, -0.3, 2.0**-24, 1e5, 3e38, 1e-38, 1e-45, 7, np.inf, 0, np.nan]
    zeros = (None, np.array(-3, np.int32))
    for one, zero, mode in itertools.product(np.array(scales, np.float32), zeros, (True, False)):
        yield {"self": x, "scales": one[None], "zero_points": zero, "dtype": to, "div_mode": mode}


def random_quotients(rng: Rng, dtype: DType, to: DType | str) -> Tries:
    """By scales of every exponent, but that most codes are none of the ends."""
    x = rng.integers(0, 1 << 32, (300, 2000), np.uint32).view(np.float32)
    scales = rng.integers(0, 1 << 32, 2000, np.uint32).view(np.float32)
    near = (x.view(np.int32) % (1 << 27) + (scales.view(np.int32) & 0x7F800000)).view(np.float32)
    yield {"self": near, "scales": scales, "zero_points": None, "dtype": to, "axis": 1}


def random_bits(rng: Rng, to: DType, div_mode: bool) -> Tries:
    """Millions of float32 numbers of every exponent, by scales of every exponent."""
    shape = (1500, 2001)
    x = rng.integers(0, 1 << 32, shape, np.uint32).view(np.float32)
    scales = rng.integers(0, 1 << 32, shape[1], np.uint32).view(np.float32)
    exponent = scales.view(np.int32) & 0x7F800000
    near = (x.view(np.int32) % (1 << 26) + exponent).view(np.float32)
    for values in (x, near):
        a = {"self": values, "scales": scales, "zero_points": None, "dtype": to}
        yield a | {"axis": 1, "div_mode": div_mode}


SHAPES = [(3, 2, 1, 4, 1, 2, 3, 5)[8 - rank :] for rank in range(1, 9)]
WIDE = [(2, 3, n) for n in WIDTHS]
DIVIDED: dict[str, Any] = {"forms": list(itertools.product(FORMS, repeat=2))}
MULTIPLIED = {"forms": list(itertools.product([*FORMS, "ranked"], repeat=2)), "div_mode": [False]}
OF_EVERY_DTYPE = {"scales": DTYPES, "zeros": ZEROS}
OF_WIDTHS = {"forms": list(itertools.product(("channel", "one"), repeat=2)), "scales": [None]}
OF_FORMATS: Kinds = {
    "int4": {"dtype": FLOAT16, "to": "int4"},
    "float8_e4m3fn": {"dtype": FLOAT32, "to": "float8_e4m3fn"},
    "float8_e5m2": {"dtype": BFLOAT16, "to": "float8_e5m2"},
    "hifloat8": {"dtype": FLOAT16, "to": "hifloat8"},
}
OF_BFLOAT16 = {"dtype": [BFLOAT16], "to": CODES[:1]}

CASES = [
    Case(
        name="quantize",
        operator=npu_quant.npu_quantize,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("self",),
        kinds=kinds(dtype=DTYPES, to=CODES),
        in_memory=each(dtype=DTYPES, to=CODES),
        formulas={
            "quotients": settings((5, 3, 19), axis=[0, 1, -1], **DIVIDED, **OF_EVERY_DTYPE),
            "products": settings((5, 3, 19), axis=[-1, -2], **MULTIPLIED, **OF_EVERY_DTYPE),
            "products whose axis is the last": any_axis,
            "widths": settings(*WIDE, axis=[0, -1, -2], **OF_WIDTHS),
            "widths of products": settings(*WIDE, axis=[-1, -2], div_mode=[False], **OF_WIDTHS),
            "next to ties": (next_to_ties, kinds(to=CODES)),
            "every bit of the quotient": (every_bit_of_the_quotient, kinds(dtype=DTYPES)),
            "scales of every exponent": (scales_of_every_exponent, kinds(dtype=DTYPES[2:])),
            "every 16-bit pattern": (every_16_bit_pattern, kinds(dtype=DTYPES[:2], to=CODES)),
            "random bits": (random_bits, kinds(to=CODES, div_mode=[True, False])),
        },
        layouts=[
            *settings((35, 70), (3, 2, 130), (2, 4500), (130,), axis=[-1, 0], zeros=ZEROS[1:]),
            *settings((2, 30, 50), axis=[-1, -2], div_mode=[False], forms=[("ranked", "ranked")]),
            *(s for shape in SHAPES for s in settings(shape, axis=range(-len(shape), len(shape)))),
        ],
        outs=settings((3, 5, 70), (200,), (2, 700), axis=[-1, 0]),
        guards={"axis": [0, 1], "forms": [("channel", "channel"), ("one", "one")]},
        threads=[
            *settings((70, 4096), (3, 25, 2001), axis=[1], **OF_BFLOAT16),
            *settings((70, 4096), (150_001,), axis=[0], **OF_BFLOAT16),
        ],
        large=[
            *settings((19, 4201), dtype=[FLOAT16], to=CODES[::2], forms=[("one", "one")]),
            *settings((19, 4201), dtype=[FLOAT16], to=CODES[::2], axis=[-1, -2]),
        ],
    ),
    Case(
        name="quantize to small formats",
        operator=npu_quant.npu_quantize,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("self",),
        kinds=OF_FORMATS,
        formulas={
            "quotients": settings(
                (5, 3, 24), axis=[0, -1], **DIVIDED, scales=DTYPES[1:], zeros=ZEROS[::3]
            ),
            "products": settings(
                (5, 3, 24),
                axis=[-1, -2],
                forms=[("ranked", "one")],
                div_mode=[False],
                zeros=ZEROS[::3],
            ),
            "widths": settings(*WIDE, axis=[0, -1], **OF_WIDTHS),
            "every 16-bit pattern": (
                every_16_bit_pattern,
                {"int4": OF_FORMATS["int4"], "hifloat8": OF_FORMATS["hifloat8"]},
            ),
            "random bits": random_quotients,
        },
        layouts=[
            *settings((35, 72), (3, 2, 136), (2, 4504), (136,), axis=[-1, 0]),
            *(s for shape in SHAPES for s in settings((*shape[:-1], 16), axis=[-1])),
        ],
        outs=settings((3, 5, 72), (200,), (2, 704), axis=[-1, 0]),
        guards={"forms": [("channel", "channel"), ("one", "one")]},
        threads=[
            *settings((70, 4096), axis=[1], dtype=[FLOAT16], to=["int4", "hifloat8"]),
            *settings((150_000,), axis=[0], dtype=[FLOAT16], to=["int4"]),
        ],
        large=settings((19, 4200), forms=[("one", "one")], dtype=[FLOAT16], to=["int4"]),
    ),
]
