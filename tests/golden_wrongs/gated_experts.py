"""Formulas of npu_grouped_matmul_swiglu_quant, and of its second version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from . import F32, Outputs, Wrong, away, bf16, f16
from .glu import UNITS, amax, divided
from .grouped_products import packed, pieces

OP, SECOND = "npu_grouped_matmul_swiglu_quant", "npu_grouped_matmul_swiglu_quant_v2"
E4M3 = ml_dtypes.float8_e4m3fn
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
    "halves of x in fp16": lambda x, total: (
        F32(16) * F32(total(x // 16, f16)) + F32(total(x % 16 - 8, f16))
    ),
    "rounded once": lambda x, total: F32(total(x - 8, np.float64)),
}
RULES: dict[str, Callable[[Any], Outputs]] = {
    "reference": divided,
    "scale amax * (1/127)": lambda o: divided(o, amax(o) * (F32(1) / F32(127))),
    "scale 1 / (127/amax)": lambda o: divided(o, F32(1) / (F32(127) / amax(o))),
    "half away": lambda o: divided(o, round_=away),
}
# Of o and smooth_scale.
SMOOTHED: dict[str, Callable[[Any, Any], Any]] = {
    "reference": lambda o, p: o * p,
    "smooth_scale ignored": lambda o, p: o,
    "divided by smooth_scale": lambda o, p: o / p,
}
# Of a group_list that is wrongly read: how it is meant, it, and the ends that it is read as.
LISTS: dict[str, tuple[int, Any, Any]] = {
    "group_list as counts": (0, ENDS, np.array([30, 60, 80])),
    "group_list as ends": (1, np.array([30, 20, 30]), np.array([30, 30, 40])),
    "first weight for all": (0, ENDS, np.array([80, 80, 80])),
}
BENIGN = {"reference", "weight_scale first", "product of the scales", "halves of x apart"}
BENIGN |= {"rounded once", "one k after another", "16 k at a time", "round_mode"}
BENIGN |= {"a * sigmoid(a)", "half away", "scale amax * (1/127)", "scale 1 / (127/amax)"}


def by_experts(multiply: Callable[[int, slice], Any], ends: Any = ENDS) -> Any:
    """Return what becomes of the rows of each expert; the second has none. 80 rows are theirs."""
    rows = zip((0, *ends), ends, strict=False)
    made = np.concatenate([multiply(e, slice(*own)) for e, own in enumerate(rows)])
    return np.pad(made, ((0, 80 - len(made)), (0, 0)))


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
    whole = rng.integers(-8, 8, (3, 48, 64))
    a, x = given(packed(whole), 1e-3)
    a["weight_scale"] = F32(rng.uniform(0.5, 2, (3, 3, 64)) * 1e-3)
    a["bias"] = F32(rng.standard_normal((3, 64)))

    def multiply(e: int, own: slice) -> Any:
        def added(factors: Any, kind: Any = F32) -> Any:
            sums = kind(np.zeros((len(factors), 64)))
            for j in range(3):
                part = slice(16 * j, 16 * j + 16)
                product = F32(factors[:, part] @ whole[e, part]).astype(sums.dtype)
                sums = kind(sums + kind(product * a["weight_scale"][e, j]))
            return sums

        found = TOTALS[total](x[own], added)
        return (found + a["bias"][e] * F32(has_bias)) * a["x_scale"][own, None]

    return a, quantized(by_experts(multiply), "reference", "reference")


def second(a: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the arguments of the second version for those of the first."""
    own = {name: [a[name]] for name in ("weight", "weight_scale")}
    if "bias" in a:
        own["weight_assist_matrix"] = [a["bias"]]
    return {n: v for n, v in a.items() if n != "bias"} | own | more


def of_second(make: Callable[[], Made]) -> Made:
    a, made = make()
    return second(a), made[:2]


def of_lists(name: str) -> Made:
    """Products of int8 by a list that is read otherwise."""
    kind, group_list, ends = LISTS[name]
    weight = np.random.default_rng(3).integers(-128, 128, (3, 48, 64))
    a, x = given(weight.astype(np.int8), 1e-4)

    def multiply(e: int, own: slice) -> Any:
        return F32(x[own] @ weight[e]) * a["x_scale"][own, None] * a["weight_scale"][e]

    made = quantized(by_experts(multiply, ends), "reference", "reference")
    return second(a, group_list=group_list, group_list_type=kind), tuple(
        map(np.nan_to_num, made[:2])
    )


def of_smooth(name: str) -> Made:
    """Products of int4 by int4, with a factor for each column."""
    whole = np.random.default_rng(4).integers(-8, 8, (3, 48, 64))
    a, x = given(packed(whole), 1e-2)
    x = x >> 4
    smooth = F32(np.random.default_rng(5).uniform(0.5, 2, (3, 32)))

    def multiply(e: int, own: slice) -> Any:
        c = F32(x[own] @ whole[e]) * a["x_scale"][own, None] * a["weight_scale"][e]
        return SMOOTHED[name](UNITS["reference"](c[:, :32], c[:, 32:]), smooth[e])

    y, scale = divided(by_experts(multiply))
    made = np.pad(y, ((0, 10), (0, 0))), np.pad(scale, (0, 10))
    return second(a, x=packed(x), smooth_scale=smooth), made


