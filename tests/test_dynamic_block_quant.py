"""npu_dynamic_block_quant by hand; how far its codes may be from their argument."""

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

from npu_quant import npu_dynamic_block_quant


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 2."""

    def test_blocks_do_not_mix(self, dtype: np.dtype) -> None:
        """Each block of a long row has the scale of its own largest element."""
        n = 2048 + 3 * 128 + 5
        x = np.ones((2, n), dtype)
        amax = np.arange(1, 40)[: -(-n // 128)] * 2.0
        for b, value in enumerate(amax):
            x[1, b * 128 + (b * 7) % min(128, n - b * 128)] = -value
        y, scale = npu_dynamic_block_quant(x)
        assert scale[1].tolist() == (amax.astype(np.float32) / np.float32(127)).tolist()
        assert (y[0] == 127).all()
        assert [int(y[1, b * 128 : b * 128 + 128].min()) for b in range(len(amax))] == [-127] * len(
            amax
        )

    def test_special_blocks(self, dtype: np.dtype) -> None:
        x = np.ones((1, 128 * 20), dtype)
        x[0, 128 * 3 + 5] = np.nan
        x[0, 128 * 3 + 6] = np.inf
        x[0, 128 * 4 + 127] = -np.inf
        x[0, 128 * 5 : 128 * 6] = 0
        y, scale = npu_dynamic_block_quant(x)
        assert scale.view(np.uint32)[0, 3] == 0x7FC00000
        assert scale[0, 4] == np.inf
        assert scale[0, 5] == 0
        assert not y[0, 128 * 3 : 128 * 6].any()
        assert (y[0, : 128 * 3] == 127).all()
        assert (y[0, 128 * 6 :] == 127).all()

    def test_min_scale_bounds_the_scale(self) -> None:
        x = np.array([[100, -100, 0.25, 0, np.inf, -np.inf]], np.float32)
        y, scale = npu_dynamic_block_quant(x, min_scale=2.0)
        assert scale.tolist() == [[0.5]]
        assert y.tolist() == [[127, -128, 0, 0, 127, -128]]  # 0.25 / 0.5 is a tie: to even

    def test_min_scale_leaves_smaller_scales_and_nan(self) -> None:
        x = np.array([[1.0, 0.5], [np.nan, 1.0]], np.float32)
        y, scale = npu_dynamic_block_quant(x, min_scale=2.0)
        assert scale[0, 0] == np.float32(1) / np.float32(127)
        assert scale.view(np.uint32)[1, 0] == 0x7FC00000
        assert y.tolist() == [[127, 64], [0, 0]]

    def test_min_scale_is_rounded_to_float32_first(self) -> None:
        """1e-50 is 0 in float32: no bound."""
        x = np.array([[np.inf, 1.0]], np.float32)
        assert npu_dynamic_block_quant(x, min_scale=1e-50).scale.tolist() == [[np.inf]]

    @pytest.mark.parametrize(
        ("shape", "scale_shape"),
        [((3, 0), (3, 0)), ((0, 300), (0, 3)), ((2, 0, 5), (2, 0, 1)), ((0, 2, 0), (0, 2, 0))],
    )
    def test_empty(
        self, dtype: np.dtype, shape: tuple[int, ...], scale_shape: tuple[int, ...]
    ) -> None:
        y, scale = npu_dynamic_block_quant(np.zeros(shape, dtype))
        assert (y.shape, scale.shape) == (shape, scale_shape)
        y, scale = npu_dynamic_block_quant(np.zeros(shape, dtype), row_block_size=64)
        assert scale.shape == (*scale_shape[:-2], -(-scale_shape[-2] // 64), scale_shape[-1])

    def test_blocks_of_rows_and_columns(self, dtype: np.dtype) -> None:
        """What lies in a block shares its scale: 130 x 200 is four of 128 x 128 and less."""
        x = np.ones((130, 200), dtype)
        x[127, 127], x[0, 128], x[128, 0], x[129, 199] = 2, -4, 8, 16
        y, scale = npu_dynamic_block_quant(x, row_block_size=128)
        amax = np.array([[2, 4], [8, 16]], np.float32)
        assert_same_bits(scale, amax / np.float32(127))
        corners = [y[127, 127], y[0, 128], y[128, 0], y[129, 199]]
        assert [int(code) for code in corners] == [127, -127, 127, 127]
        assert [int(y[r, c]) for r in (1, 129) for c in (0, 199)] == [64, 32, 16, 127]
        assert (y[1, :128] == 64).all()  # 63.5, to even
        assert (y[:128, 129:] == 32).all()  # 31.75

    @pytest.mark.parametrize("rows", [1, 64])
    def test_blocks_begin_anew_in_each_matrix(self, dtype: np.dtype, rows: int) -> None:
        x = np.arange(1, 7).astype(dtype).reshape(2, 3, 1) * np.ones((2, 3, 8), dtype)
        scale = npu_dynamic_block_quant(x, row_block_size=rows).scale
        amax = [[[1], [2], [3]], [[4], [5], [6]]] if rows == 1 else [[[3]], [[6]]]
        assert_same_bits(scale, np.array(amax, np.float32) / np.float32(127))

    def test_the_documents_example_has_this_form(self, rng: np.random.Generator) -> None:
        """seeds: rand(3, 4) has 127 in each row, and scale = amax / 127."""
        x = rng.random((3, 4)).astype(np.float16)
        y, scale = npu_dynamic_block_quant(x, min_scale=0, dst_type=1)
        assert y.max(axis=1).tolist() == [127] * 3
        assert (scale[:, 0] == x.max(axis=1).astype(np.float32) / np.float32(127)).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(DTYPES), st.integers(1, 5), st.integers(1, 700))
def test_properties(seed: int, dtype: np.dtype, rows: int, n: int) -> None:
    """The error is at most half a step, blocks are independent, and a sign flips codes."""
    rng = np.random.default_rng(seed)
    x = normal(rng, (rows, n), dtype)
    y, scale = npu_dynamic_block_quant(x)
    steps = np.repeat(scale.astype(np.float64), 128, axis=1)[:, :n]
    # Half a step, and the relative error of scale and quotient in fp32, 3 * 2^-24 of at most 127 steps.
    assert (np.abs(y * steps - x.astype(np.float64)) <= steps * (0.5 + 127 * 3 * 2.0**-24)).all()
    first = npu_dynamic_block_quant(x[:, :128])
    assert_same_bits(first, (y[:, :128], scale[:, :1]))
    assert_same_bits(npu_dynamic_block_quant(-x), (-y, scale))
