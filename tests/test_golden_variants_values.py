"""The named formulas of fake quantization and of the norm, against the same written once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_golden_variants import BF16, F32, away, bf16, codes, f16, names_of, spoiled
from test_golden_variants_given import DTYPES, on_ties
from witnesses import with_specials

from npu_quant.golden.operators import Model, applicable, matching_variants, model_of

LOW, HIGH = -128, 127

# Of x (float32), scale and zero point: the codes before they are clamped.
FAKE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reference": lambda x, s, z: np.rint(x * (1 / s)) + z,
    "x / scale": lambda x, s, z: np.rint(x / s) + z,
    "zero point before rounding": lambda x, s, z: np.rint(x * (1 / s) + z),
    "x / scale, zero point before rounding": lambda x, s, z: np.rint(x / s + z),
    "half away": lambda x, s, z: (away((x * (1 / s)).astype(np.float64)) + z).astype(F32),
    "truncation": lambda x, s, z: np.trunc(x * (1 / s)) + z,
    "floor": lambda x, s, z: np.floor(x * (1 / s)) + z,
    "ceil": lambda x, s, z: np.ceil(x * (1 / s)) + z,
    "fp16 quotient": lambda x, s, z: np.rint(f16(x * (1 / s))) + z,
    "bf16 quotient": lambda x, s, z: np.rint(bf16(x * (1 / s))) + z,
    "x * scale": lambda x, s, z: np.rint(x * s) + z,
    "zero point ignored": lambda x, s, z: np.rint(x * (1 / s)),
}


def faked(q: Any, s: Any, z: Any, dtype: Any, low: int = LOW) -> tuple[Any, Any]:
    """Return output and mask of codes."""
    c = np.where(np.isnan(q), low, np.clip(q, low, HIGH)).astype(F32)
    with np.errstate(all="ignore"):
        return ((c - z) * s).astype(dtype), (low <= q) & (q <= HIGH)


def per_channel(x: Any, scale: Any, zero: Any) -> Model:
    return model_of(
        "fake_quantize_per_channel_affine_cachemask",
        {
            "self": x,
            "scale": scale,
            "zero_point": zero,
            "axis": 1,
            "quant_min": LOW,
            "quant_max": HIGH,
        },
    )


class TestFakeQuantize:
    @pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
    @pytest.mark.parametrize("name", FAKE)
    def test_it_is_named(self, name: str, dtype: Any, rng: np.random.Generator) -> None:
        scale, zero = F32(rng.uniform(0.1, 3, 64)), rng.integers(-9, 9, 64).astype(np.int32)
        x = on_ties(rng, scale, 0, dtype)
        z = zero.astype(F32)
        actual = faked(FAKE[name](x.astype(F32), scale, z), scale, z, dtype)
        model = per_channel(x, scale, zero)
        matches = {m.name: m.benign for m in matching_variants(model, actual)}
        assert matches[name] == (name in list(FAKE)[:5])
        for output in (0, 1):
            assert name not in names_of(model, spoiled(actual, output))
        assert name in names_of(model, (actual[0], None))
        only = model_of("fake_quantize_per_channel_affine", model.inputs)
        assert name in names_of(only, actual[:1])

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
        matches = matching_variants(model, actual)
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
        x = on_ties(rng, scale, 0, F32)
        x[3, 4] = np.nan
        q = np.rint(x / scale + zero.astype(F32))
        q[3, 4] = 0
        model = per_channel(x, scale, zero)
        assert names_of(model, faked(q, scale, zero.astype(F32), F32)) == ["ascend950"]

    def test_float_zero_points(self, rng: np.random.Generator) -> None:
        scale, zero = F32(rng.uniform(0.1, 3, 64)), F32(rng.uniform(-9, 9, 64))
        x = on_ties(rng, scale, 0, F32)
        model = per_channel(x, scale, zero)
        for name, q in {
            "reference": np.rint(zero + x * (1 / scale)),
            "x / scale": np.rint(zero + x / scale),
            "truncation": np.trunc(zero + x * (1 / scale)),
        }.items():
            c = np.clip(q, LOW, HIGH).astype(np.float64)
            output = ((c - zero) * scale.astype(np.float64)).astype(F32)
            actual = output, (q >= LOW) & (q <= HIGH)
            assert name in names_of(model, actual), name
        q = np.rint(x * (1 / scale)) + zero
        c = np.clip(q, F32(LOW), F32(HIGH)).astype(np.float64)
        actual = ((c - zero) * scale.astype(np.float64)).astype(F32), None
        matches = {m.name: m.benign for m in matching_variants(model, actual)}
        assert matches == {"zero point after rounding": False}

    def test_ranges_and_masks(self, rng: np.random.Generator) -> None:
        scale, zero = F32(rng.uniform(0.1, 3, 64)), np.zeros(64, np.int32)
        x = on_ties(rng, scale, 0, F32) * 3
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
        matches = matching_variants(model, (output, mask))
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


N = 640


def normed(x1: Any, x2: Any, gamma: Any, **steps: Any) -> Any:
    """Compute t of docs/numerics.md 5 in float32, but for the steps given."""
    s = steps.get("s", lambda s: s)(x1.astype(F32) + x2.astype(F32))
    n, g = s.shape[1], gamma.astype(F32)
    squares = s * s
    if "total" in steps:
        ms = steps["total"](squares) / F32(n)
    elif "scaled" in steps:
        ms = lanes(squares * (F32(1) / F32(n)))
    else:
        ms = lanes(squares) / F32(n)
    root = np.sqrt(ms + F32(steps.get("epsilon", 1e-6)))[:, None]
    rstd = F32(1) / root
    return steps.get("t", lambda s, rstd, root, g: s * rstd * g)(s, rstd, root, g)


def lanes(v: Any) -> Any:
    """Add 64 lanes, then halves of them."""
    total = v.reshape(len(v), -1, 64)
    sums = np.cumsum(total, axis=1, dtype=F32)[:, -1]
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return sums[:, 0]


def folded(v: Any) -> Any:
    """Add halves of the whole row; what is in the middle stays."""
    while v.shape[1] > 1:
        v = np.pad(v, ((0, 0), (0, v.shape[1] % 2)))
        half = v.shape[1] // 2
        v = v[:, :half] + v[:, half:]
    return v[:, 0]


NORM: dict[str, dict[str, Any]] = {
    "reference": {},
    "sequential sum": {"total": lambda v: np.cumsum(v, axis=1, dtype=F32)[:, -1]},
    "pairwise sum": {"total": lambda v: np.sum(v, axis=1)},
    "folded sum": {"total": lambda v: folded(v)},
    "float64 sum": {"total": lambda v: v.astype(np.float64).sum(axis=1).astype(F32)},
    "(s * gamma) * rstd": {"t": lambda s, rstd, root, g: (s * g) * rstd},
    "s * (gamma * rstd)": {"t": lambda s, rstd, root, g: s * (g * rstd)},
    "s / root": {"t": lambda s, rstd, root, g: s / root * g},
    "terms * (1/n)": {"scaled": True},
    "epsilon 1e-5": {"epsilon": 1e-5},
    "epsilon 0": {"epsilon": 0},
}


@pytest.fixture(scope="module", params=[np.float16, BF16, F32], ids=lambda d: np.dtype(d).name)
def inputs(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return inputs; two rows are so small that epsilon counts.

    One lies at ties, and in float32 so do 16 others, which are multiples of it.
    """
    rng = np.random.default_rng(17)
    x1, x2 = (rng.standard_normal((64, N)).astype(request.param) for _ in range(2))
    x1[:2], x2[:18] = x1[:2] * request.param(1e-3), 0
    if request.param == F32:
        x1[2:18] = x1[2] * (1 + np.arange(16) * 2.0**-10)[:, None]
    gamma = rng.standard_normal(N).astype(request.param)
    s = x1[2].astype(np.float64)
    t = s / np.sqrt(np.mean(s * s) + 1e-6) * gamma.astype(np.float64)
    near = np.maximum(np.abs(t), 0.02)
    return {
        "x1": x1,
        "x2": x2,
        "gamma": gamma,
        "scales1": F32(near / (np.rint(near / 0.02) + 0.5)),
        "zero_points1": rng.integers(-9, 9, N).astype(np.int32),
        "scales2": F32([0.02]),
    }


