"""npu_anti_quant by hand: the documents' vectors, every special row of its page, and torch."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.anti_quant import arguments
from conftest import DTYPES
from witnesses import Array, assert_same_bits, bits

from npu_quant import npu_anti_quant, npu_quantize
from npu_quant.ops.anti_quant import reference

FLOAT16, BFLOAT16, FLOAT32 = DTYPES
INF, NAN = np.inf, np.nan


@pytest.fixture(params=[FLOAT16, BFLOAT16], ids=str)
def to(request: pytest.FixtureRequest) -> np.dtype:
    """Run the test with each type of results."""
    return request.param


def values(x: Any, scale: Any, offset: Any = None, dst_dtype: Any = None) -> Any:
    """Take lists: codes, and scales and offsets of float32, 1-D even if it is one number."""
    as_array = (None if v is None else np.atleast_1d(np.float32(v)) for v in (scale, offset))
    scales, offsets = as_array
    y = npu_anti_quant(np.array(x, np.int8), scales, offset=offsets, dst_dtype=dst_dtype)
    assert y.dtype == (FLOAT16 if dst_dtype is None else dst_dtype)
    assert isinstance(y, np.ndarray)
    return y.tolist()


def signs(numbers: list[float]) -> list[float]:
    """Return 1.0 or -1.0 for each, zeros included."""
    return [float(s) for s in np.copysign(1, numbers)]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 9."""

    def test_the_sample_of_the_c_function(self) -> None:
        x, one = np.arange(8, dtype=np.int8).reshape(4, 2), np.ones(1, np.float32)
        y = npu_anti_quant(x, one, offset=one)
        patterns = [15360, 16384, 16896, 17408, 17664, 17920, 18176, 18432]
        assert bits(y).reshape(-1).tolist() == patterns
        assert y.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]

    def test_the_offset_is_added_before_the_product(self, to: np.dtype) -> None:
        assert values(range(8), 2, 3, to) == [6, 8, 10, 12, 14, 16, 18, 20]
        assert values([-128, 127], 0.5, -1, to) == [-64.5, 63]

    def test_without_an_offset(self, to: np.dtype) -> None:
        assert values([-128, -1, 0, 1, 127], 0.5, None, to) == [-64, -0.5, 0, 0.5, 63.5]

    def test_float16_is_the_default(self) -> None:
        assert values([3], 0.1) == values([3], 0.1, None, FLOAT16)
        assert values([3], 0.1) != values([3], 0.1, None, BFLOAT16)

    def test_a_scale_per_column_and_per_row(self, to: np.dtype) -> None:
        x, columns, rows = [[1, 2, 3], [4, 5, 6]], [1, 2, 0.5], [2, 4]
        assert values(x, columns, None, to) == [[1, 4, 1.5], [4, 10, 3]]
        assert values(x, rows, None, to) == [[2, 4, 6], [16, 20, 24]]
        assert values(x, columns, [1, 0, -1], to) == [[2, 4, 1], [5, 10, 2.5]]
        assert values(x, rows, [0, -3], to) == [[2, 4, 6], [4, 8, 12]]
        assert values(x, [columns], [[1, 0, -1]], to) == [[2, 4, 1], [5, 10, 2.5]]
        assert values(x, [[2], [4]], [[0], [-3]], to) == [[2, 4, 6], [4, 8, 12]]
        assert values(x, [[2]], [[1]], to) == [[4, 6, 8], [10, 12, 14]]

    def test_the_axis_before_the_last_of_more_than_two(self, to: np.dtype) -> None:
        x = np.ones((2, 3, 4), np.int8)
        scale = np.array([1, 2, 4], np.float32)
        for shaped in (scale, scale[None, :, None]):
            y = npu_anti_quant(x, shaped, dst_dtype=to)
            assert (y == scale.astype(to)[:, None]).all()

    def test_one_dimension(self, to: np.dtype) -> None:
        assert values([1, 2, 3], [1, 2, 4], None, to) == [1, 4, 12]
        assert values([1, 2, 3], [2], [1], to) == [4, 6, 8]
        assert values([5], [2], [1], to) == [12]

    def test_the_last_axis_wins_where_both_fit(self) -> None:
        x = [[1, 1], [1, 1]]
        assert values(x, [2, 3]) == [[2, 3], [2, 3]]
        assert values(x, [[2], [3]]) == [[2, 2], [3, 3]]
        assert values([[[1], [1]]], [2, 3]) == [[[2], [3]]]

    def test_scales_of_bfloat16(self, to: np.dtype) -> None:
        scale, offset = np.array([0.5, 3], ml_dtypes.bfloat16), np.array([1, 2], ml_dtypes.bfloat16)
        y = npu_anti_quant(np.array([[1, 2]], np.int8), scale, offset=offset, dst_dtype=to)
        assert y.tolist() == [[1, 12]]

    def test_ties_go_to_even(self) -> None:
        """1 + n * 2**-11 in float16, of which 1 + 2**-10 is the number after 1; so in bfloat16."""
        ties, even = [1 + n * 2.0**-11 for n in (1, 3, 5)], [1 + n * 2.0**-10 for n in (0, 2, 2)]
        assert values([1, 1, 1], ties) == even
        ties, even = [1 + n * 2.0**-8 for n in (1, 3, 5)], [1 + n * 2.0**-7 for n in (0, 2, 2)]
        assert values([1, 1, 1], ties, None, BFLOAT16) == even

    def test_the_sum_is_rounded_to_float32_first(self) -> None:
        """1 + 2**-11 + 2**-30 is above a tie of float16, but not a float32."""
        assert values([1], 1, 2.0**-11 + 2.0**-30) == [1]
        assert values([1], 1, 2.0**-11 + 2.0**-23) == [1 + 2.0**-10]

    def test_the_product_is_rounded_to_float32_first(self) -> None:
        """7 * scale is a little above a tie of float16, but not in float32."""
        tie = Fraction(1 + 2.0**-11)
        scale = np.float32(float(tie / 7))
        assert tie < 7 * Fraction(float(scale)) < tie + Fraction(2.0**-24)
        assert values([7], scale) == [1]
        assert values([7], np.nextafter(scale, np.float32(1))) == [1 + 2.0**-10]

    def test_beyond_float16(self) -> None:
        """65520 is the tie between 65504 and 65536, the number that float16 lacks."""
        scales = [65504, np.nextafter(np.float32(65520), np.float32(0)), 65520, 1e38]
        assert values([1] * 4, scales) == [65504, 65504, INF, INF]
        assert values([-1] * 4, scales) == [-65504, -65504, -INF, -INF]
        assert values([127, -128], 600) == [INF, -INF]

    def test_beyond_bfloat16(self) -> None:
        largest = float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
        tie = 2.0**128 - 2.0**119
        scales = [largest, np.nextafter(np.float32(tie), np.float32(0)), tie]
        assert values([1] * 3, scales, None, BFLOAT16) == [largest, largest, INF]
        assert values([2, -2], 3e38, None, BFLOAT16) == [INF, -INF]

    def test_subnormal_results(self) -> None:
        """2**-24 is the least of float16, 2**-133 of bfloat16; half of it is a tie."""
        for to, least in ((FLOAT16, 2.0**-24), (BFLOAT16, 2.0**-133)):
            y = values([1, 2, 3, 4, 5, -2], least / 2, None, to)
            assert y == [0, least, 2 * least, 2 * least, 2 * least, -least]
            zeros = values([1, -1], least / 2, None, to)
            assert (zeros, signs(zeros)) == ([0, 0], [1, -1])

    def test_subnormal_scales(self) -> None:
        """Those of float32 are no zeros: 2**-149 * 2**16 is the least of bfloat16."""
        scale, offset = 2.0**-149, 2.0**16 - 1
        assert values([1], scale, offset, BFLOAT16) == [2.0**-133]

    def test_the_sum_is_zero(self) -> None:
        y = values([3, -3, 0], [2, 2, -2], [-3, 3, -0.0])
        assert (y, signs(y)) == ([0, 0, 0], [1, 1, -1])

    def test_zero_scale(self, to: np.dtype) -> None:
        y = values([3, -3, 0, 3, -3, 0], [0, 0, 0, -0.0, -0.0, -0.0], None, to)
        assert (y, signs(y)) == ([0] * 6, [1, -1, 1, -1, 1, -1])

    def test_negative_scale(self, to: np.dtype) -> None:
        assert values([3, -128, 127], -0.5, 1, to) == [-2, 63.5, -64]

    def test_infinite_scale(self, to: np.dtype) -> None:
        assert values([3, -3, 3, -3], [INF, INF, -INF, -INF], None, to) == [INF, -INF, -INF, INF]
        assert np.isnan(values([0, 3, -1], [INF, INF, -INF], [0, -3, 1], to)).all()

    def test_infinite_offset(self, to: np.dtype) -> None:
        assert values([3, -3, 3], [1, 1, -1], [INF, -INF, INF], to) == [INF, -INF, -INF]
        assert np.isnan(values([3, -3], [0, -0.0], [INF, -INF], to)).all()

    def test_nan(self, to: np.dtype) -> None:
        y = values([1, 1, 1, 0], [NAN, 1, -NAN, NAN], [1, NAN, NAN, 0], to)
        assert np.isnan(y).all()
        assert values([1, 2], [1, NAN], None, to)[0] == 1

    def test_back_from_npu_quantize(self) -> None:
        """The offset is minus the zero point."""
        x = np.array([[1.5, -2, 0, 12.5], [40, 7, -3, 1]], np.float32)
        scale, zero_point = np.array([0.5, 1], np.float32), np.array([3, -5], np.int32)
        q = npu_quantize(x, scale, zero_point, np.int8, axis=0)
        y = npu_anti_quant(q, scale, offset=-zero_point.astype(np.float32))
        assert y.tolist() == x.tolist()


