"""Formulas of the operators whose output is a norm itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from . import DTYPES, F32, Outputs, Wrong, to
from .norm import NORM, inputs_of, normed

ALONE, SUM = "npu_rms_norm", "npu_add_rms_norm"


def made(dtype: Any, steps: dict[str, Any], adds: bool) -> tuple[dict[str, Any], Outputs]:
    """Return inputs, and norm and rstd of x1, or of a sum, with that."""
    a = inputs_of(dtype)
    x2 = a["x2"] if adds else np.zeros_like(a["x2"])
    norm = partial(normed, a["x1"], x2, a["gamma"])
    rstd: list[Any] = []
    y = norm(**steps).astype(dtype)
    norm(**steps | {"t": lambda s, r, root, g: (rstd.append(r), s)[1]})
    if not adds:
        return {"self": a["x1"], "gamma": a["gamma"]}, (y, rstd[0])
    total = (a["x1"].astype(F32) + x2.astype(F32)).astype(dtype)
    return {name: a[name] for name in ("x1", "x2", "gamma")}, (y, rstd[0], total)


def narrow(dtype: Any) -> dict[str, Any]:
    """Return the step that keeps s * rstd in 16 bits."""
    return {"t": lambda s, rstd, root, g: to(dtype)(s * rstd) * g}


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    for dtype in DTYPES:
        words = np.dtype(dtype).name
        for op, adds in ((ALONE, False), (SUM, True)):
            for name in ("reference", "sequential sum", "float64 sum", "terms * (1/n)"):
                make = partial(made, dtype, NORM[name], adds)
                yield Wrong(op, name, True, make, words, name != "reference")
            for name in ("epsilon 1e-5", "epsilon 0"):
                yield Wrong(op, name, False, partial(made, dtype, NORM[name], adds), words)
            if dtype != F32:
                name = f"{'fp16' if dtype == np.float16 else 'bf16'} {'s' if adds else 'x'} * rstd"
                yield Wrong(op, name, False, partial(made, dtype, narrow(dtype), adds), words)
        if dtype != F32:
            steps = {"s": to(dtype)}
            yield Wrong(SUM, "from the rounded x", False, partial(made, dtype, steps, True), words)
