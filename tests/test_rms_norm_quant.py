"""npu_rms_norm_quant by hand: every special row of its page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npu_quant import npu_rms_norm_quant

F16, F32 = np.float16, np.float32
NAN, INF = np.nan, np.inf


def rms(x: list[float], scale: float = 0.01, offset: float = 3, **more: Any) -> list[int]:
    """Quantize a row by one scale and offset, with gamma 1 and beta 0."""
    gamma = np.ones(len(x), F32)
    by = np.array([scale], F32), np.array([offset], F32)
    y: list[int] = npu_rms_norm_quant(np.array([x], F32), gamma, 0 * gamma, *by, **more)[0].tolist()
    return y


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or the vectors of the documents. Of [1, -1] and epsilon 0 all is exact."""

    def test_the_example(self) -> None:
        x, gamma = np.array([[3, -1, 2, 4]], F16), np.ones(4, F16)
        by = np.array([0.01], F32), np.array([3], np.int8)
        assert npu_rms_norm_quant(x, gamma, 0 * gamma, *by).tolist() == [[113, -34, 76, 127]]

    def test_weights_of_elements(self) -> None:
        """t is 1 * 2 + 1 and -1 * 3 + 2."""
        x, gamma, beta = (np.array([row], F32) for row in ([1, -1], [2, 3], [1, 2]))
        by = np.array([0.5, 0.25], F32), np.array([1, -2], np.int32)
        assert npu_rms_norm_quant(x, gamma, beta, *by, 0.0).tolist() == [[7, -6]]

    def test_ties_go_to_even_after_the_offset(self) -> None:
        assert rms([1, -1], 2, 2, epsilon=0.0) == [2, 2]

    def test_row_all_zero(self) -> None:
        assert rms([0, 0]) == [3, 3]

    def test_row_all_zero_epsilon_zero(self) -> None:
        assert rms([0, 0], epsilon=0.0) == [0, 0]

    def test_nan(self) -> None:
        assert rms([NAN, 1]) == [0, 0]

    def test_infinity(self) -> None:
        assert rms([INF, 1]) == [0, 3]

    def test_sum_of_squares_overflows(self) -> None:
        assert rms([3e38, 1]) == [3, 3]

    def test_negative_or_nan_epsilon(self) -> None:
        assert rms([1, -1], epsilon=-2.0) == rms([1, -1], epsilon=NAN) == [0, 0]

    def test_scale_zero(self) -> None:
        assert rms([1, -1, 0], 0.0) == [127, -128, 0]

    def test_scale_or_offset_nan(self) -> None:
        assert rms([1, -1], NAN) == rms([1, -1], 1, NAN) == [0, 0]

    def test_no_elements(self) -> None:
        no, one = np.ones((2, 0), F32), np.ones(1, F32)
        assert npu_rms_norm_quant(no, no[0], no[0], one, one).shape == (2, 0)
