"""npu_dynamic_quant, npu_dynamic_quant_asymmetric: scales of rows, of columns, of everything."""

from __future__ import annotations

import itertools

import numpy as np
from exhaustive import every
from witnesses import normal, random_patterns, with_specials

import npu_quant
from cases.case import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    Arguments,
    Case,
    DType,
    Rng,
    Tries,
    kinds,
    settings,
)
from npu_quant.ops import dynamic_quant_asymmetric
from npu_quant.ops.dynamic_quant import reference

SHAPES = [(1, 1), (1, 16), (3, 4), (7, 63), (5, 64), (5, 65), (9, 127), (4, 300), (3, 5000)]
SHAPES += [(33, 2049), (2, 9000), (1, 70_001)]
RANKS = [(2,) * (rank - 1) + (70,) for rank in range(2, 9)]


# Columns and rows shorter than a vector, and longer than a chunk that is read again from the cache.
MODES = ("pertensor", "perchannel")
FORMATS = ("int4", "float8_e4m3fn", "float8_e5m2", "hifloat8")
EIGHTS = [(3, 8), (70, 72), (2, 5, 200), (9, 2056)]
IN_MODES = [(1, 1), (3, 4), (200, 3), (3, 200), (2, 3, 129), (70, 66), (2, 5, 7), (260, 1030)]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    smooth: bool = False,
    mode: str = "pertoken",
    experts: int = 0,
    to: str = "",
) -> Arguments:
    a = {"input": normal(rng, shape, dtype)}
    if mode != "pertoken":
        a["quant_mode"] = mode
    if to:
        a["dst_type"] = to
    n = shape[-2] if mode == "perchannel" else shape[-1]
    if experts:
        rows = int(np.prod(shape[:-1]))
        ends = [*rng.integers(0, rows, experts - 1), rows]  # some experts have no rows
        groups = {"group_index": np.sort(ends).astype(np.int32)}
        return a | {"smooth_scales": normal(rng, (experts, n), dtype)} | groups
    return a | {"smooth_scales": normal(rng, (n,), dtype)} if smooth else a


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return a | {"input": with_specials(rng, a["input"])}


def of_one_sign(rng: Rng, dtype: DType) -> Tries:
    """Zero lies outside the range of some groups; others hold one value alone."""
    for mode, offset in itertools.product(("pertoken", *MODES), (-9, -3, 0, 0.5, 7, 3000)):
        x = np.abs(normal(rng, (9, 300), np.dtype(np.float32)))
        x[rng.integers(9)] = 0
        x[:, rng.integers(300)] = 0
        yield {"input": (x + offset).astype(dtype), "quant_mode": mode}


def a_hundred_million(rng: Rng, dtype: DType) -> Tries:
    """Over the dtypes, 1.2 * 10^8 values, or an eighth of them."""
    for i in range(10):
        a = {"input": random_patterns(rng, (1024 // every(8), 1 << 12), dtype)}
        yield a | {"smooth_scales": normal(rng, (1 << 12,), dtype)} if i % 2 else a


def patterns(rng: Rng, dtype: DType) -> Tries:
    """All exponents at once in some groups, a few of them in others."""
    for mode in ("pertoken", *MODES):
        for bits in (0xFFFF, 0x83FF, 0x3FF):
            x = random_patterns(rng, (64, 1 << 12), dtype)
            if dtype.itemsize == 2:
                x = (x.view(np.uint16) & bits | 0x3000).view(dtype)
            yield {"input": x, "quant_mode": mode}


CASES = [
    Case(
        name="dynamic_quant",
        operator=npu_quant.npu_dynamic_quant,
        reference=reference,
        fields=("y", "scale"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("input",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "shapes": settings(*SHAPES, smooth=[False, True]),
            "modes": settings(*IN_MODES, smooth=[False, True], mode=MODES),
            "experts": settings(
                (7, 63), (2, 50, 9), mode=("pertoken", "pertensor"), experts=(1, 6)
            ),
            "formats": settings(*EIGHTS, to=FORMATS, mode=MODES),
            "a hundred million": a_hundred_million,
        },
        layouts=[
            *settings((5, 70), (3, 2, 130), (40, 700), (2, 9001), smooth=[False, True]),
            *settings((5, 70), (3, 2, 130), smooth=[False, True], mode=MODES),
            *settings(*RANKS, *(shape[::-1] for shape in RANKS)),
        ],
        outs=[
            *settings((3, 5, 70), smooth=[False, True]),
            *settings((3, 5, 70), mode=MODES),
        ],
        guards={"smooth": [False, True]},
        threads=[
            *settings((70, 4096), dtype=[BFLOAT16], smooth=[False, True]),
            *settings((70, 4096), dtype=[BFLOAT16], mode=MODES),
            *settings((70, 4096), dtype=[BFLOAT16], mode=["pertensor"], experts=[7]),
        ],
        large=settings((19, 4001), dtype=[FLOAT16], smooth=[False, True]),
    ),
    Case(
        name="dynamic_quant_asymmetric",
        operator=npu_quant.npu_dynamic_quant_asymmetric,
        reference=dynamic_quant_asymmetric.reference,
        fields=("y", "scale", "offset"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("input",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "shapes": settings(*SHAPES, smooth=[False, True]),
            "modes": settings(*IN_MODES, smooth=[False, True], mode=MODES),
            "experts": settings(
                (7, 63), (2, 50, 9), mode=("pertoken", "pertensor"), experts=(1, 6)
            ),
            "formats": settings(
                *EIGHTS, to=FORMATS, smooth=[False, True], mode=("pertoken", *MODES)
            ),
            "one sign": of_one_sign,
            "patterns": patterns,
        },
        layouts=[
            *settings((5, 70), (40, 700), (2, 9001), smooth=[False, True]),
            *settings((5, 70), (3, 2, 130), mode=MODES),
            *settings((5, 72), to=["int4"], mode=("pertoken", *MODES)),
        ],
        outs=[
            *settings((3, 5, 70), smooth=[False, True]),
            *settings((3, 5, 70), mode=MODES),
            *settings((3, 5, 72), to=["int4", "float8_e5m2"], mode=("pertoken", *MODES)),
        ],
        guards={"smooth": [False, True]},
        threads=settings((70, 4096), dtype=[BFLOAT16], mode=("pertoken", *MODES)),
        large=settings((19, 4001), dtype=[FLOAT16]),
    ),
]
