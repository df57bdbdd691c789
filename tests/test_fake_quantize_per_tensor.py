"""Fake quantization with one scale, by hand; how far it may be from its argument."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import (
    Array,
    assert_same_but_nan,
)

from npu_quant import _fake_quantize_per_tensor_affine_cachemask_tensor_qparams as with_arrays
from npu_quant import fake_quantize_per_tensor_affine as plain
from npu_quant import fake_quantize_per_tensor_affine_cachemask as cachemask
from npu_quant import fake_quantize_per_tensor_affine_cachemask_backward as backward

ONE = np.ones(1, np.float32)
ZERO = np.zeros(1, np.int32)


def f32(*values: float) -> Array:
    """Return a float32 array."""
    return np.array(values, np.float32)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 6."""

    def test_ties_and_the_end_of_the_range(self) -> None:
        """0.05, 0.15 and 0.25 are ties in float32: x * 10 is 0.5, 1.5 and 2.5."""
        output, mask = cachemask(f32(0.25, 0.05, 0.15, 12.75), 0.1, 0, -128, 127)
        assert_same_but_nan((output,), (f32(0.2, 0, 0.2, 12.7),))
        assert mask.tolist() == [True, True, True, False]

    def test_the_zero_point_is_added_after_rounding(self) -> None:
        output, mask = cachemask(f32(0.5, 1.5, 2.5, -0.5), 1.0, 1, -128, 127)
        assert_same_but_nan((output,), (f32(0, 2, 2, 0),))  # q is [1, 3, 3, 1]
        assert mask.all()

    def test_nan(self, dtype: np.dtype) -> None:
        output, mask = cachemask(np.array([np.nan, -np.nan, 1], dtype), 0.5, 3, -128, 127)
        assert output.tolist() == [-65.5, -65.5, 1]
        assert mask.tolist() == [False, False, True]

    @pytest.mark.parametrize(
        ("zero_point", "quant_min", "y"), [(5, 0, -0.5), (0, 0, 0), (10, 0, -1), (1, 1, 0)]
    )
    def test_nan_and_minus_inf_with_other_ranges(
        self, zero_point: int, quant_min: int, y: float
    ) -> None:
        output, mask = cachemask(f32(np.nan, -np.inf), 0.1, zero_point, quant_min, 255)
        assert_same_but_nan((output,), (f32(y, y),))
        assert not mask.any()

    def test_inf_and_above(self, dtype: np.dtype) -> None:
        x = np.array([np.inf, 1000, 62.75, 62.25, 62], dtype)  # 62.25 is a tie: q = 124 + 3
        output, mask = cachemask(x, 0.5, 3, -128, 127)
        assert output.tolist() == [62] * 5
        assert mask.tolist() == [False, False, False, True, True]

    def test_minus_inf_and_below(self, dtype: np.dtype) -> None:
        output, mask = cachemask(np.array([-np.inf, -1000, -65.5], dtype), 0.5, 3, -128, 127)
        assert output.tolist() == [-65.5] * 3
        assert mask.tolist() == [False, False, True]

    def test_output_too_large(self, dtype: np.dtype) -> None:
        """66 * 1000 is inf in float16, 2 * 2.2e38 in the others."""
        scale = 1000.0 if dtype == np.float16 else 2.2e38
        most = ml_dtypes.finfo(dtype).max
        output, mask = cachemask(np.array([most, -most], dtype), scale, 0, -128, 127)
        assert output.tolist() == [np.inf, -np.inf]
        assert mask.all()

    def test_negative_scale(self, dtype: np.dtype) -> None:
        x = np.array([1, -1, np.inf, -np.inf, 0], dtype)
        output, mask = cachemask(x, -0.5, 0, -128, 127)
        assert_same_but_nan((output,), (np.array([1, -1, 64, -63.5, -0.0], dtype),))
        assert mask.tolist() == [True, True, False, False, True]

    @pytest.mark.parametrize("scale", [0.0, 1e-45, 1e-39])
    def test_scale_zero_or_so_small_that_its_inverse_is_inf(self, scale: float) -> None:
        output, mask = cachemask(f32(1, -1, 0, np.nan), scale, 0, -128, 127)
        assert_same_but_nan((output,), (f32(127, -128, -128, -128) * np.float32(scale),))
        assert not mask.any()

    @pytest.mark.parametrize("scale", [np.inf, 1e39])
    def test_scale_inf(self, scale: float) -> None:
        output, mask = cachemask(f32(5, 0, np.inf, -np.inf, np.nan), scale, 0, -128, 127)
        assert_same_but_nan((output,), (f32(np.nan, np.nan, -np.inf, -np.inf, -np.inf),))
        assert mask.tolist() == [True, True, False, False, False]

    def test_scale_nan(self, dtype: np.dtype) -> None:
        output, mask = cachemask(np.array([1, np.inf, np.nan], dtype), np.nan, 0, -128, 127)
        assert np.isnan(output).all()
        assert not mask.any()

    def test_quant_min_equal_to_quant_max(self) -> None:
        output, mask = cachemask(f32(0, 0.25, -0.25, 1, np.nan), 0.5, 5, 5, 5)
        assert_same_but_nan((output,), (f32(0, 0, 0, 0, 0),))
        assert mask.tolist() == [True, True, True, False, False]

    def test_a_scalar_array(self, dtype: np.dtype) -> None:
        x = np.array(1.25, dtype)
        expected = np.array(1, dtype), np.array(True)
        assert_same_but_nan(cachemask(x, 0.5, 0, -128, 127), expected)
        out = np.zeros((), dtype), np.zeros((), np.bool_)
        cachemask(x, 0.5, 0, -128, 127, out=out)
        assert_same_but_nan(out, expected)

    @pytest.mark.parametrize("enabled", [0, False, 0.5, -1, -3.0, np.nan, -np.inf])
    def test_switched_off(self, dtype: np.dtype, enabled: float) -> None:
        x = np.array([np.nan, np.inf, -np.inf, -0.0, 0.3, 1e4, 1e-7], dtype)
        output, mask = with_arrays(x, ONE, ZERO, np.array([enabled]), -128, 127)
        assert_same_but_nan((output,), (x,))
        assert mask.all()
        assert not np.shares_memory(output, x)

    @pytest.mark.parametrize("enabled", [1, True, 1.5, 255, np.inf])
    def test_switched_on(self, enabled: float) -> None:
        output, mask = with_arrays(f32(0.3, 999), ONE, ZERO, np.array([enabled]), -128, 127)
        assert output.tolist() == [0, 127]
        assert mask.tolist() == [True, False]

    def test_zero_point_outside_the_range(self) -> None:
        """q is 300 and 299: above 255, whose value is -45; plain() takes such arrays, too."""
        zero_point = np.array([300], np.int64)
        output, mask = with_arrays(f32(0, -1, -45), ONE, zero_point, ONE, 0, 255)
        assert output.tolist() == [-45, -45, -45]
        assert mask.tolist() == [False, False, True]
        assert plain(f32(0, -1, -45), ONE, zero_point, 0, 255).tolist() == output.tolist()

    def test_gradient(self, dtype: np.dtype) -> None:
        grad = np.array([1.5, -2, np.inf, np.nan, 3, -np.inf, -0.0], dtype)
        mask = np.array([True, False, False, False, False, True, False])
        expected = np.array([1.5, -0.0, np.nan, np.nan, 0, -np.inf, -0.0], dtype)
        assert_same_but_nan((backward(grad, mask),), (expected,))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(DTYPES),
    st.integers(1, 600),
    st.floats(2**-6, 2**6, width=32),
)
def test_properties(seed: int, dtype: np.dtype, n: int, scale: float) -> None:
    """Half a step at most inside the range, a fixed point the second time."""
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.standard_normal(n) * 100 * scale).astype(dtype)
    output, mask = cachemask(x, scale, 3, -128, 127)
    v, y = x.astype(np.float64), output.astype(np.float64)
    # Half a step; inv and the product round, 2^-24 of x each (times 1 + 2^-24, so doubled); y is rounded to float32,
    # then to its dtype, half of eps each (float16 below 2^-14: of its smallest subnormal).
    rounding = 2.0**-24 + ml_dtypes.finfo(dtype).eps / 2
    bound = scale / 2 + np.abs(v) * 2.0**-22 + np.abs(y) * rounding + 2.0**-25
    assert (np.abs(y - v) <= bound)[mask].all()
    assert (np.abs(y) <= np.abs(v) + bound)[~mask].all()
    # 15 steps at most: a rounding of 2^-8 (bfloat16) moves none to the next.
    once = plain(x, scale, -1, -8, 7)
    assert_same_but_nan(cachemask(once, scale, -1, -8, 7), (once, np.ones(n, np.bool_)))
