"""Formulas of npu_quant_scatter and npu_quant_scatter_: npu_quantize's, where updates lie."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from . import BF16, F32, Outputs, Wrong, channels, codes, on_ties
from .given import QUANTIZE

# torch's formulas beside them have no place to put their codes.
NAMES = [name for name in QUANTIZE if not name.startswith("torch.")]
BENIGN = NAMES[: NAMES.index("half up") + 1]
COARSE = ("truncation", "floor", "ceil", "x * scale", "zero point subtracted", "zero point ignored")


def scattered(name: str, dtype: Any) -> tuple[dict[str, Any], Outputs]:
    """Put 5 slabs of 50 rows into an array of 8, which codes of every kind fill."""
    scale, zero = channels()
    new = on_ties(scale, zero, dtype)
    cache = np.random.default_rng(3).integers(-128, 128, (8, 60, 64)).astype(np.int8)
    indices = np.array([[7, 0], [0, 10], [3, 4], [2, 9], [5, 5]])
    q = QUANTIZE[name](new.astype(F32), scale, zero.astype(F32))
    y = cache.copy()
    for (b, p), slab in zip(indices, codes(q).reshape(5, 50, 64), strict=True):
        y[b, p : p + 50] = slab
    inputs = {"self": cache, "indices": indices, "updates": new.reshape(5, 50, 64)}
    return inputs | {"quant_scales": scale, "quant_zero_points": zero}, (y,)


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula, dtype and operator."""
    for name in NAMES:
        for op, dtype in (("npu_quant_scatter", np.float16), ("npu_quant_scatter_", BF16)):
            make = partial(scattered, name, dtype)
            yield Wrong(op, name, name in BENIGN, make, is_told_apart=name in COARSE)
