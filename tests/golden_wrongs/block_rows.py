"""Formulas of rows that are made first and then have scales for their blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from . import BF16, F32, Outputs, Wrong, away
from .glu import UNITS

GLU, DUAL = "npu_swiglu_group_quant", "npu_dynamic_dual_level_mx_quant"
E4M3, MOST, ONE = ml_dtypes.float8_e4m3fn, F32(448), F32(1)
Made = tuple[dict[str, Any], Outputs]


def power(exponent: Any) -> Any:
    return np.exp2(exponent.astype(F32))


def up(scale: Any) -> Any:
    return power(np.ceil(np.log2(scale.astype(np.float64))))


def down(scale: Any) -> Any:
    return power(np.floor(np.log2(scale.astype(np.float64))))


def float8(q: Any) -> Any:
    return np.clip(q, -MOST, MOST).astype(E4M3)


def away_float8(q: Any) -> Any:
    """Ties away from zero: steps have 3 bits behind the first one, from 2^-6 on."""
    step = np.exp2(np.maximum(np.floor(np.log2(np.maximum(np.abs(q), F32(1e-9)))), -6) - 3)
    return float8((away(q / step) * step).astype(F32))


# Of o and its amax in blocks: codes, and scales.
Quantize = Callable[[Any, Any], Outputs]


def by_floats(o: Any, amax: Any, scale: Any = None, by: Any = None, code: Any = float8) -> Outputs:
    scale = amax / MOST if scale is None else scale
    return code(o * (MOST / amax if by is None else by)), scale


def by_powers(o: Any, amax: Any, scale: Any = None, code: Any = float8) -> Outputs:
    scale = up(amax / MOST) if scale is None else scale
    return code(o * (ONE / scale)), scale


RULES: dict[str, Quantize] = {
    "reference": by_floats,
    "scale amax * (1/448)": lambda o, a: by_floats(o, a, a * (ONE / MOST)),
    "o / scale": lambda o, a: (float8(o / (a / MOST)), a / MOST),
    "o * (1/scale)": lambda o, a: by_floats(o, a, by=ONE / (a / MOST)),
    "scale rounded up": lambda o, a: by_floats(o, a, up(a / MOST)),
    "half away": lambda o, a: by_floats(o, a, code=away_float8),
}
OF_POWERS: dict[str, Quantize] = {
    "reference": by_powers,
    "scale as it is": lambda o, a: by_powers(o, a, a / MOST),
    "scale rounded down": lambda o, a: by_powers(o, a, down(a / MOST)),
}
BENIGN = {"reference", "a * sigmoid(a)", "exp of float32", "swish of float64", "half away"}
BENIGN |= {"scale amax * (1/448)", "o / scale", "o * (1/scale)", "x * (1/scale)"}


def rows_of(dtype: Any) -> tuple[Any, Any, Any]:
    """Return an input, and its halves: two blocks of 128 in each row."""
    x = (np.random.default_rng(20240607).standard_normal((40, 512)) * 4).astype(dtype)
    x[3] *= dtype(1e-3)
    return x, x[:, :256].astype(F32), x[:, 256:].astype(F32)


def quantized(o: Any, quantize: Quantize, size: int, least: float = 1e-4) -> Outputs:
    blocks = o.reshape(40, -1, size)
    amax = np.maximum(np.abs(blocks).max(axis=2, keepdims=True), F32(least))
    y, scale = quantize(blocks, amax)
    return y.reshape(40, 256), scale[..., 0].astype(F32)


def of_glu(
    dtype: Any,
    unit: str = "reference",
    rule: Quantize = by_floats,
    inputs: dict[str, Any] | None = None,
    change: Callable[[Any, Any], Any] = lambda a, b: (a, b),
    weight: Any = None,
    least: float = 1e-4,
) -> Made:
    """Codes, scales and values of a unit, with another step in it."""
    x, a, b = rows_of(dtype)
    o = UNITS[unit](*change(a, b))
    o = o if weight is None else o * weight
    how: dict[str, Any] = {"dst_type": "float8_e4m3fn", "output_origin": True}
    is_mx = (inputs or {}).get("quant_mode") == 1
    y, scale = quantized(o, rule, 32 if is_mx else 128, least)
    if is_mx:
        scale = (np.log2(scale) + 127).astype(np.uint8).reshape(40, 4, 2)
    return {"x": x} | how | (inputs or {}), (y, scale, o.astype(dtype))


def limited(a: Any, b: Any, limit: Any) -> Any:
    return np.minimum(a, limit), np.maximum(np.minimum(b, limit), -limit)


def of_units() -> Iterator[Wrong]:
    """Return a row per formula of the gated linear unit."""

    def row(name: str, words: str, dtype: Any = np.float16, **how: Any) -> Wrong:
        make = partial(of_glu, dtype, **how)
        return Wrong(GLU, name, name in BENIGN, make, words, name not in BENIGN)

    mx, powers = {"quant_mode": 1, "round_scale": True}, {"round_scale": True}
    weight = F32(np.random.default_rng(5).uniform(0.5, 2, 40))
    for dtype in (np.float16, BF16):
        words = np.dtype(dtype).name
        for name in UNITS:
            if "bf16" not in name and "fp16" not in name:
                yield row(name, words, dtype, unit=name)
        for name, rule in RULES.items():
            yield row(name, f"{words} blocks", dtype, rule=rule)
        for name, rule in OF_POWERS.items():
            yield row(name, f"{words} powers", dtype, rule=rule, inputs=powers)
            if name != "scale as it is":
                yield row(name, f"{words} mx", dtype, rule=rule, inputs=mx)
    given = {"weight": weight}
    yield row("reference", "weights", inputs=given, weight=weight[:, None])
    yield row("weight ignored", "weights", inputs=given)
    limit = {"clamp_limit": 3.0}
    yield row("reference", "limits", inputs=limit, change=lambda a, b: limited(a, b, F32(3)))
    yield row("without limits", "limits", inputs=limit)
    for n in (0, -1):
        change = partial(limited, limit=F32(n))
        yield row(
            "limits that are not above 0", f"{n}", inputs={"clamp_limit": float(n)}, change=change
        )
    tiny = {"weight": np.full(40, 1e-6, F32)}
    yield row("reference", "tiny", inputs=tiny, weight=F32(1e-6))
    yield row("amax without 1e-4", "tiny", inputs=tiny, weight=F32(1e-6), least=0)


# Two levels. The magnitudes of float4, and what is nearest to them.

MAGNITUDES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def float4(q: Any, mode: str = "rint") -> Any:
    """Return codes, unpacked: of the steps at a number's magnitude whole numbers are taken."""
    a = np.abs(q.astype(np.float64))
    step = np.where(a < 2, 0.5, np.where(a < 4, 1, 2))
    whole = {"rint": np.rint, "round": away, "floor": np.floor, "trunc": np.trunc}[mode](
        q.astype(np.float64) / step
    )
    index = np.searchsorted(MAGNITUDES, np.minimum(np.abs(whole * step), 6))
    return (index | np.where(np.signbit(q), 8, 0)).astype(np.uint8)


