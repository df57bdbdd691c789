"""quantize_val and dequantize_val by hand, of numbers, and there and back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.fake_quantize_per_tensor import SCALES
from cases.quantize_val import LIMITS, TYPES, ZERO_POINTS
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import (
    Array,
    assert_same_bits,
    assert_same_but_nan,
    on_steps,
)

import npu_quant
from npu_quant import dequantize_val, fake_quantize_per_tensor_affine, quantize_val

CASES = [(name, zero_point) for name in TYPES for zero_point in ZERO_POINTS[name]]


def f32(*values: float) -> Array:
    """Return a float32 array."""
    return np.array(values, np.float32)


@pytest.fixture(params=list(TYPES))
def name(request: pytest.FixtureRequest) -> str:
    """Run the test with each type of codes."""
    return request.param


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 7."""

    def test_by_hand(self, dtype: np.dtype) -> None:
        """0.25 / 0.1 is a tie in float32: 2.5; 9.75 / 0.5 is 19.5."""
        assert quantize_val(0.1, 10, np.array([0.25], dtype), "qint8").tolist() == [12]
        x = np.array([9.75, -1, 0.3, 0], dtype)
        assert quantize_val(0.5, 10, x, "quint8").tolist() == [30, 8, 11, 10]
        assert quantize_val(0.5, -1000, x, "qint32").tolist() == [-980, -1002, -999, -1000]

    def test_the_zero_point_is_added_after_rounding(self, dtype: np.dtype, name: str) -> None:
        q = quantize_val(1.0, 1, np.array([0.5, 1.5, 2.5, -0.5], dtype), name)
        assert_same_bits((q,), (np.array([1, 3, 3, 1], TYPES[name]),))

    def test_nan(self, dtype: np.dtype, name: str) -> None:
        q = quantize_val(0.5, 3, np.array([np.nan, -np.nan, 1], dtype), name)
        assert q.tolist() == [LIMITS[name][0]] * 2 + [5]

    def test_inf(self, dtype: np.dtype, name: str) -> None:
        q = quantize_val(0.5, 3, np.array([np.inf, -np.inf], dtype), name)
        assert q.tolist() == [*LIMITS[name][::-1]]

    def test_beyond_the_range(self) -> None:
        x = f32(
            62, 62.25, 62.26, 1e9, -65.5, -65.75, -65.76, -1e9
        )  # 62.25: 124 + 3, -65.75: -132 + 3
        assert quantize_val(0.5, 3, x, "qint8").tolist() == [127] * 4 + [-128] * 4
        assert quantize_val(1, 255, f32(0, 1, -255, -256), "quint8").tolist() == [255, 255, 0, 0]

    def test_beyond_the_range_of_int32(self) -> None:
        most = 2.0**31
        x = f32(most, most - 128, 3e38, -most, -most - 256, -3e38)
        q = quantize_val(1.0, 0, x, "qint32")
        assert q.tolist() == [2**31 - 1, 2**31 - 128, 2**31 - 1] + [-(2**31)] * 3
        assert quantize_val(1.0, 2**31 - 1, f32(-256, 5), "qint32").tolist() == [
            2**31 - 256,
            2**31 - 1,
        ]

    def test_negative_scale(self, dtype: np.dtype) -> None:
        x = np.array([1, -1, np.inf, -np.inf, 0, np.nan], dtype)
        assert quantize_val(-0.5, 3, x, "qint8").tolist() == [1, 5, -128, 127, 3, -128]

    @pytest.mark.parametrize("scale", [0.0, 1e-45, 1e-39, 1e-300])
    def test_scale_zero_or_so_small_that_its_inverse_is_inf(self, scale: float) -> None:
        x = f32(1, -1, 0, -0.0, np.nan, np.inf)
        assert quantize_val(scale, 3, x, "qint8").tolist() == [127, -128, -128, -128, -128, 127]

    def test_scale_minus_zero(self) -> None:
        assert quantize_val(-0.0, 3, f32(1, -1, 0), "qint8").tolist() == [-128, 127, -128]

    @pytest.mark.parametrize("scale", [np.inf, -np.inf, 1e39])
    def test_scale_inf(self, scale: float) -> None:
        x = f32(5, 0, 3e38, np.inf, -np.inf, np.nan)
        assert quantize_val(scale, 3, x, "qint8").tolist() == [3] * 3 + [-128] * 3

    def test_scale_nan(self, dtype: np.dtype, name: str) -> None:
        q = quantize_val(np.nan, 3, np.array([1, 0, np.inf], dtype), name)
        assert q.tolist() == [LIMITS[name][0]] * 3

    def test_zero_point_beyond_2_24_is_rounded(self) -> None:
        """2^24 + 1 becomes 2^24, and so does the sum with 1; 2^24 + 3 is a tie."""
        q = quantize_val(1.0, 2**24 + 1, f32(0, 1, 2, 3), "qint32")
        assert (q - 2**24).tolist() == [0, 0, 2, 4]

    def test_a_scalar_array(self, dtype: np.dtype, name: str) -> None:
        q = quantize_val(0.5, 3, np.array(1.25, dtype), name)
        assert_same_bits((q,), (np.array(5, TYPES[name]),))
        assert_same_bits((dequantize_val(0.5, 3, q),), (np.array(1, np.float32),))

    def test_back(self, name: str) -> None:
        x = dequantize_val(0.1, 10, np.array([0, 10, 12, 127], TYPES[name]))
        expected = np.float32(0.1) * f32(-10, 0, 2, 117)
        assert_same_bits((x,), (expected,))

    def test_back_the_difference_wraps(self) -> None:
        q = np.array([-(2**31), -(2**31) + 1, 2**31 - 1], np.int32)
        assert dequantize_val(1.0, 1, q).tolist() == [2.0**31, -(2.0**31), 2.0**31]
        assert dequantize_val(1.0, -1, q).tolist() == [-(2.0**31), -(2.0**31), -(2.0**31)]
        assert dequantize_val(0.5, -(2**31), q).tolist() == [0, 0.5, -0.5]

    def test_back_beyond_2_24_the_difference_is_rounded(self) -> None:
        q = np.array([2**24 + 1, 2**24 + 2, 2**24 + 3], np.int32)
        assert dequantize_val(0.5, 0, q).tolist() == [2.0**23, 2.0**23 + 1, 2.0**23 + 2]
        assert dequantize_val(0.5, 1, q).tolist() == [2.0**23, 2.0**23, 2.0**23 + 1]

    def test_back_too_large(self) -> None:
        x = dequantize_val(3e38, 3, np.array([2, 3, 4, 5], np.int8))
        assert_same_bits((x,), (f32(-3e38, 0, 3e38, np.inf),))

    def test_back_negative_scale(self) -> None:
        x = dequantize_val(-0.5, 3, np.array([2, 3, 4], np.int8))
        assert_same_bits((x,), (f32(0.5, -0.0, -0.5),))

    def test_back_scale_zero(self) -> None:
        q = np.array([2, 3, 4], np.uint8)
        assert_same_bits((dequantize_val(0.0, 3, q),), (f32(-0.0, 0, 0),))
        assert_same_bits((dequantize_val(-0.0, 3, q),), (f32(0, -0.0, -0.0),))

    def test_back_scale_inf(self) -> None:
        x = dequantize_val(1e39, 3, np.array([2, 3, 4], np.int32))
        assert_same_but_nan((x,), (f32(-np.inf, np.nan, np.inf),))

    def test_back_scale_nan(self, name: str) -> None:
        assert np.isnan(dequantize_val(np.nan, 3, np.array([2, 3, 4], TYPES[name]))).all()