def quantized(inputs: dict[str, Any], t: Any, round_: Callable[[Any], Any] = np.rint) -> Any:
    """Return y1, y2, x of t."""
    x = (inputs["x1"].astype(F32) + inputs["x2"].astype(F32)).astype(inputs["x1"].dtype)
    z = inputs["zero_points1"].astype(F32)
    return codes(t / inputs["scales1"] + z, round_), codes(t / F32(0.02), round_), x


class TestAddRmsNormQuant:
    @pytest.mark.parametrize("name", NORM)
    def test_it_is_named(self, name: str, inputs: dict[str, Any]) -> None:
        model = model_of("npu_add_rms_norm_quant", inputs)
        t = normed(inputs["x1"], inputs["x2"], inputs["gamma"], **NORM[name])
        actual = quantized(inputs, t)
        matches = {m.name: m.benign for m in matching_variants(model, actual)}
        assert matches[name] == ("epsilon" not in name)
        if inputs["x1"].dtype == F32 or not ("sum" in name or "terms" in name):
            assert (name == "reference") == ("reference" in matches)
        for output in range(3):
            assert name not in names_of(model, spoiled(actual, output))
        assert name in names_of(model, (actual[0], None, None))

    @pytest.mark.parametrize("name", ["half away", "truncation", "floor", "ceil"])
    def test_roundings(self, name: str, inputs: dict[str, Any]) -> None:
        model = model_of("npu_add_rms_norm_quant", inputs)
        round_ = {"half away": away, "truncation": np.trunc, "floor": np.floor, "ceil": np.ceil}
        t = normed(inputs["x1"], inputs["x2"], inputs["gamma"])
        actual = quantized(inputs, t, round_[name])
        matches = {m.name: m.benign for m in matching_variants(model, actual)}
        assert matches[name] == (name == "half away")

    def test_scales_and_zero_points(self, inputs: dict[str, Any]) -> None:
        model = model_of("npu_add_rms_norm_quant", inputs)
        t = normed(inputs["x1"], inputs["x2"], inputs["gamma"])
        s, z = inputs["scales1"], inputs["zero_points1"].astype(F32)
        for name, q in {
            "t * (1/scale)": np.rint(t * (1 / s) + z),
            "zero point after rounding": np.rint(t / s) + z,
            "zero point subtracted": np.rint(t / s - z),
            "zero point ignored": np.rint(t / s),
            "div_mode reversed": np.rint(t * s + z),
            "fp16 quotient": np.rint(f16(t / s) + z),
        }.items():
            assert name in names_of(model, (codes(q), None, None)), name

    def test_zero_points_that_are_none_or_fractions(self, inputs: dict[str, Any]) -> None:
        def rows(zero_points: Any) -> dict[str, bool]:
            changed = inputs | {"zero_points1": zero_points}
            model = model_of("npu_add_rms_norm_quant", changed)
            return {v.name: v.benign for v in applicable(model) if "zero point" in v.name}

        assert rows(None) == rows(np.zeros(N, np.int32)) == {}
        assert rows(np.full(N, 2, F32))["zero point after rounding"] is True
        assert rows(np.full(N, 2.5, F32))["zero point after rounding"] is False

    def test_the_rounded_sums(self, inputs: dict[str, Any]) -> None:
        dtype = inputs["x1"].dtype
        model = model_of("npu_add_rms_norm_quant", inputs)
        if dtype == F32:
            assert not any("rounded" in v.name for v in applicable(model))
            return
        rounded = {"s": lambda s: s.astype(dtype).astype(F32)}
        t = normed(inputs["x1"], inputs["x2"], inputs["gamma"], **rounded)
        matches = {m.name: m.benign for m in matching_variants(model, quantized(inputs, t))}
        assert matches["from the rounded x"] is False
        assert "reference" not in matches
        t = normed(inputs["x1"], inputs["x2"], inputs["gamma"]).astype(dtype).astype(F32)
        assert "t rounded to x1's dtype" in names_of(model, quantized(inputs, t))

    def test_the_910b(self, inputs: dict[str, Any]) -> None:
        """float16: a half sum, terms scaled before they are added, two products in half."""
        dtype, model = inputs["x1"].dtype, model_of("npu_add_rms_norm_quant", inputs)
        steps: dict[str, Any] = {"scaled": True}
        if dtype == np.float16:
            steps["s"] = f16
            steps["t"] = lambda s, rstd, root, g: f16(g * f16(s * rstd))
        t = normed(inputs["x1"], inputs["x2"], inputs["gamma"], **steps)
        matches = {m.name: m.benign for m in matching_variants(model, quantized(inputs, t))}
        assert matches.get("ascend910b") == (None if dtype == F32 else True)
        assert "ascend950" in names_of(model, model.golden())
        if dtype == BF16:
            t = normed(inputs["x1"], inputs["x2"], inputs["gamma"], scaled=True, s=bf16)
            assert "ascend910b, rounded x" in names_of(model, quantized(inputs, t))

    def test_one_scale_and_beta(self, inputs: dict[str, Any]) -> None:
        beta = inputs["gamma"][::-1].copy()
        changed = inputs | {"scales1": F32([0.02]), "zero_points1": np.int32([3]), "beta": beta}
        model = model_of("npu_add_rms_norm_quant", changed)
        t = normed(inputs["x1"], inputs["x2"], inputs["gamma"], scaled=True) + beta.astype(F32)
        y = codes(t * (F32(1) / F32([0.02])) + F32(3))
        assert "ascend910b per tensor" in names_of(model, (y, None, None))
        without = codes(
            (t - t + normed(inputs["x1"], inputs["x2"], inputs["gamma"])) / F32(0.02) + F32(3)
        )
        assert "beta ignored" in names_of(model, (without, None, None))

    def test_epsilon_outside_the_root(self, inputs: dict[str, Any]) -> None:
        model = model_of("npu_add_rms_norm_quant", inputs)
        s = inputs["x1"].astype(F32) + inputs["x2"].astype(F32)
        root = np.sqrt(lanes(s * s) / F32(N)) + F32(1e-6)
        t = s * (F32(1) / root)[:, None] * inputs["gamma"].astype(F32)
        assert "epsilon outside the root" in names_of(model, quantized(inputs, t))


