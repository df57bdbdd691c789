"""npu_weight_quant_batchmatmul by hand: every special row of its page, every step's rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.weight_quant_batchmatmul import arguments, packed
from test_anti_quant import nearest, signs

from npu_quant import npu_trans_quant_param, npu_weight_quant_batchmatmul
from npu_quant.ops.weight_quant_batchmatmul import reference

F16, F32, BF16 = np.float16, np.float32, ml_dtypes.bfloat16
INF, NAN = np.inf, np.nan
X = np.array([[1, 2]], F16)
WEIGHT = np.array([[5, -6, 7], [8, 9, -10]], np.int8)
SCALE, OFFSET = F16([[0.5, 1, 2]]), F16([[1, 0, -1]])


def product(x: Any, weight: Any, scale: Any = 1.0, *, to: Any = F16, **others: Any) -> list[float]:
    """Return the result of one row; a weight of one row is of one column."""
    row, w = np.array([x], to), np.array(weight, np.int8)
    w = w[:, None] if w.ndim == 1 else w
    y = npu_weight_quant_batchmatmul(row, w, np.atleast_1d(np.array(scale, to)), **others)
    result: list[float] = y[0].astype(float).tolist()
    return result


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 21.1."""

    def test_values(self) -> None:
        y = npu_weight_quant_batchmatmul(X, WEIGHT, SCALE, OFFSET)
        assert (y.dtype, y.tolist()) == (F16, [[12, 12, -32]])

    def test_codes(self) -> None:
        y = npu_weight_quant_batchmatmul(
            X, WEIGHT, SCALE, OFFSET, quant_scale=F32([0.5, 1, 10]), bias=F32([0, 0, 0])
        )
        assert (y.dtype, y.tolist()) == (np.int8, [[6, 12, -128]])

    def test_codes_by_carried_scales(self) -> None:
        """The words' own offsets, 2 and -3, unless there are others; ties go to even."""
        words = npu_trans_quant_param(F32([0.5]), F32([2, -3, 2]))
        y = npu_weight_quant_batchmatmul(X, WEIGHT, SCALE, OFFSET, words)
        assert y.tolist() == [[8, 3, -14]]
        y = npu_weight_quant_batchmatmul(X, WEIGHT, SCALE, OFFSET, words, F32([0.5]))
        assert y.tolist() == [[6, 6, -16]]

    def test_int4_along_either_axis(self) -> None:
        """-8 .. -1 are a word; as a row of 8 columns, and as a column of 8 rows."""
        word, ones = np.uint32([[0xFEDCBA98]]).view(np.int32), F16([1])
        row = npu_weight_quant_batchmatmul(F16([[2]]), word, ones)
        assert row.tolist() == [[-16, -14, -12, -10, -8, -6, -4, -2]]
        column = npu_weight_quant_batchmatmul(F16([[1, 0, 0, 0, 0, 0, 0, 3]]), word, ones)
        assert column.tolist() == [[-11]]

    def test_float4(self) -> None:
        """The codes of 0, .5, 1, 1.5, 2, 3, -4, -6, by 2**1, and by 2**-127 and NaN."""
        words = np.uint32([[0xFE543210]] * 32).view(F32)
        x = np.zeros((1, 32), BF16)
        x[0, 31] = 1
        for scale in (np.full((1, 8), 128, np.uint8), np.full((1, 8), 2, ml_dtypes.float8_e8m0fnu)):
            y = npu_weight_quant_batchmatmul(x, words, scale, antiquant_group_size=32)
            assert y.astype(float).tolist() == [[0, 1, 2, 3, 4, 6, -8, -12]]
        scale = np.array([[0, 0, 0, 255, 0, 0, 0, 0]], np.uint8)
        y = npu_weight_quant_batchmatmul(x, words, scale, antiquant_group_size=32)
        assert y[0, 1].astype(float) == 2.0**-128
        assert np.isnan(y[0].astype(F32)).tolist() == [False] * 3 + [True] + [False] * 4

    def test_groups_of_rows(self) -> None:
        """Rows 0 to 31 have the first scale, 32 to 63 the second, row 64 the last one."""
        x = np.zeros((3, 65), F16)
        x[0, 31] = x[1, 32] = x[2, 64] = 1
        scale, offset = F16([[1], [10], [100]]), F16([[0.5], [1.5], [2]])
        y = npu_weight_quant_batchmatmul(
            x, np.full((65, 1), 2, np.int8), scale, offset, antiquant_group_size=32
        )
        assert y.tolist() == [[2.5], [35], [400]]

    def test_weights_are_rounded(self) -> None:
        """3 * fl16(1/3) is 0.99975586 in float32, 0.9995 or 1 in float16: a tie, to even."""
        third = float(F16(1 / 3))
        assert product([1], [3], third) == [float(F16(F32(3) * F32(third)))]
        assert product([1], [127], 1 + 2.0**-7, to=BF16) == [128]

    def test_weight_plus_offset_is_not(self) -> None:
        """100 + 0.03 is between two float16 a sixteenth apart, and is kept until the product."""
        offset = F16([0.03])
        y = product([1], [100], 0.01, antiquant_offset=offset)
        sum_ = F32(100) + F32(offset[0])
        assert y == [float(F16(sum_ * F32(F16(0.01))))]
        assert y != [float(F16(F32(F16(sum_)) * F32(F16(0.01))))]

    def test_sums_are_of_128_first(self) -> None:
        """2**24 + 1 is a tie that goes down, twice; the 1 + 1 of another chunk is none."""
        weight, scale = np.full((256, 1), 8, np.int8), F16([[64]] * 4 + [[0.125]] * 4)
        bias = F32([-(2.0**24)])
        for places, step, expected in (((128, 129), 1, 2), ((126, 127), 2.0**-9, 0)):
            x = np.zeros((1, 256), F16)
            x[0, 0], x[0, places] = 2.0**15, step
            y = npu_weight_quant_batchmatmul(x, weight, scale, bias=bias, antiquant_group_size=32)
            assert y.tolist() == [[expected]]

    def test_the_bias_is_added_in_float32(self) -> None:
        """2048 + 1 is a tie in float16, and 2049 - 2048 is 1."""
        assert product([2048, 1], [1, 1]) == [2048]
        assert product([2048, 1], [1, 1], bias=F32([-2048])) == [1]
        assert product([2048, 1], [1, 1], bias=F16([-2048])) == [1]

    def test_beyond_the_range(self) -> None:
        assert product([1, 1], [[127], [0]], 600.0) == [INF]  # w
        assert np.isnan(product([0, 1], [[127], [0]], 600.0)).all()
        assert product([65504, 65504], [1, 1]) == [INF]  # t
        assert product([-65504, -16], [1, 1]) == [-INF]
        assert product([2.0**127, 2.0**127], [1, 1], to=BF16) == [INF]

    def test_subnormal_results(self) -> None:
        assert product([2.0**-24], [3]) == [3 * 2.0**-24]
        assert product([2.0**-14], [3], 2.0**-11) == [2 * 2.0**-24]  # 1.5, a tie
        assert product([2.0**-100], [3], 2.0**-32, to=BF16) == [2.0**-131 + 2.0**-132]
        assert product([2.0**-100], [3], 2.0**-60, to=BF16) == [0]

    def test_zeros_have_the_signs_of_sums(self) -> None:
        y = product([1, -1], [[5, 0, 0], [5, 0, 3]], [1, -1, 0])
        assert (y, signs(y)) == ([0] * 3, [1] * 3)
        y = product([-(2.0**-24)], [1], 2.0**-24)
        assert (y, signs(y)) == ([0], [-1])

    def test_infinite_and_nan(self) -> None:
        assert product([INF, 1], [1, 1]) == [INF]
        assert np.isnan(product([INF, 1], [0, 1])).all()
        assert np.isnan(product([INF, INF], [1, -1])).all()
        assert np.isnan(product([NAN], [1])).all()
        assert np.isnan(product([1], [1], NAN)).all()
        assert np.isnan(product([1], [1], bias=F32([NAN]))).all()

    def test_codes_of_what_is_no_number(self) -> None:
        assert product([NAN], [1], quant_scale=F32([1])) == [0]
        assert product([0], [1], quant_scale=F32([INF])) == [0]
        assert product([INF], [[1, -1]], quant_scale=F32([1])) == [127, -128]
        assert product([1], [[100, -100]], quant_scale=F32([2])) == [127, -128]

    def test_ties_go_to_even(self) -> None:
        assert product([1], [[5, 7, -5]], quant_scale=F32([0.5])) == [2, 4, -2]
        assert product([2048, 1], [1, 1]) == [2048]
        assert product([2048, 3], [1, 1]) == [2052]

    def test_leading_axes_are_rows(self) -> None:
        x = np.arange(12, dtype=F16).reshape(2, 3, 2)
        y = npu_weight_quant_batchmatmul(x, WEIGHT, SCALE)
        assert y.shape == (2, 3, 3)
        assert (
            y.reshape(6, 3) == npu_weight_quant_batchmatmul(x.reshape(6, 2), WEIGHT, SCALE)
        ).all()

    def test_empty(self) -> None:
        ones = F16([1])
        for m, n in ((0, 3), (2, 0)):
            y = npu_weight_quant_batchmatmul(np.ones((m, 2), F16), np.ones((2, n), np.int8), ones)
            assert y.shape == (m, n)
        nothing = np.ones((2, 0), F16), np.ones((0, 3), np.int8), ones
        assert npu_weight_quant_batchmatmul(*nothing).tolist() == [[0] * 3] * 2
        y = npu_weight_quant_batchmatmul(*nothing, bias=F16([1, 2, 3]))
        assert y.tolist() == [[1, 2, 3]] * 2


