"""The named formulas of fake quantization and of the norm, against the same written once more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from golden_wrongs import BF16, DTYPES, F32, bf16, codes, f16, fake, norm_values, on_ties
from golden_wrongs.fake import HIGH, LOW, faked
from golden_wrongs.norm import N, inputs_of, lanes, normed, own_t, quantized
from golden_wrongs.norm_siblings import of_one
from test_golden_named import has, listed, matching, names_of

import npu_quant
from npu_quant.golden.operators import Model, model_of


def per_channel(x: Any, scale: Any, zero: Any) -> Model:
    return model_of(f"{fake.OP}_cachemask", fake.inputs_of(x, scale, zero))


class TestFakeQuantize:
    @pytest.mark.parametrize("dtype", [np.float16, F32], ids=lambda d: np.dtype(d).name)
    def test_the_910b(self, dtype: Any, rng: np.random.Generator) -> None:
        """Vectors with scale 0.1: NaN with zero point 5 and [0, 255] is -0.5, mask True."""
        inputs = {
            "self": np.array([np.nan, 0.25, np.inf, -np.inf], dtype),
            "scale": np.array([0.1], F32),
            "zero_point": np.array([5], np.int32),
            "fake_quant_enabled": np.array([1]),
            "quant_min": 0,
            "quant_max": 255,
        }
        model = model_of("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", inputs)
        actual = np.array([-0.5, 0.2, 25, -0.5], dtype), np.array([True, True, False, False])
        matches = matching(model, actual)
        assert [(m.name, m.benign) for m in matches] == [("ascend910b", True)]
        inputs |= {"zero_point": np.array([0], np.int32), "quant_min": 1}
        model = model_of("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", inputs)
        actual = np.array([0, 0.2, 25.5, 0.1], dtype), np.array([False, True, False, False])
        assert names_of(model, actual) == ["ascend910b"]

    def test_the_910bs_mask_of_float16(self) -> None:
        """Beyond 2048 it is compared in float16: 2049 is 2048 there."""
        inputs = {
            "self": np.array([2000], np.float16),
            "scale": 1.0,
            "zero_point": 49,
            "quant_min": 0,
            "quant_max": 2048,
        }
        model = model_of("fake_quantize_per_tensor_affine_cachemask", inputs)
        assert model.golden()[1].tolist() == [False]
        actual = model.golden()[0], np.array([True])
        assert names_of(model, actual) == ["ascend910b"]

    def test_the_950(self, rng: np.random.Generator) -> None:
        scale, zero = F32(rng.uniform(0.1, 3, 64)), rng.integers(-9, 9, 64).astype(np.int32)
        x = on_ties(scale, 0, F32)
        x[3, 4] = np.nan
        q = np.rint(x / scale + zero.astype(F32))
        q[3, 4] = 0
        model = per_channel(x, scale, zero)
        assert names_of(model, faked(q, scale, zero.astype(F32), F32)) == ["ascend950"]

    def test_float_zero_points(self, rng: np.random.Generator) -> None:
        scale, zero = F32(rng.uniform(0.1, 3, 64)), F32(rng.uniform(-9, 9, 64))
        x = on_ties(scale, 0, F32)
        model = per_channel(x, scale, zero)
        for name, q in {
            "reference": np.rint(zero + x * (1 / scale)),
            "x / scale": np.rint(zero + x / scale),
            "truncation": np.trunc(zero + x * (1 / scale)),
        }.items():
            c = np.clip(q, LOW, HIGH).astype(np.float64)
            output = ((c - zero) * scale.astype(np.float64)).astype(F32)
            actual = output, (q >= LOW) & (q <= HIGH)
            assert has(names_of(model, actual), name), name
        q = np.rint(x * (1 / scale)) + zero
        c = np.clip(q, F32(LOW), F32(HIGH)).astype(np.float64)
        actual = ((c - zero) * scale.astype(np.float64)).astype(F32), None
        matches = {m.name: m.benign for m in matching(model, actual)}
        assert matches == {"zero point after rounding": False}

    def test_ranges_and_masks(self, rng: np.random.Generator) -> None:
        scale, zero = F32(rng.uniform(0.1, 3, 64)), np.zeros(64, np.int32)
        x = on_ties(scale, 0, F32) * 3
        model, z = per_channel(x, scale, zero), F32(0)
        q = np.rint(x * (1 / scale)) + z  # which makes 0 of -0
        output, mask = faked(q, scale, z, F32)
        assert names_of(model, faked(q, scale, z, F32, low=-127)) == ["narrow range"]
        strict = output, (q > LOW) & (q < HIGH)
        assert names_of(model, strict) == ["mask without the ends"]
        for name, narrow in {"fp16 scale": f16(scale), "bf16 scale": bf16(scale)}.items():
            actual = faked(np.rint(x * (1 / narrow)) + z, narrow, z, F32)
            assert names_of(model, actual) == [name]
        x[0, 0] = np.inf
        output[0, 0], mask[0, 0] = LOW * scale[0], False
        model = per_channel(x, scale, zero)
        matches = matching(model, (output, mask))
        assert [(m.name, m.benign) for m in matches] == [("beyond int64 is quant_min", False)]

    def test_switched_off(self) -> None:
        inputs = {
            "self": F32([1.25, np.nan]),
            "scale": F32([0.5]),
            "zero_point": np.int32([0]),
            "fake_quant_enabled": np.array([0]),
            "quant_min": -8,
            "quant_max": 7,
        }
        model = model_of("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", inputs)
        assert names_of(model, model.golden()) == ["reference"]


@pytest.fixture(params=DTYPES, ids=lambda d: np.dtype(d).name)
def inputs(request: pytest.FixtureRequest) -> dict[str, Any]:
    return inputs_of(request.param)


class TestAddRmsNormQuant:
    def test_zero_points_that_are_none_or_fractions(self, inputs: dict[str, Any]) -> None:
        def rows(zero_points: Any) -> dict[str, bool]:
            changed = inputs | {"zero_points1": zero_points}
            model = model_of("npu_add_rms_norm_quant", changed)
            return {v.name: v.benign for v in listed(model) if "zero point" in v.name}

        assert rows(None) == rows(np.zeros(N, np.int32)) == {}
        assert rows(np.full(N, 2, F32))["zero point after rounding"] is True
        assert rows(np.full(N, 2.5, F32))["zero point after rounding"] is False

    def test_the_rounded_sums(self, inputs: dict[str, Any]) -> None:
        dtype = inputs["x1"].dtype
        model = model_of("npu_add_rms_norm_quant", inputs)
        if dtype == F32:
            assert not any("rounded" in v.name for v in listed(model))
            return
        t = own_t(inputs).astype(dtype).astype(F32)
        assert "t rounded to x1's dtype" in names_of(model, quantized(inputs, t))

    def test_the_910b(self, inputs: dict[str, Any]) -> None:
        """float16: a half sum, terms scaled before they are added, two products in half."""
        dtype, model = inputs["x1"].dtype, model_of("npu_add_rms_norm_quant", inputs)
        steps: dict[str, Any] = {"scaled": True}
        if dtype == np.float16:
            steps["s"] = f16
            steps["t"] = lambda s, rstd, root, g: f16(g * f16(s * rstd))
        t = own_t(inputs, **steps)
        matches = {m.name: m.benign for m in matching(model, quantized(inputs, t))}
        assert matches.get("ascend910b") == (None if dtype == F32 else True)
        assert names_of(model, model.golden())[0] == "reference"
        if dtype == BF16:
            t = own_t(inputs, scaled=True, s=bf16)
            assert "ascend910b, rounded x" in names_of(model, quantized(inputs, t))

    def test_one_scale_and_beta(self, inputs: dict[str, Any]) -> None:
        beta = inputs["gamma"][::-1].copy()
        changed = inputs | {"scales1": F32([0.02]), "zero_points1": np.int32([3]), "beta": beta}
        model = model_of("npu_add_rms_norm_quant", changed)
        t = own_t(inputs, scaled=True) + beta.astype(F32)
        y = codes(t * (F32(1) / F32([0.02])) + F32(3))
        assert "ascend910b per tensor" in names_of(model, (y, None, None))
        without = codes((t - t + own_t(inputs)) / F32(0.02) + F32(3))
        assert "beta ignored" in names_of(model, (without, None, None))

    def test_epsilon_outside_the_root(self, inputs: dict[str, Any]) -> None:
        model = model_of("npu_add_rms_norm_quant", inputs)
        s = inputs["x1"].astype(F32) + inputs["x2"].astype(F32)
        root = np.sqrt(lanes(s * s) / F32(N)) + F32(1e-6)
        t = s * (F32(1) / root)[:, None] * inputs["gamma"].astype(F32)
        assert "epsilon outside the root" in names_of(model, quantized(inputs, t))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_the_reference_of_a_number_and_of_scales_of_any_sign(dtype: Any) -> None:
    """What test_golden_references.py does not try."""
    x = np.array([[3.3, np.nan, -1e-5, np.inf]], dtype)
    value = {"scale": -0.3, "zero_point": 9, "scalar_type": "quint8"}
    fake = {"quant_min": LOW, "quant_max": HIGH, "zero_point": 3}
    for op, inputs in (
        ("quantize_val", value | {"value": x}),
        ("quantize_val", value | {"value": x[0, 0:1].reshape(())}),
        ("fake_quantize_per_tensor_affine", fake | {"self": x, "scale": 0.0}),
        ("fake_quantize_per_tensor_affine", fake | {"self": x[0, 0:1].reshape(()), "scale": 1.0}),
    ):
        model = model_of(op, inputs)
        assert names_of(model, model.golden())[0] == "reference", op


class TestRelativesOfTheNorm:
    @pytest.mark.parametrize("dtype", DTYPES[:2], ids=lambda d: np.dtype(d).name)
    def test_an_a2_rounds_t_to_float16(self, dtype: Any) -> None:
        """Its codes are another rounding's, which a comparison accepts by its name."""
        given, norm = of_one(dtype)
        y = codes(f16(norm()) / given["scale"] + given["offset"].astype(F32))
        asked: dict[str, Any] = {"op": "npu_rms_norm_quant_v2", "inputs": given}
        comparison = npu_quant.golden.compare((y, None), **asked)
        assert (comparison.rung, comparison.passed) == ("variant", True)
        assert comparison.variants[0].name == "ascend910b"

    @pytest.mark.parametrize("dtype", DTYPES[:2], ids=lambda d: np.dtype(d).name)
    def test_an_a2_rounds_the_sum_and_its_product_with_rstd(self, dtype: Any) -> None:
        """A comparison accepts it by its name."""
        stored = f16 if dtype == np.float16 else bf16
        product = {"t": lambda s, rstd, root, g: stored(s * rstd) * g}
        given, actual = norm_values.made(dtype, product | {"s": stored}, adds=True)
        comparison = npu_quant.golden.compare(actual, op="npu_add_rms_norm", inputs=given)
        assert (comparison.rung, comparison.passed) == ("variant", True)
        assert comparison.variants[0].name == "ascend910b"

    def test_a_row_of_zeros_with_scale_1(self) -> None:
        """As the operator's own test in op-plugin has it; here the scale is 0."""
        x, gamma = F32([[1, -2], [0, 0]]), F32([1, 1])
        y, scale = npu_quant.npu_rms_norm_dynamic_quant(x, gamma)
        model = model_of("npu_rms_norm_dynamic_quant", {"x": x, "gamma": gamma})
        assert "scale 1 for 0" in names_of(model, (y, F32([scale[0], 1])))

    def test_a_scale_of_what_beta_cancels_is_judged_by_its_terms(self) -> None:
        """t is near 1, and t + beta a hundredth: an ulp of t is a hundred of the scale."""
        rng = np.random.default_rng(5)
        x = F32(1 + 0.001 * rng.standard_normal((32, 640)))
        gamma, beta = np.ones(640, F32), np.full(640, -0.99, F32)
        given = {"x": x, "gamma": gamma, "beta": beta}
        t = normed(x, np.zeros_like(x), gamma, total=lambda v: np.sum(v, axis=1)) + beta
        scale = np.abs(t).max(axis=1) / F32(127)
        y = codes(t / scale[:, None])
        golden = npu_quant.npu_rms_norm_dynamic_quant(**given)
        steps = np.abs(scale.view(np.int32) - golden.scale.view(np.int32)).max()
        assert steps > 30  # of the 19 that are allowed of a scale that is no sum
        comparison = npu_quant.golden.compare(
            (y, scale), op="npu_rms_norm_dynamic_quant", inputs=given
        )
        assert comparison.output("scale").rung == "tie", str(comparison)
        wrong = scale * F32(1.01)
        assert not npu_quant.golden.compare(
            (y, wrong), op="npu_rms_norm_dynamic_quant", inputs=given
        ).passed

    def test_codes_of_a_norm_alone_say_nothing_of_its_scale(self) -> None:
        given, _ = of_one(np.float16)
        own = {"x": given["x"], "gamma": given["gamma"]}
        y = npu_quant.npu_rms_norm_dynamic_quant(**own, epsilon=1.0).y
        comparison = npu_quant.golden.compare(y, op="npu_rms_norm_dynamic_quant", inputs=own)
        assert "power" not in str(comparison)