def with_given_scales(dtype: Any, rng: np.random.Generator) -> list[tuple[str, dict[str, Any]]]:
    """Return calls whose values and scales are of every kind."""
    x = with_specials(rng, (rng.standard_normal((40, 200)) * 50).astype(dtype))
    scale, zero = F32(rng.uniform(0.1, 1, 200)), rng.integers(-9, 9, 200).astype(np.int32)
    scale[:4] = [0, -0.5, np.inf, np.nan]
    codes = rng.integers(-128, 128, (9, 200)).astype(np.int8)
    fake = {"self": x, "quant_min": LOW, "quant_max": HIGH}
    channels = fake | {"scale": scale, "axis": -1}
    value = {"scale": -0.3, "zero_point": 9, "scalar_type": "quint8"}
    return [
        ("npu_quantize", {"self": x, "scales": scale, "zero_points": zero, "dtype": "int32"}),
        ("quantize_val", value | {"value": x}),
        ("quantize_val", value | {"value": x[3, 4:5].reshape(())}),
        ("npu_anti_quant", {"x": codes, "scale": scale}),
        ("npu_anti_quant", {"x": codes.T, "scale": scale[:, None], "offset": scale[:, None]}),
        ("fake_quantize_per_channel_affine_cachemask", channels | {"zero_point": zero}),
        ("fake_quantize_per_channel_affine_cachemask", channels | {"zero_point": F32(zero) / 3}),
        ("fake_quantize_per_tensor_affine", fake | {"scale": 0.0, "zero_point": 3}),
        (
            "fake_quantize_per_tensor_affine",
            fake | {"self": x[:1, :1].reshape(()), "scale": 1.0, "zero_point": 3},
        ),
    ]