def cut(q: Any) -> Any:
    """Return codes of float8_e4m3fn that are not beyond numbers."""
    near = q.astype(E4M3)
    is_beyond = np.abs(F32(near)) > np.abs(q)
    return (near.view(np.uint8) - is_beyond).astype(np.uint8).view(E4M3)


def floor_log2(amax: Any) -> Any:
    return np.frexp(amax)[1] - 1


# Of the greatest number of a block: its exponent.
RULES_OF_MX: dict[str, Callable[[Any], Any]] = {
    "scale nearest": lambda amax: np.rint(np.log2(amax)) - 8,
    "scale rceil": lambda amax: np.ceil(np.log2(amax.astype(float) / 448)),
    "scale ceil": lambda amax: np.ceil(np.log2(amax.astype(float))) - 8,
    "emax ignored": floor_log2,
}
# Of numbers over their power of two: codes.
CODES: dict[str, Callable[[Any], Any]] = {
    "reference": lambda q: np.clip(q, -448, 448).astype(E4M3),
    "truncation": lambda q: cut(np.clip(q, -448, 448)),
    "no saturation": lambda q: q.astype(E4M3),
    "bf16 quotient": lambda q: np.clip(bf16(q), -448, 448).astype(E4M3),
}
SUMS = {"one k after another": 1, "16 k at a time": 16, "rounded once": 1000}


def of_mx(name: str, add: Any = None) -> Made:
    """Blocks of 32 columns, the last of 16; of k three, the last of 6."""
    rng = np.random.default_rng(6)
    x, weight = (F32(rng.standard_normal(s)).astype(E4M3) for s in ((90, 70), (3, 70, 96)))
    rows = rng.integers(124, 129, (90, 2, 2), np.uint8)
    columns = rng.integers(124, 129, (3, 2, 96, 2), np.uint8)
    left = F32(x) * np.repeat(2.0 ** (rows.reshape(90, 4) - 127.0), 32, 1)[:, :70]
    powers = 2.0 ** (columns.swapaxes(2, 3).reshape(3, 4, 96) - 127.0)
    right = F32(weight) * np.repeat(powers, 32, 1)[:, :70]
    unit = UNITS[name if name in UNITS else "reference"]

    def multiply(e: int, own: slice) -> Any:
        by = add or partial(pieces, size=SUMS.get(name, 32))
        c = by(left[own], right[e])
        c = bf16(c) if name == "c in bf16" else c
        return unit(c[:, :48], c[:, 48:])

    o = np.pad(by_experts(multiply), ((0, 0), (0, 16))).reshape(80, 2, 32)
    greatest = np.abs(o).max(2)
    exponent = RULES_OF_MX.get(name, lambda amax: floor_log2(amax) - 8)(greatest)
    q = F32(o * 2.0 ** -exponent[..., None])
    y = CODES.get(name, CODES["reference"])(q).reshape(80, 64)[:, :48]
    bytes_ = np.pad(exponent + 127, ((0, 10), (0, 0))).astype(np.uint8).reshape(90, 1, 2)
    a = {"x": x, "weight": [weight], "weight_scale": [columns], "x_scale": rows}
    a |= {"group_list": ENDS, "dequant_mode": 2, "quant_mode": 2, "quant_dtype": "float8_e4m3fn"}
    return a, (np.concatenate([y, np.zeros((10, 48), E4M3)]), bytes_)


def row(name: str, make: Callable[[], Made], words: str = "int8", op: str = OP) -> Wrong:
    return Wrong(op, name, name in BENIGN, make, words, name not in BENIGN)


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
    yield from wrongs_of_second()


def wrongs_of_second() -> Iterator[Wrong]:
    """Return those of the second version, where they are no others than the first one's."""
    yield row("c in bf16", partial(of_second, partial(of_int8, scaled="c in bf16")), op=SECOND)
    name = "halves of x in fp16"
    yield row(name, partial(of_second, partial(of_int4, total=name)), "int4", SECOND)
    name = "weight_assist_matrix ignored"
    yield row(name, partial(of_second, partial(of_int4, has_bias=False)), "int4", SECOND)
    for name in LISTS:
        yield row(name, partial(of_lists, name), "lists", SECOND)
    for name in SMOOTHED:
        yield row(name, partial(of_smooth, name), "int4 by int4", SECOND)
    for name in (*CODES, *SUMS, *RULES_OF_MX, "other half activated", "c in bf16"):
        yield row(name, partial(of_mx, name), "mx", SECOND)
