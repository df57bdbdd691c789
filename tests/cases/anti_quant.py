"""npu_anti_quant: codes back to numbers."""

from __future__ import annotations

import numpy as np
from witnesses import assert_same_but_nan

import npu_quant
from cases.case import (
    DTYPES,
    FLOAT32,
    SPECIALS,
    Arguments,
    Case,
    DType,
    Rng,
    Tries,
    kinds,
    settings,
    sprinkle,
)
from npu_quant._codes import row_of
from npu_quant.ops.anti_quant import reference

FLOAT16, BFLOAT16, _ = DTYPES
RESULTS = DTYPES[:2]
SCALES = [FLOAT32, BFLOAT16]
# Around a vector of 8 or 16 elements, and of 64 bytes, on each target; ragged ends of each.
WIDTHS = [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 1000, 1025, 4096, 7168]
FORMS = ["one", "ones", "column", "row", "ranked column", "ranked row"]
EVERY_CODE = np.arange(-128, 128, dtype=np.int8)


def shape_of(form: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a scale: one per column lies along the last axis, per row before it."""
    shape = tuple(n or 1 for n in shape)  # of an empty axis there is one scale
    axis = {"column": -1, "row": -2}.get(form.rpartition(" ")[2])
    if axis is None or -axis > len(shape):
        return (1,) if form == "one" else (1,) * len(shape)
    if form.startswith("ranked"):
        return tuple(n if a == axis % len(shape) else 1 for a, n in enumerate(shape))
    return (shape[axis],)


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    to: DType,
    *,
    codes: str = "int8",
    form: str = "column",
    scales: DType = FLOAT32,
    offsets: bool = True,
) -> Arguments:
    """Return arguments whose results are spread over the range of float16, and beyond."""
    where = shape_of(form, (*shape[:-1], shape[-1] * 8) if codes == "int4" else shape)
    scale = np.exp(rng.uniform(-22, 9, where)) * rng.choice([1, -1], where, p=[0.8, 0.2])
    offset = rng.choice([0, 3, 0.3, 1000], where) * rng.standard_normal(where)
    carrier = row_of(codes).carrier
    return {
        "x": rng.integers(0, 256, (*shape, carrier.itemsize), np.uint8).view(carrier)[..., 0],
        "scale": scale.astype(scales),
        "offset": offset.astype(scales) if offsets else None,
        "dst_dtype": to,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Return the arguments with special values among scales and offsets, unless there is one."""
    values = [*SPECIALS, -3e-39, 3.4e38, 1e-30]
    return sprinkle(rng, a, ("scale", "offset"), values, every=8)


def every_code_by_every_bfloat16(rng: Rng, to: DType) -> Tries:
    """All 256 codes, all 65,536 scales; without an offset, which is one sum with 0."""
    x = np.broadcast_to(EVERY_CODE, (1 << 16, 256))
    yield {"x": x, "scale": np.arange(1 << 16, dtype=np.uint16).view(BFLOAT16), "dst_dtype": to}


def every_code_by_many(rng: Rng, to: DType) -> Tries:
    """Float32 patterns of every exponent, offsets of the codes' size and of any."""
    scale = rng.integers(0, 1 << 32, 4096, np.uint32).view(np.float32)
    near = rng.uniform(-300, 300, 4096).astype(np.float32)
    a = {"x": np.broadcast_to(EVERY_CODE, (4096, 256)), "scale": scale, "dst_dtype": to}
    for offset in (near, np.rint(near), rng.permuted(scale)):
        yield a | {"offset": offset}


def random_bits(rng: Rng, to: DType) -> Tries:
    """Every code a scale of its own, of every exponent or of those of a float16's."""
    n = 1 << 20
    x = rng.integers(-128, 128, n, np.int8)
    patterns = rng.integers(0, 1 << 32, n, np.uint32)
    near = (patterns & 0x87FFFFFF | 0x30000000).view(np.float32)
    for scale in (patterns.view(np.float32), near):
        a = {"x": x, "scale": scale, "dst_dtype": to}
        yield from (a, a | {"offset": rng.permuted(near)})


CASES = [
    Case(
        name="anti_quant",
        operator=npu_quant.npu_anti_quant,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=kinds(to=RESULTS),
        formulas={
            "combinations": settings(
                *[(19,), (3, 19), (5, 3, 19), (2, 5, 3, 1), (4, 4)],
                form=FORMS,
                scales=SCALES,
                offsets=[True, False],
            ),
            "widths": settings(
                *[(2, 3, n) for n in WIDTHS],
                form=["one", "column", "ranked column", "row"],
                offsets=[True, False],
            ),
            "every code by every bfloat16": every_code_by_every_bfloat16,
            "every code by many": every_code_by_many,
            "random bits": random_bits,
        },
        layouts=[
            *settings((35, 70), (3, 2, 130), (2, 4500), (130,), form=FORMS[2:], scales=SCALES),
            *settings(*[(3, 2, 1, 4, 1, 2, 3, 5)[8 - rank :] for rank in range(1, 9)], form=FORMS),
        ],
        outs=settings((3, 5, 70), (200,), (2, 700), (300, 6), form=FORMS),
        guards={"form": ["one", "column", "row"]},
        threads=settings(
            *[(70, 4096), (150_001,), (3, 25, 2001)],
            form=["one", "column", "row"],
            to=[BFLOAT16],
        ),
        large=settings((19, 4201), to=RESULTS, form=["one", "column", "row"]),
        same=assert_same_but_nan,
    ),
    Case(
        name="anti_quant of small formats",
        operator=npu_quant.npu_anti_quant,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds={
            "int4": {"codes": "int4", "to": FLOAT16},
            "float8_e4m3fn": {"codes": "float8_e4m3fn", "to": FLOAT16},
            "float8_e5m2": {"codes": "float8_e5m2", "to": BFLOAT16},
            "hifloat8": {"codes": "hifloat8", "to": FLOAT16},
        },
        formulas={
            "combinations": settings(
                (19,), (5, 3, 19), (2, 5, 3, 1), (4, 4), form=FORMS, offsets=[True, False]
            ),
            "widths": settings(
                *[(2, 3, n) for n in WIDTHS], form=["one", "column", "row"], offsets=[True, False]
            ),
        },
        layouts=[
            *settings((35, 70), (3, 2, 130), (2, 4500), (130,), form=FORMS[2:]),
            *settings(
                *[(3, 2, 1, 4, 1, 2, 3, 5)[8 - rank :] for rank in range(1, 9)], form=FORMS[:3]
            ),
        ],
        outs=settings((3, 5, 70), (200,), (2, 700), form=FORMS[2:4]),
        guards={"form": ["one", "column"]},
        threads=[
            *settings((70, 1024), (100_001,), to=[FLOAT16], codes=["int4"]),
            *settings((3, 25, 2001), to=[FLOAT16], codes=["hifloat8"]),
        ],
        large=settings((19, 1001), to=[BFLOAT16], codes=["int4"], form=["one", "column"]),
        same=assert_same_but_nan,
    ),
]