@pytest.mark.usefixtures("target")
class TestNumbers:
    """A number is an array of one element."""

    def test_by_hand(self) -> None:
        for value in (0.25, np.float32(0.25), np.float64(0.25), ml_dtypes.bfloat16(0.25)):
            q = quantize_val(0.1, 10, value, "qint8")
            assert (type(q), q) == (int, 12)
        for code in (12, np.int8(12), np.int64(12)):
            x = dequantize_val(0.5, 10, code)
            assert (type(x), x) == (float, 1.0)
        assert dequantize_val(0.1, 10, 12) == float(np.float32(0.1) * np.float32(2))

    def test_specials(self, name: str) -> None:
        low, high = LIMITS[name]
        values = [(np.nan, low), (np.inf, high), (-np.inf, low), (1e300, high), (-(10**300), low)]
        for value, code in values:
            assert quantize_val(0.5, 3, value, name) == code
        assert quantize_val(1, 0, True, "qint8") == 1

    def test_a_value_is_rounded_to_float32_first(self) -> None:
        assert quantize_val(1.0, 0, 2**24 + 1, "qint32") == 2**24
        assert quantize_val(1.0, 0, 0.5 + 2.0**-40, "qint32") == 0

    def test_codes_of_the_whole_range(self) -> None:
        assert dequantize_val(1.0, 0, 2**31 - 1) == 2.0**31
        assert dequantize_val(1.0, 2**31 - 1, -(2**31)) == 1.0  # wraps
        assert np.isnan(dequantize_val(np.inf, 5, 5))

    @settings(max_examples=200, deadline=None)
    @given(
        st.floats(width=32),
        st.floats(width=32) | st.floats(2**-6, 2**6),
        st.sampled_from(CASES),
        st.integers(0, 255),
    )
    def test_as_arrays(self, x: float, scale: float, case: tuple[str, int], code: int) -> None:
        name, zero_point = case
        assert [quantize_val(scale, zero_point, x, name)] == quantize_val(
            scale, zero_point, f32(x), name
        ).tolist()
        q = np.array([code], np.uint8).astype(TYPES[name])
        if name == "qint32":
            q *= 1 << 23
        one = f32(dequantize_val(scale, zero_point, int(q[0])))
        assert_same_but_nan((one,), (dequantize_val(scale, zero_point, q),))


