"""npu_rms_norm_quant_v2 by hand, and its reference by scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.case import Arguments
from cases.rms_norm import scaled_v2, sprinkled

from npu_quant import npu_rms_norm_quant_v2
from npu_quant.ops.rms_norm_quant_v2 import reference

F16, F32 = np.float16, np.float32
NAN, INF = np.nan, np.inf


def rms(x: list[float], **more: Any) -> tuple[list[int], float]:
    """Quantize a row by a scale of 0.01 and an offset of 3, with gamma 1; rstd, too."""
    gamma, by = np.ones(len(x), F32), np.array([0.01], F32)
    y, rstd = npu_rms_norm_quant_v2(np.array([x], F32), gamma, by, offset=0 * by + 3, **more)
    return y[0].tolist(), rstd[0, 0].item()


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or the vectors of the documents."""

    def test_int4(self) -> None:
        x, gamma = np.array([[3, -1, 2, 4, 0, 0, 0, 0]], F16), np.ones(8, F16)
        by = {"offset": np.array([1], np.int32), "dst_dtype": "int4"}
        y, _ = npu_rms_norm_quant_v2(x, gamma, np.array([0.5], F32), **by)
        assert y.view(np.uint32).tolist() == [[0x11115304]]

    def test_the_root_is_returned(self) -> None:
        """The mean square is 4, epsilon 0."""
        x, by = np.full((2, 3, 5), -2, F32), np.array([0.5], F32)
        y, rstd = npu_rms_norm_quant_v2(x, x[0, 0] / -2, by, epsilon=0.0)
        assert rstd.tolist() == [[[0.5]] * 3] * 2
        assert (y == -2).all()

    def test_the_mean_is_that_of_the_last_axis(self) -> None:
        x = np.array([[1, 1], [2, 2]], F32)
        _, rstd = npu_rms_norm_quant_v2(x, np.ones((1, 2), F32), np.ones(1, F32), epsilon=0.0)
        assert rstd.tolist() == [[1], [0.5]]

    def test_scales_multiply(self) -> None:
        x, by = np.array([[1, -1]], F32), np.array([7], F32)
        y, _ = npu_rms_norm_quant_v2(x, 0 * x + 1, by, epsilon=0.0, div_mode=False)
        assert y.tolist() == [[7, -7]]

    def test_row_all_zero_epsilon_zero(self) -> None:
        assert rms([0, 0], epsilon=0.0) == ([0, 0], INF)

    def test_nan(self) -> None:
        y, rstd = rms([NAN, 1])
        assert y == [0, 0]
        assert np.isnan(rstd)

    def test_infinity(self) -> None:
        assert rms([INF, 1]) == ([0, 3], 0)

    def test_sum_of_squares_overflows(self) -> None:
        assert rms([3e38, 1]) == ([3, 3], 0)

    def test_negative_epsilon(self) -> None:
        y, rstd = rms([1, -1], epsilon=-2.0)
        assert y == [0, 0]
        assert np.isnan(rstd)

    def test_no_elements(self) -> None:
        no = np.ones((2, 0), F32)
        y, rstd = npu_rms_norm_quant_v2(no, no[0], np.ones(1, F32))
        assert (y.shape, rstd.shape) == ((2, 0), (2, 1))
        assert (rstd.view(np.uint32) == 0x7FC00000).all()


def scalar_norm(a: Arguments, row: int) -> tuple[list[Any], Any]:
    """Compute t and rstd of a row, one np.float32 at a time."""
    lanes, x = [F32(0)] * 64, [F32(v) for v in a["x"][row]]
    for i, v in enumerate(x):
        lanes[i % 64] = lanes[i % 64] + v * v
    for half in (32, 16, 8, 4, 2, 1):
        for j in range(half):
            lanes[j] = lanes[j] + lanes[j + half]
    rstd = F32(1) / np.sqrt(lanes[0] / F32(len(x)) + F32(1e-6))
    gamma = [F32(v) for v in a["gamma"].reshape(-1)]
    beta = [F32(-0.0)] * len(x) if a["beta"] is None else [F32(v) for v in a["beta"]]
    return [v * rstd * g + b for v, g, b in zip(x, gamma, beta, strict=True)], rstd


def code(q: Any) -> int:
    """Round as Python does, which is to even."""
    return 0 if np.isnan(q) else round(max(-128.0, min(127.0, float(q))))


@pytest.mark.parametrize("n", [1, 3, 63, 64, 65, 200])
@pytest.mark.parametrize("beta", [True, False])
def test_reference_against_scalars(
    rng: np.random.Generator, dtype: Any, n: int, beta: bool
) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    a = sprinkled(rng, scaled_v2(rng, (4, n), dtype, beta=beta))
    found = reference(**a)
    for row in range(4):
        with np.errstate(all="ignore"):
            t, rstd = scalar_norm(a, row)
            by = zip(t, a["scale"].astype(F32), a["offset"].astype(F32), strict=True)
            y = [code(v / scale + offset) for v, scale, offset in by]
        assert found.y[row].tolist() == y
        np.testing.assert_array_equal(found.rstd[row, 0], rstd)
