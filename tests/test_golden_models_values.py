"""The models of operators whose outputs are values: fake quantization, anti quant, the norm."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from test_golden_models import F32, codes, distances

from npu_quant.golden.operators import Model, model_of

BF16 = ml_dtypes.bfloat16


def fake(x: Any, **changed: Any) -> Model:
    inputs = {"self": x, "scale": 0.5, "zero_point": 3, "quant_min": -128, "quant_max": 127}
    return model_of("fake_quantize_per_tensor_affine_cachemask", inputs | changed)


class TestFakeQuantize:
    def test_outputs_are_compared_as_codes(self) -> None:
        model = fake(np.array([1.25], F32))  # 2.5 + 3: to even before the sum, code 5, value 1
        assert model.golden()[0] == [1]
        distance, steps = distances(model, 0, np.array([1.5], F32))
        assert (distance, steps) == ([0], [1])
        distance, steps = distances(model, 0, np.array([2], F32))
        assert steps == [2]
        assert distance == [0.5 * 2**21]  # 5.5 is 0.5 from 6, whose ulp is 2 ** -21

    def test_a_value_between_codes(self) -> None:
        assert distances(fake(np.array([1.25], F32)), 0, np.array([1.25], F32))[1] == [np.inf]

    def test_a_value_beyond_the_range(self) -> None:
        assert distances(fake(np.array([1.25], F32)), 0, np.array([64], F32))[1] == [np.inf]
        assert distances(fake(np.array([1.25], F32)), 0, np.array([np.nan], F32))[1] == [np.inf]

    def test_negative_scales(self) -> None:
        model = fake(np.array([1.25], F32), scale=-0.5)
        distance, steps = distances(model, 0, np.array([1.5], F32))
        assert (distance, steps) == ([0], [1])

    def test_codes_that_share_a_value(self) -> None:
        """bfloat16 has 8 bits: with steps of 0.4, codes 602 and 603 stand for 241, 599 to 601 for 240."""
        model = fake(np.array([241], BF16), scale=0.4, zero_point=0, quant_min=0, quant_max=1000)
        assert distances(model, 0, np.array([240], BF16))[1] == [1]  # 602 to 601
        assert distances(model, 0, np.array([242], BF16))[1] == [2]  # 602 to 604
        assert distances(model, 0, np.array([239], BF16))[1] == [4]  # 602 to 598

    def test_the_mask_by_the_ends_of_the_range(self) -> None:
        model = fake(np.array([62.25, -65.75, 40], F32))  # 127.5 rounds to 124 + 3: inside
        assert model.golden()[1].tolist() == [True, False, True]
        distance, steps = distances(model, 1, ~model.golden()[1])
        assert distance[:2].tolist() == [0, 0]
        assert distance[2] > 1e6
        assert steps.tolist() == [1, 1, 1]

    def test_float_zero_points(self) -> None:
        inputs = {
            "self": np.array([[1.0]], F32),
            "scale": np.array([0.5], F32),
            "zero_point": np.array([0.5], F32),
            "axis": 0,
            "quant_min": -8,
            "quant_max": 7,
        }
        model = model_of("fake_quantize_per_channel_affine_cachemask", inputs)
        assert model.golden()[0] == [[0.75]]  # 2.5 to even is 2, (2 - 0.5) * 0.5
        distance, steps = distances(model, 0, np.array([[1.25]], F32))
        assert (distance, steps) == ([0], [1])

    def test_switched_off(self) -> None:
        inputs = {
            "self": np.array([1.25], F32),
            "scale": np.array([0.5], F32),
            "zero_point": np.array([0], np.int32),
            "fake_quant_enabled": np.array([0]),
            "quant_min": -8,
            "quant_max": 7,
        }
        model = model_of("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", inputs)
        assert distances(model, 0, np.array([1.0], F32))[1] == [np.inf]
        assert distances(model, 1, np.array([False]))[1] == [np.inf]

    @pytest.mark.parametrize("dtype", [np.float16, BF16, F32], ids=lambda d: np.dtype(d).name)
    def test_division_stays_within_k(self, dtype: Any) -> None:
        rng = np.random.default_rng(2)
        scale = F32(rng.uniform(0.01, 0.1, 64))
        steps = rng.integers(-100, 100, (500, 64)) + 0.5
        x = (steps * scale).astype(dtype)
        inputs = {
            "self": x,
            "scale": scale,
            "zero_point": rng.integers(-20, 20, 64).astype(np.int32),
            "axis": 1,
            "quant_min": -128,
            "quant_max": 127,
        }
        model = model_of("fake_quantize_per_channel_affine_cachemask", inputs)
        zero = inputs["zero_point"].astype(F32)
        q = np.clip(zero + np.rint(x.astype(F32) / scale), -128, 127)
        actual = ((q - zero) * scale).astype(dtype)
        distance, taken = distances(model, 0, actual)
        if dtype == F32:
            assert len(distance) > 20
        assert (distance <= 4).all()
        assert (taken == 1).all()


class TestAntiQuant:
    def test_neighbouring_floats(self) -> None:
        x = np.array([7], np.int8)
        scale = np.array([(1 + 2**-11) / 7], F32)  # 7 * scale: the tie of 1 and 1 + 2 ** -10
        model = model_of("npu_anti_quant", {"x": x, "scale": scale})
        assert model.golden()[0] == [1]
        distance, steps = distances(model, 0, np.array([1 + 2**-10], np.float16))
        assert distance < 1
        assert steps == [1]
        assert distances(model, 0, np.array([1 + 2**-9], np.float16))[1] == [2]
        assert distances(model, 0, np.array([-1], np.float16))[1] == [2 * 0x3C00]
        assert distances(model, 0, np.array([np.inf], np.float16))[1] == [np.inf]

    @pytest.mark.parametrize(
        ("shape", "axis"), [((3,), 1), ((2,), 0), ((2, 1), 0), ((1, 3), 1), ((1,), 0)]
    )
    def test_the_axis_of_the_scale(self, shape: tuple[int, ...], axis: int) -> None:
        x = np.ones((2, 3), np.int8)
        scale = F32(1 + np.arange(np.prod(shape))).reshape(shape)
        offset = np.full(shape, 1, F32)
        model = model_of("npu_anti_quant", {"x": x, "scale": scale, "offset": offset})
        golden = model.golden()[0]
        flat = golden.reshape(-1)
        test = model.before_rounding(0, np.arange(6), flat, flat)
        assert (test.value.reshape(2, 3) == golden.astype(np.float64)).all()

    def test_terms_that_cancel(self) -> None:
        inputs = {
            "x": np.array([100], np.int8),
            "scale": np.array([1], F32),
            "offset": np.array([-99.5], F32),
        }
        model = model_of("npu_anti_quant", inputs)
        half = np.array([0.5], np.float16)
        test = model.before_rounding(0, np.array([0]), half, half)
        assert (test.value, test.magnitude) == ([0.5], [100])


def norm(x1: Any, x2: Any, gamma: Any, scales: Any, **more: Any) -> Model:
    inputs = {"x1": x1, "x2": x2, "gamma": gamma, "scales1": scales, "zero_points1": None}
    return model_of("npu_add_rms_norm_quant", inputs | more)


class TestAddRmsNormQuant:
    @pytest.mark.parametrize(("n", "k"), [(1, 12.5), (64, 12.5), (65, 13), (8192, 76)])
    def test_k_grows_with_the_row(self, n: int, k: float) -> None:
        x = np.ones((1, n), np.float16)
        model = norm(x, x, x[0], np.ones(1, F32))
        assert [model.allowed_for(i) for i in range(3)] == [k, k, 1]

    def test_the_number_before_rounding(self) -> None:
        """docs/numerics.md 5: s = [1.5, 1, 3.25, 5], mean square 38.8125 / 4."""
        x1, x2 = np.array([[1, 2, 3, 4]], np.float16), np.array([[0.5, -1, 0.25, 1]], np.float16)
        gamma = np.array([1, 0.5, 2, 1.5], np.float16)
        scales = np.array([0.1, 0.05, 0.1, 0.02], F32)
        zero_points = np.array([0, 3, -5, 10], np.int32)
        model = norm(x1, x2, gamma, scales, zero_points1=zero_points, epsilon=0.0)
        assert model.golden()[0].tolist() == [[5, 6, 16, 127]]
        s = np.array([1.5, 1, 3.25, 5])
        t = s / np.sqrt((2.25 + 1 + 10.5625 + 25) / 4) * gamma.astype(np.float64)
        zeros = np.zeros(4, np.int8)
        test = model.before_rounding(0, np.arange(4), zeros, zeros)
        assert test.value == pytest.approx(t / scales.astype(np.float64) + zero_points, rel=1e-15)

    def test_beta_is_a_term(self) -> None:
        x = np.ones((1, 2), F32)
        model = norm(x, 0 * x, x[0], F32([0.5]), beta=F32([-1, 8]), epsilon=0.0)
        zeros = np.zeros(2, np.int8)
        test = model.before_rounding(0, np.arange(2), zeros, zeros)
        assert test.value.tolist() == [0, 18]
        assert test.magnitude.tolist() == [2, 18]

    def test_y2_without_scales_is_zeros(self) -> None:
        x = np.ones((1, 2), F32)
        model = norm(x, x, x[0], F32([0.5]))
        assert np.isnan(distances(model, 1, np.array([[1, 0]], np.int8))[0])

    def test_x_is_compared_as_floats(self) -> None:
        x1, x2 = np.array([[2048]], np.float16), np.array([[1]], np.float16)
        model = norm(x1, x2, x1[0], F32([1]))
        assert model.golden()[2] == [[2048]]  # 2049 is a tie of float16
        distance, steps = distances(model, 2, np.array([[2050]], np.float16))
        assert (distance, steps) == ([0], [1])

    def test_gamma_over_two_axes(self, rng: np.random.Generator) -> None:
        x1 = rng.standard_normal((3, 4, 5)).astype(F32)
        gamma = rng.standard_normal((4, 5)).astype(F32)
        scales = F32(rng.uniform(0.01, 0.05, 5))
        model = norm(x1, x1, gamma, scales)
        s = (x1 + x1).astype(np.float64).reshape(3, 20)
        t = s / np.sqrt((s * s).mean(axis=1, keepdims=True) + np.float64(F32(1e-6)))
        v = t * gamma.reshape(-1) / np.tile(scales, 4).astype(np.float64)
        zeros = np.zeros(60, np.int8)
        value = model.before_rounding(0, np.arange(60), zeros, zeros).value
        assert value == pytest.approx(v.reshape(-1), rel=1e-13)

    def test_orders_of_the_sum_against_k(self) -> None:
        rng = np.random.default_rng(4)
        n = 2048
        x1, x2 = (rng.standard_normal((256, n)).astype(np.float16) for _ in range(2))
        gamma = rng.standard_normal(n).astype(np.float16)
        scales = F32([0.01])
        model = norm(x1, x2, gamma, scales)
        s = x1.astype(F32) + x2.astype(F32)
        totals = {
            "float64": np.square(s.astype(np.float64)).sum(axis=1).astype(F32),
            "numpy": (s * s).sum(axis=1),
        }
        for total in totals.values():
            rstd = F32(1) / np.sqrt(total / F32(n) + F32(1e-6))
            q = s * rstd[:, None] * gamma.astype(F32) / scales
            distance, steps = distances(model, 0, codes(q))
            assert (distance <= model.allowed_for(0) / 2).all()
            assert (steps == 1).all()
