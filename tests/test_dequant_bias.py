"""npu_dequant_bias by hand: every special row of its page, every step's rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.dequant_bias import arguments
from test_anti_quant import nearest, signs

from npu_quant import npu_dequant_bias
from npu_quant.golden import compare
from npu_quant.ops.dequant_bias import reference

F32, BF16 = np.float32, ml_dtypes.bfloat16
INF, NAN = np.inf, np.nan


def values(
    x: Any, weight: Any, activation: Any = None, bias: Any = None, *, to: Any = None
) -> list[float]:
    """Return the results of one row; a bias of ints is int32."""
    given = None if bias is None else np.array(bias)
    if given is not None:
        given = given.astype(np.int32 if given.dtype.kind == "i" else F32)
    scale = None if activation is None else np.array([activation], F32)
    row, weights = np.array([x], np.int32), np.broadcast_to(np.array(weight, F32), len(x))
    y = npu_dequant_bias(row, weights, scale, given, output_dtype=to)
    assert y.dtype == (np.float16 if to is None else to)
    result: list[float] = y[0].astype(float).tolist()
    return result


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 19."""

    def test_an_integer_bias_is_added_to_the_sums(self) -> None:
        assert values([16777217, -3], [1, 0.5], None, [-16777216, 1]) == [1, -1]

    def test_a_float_bias_is_added_to_the_products(self) -> None:
        y = npu_dequant_bias(
            np.array([[100, -7]], np.int32), F32([0.5, 0.1]), F32([2]), F32([0.25, 1])
        )
        assert y.view(np.uint16).tolist() == [[0x5644, 0xB666]]

    def test_rows_and_columns(self) -> None:
        x, bias = np.array([[1, 2, 3], [4, 5, 6]], np.int32), np.array([1, 0, -1], np.float16)
        y = npu_dequant_bias(x, F32([1, 2, 4]), F32([1, 10]), bias)
        assert y.tolist() == [[2, 4, 11], [41, 100, 239]]
        assert npu_dequant_bias(x, F32([1, 2, 4]), None, None).tolist() == [[1, 4, 12], [4, 10, 24]]

    def test_an_integer_bias_wraps(self) -> None:
        y = values([2**31 - 1, -(2**31)], 2.0**-20, None, [1, -1])
        assert y == [-2048, 2048]

    def test_sums_beyond_float32_are_rounded(self) -> None:
        """2**24 + 1 is a tie, and becomes 2**24; from 3 on to the even one above."""
        x = [2**24 + 1, 2**24 + 3, -(2**24) - 1]
        assert values(x, 1, None, [-(2.0**24)] * 2 + [2.0**24]) == [0, 4, 0]

    def test_a_product_is_rounded_before_the_next(self) -> None:
        """3 * fl(1/3) is 1 in float32, and 1 + 2**-25 exactly."""
        assert values([3], 1 / 3, 2.0**24, [-(2.0**24)]) == [0]
        assert values([1], 1 / 3, 3 * 2.0**24, [-(2.0**24)]) == [0]

    def test_the_scales_are_not_multiplied_first(self) -> None:
        """2**-100 * 2**-100 is 0."""
        assert values([2**30], 2.0**-100, 2.0**-75, to=BF16) == [0.0]
        assert values([2**30], 2.0**-100, 2.0**75) == [32]
        assert values([2**30], 2.0**-149, 2.0**127, to=BF16) == [2.0**8]

    def test_ties_go_to_even(self) -> None:
        assert values([2049, 2051, -2049], 1) == [2048, 2052, -2048]
        assert values([257, 259, -257], 1, to=BF16) == [256, 260, -256]

    def test_v_is_rounded_to_float32_first(self) -> None:
        """1 + 2**-11 + 2**-30 is above a tie of float16, but not a float32."""
        assert values([1], 1, None, [2.0**-11 + 2.0**-30]) == [1]
        assert values([1], 1, None, [2.0**-11 + 2.0**-23]) == [1 + 2.0**-10]

    def test_beyond_the_range(self) -> None:
        assert values([65504, 65519, 65520, -65520], 1) == [65504, 65504, INF, -INF]
        assert values([2**30, -(2**30)], 2.0**98, to=BF16) == [INF, -INF]
        assert values([2**30], 2.0**97, to=BF16) == [2.0**127]

    def test_subnormal_results(self) -> None:
        for to, least in ((np.float16, 2.0**-24), (BF16, 2.0**-133)):
            assert values([1, 2, 3, -3], least / 2, to=to) == [0, least, 2 * least, -2 * least]

    def test_zeros_have_signs(self) -> None:
        y = values([0, 0, 5, -5, -5], [1, -1, 0, 0, -0.0])
        assert (y, signs(y)) == ([0] * 5, [1, -1, 1, -1, 1])
        assert signs(values([0, 0], [-1, -1], None, [0.0, -0.0])) == [1, -1]

    def test_infinite_and_nan(self) -> None:
        assert values([3, -3], INF) == [INF, -INF]
        assert np.isnan(values([0, 1], [INF, NAN])).all()
        assert values([3, 4], 1, None, [INF, -INF]) == [INF, -INF]
        assert np.isnan(values([3, 3], [INF, 1], None, [-INF, NAN])).all()
        assert np.isnan(values([0, 5], [1, 1], INF)).tolist() == [True, False]

    def test_empty(self) -> None:
        for m, n in ((0, 4), (3, 0)):
            x, row, column = np.zeros((m, n), np.int32), np.ones(n, F32), np.ones(m, F32)
            assert npu_dequant_bias(x, row, column, row).shape == (m, n)


@pytest.mark.parametrize("bias", [np.int32, np.float16, F32])
@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_reference_against_fractions(rng: np.random.Generator, bias: Any, to: str) -> None:
    """The reference itself, against exact arithmetic that shares nothing with it."""

    def rounded(value: Fraction) -> Fraction:
        found = nearest(value, "float32")
        assert found is not None
        return found

    a = arguments(rng, (4, 200), np.dtype(BF16 if to == "bfloat16" else to), np.dtype(bias))
    y = reference(**a).astype(float)
    for m, n in np.ndindex(y.shape):
        x, added = int(a["x"][m, n]), a["bias"][n]
        if bias is np.int32:
            x = (x + int(added) + 2**31) % 2**32 - 2**31
        v = rounded(rounded(Fraction(x)) * Fraction(float(a["weight_scale"][n])))
        v = rounded(v * Fraction(float(a["activation_scale"][m])))
        v = v if bias is np.int32 else rounded(v + Fraction(float(added)))
        exact = nearest(v, to)
        assert np.isinf(y[m, n]) if exact is None else y[m, n] == float(exact)


def test_a_bias_that_is_left_out_is_named(rng: np.random.Generator) -> None:
    """As upstream's own test computes its golden: x * weight_scale, and no more."""
    a = arguments(rng, (40, 64), np.dtype(np.float16))
    a["x"] //= 2**10
    wrong = npu_dequant_bias(a["x"], a["weight_scale"], None, None)
    comparison = compare(wrong, op="npu_dequant_bias", inputs=a)
    assert not comparison.passed
    assert comparison.variants[0].name == "activation_scale ignored, float bias ignored"
