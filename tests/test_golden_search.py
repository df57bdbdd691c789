"""Formulas that nobody wrote down, and formulas beside a device's ordinary ties: both are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from golden_wrongs import F32, Outputs, away, bf16, codes, f16
from golden_wrongs.norm import inputs_of, lanes
from test_golden_variants import few_bits

import npu_quant
from npu_quant.golden import compare

Made = tuple[str, dict[str, Any], Outputs]


def half_up(q: Any) -> Any:
    return np.floor(q + F32(0.5))


def amax_of(v: Any) -> Any:
    return np.abs(v).max(axis=-1, keepdims=True)


def rows(
    x: Any,
    v: Any = None,
    scale: Callable[[Any], Any] = lambda amax: amax / F32(127),
    quotient: Callable[[Any, Any, Any], Any] = lambda v, s, amax: v / s,
    rounding: Callable[[Any], Any] = np.rint,
    *,
    reported: Callable[[Any], Any] = lambda s: s,
    low: int = -128,
    **more: Any,
) -> Made:
    """Quantize rows by a scale of each."""
    v = x.astype(F32) if v is None else v
    amax = amax_of(v)
    s = scale(amax)
    y = np.clip(rounding(quotient(v, s, amax)), low, 127).astype(np.int8)
    return "npu_dynamic_quant", {"input": x, **more}, (y, reported(s)[:, 0].astype(F32))


def inverse(v: Any, s: Any, amax: Any) -> Any:
    return v * (F32(1) / s)


def of_blocks(x: Any) -> Made:
    """Blocks of 128 columns by the scale of their whole row, ties away from zero."""
    v = x.astype(F32)
    scale = amax_of(v) / F32(127)
    both = np.repeat(scale, x.shape[1] // 128, axis=1)
    return "npu_dynamic_block_quant", {"x": x}, (codes(v / scale, away), both)


def of_norms(dtype: Any) -> Made:
    """A norm with epsilon outside the root, truncated."""
    inputs = inputs_of(dtype)
    s = inputs["x1"].astype(F32) + inputs["x2"].astype(F32)
    root = np.sqrt(lanes(s * s) / F32(s.shape[1])) + F32(1e-6)
    t = s * (F32(1) / root)[:, None] * inputs["gamma"].astype(F32)
    q = t / inputs["scales1"] + inputs["zero_points1"].astype(F32)
    return "npu_add_rms_norm_quant", inputs, (codes(q, np.trunc), None, None)


def of_channels(x: Any) -> Made:
    """A zero point subtracted, from a quotient in float16."""
    scale = F32(np.linspace(0.02, 0.05, x.shape[1]))
    zero = np.arange(x.shape[1], dtype=np.int32) % 7 + 1
    q = np.rint(f16(x.astype(F32) / scale) - zero.astype(F32))
    inputs = {"self": x, "scales": scale, "zero_points": zero, "dtype": "int8"}
    return "npu_quantize", inputs, (codes(q),)


def of_mx(x: Any) -> Made:
    """The least exponent by which amax fits, and products in bfloat16."""
    v = x.astype(F32).reshape(len(x), -1, 32)
    amax = amax_of(v)
    part, exponent = np.frexp(amax / F32(448))
    e = np.where(part == 0.5, exponent - 1, exponent)
    y = bf16(v * np.ldexp(F32(1), -e)).reshape(x.shape).astype(ml_dtypes.float8_e4m3fn)
    scales = (e[..., 0] + 127).astype(np.uint8).reshape(len(x), -1, 2)
    return "npu_dynamic_mx_quant", {"input": x, "dst_type": "float8_e4m3fn"}, (y, scales)


X = few_bits(3, (256, 512), np.float16)
WIDE = F32(np.random.default_rng(4).standard_normal((256, 512)))
WIDE[:64] = np.rint(WIDE[:64] * 60) / F32(2)  # ties, where the scale is 1
WIDE[:64, 0] = 127
SMOOTH = np.random.default_rng(5).uniform(0.5, 2, 512).astype(np.float16)
COMPOSITIONS: dict[str, Made] = {
    "input as bf16, scale amax * (1/127), x * (1/scale), half away": rows(
        WIDE, bf16(WIDE), lambda a: a * (F32(1) / F32(127)), inverse, away
    ),
    "fp16 scale, y by the float32 one, truncation": rows(X, rounding=np.trunc, reported=f16),
    "input as bf16, truncation": rows(WIDE, bf16(WIDE), rounding=np.trunc),
    "scale amax / 127.5, x * (1/scale), clamp -127": rows(
        X, None, lambda a: a / F32(127.5), inverse, low=-127
    ),
    "fp16 scale, half up": rows(X, None, lambda a: f16(a / F32(127)), rounding=half_up),
    "smooth_scales ignored, x * (127/amax)": rows(
        X, None, quotient=lambda v, s, a: v * (F32(127) / a), smooth_scales=SMOOTH
    ),
    "amax + 1e-5, bf16 quotient": rows(
        WIDE * F32(1e-3),
        None,
        lambda a: (a + F32(1e-5)) / F32(127),
        lambda v, s, a: bf16(v / s),
    ),
    "scale amax / 128, floor": rows(X, None, lambda a: a / F32(128), rounding=np.floor),
    "bf16 scale, fp16 quotient, ceil": rows(
        X, None, lambda a: bf16(a / F32(127)), lambda v, s, a: f16(v / s), np.ceil
    ),
    "per row, half away": of_blocks(X),
    "epsilon outside the root, truncation": of_norms(np.float16),
    "fp16 quotient, zero point subtracted": of_channels(X),
    "scale rceil, bf16 products": of_mx(WIDE),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_a_composition_is_found(name: str) -> None:
    op, inputs, actual = COMPOSITIONS[name]
    comparison = compare(actual, op=op, inputs=inputs)
    assert (comparison.rung, comparison.passed) == ("variant", False)
    found = comparison.variants[0]
    assert not found.left
    assert set(found.name.split(", ")) == set(name.split(", "))
    assert compare(actual, op=op, inputs=inputs, variant=name).passed


def with_a_multiplier() -> Made:
    """Codes of float8_e4m3fn by x * (448 / amax), and the multiplier as the scale."""
    v = WIDE
    multiplier = F32(448) / amax_of(v)
    y = (v * multiplier).astype(ml_dtypes.float8_e4m3fn)
    return "npu_dynamic_quant", {"input": v, "dst_type": "float8_e4m3fn"}, (y, multiplier[:, 0])


def with_another_epsilon() -> Made:
    """A norm whose squares are added in another order, with epsilon outside the root."""
    inputs = inputs_of(np.float16)
    s = inputs["x1"].astype(F32) + inputs["x2"].astype(F32)
    mean = np.sum((s * s)[:, ::-1], axis=1, dtype=F32) * (F32(1) / F32(s.shape[1]))
    inputs = inputs | {"epsilon": 0.25}
    t = s / (np.sqrt(mean) + F32(0.25))[:, None] * inputs["gamma"].astype(F32)
    q = t * (F32(1) / inputs["scales1"]) + inputs["zero_points1"].astype(F32)
    return "npu_add_rms_norm_quant", inputs, (codes(q), None, None)


def clamped() -> Made:
    """npu_quantize by the reciprocal of a scale, without the least code."""
    scale = F32(np.linspace(0.01, 0.02, 512))
    y = np.clip(np.rint(X.astype(F32) * (F32(1) / scale)), -127, 127).astype(np.int8)
    # Some ties are rounded to the other side, as another order of operations may.
    inputs = {"self": X, "scales": scale, "zero_points": None, "dtype": "int8"}
    q = X.astype(np.float64) / scale
    at = np.abs(q - np.floor(q) - 0.5) < 1e-6
    y[at] = np.where(y[at] > q[at], np.floor(q[at]), np.ceil(q[at])).clip(-127, 127)
    return "npu_quantize", inputs, (y,)


TIES = {
    "clamp -127": clamped,
    "scale is 448 / amax": with_a_multiplier,
    "epsilon outside the root": with_another_epsilon,
}


@pytest.mark.parametrize("name", TIES)
def test_a_formula_is_found_beside_ordinary_ties(name: str) -> None:
    """All but some codes, each at a tie of the formula's own; it passes by its name alone."""
    op, inputs, actual = TIES[name]()
    comparison = compare(actual, op=op, inputs=inputs)
    assert (comparison.rung, comparison.passed) == ("variant", False), str(comparison)
    found = comparison.variants[0]
    assert name in found.name.split(", ")
    assert found.left == found.at_ties
    assert compare(actual, op=op, inputs=inputs, variant=name).passed


def test_what_is_wrong_in_one_row_is_no_formula_up_to_ties() -> None:
    op, inputs, actual = clamped()
    wrong = actual[0].copy()
    wrong[9] = -wrong[9]
    comparison = compare(wrong, op=op, inputs=inputs)
    assert comparison.rung == "different"
    assert not any(match.explains for match in comparison.variants)


def test_half_of_the_codes_of_a_formula_are_none() -> None:
    """Neither the formula nor the reference explains what is half and half."""
    op, inputs, actual = rows(X, rounding=np.trunc)
    y = actual[0].copy()
    y[::2] = npu_quant.npu_dynamic_quant(X).y[::2]
    assert compare((y, actual[1]), op=op, inputs=inputs).rung == "different"


def test_noise_is_no_formula() -> None:
    rng = np.random.default_rng(8)
    y, scale = npu_quant.npu_dynamic_quant(X)
    y = np.clip(y + rng.integers(-2, 3, y.shape), -128, 127).astype(np.int8)
    comparison = compare((y, scale), op="npu_dynamic_quant", inputs={"input": X})
    assert (comparison.rung, comparison.variants) == ("different", ())
