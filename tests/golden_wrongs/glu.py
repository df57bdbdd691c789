"""Formulas of the operators that have a gated linear unit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import BF16, DTYPES, F32, Outputs, Wrong, away, bf16, codes, f16

UNIT, BY_MULTIPLIERS, BY_SCALES = "npu_swiglu", "npu_swiglu_quant", "npu_dequant_swiglu_quant"
ONE, SEVEN = F32(1), F32(7)
Made = tuple[dict[str, Any], Outputs]


def exp(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.exp(x.astype(np.float64)).astype(F32)


def swish(a: Any) -> Any:
    return a / (ONE + exp(-a))


# Of a and b, in float32.
UNITS: dict[str, Callable[[Any, Any], Any]] = {
    "reference": lambda a, b: swish(a) * b,
    "a * sigmoid(a)": lambda a, b: a * (ONE / (ONE + exp(-a))) * b,
    "exp of float32": lambda a, b: a / (ONE + np.exp(-a)) * b,
    "swish of float64": lambda a, b: (a / (1 + np.exp(-a.astype(np.float64)))).astype(F32) * b,
    "other half activated": lambda a, b: swish(b) * a,
    "gate of sigmoid": lambda a, b: ONE / (ONE + exp(-a)) * b,
    "swish of 1.702 * a": lambda a, b: a / (ONE + exp(-(F32(1.702) * a))) * b,
    "swish and o in fp16": lambda a, b: f16(f16(swish(a)) * b),
    "swish and o in bf16": lambda a, b: bf16(bf16(swish(a)) * b),
}
WHOLE = {
    "o in fp16": lambda a, b: f16(swish(a) * b),
    "o in bf16": lambda a, b: bf16(swish(a) * b),
}


def rows(dtype: Any) -> tuple[Any, Any, Any]:
    """Return an input, and its halves."""
    x = (np.random.default_rng(20240607).standard_normal((90, 128)) * 4).astype(dtype)
    return x, x[:, :64].astype(F32), x[:, 64:].astype(F32)


def of_unit(dtype: Any, name: str) -> Made:
    x, a, b = rows(dtype)
    return {"self": x}, (UNITS[name](a, b).astype(dtype),)


def factors(seed: int = 5) -> Any:
    return F32(np.random.default_rng(seed).uniform(0.5, 2, 64))


# Of o: codes, and scales of rows.


def amax(o: Any) -> Any:
    return np.abs(o).max(axis=1, keepdims=True)


def multiplied(o: Any, scale: Any = None, round_: Any = np.rint) -> Outputs:
    scale = F32(127) / amax(o) if scale is None else scale
    return codes(o * scale, round_), scale[:, 0]


def divided(o: Any, scale: Any = None, round_: Any = np.rint) -> Outputs:
    scale = amax(o) / F32(127) if scale is None else scale
    return codes(o / scale, round_), scale[:, 0]


# By operator: the name of its factors, and what it makes of o and these.
Quantize = Callable[[Any, Any], Outputs]
OF_ROWS: dict[str, tuple[str, dict[str, Quantize]]] = {
    BY_MULTIPLIERS: (
        "smooth_scales",
        {
            "reference": lambda o, p: multiplied(o * p),
            "smooth_scales ignored": lambda o, p: multiplied(o),
            "divided by smooth_scales": lambda o, p: multiplied(o / p),
            "scale is amax / 127": lambda o, p: (multiplied(o * p)[0], divided(o * p)[1]),
            "scale 1 / (amax/127)": lambda o, p: multiplied(o * p, ONE / (amax(o * p) / F32(127))),
            "half away": lambda o, p: multiplied(o * p, round_=away),
            "truncation": lambda o, p: multiplied(o * p, round_=np.trunc),
        },
    ),
    BY_SCALES: (
        "quant_scale",
        {
            "reference": lambda o, p: divided(o * p),
            "quant_scale ignored": lambda o, p: divided(o),
            "divided by quant_scale": lambda o, p: divided(o / p),
            "scale amax * (1/127)": lambda o, p: divided(o * p, amax(o * p) * (ONE / F32(127))),
            "half away": lambda o, p: divided(o * p, round_=away),
        },
    ),
}


def of_rows(op: str, dtype: Any, unit: str = "reference", rule: str = "reference") -> Made:
    """Outputs with scales of rows, by another unit or another rule."""
    (x, a, b), p, (name, rules) = rows(dtype), factors(), OF_ROWS[op]
    inputs = {"x": x, name: p, "activate_left": True, "quant_mode": 1}
    return inputs, rules[rule]((UNITS | WHOLE)[unit](a, b), p)


# By operator: the names of a parameter and an offset, and what is rounded of o and these.
Rounded = Callable[[Any, Any, Any], Any]
GIVEN: dict[str, tuple[str, str, dict[str, Rounded]]] = {
    BY_MULTIPLIERS: (
        "smooth_scales",
        "offsets",
        {
            "reference": lambda o, p, z: o * p + z,
            "zero point subtracted": lambda o, p, z: o * p - z,
            "zero point ignored": lambda o, p, z: o * p,
        },
    ),
    BY_SCALES: (
        "quant_scale",
        "quant_offset",
        {
            "reference": lambda o, p, z: o / p + z,
            "x * scale": lambda o, p, z: o * p + z,
            "zero point ignored": lambda o, p, z: o / p,
            "x * (1/scale)": lambda o, p, z: o * (ONE / p) + z,
        },
    ),
}


def given(op: str, dtype: Any, rule: str) -> Made:
    """Outputs without scales of rows."""
    (x, a, b), (name, offset, rules) = rows(dtype), GIVEN[op]
    p, z = factors(), F32(np.random.default_rng(6).integers(-9, 9, 64))
    inputs = {"x": x, name: p, offset: z, "activate_left": True}
    return inputs, (codes(rules[rule](swish(a) * b, p, z)), np.zeros(90, F32))


# Sums: x, weight_scale, activation_scale, bias.
SUMS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "reference": lambda x, w, a, b: x * w * a + b,
    "x * (weight_scale * activation_scale)": lambda x, w, a, b: x * (w * a) + b,
    "x * activation_scale * weight_scale": lambda x, w, a, b: x * a * w + b,
    "weight_scale ignored": lambda x, w, a, b: x * a + b,
    "activation_scale ignored": lambda x, w, a, b: x * w + b,
    "bias ignored": lambda x, w, a, b: x * w * a,
    "sums in bf16": lambda x, w, a, b: bf16(x * w * a) + b,
}


def of_sums(name: str) -> Made:
    rng = np.random.default_rng(20240607)
    x = rng.integers(-999, 999, (90, 128)).astype(np.int32)
    w, a = F32(rng.uniform(0.001, 0.01, 128)), F32(rng.uniform(0.2, 2, 90))
    bias = F32(rng.standard_normal(128))
    v = SUMS[name](x.astype(F32), w, a[:, None], bias)
    inputs = {"x": x, "weight_scale": w, "activation_scale": a, "bias": bias}
    more = {"activate_left": True, "quant_mode": 1}
    return inputs | more, divided(swish(v[:, :64]) * v[:, 64:])


def even(x: Any) -> Any:
    return x[:, ::2], x[:, 1::2]


def halves(x: Any) -> Any:
    return x[:, :64], x[:, 64:]


def limited(a: Any, b: Any) -> Any:
    return oai(np.minimum(a, SEVEN), np.clip(b, -SEVEN, SEVEN))


def oai(a: Any, b: Any) -> Any:
    return a / (ONE + exp(-(F32(1.702) * a))) * (b + ONE)


def of_mode(mode: int, split: Any, unit: Any) -> Made:
    """Outputs with another mode's unit, of rows of whose elements some are beyond the limit."""
    x = rows(np.float16)[0]
    inputs = {"x": x, "activate_left": True, "quant_mode": 1, "swiglu_mode": mode}
    return inputs, divided(unit(*split(x.astype(F32))))