def exchanged(codes: Any) -> Any:
    return codes.reshape(len(codes), -1, 2)[:, :, ::-1].reshape(codes.shape)


def of_dual(
    dtype: Any,
    scale: Callable[[Any], Any] = lambda amax: amax / F32(6),
    divide: Callable[[Any, Any], Any] = np.divide,
    is_kept: bool = True,
    mode: str = "rint",
    asked: str = "rint",
    emax: int = 2,
    is_high_first: bool = False,
) -> Made:
    """Codes, scales and bytes of 2 groups in a row, with another step in them."""
    x = (np.random.default_rng(20240607).standard_normal((40, 1024)) * 4).astype(dtype)
    groups = x.astype(F32).reshape(40, 2, 512)
    level0 = scale(np.abs(groups).max(axis=2, keepdims=True)).astype(F32)
    t = divide(groups, level0)
    t = (t.astype(dtype).astype(F32) if is_kept else t).reshape(40, 32, 32)
    exponent = np.floor(np.log2(np.abs(t).max(axis=2, keepdims=True).astype(np.float64))) - emax
    y = float4(t / power(exponent), mode).reshape(40, 1024)
    b = (exponent + 127).astype(np.uint8).reshape(40, 16, 2)
    return {"input": x, "round_mode": asked}, (
        exchanged(y) if is_high_first else y,
        level0[..., 0],
        b,
    )


def of_two_levels() -> Iterator[Wrong]:
    """Return a row per formula of the two levels."""
    wrong: dict[str, dict[str, Any]] = {
        "reference": {},
        "scale amax * (1/6)": {"scale": lambda amax: amax * (ONE / F32(6))},
        "scale 1": {"scale": np.ones_like},
        "x * (1/scale)": {"divide": lambda x, scale: x * (ONE / scale)},
        "t in float32": {"is_kept": False},
        "round_mode round": {"mode": "round"},
        "round_mode floor": {"mode": "floor"},
        "truncation": {"mode": "trunc"},
        "emax ignored": {"emax": 0},
        "high nibble first": {"is_high_first": True},
    }
    for dtype in (np.float16, BF16):
        for name, how in wrong.items():
            is_benign = name in BENIGN | {"scale amax * (1/6)"}
            make = partial(of_dual, dtype, **how)
            yield Wrong(DUAL, name, is_benign, make, np.dtype(dtype).name, not is_benign)
    for mode in ("round", "floor"):
        make = partial(of_dual, np.float16, mode=mode, asked=mode)
        yield Wrong(DUAL, "reference", True, make, f"as told to {mode}", False)


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    yield from of_units()
    yield from of_two_levels()
