"""The operators' models: goldens, numbers before rounding, distances."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from witnesses import layouts

import npu_quant
from npu_quant import DTypeError, ParamError
from npu_quant.golden.operators import Model, model_of, operator_of, operators, outputs_of
from npu_quant.golden.operators.plain import PlainModel
from npu_quant.golden.sources import ArraySource

F32 = np.float32
SIXTEEN = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


def distances(
    model: Model, output: int, actual: np.ndarray, **given: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return (distance in ulp of the largest term, steps) of all differing elements."""
    golden = model.golden()[output].reshape(-1)
    actual = actual.reshape(-1)
    index = np.flatnonzero(actual.view(np.uint8) != golden.view(np.uint8)) // golden.itemsize
    index = np.unique(index)
    test = model.before_rounding(output, index, actual[index], golden[index], **given)
    ulp = np.spacing(np.abs(test.magnitude).astype(F32)).astype(np.float64)
    assert all(
        a.dtype == np.float64 and a.shape == index.shape
        for a in (test.value, test.tie, test.magnitude, test.steps)
    )
    return np.abs(test.value - test.tie) / ulp, test.steps


def codes(q: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(q), -128, 127).astype(np.int8)


class TestNames:
    def test_every_operator_that_quantizes_has_a_model(self) -> None:
        without = {n for n in npu_quant.ops.__all__ if n.endswith("backward")}
        without |= {"dequantize_val", "npu_dtype_cast", "npu_moe_token_permute"}
        assert {n for n in operators() if operator_of(n).model is PlainModel} == without

    def test_an_operator_goes_by_its_name_or_itself(self) -> None:
        x = np.ones((2, 3), np.float16)
        for op in (
            "npu_dynamic_quant",
            "torch_npu.npu_dynamic_quant",
            npu_quant.npu_dynamic_quant,
        ):
            assert model_of(op, {"input": x}).op == "npu_dynamic_quant"

    def test_outputs_by_name(self) -> None:
        assert outputs_of("npu_dynamic_quant") == ("y", "scale")
        assert outputs_of(npu_quant.npu_add_rms_norm_quant) == ("y1", "y2", "x")
        assert outputs_of("fake_quantize_per_tensor_affine_cachemask") == ("output", "mask")
        assert outputs_of("fake_quantize_per_channel_affine") == ("output",)

    def test_an_unknown_one_lists_those_there_are(self) -> None:
        with pytest.raises(ParamError, match=r"op is 'npu_foo', expected one of npu_dynamic_quant"):
            model_of("npu_foo", {})

    def test_a_missing_input_is_named(self) -> None:
        with pytest.raises(
            ParamError, match=r"npu_dynamic_quant needs inputs\['input'\]. It takes input, smooth"
        ):
            model_of("npu_dynamic_quant", {})

    def test_an_unknown_input_is_named(self) -> None:
        with pytest.raises(ParamError, match=r"npu_quantize has no parameter 'x' for inputs"):
            model_of("npu_quantize", {"x": np.ones(3, F32)})

    @pytest.mark.parametrize("name", ["out", "numerics"])
    def test_what_is_no_input_is_unknown(self, name: str) -> None:
        with pytest.raises(ParamError, match=f"no parameter '{name}'"):
            model_of("npu_dynamic_quant", {"input": np.ones((1, 1), F32), name: None})

    @pytest.mark.needs("torch")
    def test_inputs_may_be_sources_and_tensors(self) -> None:
        import torch

        x = np.array([[0, 1, -2, 4]], np.float16)
        for given in (ArraySource(x), torch.from_numpy(x), torch.from_numpy(x).bfloat16()):
            model = model_of("npu_dynamic_quant", {"input": given, "dst_type": torch.int8})
            assert model.golden()[0].tolist() == [[0, 32, -64, 127]]

    def test_the_operators_own_checks_hold(self) -> None:
        with pytest.raises(DTypeError, match="float64"):
            model_of("npu_dynamic_quant", {"input": np.ones((1, 1))})
        with pytest.raises(ParamError, match="numerics"):
            model_of("npu_dynamic_quant", {"input": np.ones((1, 1), F32)}, "ascend1000")


