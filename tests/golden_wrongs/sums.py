"""Formulas of npu_group_quant and npu_dequant_bias."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import BF16, DTYPES, F32, Outputs, Wrong, away, bf16, codes, f16, on_ties, to
from .given import rounded_fma

Made = tuple[dict[str, Any], Outputs]
OFFSET = F32(-2.5)

# Of x, the scales of its group (float32), and the offset: what is saturated.
GROUP_QUANT: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda x, s, o: np.rint(x * s + o),
    "x / (1/scale)": lambda x, s, o: np.rint(x / (1 / s) + o),
    "half away": lambda x, s, o: away((x * s + o).astype(np.float64)),
    "half up": lambda x, s, o: np.floor((x * s + o) + F32(0.5)),
    "offset after rounding": lambda x, s, o: np.rint(x * s) + o,
    "x / scale": lambda x, s, o: np.rint(x / s + o),
    "truncation": lambda x, s, o: np.trunc(x * s + o),
    "fp16 quotient": lambda x, s, o: np.rint(f16(x * s) + o),
    "offset ignored": lambda x, s, o: np.rint(x * s),
    "offset subtracted": lambda x, s, o: np.rint(x * s - o),
    "fp16 scale": lambda x, s, o: np.rint(x * f16(s) + o),
    "bf16 scale": lambda x, s, o: np.rint(x * bf16(s) + o),
}


def grouped(name: str, dtype: Any) -> Made:
    """Three groups of rows, one of them without any."""
    rng = np.random.default_rng(20240607)
    scale, ends = F32(rng.uniform(0.3, 10, (3, 64))), np.array([120, 120, 250])
    of_row = scale[np.repeat([0, 2], [120, 130])]
    x = np.concatenate([on_ties(1 / scale[g], -2.5, dtype)[:n] for g, n in ((0, 120), (2, 130))])
    q = GROUP_QUANT[name](x.astype(F32), of_row, OFFSET)
    inputs = {"x": x, "scale": scale, "group_index": ends, "offset": F32([OFFSET])}
    return inputs, (codes(q, np.trunc if name == "offset after rounding" else np.rint),)


# Of x (int32), weight and activation scales, and a bias: what is rounded to the result's dtype.
WITH_INTEGERS: dict[str, Callable[..., Any]] = {
    "reference": lambda x, w, a, b, r: (x + b).astype(F32) * w * a,
    "bias added to floats": lambda x, w, a, b, r: (x.astype(F32) + b.astype(F32)) * w * a,
    "activation_scale first": lambda x, w, a, b, r: (x + b).astype(F32) * a * w,
    "scales multiplied first": lambda x, w, a, b, r: (x + b).astype(F32) * (w * a),
    "int32 bias ignored": lambda x, w, a, b, r: x.astype(F32) * w * a,
    "activation_scale ignored": lambda x, w, a, b, r: (x + b).astype(F32) * w,
}
WITH_FLOATS: dict[str, Callable[..., Any]] = {
    "reference": lambda x, w, a, b, r: x.astype(F32) * w * a + b,
    "activation_scale first": lambda x, w, a, b, r: x.astype(F32) * a * w + b,
    "scales multiplied first": lambda x, w, a, b, r: x.astype(F32) * (w * a) + b,
    "fused": lambda x, w, a, b, r: rounded_fma(
        *np.broadcast_arrays(x.astype(F32) * w, a, b)
    ).reshape(x.shape),
    "float bias ignored": lambda x, w, a, b, r: x.astype(F32) * w * a,
    "float bias subtracted": lambda x, w, a, b, r: x.astype(F32) * w * a - b,
    "product in 16 bits before the bias": lambda x, w, a, b, r: r(x.astype(F32) * w * a) + b,
    "all in 16 bits after the product": lambda x, w, a, b, r: r(x.astype(F32) * w * a) + r(b),
    "activation_scale ignored, float bias ignored": lambda x, w, a, b, r: x.astype(F32) * w,
}


def dequantized(function: Callable[..., Any], dtype: Any, is_integer: bool) -> Made:
    """Products whose bias takes most of them away, so that every rounding shows."""
    rng = np.random.default_rng(20240607)
    x = rng.integers(-(2**28), 2**28, (60, 64)).astype(np.int32)
    weight, activation = F32(rng.uniform(1, 2, 64) / 2**18), F32(rng.uniform(0.5, 2, 60))
    bias: Any = rng.integers(-(2**28), 2**28, 64).astype(np.int32)
    if not is_integer:
        bias = F32(-(x[7] * weight.astype(float) * activation[7]))
    y = function(x, weight, activation[:, None], bias, to(dtype))
    inputs = {"x": x, "weight_scale": weight, "activation_scale": activation, "bias": bias}
    return inputs | {"output_dtype": dtype}, (y.astype(dtype),)


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    for i, name in enumerate(GROUP_QUANT):
        for dtype in DTYPES:
            make, words = partial(grouped, name, dtype), np.dtype(dtype).name
            yield Wrong("npu_group_quant", name, i < 4, make, words, i > 0 and dtype == F32)
    for kind, table, benign in (("int32", WITH_INTEGERS, 4), ("float32", WITH_FLOATS, 4)):
        for i, (name, function) in enumerate(table.items()):
            for dtype in (np.float16, BF16):
                make = partial(dequantized, function, dtype, kind == "int32")
                words, told = f"{np.dtype(dtype).name}-{kind}", i >= benign
                yield Wrong("npu_dequant_bias", name, i < benign, make, words, told)
