"""The named formulas of dynamic quantization, against the same formulas written once more here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from golden_wrongs import BF16, F32, Outputs, away, bf16, codes, f16
from test_golden_named import has, listed, matching, names_of, spoiled

from npu_quant.golden.operators import model_of

# Of v (float32), amax and scale = amax / 127 with an axis kept: (q, scale).
DYNAMIC: dict[str, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    "reference": lambda v, a, s: (v / s, s),
    "scale amax * (1/127), x * (127/amax)": lambda v, a, s: (
        v * (F32(127) / a),
        a * (F32(1) / F32(127)),
    ),
    "scale 1 / (127/amax), x * (127/amax)": lambda v, a, s: (
        v * (F32(127) / a),
        F32(1) / (F32(127) / a),
    ),
    "scale amax * (1/127)": lambda v, a, s: (v / (a * F32(1 / 127)), a * F32(1 / 127)),
    "x * (1/scale)": lambda v, a, s: (v * (1 / s), s),
    "x * (127/amax)": lambda v, a, s: (v * (127 / a), s),
    "x * ((1/amax) * 127)": lambda v, a, s: (v * ((1 / a) * F32(127)), s),
    "x * 127 / amax": lambda v, a, s: (v * F32(127) / a, s),
    "x / amax * 127": lambda v, a, s: (v / a * F32(127), s),
    "scale amax * (1/127), x * (1/scale)": lambda v, a, s: (
        v * (1 / (a * F32(1 / 127))),
        a * F32(1 / 127),
    ),
    "scale 1 / ((1/amax) * 127), x * ((1/amax) * 127)": lambda v, a, s: (
        v * ((1 / a) * F32(127)),
        1 / ((1 / a) * F32(127)),
    ),
    "fp16 quotient": lambda v, a, s: (f16(v / s), s),
    "bf16 quotient": lambda v, a, s: (bf16(v / s), s),
    "x * (127/amax), fp16 quotient": lambda v, a, s: (f16(v * (F32(127) / a)), s),
    "fp16 scale": lambda v, a, s: (v / f16(s), f16(s)),
    "bf16 scale": lambda v, a, s: (v / bf16(s), bf16(s)),
    "bf16 scale, bf16 quotient": lambda v, a, s: (bf16(v / bf16(s)), bf16(s)),
    "bf16 scale, y by the float32 one": lambda v, a, s: (v / s, bf16(s)),
    "scale amax / 128": lambda v, a, s: (v / (a / 128), a / 128),
    "scale amax / 127.5": lambda v, a, s: (v / (a / F32(127.5)), a / F32(127.5)),
    "scale is 127 / amax": lambda v, a, s: (v / s, 127 / a),
}
SAME = {"x * 127 / amax", "x / amax * 127"}  # to the bit, on these data
ROUNDINGS = {"half away": away, "half up": lambda q: np.floor(q + 0.5)}
OTHER_ROUNDINGS = {"truncation": np.trunc, "floor": np.floor, "ceil": np.ceil}
OTHER = ("fp16", "bf16", "amax / 12", "scale is", *OTHER_ROUNDINGS)


def dynamic(
    name: str, v: Any, round_: Callable[[Any], Any] = np.rint, width: int | None = None
) -> Outputs:
    """Compute a formula per row, or per block."""
    n = v.shape[-1]
    width = n if width is None else width
    grouped = np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, -n % width)])
    grouped = grouped.reshape(*v.shape[:-1], -1, width)
    amax = np.abs(grouped).max(axis=-1, keepdims=True)
    q, scale = DYNAMIC[name](grouped, amax, amax / F32(127))
    y = codes(q, round_).reshape(*v.shape[:-1], -1)[..., :n]
    scale = np.asarray(scale, F32)[..., 0]
    return y, scale[..., 0] if width == n else scale


def few_bits(seed: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return random numbers of 8 bits: quotients are often next to ties, of 16 rows at them."""
    x = np.random.default_rng(seed).standard_normal(shape).astype(BF16)
    x[:16] = np.clip(np.rint(x[:16].astype(F32) * 64) / 2, -127, 127)
    x[:16, ..., 0] = 127
    return x.astype(dtype)


SIXTEEN = [
    pytest.param(np.float16, id="float16"),
    pytest.param(BF16, id="bfloat16", marks=pytest.mark.exhaustive),  # the same numbers
]


@pytest.fixture(scope="module", params=SIXTEEN)
def x(request: pytest.FixtureRequest) -> Any:
    return few_bits(11, (256, 256), request.param)


