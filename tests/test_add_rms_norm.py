"""npu_add_rms_norm by hand, and its reference by scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.add_rms_norm import added, sprinkled
from test_rms_norm_quant_v2 import scalar_norm
from witnesses import assert_same_bits, assert_same_but_nan

from npu_quant import npu_add_rms_norm, npu_rms_norm
from npu_quant.ops.add_rms_norm import reference

F16, F32 = np.float16, np.float32
NAN, INF = np.nan, np.inf


def assert_normed(
    x1: Any, x2: Any, x: Any, y: Any, rstd: float = NAN, epsilon: float = 1e-6
) -> None:
    """Check what a row's sum and its norm are, with gamma 1."""
    found = npu_add_rms_norm(F32([x1]), F32([x2]), np.ones(len(x1), F32), epsilon)
    for own, expected in zip(found, (y, [rstd], x), strict=True):
        np.testing.assert_array_equal(own, [expected])


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand."""

    def test_the_sum(self) -> None:
        y, rstd, x = npu_add_rms_norm(F16([[1, -1]]), F16([[3, -3]]), F16([1, 2]), 0.0)
        assert (y.tolist(), rstd.tolist(), x.tolist()) == ([[1, -2]], [[0.25]], [[4, -4]])

    def test_over_two_axes(self) -> None:
        x = F32([[[2, 0], [0, 0]], [[2, 2], [-2, -2]]])
        y, rstd, _ = npu_add_rms_norm(x, x, F32([[1, 2], [3, 4]]), 0.0)
        assert rstd.tolist() == [[[0.5]], [[0.25]]]
        assert y.tolist() == [[[2, 0], [0, 0]], [[1, 2], [-3, -4]]]

    def test_the_sum_is_normed_not_its_rounded_copy(self) -> None:
        """2048 + 1 is 2048 in float16: of the rounded sums the second would be normed to 2048."""
        x1, x2 = F16([[2048, 2048]]), F16([[1, -1]])
        y, rstd, x = npu_add_rms_norm(x1, x2, F16([2048, 2048]), 0.0)
        assert x.tolist() == [[2048, 2047]]
        assert_same_bits((rstd,), (npu_rms_norm(F32([[2049, 2047]]), np.ones(2, F32), 0.0).rstd,))
        assert y.tolist() == [[2048, 2047]]

    def test_a_sum_beyond_the_dtype(self) -> None:
        y, _, x = npu_add_rms_norm(F16([[60000, 0]]), F16([[60000, 0]]), np.ones(2, F16), 0.0)
        assert x.tolist() == [[INF, 0]]
        assert y.tolist() == [[F16(2**0.5), 0]]

    def test_row_all_zero_epsilon_zero(self) -> None:
        assert_normed([1, -1], [-1, 1], [0, 0], [NAN, NAN], INF, epsilon=0.0)

    def test_nan(self) -> None:
        assert_normed([NAN, 1], [1, 1], [NAN, 2], [NAN, NAN])

    def test_infinities(self) -> None:
        assert_normed([INF, 1], [1, 1], [INF, 2], [NAN, 0], 0)
        assert_normed([INF, 1], [-INF, 1], [NAN, 2], [NAN, NAN])

    def test_sum_of_squares_overflows(self) -> None:
        assert_normed([2.0**127, 1], [0, 1], [2.0**127, 2], [0, 0], 0)

    def test_negative_or_nan_epsilon(self) -> None:
        assert_normed([1, -1], [0, 0], [1, -1], [NAN, NAN], epsilon=-2.0)
        assert_normed([1, -1], [0, 0], [1, -1], [NAN, NAN], epsilon=NAN)

    @pytest.mark.parametrize(("shape", "axes"), [((2, 0), 1), ((2, 3, 0), 2), ((2, 0, 3), 2)])
    def test_rows_without_elements(self, shape: tuple[int, ...], axes: int) -> None:
        no = np.ones(shape, F16)
        y, rstd, x = npu_add_rms_norm(no, no, no[0])
        assert (y.shape, x.shape, rstd.shape) == (shape, shape, (2, *[1] * axes))
        assert (rstd.view(np.uint32) == 0x7FC00000).all()


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("shape", [(3, 5), (9, 64), (70, 300), (2, 9000)])
def test_beside_the_norm_of_the_sums(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    """Of float32 it is npu_rms_norm of the sums."""
    a = added(rng, shape, np.dtype(F32))
    s = a["x1"] + a["x2"]
    assert_same_bits(npu_add_rms_norm(**a), (*npu_rms_norm(s, a["gamma"]), s))


@pytest.mark.parametrize("n", [1, 3, 63, 64, 65, 200])
def test_reference_against_scalars(rng: np.random.Generator, dtype: Any, n: int) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    a = sprinkled(rng, added(rng, (4, n), dtype))
    found = reference(**a)
    for row in range(4):
        with np.errstate(all="ignore"):
            s = [F32(p) + F32(q) for p, q in zip(a["x1"][row], a["x2"][row], strict=True)]
            t, rstd = scalar_norm({"x": [s], "gamma": a["gamma"], "beta": None}, 0)
            expected = F32(t).astype(dtype), F32([rstd]), F32(s).astype(dtype)
        assert_same_but_nan(tuple(output[row] for output in found), expected)
