"""Formulas of npu_weight_quant_batchmatmul."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import BF16, F32, Outputs, Wrong, codes, to

Made = tuple[dict[str, Any], Outputs]


def added(x: Any, w: Any, size: int = 128) -> Any:
    """Add up products in float32, and the sums of so many of them."""
    sums = []
    for first in range(0, len(w), size):
        total = np.zeros((len(x), w.shape[1]), F32)
        for left, right in zip(x.T[first : first + size], w[first : first + size], strict=True):
            total = total + np.outer(left, right)
        sums.append(total)
    result = sums[0]
    for total in sums[1:]:
        result = result + total
    return result


# Of the codes, scale, offset and what rounds to 16 bits.
WEIGHTS: dict[str, Callable[..., Any]] = {
    "reference": lambda c, s, o, r: r((c + o) * s),
    "weight + offset in 16 bits": lambda c, s, o, r: r(r(c + o) * s),
    "weights in float32": lambda c, s, o, r: (c + o) * s,
    "offset subtracted": lambda c, s, o, r: r((c - o) * s),
    "offset ignored": lambda c, s, o, r: r(c * s),
    "offset after the scale": lambda c, s, o, r: r(c * s + o),
}
# Of both factors.
SUMS: dict[str, Callable[..., Any]] = {
    "one sum": lambda x, w: added(x, w, 1000),
    "sum in float64": lambda x, w: F32(x.astype(float) @ w.astype(float)),
}
# Of the sum, bias, quant_scale, quant_offset and what rounds to 16 bits.
ENDS: dict[str, Callable[..., Any]] = {
    "bias ignored": lambda t, b, s, o, r: t * s + o,
    "sum in 16 bits before the bias": lambda t, b, s, o, r: (r(t) + b) * s + o,
    "value in 16 bits before quant_scale": lambda t, b, s, o, r: r(t + b) * s + o,
    "quant_offset ignored": lambda t, b, s, o, r: (t + b) * s,
    "v / quant_scale": lambda t, b, s, o, r: (t + b) / s + o,
}


def product(name: str, dtype: Any, is_quantized: bool) -> Made:
    """Products of two chunks and a bit, which their bias takes away, so that roundings show."""
    rng = np.random.default_rng(20240607)
    x = rng.uniform(-2, 2, (40, 300)).astype(dtype)
    weight = rng.integers(-128, 128, (300, 48)).astype(np.int8)
    scale = rng.uniform(0.005, 0.01, 48).astype(dtype)
    offset = rng.uniform(-9, 9, 48).astype(dtype)
    numbers, rounded = weight.astype(F32), to(dtype)
    w = WEIGHTS.get(name, WEIGHTS["reference"])(numbers, F32(scale), F32(offset), rounded)
    t = SUMS.get(name, added)(F32(x), w)
    bias = F32(rng.standard_normal(48))
    inputs = {"x": x, "weight": weight, "antiquant_scale": scale, "antiquant_offset": offset}
    inputs |= {"bias": bias}
    quant_scale, quant_offset = F32(rng.uniform(3, 9, 48)), F32(rng.uniform(-9, 9, 48))
    if not is_quantized:
        quant_scale, quant_offset = F32(np.ones(48)), -F32(np.zeros(48))
    end = ENDS.get(name, lambda t, b, s, o, r: (t + b) * s + o)
    v = end(t, bias, quant_scale, quant_offset, rounded)
    if not is_quantized:
        return inputs, (v.astype(dtype),)
    return inputs | {"quant_scale": quant_scale, "quant_offset": quant_offset}, (codes(v),)


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    for dtype in (np.float16, BF16):
        for is_quantized in (False, True):
            of_values = [*WEIGHTS, *SUMS, *list(ENDS)[:2]]
            for name in [*WEIGHTS, *SUMS, *ENDS] if is_quantized else of_values:
                is_benign = name == "reference" or name in SUMS
                words = f"{np.dtype(dtype).name}-{'codes' if is_quantized else 'values'}"
                make = partial(product, name, dtype, is_quantized)
                told = not is_benign or (name in SUMS and words == "float16-values")
                yield Wrong("npu_weight_quant_batchmatmul", name, is_benign, make, words, told)
