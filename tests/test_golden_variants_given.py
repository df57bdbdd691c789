"""The named formulas of operators with given scales, against the same formulas written once more."""

from __future__ import annotations

import numpy as np
import pytest
from golden_wrongs import F32, channels, on_ties
from golden_wrongs.given import rounded_fma
from test_golden_named import listed, names_of

from npu_quant.golden.operators import Model, model_of
from npu_quant.golden.operators.arithmetic import fused

OLD_TORCH = pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")


class TestFused:
    def test_it_rounds_once(self, rng: np.random.Generator) -> None:
        x, w = (rng.standard_normal(3000).astype(F32) for _ in range(2))
        z = F32(rng.integers(-200, 200, 3000))
        z[:500] = -F32(x[:500] * w[:500])  # what is left is the product's own rounding
        # Sums next to a tie, but for a bit that float64 loses: 1 + 2 ** -24 + 2 ** -60.
        x[500:600] = F32(1 + 2.0**-23) * F32(2.0) ** rng.integers(-20, 20, 100)
        assert (fused(x, w, z) == rounded_fma(x, w, z)).all()

    def test_next_to_a_tie_beyond_float64(self) -> None:
        x, z = F32([2.0**-30, -(2.0**-30)]), F32([1 + 2.0**-23, 1 + 2.0**-23])
        w = F32([2.0**-30, 2.0**-30])
        assert (fused(x, w, z) == z).all()
        x, w = F32([2.0**-12, 2.0**-12]), F32([2.0**-12 + 2.0**-35, 2.0**-12 - 2.0**-36])
        z = F32([1, 1])
        assert fused(x, w, z).tolist() == [1 + 2.0**-23, 1]

    def test_next_to_a_tie_by_less_than_float64_shows(self) -> None:
        """2 ** 46 + 1 has two factors of 24 bits: 1 + 2 ** -24 + 2 ** -70 is above the tie."""
        x, w = F32(2**23 + 2**12 + 1), F32(2.0**-70 * (2**23 - 2**12 + 1))
        above = F32(1 + 2.0**-23)
        under = F32(2.0**-24 * (1 - 2.0**-23))  # times 1 + 2 ** -23: 2 ** -24 - 2 ** -70
        for a, b, c, expected in [
            (x, w, F32(1), above),
            (-x, w, F32(-1), -above),
            (above, under, above, above),
            (-above, under, -above, -above),
            (F32(1), F32(2.0**-24), F32(1), F32(1)),  # the ties themselves, to even
            (F32(1), F32(2.0**-24), above, F32(1 + 2.0**-22)),
        ]:
            assert fused(F32([a]), F32([b]), F32([c])).tolist() == [expected]
            assert rounded_fma(F32([a]), F32([b]), F32([c])).tolist() == [expected]

    def test_nan_and_infinity(self) -> None:
        x, w, z = F32([np.nan, np.inf, np.inf, 1]), F32([1, 1, 0, 1]), F32([1, 1, 1, np.inf])
        with np.errstate(all="ignore"):
            assert np.array_equal(
                fused(x, w, z), F32([np.nan, np.inf, np.nan, np.inf]), equal_nan=True
            )


class TestQuantize:
    def test_inputs_that_may_be_rounded_first(self, rng: np.random.Generator) -> None:
        x = (rng.standard_normal((99, 64)) * 9).astype(F32)
        inputs = {"self": x, "scales": F32([0.1]), "zero_points": None, "dtype": "int8"}
        model = model_of("npu_quantize", inputs)
        sources = {v.name: v.source for v in listed(model)}
        assert (sources["input as fp16"], sources["input as bf16"]) == ("x.half()", "x.bfloat16()")
        narrow = model_of("npu_quantize", inputs | {"self": x.astype(np.float16)})
        assert not any("input as" in v.name for v in listed(narrow))

    def test_without_zero_points(self, rng: np.random.Generator) -> None:
        x = rng.standard_normal((5, 9)).astype(F32)
        inputs = {"self": x, "scales": F32([0.1]), "zero_points": None, "dtype": "int32"}
        model = model_of("npu_quantize", inputs)
        assert not any("zero point" in v.name for v in listed(model))
        assert "reference" in names_of(model, model.golden())

    def test_clamped_at_minus_127(self) -> None:
        inputs = {"self": F32([-500]), "scales": F32([1]), "zero_points": None, "dtype": "int8"}
        model = model_of("npu_quantize", inputs | {"axis": 0})
        assert names_of(model, (np.int8([-127]),)) == ["clamp -127"]

    @pytest.mark.needs("torch")
    @OLD_TORCH
    def test_torch(self) -> None:
        import torch

        scale, zero = channels()
        x = on_ties(scale, zero, F32)
        inputs = {"self": x, "scales": scale, "zero_points": zero, "dtype": "int8"}
        actual = torch.quantize_per_channel(
            torch.from_numpy(x), torch.from_numpy(scale), torch.from_numpy(zero), 1, torch.qint8
        )
        model = model_of("npu_quantize", inputs)
        found = names_of(model, (actual.int_repr().numpy(),))
        assert found[0] == "torch.quantize_per_channel"
        one = inputs | {"scales": scale[:1], "zero_points": zero[:1]}
        actual = torch.quantize_per_tensor(
            torch.from_numpy(x), float(scale[0]), int(zero[0]), torch.qint8
        )
        found = names_of(model_of("npu_quantize", one), (actual.int_repr().numpy(),))
        assert found[0] == "torch.quantize_per_tensor"


class TestQuantizeVal:
    @pytest.mark.needs("torch")
    @OLD_TORCH
    @pytest.mark.parametrize("kind", ["qint8", "quint8", "qint32"])
    def test_torch(self, kind: str) -> None:
        import torch

        x = on_ties(np.array([F32(0.3)] * 8), 0, F32)
        actual = torch.quantize_per_tensor(torch.from_numpy(x), 0.3, 7, getattr(torch, kind))
        inputs = {"scale": 0.3, "zero_point": 7, "value": x, "scalar_type": kind}
        found = names_of(model_of("quantize_val", inputs), (actual.int_repr().numpy(),))
        suffix = " (qint32)" if kind == "qint32" else ""
        assert found[0] == f"torch.quantize_per_tensor{suffix}"

    def test_nan(self) -> None:
        x = F32([np.nan, 1])
        inputs = {"scale": 0.3, "zero_point": 7, "value": x, "scalar_type": "qint8"}
        model = model_of("quantize_val", inputs)
        assert "NaN is 0" in names_of(model, (np.int8([0, 10]),))
        assert "reference" in names_of(model, (np.int8([-128, 10]),))
        found = names_of(model, (np.int8([127, 10]),))
        assert sorted(found) == ["NaN is the greatest code", "torch.quantize_per_tensor"]


class TestAntiQuant:
    def test_saturated(self) -> None:
        x, scale = np.int8([100, -100]), F32([1000])
        model = model_of("npu_anti_quant", {"x": x, "scale": scale})
        assert names_of(model, (np.float16([65504, -65504]),)) == ["saturated"]
        assert "reference" in names_of(model, (np.float16([np.inf, -np.inf]),))

    def test_without_offset(self) -> None:
        model: Model = model_of("npu_anti_quant", {"x": np.int8([7]), "scale": F32([2])})
        assert not any("offset" in v.name for v in listed(model) if v.name != "reference")
