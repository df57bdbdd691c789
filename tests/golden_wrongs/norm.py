"""Formulas of npu_add_rms_norm_quant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from . import DTYPES, F32, Outputs, Wrong, away, codes, f16, to

OP = "npu_add_rms_norm_quant"
N = 640


def normed(x1: Any, x2: Any, gamma: Any, **steps: Any) -> Any:
    """Compute t of docs/numerics.md 5 in float32, but for the steps given."""
    s = steps.get("s", lambda s: s)(x1.astype(F32) + x2.astype(F32))
    n, g = s.shape[1], gamma.astype(F32)
    squares = s * s
    if "total" in steps:
        ms = steps["total"](squares) / F32(n)
    elif "scaled" in steps:
        ms = lanes(squares * (F32(1) / F32(n)))
    else:
        ms = lanes(squares) / F32(n)
    root = np.sqrt(ms + F32(steps.get("epsilon", 1e-6)))[:, None]
    rstd = F32(1) / root
    return steps.get("t", lambda s, rstd, root, g: s * rstd * g)(s, rstd, root, g)


def lanes(v: Any) -> Any:
    """Add 64 lanes, then halves of them."""
    total = v.reshape(len(v), -1, 64)
    sums = np.cumsum(total, axis=1, dtype=F32)[:, -1]
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return sums[:, 0]


def folded(v: Any) -> Any:
    """Add halves of the whole row; what is in the middle stays."""
    while v.shape[1] > 1:
        v = np.pad(v, ((0, 0), (0, v.shape[1] % 2)))
        half = v.shape[1] // 2
        v = v[:, :half] + v[:, half:]
    return v[:, 0]


NORM: dict[str, dict[str, Any]] = {
    "reference": {},
    "sequential sum": {"total": lambda v: np.cumsum(v, axis=1, dtype=F32)[:, -1]},
    "pairwise sum": {"total": lambda v: np.sum(v, axis=1)},
    "folded sum": {"total": lambda v: folded(v)},
    "float64 sum": {"total": lambda v: v.astype(np.float64).sum(axis=1).astype(F32)},
    "(s * gamma) * rstd": {"t": lambda s, rstd, root, g: (s * g) * rstd},
    "s * (gamma * rstd)": {"t": lambda s, rstd, root, g: s * (g * rstd)},
    "s / root": {"t": lambda s, rstd, root, g: s / root * g},
    "terms * (1/n)": {"scaled": True},
    "epsilon 1e-5": {"epsilon": 1e-5},
    "epsilon 0": {"epsilon": 0},
}
ROUNDINGS = {"half away": away, "truncation": np.trunc, "floor": np.floor, "ceil": np.ceil}
# Of t, scale and zero point: what is rounded.
QUOTIENTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "t * (1/scale)": lambda t, s, z: np.rint(t * (1 / s) + z),
    "zero point after rounding": lambda t, s, z: np.rint(t / s) + z,
    "zero point subtracted": lambda t, s, z: np.rint(t / s - z),
    "zero point ignored": lambda t, s, z: np.rint(t / s),
    "div_mode reversed": lambda t, s, z: np.rint(t * s + z),
    "fp16 quotient": lambda t, s, z: np.rint(f16(t / s) + z),
}


@cache
def inputs_of(dtype: Any) -> dict[str, Any]:
    """Return inputs; two rows are so small that epsilon counts.

    One lies at ties, and in float32 so do 16 others, which are multiples of it.
    """
    rng = np.random.default_rng(17)
    x1, x2 = (rng.standard_normal((64, N)).astype(dtype) for _ in range(2))
    x1[:2], x2[:18] = x1[:2] * dtype(1e-3), 0
    if dtype == F32:
        x1[2:18] = x1[2] * (1 + np.arange(16) * 2.0**-10)[:, None]
    gamma = rng.standard_normal(N).astype(dtype)
    s = x1[2].astype(np.float64)
    t = s / np.sqrt(np.mean(s * s) + 1e-6) * gamma.astype(np.float64)
    near = np.maximum(np.abs(t), 0.02)
    return {
        "x1": x1,
        "x2": x2,
        "gamma": gamma,
        "scales1": F32(near / (np.rint(near / 0.02) + 0.5)),
        "zero_points1": rng.integers(-9, 9, N).astype(np.int32),
        "scales2": F32([0.02]),
    }


def quantized(inputs: dict[str, Any], t: Any, round_: Callable[[Any], Any] = np.rint) -> Any:
    """Return y1, y2, x of t."""
    x = (inputs["x1"].astype(F32) + inputs["x2"].astype(F32)).astype(inputs["x1"].dtype)
    z = inputs["zero_points1"].astype(F32)
    return codes(t / inputs["scales1"] + z, round_), codes(t / F32(0.02), round_), x


def own_t(inputs: dict[str, Any], **steps: Any) -> Any:
    """Return t of these inputs."""
    return normed(inputs["x1"], inputs["x2"], inputs["gamma"], **steps)


def stepped(dtype: Any, steps: dict[str, Any]) -> tuple[dict[str, Any], Outputs]:
    inputs = inputs_of(dtype)
    return inputs, quantized(inputs, own_t(inputs, **steps))


def rounded(dtype: Any, round_: Callable[[Any], Any]) -> tuple[dict[str, Any], Outputs]:
    inputs = inputs_of(dtype)
    return inputs, quantized(inputs, own_t(inputs), round_)


def divided(dtype: Any, name: str) -> tuple[dict[str, Any], Outputs]:
    inputs = inputs_of(dtype)
    z = inputs["zero_points1"].astype(F32)
    q = QUOTIENTS[name](own_t(inputs), inputs["scales1"], z)
    return inputs, (codes(q), None, None)


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    for dtype in DTYPES:
        words = np.dtype(dtype).name
        for name, steps in NORM.items():
            is_order = "sum" in name or "terms" in name  # in 16 bits one row alone lies at ties
            is_told = name != "reference" and (dtype == F32 or not is_order)
            make = partial(stepped, dtype, steps)
            yield Wrong(OP, name, "epsilon" not in name, make, words, is_told)
        for name, round_ in ROUNDINGS.items():
            make = partial(rounded, dtype, round_)
            yield Wrong(OP, name, name == "half away", make, words)
        for i, name in enumerate(QUOTIENTS):
            make = partial(divided, dtype, name)
            yield Wrong(OP, name, i < 2, make, words, i != 1)
        if dtype == F32:
            continue
        make = partial(stepped, dtype, {"s": to(dtype)})
        yield Wrong(OP, "from the rounded x", False, make, words)
