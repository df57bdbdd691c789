"""The operators that quantize an RMS norm of x: by scales, or each row by a scale of its own."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from witnesses import normal, with_specials

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
    sprinkle,
    whole_elements,
)
from npu_quant.ops import rms_norm_dynamic_quant, rms_norm_quant, rms_norm_quant_v2

# Around a vector, the 64 lanes of the sum, a piece of the second pass, and what L1 takes of a row.
WIDTHS = [1, 2, 15, 31, 32, 33, 63, 64, 65, 127, 300, 511, 513, 1000, 2049, 4096, 8192, 8264]
FORMATS = ("int4", "float8_e4m3fn", "float8_e5m2", "hifloat8")
ONE, EACH = "one", "each"


def weights(rng: Rng, n: int, dtype: DType, beta: bool, leading: bool) -> Arguments:
    """Return gamma and beta, with an axis of one before theirs or without."""
    shape = (1, n) if leading else (n,)
    return {
        "gamma": rng.uniform(-2, 2, shape).astype(dtype),
        "beta": rng.uniform(-1, 1, (n,)).astype(dtype) if beta else None,
    }


def scaled(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    forms: tuple[str, str] = (EACH, EACH),
    offset: Any = np.int32,
    beta: bool = True,
    leading: bool = False,
    to: str | None = None,
) -> Arguments:
    """Return arguments of npu_rms_norm_quant; scales are of either sign."""
    shape = whole_elements(shape) if to == "int4" else shape
    n = shape[-1]
    of_scale, of_offset = ((1,) if form == ONE else (n,) for form in forms)
    scale = np.exp(rng.uniform(-5.5, -2, of_scale)) * rng.choice([1, -1], of_scale, p=[0.8, 0.2])
    return {
        "x": normal(rng, shape, dtype),
        **weights(rng, n, dtype, beta, leading),
        "scale": scale.astype(dtype if offset == "x" else np.float32),
        "offset": rng.integers(-60, 60, of_offset).astype(dtype if offset == "x" else offset),
        "dst_dtype": to,
    }


def scaled_v2(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    div_mode: bool = True,
    offset: Any = np.int32,
    **more: Any,
) -> Arguments:
    """Return the same for the second version, which may lack some."""
    a = scaled(rng, shape, dtype, offset=np.int8 if offset is None else offset, **more)
    a["scale"] = a["scale"] if div_mode else (1 / a["scale"]).astype(a["scale"].dtype)
    a["offset"] = None if offset is None else a["offset"]
    return a | {"div_mode": div_mode}


def dynamic(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    smooth: bool = False,
    beta: bool = False,
    leading: bool = False,
) -> Arguments:
    """Return arguments of npu_rms_norm_dynamic_quant."""
    n = shape[-1]
    factors = np.exp(rng.uniform(-1, 1, (1, n) if leading else (n,))).astype(dtype)
    a = {"x": normal(rng, shape, dtype), "smooth_scale": factors if smooth else None}
    return a | weights(rng, n, dtype, beta, leading)


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    a = a | {"x": with_specials(rng, a["x"])}
    names = ("gamma", "beta", "scale", "offset", "smooth_scale")
    return sprinkle(rng, a, [name for name in names if a.get(name) is not None])


def widths_of(arguments: Any, sprinkled: Any = sprinkled, **choices: Any) -> Any:
    """Try each width with each combination of choices."""

    def tries(rng: Rng, dtype: DType) -> Tries:
        for n, values in itertools.product(WIDTHS, itertools.product(*choices.values())):
            a = arguments(rng, (5, n), dtype, **dict(zip(choices, values, strict=True)))
            yield from (a, sprinkled(rng, a))

    return tries


SHAPES = [(1, 1), (7,), (70,), (3, 4), (33, 8), (9, 127), (2, 3, 40), (70, 300), (2, 9000)]
MEMORY = settings((5, 70), (3, 2, 130), (40, 704), (2, 9001))
OF_FORMATS = settings((3, 8), (3, 72), (2, 5, 200), (9, 2056), to=FORMATS)
FORMS = [(ONE, ONE), (ONE, EACH), (EACH, ONE), (EACH, EACH)]

SCALED: Any = {
    "sprinkled": sprinkled,
    "rows": ("x",),
    "kinds": kinds(dtype=DTYPES),
    "layouts": MEMORY,
    "outs": settings((3, 5, 72), (70, 130), to=[None, "int4"]),
    "guards": {"to": [None, "hifloat8"]},
    "threads": settings((70, 4096), dtype=[BFLOAT16], to=[None, "int4"]),
    "large": settings((19, 4001), dtype=[FLOAT16]),
}

CASES = [
    Case(
        name="rms_norm_quant",
        operator=npu_quant.npu_rms_norm_quant,
        reference=rms_norm_quant.reference,
        arguments=scaled,
        formulas={
            "shapes": settings(*SHAPES, forms=FORMS, offset=[np.int8, np.int32, np.float32, "x"]),
            "widths": widths_of(scaled, forms=FORMS[:2], leading=[False, True]),
            "formats": OF_FORMATS,
        },
        **SCALED,
    ),
    Case(
        name="rms_norm_quant_v2",
        operator=npu_quant.npu_rms_norm_quant_v2,
        reference=rms_norm_quant_v2.reference,
        fields=("y", "rstd"),
        arguments=scaled_v2,
        formulas={
            "shapes": settings(*SHAPES, div_mode=[True, False], beta=[True, False]),
            "widths": widths_of(scaled_v2, div_mode=[True, False], offset=[None, np.int32]),
            "rows in turn": settings(*[(rows, n) for rows in (7, 14) for n in (5, 100, 1100)]),
            "formats": OF_FORMATS,
        },
        **SCALED,
    ),
    Case(
        name="rms_norm_dynamic_quant",
        operator=npu_quant.npu_rms_norm_dynamic_quant,
        reference=rms_norm_dynamic_quant.reference,
        fields=("y", "scale"),
        arguments=dynamic,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "shapes": settings(*SHAPES, smooth=[False, True], beta=[False, True]),
            "widths": widths_of(dynamic, smooth=[False, True], leading=[False, True]),
        },
        layouts=settings((5, 70), (3, 2, 130), (40, 704), (2, 9001), smooth=[False, True]),
        outs=settings((3, 5, 72), (70, 130), smooth=[True]),
        guards={"smooth": [False, True]},
        threads=settings((70, 4096), dtype=[BFLOAT16], smooth=[False, True]),
        large=settings((19, 4001), dtype=[FLOAT16], smooth=[True]),
    ),
]