@pytest.fixture(scope="module")
def large() -> Any:
    """Return an array of several parts."""
    return few_bits(11, (1024, 1024), np.float16)


class TestDynamicQuant:
    @pytest.mark.parametrize("name", DYNAMIC)
    def test_it_is_named(self, name: str, x: Any) -> None:
        model = model_of("npu_dynamic_quant", {"input": x})
        actual = dynamic(name, x.astype(F32))
        matches = matching(model, actual)
        match = next(match for match in matches if has([match.name], name))
        assert match.benign == (not any(word in name for word in OTHER))
        # What else gives these bytes has no effect on these data, such as a small epsilon.
        benign = [m.name for m in matches if m.benign and "ascend" not in m.name]
        if name in SAME:
            assert set(benign) == SAME
        else:
            assert benign == ([match.name] if match.benign else [])
        assert [m.benign for m in matches] == sorted((m.benign for m in matches), reverse=True)
        for output in (0, 1):
            assert name not in names_of(model, spoiled(actual, output))

    @pytest.mark.parametrize("name", DYNAMIC)
    def test_it_is_named_from_y_alone(self, name: str, x: Any) -> None:
        model = model_of("npu_dynamic_quant", {"input": x})
        y, _ = dynamic(name, x.astype(F32))
        assert has(names_of(model, (y, None)), name)
        assert names_of(model, spoiled((y, None), 0)) == []

    @pytest.mark.parametrize("name", ROUNDINGS | OTHER_ROUNDINGS)
    def test_roundings(self, name: str, x: Any) -> None:
        model = model_of("npu_dynamic_quant", {"input": x})
        round_ = (ROUNDINGS | OTHER_ROUNDINGS)[name]
        steps = dynamic("reference", x.astype(F32), round_)
        if name == "half up":  # the sum with a half is a float32 operation
            q = x.astype(F32) / steps[1][:, None]
            steps = codes(np.floor(q + F32(0.5))), steps[1]
        matches = {m.name: m.benign for m in matching(model, steps)}
        assert matches[name] == (name in ROUNDINGS)
        assert "reference" not in matches
        assert name in names_of(model, (steps[0], None))
        assert names_of(model, spoiled(steps, 0)) == []

    def test_from_the_scale_alone(self, x: Any) -> None:
        model = model_of("npu_dynamic_quant", {"input": x})
        scale = dynamic("bf16 scale", x.astype(F32))[1]
        found = ["bf16 scale", "bf16 scale, y by the float32 one"]
        assert names_of(model, (None, scale)) == found

    def test_per_column(self, x: Any) -> None:
        v = x.astype(F32)
        scale = np.abs(v).max(axis=0) / F32(127)
        model = model_of("npu_dynamic_quant", {"input": x})
        actual = codes(v / scale), scale
        assert names_of(model, actual) == ["per column"]
        assert names_of(model, spoiled(actual, 0)) == []

    def test_per_column_of_another_length_from_y_alone(self, x: Any) -> None:
        x = x[:150].reshape(3, 50, 256)
        v = x.astype(F32)
        scale = np.abs(v).max(axis=1, keepdims=True) / F32(127)
        model = model_of("npu_dynamic_quant", {"input": x})
        y = codes(v / scale)
        assert names_of(model, (y, None)) == ["per column"]
        assert names_of(model, (y, model.golden()[1])) == []

    def test_per_column_in_many_small_matrices(self) -> None:
        x = few_bits(1, (300, 30, 30), F32)
        scale = np.abs(x).max(axis=1) / F32(127)
        model = model_of("npu_dynamic_quant", {"input": x})
        assert names_of(model, (codes(x / scale[:, None]), scale)) == ["per column"]

    def test_per_tensor(self, x: Any) -> None:
        v = x.astype(F32)
        amax = np.abs(v).max()
        model = model_of("npu_dynamic_quant", {"input": x})
        actual = codes(v * (F32(127) / amax)), np.full(256, amax / F32(127), F32)
        assert has(names_of(model, actual), "per tensor, x * (127/amax)")

    def test_asymmetric(self, x: Any) -> None:
        """aclnnDynamicQuantV2 with an offset: [-1, 0, 1, 3] is [-128, -64, 0, 127]."""
        row = np.array([[-1, 0, 1, 3]], np.float16)
        model = model_of("npu_dynamic_quant", {"input": row})
        scale = np.array([0x3C808081], np.uint32).view(F32)
        actual = np.array([[-128, -64, 0, 127]], np.int8), scale
        assert names_of(model, actual) == ["asymmetric"]
        assert names_of(model, spoiled(actual, 0)) == []

    @pytest.mark.parametrize("eps", ["1e-12", "1e-10", "1e-8", "1e-7", "1e-6", "1e-5"])
    def test_epsilons(self, eps: str, x: Any) -> None:
        v = (x[:64].astype(F32) * F32(eps) * F32(20)).astype(F32)
        v[0] = 0
        model = model_of("npu_dynamic_quant", {"input": v})
        amax, e = np.abs(v).max(axis=1, keepdims=True), F32(eps)
        for name, scale in {
            f"amax at least {eps}": np.maximum(amax, e) / F32(127),
            f"scale at least {eps}": np.maximum(amax / F32(127), e),
            f"amax + {eps}": (amax + e) / F32(127),
            f"scale + {eps}": amax / F32(127) + e,
        }.items():
            assert name in names_of(model, (codes(v / scale), scale[:, 0])), name
            assert "reference" not in names_of(model, (codes(v / scale), scale[:, 0]))

    @pytest.mark.parametrize("short", ["fp16", "bf16"])
    def test_scales_of_weights_that_vanish(self, short: str) -> None:
        """By msmodelslim's least scale, and by compressed-tensors' epsilon."""
        stored, epsilon = (f16, 2.0**-10) if short == "fp16" else (bf16, 2.0**-7)
        v = few_bits(3, (32, 64), F32) * F32(10.0) ** np.linspace(-43, 0, 32, dtype=F32)[:, None]
        v[0] = 0
        amax = np.abs(v).max(axis=1, keepdims=True)
        narrow = stored(amax / F32(127.5))
        assert 1 < np.count_nonzero(narrow == 0) < 32
        for name, scale in {
            f"{short} scale, scale at least 2^-23": np.maximum(
                stored(amax / F32(127)), F32(2**-23)
            ),
            f"{short} scale amax / 127.5, {short} epsilon for 0": np.where(
                narrow == 0, F32(epsilon), narrow
            ),
        }.items():
            model = model_of("npu_dynamic_quant", {"input": v})
            actual = codes(v / scale), scale[:, 0]
            assert name in names_of(model, actual), names_of(model, actual)
            assert name not in names_of(model, spoiled(actual, 1))

    def test_smooth_scales(self, x: Any) -> None:
        smooth = np.random.default_rng(3).uniform(0.5, 2, 256).astype(x.dtype)
        model = model_of("npu_dynamic_quant", {"input": x, "smooth_scales": smooth})
        v, factors = x.astype(F32), smooth.astype(F32)
        for name, values in {
            "reference": v * factors,
            "smooth_scales ignored": v,
            "divided by smooth_scales": v / factors,
        }.items():
            assert name in names_of(model, dynamic("reference", values)), name
        without = [v.name for v in listed(model_of("npu_dynamic_quant", {"input": x}))]
        assert not any("smooth" in name for name in without)

    def test_inputs_rounded_first(self, x: Any) -> None:
        v = np.random.default_rng(5).standard_normal((256, 512)).astype(F32)
        model = model_of("npu_dynamic_quant", {"input": v})
        for name, values in {"input as fp16": f16(v), "input as bf16": bf16(v)}.items():
            assert names_of(model, dynamic("reference", values)) == [name]
        narrow = model_of("npu_dynamic_quant", {"input": x})
        assert not any("input" in v.name for v in listed(narrow))

    def test_the_least_code(self) -> None:
        v = np.array([[-1e-45, 0]], F32)  # amax / 127 is 0, the quotient -inf
        model = model_of("npu_dynamic_quant", {"input": v})
        assert model.golden()[0].tolist() == [[-128, 0]]
        actual = np.array([[-127, 0]], np.int8), model.golden()[1]
        assert "clamp -127" in names_of(model, actual)
        assert "reference" not in names_of(model, actual)


