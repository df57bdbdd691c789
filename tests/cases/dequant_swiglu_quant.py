"""npu_dequant_swiglu_quant: sums and floats, all modes, formats, roundings and groups."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import npu_quant
from cases.case import BFLOAT16, FLOAT16, Arguments, Case, DType, Rng, Tries, kinds, settings
from cases.swiglu import HALVES, halved
from cases.swiglu_quant import EACH, NONE, ONE, PLAIN, gated, lengths, parameter
from cases.swiglu_quant import sprinkled as sprinkled_floats
from npu_quant.ops.dequant_swiglu_quant import reference

INT32, FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)
BIASES = [None, INT32, FLOAT32, FLOAT16, BFLOAT16]
FLOAT8 = ["float8_e4m3fn", "float8_e5m2"]
FLOAT4 = ["float4_e2m1", "float4_e1m2"]
FORMATS = ["int8", "hifloat8", *FLOAT8, *FLOAT4]


def sums(
    rng: Rng, shape: tuple[int, ...], groups: int, activated: bool, bias: DType | None
) -> Arguments:
    """Return sums that scales bring near 1, and what dequantizes them."""
    of = (groups, shape[-1])
    magnitude = np.exp(rng.uniform(2, 14, (*shape[:-1], 1)))
    x = np.rint(rng.standard_normal(shape) * magnitude).astype(np.int32)
    weight_scale = np.exp(rng.uniform(-3, 1, of)).astype(np.float32)
    activation_scale = (2 / magnitude[..., 0]).astype(np.float32)
    if not activated:
        weight_scale *= np.float32(1e-4)
    added = rng.standard_normal(of) * (1 if bias != INT32 else 100)
    return {
        "x": x,
        "weight_scale": weight_scale,
        "activation_scale": activation_scale if activated else None,
        "bias": None if bias is None else added.astype(bias),
    }


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    mode: int = 1,
    form: str = NONE,
    groups: int = 0,
    left: bool = True,
    bias: DType | None = None,
    activated: bool = True,
    to: str | None = None,
    rounding: int | None = None,
    swiglu: int = 0,
    **attributes: float,
) -> Arguments:
    shape = halved(shape, 4 if to in FLOAT4 else 2)
    own, rows, width = max(1, groups), int(np.prod(shape[:-1])), shape[-1] // 2
    is_sum = dtype == INT32
    a = sums(rng, shape, own, activated, bias) if is_sum else {"x": gated(rng, shape, dtype)}
    scale = parameter(rng, form, own, width)
    offset = None
    if mode == 0 and scale is not None:
        scale *= np.float32(0.05)
        offset = (rng.integers(-40, 40, scale.shape) / 2).astype(np.float32)
    return (
        a
        | attributes
        | {
            "quant_scale": scale,
            "quant_offset": offset,
            "group_index": lengths(rng, rows, own).astype(np.int64) if groups else None,
            "activate_left": left,
            "quant_mode": mode,
            "dst_type": to,
            "round_mode": 1 if to == "hifloat8" else rounding,
            "swiglu_mode": swiglu,
        }
    )


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Put special values among floats; sums get the ends of int32 and rows of zeros."""
    if a["x"].dtype != INT32:
        renamed = a | {"smooth_scales": a["quant_scale"]}
        renamed = sprinkled_floats(rng, renamed)
        return {n: v for n, v in renamed.items() if n != "smooth_scales"} | {
            "quant_scale": renamed["smooth_scales"]
        }
    x = a["x"].copy()
    if x.size:
        flat = x.reshape(-1)
        some = rng.integers(flat.size, size=max(1, flat.size // 16))
        flat[some] = rng.choice([0, -(2**31), 2**31 - 1, 2**24 + 1], len(some))
        rows = x.reshape(-1, x.shape[-1])
        rows[rng.integers(len(rows))] = 0
    return a | {"x": x}


def widths(rng: Rng, dtype: DType) -> Tries:
    for n, mode, swiglu in itertools.product(HALVES, (0, 1), (0, 1, 2)):
        a = arguments(rng, (5, 2 * n), dtype, mode=mode, form=PLAIN, swiglu=swiglu)
        yield from (a, sprinkled(rng, a))


def ties(rng: Rng) -> Tries:
    """Steps of float4 and their halves, of which o is the sum, by every rounding."""
    steps = np.arange(-32, 32, dtype=np.float32) / 8
    for to, rounding in itertools.product(FLOAT4, range(5)):
        a = arguments(rng, (3, 128), FLOAT16, mode=0, to=to, rounding=rounding)
        yield a | {"x": np.zeros((3, 128), np.float16), "quant_offset": rng.permutation(steps)}


MODES = {"swiglu": [0, 1, 2], "mode": [0, 1]}
FORMS: dict[str, Any] = {"form": [NONE, ONE, EACH, PLAIN], "left": [True, False]}
GROUPED = {"groups": [1, 2, 9], "form": [NONE, ONE, EACH]}
LIMITS: dict[str, Any] = {"clamp_limit": [1e-3, 3.3], "glu_alpha": [-1.5, 0.0], "glu_bias": [0.0]}

OF_ALL: dict[str, Any] = {
    "operator": npu_quant.npu_dequant_swiglu_quant,
    "reference": reference,
    "fields": ("y", "scale"),
    "arguments": arguments,
    "sprinkled": sprinkled,
    "outs": settings((3, 5, 144), (70, 260), to=[None, "float4_e1m2"], form=[EACH], groups=[2]),
    "guards": {"to": [None, "float4_e2m1", "hifloat8"], "swiglu": [0, 1]},
}
OF_EACH: dict[str, Any] = {
    "forms": settings((7, 12), (2, 3, 40), **FORMS, **MODES),
    "groups": settings((23, 70), (2, 5, 8), **GROUPED, **MODES),
}

CASES = [
    Case(
        name="dequant_swiglu_quant",
        rows=("x", "activation_scale"),
        kinds=kinds(dtype=[INT32], mode=[0, 1]),
        formulas={name: (trial, kinds(dtype=[INT32])) for name, trial in OF_EACH.items()}
        | {
            "biases": (
                settings((5, 34), bias=BIASES, groups=[0, 1, 3], activated=[True, False], **MODES),
                kinds(dtype=[INT32]),
            ),
            "widths": (widths, kinds(dtype=[INT32])),
        },
        layouts=settings((35, 140), (2, 9008), bias=[FLOAT16], swiglu=[0, 1]),
        threads=settings((70, 4096), dtype=[INT32], form=[NONE, EACH], groups=[0, 4]),
        large=settings((19, 8402), dtype=[INT32]),
        **OF_ALL,
    ),
    Case(
        name="dequant_swiglu_quant of floats",
        rows=("x",),
        kinds=kinds(dtype=[FLOAT16, BFLOAT16], mode=[0, 1]),
        formulas={
            name: (trial, kinds(dtype=[FLOAT16, BFLOAT16])) for name, trial in OF_EACH.items()
        }
        | {
            "limits": settings((9, 64), swiglu=[1, 2], **LIMITS),
            "formats": settings((3, 8), (2, 5, 200), (9, 2056), to=FORMATS, form=[EACH]),
            "roundings": settings((9, 264), to=FLOAT4, rounding=range(5), form=[NONE, PLAIN]),
            "ties": (ties, {"float16": {}}),
            "widths": (widths, kinds(dtype=[FLOAT16])),
            "ranks": settings(*[(2, 1, 3, 1, 2, 1, 2, 8)[8 - r :] for r in range(2, 9)]),
        },
        layouts=settings((3, 2, 136), form=[EACH, ONE], groups=[3], to=["float4_e2m1", None]),
        threads=settings((70, 4096), dtype=[BFLOAT16], mode=[0, 1], swiglu=[1, 2]),
        large=settings((19, 8402), dtype=[FLOAT16], mode=[0, 1]),
        **OF_ALL,
    ),
]
