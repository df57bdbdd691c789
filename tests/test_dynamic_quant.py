"""npu_dynamic_quant by hand; how far its codes may be from their argument."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import (
    assert_same_bits,
    normal,
)

from npu_quant import npu_dynamic_quant


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 2."""

    def test_row_with_a_tie(self) -> None:
        y, scale = npu_dynamic_quant(np.array([[0, 1, -2, 4]], np.float16))
        assert y.tolist() == [[0, 32, -64, 127]]  # -63.5 is a tie: to even
        assert scale.view(np.uint32).tolist() == [0x3D010204]

    def test_row_without_a_tie(self) -> None:
        y, _ = npu_dynamic_quant(np.array([[3, -1.5, 0.75, -3]], np.float16))
        assert y.tolist() == [[127, -64, 32, -127]]

    def test_zeros(self, dtype: np.dtype) -> None:
        y, scale = npu_dynamic_quant(np.zeros((3, 4), dtype))
        assert not y.any()
        assert scale.view(np.uint32).tolist() == [0, 0, 0]

    def test_negative_zeros(self, dtype: np.dtype) -> None:
        y, scale = npu_dynamic_quant(np.full((1, 5), -0.0, dtype))
        assert not y.any()
        assert scale.view(np.uint32).tolist() == [0]

    @pytest.mark.parametrize("nan", [np.nan, -np.nan])
    def test_nan_row(self, dtype: np.dtype, nan: float) -> None:
        x = np.ones((2, 100), dtype)
        x[0, 77] = nan
        x[0, 3] = np.inf
        y, scale = npu_dynamic_quant(x)
        assert scale.view(np.uint32)[0] == 0x7FC00000
        assert not y[0].any()
        assert (y[1] == 127).all()

    def test_signalling_nan_with_payload(self) -> None:
        x = np.array([[0x7C01, 0x3C00]], np.uint16).view(np.float16)
        y, scale = npu_dynamic_quant(x)
        assert scale.view(np.uint32).tolist() == [0x7FC00000]
        assert y.tolist() == [[0, 0]]

    @pytest.mark.parametrize("inf", [np.inf, -np.inf])
    def test_inf_row(self, dtype: np.dtype, inf: float) -> None:
        x = np.ones((1, 100), dtype)
        x[0, 50] = inf
        y, scale = npu_dynamic_quant(x)
        assert scale.tolist() == [np.inf]
        assert not y.any()

    def test_scale_that_underflows(self) -> None:
        tiny = np.finfo(np.float32).smallest_subnormal
        y, scale = npu_dynamic_quant(np.array([[tiny * 3, -tiny, 0, tiny * 60]], np.float32))
        assert scale.tolist() == [0.0]
        assert y.tolist() == [[127, -128, 0, 127]]

    def test_zero_times_inf_with_smooth_scales(self, dtype: np.dtype) -> None:
        x, smooth = np.array([[0, 1]], dtype), np.array([np.inf, 1], dtype)
        y, scale = npu_dynamic_quant(x, smooth_scales=smooth)
        assert scale.view(np.uint32).tolist() == [0x7FC00000]
        assert y.tolist() == [[0, 0]]

    def test_smooth_scales_multiply_before_the_maximum(self) -> None:
        x, smooth = np.array([[1, 2, 4]], np.float16), np.array([8, 2, -0.5], np.float16)
        y, scale = npu_dynamic_quant(x, smooth_scales=smooth)
        assert scale.tolist() == [np.float32(8) / np.float32(127)]
        assert y.tolist() == [[127, 64, -32]]  # 8, 4 (63.5: a tie), -2

    def test_empty(self, dtype: np.dtype) -> None:
        y, scale = npu_dynamic_quant(np.zeros((2, 3, 0), dtype))
        assert (y.shape, scale.tolist()) == ((2, 3, 0), [[0, 0, 0], [0, 0, 0]])
        y, scale = npu_dynamic_quant(np.zeros((0, 5), dtype))
        assert (y.shape, scale.shape) == ((0, 5), (0,))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(DTYPES), st.integers(1, 6), st.integers(1, 300))
def test_properties(seed: int, dtype: np.dtype, rows: int, n: int) -> None:
    """The error is at most half a step, and a sign flips codes."""
    rng = np.random.default_rng(seed)
    x = normal(rng, (rows, n), dtype)
    y, scale = npu_dynamic_quant(x)
    v = x.astype(np.float64)
    # Half a step, and the relative error of scale and quotient in fp32, 3 * 2^-24 of at most 127 steps.
    bound = scale.astype(np.float64)[:, None] * (0.5 + 127 * 3 * 2.0**-24)
    assert (np.abs(y * scale.astype(np.float64)[:, None] - v) <= bound).all()
    flipped = npu_dynamic_quant(-x)
    assert_same_bits(flipped, (-y, scale))