def test_the_shapes_the_c_function_takes() -> None:
    """What hicann/ops-nn's own tests take and refuse, for x of (3, 5), (3, 1) and (3, 0)."""
    for shape, scales in {
        (3, 5): [(1,), (5,), (3,), (1, 5), (3, 1), (1, 1)],
        (3, 1): [(1,), (3,), (3, 1)],
        (3, 0): [(1,), (3,)],
    }.items():
        for scale in scales:
            assert npu_anti_quant(np.ones(shape, np.int8), np.ones(scale, "f4")).shape == shape


@pytest.mark.needs("torch")
@pytest.mark.usefixtures("target")
def test_it_is_what_torch_computes(rng: np.random.Generator, to: np.dtype) -> None:
    """torch_npu's own test makes its golden so: in float32, then one cast."""
    import torch

    x = rng.integers(-128, 128, (300, 200), np.int8)
    scale = np.exp(rng.uniform(-20, 12, 200)).astype(np.float32)
    offset = rng.uniform(-100, 100, 200).astype(np.float32)
    tensors = [torch.from_numpy(a) for a in (x, scale, offset)]
    golden = ((tensors[0].float() + tensors[2]) * tensors[1]).to(getattr(torch, to.name))
    theirs: Array = golden.view(torch.int16).numpy().view(to)
    assert np.isinf(theirs.astype(np.float32)).any() == (to == FLOAT16)
    y = npu_anti_quant(x, scale, offset=offset, dst_dtype=golden.dtype)
    assert_same_bits((y,), (theirs,))


