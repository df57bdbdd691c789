"""Formulas of npu_grouped_matmul_swiglu_quant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import F32, Outputs, Wrong, away, bf16
from .glu import UNITS, amax, divided

OP = "npu_grouped_matmul_swiglu_quant"
ENDS = np.array([30, 30, 80])
Made = tuple[dict[str, Any], Outputs]

# Of the sums, x_scale and weight_scale.
SCALED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda v, x, w: v * x * w,
    "weight_scale first": lambda v, x, w: v * w * x,
    "product of the scales": lambda v, x, w: v * (x * w),
    "weight_scale ignored": lambda v, x, w: v * x,
    "x_scale ignored": lambda v, x, w: v * w,
    "c in bf16": lambda v, x, w: bf16(v * x * w),
}
# Of the numbers in x, which become factors of the weight, and what adds their products up.
TOTALS: dict[str, Callable[[Any, Any], Any]] = {
    "reference": lambda x, total: total(x - 8),
    "halves of x apart": lambda x, total: F32(16) * total(x // 16) + total(x % 16 - 8),
}
RULES: dict[str, Callable[[Any], Outputs]] = {
    "reference": divided,
    "scale amax * (1/127)": lambda o: divided(o, amax(o) * (F32(1) / F32(127))),
    "scale 1 / (127/amax)": lambda o: divided(o, F32(1) / (F32(127) / amax(o))),
    "half away": lambda o: divided(o, round_=away),
}
BENIGN = {"reference", "weight_scale first", "product of the scales", "halves of x apart"}
BENIGN |= {"a * sigmoid(a)", "half away", "scale amax * (1/127)", "scale 1 / (127/amax)"}


def by_experts(multiply: Callable[[int, slice], Any]) -> Any:
    """Return what becomes of the rows of each expert; the second has none."""
    rows = zip((0, *ENDS), ENDS, strict=False)
    return np.concatenate([multiply(e, slice(*own)) for e, own in enumerate(rows)])


def quantized(c: Any, unit: str, rule: str) -> Outputs:
    """Gate rows and make them codes; 10 are behind the last expert's."""
    with np.errstate(all="ignore"):
        y, scale = RULES[rule](UNITS[unit](c[:, :32], c[:, 32:]))
    zeros = np.zeros(10, F32)
    return np.pad(y, ((0, 10), (0, 0))), np.concatenate([scale, zeros]), zeros[0]


def given(weight: Any, around: float) -> tuple[dict[str, Any], Any]:
    """Return arguments, and x as whole numbers."""
    rng = np.random.default_rng(20240607)
    x = rng.integers(-128, 128, (90, 48))
    a = {"x": x.astype(np.int8), "weight": weight, "group_list": ENDS}
    a |= {"weight_scale": F32(rng.uniform(0.5, 2, (3, 64)) * around)}
    return a | {"x_scale": F32(rng.uniform(0.5, 2, 90))}, x


def of_int8(scaled: str = "reference", unit: str = "reference", rule: str = "reference") -> Made:
    weight = np.random.default_rng(3).integers(-128, 128, (3, 48, 64)).astype(np.int8)
    a, x = given(weight, 1e-4)
    whole = weight.astype(int)

    def multiply(e: int, own: slice) -> Any:
        of_rows = a["x_scale"][own, None]
        return SCALED[scaled](F32(x[own] @ whole[e]), of_rows, a["weight_scale"][e])

    return a, quantized(by_experts(multiply), unit, rule)


def of_int4(total: str = "reference", has_bias: bool = True) -> Made:
    """Three groups along k."""
    rng = np.random.default_rng(4)
    whole, shifts = rng.integers(-8, 8, (3, 48, 64)), np.arange(0, 32, 4)
    words = ((whole.reshape(3, 48, 8, 8) & 15) << shifts).sum(-1).astype(np.uint32)
    a, x = given(words.view(np.int32), 1e-3)
    a["weight_scale"] = F32(rng.uniform(0.5, 2, (3, 3, 64)) * 1e-3)
    a["bias"] = F32(rng.standard_normal((3, 64)))

    def multiply(e: int, own: slice) -> Any:
        def added(factors: Any) -> Any:
            sums = F32(0)
            for j in range(3):
                part = slice(16 * j, 16 * j + 16)
                product = factors[:, part] @ whole[e, part]
                sums = sums + F32(product) * a["weight_scale"][e, j]
            return sums

        found = TOTALS[total](x[own], added)
        return (found + a["bias"][e] * F32(has_bias)) * a["x_scale"][own, None]

    return a, quantized(by_experts(multiply), "reference", "reference")


def row(name: str, make: Callable[[], Made], words: str = "int8") -> Wrong:
    return Wrong(OP, name, name in BENIGN, make, words, name not in BENIGN)


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula."""
    for name in SCALED:
        yield row(name, partial(of_int8, scaled=name))
    for name in ("a * sigmoid(a)", "other half activated", "gate of sigmoid"):
        yield row(name, partial(of_int8, unit=name))
    for name in RULES:
        yield row(name, partial(of_int8, rule=name), "int8 rows")
    for name in TOTALS:
        yield row(name, partial(of_int4, total=name), "int4")
    yield row("bias ignored", partial(of_int4, has_bias=False), "int4")
