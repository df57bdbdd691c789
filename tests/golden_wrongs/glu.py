"""Formulas of the operators that have a gated linear unit."""

from __future__ import annotations

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


def multiplied(o: Any, scale: Any = None, round_: Any = np.rint) -> Outputs:
    amax = np.abs(o).max(axis=1, keepdims=True)
    scale = F32(127) / amax if scale is None else scale(amax)
    return codes(o * scale, round_), scale[:, 0]


def divided(o: Any, scale: Any = None, round_: Any = np.rint) -> Outputs:
    amax = np.abs(o).max(axis=1, keepdims=True)
    scale = amax / F32(127) if scale is None else scale(amax)
    return codes(o / scale, round_), scale[:, 0]


def reported(o: Any) -> Outputs:
    y, _ = multiplied(o)
    return y, np.abs(o).max(axis=1) / F32(127)


MULTIPLIED: dict[str, Callable[[Any, Any], Outputs]] = {
    "smooth_scales ignored": lambda o, p: multiplied(o),
    "divided by smooth_scales": lambda o, p: multiplied(o / p),
    "scale is amax / 127": lambda o, p: reported(o * p),
    "scale 1 / (amax/127)": lambda o, p: multiplied(o * p, lambda m: ONE / (m / F32(127))),
    "half away": lambda o, p: multiplied(o * p, round_=away),
    "truncation": lambda o, p: multiplied(o * p, round_=np.trunc),
}
DIVIDED: dict[str, Callable[[Any, Any], Outputs]] = {
    "quant_scale ignored": lambda o, p: divided(o),
    "divided by quant_scale": lambda o, p: divided(o / p),
    "scale amax * (1/127)": lambda o, p: divided(o * p, lambda m: m * (ONE / F32(127))),
    "half away": lambda o, p: divided(o * p, round_=away),
}


def of_multipliers(dtype: Any, unit: Any, quantize: Any = None) -> Made:
    x, a, b = rows(dtype)
    p, o = factors(), unit(a, b)
    inputs = {"x": x, "smooth_scales": p, "activate_left": True, "quant_mode": 1}
    return inputs, multiplied(o * p) if quantize is None else quantize(o, p)


def by_offsets(dtype: Any, quotient: Callable[[Any, Any], Any]) -> Made:
    x, a, b = rows(dtype)
    p, offset = factors(), F32(np.random.default_rng(6).integers(-9, 9, 64))
    inputs = {"x": x, "smooth_scales": p, "offsets": offset, "activate_left": True}
    return inputs, (codes(quotient(swish(a) * b * p, offset)), np.zeros(90, F32))


def of_scales(unit: Any, quantize: Any = None, dtype: Any = BF16) -> Made:
    x, a, b = rows(dtype)
    p, o = factors(), unit(a, b)
    inputs = {"x": x, "quant_scale": p, "activate_left": True, "quant_mode": 1}
    return inputs, divided(o * p) if quantize is None else quantize(o, p)


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


def by_scale(quotient: Callable[[Any, Any, Any], Any], scale: Any, **more: Any) -> Made:
    x, a, b = rows(np.float16)
    offset = F32(np.random.default_rng(6).integers(-9, 9, 64))
    inputs = {"x": x, "quant_scale": scale, "quant_offset": offset, "activate_left": True}
    return inputs | more, (codes(quotient(swish(a) * b, scale, offset)), np.zeros(90, F32))


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


BENIGN = {"reference", "a * sigmoid(a)", "swish of float64", "half away"}
BENIGN |= {"scale 1 / (amax/127)", "scale amax * (1/127)"}
BENIGN |= {"x * (weight_scale * activation_scale)", "x * activation_scale * weight_scale"}


def row(op: str, name: str, make: Any, words: str = "") -> Wrong:
    return Wrong(op, name, name in BENIGN, make, words, name not in BENIGN)


def of_floats() -> Iterator[Wrong]:
    """Return the rows of npu_swiglu and npu_swiglu_quant."""
    for dtype in DTYPES:
        words = np.dtype(dtype).name
        for name in UNITS:
            yield row(UNIT, name, partial(of_unit, dtype, name), words)
        for name, unit in (UNITS | WHOLE).items():
            yield row(BY_MULTIPLIERS, name, partial(of_multipliers, dtype, unit), words)
        for name, quantize in MULTIPLIED.items():
            make = partial(of_multipliers, dtype, UNITS["reference"], quantize)
            yield row(BY_MULTIPLIERS, name, make, words)
        offsets: dict[str, Any] = {
            "zero point subtracted": lambda q, z: q - z,
            "zero point ignored": lambda q, z: q,
        }
        for name, quotient in offsets.items():
            yield row(BY_MULTIPLIERS, name, partial(by_offsets, dtype, quotient), words)


def of_rows() -> Iterator[Wrong]:
    """Return the rows of npu_dequant_swiglu_quant that have scales of their own."""
    for name, unit in (UNITS | WHOLE).items():
        yield row(BY_SCALES, name, partial(of_scales, unit), "bfloat16 x")
    for name, quantize in DIVIDED.items():
        yield row(BY_SCALES, name, partial(of_scales, UNITS["reference"], quantize))
    for name in SUMS:
        yield row(BY_SCALES, name, partial(of_sums, name), "sums")
    yield row(BY_SCALES, "reference", partial(of_mode, 1, even, limited), "mode 1")
    yield row(BY_SCALES, "reference", partial(of_mode, 2, halves, limited), "mode 2")
    yield row(BY_SCALES, "swiglu_mode 0", partial(of_mode, 2, halves, UNITS["reference"]))
    yield row(BY_SCALES, "swiglu_mode 1", partial(of_mode, 2, even, limited))
    yield row(BY_SCALES, "swiglu_mode 2", partial(of_mode, 1, halves, limited))
    yield row(BY_SCALES, "without limits", partial(of_mode, 2, halves, oai))


def of_given_scales() -> Iterator[Wrong]:
    """Return the rows of npu_dequant_swiglu_quant by quant_scale and quant_offset."""
    one, each = F32([0.03]), factors() / F32(20)
    given: dict[str, Any] = {
        "reference": lambda o, s, z: o / s + z,
        "x * scale": lambda o, s, z: o * s + z,
        "zero point ignored": lambda o, s, z: o / s,
    }
    for name, quotient in given.items():
        yield row(BY_SCALES, name, partial(by_scale, quotient, each), "given")
    yield Wrong(
        BY_SCALES,
        "x * (1/scale)",
        True,
        partial(by_scale, lambda o, s, z: o * (ONE / s) + z, one),
        "",
        False,
    )
    roundings = {
        "floor": np.floor,
        "ceil": np.ceil,
        "truncation": np.trunc,
        "half away": away,
        "half even": np.rint,
    }
    told = ["half even", "half away", "floor", "ceil", "truncation"]
    for mode, own in enumerate(told):
        for name in told:
            is_own, is_benign = name == own, mode < 2 and "half" in name
            named = "reference" if is_own else name
            make = partial(of_float4, roundings[name], mode)
            yield Wrong(
                BY_SCALES, named, is_own or is_benign, make, f"round_mode {mode}", not is_own
            )


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    yield from of_floats()
    yield from of_rows()
    yield from of_given_scales()
