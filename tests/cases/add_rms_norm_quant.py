"""npu_add_rms_norm_quant: a sum, its norm, and codes of that by one scale or two."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from exhaustive import every
from witnesses import Array, assert_same_but_nan, normal, with_specials

import npu_quant
from cases.case import (
    DTYPES,
    Arguments,
    Case,
    DType,
    Rng,
    Tries,
    kinds,
    settings,
    sprinkle,
    whole_elements,
)
from npu_quant.ops.add_rms_norm_quant import reference

FLOAT16, BFLOAT16, _ = DTYPES
# Around a vector, the 64 lanes of the sum, and what may be a tile; ragged ends of each.
WIDTHS = [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 511, 1000, 1025, 4096, 5003, 7168]
FORMS = ["gamma", "last", "ones", "one", "0-D"]
OF_X = "of x"
PARAMETERS = ("gamma", "beta", "scales1", "scales2", "zero_points1", "zero_points2")


def spread(rng: Rng, shape: tuple[int, ...], form: str) -> tuple[int, ...]:
    """Return the shape a scale or zero point has in a form, for gamma of a shape."""
    ones = (1,) * int(rng.integers(1, 6)) + shape[-1:]
    plain = {"gamma": shape, "last": shape[-1:], "one": (1,), "0-D": (), "eight": (1,) * 8}
    return ones if form == "ones" else plain[form]


def scale(rng: Rng, shape: tuple[int, ...], dtype: Any, div_mode: bool) -> Array:
    """Return scales of either sign that spread the codes of a normal row over int8 and beyond."""
    values = np.exp(rng.uniform(-5.5, -2, shape)) * rng.choice([1, -1], shape, p=[0.8, 0.2])
    return np.asarray(values if div_mode else 1 / values).astype(dtype)


def zero_point(rng: Rng, shape: tuple[int, ...], dtype: Any) -> Array | None:
    """Return zero points: whole ones of int32, others of a float type; none where dtype is None."""
    if dtype is None:
        return None
    values = rng.integers(-60, 60, shape) if dtype == np.int32 else rng.uniform(-60, 60, shape)
    return np.asarray(values).astype(dtype)


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    rank: int = 1,
    forms: tuple[str, str] = ("gamma", "gamma"),
    scales: Any = np.float32,
    zeros: Any = np.int32,
    div_mode: bool = True,
    beta: bool = True,
    second: bool = True,
    to: str | None = None,
) -> Arguments:
    """Return arguments; the second output has other dtypes and forms than the first."""
    if to == "int4":
        shape = whole_elements(shape)
    gamma = shape[len(shape) - rank :]
    first, other = (spread(rng, gamma, f) for f in forms)
    return {
        "x1": normal(rng, shape, dtype),
        "x2": normal(rng, shape, dtype),
        "gamma": rng.uniform(-2, 2, gamma).astype(dtype),
        "scales1": scale(rng, first, dtype if scales == OF_X else scales, div_mode),
        "zero_points1": zero_point(rng, other, dtype if zeros == OF_X else zeros),
        "beta": rng.uniform(-1, 1, gamma).astype(dtype) if beta else None,
        "scales2": scale(rng, other, dtype, div_mode) if second else None,
        "zero_points2": zero_point(rng, first, np.float32) if second else None,
        "div_mode": div_mode,
        "dst_type": to,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Return the arguments with special values in every array that holds floats."""
    a = a | {"x1": with_specials(rng, a["x1"]), "x2": with_specials(rng, a["x2"])}
    return sprinkle(rng, a, PARAMETERS)