class TestGolden:
    def test_parts_cover_every_element_once(self, rng: np.random.Generator) -> None:
        x = rng.standard_normal((700, 1030)).astype(np.float16)
        for name, inputs in [
            ("npu_dynamic_quant", {"input": x}),
            ("npu_dynamic_block_quant", {"x": x}),
            ("npu_grouped_dynamic_block_quant", {"x": x, "group_list": np.int32([9, 9, 500, 700])}),
            ("npu_dynamic_mx_quant_with_dual_axis", {"input": x}),
            ("npu_dynamic_block_mx_quant", {"input": x}),
            ("npu_grouped_dynamic_mx_quant", {"x": x, "group_index": np.int32([9, 9, 500, 700])}),
            ("quantize_val", {"value": x, "scale": 0.1, "zero_point": 0, "scalar_type": "qint8"}),
        ]:
            model = model_of(name, inputs)
            parts = model.parts()
            assert len(parts) > 3
            for output, array in enumerate(model.golden()):
                ends = [part.spans[output] for part in parts]
                assert ends[0][0] == 0
                assert ends[-1][1] == array.size
                assert all(a[1] == b[0] for a, b in itertools.pairwise(ends))


class TestDynamicQuant:
    """[0, 1, -2, 4] has scale 4/127 in float32, 0x3d010204, and -2 / scale next to -63.5."""

    row = np.array([[0, 1, -2, 4]], np.float16)

    def test_next_to_a_tie(self) -> None:
        model = model_of("npu_dynamic_quant", {"input": self.row})
        actual = np.array([[0, 32, -63, 127]], np.int8)
        distance, steps = distances(model, 0, actual)
        # scale is 4/127 to half an ulp, so is the quotient: within 1 ulp of -63.5.
        assert distance.shape == (1,)
        assert 0 <= distance[0] < 1
        assert steps == [1]

    def test_on_the_wrong_side_of_a_tie(self) -> None:
        model = model_of("npu_dynamic_quant", {"input": -self.row})
        actual = np.array([[0, -32, 63, -127]], np.int8)
        assert distances(model, 0, actual)[0] < 1
        actual = np.array([[0, -32, 65, -127]], np.int8)  # 63.5 is 1 from 64.5: 2 ** 17 ulp
        assert distances(model, 0, actual)[0] == pytest.approx(2**17, abs=1)

    def test_two_steps(self) -> None:
        model = model_of("npu_dynamic_quant", {"input": self.row})
        assert distances(model, 0, np.array([[0, 30, -64, 127]], np.int8))[1] == [2]

    def test_127_against_minus_128_is_255_steps(self) -> None:
        model = model_of("npu_dynamic_quant", {"input": self.row})
        assert distances(model, 0, np.array([[0, 32, -64, -128]], np.int8))[1] == [255]

    def test_no_number_before_rounding(self) -> None:
        model = model_of("npu_dynamic_quant", {"input": np.zeros((1, 2), np.float16)})
        assert np.isnan(distances(model, 0, np.array([[1, 0]], np.int8))[0])

    def test_by_another_scale(self) -> None:
        model = model_of("npu_dynamic_quant", {"input": self.row})
        test = model.before_rounding(
            0,
            np.array([2]),
            np.array([-1], np.int8),
            np.array([-2], np.int8),
            scale=np.array([1], F32),
        )
        assert (test.value, test.tie, test.magnitude, test.steps) == (-2, -1.5, 1.5, 1)

    def test_smooth_scales_are_multiplied_in_float32(self) -> None:
        x = np.array([[1 + 2**-12, 3]], F32)
        smooth = np.array([1 + 2**-13, 1], F32)
        model = model_of("npu_dynamic_quant", {"input": x, "smooth_scales": smooth})
        test = model.before_rounding(
            0,
            np.array([0]),
            np.array([1], np.int8),
            np.array([0], np.int8),
            scale=np.array([1], F32),
        )
        assert test.value == [float(x[0, 0] * smooth[0])]
        assert test.value != [float(x[0, 0]) * float(smooth[0])]

    def test_scales_are_amax_over_127(self) -> None:
        model = model_of("npu_dynamic_quant", {"input": self.row})
        golden = model.golden()[1]
        test = model.before_rounding(1, np.array([0]), np.nextafter(golden, F32(1)), golden)
        assert test.value == [4 / 127]
        assert test.steps == [1]

    def test_scales_that_are_no_numbers(self) -> None:
        x = np.array([[np.inf, 1], [np.nan, 1]], np.float16)
        model = model_of("npu_dynamic_quant", {"input": x})
        golden = model.golden()[1]
        test = model.before_rounding(1, np.arange(2), F32([-np.inf, 1]), golden)
        assert test.steps.tolist() == [np.inf, np.inf]
        assert np.isnan(test.tie).all()

    @pytest.mark.parametrize("dtype", SIXTEEN, ids=str)
    def test_harmless_orders_stay_within_1_ulp(self, dtype: np.dtype) -> None:
        x = np.random.default_rng(3).standard_normal((2048, 1024)).astype(dtype)
        model = model_of("npu_dynamic_quant", {"input": x})
        v, scale = x.astype(F32), model.golden()[1][:, None]
        amax = np.abs(v).max(axis=1, keepdims=True)
        for q in (v * (1 / scale), v * (F32(127) / amax), v * ((1 / amax) * F32(127))):
            distance, steps = distances(model, 0, codes(q))
            assert len(distance) > 50
            assert distance.max() < 1.1  # of the k = 4 that is allowed
            assert steps.max() == 1
        # What is no rounding lies far beyond k: a float16 quotient, and a scale 1 % off.
        for q, least in ((v / scale).astype(np.float16), 1000), (v / (scale * F32(1.01)), 1e5):
            assert distances(model, 0, codes(q.astype(F32)))[0].max() > least

    def test_k_is_4(self) -> None:
        model = model_of("npu_dynamic_quant", {"input": self.row})
        assert [model.allowed_for(i) for i in range(2)] == [4, 4]

    def test_every_layout_of_the_input(self, rng: np.random.Generator) -> None:
        x = rng.standard_normal((2, 3, 9)).astype(ml_dtypes.bfloat16)
        index = np.arange(54)
        zeros = np.zeros(54, np.int8)
        expected = model_of("npu_dynamic_quant", {"input": x}).before_rounding(
            0, index, zeros, zeros
        )
        for name, view in layouts(x):
            model = model_of("npu_dynamic_quant", {"input": view})
            value = model.before_rounding(0, index, zeros, zeros).value
            assert (value == expected.value).all(), name


