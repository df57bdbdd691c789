"""Fake quantization per channel, by hand; how far it may be from its argument."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from cases.case import check
from cases.fake_quantize_per_channel import CACHEMASK, ZEROS, arguments, channels
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import (
    Array,
    assert_same_but_nan,
    layouts,
    on_steps,
)

from npu_quant import ParamError
from npu_quant import fake_quantize_per_channel_affine_cachemask as cachemask
from npu_quant import fake_quantize_per_channel_affine_cachemask_backward as backward
from npu_quant import fake_quantize_per_tensor_affine_cachemask as per_tensor

KINDS = [np.int32, np.float32, np.float16]


def f32(*values: float) -> Array:
    """Return a float32 array."""
    return np.array(values, np.float32)


def whole(value: float, kind: type) -> Array:
    """Return a zero point of one channel."""
    return np.array([value], kind)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 6."""

    def test_channels_on_each_axis(self, dtype: np.dtype) -> None:
        x = np.array([[1.25, 99], [0.75, -9]], dtype)
        scale, zero_point = f32(0.5, 0.25), np.array([0, 1], np.int32)
        rows = np.array([[1, 3.5], [0.75, -2.25]], dtype)
        columns = np.array([[1, 1.5], [1, -2.25]], dtype)
        for axis, expected in ((0, rows), (-2, rows), (1, columns), (-1, columns)):
            output, mask = cachemask(x, scale, zero_point, axis, -8, 7)
            assert_same_but_nan((output,), (expected,))
            assert mask.tolist() == [[True, False], [True, False]]

    @pytest.mark.parametrize("kind", [np.float32, np.float16])
    def test_float_zero_points_are_added_before_rounding(self, kind: type) -> None:
        x = f32(0.5, 1.5, 2.5, -0.5)[None]
        output, _ = cachemask(x, f32(1), whole(1, kind), 0, -128, 127)
        assert_same_but_nan((output,), (f32(1, 1, 3, -1)[None],))  # q is [2, 2, 4, 0]

    @pytest.mark.parametrize("kind", [np.float32, np.float16])
    def test_a_fractional_zero_point(self, dtype: np.dtype, kind: type) -> None:
        x = np.array([[0, 1, 2, -1, np.nan]], dtype)  # q is [0, 2, 2, 0, quant_min]: ties
        output, mask = cachemask(x, f32(1), whole(0.5, kind), 0, -8, 7)
        assert output.tolist() == [[-0.5, 1.5, 1.5, -0.5, -8.5]]
        assert mask.tolist() == [[True, True, True, True, False]]

    @pytest.mark.parametrize("zero_point", [0.0, -0.0])
    def test_q_is_never_negative_zero(self, zero_point: float) -> None:
        output, _ = cachemask(f32(-0.25, -0.0, 0)[None], f32(1), whole(zero_point, np.float32), 0, -8, 7)  # fmt: skip
        assert_same_but_nan((output,), (f32(0, 0, 0)[None],))

    def test_the_last_line_is_float64_with_float_zero_points(self) -> None:
        """(8388609 - 0.5) * 3 is 25165825.5; in float32 steps it would be 8388608 * 3 = 25165824."""
        x, range_ = f32(1e9)[None], (0, -8388609, 8388609)
        output, mask = cachemask(x, f32(3), whole(0.5, np.float32), *range_)
        assert output.tolist() == [[25165826]]
        assert not mask.any()

    def test_integer_differences_are_float32(self) -> None:
        """1 + 2^24 is rounded to 2^24 before it is multiplied by 1.5."""
        zero_point, low = whole(-(1 << 24), np.int32), -(1 << 24)
        output, _ = cachemask(f32(1e9)[None], f32(1.5), zero_point, 0, low, 1)
        assert output.tolist() == [[1.5 * 2.0**24]]

    def test_a_float_zero_point_outside_the_range(self) -> None:
        x = f32(0, -1, -45)[None]  # q is 300, 299 and 255
        output, mask = cachemask(x, f32(1), whole(300, np.float32), 0, 0, 255)
        assert output.tolist() == [[-45, -45, -45]]
        assert mask.tolist() == [[False, False, True]]

    @pytest.mark.parametrize("kind", KINDS)
    def test_nan(self, dtype: np.dtype, kind: type) -> None:
        x = np.array([[np.nan, -np.nan, 1]], dtype)
        output, mask = cachemask(x, f32(0.5), whole(3, kind), 0, -128, 127)
        assert output.tolist() == [[-65.5, -65.5, 1]]
        assert mask.tolist() == [[False, False, True]]

    @pytest.mark.parametrize("kind", KINDS)
    def test_inf_and_above(self, dtype: np.dtype, kind: type) -> None:
        """torch 2.13 gives -65.5 for inf, and for all from 2^62 on."""
        x = np.array([[np.inf, 1000, 6e4, 62.75, 62]], dtype)
        output, mask = cachemask(x, f32(0.5), whole(3, kind), 0, -128, 127)
        assert output.tolist() == [[62] * 5]
        assert mask.tolist() == [[False, False, False, False, True]]

    @pytest.mark.parametrize("kind", KINDS)
    def test_minus_inf_and_below(self, dtype: np.dtype, kind: type) -> None:
        x = np.array([[-np.inf, -1000, -6e4, -65.5]], dtype)
        output, mask = cachemask(x, f32(0.5), whole(3, kind), 0, -128, 127)
        assert output.tolist() == [[-65.5] * 4]
        assert mask.tolist() == [[False, False, False, True]]

    def test_beyond_the_range_of_int64(self) -> None:
        x = f32(2.0**70, -(2.0**70), 3e38, -3e38)[None]
        for kind in KINDS:
            output, mask = cachemask(x, f32(1), whole(0, kind), 0, -8, 7)
            assert output.tolist() == [[7, -8, 7, -8]]
            assert not mask.any()

    def test_output_too_large(self, dtype: np.dtype) -> None:
        scale = f32(1000.0 if dtype == np.float16 else 2.2e38)
        most = ml_dtypes.finfo(dtype).max
        for kind in KINDS:
            x = np.array([[most, -most]], dtype)
            output, mask = cachemask(x, scale, whole(0, kind), 0, -128, 127)
            assert output.tolist() == [[np.inf, -np.inf]]
            assert mask.all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_scales_of_every_kind_side_by_side(self, kind: type) -> None:
        """A column each: negative, 0, too small to invert, inf, NaN, and one that is as usual."""
        scale = f32(-0.5, 0, 1e-39, np.inf, np.nan, 0.5)
        x = np.repeat(f32(1, 0, np.inf, -np.inf, np.nan)[:, None], 6, axis=1)
        output, mask = cachemask(x, scale, np.zeros(6, kind), 1, -128, 127)
        tiny, nan, inf = np.float32(1e-39), np.nan, np.inf
        expected = [
            f32(1, 0, 127 * tiny, nan, nan, 1),
            f32(0, -0.0, -128 * tiny, nan, nan, 0),
            f32(64, 0, 127 * tiny, -inf, nan, 63.5),
            f32(-63.5, -0.0, -128 * tiny, -inf, nan, -64),
            f32(64, -0.0, -128 * tiny, -inf, nan, -64),
        ]
        expected[1][0] = -0.0  # 0 * -0.5
        assert_same_but_nan((output,), (np.stack(expected),))
        t, f = True, False
        inside = [[t, f, f, t, f, t], [t, f, f, t, f, t], [f] * 6, [f] * 6, [f] * 6]
        assert mask.tolist() == inside

    def test_gradient(self, dtype: np.dtype) -> None:
        grad = np.array([[1.5, -2, np.inf, np.nan], [3, -np.inf, -0.0, 4]], dtype)
        mask = np.array([[True, False, False, False], [False, True, False, True]])
        expected = np.array([[1.5, -0.0, np.nan, np.nan], [0, -np.inf, -0.0, 4]], dtype)
        assert_same_but_nan((backward(grad, mask),), (expected,))


