"""Formulas of fake quantization."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import DTYPES, F32, Outputs, Wrong, away, bf16, channels, f16, on_ties

LOW, HIGH = -128, 127
OP = "fake_quantize_per_channel_affine"

# Of x (float32), scale and zero point: the codes before they are clamped.
FAKE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda x, s, z: np.rint(x * (1 / s)) + z,
    "x / scale": lambda x, s, z: np.rint(x / s) + z,
    "zero point before rounding": lambda x, s, z: np.rint(x * (1 / s) + z),
    "x / scale, zero point before rounding": lambda x, s, z: np.rint(x / s + z),
    "half away": lambda x, s, z: (away((x * (1 / s)).astype(np.float64)) + z).astype(F32),
    "truncation": lambda x, s, z: np.trunc(x * (1 / s)) + z,
    "floor": lambda x, s, z: np.floor(x * (1 / s)) + z,
    "ceil": lambda x, s, z: np.ceil(x * (1 / s)) + z,
    "fp16 quotient": lambda x, s, z: np.rint(f16(x * (1 / s))) + z,
    "bf16 quotient": lambda x, s, z: np.rint(bf16(x * (1 / s))) + z,
    "x * scale": lambda x, s, z: np.rint(x * s) + z,
    "zero point ignored": lambda x, s, z: np.rint(x * (1 / s)),
}


def faked(q: Any, s: Any, z: Any, dtype: Any, low: int = LOW) -> tuple[Any, Any]:
    """Return output and mask of codes."""
    c = np.where(np.isnan(q), low, np.clip(q, low, HIGH)).astype(F32)
    with np.errstate(all="ignore"):
        return ((c - z) * s).astype(dtype), (low <= q) & (q <= HIGH)


def inputs_of(x: Any, scale: Any, zero: Any) -> dict[str, Any]:
    """Return the arguments of a call per channel."""
    limits = {"quant_min": LOW, "quant_max": HIGH}
    return {"self": x, "scale": scale, "zero_point": zero, "axis": 1} | limits


def moved(name: str, dtype: Any, outputs: int) -> tuple[dict[str, Any], Outputs]:
    scale, zero = channels()
    x, z = on_ties(scale, 0, dtype), zero.astype(F32)
    actual = faked(FAKE[name](x.astype(F32), scale, z), scale, z, dtype)
    return inputs_of(x, scale, zero), actual[:outputs]


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    for i, name in enumerate(FAKE):
        for dtype in DTYPES:
            words, is_told = np.dtype(dtype).name, i > 4 and dtype == F32
            make = partial(moved, name, dtype)
            yield Wrong(f"{OP}_cachemask", name, i < 5, partial(make, 2), words, is_told)
            if dtype == F32:
                yield Wrong(OP, name, i < 5, partial(make, 1), words, is_told)