class TestDynamicBlockQuant:
    @pytest.mark.parametrize("name", [n for n in DYNAMIC if "ascend" not in n])
    def test_it_is_named(self, name: str, x: Any) -> None:
        for v in (x, x[:200, :200]):
            model = model_of("npu_dynamic_block_quant", {"x": v})
            actual = dynamic(name, v.astype(F32), width=128)
            assert has(names_of(model, actual), name)
            assert has(names_of(model, (actual[0], None)), name)
            assert name not in names_of(model, spoiled(actual, 0))

    @pytest.mark.parametrize("min_scale", [0.0, 30.0])
    def test_the_devices(self, min_scale: float, x: Any) -> None:
        """Both bounds literally: the scale from above, the multiplier from below."""
        model = model_of("npu_dynamic_block_quant", {"x": x, "min_scale": min_scale})
        v = x.astype(F32).reshape(256, 2, 128)
        amax = np.abs(v).max(axis=-1)
        scale, q = amax * (F32(1) / F32(127)), (F32(1) / amax) * F32(127)
        if min_scale > 0:
            scale = np.minimum(scale, F32(1) / F32(min_scale))
            q = np.maximum(q, F32(min_scale))
        actual = codes(v * q[..., None]).reshape(256, 256), scale
        assert names_of(model, actual)[0] == "ascend910b"
        assert names_of(model, model.golden()) == ["reference"]

    def test_min_scale(self, x: Any) -> None:
        model = model_of("npu_dynamic_block_quant", {"x": x, "min_scale": 50.0})
        v = x.astype(F32).reshape(256, 2, 128)
        plain = np.abs(v).max(axis=-1) / F32(127)
        for name, scale in {
            "min_scale ignored": plain,
            "scale at least min_scale": np.maximum(plain, F32(50)),
            "as the page prints it": np.minimum(
                F32(127) / np.abs(v).max(axis=-1), F32(1) / F32(50)
            ),
        }.items():
            y = codes(v / scale[..., None]).reshape(256, 256)
            assert name in names_of(model, (y, scale)), name

    def test_the_page(self, x: Any) -> None:
        model = model_of("npu_dynamic_block_quant", {"x": x})
        v = x.astype(F32).reshape(256, 2, 128)
        scale = F32(127) / np.abs(v).max(axis=-1)
        y = codes(v / scale[..., None]).reshape(256, 256)
        assert names_of(model, (y, scale)) == ["as the page prints it"]

    def test_a_scale_per_row(self, x: Any) -> None:
        model = model_of("npu_dynamic_block_quant", {"x": x})
        y, scale = dynamic("reference", x.astype(F32))
        assert "per row" in names_of(model, (y, np.repeat(scale, 2).reshape(256, 2)))