@pytest.mark.parametrize(
    "name_of", [str, int, lambda t: getattr(npu_quant, t), lambda t: f"torch.{t}"]
)
def test_ways_of_naming_the_type(name: str, name_of: Any) -> None:
    way = npu_quant.ScalarType[name] if name_of is int else name
    q = quantize_val(1.0, 3, f32(2.4), name_of(way))
    assert_same_bits((q,), (np.array([5], TYPES[name]),))
    storage = TYPES[name]
    for way in (storage, np.dtype(storage), storage.__name__, f"torch.{storage.__name__}"):
        assert quantize_val(1.0, 3, f32(2.4), way).dtype == storage


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("scale", SCALES)
def test_there_and_back_is_fake_quantization(
    rng: np.random.Generator, dtype: np.dtype, scale: float
) -> None:
    x = on_steps(rng, (50, 300), dtype, abs(scale) if 0 < abs(scale) < 1e30 else 1.0)
    for name, zero_point in CASES:
        if name == "qint32":
            continue
        y = fake_quantize_per_tensor_affine(x, scale, zero_point, *LIMITS[name])
        back = dequantize_val(scale, zero_point, quantize_val(scale, zero_point, x, name))
        with np.errstate(over="ignore"):
            assert_same_but_nan((back.astype(dtype),), (y,))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 600), st.floats(2**-6, 2**6, width=32))
def test_properties(seed: int, n: int, scale: float) -> None:
    """Half a step at most inside the range, codes come back."""
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.standard_normal(n) * 40 * scale).astype(np.float32)
    q = quantize_val(scale, 3, x, "qint8")
    back = dequantize_val(scale, 3, q)
    inside = (q > -128) & (q < 127)
    # inv, the product with it and the one on the way back each round: 2^-24 of 130 steps at most, doubled.
    bound = scale / 2 + 130 * scale * 3 * 2.0**-23
    assert (np.abs(back.astype(np.float64) - x) <= bound)[inside].all()
    assert quantize_val(scale, 3, back, "qint8").tolist() == q.tolist()
