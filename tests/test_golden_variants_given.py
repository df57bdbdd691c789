"""The named formulas of operators with given scales, against the same formulas written once more."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from test_golden_variants import BF16, F32, away, bf16, codes, f16, names_of, spoiled

from npu_quant.golden.operators import Model, applicable, matching_variants, model_of
from npu_quant.golden.operators.arithmetic import fused

OLD_TORCH = pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")
DTYPES = [np.float16, BF16, F32]


def on_ties(rng: np.random.Generator, scale: Any, zero: Any, dtype: Any) -> Any:
    """Return an array whose quotients lie at ties, next to them, and elsewhere."""
    shape = (250, len(scale))
    steps = rng.integers(-150, 150, shape) / 2 - zero
    steps = np.where(rng.random(shape) < 0.5, steps, rng.standard_normal(shape) * 60)
    return (steps * scale.astype(np.float64)).astype(dtype)


def rounded_fma(x: Any, w: Any, z: Any) -> Any:
    """Multiply and add exactly, round once: for float32, by rational numbers."""
    results = []
    for a, b, c in np.nditer([x, w, z]):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        near = F32(float(exact))
        around = [np.nextafter(near, F32(-np.inf)), near, np.nextafter(near, F32(np.inf))]
        distance = [abs(Fraction(float(v)) - exact) for v in around]
        best = [v for v, d in zip(around, distance, strict=True) if d == min(distance)]
        even = [v for v in best if int(v.view(np.uint32)) % 2 == 0]
        results.append((even or best)[0])
    return np.array(results, F32)


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


# Of x (float32), scale and zero point: what is saturated.
QUANTIZE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda x, s, z: np.rint(x / s + z),
    "torch.quantize_per_channel": lambda x, s, z: np.rint(x * (1 / s) + z),
    "x * (1/scale)": lambda x, s, z: np.rint(x * (1 / s) + z),
    "zero point after rounding": lambda x, s, z: np.rint(x / s) + z,
    "x * (1/scale), zero point after rounding": lambda x, s, z: np.rint(x * (1 / s)) + z,
    "half away": lambda x, s, z: away((x / s + z).astype(np.float64)),
    "half up": lambda x, s, z: np.floor((x / s + z) + F32(0.5)),
    "truncation": lambda x, s, z: np.trunc(x / s + z),
    "floor": lambda x, s, z: np.floor(x / s + z),
    "ceil": lambda x, s, z: np.ceil(x / s + z),
    "zero point after rounding, truncation": lambda x, s, z: np.trunc(x / s) + z,
    "fp16 quotient": lambda x, s, z: np.rint(f16(x / s) + z),
    "bf16 quotient": lambda x, s, z: np.rint(bf16(x / s) + z),
    "fp16 quotient, so is the sum": lambda x, s, z: np.rint(f16(f16(x / s) + z)),
    "x * scale": lambda x, s, z: np.rint(x * s + z),
    "zero point subtracted": lambda x, s, z: np.rint(x / s - z),
    "zero point ignored": lambda x, s, z: np.rint(x / s),
    "fp16 scale": lambda x, s, z: np.rint(x / f16(s) + z),
    "bf16 scale": lambda x, s, z: np.rint(x / bf16(s) + z),
}
BENIGN = set(list(QUANTIZE)[:7])


class TestQuantize:
    @pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
    @pytest.mark.parametrize("name", QUANTIZE)
    def test_it_is_named(self, name: str, dtype: Any, rng: np.random.Generator) -> None:
        scale, zero = F32(rng.uniform(0.1, 3, 64)), rng.integers(-9, 9, 64).astype(np.int32)
        x = on_ties(rng, scale, zero, dtype)
        for kind, (low, high) in {"int8": (-128, 127), "uint8": (0, 255)}.items():
            inputs = {"self": x, "scales": scale, "zero_points": zero, "dtype": kind}
            model = model_of("npu_quantize", inputs)
            q = QUANTIZE[name](x.astype(F32), scale, zero.astype(F32))
            actual = (np.clip(q, low, high).astype(kind),)
            matches = {m.name: m.benign for m in matching_variants(model, actual)}
            assert matches[name] == (name in BENIGN)
            if name in BENIGN:
                assert next(iter(matches.values()))
            elif dtype == F32:
                assert "reference" not in matches
            assert name not in names_of(model, spoiled(actual, 0))

    def test_fractional_zero_points_after_rounding_are_another_formula(
        self, rng: np.random.Generator
    ) -> None:
        x = rng.standard_normal((50, 64)).astype(F32) * 30
        zero = F32(rng.uniform(-5, 5, 64))
        inputs = {"self": x, "scales": F32([0.5]), "zero_points": zero, "dtype": "int8"}
        actual = (np.clip(np.rint(x / F32(0.5)) + zero, -128, 127).astype(np.int8),)
        matches = {
            m.name: m.benign for m in matching_variants(model_of("npu_quantize", inputs), actual)
        }
        assert matches["zero point after rounding"] is False

    def test_multiplying(self, rng: np.random.Generator) -> None:
        scale, zero = F32(rng.uniform(0.1, 3, 64)), rng.integers(-9, 9, 64).astype(np.int32)
        x = on_ties(rng, 1 / scale, zero, F32)
        inputs = {"self": x, "scales": scale, "zero_points": zero, "dtype": "int8"}
        model = model_of("npu_quantize", inputs | {"div_mode": False})
        z = zero.astype(F32)
        for name, q in {
            "reference": x * scale + z,
            "x / (1/scale)": x / (1 / scale) + z,
            "x / scale": x / scale + z,
            "fused": rounded_fma(x[:50], scale, z).reshape(50, 64),
        }.items():
            rows = model_of("npu_quantize", inputs | {"self": x[: len(q)], "div_mode": False})
            found = {m.name: m.benign for m in matching_variants(rows, (codes(q),))}
            assert found[name] == (name != "x / scale")
        assert not any("x * (1/" in variant.name for variant in applicable(model))

    def test_inputs_rounded_first(self, rng: np.random.Generator) -> None:
        x = (rng.standard_normal((99, 64)) * 9).astype(F32)
        inputs = {"self": x, "scales": F32([0.1]), "zero_points": None, "dtype": "int8"}
        model = model_of("npu_quantize", inputs)
        for name, q in {"input as fp16": f16(x), "input as bf16": bf16(x)}.items():
            assert name in names_of(model, (codes(q / F32(0.1)),))
        sources = {v.name: v.source for v in applicable(model)}
        assert (sources["input as fp16"], sources["input as bf16"]) == ("x.half()", "x.bfloat16()")
        narrow = model_of("npu_quantize", inputs | {"self": x.astype(np.float16)})
        assert not any("input as" in v.name for v in applicable(narrow))

    def test_without_zero_points(self, rng: np.random.Generator) -> None:
        x = rng.standard_normal((5, 9)).astype(F32)
        inputs = {"self": x, "scales": F32([0.1]), "zero_points": None, "dtype": "int32"}
        model = model_of("npu_quantize", inputs)
        assert not any("zero point" in v.name for v in applicable(model))
        assert "reference" in names_of(model, model.golden())

    def test_clamped_at_minus_127(self) -> None:
        inputs = {"self": F32([-500]), "scales": F32([1]), "zero_points": None, "dtype": "int8"}
        model = model_of("npu_quantize", inputs | {"axis": 0})
        assert names_of(model, (np.int8([-127]),)) == ["clamp -127"]

    @pytest.mark.needs("torch")
    @OLD_TORCH
    def test_torch(self, rng: np.random.Generator) -> None:
        import torch

        scale, zero = F32(rng.uniform(0.1, 3, 64)), rng.integers(-9, 9, 64).astype(np.int32)
        x = on_ties(rng, scale, zero, F32)
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


QUANTIZE_VAL: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda x, s, z: np.rint(x * (1 / s)) + z,
    "x / scale": lambda x, s, z: np.rint(x / s) + z,
    "zero point before rounding": lambda x, s, z: np.rint(x * (1 / s) + z),
    "half away": lambda x, s, z: away((x * (1 / s)).astype(np.float64)) + z,
    "truncation": lambda x, s, z: np.trunc(x * (1 / s)) + z,
    "fp16 quotient": lambda x, s, z: np.rint(f16(x * (1 / s))) + z,
    "zero point ignored": lambda x, s, z: np.rint(x * (1 / s)),
}


class TestQuantizeVal:
    @pytest.mark.parametrize("kind", ["qint8", "quint8", "qint32"])
    @pytest.mark.parametrize("name", QUANTIZE_VAL)
    def test_it_is_named(self, name: str, kind: str, rng: np.random.Generator) -> None:
        scale, zero = F32(0.3), F32(7)
        x = on_ties(rng, np.array([scale] * 8), 0, F32)
        inputs = {"scale": 0.3, "zero_point": 7, "value": x, "scalar_type": kind}
        model = model_of("quantize_val", inputs)
        limits = np.iinfo(model.golden()[0].dtype)
        q = QUANTIZE_VAL[name](x, scale, zero).astype(np.float64)
        actual = (np.clip(q, limits.min, limits.max).astype(limits.dtype),)
        matches = {m.name: m.benign for m in matching_variants(model, actual)}
        assert matches[name] == (name in list(QUANTIZE_VAL)[:4])
        assert name not in names_of(model, spoiled(actual, 0))

    @pytest.mark.needs("torch")
    @OLD_TORCH
    @pytest.mark.parametrize("kind", ["qint8", "quint8", "qint32"])
    def test_torch(self, kind: str, rng: np.random.Generator) -> None:
        import torch

        x = on_ties(rng, np.array([F32(0.3)] * 8), 0, F32)
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
        assert names_of(model, (np.int8([127, 10]),)) == ["torch.quantize_per_tensor"]


# Of x (int8 as float32), scale and offset: what is rounded to dst_dtype.
ANTI_QUANT: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda x, s, o: (x + o) * s,
    "x * scale + offset * scale": lambda x, s, o: x * s + o * s,
    "rounded once": lambda x, s, o: (x.astype(np.float64) + o) * s,
    "offset subtracted": lambda x, s, o: (x - o) * s,
    "offset ignored": lambda x, s, o: x * s,
    "x * scale + offset": lambda x, s, o: x * s + o,
    "x / scale": lambda x, s, o: (x + o) / s,
    "scale twice (sqrtMode)": lambda x, s, o: (x + o) * s * s,
}
IN_16_BITS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "sum in 16 bits": lambda x, s, o, r: r(x + o) * s,
    "scale in 16 bits": lambda x, s, o, r: (x + o) * r(s),
    "all in 16 bits": lambda x, s, o, r: r(x + r(o)) * r(s),
    "product in 16 bits before the sum": lambda x, s, o, r: r(x * s) + r(o * s),
}


class TestAntiQuant:
    @pytest.mark.parametrize(("dst", "round_"), [(np.float16, f16), (ml_dtypes.bfloat16, bf16)])
    @pytest.mark.parametrize("name", ANTI_QUANT | IN_16_BITS)
    def test_it_is_named(self, name: str, dst: Any, round_: Any, rng: np.random.Generator) -> None:
        x = rng.integers(-128, 128, (750, 64)).astype(np.int8)
        scale, offset = F32(rng.uniform(0.1, 3, 64)), F32(rng.uniform(-9, 9, 64))
        inputs = {"x": x, "scale": scale, "offset": offset, "dst_dtype": dst}
        model = model_of("npu_anti_quant", inputs)
        operands = x.astype(F32), scale, offset
        values = (
            ANTI_QUANT[name](*operands)
            if name in ANTI_QUANT
            else IN_16_BITS[name](*operands, round_)
        )
        actual = (values.astype(dst),)
        matches = {m.name: m.benign for m in matching_variants(model, actual)}
        assert matches[name] == (name in list(ANTI_QUANT)[:3])
        assert matches[name] or "reference" not in matches
        assert name not in names_of(model, spoiled(actual, 0))

    def test_saturated(self) -> None:
        x, scale = np.int8([100, -100]), F32([1000])
        model = model_of("npu_anti_quant", {"x": x, "scale": scale})
        assert names_of(model, (np.float16([65504, -65504]),)) == ["saturated"]
        assert "reference" in names_of(model, (np.float16([np.inf, -np.inf]),))

    def test_without_offset(self) -> None:
        model: Model = model_of("npu_anti_quant", {"x": np.int8([7]), "scale": F32([2])})
        assert not any("offset" in v.name for v in applicable(model) if v.name != "reference")