def of_float4(round_: Callable[[Any], Any], mode: int) -> Made:
    """Codes of float4_e1m2, which are quarters, from ties and from other numbers."""
    rng = np.random.default_rng(20240607)
    q = np.where(
        rng.random((90, 64)) < 0.5,
        rng.integers(-14, 14, (90, 64)) / 8,
        rng.uniform(-2, 2, (90, 64)),
    )
    x = np.concatenate([np.full((90, 64), 32), q / 32], axis=1).astype(BF16)
    q = 32 * x[:, 64:].astype(np.float64)
    found = np.clip(round_(q * 4), -7, 7)
    y = np.where(np.signbit(found), 8 - found, found).astype(np.uint8)
    inputs = {"x": x, "activate_left": True, "dst_type": "float4_e1m2", "round_mode": mode}
    return inputs, (y, np.zeros(90, F32))


BENIGN = {"reference", "a * sigmoid(a)", "exp of float32", "swish of float64"}
BENIGN |= {"half away", "scale 1 / (amax/127)", "scale amax * (1/127)", "x * (1/scale)"}
BENIGN |= {"x * (weight_scale * activation_scale)", "x * activation_scale * weight_scale"}


def row(op: str, name: str, make: Any, words: str = "") -> Wrong:
    return Wrong(op, name, name in BENIGN, make, words, name not in BENIGN)