class TestDynamicBlockQuant:
    def test_each_block_has_its_scale(self, rng: np.random.Generator) -> None:
        x = rng.standard_normal((3, 300)).astype(np.float16) * np.arange(1, 301).astype(np.float16)
        model = model_of("npu_dynamic_block_quant", {"x": x})
        y, scale = model.golden()
        each = np.repeat(scale, 128, axis=1)[:, :300]
        test = model.before_rounding(0, np.arange(900), y.reshape(-1), y.reshape(-1))
        assert (test.value == (x.astype(np.float64) / each).reshape(-1)).all()

    def test_min_scale_bounds_the_scale(self) -> None:
        x = np.array([[1000, 3]], np.float16)
        model = model_of("npu_dynamic_block_quant", {"x": x, "min_scale": 2.0})
        golden = model.golden()[1]
        assert golden == [[0.5]]
        test = model.before_rounding(1, np.array([0]), golden.reshape(-1), golden.reshape(-1))
        assert test.value == [0.5]


class TestQuantize:
    def test_a_zero_point_is_a_term(self) -> None:
        """Codes near 0 made of 100 and -100: 51 ulp of a code, below 1 of the terms."""
        rng = np.random.default_rng(5)
        scale = F32(rng.uniform(0.01, 0.1, 4000))
        ties = (rng.integers(-103, -97, 4000) + 0.5) * scale.astype(np.float64)
        x = F32(ties)[None]
        inputs = {
            "self": x,
            "scales": scale,
            "zero_points": np.full(4000, 100, np.int32),
            "dtype": "int8",
        }
        model = model_of("npu_quantize", inputs)
        actual = codes(x * (1 / scale) + F32(100))
        distance, steps = distances(model, 0, actual)
        assert len(distance) > 50
        assert distance.max() < 4
        assert steps.max() == 1
        index = np.flatnonzero(actual != model.golden()[0])
        test = model.before_rounding(
            0, index, actual.reshape(-1)[index], model.golden()[0].reshape(-1)[index]
        )
        own = np.abs(test.value - test.tie) / np.spacing(np.abs(test.tie).astype(F32))
        assert own.max() > 16  # as ulp of the code alone it would be no tie

    def test_division_and_multiplication(self) -> None:
        for div_mode, expected in ((True, 3 / 0.5 + 2), (False, 3 * 0.5 + 2)):
            inputs = {
                "self": np.array([[3]], F32),
                "scales": np.array([0.5], F32),
                "zero_points": np.array([2], np.int32),
                "dtype": "int8",
                "div_mode": div_mode,
            }
            model = model_of("npu_quantize", inputs)
            zero = np.zeros(1, np.int8)
            assert model.before_rounding(0, np.array([0]), zero, zero).value == [expected]

    @pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
    def test_scales_belong_to_their_axis(self, axis: int) -> None:
        x = np.ones((2, 3, 4), F32)
        scales = F32(1 + np.arange(x.shape[axis]))
        model = model_of(
            "npu_quantize",
            {"self": x, "scales": scales, "zero_points": None, "dtype": "int8", "axis": axis},
        )
        zeros = np.zeros(24, np.int8)
        value = model.before_rounding(0, np.arange(24), zeros, zeros).value
        shape = [1, 1, 1]
        shape[axis] = -1
        assert (value.reshape(x.shape) == x / scales.reshape(shape).astype(np.float64)).all()

    def test_multiplying_takes_the_last_axis(self) -> None:
        inputs = {
            "self": np.ones((2, 2, 2), F32),
            "scales": np.array([1, 2], F32),
            "zero_points": None,
            "dtype": "int8",
            "div_mode": False,
        }
        zeros = np.zeros(8, np.int8)
        model = model_of("npu_quantize", inputs)
        assert model.before_rounding(0, np.arange(8), zeros, zeros).value.tolist() == [1, 2] * 4

    def test_int32_codes_step_as_float32_does(self) -> None:
        inputs = {
            "self": np.array([2.0**26], F32),
            "scales": np.array([1], F32),
            "zero_points": None,
            "dtype": "int32",
            "axis": 0,
        }
        model = model_of("npu_quantize", inputs)
        assert distances(model, 0, np.array([2**26 + 8], np.int32))[1] == [1]
        assert distances(model, 0, np.array([2**26 + 16], np.int32))[1] == [2]


class TestQuantizeVal:
    def test_value_over_scale_and_zero_point(self) -> None:
        inputs = {
            "scale": 0.5,
            "zero_point": 3,
            "value": np.array([1.25], F32),
            "scalar_type": "qint8",
        }
        model = model_of("quantize_val", inputs)
        zero = np.zeros(1, np.int8)
        assert model.before_rounding(0, np.array([0]), zero, zero).value == [5.5]

    def test_a_number(self) -> None:
        inputs = {"scale": 0.1, "zero_point": 10, "value": 0.25, "scalar_type": "qint8"}
        (golden,) = model_of("quantize_val", inputs).golden()
        assert (golden.dtype, golden.shape, int(golden)) == (np.int8, (), 12)