# Bits of the significand, the exponent of the least subnormal, and the largest number.
FORMATS = {
    "float32": (24, -149, 2**128 - 2**104),
    "float16": (11, -24, 65504),
    "bfloat16": (8, -133, 2**128 - 2**120),
}


def nearest(value: Fraction, name: str) -> Fraction | None:
    """Round an exact number to nearest, ties to even; None for what overflows."""
    bits, least, largest = FORMATS[name]
    exponent = max(least, value.numerator.bit_length() - value.denominator.bit_length() - bits)
    while abs(value) >= Fraction(2) ** (exponent + bits):
        exponent += 1
    rounded = round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent
    return rounded if abs(rounded) <= largest else None


def test_reference_against_fractions(rng: np.random.Generator, to: np.dtype) -> None:
    """The reference itself, against exact arithmetic that shares nothing with it."""
    a = arguments(rng, (4, 500), to)
    y = reference(**a).astype(np.float64)
    assert np.isinf(y).any() == (to == FLOAT16)
    for i, j in np.ndindex(4, 500):
        offset, scale = (Fraction(float(a[name][j])) for name in ("offset", "scale"))
        total = nearest(int(a["x"][i, j]) + offset, "float32")
        assert total is not None
        product = nearest(total * scale, "float32")
        assert product is not None
        exact = nearest(product, to.name)
        assert np.isinf(y[i, j]) if exact is None else y[i, j] == float(exact)
