"""npu_add_rms_norm_quant by hand: the documents' vectors, and every special row of its page."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.add_rms_norm_quant import arguments, sprinkled
from cases.case import Arguments
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import Array, assert_same_bits, assert_same_but_nan

from npu_quant import npu_add_rms_norm_quant
from npu_quant.ops.add_rms_norm_quant import reference


def rms(x: Any, gamma: Any, dtype: Any = np.float32, **others: Any) -> list[Any]:
    """Return y1 of one row, with scale 1 and epsilon 0 unless others say so; x2 is -0."""
    row = np.array([x], dtype)
    a = {"scales1": np.ones(1, np.float32), "zero_points1": None, "epsilon": 0.0} | others
    y1, _, total = npu_add_rms_norm_quant(row, np.full_like(row, -0.0), np.array(gamma, dtype), **a)
    assert_same_but_nan((total,), (row,))
    return y1[0].tolist()


def whole(value: float, dtype: Any = np.int32) -> Array:
    """Return a zero point or scale of one element."""
    return np.array([value], dtype)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 5. Rows of mean square 1 have rstd 1."""

    def test_the_vector_of_the_page(self, dtype: np.dtype) -> None:
        """rstd = 1 / sqrt(9.703126) = 0.3210289; quotients 4.8, 6.2, 15.87, 130.4."""
        y1, y2, x = npu_add_rms_norm_quant(
            np.array([[1, 2, 3, 4]], dtype),
            np.array([[0.5, -1, 0.25, 1]], dtype),
            np.array([1, 0.5, 2, 1.5], dtype),
            np.array([0.1, 0.05, 0.1, 0.02], np.float32),
            np.array([0, 3, -5, 10], np.int32),
        )
        assert x.tolist() == [[1.5, 1, 3.25, 5]]
        assert y1.tolist() == [[5, 6, 16, 127]]
        assert y2.tolist() == [[0, 0, 0, 0]]

    def test_the_documents_program(self) -> None:
        """aclnnAddRmsNormQuant's example: all zero but scales 1 and zero points 100."""
        x, gamma = np.zeros((64, 2), np.float16), np.zeros(2, np.float16)
        scales, zero_points = np.ones(2, np.float32), np.full(2, 100, np.int32)
        result = npu_add_rms_norm_quant(x, x.copy(), gamma, scales, zero_points)
        assert (result.y1 == 100).all()
        assert not bytes(result.x).strip(b"\0")
        assert result.x.shape == result.y2.shape == (64, 2)

    def test_ties_to_even_after_the_zero_point(self) -> None:
        x, gamma = [1, -1, 1, -1], [0.5, 1.5, 2.5, 3.5]
        assert rms(x, gamma) == [0, -2, 2, -4]
        assert rms(x, gamma, zero_points1=whole(1)) == [2, 0, 4, -2]
        assert rms(x, gamma, zero_points1=whole(0.5, np.float32)) == [1, -1, 3, -3]

    def test_div_mode(self) -> None:
        x, gamma, two = [1, -1, 1, -1], [0.5, 1.5, 2.5, 3.5], whole(2, np.float32)
        assert rms(x, gamma, scales1=two, div_mode=False) == [1, -3, 5, -7]
        assert rms(x, gamma, scales1=two, div_mode=True) == [0, -1, 1, -2]

    def test_beta_comes_before_the_scale(self) -> None:
        beta = np.array([1, 1, -3, 0], np.float32)
        x, gamma, half = [1, -1, 1, -1], [0.5, 1.5, 2.5, 3.5], whole(0.5, np.float32)
        assert rms(x, gamma, beta=beta, scales1=half) == [3, -1, -1, -7]

    def test_epsilon_is_rounded_to_float32_and_added(self) -> None:
        assert rms([1, -1], [6, 6], epsilon=3.0) == [3, -3]  # 1 / sqrt(1 + 3)
        assert rms([1, -1], [6, 6], epsilon=-0.75) == [12, -12]
        assert rms([0, 0], [6, 6], epsilon=1e-50, zero_points1=whole(5)) == [0, 0]  # as 0 below

    def test_epsilon_is_rounded_before_it_is_added(self) -> None:
        """1.5 * 1.5 + 2**-23 is a tie, to 2.25; a little more, and rstd, t would be a unit less."""
        others = {"epsilon": 2.0**-23 + 2.0**-49, "zero_points1": whole(-(2**24))}
        assert rms([1.5], [2**24], **others) == [0]
        assert rms([1.5], [2**24], **others | {"epsilon": 2.0**-22}) == [-1]

    def test_each_lane_adds_in_its_order(self, dtype: np.dtype) -> None:
        """Next to 2**24 in lane 0 each 1 is lost; in lane 1 they add up, and rstd is below 1/64."""
        x = np.zeros((2, 4096), dtype)
        x[:, 0] = 4096
        x[0, 64::64] = 1
        x[1, 65::64] = 1
        for row, y in zip(x, (2, 1), strict=True):  # 4096 / 64 * 1.5 / 64 is the tie 1.5, or less
            gamma = np.full(4096, 1.5)
            assert rms(row, gamma, dtype, scales1=whole(64, np.float32))[0] == y

    def test_lanes_add_by_halves(self, dtype: np.dtype) -> None:
        """Lanes 32, 16, 8, 4, 2 and 1 meet lane 0 one by one, the odd ones each other first."""
        x = np.zeros((2, 64), dtype)
        x[:, 0] = 4096
        x[0, [1, 2, 4, 8, 16, 32]] = 1
        x[1, 1::2] = 1
        for row, y in zip(x, (2, 1), strict=True):  # 4096 / 512 * 1.5 / 8
            assert rms(row, np.full(64, 1.5), dtype, scales1=whole(8, np.float32))[0] == y

    @pytest.mark.parametrize(("name", "step"), [("float16", 2.0**-12), ("bfloat16", 2.0**-9)])
    def test_the_unrounded_sum_is_normalized(self, name: str, step: float) -> None:
        """x is [1, 1], but of [1 + step, 1] one is above the mean and one below: 1.5 + and -."""
        dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
        x1, x2 = np.ones((1, 2), dtype), np.array([[step, 0]], dtype)
        half, one = whole(0.5, np.float32), whole(1, np.float32)
        y1, _, x = npu_add_rms_norm_quant(x1, x2, np.ones(2, dtype), one, half, epsilon=0.0)
        assert x.tolist() == [[1, 1]]
        assert y1.tolist() == [[2, 1]]

    def test_second_output(self) -> None:
        x, gamma = np.array([[1, -1]], np.float16), np.array([8, 4], np.float16)
        scales2, zero_points2 = np.array([2, 0.5], np.float16), np.array(3, np.int32)
        one = whole(1, np.float32)
        a = (x, 0 * x, gamma, one, None, None)
        result = npu_add_rms_norm_quant(*a, scales2, zero_points2, epsilon=0.0)
        assert (result.y1.tolist(), result.y2.tolist()) == ([[8, -4]], [[7, -5]])
        result = npu_add_rms_norm_quant(*a, scales2, epsilon=0.0)
        assert (result.y1.tolist(), result.y2.tolist()) == ([[8, -4]], [[4, -8]])

    def test_no_scales2(self) -> None:
        """y2 is zero, also where zero_points2 is given."""
        x, gamma, one = np.ones((3, 70), np.float16), np.ones(70, np.float16), whole(1, np.float32)
        result = npu_add_rms_norm_quant(x, x, gamma, one, None, zero_points2=whole(9))
        assert not result.y2.any()
        y2 = np.full((3, 70), 5, np.int8)
        npu_add_rms_norm_quant(x, x, gamma, one, None, out=(None, y2, None))
        assert not y2.any()

    def test_zero_row(self, dtype: np.dtype) -> None:
        others = {"zero_points1": whole(-7), "scales1": whole(0.5, np.float32), "epsilon": 1e-6}
        assert rms([0, -0.0, 0], [1, 2, -3], dtype, **others) == [-7, -7, -7]
        beta = np.array([1, 2, -3], dtype)
        assert rms([0, -0.0, 0], [1, 2, -3], dtype, **others, beta=beta) == [-5, -3, -13]

    def test_zero_row_without_epsilon(self, dtype: np.dtype) -> None:
        beta = np.ones(3, dtype)
        assert rms([0, 0, 0], [1, 2, 3], dtype, zero_points1=whole(9), beta=beta) == [0, 0, 0]

    @pytest.mark.parametrize("nan", [np.nan, -np.nan])
    def test_nan_row(self, dtype: np.dtype, nan: float) -> None:
        x1, x2 = np.ones((3, 100), dtype), np.zeros((3, 100), dtype)
        x1[0, 77] = nan
        x1[2, 5], x2[2, 5] = np.inf, -np.inf
        gamma, one = np.ones(100, dtype), whole(1, np.float32)
        y1, _, x = npu_add_rms_norm_quant(x1, x2, gamma, one, whole(5), gamma)
        assert not y1[[0, 2]].any()
        assert (y1[1] == 7).all()
        assert np.argwhere(np.isnan(x)).tolist() == [[0, 77], [2, 5]]

    @pytest.mark.parametrize("inf", [np.inf, -np.inf])
    def test_inf_row(self, dtype: np.dtype, inf: float) -> None:
        others = {"beta": np.array([3, 3, 4], dtype), "zero_points1": whole(10)}
        assert rms([1, inf, -2], [1, 1, 1], dtype, **others) == [13, 0, 14]

    @pytest.mark.parametrize("dtype", DTYPES[1:], ids=lambda d: d.name)
    def test_squares_that_overflow(self, dtype: np.dtype) -> None:
        assert rms([1e25, 1, -1e30], [1, 1, 1], dtype, zero_points1=whole(4)) == [4, 4, 4]

    def test_sum_beyond_float16(self) -> None:
        """131008 is infinite in float16, its square is exact in float32, and 131008 * rstd is 1."""
        x, one = np.full((1, 2), 65504, np.float16), np.ones(2, np.float16)
        y1, _, total = npu_add_rms_norm_quant(x, x, one, whole(0.25, np.float32), None)
        assert total.tolist() == [[np.inf, np.inf]]
        assert y1.tolist() == [[4, 4]]

    @pytest.mark.parametrize("epsilon", [-2.0, np.nan, -np.inf])
    def test_root_of_a_negative(self, epsilon: float) -> None:
        assert rms([1, -1], [6, 6], epsilon=epsilon, zero_points1=whole(3)) == [0, 0]

    @pytest.mark.parametrize("epsilon", [np.inf, 1e39])
    def test_infinite_epsilon(self, epsilon: float) -> None:
        assert rms([1, -1], [6, 6], epsilon=epsilon, zero_points1=whole(3)) == [3, 3]

    def test_zero_scale(self) -> None:
        zero = whole(0, np.float32)
        others = {"scales1": zero, "zero_points1": whole(100)}
        assert rms([1, -1, 0], [1, 1, 1], **others) == [127, -128, 0]
        assert rms([1, -1, 0], [1, 1, 1], **others, div_mode=False) == [100, 100, 100]

    def test_nan_scale_or_zero_point(self) -> None:
        nans = np.array([np.nan, 1], np.float32)
        assert rms([1, -1], [9, 9], scales1=nans, zero_points1=whole(5)) == [0, -4]
        assert rms([1, -1], [9, 9], zero_points1=nans) == [0, -8]

    def test_infinite_scale_or_zero_point(self) -> None:
        infinite = np.array([np.inf, -np.inf], np.float32)
        assert rms([1, -1], [9, 9], scales1=infinite, zero_points1=whole(5)) == [5, 5]
        assert rms([1, -1], [9, 9], scales1=infinite, div_mode=False) == [127, 127]
        assert rms([1, -1], [9, 9], zero_points1=infinite) == [127, -128]

    def test_negative_scale(self) -> None:
        assert rms([1, -1], [9, 200], scales1=whole(-1, np.float32)) == [-9, 127]
        assert rms([1, -1], [9, -200], scales1=whole(-1, np.float32)) == [-9, -128]

    def test_int32_zero_points_are_rounded_to_float32(self) -> None:
        """-1 / 2**-24 + (2**24 + 1): the zero point is 2**24."""
        scales = whole(2.0**-24, np.float32)
        assert rms([-1], [1], scales1=scales, zero_points1=whole(2**24 + 1)) == [0]