@pytest.mark.parametrize("codes", ["int8", "int4", "int4 along K", "float4"])
@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_reference_against_fractions(rng: np.random.Generator, codes: str, to: str) -> None:
    """The reference itself, against exact arithmetic that shares nothing with it."""

    def rounded(value: Fraction, dtype: str = "float32") -> Fraction:
        found = nearest(value, dtype)
        assert found is not None
        return found

    k, size = 160, 32
    a = arguments(
        rng, (2, k), np.dtype(BF16 if to == "bfloat16" else F16), n=8, codes=codes, group=size
    )
    y, w = reference(**a).astype(float), packed(a["weight"], codes)
    a["antiquant_scale"] = (
        np.ldexp(1.0, a["antiquant_scale"].astype(int) - 127)
        if codes == "float4"
        else a["antiquant_scale"]
    )
    for m, n in np.ndindex(y.shape):
        total = Fraction(0)
        for begin in range(0, k, 128):
            chunk = Fraction(0)
            for i in range(begin, min(begin + 128, k)):
                scale = Fraction(float(a["antiquant_scale"][i // size, n]))
                offset = a["antiquant_offset"]
                v = Fraction(float(w[i, n]))
                if offset is not None:
                    v = rounded(v + Fraction(float(offset[i // size, n])))
                v = rounded(rounded(v * scale), to)
                chunk = rounded(chunk + rounded(v * Fraction(float(a["x"][m, i]))))
            total = rounded(total + chunk)
        if a["bias"] is not None:
            total = rounded(total + Fraction(float(a["bias"][n])))
        exact = nearest(total, to)
        assert np.isinf(y[m, n]) if exact is None else y[m, n] == float(exact)
