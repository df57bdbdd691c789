"""npu_rms_norm_dynamic_quant by hand, beside npu_dynamic_quant of norms, and by scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.rms_norm import dynamic, sprinkled
from test_rms_norm_quant_v2 import code, scalar_norm
from witnesses import assert_same_bits, normal

from npu_quant import npu_dynamic_quant, npu_rms_norm_dynamic_quant
from npu_quant.ops.rms_norm_dynamic_quant import reference

F16, F32 = np.float16, np.float32
NAN, INF = np.nan, np.inf


def rms(x: list[float], **more: Any) -> tuple[list[int], float]:
    """Quantize a row by its own scale, with gamma 1."""
    y, scale = npu_rms_norm_dynamic_quant(np.array([x], F32), np.ones(len(x), F32), **more)
    return y[0].tolist(), scale[0].item()


def assert_not_a_number(result: tuple[list[int], float]) -> None:
    assert result[0] == [0, 0]
    assert np.isnan(result[1])


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or the vectors of the documents."""

    def test_the_example(self) -> None:
        """The scale is 4 * rstd / 127, every step rounded by hand: rstd 0.36514837."""
        y, scale = npu_rms_norm_dynamic_quant(np.array([[3, -1, 2, 4]], F16), np.ones(4, F16))
        assert y.tolist() == [[95, -32, 64, 127]]
        assert scale.view(np.uint32).tolist() == [0x3C3C6D95]

    def test_factors(self) -> None:
        """The mean square is 4: t is 1 and -1, and by factors 127 and -2."""
        factors = np.array([127, 2], F32)
        assert rms([2, -2], epsilon=0.0, smooth_scale=factors) == ([127, -2], 1.0)

    def test_beta_is_added_before_the_factors(self) -> None:
        beta, factors = np.array([0, 2], F32), np.array([[127, 3]], F32)
        assert rms([2, -2], epsilon=0.0, beta=beta, smooth_scale=factors) == ([127, 3], 1.0)

    def test_row_all_zero(self) -> None:
        assert rms([0, 0]) == ([0, 0], 0.0)

    def test_row_all_zero_epsilon_zero(self) -> None:
        assert_not_a_number(rms([0, 0], epsilon=0.0))

    def test_nan_and_infinity(self) -> None:
        assert_not_a_number(rms([NAN, 1]))
        assert_not_a_number(rms([INF, 1]))

    def test_sum_of_squares_overflows(self) -> None:
        assert rms([3e38, 1]) == ([0, 0], 0.0)

    def test_negative_or_nan_epsilon(self) -> None:
        assert_not_a_number(rms([1, -1], epsilon=-2.0))
        assert_not_a_number(rms([1, -1], epsilon=NAN))

    def test_infinite_factor(self) -> None:
        assert rms([1, -1], smooth_scale=np.array([INF, 1], F32)) == ([0, 0], INF)

    def test_no_elements(self) -> None:
        no = np.ones((2, 0), F32)
        y, scale = npu_rms_norm_dynamic_quant(no, no[0])
        assert y.shape == (2, 0)
        assert scale.tolist() == [0, 0]


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("n", [5, 64, 300, 9000])
def test_of_rows_with_rstd_one(n: int, rng: np.random.Generator) -> None:
    """Of rows of 1 and -1 the norm is gamma with a sign."""
    signs, gamma = rng.choice([1.0, -1.0], (9, n)).astype(F32), normal(rng, (n,), np.dtype(F32))
    expected = npu_dynamic_quant(signs * gamma)
    assert_same_bits(npu_rms_norm_dynamic_quant(signs, gamma, epsilon=0.0), expected)


@pytest.mark.parametrize("n", [1, 3, 63, 64, 65, 200])
@pytest.mark.parametrize("smooth", [True, False])
def test_reference_against_scalars(
    rng: np.random.Generator, dtype: Any, n: int, smooth: bool
) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    a = sprinkled(rng, dynamic(rng, (4, n), dtype, smooth=smooth, beta=True))
    found = reference(**a)
    factors = a["smooth_scale"].astype(F32) if smooth else np.ones(n, F32)
    for row in range(4):
        with np.errstate(all="ignore"):
            v = [t * s for t, s in zip(scalar_norm(a, row)[0], factors, strict=True)]
            scale = (F32(NAN) if any(np.isnan(v)) else max(abs(e) for e in v)) / F32(127)
            y = [code(e / scale) for e in v]
        assert found.y[row].tolist() == y
        np.testing.assert_array_equal(found.scale[row], scale)