def scalar_row(a: Arguments, row: int) -> tuple[list[int], list[float]]:
    """Compute y1 and x of a row, one np.float32 at a time, with Python's own rounding."""
    f, n = np.float32, a["x1"].shape[1]
    s = [f(u) + f(v) for u, v in zip(a["x1"][row], a["x2"][row], strict=True)]
    lanes = [f(0)] * 64
    for i, v in enumerate(s):
        lanes[i % 64] = lanes[i % 64] + v * v
    h = 32
    while h >= 1:
        for j in range(h):
            lanes[j] = lanes[j] + lanes[j + h]
        h //= 2
    rstd = f(1) / np.sqrt(lanes[0] / f(n) + f(1e-6))
    y = []
    for i, v in enumerate(s):
        t = v * rstd * f(a["gamma"][i])
        t = t if a["beta"] is None else t + f(a["beta"][i])
        scale, zero = a["scales1"][i], a["zero_points1"]
        q = t / f(scale) if a["div_mode"] else t * f(scale)
        q = q if zero is None else q + f(zero[i])
        y.append(0 if np.isnan(q) else round(max(-128.0, min(127.0, float(q)))))
    return y, [v.astype(a["x1"].dtype).item() for v in s]


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 65, 200, 700])
def test_reference_against_scalars(rng: np.random.Generator, dtype: np.dtype, n: int) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    for div_mode, beta, zeros in (
        (True, True, np.int32),
        (False, False, dtype),
        (True, True, None),
    ):
        a = arguments(rng, (4, n), dtype, div_mode=div_mode, beta=beta, zeros=zeros)
        for case in (a, sprinkled(rng, a)):
            expected = reference(**case)
            for row in range(4):
                with np.errstate(all="ignore"):
                    y, x = scalar_row(case, row)
                assert expected.y1[row].tolist() == y
                np.testing.assert_array_equal(expected.x[row].astype(float), x)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(DTYPES),
    st.integers(1, 5),
    st.integers(1, 300),
    st.booleans(),
)
def test_properties(seed: int, dtype: np.dtype, rows: int, n: int, div_mode: bool) -> None:
    """Signs flip codes twice, and the codes stand for t up to half a step."""
    rng = np.random.default_rng(seed)
    a = arguments(rng, (rows, n), dtype, beta=False, div_mode=div_mode)
    y1, y2, _ = npu_add_rms_norm_quant(**a)
    flipped = npu_add_rms_norm_quant(**a | {"x1": -a["x1"], "x2": -a["x2"], "gamma": -a["gamma"]})
    assert_same_bits(flipped[:2], (y1, y2))
    s = a["x1"].astype(np.float64) + a["x2"].astype(np.float64)
    t = s / np.sqrt((s * s).mean(axis=1, keepdims=True) + 1e-6) * a["gamma"].astype(np.float64)
    scale = a["scales1"].astype(np.float64)
    q = t / scale if div_mode else t * scale
    exact = np.clip(q + a["zero_points1"], -128, 127)
    # In units of 2^-24: the sum has n / 64 + 7 additions, squares and what follows 3 more, halved
    # by the root; s, the root, its inverse, two products, the quotient and the last sum add 8.
    error = 2.0**-24 * ((n / 64 + 12) / 2 + 8)
    assert (np.abs(y1 - exact) <= 0.5 + error * (np.abs(q) + 128)).all()


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(DTYPES),
    st.sampled_from([3, 14]),
    st.integers(1, 4),
    st.integers(1, 90),
)
def test_ties_of_rows_with_rstd_one(seed: int, dtype: np.dtype, rows: int, m: int, n: int) -> None:
    """Of rows of 1 and -1 all is exact, half of it ties: NumPy's rint in float64 is the answer."""
    rng = np.random.default_rng(seed)
    x1 = rng.choice([1.0, -1.0], (rows, m, n))
    gamma, beta, zero = (rng.integers(-64, 64, (m, n)) / 2 for _ in range(3))
    scales = np.exp2(rng.integers(-1, 2, (m, n)))
    a = {"gamma": gamma, "scales1": scales, "zero_points1": zero, "beta": beta}
    exact = np.clip(np.rint((x1 * gamma + beta) / scales + zero), -128, 127)
    a = {name: value.astype(dtype) for name, value in ({"x1": x1, "x2": 0 * x1} | a).items()}
    y1, _, _ = npu_add_rms_norm_quant(**a, epsilon=0.0)
    assert y1.tolist() == exact.tolist()
    flat = {k: v.reshape(*v.shape[:-2], m * n) for k, v in a.items()}
    y1_flat, _, _ = npu_add_rms_norm_quant(**flat, epsilon=0.0)
    assert y1_flat.tobytes() == y1.tobytes()
