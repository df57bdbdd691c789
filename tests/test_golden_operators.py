"""What rounding explains and what it does not, operator by operator.

The formulas are written here in plain NumPy, float32 operation by operation; none is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import npu_quant
from npu_quant.commands.bench import CASES
from npu_quant.golden import compare
from npu_quant.golden.operators import operators, outputs_of
from npu_quant.testing import GoldenMismatch, assert_golden

Array = NDArray[Any]
F32 = np.float32
ROWS, N = 128, 256
SIXTEEN = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


def test_every_operator_can_be_compared_and_measured() -> None:
    """But gradients and casts; not measured are forms of others, what takes codes, and MX."""
    compared = set(operators())
    assert set(npu_quant.ops.__all__) - compared == {
        "dequantize_val",
        "npu_dtype_cast",
        "fake_quantize_per_channel_affine_cachemask_backward",
        "fake_quantize_per_tensor_affine_cachemask_backward",
    }
    others = {name for name in compared if "cachemask" in name}
    assert compared - set(CASES) == {
        "npu_anti_quant",
        "npu_anti_mx_quant",
        "npu_dynamic_mx_quant",
        "npu_dynamic_block_mx_quant",
        "npu_dynamic_mx_quant_with_dual_axis",
        "npu_grouped_dynamic_block_quant",
        "npu_grouped_dynamic_mx_quant",
        "quantize_val",
        *others,
    }


def sat8(v: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(v), 0, np.clip(np.rint(v), -128, 127)).astype(np.int8)


@pytest.fixture(scope="module", params=SIXTEEN, ids=lambda d: d.name)
def x(request: pytest.FixtureRequest) -> Array:
    rng = np.random.default_rng(7)
    return rng.standard_normal((ROWS, N)).astype(request.param)


def _block(x: Array) -> tuple[Array, Array]:
    blocks = np.abs(x.astype(F32)).reshape(len(x), -1, 128).max(axis=-1)
    return blocks, np.repeat(blocks, 128, axis=1)


def block_quant(x: Array) -> dict[str, Any]:
    amax, wide = _block(x)
    v = x.astype(F32)
    scale = amax / F32(127)
    return {
        "inputs": {"x": x},
        "harmless": (sat8(v * (F32(127) / wide)), scale),
        "harmful": (sat8(v * (F32(127) / wide) * F32(1.01)), scale),
        "truncated": (np.trunc(v / np.repeat(scale, 128, axis=1)).astype(np.int8), scale),
    }


SCALES = (np.arange(1, N + 1) / 750).astype(F32)
ZERO_POINTS = (np.arange(N) % 21 - 10).astype(np.int32)


def quantize(x: Array) -> dict[str, Any]:
    v = x.astype(F32)
    zp = ZERO_POINTS.astype(F32)
    return {
        "inputs": {
            "self": x,
            "scales": SCALES,
            "zero_points": ZERO_POINTS,
            "dtype": "int8",
            "axis": 1,
        },
        "harmless": (sat8(v * (F32(1) / SCALES) + zp),),
        "harmful": (sat8(v / SCALES + zp + F32(0.01)),),
        "truncated": (np.clip(np.trunc(v / SCALES + zp), -128, 127).astype(np.int8),),
    }


def quantize_val(x: Array) -> dict[str, Any]:
    v = x.astype(F32)
    scale = F32(0.037)
    inputs = {"scale": float(scale), "zero_point": 5, "value": x, "scalar_type": "qint8"}
    return {
        "inputs": inputs,
        "harmless": (sat8(v / scale + F32(5)),),
        "harmful": (sat8(v / scale + F32(5.01)),),
        "truncated": (np.clip(np.trunc(v / scale) + 5, -128, 127).astype(np.int8),),
    }


def norm(x: Array) -> dict[str, Any]:
    x1, x2 = x[:64], (x[64:128] * 2).astype(x.dtype)
    gamma = (1 + np.arange(N) / N).astype(x.dtype)
    inputs = {"x1": x1, "x2": x2, "gamma": gamma, "scales1": SCALES, "zero_points1": ZERO_POINTS}
    s = x1.astype(F32) + x2.astype(F32)

    def codes(rstd: Array, shift: float = 0) -> Array:
        t = s * rstd[:, None] * gamma.astype(F32)
        return sat8(t / SCALES + ZERO_POINTS.astype(F32) + F32(shift))

    mean = np.mean(s.astype(np.float64) ** 2, axis=-1).astype(F32)
    rstd = F32(1) / np.sqrt(mean + F32(1e-6))
    y2, total = np.zeros(x1.shape, np.int8), s.astype(x.dtype)
    return {
        "inputs": inputs,
        "harmless": (codes(rstd), y2, total),
        "harmful": (codes(rstd, 0.01), y2, total),
        "truncated": None,
    }


def fake(x: Array) -> dict[str, Any]:
    v, scale, zp = x.astype(F32), F32(0.037), F32(3)
    inputs = {
        "self": x,
        "scale": float(scale),
        "zero_point": 3,
        "quant_min": -128,
        "quant_max": 127,
    }

    def result(q: Array) -> tuple[Array, Array]:
        mask = (q >= -128) & (q <= 127)
        return ((np.clip(q, -128, 127) - zp) * scale).astype(x.dtype), mask

    return {
        "inputs": inputs,
        "harmless": result(np.rint(v / scale) + zp),
        "harmful": result(np.rint(v / scale + F32(0.01)) + zp),
        "truncated": result(np.trunc(v * (F32(1) / scale)) + zp),
    }


def fake_channels(x: Array) -> dict[str, Any]:
    v, zp = x.astype(F32), ZERO_POINTS.astype(F32)
    inputs = {
        "self": x,
        "scale": SCALES,
        "zero_point": ZERO_POINTS,
        "axis": 1,
        "quant_min": -128,
        "quant_max": 127,
    }

    def result(q: Array) -> tuple[Array, Array]:
        mask = (q >= -128) & (q <= 127)
        return ((np.clip(q, -128, 127) - zp) * SCALES).astype(x.dtype), mask

    return {
        "inputs": inputs,
        "harmless": result(np.rint(v / SCALES) + zp),
        "harmful": result(np.rint(v / SCALES + F32(0.01)) + zp),
        "truncated": result(np.trunc(v * (F32(1) / SCALES)) + zp),
    }


OPERATORS: dict[str, Callable[[Array], dict[str, Any]]] = {
    "npu_dynamic_block_quant": block_quant,
    "npu_quantize": quantize,
    "quantize_val": quantize_val,
    "npu_add_rms_norm_quant": norm,
    "fake_quantize_per_tensor_affine_cachemask": fake,
    "fake_quantize_per_channel_affine_cachemask": fake_channels,
}


@pytest.fixture(params=OPERATORS)
def op(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_operator_tells_a_tie_from_a_bug(op: str, x: Array) -> None:
    case = OPERATORS[op](x)
    inputs = case["inputs"]
    golden = getattr(npu_quant, op)(**inputs)
    golden = golden if isinstance(golden, tuple) else (golden,)
    copies = tuple(np.array(g) for g in golden)
    assert assert_golden(copies, op=op, inputs=inputs).rung == "identical"
    harmless = compare(case["harmless"], op=op, inputs=inputs)
    assert harmless.rung in ("identical", "tie"), str(harmless)
    harmful = compare(case["harmful"], op=op, inputs=inputs)
    assert harmful.rung == "different", str(harmful)
    assert "not rounding" in str(harmful)
    with pytest.raises(GoldenMismatch):
        assert_golden(case["harmful"], op=op, inputs=inputs)


def test_every_operator_names_truncation(op: str, x: Array) -> None:
    case = OPERATORS[op](x)
    if case["truncated"] is None:
        pytest.skip("its sum's order is not NumPy's")
    comparison = compare(case["truncated"], op=op, inputs=case["inputs"])
    assert (comparison.rung, comparison.passed) == ("variant", False), str(comparison)
    name = next(v.name for v in comparison.variants if "trunc" in v.name)
    assert compare(case["truncated"], op=op, inputs=case["inputs"], variant=name).passed


def test_every_operator_takes_a_named_tolerance(op: str, x: Array) -> None:
    case = OPERATORS[op](x)
    loose = {n: 1000.0 for n in outputs_of(op) if n not in ("scale", "x")}
    comparison = compare(case["harmful"], op=op, inputs=case["inputs"], atol=loose)
    assert (comparison.rung, comparison.passed) == ("tolerated", True), str(comparison)


def test_another_epsilon_is_no_tie_however_generous_the_bound_of_a_sum() -> None:
    rng = np.random.default_rng(11)
    x1, x2 = (rng.standard_normal((64, 4096)).astype(F32) for _ in "ab")
    inputs = {
        "x1": x1,
        "x2": x2,
        "gamma": np.ones(4096, F32),
        "scales1": np.array([0.02], F32),
        "zero_points1": None,
    }
    wrong = npu_quant.npu_add_rms_norm_quant(**inputs, epsilon=1e-5)
    comparison = compare(wrong, op="npu_add_rms_norm_quant", inputs=inputs)
    ties = comparison.output("y1").ties
    assert ties is not None
    assert ties.farthest <= ties.allowed
    assert (comparison.rung, comparison.passed) == ("variant", False)
    assert [v.name for v in comparison.variants] == ["epsilon 1e-5"]
    assert "another formula's bytes" in str(comparison)
