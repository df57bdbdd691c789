"""npu_rms_norm by hand, and its reference by scalars."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.add_rms_norm import alone, sprinkled
from test_rms_norm_quant_v2 import scalar_norm
from witnesses import assert_same_bits, assert_same_but_nan

from npu_quant import npu_rms_norm, npu_rms_norm_quant_v2
from npu_quant.ops.rms_norm import reference

F16, F32 = np.float16, np.float32
BF16 = ml_dtypes.bfloat16
NAN, INF = np.nan, np.inf


def normed(x: list[float], epsilon: float = 1e-6, gamma: Any = None) -> tuple[list[float], float]:
    """Norm a row, with gamma 1 or another; rstd, too."""
    y, rstd = npu_rms_norm(F32([x]), np.ones(len(x), F32) if gamma is None else gamma, epsilon)
    return y[0].tolist(), rstd[0, 0].item()


def assert_normed(x: list[float], epsilon: float, y: list[float], rstd: float) -> None:
    found = normed(x, epsilon)
    np.testing.assert_array_equal(found[0], y)
    np.testing.assert_array_equal(found[1], rstd)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand."""

    def test_the_example_of_the_relatives(self) -> None:
        """The mean square is 7.5: rstd is 0.36514837, and 3, -1, 2, 4 times it are rounded once."""
        y, rstd = npu_rms_norm(F16([[3, -1, 2, 4]]), np.ones(4, F16), 0.0)
        assert rstd.view(np.uint32).tolist() == [[0x3EBAF4BA]]
        assert y.view(np.uint16).tolist() == [[0x3C62, 0xB5D8, 0x39D8, 0x3DD8]]

    def test_gamma(self) -> None:
        assert normed([2, -2], 0.0, F32([3, 0.5])) == ([3, -0.5], 0.5)

    def test_gamma_counts_in_full_beside_16_bits(self) -> None:
        """1 + 3 * 2^-13 is 1 in float16; 3 times it is more than half a step above 3."""
        x, gamma = F16([[3] + [0] * 8]), np.full(9, 1 + 3 * 2**-13, F32)  # the mean square is 1
        assert npu_rms_norm(x, gamma, 0.0).y[0, 0] == 3 + 2**-9
        assert npu_rms_norm(x, gamma.astype(F16), 0.0).y[0, 0] == 3

    def test_rounded_once(self) -> None:
        """To bfloat16, whose step is 2^-7: more than half of it goes up, half of it to even."""
        y, _ = npu_rms_norm(np.array([[1, -1]], BF16), F32([1 + 2**-8 + 2**-20, 1 + 2**-8]), 0.0)
        assert y.astype(F32).tolist() == [[1 + 2**-7, -1]]

    def test_over_two_axes(self) -> None:
        """Mean squares of 4 and 16 over (2, 2), where rows have others."""
        x = F32([[[4, 0], [0, 0]], [[4, 4], [-4, -4]]])
        y, rstd = npu_rms_norm(x, F32([[1, 2], [3, 4]]), 0.0)
        assert rstd.tolist() == [[[0.5]], [[0.25]]]
        assert y.tolist() == [[[2, 0], [0, 0]], [[1, 2], [-3, -4]]]

    def test_over_all_axes(self) -> None:
        y, rstd = npu_rms_norm(F32([[4, 4], [-4, 4]]), np.ones((2, 2), F32), 0.0)
        assert rstd.tolist() == [[0.25]]
        assert y.tolist() == [[1, 1], [-1, 1]]

    def test_row_all_zero(self) -> None:
        assert normed([0, 0], 0.25) == ([0, 0], 2)

    def test_row_all_zero_epsilon_zero(self) -> None:
        assert_normed([0, 0], 0.0, [NAN, NAN], INF)

    def test_nan(self) -> None:
        assert_normed([NAN, 1], 1e-6, [NAN, NAN], NAN)

    def test_infinity(self) -> None:
        assert_normed([INF, 1], 1e-6, [NAN, 0], 0)
        assert_normed([-INF, -1], 1e-6, [NAN, 0], 0)

    def test_sum_of_squares_overflows(self) -> None:
        assert normed([2.0**127, 1]) == ([0, 0], 0)

    def test_negative_or_nan_epsilon(self) -> None:
        assert_normed([1, -1], -2.0, [NAN, NAN], NAN)
        assert_normed([1, -1], NAN, [NAN, NAN], NAN)

    def test_a_norm_beyond_the_dtype(self) -> None:
        y, _ = npu_rms_norm(F16([[1, -1]]), F32([1e5, 1e5]), 0.0)
        assert y.tolist() == [[INF, -INF]]

    @pytest.mark.parametrize(("shape", "axes"), [((2, 0), 1), ((2, 3, 0), 2), ((2, 0, 3), 2)])
    def test_rows_without_elements(self, shape: tuple[int, ...], axes: int) -> None:
        y, rstd = npu_rms_norm(np.ones(shape, F16), np.ones(shape[1:], F32))
        assert (y.shape, rstd.shape) == (shape, (2, *[1] * axes))
        assert (rstd.view(np.uint32) == 0x7FC00000).all()

    def test_no_rows(self) -> None:
        y, rstd = npu_rms_norm(np.ones((0, 3, 4), F32), np.ones((3, 4), F32))
        assert (y.shape, rstd.shape) == ((0, 3, 4), (0, 1, 1))


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("shape", [(3, 5), (9, 64), (70, 300), (2, 9000)])
def test_beside_the_norm_that_is_quantized(
    shape: tuple[int, ...], dtype: Any, rng: np.random.Generator
) -> None:
    """rstd is npu_rms_norm_quant_v2's, and codes of float32 y are those of its norm."""
    x, gamma = alone(rng, shape, dtype).values()
    y, rstd = npu_rms_norm(x, gamma)
    scale = np.full(1, 0.02, F32)
    codes, other = npu_rms_norm_quant_v2(x, gamma, scale)
    assert_same_bits((rstd,), (other,))
    if dtype == F32:
        assert_same_bits((codes,), (np.clip(np.rint(y / scale), -128, 127).astype(np.int8),))


@pytest.mark.parametrize("n", [1, 3, 63, 64, 65, 200])
def test_reference_against_scalars(rng: np.random.Generator, dtype: Any, n: int) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    a = sprinkled(rng, alone(rng, (4, n), dtype))
    found = reference(**a)
    for row in range(4):
        with np.errstate(all="ignore"):
            t, rstd = scalar_norm({"x": a["self"], "gamma": a["gamma"], "beta": None}, row)
            expected = F32(t).astype(dtype), F32([rstd])
        assert_same_but_nan((found.y[row], found.rstd[row]), expected)