def with_rows(dtype: Any, rng: np.random.Generator) -> list[tuple[str, dict[str, Any]]]:
    """Return calls with rows of every kind, of two and three axes."""
    x = with_specials(rng, (rng.standard_normal((40, 200)) * 50).astype(dtype))
    scale = F32(rng.uniform(0.1, 1, 200))
    gamma = rng.standard_normal(200).astype(dtype)
    norm = {"x1": x, "x2": x[::-1], "gamma": gamma, "scales1": scale, "zero_points1": None}
    more = {"beta": gamma[::-1], "scales2": -scale, "zero_points2": scale, "div_mode": False}
    cube = x.reshape(5, 8, 200)
    return [
        ("npu_dynamic_quant", {"input": x, "smooth_scales": gamma}),
        ("npu_dynamic_quant", {"input": cube[:, ::-2].transpose(1, 0, 2)}),
        ("npu_dynamic_block_quant", {"x": cube, "min_scale": 0.5}),
        ("npu_add_rms_norm_quant", norm),
        ("npu_add_rms_norm_quant", norm | more),
        (
            "npu_add_rms_norm_quant",
            norm | {"x1": cube, "x2": cube, "gamma": cube[4].copy(), "epsilon": 0.0},
        ),
    ]


class TestReferences:
    """The reference row is the operator, to the bit, on values and layouts of every kind."""

    @pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
    @pytest.mark.parametrize("calls", [with_given_scales, with_rows])
    def test_with_specials(self, calls: Any, dtype: Any, rng: np.random.Generator) -> None:
        for op, inputs in calls(dtype, rng):
            model = model_of(op, inputs)
            assert names_of(model, model.golden())[0] == "reference", op
