"""What rounding explains and what it does not: harmless formulas and planted bugs, by operator.

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
from npu_quant.golden import Comparison, compare
from npu_quant.golden.models import outputs_of
from npu_quant.testing import GoldenMismatch, assert_golden

Array = NDArray[Any]
F32 = np.float32
ROWS, N = 512, 1024
SIXTEEN = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


def sat8(v: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(v), 0, np.clip(np.rint(v), -128, 127)).astype(np.int8)


def half_away(v: Array) -> Array:
    away = np.copysign(np.floor(np.abs(v.astype(np.float64)) + 0.5), v)
    return np.clip(away, -128, 127).astype(np.int8)


@pytest.fixture(scope="module", params=SIXTEEN, ids=lambda d: d.name)
def x(request: pytest.FixtureRequest) -> Array:
    rng = np.random.default_rng(7)
    return rng.standard_normal((ROWS, N)).astype(request.param)


class Rows:
    """The terms of dynamic quantization."""

    def __init__(self, x: Array) -> None:
        self.v = x.astype(F32)
        self.amax = np.abs(self.v).max(axis=-1)
        self.scale = self.amax / F32(127)

    def compare(self, y: Array, scale: Array | None, x: Array, **more: Any) -> Comparison:
        return compare((y, scale), op="npu_dynamic_quant", inputs={"input": x}, **more)


def column(a: Array) -> Array:
    return a[:, None]


HARMLESS: dict[str, Callable[[Rows], Array]] = {
    "x * (1/s)": lambda r: sat8(r.v * column(F32(1) / r.scale)),
    "x * (127/A)": lambda r: sat8(r.v * column(F32(127) / r.amax)),
    "x * ((1/A) * 127)": lambda r: sat8(r.v * column(F32(1) / r.amax * F32(127))),
    "half away": lambda r: half_away(r.v / column(r.scale)),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_another_order_of_operations_is_a_tie(x: Array, name: str) -> None:
    rows = Rows(x)
    comparison = rows.compare(HARMLESS[name](rows), rows.scale, x)
    y = comparison.output("y")
    assert (comparison.rung, y.rung, comparison.output("scale").rung) == ("tie", "tie", "identical")
    assert y.metrics is not None
    assert y.ties is not None
    # Of 2^19 codes, as 311 to 387 (fp16) and 1083 to 1459 (bf16) of 2^22.
    assert 15 < y.metrics.mismatches < 300
    assert y.ties.farthest < 1
    assert comparison.variants
    assert all(v.benign for v in comparison.variants)


@pytest.mark.parametrize(
    "scale_of",
    [lambda a: a * (F32(1) / F32(127)), lambda a: F32(1) / (F32(127) / a)],
    ids=["A * (1/127)", "1 / (127/A)"],
)
def test_another_way_to_the_scale_is_a_tie_in_both(x: Array, scale_of: Any) -> None:
    rows = Rows(x)
    scale = scale_of(rows.amax)
    assert 0.01 < np.mean(scale != rows.scale) < 0.5
    comparison = rows.compare(sat8(rows.v / column(scale)), scale, x)
    assert {o.name: o.rung for o in comparison.outputs} == {"y": "tie", "scale": "tie"}
    ties = comparison.output("y").ties
    assert ties is not None
    assert ties.farthest < 1
    assert comparison.variants  # the report names the joint formula
    assert "identical to:" in str(comparison)


def test_a_quotient_in_float16_is_a_variant_that_is_not_benign(x: Array) -> None:
    rows = Rows(x)
    y = sat8((rows.v / column(rows.scale)).astype(np.float16).astype(F32))
    comparison = rows.compare(y, rows.scale, x)
    y_ties = comparison.output("y").ties
    assert (comparison.rung, comparison.passed) == ("variant", False)
    assert y_ties is not None
    assert 4000 < y_ties.farthest < 4200
    assert [v.benign for v in comparison.variants] == [False] * len(comparison.variants)
    name = comparison.variants[0].name
    assert rows.compare(y, rows.scale, x, variant=name).passed


def test_a_scale_in_bfloat16_is_a_variant_that_is_not_benign(x: Array) -> None:
    rows = Rows(x)
    scale = rows.scale.astype(ml_dtypes.bfloat16).astype(F32)
    comparison = rows.compare(sat8(rows.v / column(scale)), scale, x)
    assert (comparison.rung, comparison.passed) == ("variant", False)
    assert {o.name: o.rung for o in comparison.outputs} == {"y": "variant", "scale": "variant"}
    ties = comparison.output("y").ties
    assert ties is not None
    assert ties.farthest > 20_000


def test_truncation_is_a_variant_that_is_not_benign(x: Array) -> None:
    rows = Rows(x)
    comparison = rows.compare(np.trunc(rows.v / column(rows.scale)).astype(np.int8), rows.scale, x)
    y = comparison.output("y")
    assert (comparison.rung, comparison.passed) == ("variant", False)
    assert y.metrics is not None
    assert y.ties is not None
    assert 0.45 < y.metrics.mismatches / y.metrics.count < 0.55
    assert y.ties.farthest > 8e6


def one_row(rows: Rows, factor: float, row: int = 7) -> tuple[Array, Array]:
    scale = rows.scale.copy()
    scale[row] = F32(float(scale[row]) * factor)
    return sat8(rows.v / column(scale)), scale


class TestOneRowsScale:
    def test_one_ulp_off_is_a_tie(self, x: Array) -> None:
        rows = Rows(x)
        scale = rows.scale.copy()
        scale[7] = np.nextafter(scale[7], F32(9))
        comparison = rows.compare(sat8(rows.v / column(scale)), scale, x)
        assert comparison.rung == "tie"
        assert comparison.output("scale").rung == "tie"

    def test_2_to_the_minus_20_off_is_different_by_the_scale_alone(self, x: Array) -> None:
        rows = Rows(x)
        y, scale = one_row(rows, 1 + 2**-20)
        comparison = rows.compare(y, scale, x)
        assert comparison.rung == "different"
        assert comparison.output("scale").rung == "different"
        assert comparison.output("y").rung in ("identical", "tie")
        metrics = comparison.output("scale").metrics
        assert metrics is not None
        assert 8 <= metrics.max_steps <= 16

    def test_without_the_scale_it_cannot_be_seen_and_the_report_says_so(self, x: Array) -> None:
        rows = Rows(x)
        y, _ = one_row(rows, 1 + 2**-20)
        comparison = rows.compare(y, None, x)
        assert comparison.rung in ("identical", "tie")
        assert "power:" in str(comparison)

    @pytest.mark.parametrize("factor", [1 + 2**-12, 0.99, 1.05])
    def test_more_is_different_and_the_row_is_named(self, x: Array, factor: float) -> None:
        rows = Rows(x)
        y, scale = one_row(rows, factor)
        for given in (scale, None):
            comparison = rows.compare(y, given, x)
            found = comparison.output("y")
            assert found.rung == "different"
            assert found.ties is not None
            assert found.ties.farthest > 1000
        assert "scale" in str(rows.compare(y, scale, x)).splitlines()[0]
        if factor in (0.99, 1.05):
            text = str(comparison)
            assert "only in row 7" in text
            assert f"the scale of row 7 is wrong by {100 * (factor - 1):+.2g} %" in text

    def test_the_codes_follow_from_the_scale_they_were_given(self, x: Array) -> None:
        rows = Rows(x)
        y, scale = one_row(rows, 0.99)
        comparison = rows.compare(y, scale, x)
        assert comparison.decisive.name == "scale"
        assert comparison.output("y").follows_scale
        assert "follows from the scale it was given" in str(comparison)
        other = y.copy()
        other[7, 3] += 2
        assert rows.compare(other, scale, x).output("y").follows_scale is False


def test_a_shifted_block_is_different_and_named(x: Array) -> None:
    rows = Rows(x)
    y = sat8(rows.v / column(rows.scale))
    shifted = y.copy()
    shifted[3, 256:384] = np.roll(y[3, 256:384], 1)
    comparison = rows.compare(shifted, rows.scale, x)
    text = str(comparison)
    assert comparison.rung == "different"
    assert "only in row 3 columns 256-383" in text
    assert "shifted right by 1 column" in text


def test_one_code_on_the_wrong_side_of_a_tie_is_different() -> None:
    x = np.full((1, 4), 127, np.float16)
    x[0, 1] = 42.5  # scale 1, before rounding 42.5: golden 42
    inputs = {"input": x}
    y = npu_quant.npu_dynamic_quant(x).y.copy()
    assert y[0, 1] == 42
    y[0, 1] = 41  # the tie between 41 and 42 is 41.5, one away: 2^18 ulp of 32 to 64
    comparison = compare(y, op="npu_dynamic_quant", inputs=inputs)
    ties = comparison.output("y").ties
    assert comparison.rung == "different"
    assert ties is not None
    assert ties.farthest == 2**18
    y[0, 1] = 43
    assert compare(y, op="npu_dynamic_quant", inputs=inputs).rung == "tie"


def test_scales_of_another_axis_are_different(x: Array) -> None:
    rows = Rows(x)
    by_column = np.abs(rows.v).max(axis=0) / F32(127)
    y = sat8(rows.v / by_column)
    comparison = rows.compare(y, by_column[:ROWS], x)
    assert comparison.rung == "different"
    found = comparison.output("y").metrics
    assert found is not None
    assert found.mismatches > 0.5 * y.size


# ---- The same for the other operators: (name, inputs, output, harmless, harmful) on small data.


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


SCALES = (np.arange(1, N + 1) / 3000).astype(F32)
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