class TestMatching:
    def test_nothing_to_match(self, x: Any) -> None:
        model = model_of("npu_dynamic_quant", {"input": x})
        assert names_of(model, (None, None)) == []

    def test_other_shapes_and_dtypes_match_nothing(self, x: Any) -> None:
        model = model_of("npu_dynamic_quant", {"input": x})
        y, scale = model.golden()
        assert "reference" in names_of(model, (y, scale))
        assert names_of(model, (y.view(np.uint8), None)) == []
        assert names_of(model, (y.reshape(-1), None)) == []
        assert names_of(model, (None, scale.astype(np.float64))) == []

    def test_nan_equals_nan(self) -> None:
        v = np.array([[np.nan, 1], [2, 3]], F32)
        model = model_of("npu_dynamic_quant", {"input": v})
        y, scale = model.golden()
        scale = scale.copy()
        scale[:1].view(np.uint32)[:] = 0xFFC00001
        assert "reference" in names_of(model, (y, scale))
        assert "reference" not in names_of(model, (y, np.array([0, scale[1]], F32)))

    def test_zeros_with_signs_are_not_equal(self) -> None:
        model = model_of("npu_dynamic_quant", {"input": np.zeros((1, 2), F32)})
        assert "reference" in names_of(model, (None, F32([0.0])))
        assert "reference" not in names_of(model, (None, F32([-0.0])))

    def test_columns_of_special_numbers(self) -> None:
        """Zeros, infinities, NaN, subnormals and tiny numbers in some columns."""
        x = np.random.default_rng(9).standard_normal((300, 64)).astype(F32)
        x[:, 3], x[5, 7], x[6, 8], x[:, 9], x[:, 10] = 0, np.inf, np.nan, 1e-45, 1e-38
        with np.errstate(all="ignore"):
            amax = np.abs(x).max(axis=0)
            model = model_of("npu_dynamic_quant", {"input": x})
            found = names_of(model, (codes(x / (amax / F32(127))), None))
            assert found[0] == "per column"
            found = names_of(model, (codes(x * (F32(127) / amax)), None))
            assert has(found, "per column, x * (127/amax)")

    def test_arrays_of_any_strides(self, x: Any) -> None:
        y, scale = dynamic("x * (127/amax)", x.astype(F32))
        model = model_of("npu_dynamic_quant", {"input": np.asfortranarray(x)})
        assert "x * (127/amax)" in names_of(model, (np.asfortranarray(y), scale))

    def test_empty_arrays(self) -> None:
        for shape in ((0, 4), (3, 0)):
            model = model_of("npu_dynamic_quant", {"input": np.zeros(shape, F32)})
            assert "reference" in names_of(model, model.golden())
