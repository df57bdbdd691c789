"""Formulas of npu_quantize, quantize_val and npu_anti_quant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from . import BF16, DTYPES, F32, Outputs, Wrong, away, bf16, channels, codes, f16, on_ties

Made = tuple[dict[str, Any], Outputs]
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1)}


def rounded_fma(x: Any, w: Any, z: Any) -> Any:
    """Multiply and add exactly, round once: for float32, by rational numbers."""
    results = []
    for a, b, c in np.nditer([x, w, z]):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        near = F32(float(exact))
        around = [np.nextafter(near, F32(-np.inf)), near, np.nextafter(near, F32(np.inf))]
        distance = [abs(Fraction(float(v)) - exact) for v in around]
        best = [v for v, d in zip(around, distance, strict=True) if d == min(distance)]
        even = [v for v in best if int(v.view(np.uint32)) % 2 == 0]
        results.append((even or best)[0])
    return np.array(results, F32)


# Of x (float32), scale and zero point: what is saturated.
QUANTIZE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda x, s, z: np.rint(x / s + z),
    "torch.quantize_per_channel": lambda x, s, z: np.rint(x * (1 / s) + z),
    "x * (1/scale)": lambda x, s, z: np.rint(x * (1 / s) + z),
    "zero point after rounding": lambda x, s, z: np.rint(x / s) + z,
    "x * (1/scale), zero point after rounding": lambda x, s, z: np.rint(x * (1 / s)) + z,
    "half away": lambda x, s, z: away((x / s + z).astype(np.float64)),
    "half up": lambda x, s, z: np.floor((x / s + z) + F32(0.5)),
    "truncation": lambda x, s, z: np.trunc(x / s + z),
    "floor": lambda x, s, z: np.floor(x / s + z),
    "ceil": lambda x, s, z: np.ceil(x / s + z),
    "zero point after rounding, truncation": lambda x, s, z: np.trunc(x / s) + z,
    "fp16 quotient": lambda x, s, z: np.rint(f16(x / s) + z),
    "bf16 quotient": lambda x, s, z: np.rint(bf16(x / s) + z),
    "fp16 quotient, so is the sum": lambda x, s, z: np.rint(f16(f16(x / s) + z)),
    "x * scale": lambda x, s, z: np.rint(x * s + z),
    "zero point subtracted": lambda x, s, z: np.rint(x / s - z),
    "zero point ignored": lambda x, s, z: np.rint(x / s),
    "fp16 scale": lambda x, s, z: np.rint(x / f16(s) + z),
    "bf16 scale": lambda x, s, z: np.rint(x / bf16(s) + z),
}
MULTIPLIED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda x, s, z: x * s + z,
    "x / (1/scale)": lambda x, s, z: x / (1 / s) + z,
    "x / scale": lambda x, s, z: x / s + z,
    "fused": lambda x, s, z: rounded_fma(x, s, z).reshape(x.shape),
}


def quantized(name: str, dtype: Any, kind: str) -> Made:
    scale, zero = channels()
    x = on_ties(scale, zero, dtype)
    q = QUANTIZE[name](x.astype(F32), scale, zero.astype(F32))
    inputs = {"self": x, "scales": scale, "zero_points": zero, "dtype": kind}
    return inputs, (codes(q, np.rint, *LIMITS[kind]),)


def multiplied(name: str) -> Made:
    scale, zero = channels()
    x = on_ties(1 / scale, zero, F32)[:50]
    inputs = {"self": x, "scales": scale, "zero_points": zero, "dtype": "int8", "div_mode": False}
    return inputs, (codes(MULTIPLIED[name](x, scale, zero.astype(F32))),)


def narrowed(round_: Callable[[Any], Any]) -> Made:
    x = (np.random.default_rng(1).standard_normal((99, 64)) * 9).astype(F32)
    inputs = {"self": x, "scales": F32([0.1]), "zero_points": None, "dtype": "int8"}
    return inputs, (codes(round_(x) / F32(0.1)),)


def fractional() -> Made:
    rng = np.random.default_rng(1)
    x, zero = rng.standard_normal((50, 64)).astype(F32) * 30, F32(rng.uniform(-5, 5, 64))
    inputs = {"self": x, "scales": F32([0.5]), "zero_points": zero, "dtype": "int8"}
    return inputs, (codes(np.rint(x / F32(0.5)) + zero, np.trunc),)


QUANTIZE_VAL: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda x, s, z: np.rint(x * (1 / s)) + z,
    "x / scale": lambda x, s, z: np.rint(x / s) + z,
    "zero point before rounding": lambda x, s, z: np.rint(x * (1 / s) + z),
    "half away": lambda x, s, z: away((x * (1 / s)).astype(np.float64)) + z,
    "truncation": lambda x, s, z: np.trunc(x * (1 / s)) + z,
    "fp16 quotient": lambda x, s, z: np.rint(f16(x * (1 / s))) + z,
    "zero point ignored": lambda x, s, z: np.rint(x * (1 / s)),
}


def valued(name: str, kind: str) -> Made:
    x = on_ties(np.array([F32(0.3)] * 8), 0, F32)
    q = QUANTIZE_VAL[name](x, F32(0.3), F32(7))
    inputs = {"scale": 0.3, "zero_point": 7, "value": x, "scalar_type": f"q{kind}"}
    return inputs, (codes(q, np.rint, *LIMITS[kind]),)


# Of x (int8 as float32), scale and offset: what is rounded to dst_dtype.
ANTI_QUANT: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda x, s, o: (x + o) * s,
    "x * scale + offset * scale": lambda x, s, o: x * s + o * s,
    "rounded once": lambda x, s, o: (x.astype(np.float64) + o) * s,
    "offset subtracted": lambda x, s, o: (x - o) * s,
    "offset ignored": lambda x, s, o: x * s,
    "x * scale + offset": lambda x, s, o: x * s + o,
    "x / scale": lambda x, s, o: (x + o) / s,
    "scale twice (sqrtMode)": lambda x, s, o: (x + o) * s * s,
}
IN_16_BITS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "sum in 16 bits": lambda x, s, o, r: r(x + o) * s,
    "scale in 16 bits": lambda x, s, o, r: (x + o) * r(s),
    "all in 16 bits": lambda x, s, o, r: r(x + r(o)) * r(s),
    "product in 16 bits before the sum": lambda x, s, o, r: r(x * s) + r(o * s),
}


def restored(name: str, dst: Any, round_: Callable[[Any], Any]) -> Made:
    rng = np.random.default_rng(20240607)
    x = rng.integers(-128, 128, (750, 64)).astype(np.int8)
    scale, offset = F32(rng.uniform(0.1, 3, 64)), F32(rng.uniform(-9, 9, 64))
    operands = x.astype(F32), scale, offset
    is_wide = name in ANTI_QUANT
    values = ANTI_QUANT[name](*operands) if is_wide else IN_16_BITS[name](*operands, round_)
    return {"x": x, "scale": scale, "offset": offset, "dst_dtype": dst}, (values.astype(dst),)


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    for i, name in enumerate(QUANTIZE):
        for dtype in DTYPES:
            for kind in ("int8", "uint8"):
                make = partial(quantized, name, dtype, kind)
                words = f"{np.dtype(dtype).name}-{kind}"
                yield Wrong("npu_quantize", name, i < 7, make, words, i > 0 and dtype == F32)
    for name in MULTIPLIED:
        make, is_other = partial(multiplied, name), name == "x / scale"
        yield Wrong("npu_quantize", name, not is_other, make, "multiplied", is_other)
    for name, round_ in {"input as fp16": f16, "input as bf16": bf16}.items():
        yield Wrong("npu_quantize", name, False, partial(narrowed, round_))
    yield Wrong("npu_quantize", "zero point after rounding", False, fractional, "fractions")
    for i, name in enumerate(QUANTIZE_VAL):
        for kind in LIMITS:
            yield Wrong("quantize_val", name, i < 4, partial(valued, name, kind), kind, i > 0)
    for i, name in enumerate(ANTI_QUANT | IN_16_BITS):
        for dst, round_ in ((np.float16, f16), (BF16, bf16)):
            make, words = partial(restored, name, dst, round_), np.dtype(dst).name
            yield Wrong("npu_anti_quant", name, i < 3, make, words, i > 2)
