"""npu_add_rms_norm_dynamic_quant by hand, beside the operators that it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.add_rms_norm_dynamic_quant import arguments
from witnesses import assert_same_bits

import npu_quant
from npu_quant import npu_add_rms_norm_dynamic_quant, npu_rms_norm_dynamic_quant

F16, F32 = np.float16, np.float32
NAN, INF = np.nan, np.inf
X = np.array([[3, -1, 2, 4]], F16)
ONES = np.ones(4, F16)
# 2 and -2 are normed to 1 and -1, whose scale 1/127 makes codes of 127 and -127.
TWOS = np.array([[1, -1]], F32)
GAMMA = np.ones(2, F32)


def assert_zero(array: Any, dtype: Any) -> None:
    assert (array.shape, array.dtype, array.item()) == ((), dtype, 0)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or the vectors of the documents."""

    def test_the_example(self) -> None:
        y1, y2, x_out, scale1, scale2 = npu_add_rms_norm_dynamic_quant(X, X, ONES)
        assert y1.tolist() == [[95, -32, 64, 127]]
        assert x_out.tolist() == [[6, -2, 4, 8]]
        assert scale1.view(np.uint32).tolist() == [0x3C3C6D95]
        assert_zero(y2, np.int8)
        assert_zero(scale2, F32)

    def test_each_branch_has_its_factors(self) -> None:
        factors = {"smooth_scale1": F32([127, 2]), "smooth_scale2": F32([[1, 254]])}
        found = npu_add_rms_norm_dynamic_quant(TWOS, TWOS, GAMMA, epsilon=0.0, **factors)
        assert (found.y1.tolist(), found.scale1.tolist()) == ([[127, -2]], [1])
        assert (found.y2.tolist(), found.scale2.tolist()) == ([[0, -127]], [2])  # 0.5 is a tie

    def test_the_sum_is_normed_not_its_rounded_copy(self) -> None:
        """2048 + 1 is 2048 in float16: of the rounded sums the norms would be alike."""
        x1, x2 = np.array([[2048, 2048]], F16), np.array([[1, 0]], F16)
        found = npu_add_rms_norm_dynamic_quant(x1, x2, np.ones(2, F16), epsilon=0.0)
        assert found.x_out.tolist() == [[2048, 2048]]
        s = F32([[2049, 2048]])
        assert found.scale1 == npu_rms_norm_dynamic_quant(s, GAMMA, epsilon=0.0).scale
        assert found.scale1 != npu_rms_norm_dynamic_quant(x1, np.ones(2, F16), epsilon=0.0).scale

    def test_a_sum_beyond_the_dtype(self) -> None:
        x = np.array([[60000, 0]], F16)
        found = npu_add_rms_norm_dynamic_quant(x, x, np.ones(2, F16))
        assert found.x_out.tolist() == [[np.inf, 0]]
        assert found.y1.tolist() == [[127, 0]]

    @pytest.mark.parametrize(
        ("x1", "more", "scale", "y"),
        [
            ([0, 0], {}, 0, [0, 0]),
            ([0, 0], {"epsilon": 0.0}, NAN, [0, 0]),
            ([NAN, 1], {}, NAN, [0, 0]),
            ([INF, 1], {}, NAN, [0, 0]),
            ([3e38, 1], {}, 0, [0, 0]),
            ([3e38, 1], {"beta": F32([127, -2])}, 1, [127, -2]),
            ([1, -1], {"epsilon": -2.0}, NAN, [0, 0]),
            ([1, -1], {"epsilon": NAN}, NAN, [0, 0]),
            ([1, -1], {"smooth_scale1": F32([INF, 1])}, INF, [0, 0]),
        ],
    )
    def test_rows_out_of_the_ordinary(
        self, x1: Any, more: dict[str, Any], scale: float, y: list[int]
    ) -> None:
        found = npu_add_rms_norm_dynamic_quant(F32([x1]), F32([[0, 0]]), GAMMA, **more)
        assert_same_bits((found.scale1, found.x_out), (F32([scale]), F32([x1])))
        assert found.y1.tolist() == [y]

    def test_infinities_that_cancel(self) -> None:
        found = npu_add_rms_norm_dynamic_quant(F32([[INF, 1]]), F32([[-INF, 1]]), GAMMA)
        assert np.isnan([found.scale1[0], found.x_out[0, 0]]).all()
        assert found.y1.tolist() == [[0, 0]]

    def test_no_elements(self) -> None:
        no = np.ones((2, 0), F32)
        found = npu_add_rms_norm_dynamic_quant(no, no, no[0], output_mask=[True, True])
        assert [a.shape for a in found] == [(2, 0), (2, 0), (2, 0), (2,), (2,)]
        assert_same_bits((found.scale1, found.scale2), (np.zeros(2, F32),) * 2)

    @pytest.mark.parametrize("to", [None, "int4", "hifloat8", "float8_e5m2"])
    def test_what_is_not_computed_is_a_zero(self, to: str | None) -> None:
        a = arguments(
            np.random.default_rng(1), (3, 16), np.dtype(F16), branches="mask second", to=to
        )
        found = npu_add_rms_norm_dynamic_quant(**a)
        assert_zero(found.y1, found.y2.dtype)
        assert_zero(found.scale1, F32)
        zeros = np.full((), 7, found.y2.dtype), np.full((), 7, F32)
        npu_add_rms_norm_dynamic_quant(**a, out=(zeros[0], None, None, zeros[1], None))
        assert_zero(zeros[0], found.y2.dtype)
        assert_zero(zeros[1], F32)


@pytest.mark.usefixtures("target")
def test_a_mask_chooses_what_the_factors_would_not() -> None:
    call = {"x1": TWOS, "x2": TWOS, "gamma": GAMMA}
    alone = npu_add_rms_norm_dynamic_quant(**call)
    both = npu_add_rms_norm_dynamic_quant(**call, output_mask=[True, True])
    second = npu_add_rms_norm_dynamic_quant(**call, output_mask=[False, True])
    for found in (both.y1, both.y2, second.y2):
        assert_same_bits((found,), (alone.y1,))
    assert_same_bits((both.scale2, second.scale2), (alone.scale1, alone.scale1))


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 64), (70, 300), (2, 9000)])
def test_beside_the_norm_of_the_sums(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    """Of float32 each branch is npu_rms_norm_dynamic_quant of the sums."""
    a = arguments(rng, shape, np.dtype(F32), beta=True)
    found = npu_add_rms_norm_dynamic_quant(**a)
    rest = {"gamma": a["gamma"], "beta": a["beta"]}
    for i, smooth in enumerate((a["smooth_scale1"], a["smooth_scale2"])):
        y, scale = npu_rms_norm_dynamic_quant(a["x1"] + a["x2"], smooth_scale=smooth, **rest)
        assert_same_bits((found[i], found[3 + i]), (y, scale))


@pytest.mark.parametrize("to", ["int4", "float8_e4m3fn", "float8_e5m2", "hifloat8"])
def test_formats_are_those_of_npu_dynamic_quant(to: str, rng: np.random.Generator) -> None:
    """Rows of 1 and -1 are their own norm, which gamma takes to any numbers."""
    signs, gamma = rng.choice([1.0, -1.0], (9, 64)).astype(F32), rng.standard_normal(64).astype(F32)
    found = npu_add_rms_norm_dynamic_quant(signs, signs * 0, gamma, epsilon=0.0, y_dtype=to)
    expected = npu_quant.npu_dynamic_quant(signs * gamma, dst_type=to)
    assert_same_bits((found.y1, found.scale1), expected)
