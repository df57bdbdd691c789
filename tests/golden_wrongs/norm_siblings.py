"""Formulas of the operators that quantize a norm, beside npu_add_rms_norm_quant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import DTYPES, F32, Outputs, Wrong, away, codes, f16
from .norm import NORM, inputs_of, normed

ONCE = "npu_rms_norm_quant"
SECOND = "npu_rms_norm_quant_v2"
DYNAMIC = "npu_rms_norm_dynamic_quant"
BRANCHES = "npu_add_rms_norm_dynamic_quant"


def of_one(dtype: Any) -> tuple[dict[str, Any], Callable[..., Any]]:
    """Return x, gamma, scale and offset, and what norms x."""
    a = inputs_of(dtype)
    inputs = {"x": a["x1"], "gamma": a["gamma"], "scale": a["scales1"], "offset": a["zero_points1"]}
    return inputs, partial(normed, a["x1"], np.zeros_like(a["x1"]), a["gamma"])


def once(dtype: Any, function: Callable[[Any, Any], Any]) -> tuple[dict[str, Any], Outputs]:
    """Codes of npu_rms_norm_quant: a function of t and the scales, without a beta to speak of."""
    inputs, norm = of_one(dtype)
    z = inputs["offset"].astype(F32)
    y = codes(function(norm(), inputs["scale"]) + z)
    return inputs | {"beta": np.zeros_like(inputs["gamma"])}, (y,)


def second(dtype: Any, steps: dict[str, Any]) -> tuple[dict[str, Any], Outputs]:
    """Codes and rstd of npu_rms_norm_quant_v2."""
    inputs, norm = of_one(dtype)
    y = codes(norm(**steps) / inputs["scale"] + inputs["offset"].astype(F32))
    rstd: list[Any] = []
    norm(**steps, t=lambda s, r, root, g: (rstd.append(r), s)[1])
    return inputs, (y, rstd[0])


RULES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "reference": lambda amax: (amax / F32(127), lambda t, s: t / s),
    "scale amax * (1/127)": lambda amax: (amax * (F32(1) / F32(127)), lambda t, s: t / s),
    "scale 1 / (127/amax), x * (127/amax)": lambda amax: (
        F32(1) / (F32(127) / amax),
        lambda t, s: t * (F32(127) / amax),
    ),
    "scale amax / 128": lambda amax: (amax / F32(128), lambda t, s: t / s),
    "fp16 quotient": lambda amax: (amax / F32(127), lambda t, s: f16(t / s)),
}


def quantized(v: Any, rule: str = "reference", round_: Any = np.rint) -> tuple[Any, Any]:
    """Return codes and scales of rows."""
    amax = np.abs(v).max(axis=-1, keepdims=True)
    scale, quotient = RULES[rule](amax)
    return codes(quotient(v, scale), round_), scale[:, 0]


def dynamic(dtype: Any, v: Callable[..., Any], **how: Any) -> tuple[dict[str, Any], Outputs]:
    """Codes and scales of npu_rms_norm_dynamic_quant: of what a function makes of t and factors."""
    inputs, norm = of_one(dtype)
    factors = inputs["gamma"][::-1].copy()
    own = {"x": inputs["x"], "gamma": inputs["gamma"], "smooth_scale": factors}
    return own, quantized(v(norm(**how.pop("steps", {})), factors.astype(F32)), **how)


def branches(dtype: Any, steps: dict[str, Any]) -> tuple[dict[str, Any], Outputs]:
    """Outputs of npu_add_rms_norm_dynamic_quant, whose second branch has factors."""
    a = inputs_of(dtype)
    inputs = {name: a[name] for name in ("x1", "x2", "gamma")}
    factors, ones = a["gamma"][::-1].copy(), np.ones_like(a["gamma"])
    t = normed(**inputs, **steps)
    y1, scale1 = quantized(t)
    y2, scale2 = quantized(t * factors.astype(F32))
    x = (a["x1"].astype(F32) + a["x2"].astype(F32)).astype(dtype)
    return inputs | {"smooth_scale1": ones, "smooth_scale2": factors}, (y1, y2, x, scale1, scale2)


def scaled(t: Any, factors: Any) -> Any:
    return t * factors


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    for dtype in DTYPES:
        words = np.dtype(dtype).name
        row = partial(Wrong, words=words)
        quotients: dict[str, Callable[[Any, Any], Any]] = {
            "reference": lambda t, s: t / s,
            "div_mode reversed": lambda t, s: t * s,
            "fp16 quotient": lambda t, s: f16(t / s),
        }
        for name, quotient in quotients.items():
            make = partial(once, dtype, quotient)
            yield row(ONCE, name, name == "reference", make, is_told_apart=name != "reference")
        for name in ("reference", "sequential sum", "float64 sum", "terms * (1/n)", "epsilon 1e-5"):
            make, is_benign = partial(second, dtype, NORM[name]), "epsilon" not in name
            yield row(SECOND, name, is_benign, make, is_told_apart=name != "reference")
            of_sums = partial(branches, dtype, NORM[name])
            yield row(BRANCHES, name, is_benign, of_sums, is_told_apart=name != "reference")
        for name in RULES:
            make = partial(dynamic, dtype, scaled, rule=name)
            is_benign = "128" not in name and "fp16" not in name
            yield row(DYNAMIC, name, is_benign, make, is_told_apart=name != "reference")
        others: dict[str, dict[str, Any]] = {
            "half away": {"v": scaled, "round_": away},
            "truncation": {"v": scaled, "round_": np.trunc},
            "smooth_scale ignored": {"v": lambda t, factors: t},
            "divided by smooth_scale": {"v": lambda t, factors: t / factors},
            "epsilon 1e-5": {"v": scaled, "steps": NORM["epsilon 1e-5"]},
            "x * (gamma * rstd)": {"v": scaled, "steps": NORM["s * (gamma * rstd)"]},
        }
        for name, how in others.items():
            is_benign = name in ("half away", "x * (gamma * rstd)")
            make = partial(dynamic, dtype, **how)
            yield row(DYNAMIC, name, is_benign, make, is_told_apart=name != "half away")
