"""Formulas of npu_quant_matmul."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from . import BF16, F32, Outputs, Wrong, codes, to

Made = tuple[dict[str, Any], Outputs]


def cut(scale: Any) -> Any:
    return (scale.view(np.uint32) & np.uint32(0xFFFFE000)).view(F32)


# Of sums, scales of columns and rows, a bias, and the rounding to the result's dtype.
VALUES: dict[str, Callable[..., Any]] = {
    "reference": lambda acc, s, p, b, r: acc * s * p + b,
    "pertoken_scale first": lambda acc, s, p, b, r: acc * p * s + b,
    "scales multiplied first": lambda acc, s, p, b, r: acc * (s * p) + b,
    "scale cut to 19 bits": lambda acc, s, p, b, r: acc * cut(s) * p + b,
    "scale ignored": lambda acc, s, p, b, r: acc * p + b,
    "value in 16 bits before pertoken_scale": lambda acc, s, p, b, r: r(acc * s) * p + b,
    "pertoken_scale ignored": lambda acc, s, p, b, r: acc * s + b,
    "float bias ignored": lambda acc, s, p, b, r: acc * s * p,
    "float bias subtracted": lambda acc, s, p, b, r: acc * s * p - b,
    "product in 16 bits before the bias": lambda acc, s, p, b, r: r(acc * s * p) + b,
    "all in 16 bits after the product": lambda acc, s, p, b, r: r(acc * s * p) + r(b),
}
# Of v and an offset: what is saturated.
CODES: dict[str, Callable[[Any, Any], Any]] = {
    "reference": lambda v, o: v + o,
    "product and offset rounded apart": lambda v, o: np.rint(v) + np.rint(o),
    "offset ignored": lambda v, o: v,
}


def factors(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Return codes of both matrices, and their sums."""
    x1 = rng.integers(-128, 128, (60, 96)).astype(np.int8)
    x2 = rng.integers(-128, 128, (96, 64)).astype(np.int8)
    return x1, x2, (x1.astype(float) @ x2.astype(float)).astype(np.int32)


def of_values(name: str, dtype: Any) -> Made:
    """Products whose bias takes most of them away, so that every rounding shows."""
    rng = np.random.default_rng(20240607)
    x1, x2, acc = factors(rng)
    scale, rows = F32(rng.uniform(1, 2, 64) / 2**8), F32(rng.uniform(0.5, 2, 60))
    bias = F32(-(acc[7] * scale.astype(float) * rows[7]))
    y = VALUES[name](acc.astype(F32), scale, rows[:, None], bias, to(dtype))
    inputs = {"x1": x1, "x2": x2, "scale": scale, "pertoken_scale": rows, "bias": bias}
    with np.errstate(over="ignore"):
        return inputs | {"output_dtype": dtype}, (y.astype(dtype),)


def of_codes(name: str) -> Made:
    rng = np.random.default_rng(20240607)
    x1, x2, acc = factors(rng)
    scale, offset = F32(rng.uniform(1, 2, 64) / 2**10), F32(rng.uniform(-20, 20, 64))
    made = codes(CODES[name](acc.astype(F32) * scale, offset))
    return {"x1": x1, "x2": x2, "scale": scale, "offset": offset}, (made,)


def with_integers(is_ignored: bool) -> Made:
    rng = np.random.default_rng(20240607)
    x1, x2, acc = factors(rng)
    bias = rng.integers(-(2**20), 2**20, 64).astype(np.int32)
    inputs = {"x1": x1, "x2": x2, "scale": F32([1]), "bias": bias, "output_dtype": "int32"}
    return inputs, (acc if is_ignored else acc + bias,)


def of_small_floats(name: str) -> Made:
    rng = np.random.default_rng(20240607)
    kind = ml_dtypes.float8_e4m3fn
    finite = np.r_[:127, 128:255].astype(np.uint8)
    x1, x2 = (rng.choice(finite, shape).view(kind) for shape in ((20, 300), (300, 24)))
    a, b = x1.astype(float), x2.astype(float)
    total = np.zeros((20, 24), F32)
    if name == "rounded once":
        total = (a @ b).astype(F32)
    size = 32 if name == "reference" else 1
    for k in range(0, 300 if name != "rounded once" else 0, size):
        total = total + (a[:, k : k + size] @ b[k : k + size]).astype(F32)
    inputs = {"x1": x1, "x2": x2, "scale": F32([1]), "output_dtype": "float32"}
    return inputs, (total,)


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    op = "npu_quant_matmul"
    for i, name in enumerate(VALUES):
        for dtype in (np.float16, BF16):
            make, words = partial(of_values, name, dtype), np.dtype(dtype).name
            yield Wrong(op, name, i < 3, make, words, i >= 3)
    for i, name in enumerate(CODES):
        yield Wrong(op, name, i < 1, partial(of_codes, name), "int8", i >= 1)
    yield Wrong(op, "bias of sums ignored", False, partial(with_integers, True), "int32")
    for name in ("reference", "one k after another", "rounded once"):
        yield Wrong(op, name, True, partial(of_small_floats, name), "float8", name != "reference")
