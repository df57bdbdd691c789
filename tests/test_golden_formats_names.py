"""How reports of other formats than int8 name elements and formulas, and which formulas they try."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from test_golden_formats import E4M3, F32, OWN, packed, to_hifloat8

import npu_quant
from npu_quant import ParamError
from npu_quant._codes import int4_of
from npu_quant.golden import compare, explain


class TestElements:
    """int4 by element, hifloat8 by value, zeros by their sign."""

    def test_int4_is_compared_unpacked(self) -> None:
        x = np.random.default_rng(3).standard_normal((4, 16)).astype(np.float16)
        y = npu_quant.npu_dynamic_quant(x, dst_type="int4").y
        wrong = y.copy()
        wrong[2, 1] ^= 0x700  # element 8 + 2 of row 2
        inputs = {"input": x, "dst_type": "int4"}
        comparison = compare(wrong, op="npu_dynamic_quant", inputs=inputs)
        (found,) = comparison.outputs
        assert (found.shape, found.format, found.dtype) == ((4, 16), "int4", np.int8)
        assert found.title == "y int4 (4, 16)"
        assert [e.index for e in comparison.worst()] == [(2, 10)]
        assert comparison.to_dict()["outputs"][0]["dtype"] == "int4"
        assert "[2, 10]" in str(comparison)

    def test_int4_may_be_unpacked_already(self) -> None:
        """As files are read with dtype int4, and as ml_dtypes has it."""
        x = np.random.default_rng(3).standard_normal((4, 16)).astype(np.float16)
        y = npu_quant.npu_dynamic_quant(x, dst_type="int4").y
        codes = int4_of(y.view(np.uint8).reshape(-1)).reshape(4, 16)
        inputs = {"input": x, "dst_type": "int4"}
        for actual in (y, y[:, ::-1][:, ::-1], codes, codes.astype(ml_dtypes.int4)):
            assert compare(actual, op="npu_dynamic_quant", inputs=inputs).rung == "identical"
        assert compare(y[:3], op="npu_dynamic_quant", inputs=inputs).rung == "different"
        assert explain(y, "npu_dynamic_quant", inputs).matches[0].name == "reference"

    def test_int32_of_as_many_elements_is_no_packed_int4(self) -> None:
        """But where there are none."""
        x = np.random.default_rng(3).standard_normal((4, 16)).astype(np.float16)
        for some, problem in ((x, "dtype differs: actual int32, golden int8"), (x[:, :0], None)):
            inputs = {"input": some, "dst_type": "int4"}
            wide = np.zeros(some.shape, np.int32)
            assert compare(wide, op="npu_dynamic_quant", inputs=inputs).decisive.problem == problem

    def test_float8_may_be_bytes(self) -> None:
        x = np.random.default_rng(3).standard_normal((4, 16)).astype(np.float16)
        y = npu_quant.npu_dynamic_quant(x, dst_type="float8_e5m2").y
        inputs = {"input": x, "dst_type": "float8_e5m2"}
        for actual in (y, y.view(np.uint8)):
            assert compare(actual, op="npu_dynamic_quant", inputs=inputs).rung == "identical"
        for actual in (y.view(np.int8), y.view(E4M3)):
            found = compare(actual, op="npu_dynamic_quant", inputs=inputs)
            assert found.decisive.problem is not None

    def test_hifloat8_is_shown_by_value(self) -> None:
        x = np.full((1, 8), 15, F32)
        y = npu_quant.npu_quantize(x, F32([1]), None, "hifloat8")
        assert y.view(np.uint8).tolist() == [[0x2F] * 8]
        y[0, 3] = 0x40  # 16, of which 15 is the neighbour, whatever their codes are
        inputs = {"self": x, "scales": F32([1]), "zero_points": None, "dtype": "hifloat8"}
        comparison = compare(y, op="npu_quantize", inputs=inputs)
        (found,) = comparison.outputs
        assert found.metrics is not None
        assert (found.metrics.max_steps, found.metrics.max_abs) == (1, 1)
        (element,) = comparison.worst()
        assert (element.index, element.actual, element.golden) == ((0, 3), 16, 15)
        assert "y hifloat8 (1, 8)" in str(comparison)
        assert "actual 16, golden 15" in str(comparison)
        # A tolerance is one of values, too.
        assert compare(y, op="npu_quantize", inputs=inputs, atol=1.0).rung == "tolerated"
        assert not compare(y, op="npu_quantize", inputs=inputs, atol=0.9).passed

    def test_the_sign_of_a_zero_is_a_tie(self) -> None:
        x = np.array([[-1e-6, 0.0, -0.0, 448]], F32)
        y, _ = npu_quant.npu_dynamic_quant(x, dst_type="float8_e4m3fn")
        assert y.view(np.uint8).tolist() == [[0x80, 0, 0x80, 0x7E]]
        actual = (y.view(np.uint8) & 0x7F).view(y.dtype)
        inputs = {"input": x, "dst_type": "float8_e4m3fn"}
        comparison = compare(actual, op="npu_dynamic_quant", inputs=inputs)
        assert (comparison.rung, comparison.margin) == ("tie", 0)
        assert "sign of zero: 2" in str(comparison)

    def test_a_zero_in_a_group_without_numbers(self) -> None:
        """-0 / 0 is NaN, so the golden has 00: a device may have 80."""
        x = np.zeros((1, 4), F32)
        inputs = {"input": x, "dst_type": "float8_e4m3fn"}
        actual = np.full((1, 4), 0x80, np.uint8).view(E4M3)
        assert compare(actual, op="npu_dynamic_quant", inputs=inputs).rung == "tie"

    def test_where_a_zero_point_is_added_any_number_of_steps_is_a_tie(self) -> None:
        """100 - 99.99999 and its neighbours: an ulp of 100 is many steps of a code near 0."""
        rng = np.random.default_rng(5)
        scale = F32(rng.uniform(0.01, 0.1, 4096))
        x = F32(-(100 + rng.uniform(-2e-3, 2e-3, 4096)) * scale.astype(np.float64))[None]
        zero = np.full(4096, 100, F32)
        inputs = {"self": x, "scales": scale, "zero_points": zero, "dtype": "hifloat8"}
        actual = to_hifloat8(x * (1 / scale) + zero)
        comparison = compare(actual, op="npu_quantize", inputs=inputs)
        (found,) = comparison.outputs
        assert found.metrics is not None
        assert found.metrics.max_steps > 1
        assert (comparison.rung, found.rung) == ("tie", "tie")
        assert "steps, within" in str(comparison)
        beyond = to_hifloat8(x * (1 / scale) + zero + F32(2.0**-14))
        assert compare(beyond, op="npu_quantize", inputs=inputs).rung == "different"
        # Without a zero point, or with whole numbers, it is one step.
        small = inputs | {"dtype": "int8"}
        far = npu_quant.npu_quantize(**small) + np.int8(2)
        assert compare(far, op="npu_quantize", inputs=small).rung == "different"


class TestNames:
    def test_formulas_are_named_by_the_formats_own_numbers(self) -> None:
        x = np.random.default_rng(3).standard_normal((64, 512)).astype(np.float16)
        amax = np.abs(x.astype(F32)).max(axis=1, keepdims=True)
        for name, word in (("int4", "7"), ("float8_e4m3fn", "448")):
            y = OWN[name].encode(x.astype(F32) * (F32(OWN[name].most) / amax))
            found = explain(y, "npu_dynamic_quant", {"input": x, "dst_type": name})
            match = next(m for m in found.matches if m.name == f"x * ({word}/amax)")
            rint = name if name.startswith("f") else "rint"
            assert match.summary == f"scale = amax / {word}, y = {rint}(x * ({word} / amax))"

    def test_a_formula_may_be_accepted_by_that_name(self) -> None:
        x = np.random.default_rng(3).standard_normal((64, 512)).astype(np.float16)
        scale = np.abs(x.astype(F32)).max(axis=1) / F32(8)
        y = packed(np.rint(x.astype(F32) / scale[:, None]))
        inputs = {"input": x, "dst_type": "int4"}
        for name, passed in (("scale amax / 8", True), ("truncation", False)):
            found = compare((y, scale), op="npu_dynamic_quant", inputs=inputs, variant=name)
            assert (found.rung, found.passed) == ("variant", passed)
        with pytest.raises(ParamError, match="does not know"):
            compare((y, scale), op="npu_dynamic_quant", inputs=inputs, variant="amax / 9")

    def test_what_a_format_has_not_is_not_tried(self) -> None:
        x = np.ones((2, 16), np.float16)

        def tried(name: str) -> set[str]:
            y = npu_quant.npu_dynamic_quant(x, dst_type=name).y
            found = explain(y, "npu_dynamic_quant", {"input": x, "dst_type": name})
            return {result.name for result in found.ranked}

        assert {"half away", "clamp -7", "scale amax / 7.5", "x * (7/amax)"} <= tried("int4")
        assert {"half away", "x * (57344/amax)"} <= tried("float8_e5m2")
        assert {"half even", "hybrid"} <= tried("hifloat8")
        assert not {"half even", "hybrid"} & tried("int4")
        assert not {"half even", "hybrid", "scale amax / 449"} & tried("float8_e4m3fn")
        assert "half away" not in tried("hifloat8")

    @pytest.mark.parametrize("dtype", [E4M3, ml_dtypes.float8_e5m2])
    def test_no_saturation(self, dtype: Any) -> None:
        """As a cast of torch or ml_dtypes: beyond the greatest is NaN or infinity."""
        x = np.array([[300, 470, -1e6, 70000, -500, np.nan, 1, 2]], F32)
        name = np.dtype(dtype).name
        inputs = {"self": x, "scales": F32([1]), "zero_points": None, "dtype": name}
        with np.errstate(all="ignore"):
            actual = x.astype(dtype)
        comparison = compare(actual, op="npu_quantize", inputs=inputs)
        assert (comparison.rung, comparison.passed) == ("variant", False)
        assert [v.name for v in comparison.variants] == ["no saturation"]

    def test_hybrid(self) -> None:
        """docs/numerics.md: fractions beside a threshold from the last bits; 16 becomes 20."""
        x = F32([[1.0625, 16, 17, 100, 300, np.pi, 0.1, 2.0**-16]])
        inputs = {"self": x, "scales": F32([1]), "zero_points": None, "dtype": "hifloat8"}
        actual = np.array([[0x09, 0x41, 0x41, 0x4B, 0x61, 0x15, 0x53, 0x7E]], np.uint8)
        comparison = compare(actual, op="npu_quantize", inputs=inputs)
        assert [v.name for v in comparison.variants] == ["hybrid"]
        assert not comparison.passed

    def test_amax_of_finite_elements_only(self) -> None:
        x = np.random.default_rng(3).standard_normal((8, 256)).astype(np.float16)
        x[3, 5], x[4, 7] = np.inf, np.nan
        v = x.astype(F32)
        amax = np.where(np.isfinite(v), np.abs(v), 0).max(axis=1)
        scale = amax / F32(448)
        with np.errstate(all="ignore"):
            q = np.where(np.isnan(v), F32(0), v / scale[:, None])
            y = np.clip(q, -448, 448).astype(E4M3)
        inputs = {"input": x, "dst_type": "float8_e4m3fn"}
        found = compare((y, scale), op="npu_dynamic_quant", inputs=inputs)
        assert "finite elements only" in [v.name for v in found.variants]
        assert not found.passed
        finite = explain((y[:2], scale[:2]), "npu_dynamic_quant", inputs | {"input": x[:2]})
        assert "finite elements only" not in [r.name for r in finite.ranked]
