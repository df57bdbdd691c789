"""npu_dynamic_quant by hand; how far its codes may be from their argument."""

from __future__ import annotations

from typing import Any

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

X = np.array([[1, 2], [-4, 0.5], [2, -0.0]], np.float16)
ROWS = np.array([[1, 2]] * 3, np.float16)


def grouped(ends: list[int], smooth: list[list[float]]) -> dict[str, Any]:
    """Return group_index and smooth_scales."""
    factors = np.array(smooth, np.float16)
    return {"group_index": np.array(ends, np.int32), "smooth_scales": factors}


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

    def test_a_scale_for_everything(self) -> None:
        y, scale = npu_dynamic_quant(X, quant_mode="pertensor")
        assert y.tolist() == [[32, 64], [-127, 16], [64, 0]]
        assert scale.view(np.uint32).tolist() == [0x3D010204]

    def test_a_scale_per_column(self) -> None:
        y, scale = npu_dynamic_quant(X, quant_mode="perchannel")
        assert y.tolist() == [[32, 127], [-127, 32], [64, 0]]
        assert scale.view(np.uint32).tolist() == [0x3D010204, 0x3C810204]

    def test_columns_of_each_batch(self) -> None:
        y, scale = npu_dynamic_quant(np.stack([X, 2 * X[::-1]]), quant_mode="perchannel")
        assert y[1].tolist() == [[64, 0], [-127, 32], [32, 127]]
        assert scale.view(np.uint32).tolist() == [
            [0x3D010204, 0x3C810204],
            [0x3D810204, 0x3D010204],
        ]

    def test_smooth_scales_of_columns_lie_along_axis_2(self) -> None:
        smooth = np.array([4, 1, -2], np.float16)
        y, scale = npu_dynamic_quant(X, smooth_scales=smooth, quant_mode="perchannel")
        assert y.tolist() == [[127, 127], [-127, 8], [-127, 0]]  # of 4, -4, -4 and 8, .5, 0
        assert scale.view(np.uint32).tolist() == [0x3D010204, 0x3D810204]

    def test_groups(self) -> None:
        """Of row 0 is expert 0; expert 1 has none."""
        a = grouped([1, 1, 3], [[1, 1], [9, 9], [2, -1]])
        y, scale = npu_dynamic_quant(ROWS, **a)
        assert y.tolist() == [[64, 127], [127, -127], [127, -127]]
        assert scale.view(np.uint32).tolist() == [0x3C810204] * 3

    def test_groups_of_which_rows_lie_apart(self) -> None:
        """Counted in C order over the leading axes, wherever they lie; ends of any stride."""
        x = np.stack([ROWS, 3 * ROWS]).transpose(1, 0, 2)  # rows of 1, 3, 1, 3, 1, 3
        a = grouped([1, 4, 6], [[1, 1], [2, 2], [0, 4]])
        a["group_index"] = np.repeat(a["group_index"], 3)[::3]
        _, scale = npu_dynamic_quant(x, **a)
        assert scale.tolist() == [
            [np.float32(v) / np.float32(127) for v in row] for row in [[2, 12], [4, 12], [8, 24]]
        ]

    def test_groups_of_one_scale(self) -> None:
        a = grouped([1, 3], [[1, 1], [2, -1]])
        y, scale = npu_dynamic_quant(ROWS, quant_mode="pertensor", **a)
        assert y.tolist() == [[64, 127], [127, -127], [127, -127]]
        assert scale.view(np.uint32).tolist() == [0x3C810204]

    def test_more_groups_than_rows(self) -> None:
        ends = [0] * 60 + [1, 1, 2, 3]
        y, _ = npu_dynamic_quant(ROWS, **grouped(ends, [[1, 0]] * 64))
        assert y.tolist() == [[127, 0]] * 3

    @pytest.mark.parametrize("mode", ["pertensor", "perchannel"])
    def test_special_groups_of_other_modes(self, dtype: np.dtype, mode: str) -> None:
        x = np.array([[0, -0.0], [-0.0, 0]], dtype)
        assert npu_dynamic_quant(x, quant_mode=mode).scale.view(np.uint32).any() == 0
        x = np.array([[np.inf, 1], [2, -3]], dtype)
        y, scale = npu_dynamic_quant(x, quant_mode=mode)
        assert (scale[0], y[:, 0].any()) == (np.inf, False)
        y, scale = npu_dynamic_quant(np.array([[np.inf, 1], [-np.nan, 5]], dtype), quant_mode=mode)
        assert scale.view(np.uint32)[0] == 0x7FC00000
        assert not y[:, 0].any()

    def test_empty_in_other_modes(self) -> None:
        for shape in [(2, 3, 0), (0, 5), (4, 0, 2)]:
            x = np.zeros(shape, np.float16)
            assert npu_dynamic_quant(x, quant_mode="pertensor").scale.tolist() == [0]
            scale = npu_dynamic_quant(x, quant_mode="perchannel").scale
            assert scale.tolist() == np.zeros(shape[:-2] + shape[-1:]).tolist()
            smooth = np.ones(shape[-2], np.float16)
            found = npu_dynamic_quant(x, smooth_scales=smooth, quant_mode="perchannel").scale
            assert found.tolist() == scale.tolist()


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