@pytest.mark.parametrize("zeros", ZEROS, ids=str)
def test_parameters_in_odd_layouts(rng: np.random.Generator, zeros: np.dtype) -> None:
    """Each layout of the scale with each of the zero point."""
    for axis in (0, 1):
        a = arguments(rng, (37, 37), np.dtype(np.float16), zeros, axis)
        expected = CACHEMASK.expected(a)
        for (_, s), (_, zp) in itertools.product(layouts(a["scale"]), layouts(a["zero_point"])):
            check(CACHEMASK, a | {"scale": s, "zero_point": zp}, expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(DTYPES), st.integers(1, 6), st.integers(1, 300))
def test_properties(seed: int, dtype: np.dtype, n: int, rows: int) -> None:
    """A channel is a tensor of its own; float zero points leave half a step; axes may change places."""
    rng = np.random.default_rng(seed)
    scale, zero_point = channels(rng, n, ZEROS[0], -128, 127)
    x = on_steps(rng, (rows, n), dtype, scale)
    output, mask = cachemask(x, scale, zero_point, 1, -128, 127)
    for i in range(n):
        one = per_tensor(x[:, i], float(scale[i]), int(zero_point[i]), -128, 127)
        assert_same_but_nan((output[:, i], mask[:, i]), one)
    assert_same_but_nan(cachemask(x.T, scale, zero_point, 0, -128, 127), (output.T, mask.T))
    zero_point = channels(rng, n, ZEROS[1], -128, 127)[1]
    output, mask = cachemask(x, scale, zero_point, 1, -128, 127)
    v, y = x.astype(np.float64), output.astype(np.float64)
    # Half a step; inv, the product and the sum round, 2^-24 of x, x and the sum, which is under 128 steps; y is
    # rounded to float32, then to its dtype, half of eps each (float16 below 2^-14: of its smallest subnormal).
    rounding = 2.0**-24 + ml_dtypes.finfo(dtype).eps / 2
    bound = scale * (0.5 + 2.0**-16) + np.abs(v) * 2.0**-22 + np.abs(y) * rounding + 2.0**-25
    assert (np.abs(y - v) <= bound)[mask].all()


@pytest.mark.parametrize("value", [2**24 + 1, -(2**24) - 1])
def test_a_zero_point_that_float32_rounds_into_the_range(value: int) -> None:
    zero_point = np.array([0, value], np.int32)
    with pytest.raises(ParamError, match="zero_point holds a value outside quant_min to quant_max"):
        cachemask(np.zeros(2, np.float32), np.ones(2, np.float32), zero_point, 0, -(2**24), 2**24)