def of_floats() -> Iterator[Wrong]:
    """Return a row per unit and rule of each operator."""
    for dtype in DTYPES:
        words = np.dtype(dtype).name
        for name in UNITS:
            yield row(UNIT, name, partial(of_unit, dtype, name), words)
        for op in OF_ROWS if dtype != F32 else (BY_MULTIPLIERS,):
            for unit in UNITS | WHOLE:
                yield row(op, unit, partial(of_rows, op, dtype, unit), words)
            for rule in OF_ROWS[op][1]:
                yield row(op, rule, partial(of_rows, op, dtype, rule=rule), f"{words} rows")
            for rule in GIVEN[op][2]:
                yield row(op, rule, partial(given, op, dtype, rule), f"{words} given")


def of_modes() -> Iterator[Wrong]:
    """Return a row per swiglu_mode and another one."""
    yield row(BY_SCALES, "reference", partial(of_mode, 1, even, limited), "mode 1")
    yield row(BY_SCALES, "reference", partial(of_mode, 2, halves, limited), "mode 2")
    yield row(BY_SCALES, "swiglu_mode 0", partial(of_mode, 2, halves, UNITS["reference"]))
    yield row(BY_SCALES, "swiglu_mode 1", partial(of_mode, 2, even, limited))
    yield row(BY_SCALES, "swiglu_mode 2", partial(of_mode, 1, halves, limited))
    yield row(BY_SCALES, "without limits", partial(of_mode, 2, halves, oai))


ROUNDINGS = {"half even": np.rint, "half away": away, "floor": np.floor, "ceil": np.ceil}
ROUNDINGS["truncation"] = np.trunc


def of_roundings() -> Iterator[Wrong]:
    """Return a row per round_mode and rounding."""
    for (mode, own), (name, round_) in itertools.product(enumerate(ROUNDINGS), ROUNDINGS.items()):
        named, is_other = (name, True) if name != own else ("reference", False)
        is_benign = not is_other or (mode < 2 and "half" in name)
        make = partial(of_float4, round_, mode)
        yield Wrong(BY_SCALES, named, is_benign, make, f"round_mode {mode}", is_other)


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype, per swiglu_mode, and per round_mode."""
    yield from of_floats()
    for name in SUMS:
        yield row(BY_SCALES, name, partial(of_sums, name), "sums")
    yield from of_modes()
    yield from of_roundings()