def widths(rng: Rng, dtype: DType) -> Tries:
    choices = itertools.product((True, False), (True, False), (None, np.int32, dtype))
    for n, (i, (div_mode, beta, zeros)) in itertools.product(WIDTHS, list(enumerate(choices))):
        forms = FORMS[i % 5], FORMS[i // 5 % 5]
        a = arguments(rng, (5, n), dtype, div_mode=div_mode, beta=beta, zeros=zeros, forms=forms)
        yield from (a, sprinkled(rng, a))


def rows_in_turn(rng: Rng, dtype: DType) -> Tries:
    """Four rows, fewer and more; whole tiles and ends; scales that no multiplication stands for."""
    for rows, n in itertools.product([*range(1, 10), 13], [7, 31, 33, 64, 100, 1024, 1100]):
        a = arguments(rng, (rows, n), dtype, beta=rows % 2 == 0, second=n < 1024)
        hard = rng.choice([0.0, -0.0, 1e-40, 2.0**-60, 2.0**120, np.inf], n)
        some = np.where(rng.random(n) < 0.01, hard, a["scales1"]).astype(np.float32)
        yield from (a, sprinkled(rng, a), a | {"scales1": some})


def every_bit_of_the_norm(rng: Rng, dtype: DType) -> Tries:
    """Quotients of 2**23, less 2**23: a code steps with the last bit of t."""
    for n, div_mode, beta in itertools.product(WIDTHS, (True, False), (False, True)):
        a = arguments(rng, (1, n), dtype, beta=beta, second=False, div_mode=div_mode)
        s = a["x1"].astype(np.float64) + a["x2"].astype(np.float64)
        t = s / np.sqrt((s * s).mean() + 1e-6) * a["gamma"].astype(np.float64)
        t = t[0] + (a["beta"].astype(np.float64) if beta else 0)
        with np.errstate(divide="ignore"):
            scales = t / 2**23 if div_mode else 2**23 / t
        a["scales1"] = scales.astype(np.float32)
        a["zero_points1"] = np.array(-(2**23), np.int32)
        yield from (a, a | {name: np.repeat(a[name], 7, axis=0) for name in ("x1", "x2")})


def next_to_ties(rng: Rng) -> Tries:
    """t is x where x is tiny and epsilon 1; then each quotient's neighbours of a tie."""
    scales = rng.uniform(2.0**-22, 2.0**-21, 500).astype(np.float32)
    near = ((np.arange(-130, 130)[:, None] + 0.5) * scales).astype(np.float32)
    x = np.concatenate([np.nextafter(near, np.float32(s)) for s in (-1, 1)] + [near])
    zeros = (None, np.array(1, np.int32))
    for (mode, factors), zero in itertools.product(((True, scales), (False, 1 / scales)), zeros):
        a = {"x1": x, "x2": 0 * x, "gamma": np.ones(500, np.float32), "scales1": factors}
        yield a | {"zero_points1": zero, "epsilon": 1.0, "div_mode": mode}


def random_bits(rng: Rng, dtype: DType, div_mode: bool) -> Tries:
    """Every array of random bits: numbers of every exponent."""
    a = arguments(rng, (200, 1001), dtype, zeros=np.float32, div_mode=div_mode)
    for name in PARAMETERS:
        patterns = rng.integers(0, 1 << 8 * a[name].itemsize, a[name].shape)
        yield a | {name: patterns.astype(f"u{a[name].itemsize}").view(a[name].dtype)}


MODES = {"div_mode": [True, False]}
FLAGS = {**MODES, "beta": [True, False], "second": [True, False]}
RANKS = [(rank, gamma) for rank in range(1, 9) for gamma in range(1, rank + 1)]
OF_RANKS = [("gamma", "ones"), ("last", "0-D")]
OF_LAYOUTS = {"forms": [("gamma", "last")], "zeros": [OF_X]}

CASES = [
    Case(
        name="add_rms_norm_quant",
        operator=npu_quant.npu_add_rms_norm_quant,
        reference=reference,
        fields=("y1", "y2", "x"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x1", "x2"),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "combinations": settings(
                *[(3, 7, 11)],
                rank=[2],
                forms=list(itertools.product(FORMS, FORMS)),
                scales=[np.float32, OF_X],
                zeros=[None, np.int32, np.float32, OF_X],
                **FLAGS,
            ),
            "widths": widths,
            "rows in turn": rows_in_turn,
            "every bit of the norm": every_bit_of_the_norm,
            "next to ties": (next_to_ties, {"float32": {}}),
            "random bits": (random_bits, kinds(dtype=DTYPES, **MODES)),
            "millions": settings((700 // every(8), 4096), **MODES, beta=[False, True]),
            "one long row": settings((1, 1_000_003), forms=[("one", "gamma")]),
            "long rows": settings((2, 700, 501), rank=[2], forms=[("last", "gamma")]),
        },
        layouts=[
            *settings((35, 70), (2, 4500), **OF_LAYOUTS),
            *settings((3, 2, 130), rank=[2], **OF_LAYOUTS),
            *settings((2, 5), forms=[("eight", "eight")]),
            *(
                setting
                for rank, gamma in RANKS
                for setting in settings((2,) * (rank - 1) + (5,), rank=[gamma], forms=OF_RANKS)
            ),
        ],
        outs=settings((3, 5, 70)),
        guards={"second": [True, False], "forms": [("gamma", "last"), ("one", "0-D")]},
        threads=[
            *settings((70, 4096), (2, 75_001), dtype=[BFLOAT16]),
            *settings((3, 25, 1001), dtype=[BFLOAT16], rank=[2]),
        ],
        large=settings((19, 4000), (19, 4001), (11, 1088), dtype=[FLOAT16, BFLOAT16]),
        same=assert_same_but_nan,
    ),
    Case(
        name="add_rms_norm_quant to small formats",
        operator=npu_quant.npu_add_rms_norm_quant,
        reference=reference,
        fields=("y1", "y2", "x"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x1", "x2"),
        kinds={
            "int4": {"dtype": FLOAT16, "to": "int4"},
            "float8_e4m3fn": {"dtype": DTYPES[2], "to": "float8_e4m3fn"},
            "float8_e5m2": {"dtype": BFLOAT16, "to": "float8_e5m2"},
            "hifloat8": {"dtype": FLOAT16, "to": "hifloat8"},
        },
        formulas={
            "combinations": settings(
                (3, 7, 8), (5, 24), rank=[1, 2], zeros=[None, np.int32], **FLAGS
            ),
            "widths": settings(*[(5, n) for n in WIDTHS], forms=[("gamma", "one")], **MODES),
        },
        layouts=[
            *settings((35, 72), (2, 4504), **OF_LAYOUTS),
            *settings((3, 2, 136), (2, 3, 2, 8), rank=[2, 3], **OF_LAYOUTS),
        ],
        outs=settings((3, 5, 72), rank=[1, 3]),
        guards={"second": [True, False]},
        threads=settings((70, 4096), dtype=[BFLOAT16], to=["int4"], second=[False]),
        large=settings((19, 4000), dtype=[FLOAT16], to=["int4"], second=[False]),
        same=assert_same_but_nan,
    ),
]
