"""npu_quantize by hand: the documents' vectors, every special row of its page, and torch."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.quantize import arguments, sprinkled
from conftest import DTYPES
from witnesses import Array, assert_same_bits

from npu_quant import npu_quantize
from npu_quant.ops.quantize import reference

INT8, UINT8, INT32 = (np.dtype(d) for d in (np.int8, np.uint8, np.int32))
LIMITS = [(d, np.iinfo(d).min, np.iinfo(d).max) for d in (INT8, UINT8, INT32)]

# What torch 2.13 gave for the page's example on a CPU; ours differs twice.
EXAMPLE = np.array([[2.25, 1.65, -0.5, 99]], np.float32)
EXAMPLE_SCALES = np.array([0.3, 0.3, 1, 0.5], np.float32)
EXAMPLE_ZERO_POINTS = np.array([0, 0, 1, 0], np.int32)
TORCH_GAVE = [[8, 6, 0, 127]]
WE_GIVE = [[7, 5, 0, 127]]


def codes(x: Any, scales: Any, zeros: Any = None, dtype: Any = INT8, **others: Any) -> Any:
    """Quantize lists as float32, zero points as int32 unless they are arrays, along the last axis."""
    zero_points = np.array(zeros, np.int32) if isinstance(zeros, (int, list)) else zeros
    arrays = np.array(x, np.float32), np.array(scales, np.float32), zero_points
    y = npu_quantize(*arrays, dtype, **{"axis": -1} | others)
    assert y.dtype == dtype
    assert isinstance(y, np.ndarray)
    return y.tolist()


def floats(*values: float) -> Array:
    """Return zero points of float32."""
    return np.array(values, np.float32)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 8."""

    def test_ties_go_to_even(self, dtype: np.dtype) -> None:
        x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5], dtype)
        one = np.ones(1, np.float32)
        assert npu_quantize(x, one, None, "int8").tolist() == [0, 2, 2, 0, -2, -2]
        assert npu_quantize(x, one, None, "int32").tolist() == [0, 2, 2, 0, -2, -2]
        assert npu_quantize(x, one, None, "uint8").tolist() == [0, 2, 2, 0, 0, 0]

    def test_the_zero_point_is_added_before_rounding(self) -> None:
        assert codes([0.5, 1.5, 2.5, -0.5], 1, 1) == [2, 2, 4, 0]
        assert codes([0.5, 1.5, 2.5, -0.5], 2, 1, div_mode=False) == [2, 4, 6, 0]

    @pytest.mark.parametrize("zeros", [np.int8, np.uint8, np.int32, *DTYPES], ids=str)
    def test_zero_points_of_every_dtype(self, zeros: Any) -> None:
        assert codes([0.5, -4, 100], 0.5, np.array([100, 3, 7], zeros)) == [101, -5, 127]

    def test_fractional_zero_points(self) -> None:
        assert codes([1, 1, 1, 1], 1, floats(0.5, 0.25, -0.5, 0.75)) == [2, 1, 0, 2]

    def test_scales_divide_or_multiply(self) -> None:
        assert codes([1, 2, -3], [0.5, 4, 2]) == [2, 0, -2]
        assert codes([1, 2, -3], [0.5, 4, 2], div_mode=False) == [0, 8, -6]

    @pytest.mark.parametrize(
        ("axis", "y"), [(0, [[4, 8], [3, 4]]), (1, [[4, 4], [12, 8]]), (-2, [[4, 8], [3, 4]])]
    )
    def test_axis(self, axis: int, y: list[list[int]]) -> None:
        assert codes([[4, 8], [12, 16]], [1, 2 + 2 * (axis != 1)], None, axis=axis) == y

    @pytest.mark.parametrize("axis", [-1, 0, 1, 2, 99])
    def test_div_mode_false_means_the_last_axis(self, axis: int) -> None:
        x = [[4, 8, 1], [12, 16, 1]]
        scales, zeros = [1, 2, 3], [0, 1, 2]
        y = [[4, 17, 5], [12, 33, 5]]
        assert codes(x, scales, zeros, axis=axis, div_mode=False) == y
        assert codes(x, [scales], [zeros], axis=axis, div_mode=False) == y

    def test_div_mode_false_or_the_one_before(self) -> None:
        x = [[4, 8, 1], [12, 16, 1]]
        for scales, zeros in (([1, 2], [[0], [1]]), ([[1], [2]], [0, 1])):
            y = codes(x, scales, zeros, axis=-2, div_mode=False)
            assert y == [[4, 8, 1], [25, 33, 3]]

    def test_saturation(self) -> None:
        for dtype, low, high in LIMITS:
            assert codes([3e9, -3e9, 1e38], 1, 0, dtype) == [high, low, high]
        assert codes([127.5, 126.5, -128.5, -129], 1) == [127, 126, -128, -128]
        assert codes([255.5, 254.5, -0.5, -0.6], 1, None, UINT8) == [255, 254, 0, 0]

    def test_the_ends_of_int32(self) -> None:
        """Above 2**23 all float32 numbers are whole, and 2**31 - 128 is the last below 2**31."""
        x = [2**31, 2**31 - 128, -(2**31), -(2**31) - 256, -(2**31) + 128, 16777217, 8388607.5]
        y = [2**31 - 1, 2**31 - 128, -(2**31), -(2**31), -(2**31) + 128, 16777216, 8388608]
        assert codes(x, 1, None, INT32) == y
        assert codes(x, 1, 0, INT32) == y

    def test_nan(self, dtype: np.dtype) -> None:
        nan = np.array([np.nan, -np.nan, 1], dtype)
        one, five = np.ones(3, dtype), np.full(3, 5, dtype)
        for to, _, _ in LIMITS:
            assert npu_quantize(nan, one, five, to, 0).tolist() == [0, 0, 6]
            assert npu_quantize(one, nan, five, to, 0).tolist() == [0, 0, 6]
            assert npu_quantize(one, one, nan, to, 0).tolist() == [0, 0, 2]

    def test_infinite(self, dtype: np.dtype) -> None:
        x = np.array([np.inf, -np.inf], dtype)
        one = np.ones(1, dtype)
        for to, low, high in LIMITS:
            assert npu_quantize(x, one, one, to).tolist() == [high, low]
            assert npu_quantize(x, -one, one, to).tolist() == [low, high]
            assert npu_quantize(x, one, one, to, div_mode=False).tolist() == [high, low]

    def test_infinite_zero_point(self) -> None:
        assert codes([1, 1], 1, floats(np.inf, -np.inf)) == [127, -128]
        assert codes([np.inf, -np.inf], 1, floats(-np.inf, np.inf)) == [0, 0]

    def test_zero_scale(self) -> None:
        for dtype, low, high in LIMITS:
            assert codes([3, -3, 0, -0.0], 0, 9, dtype) == [high, low, 0, 0]
            assert codes([3, -3, 0, -0.0], 0, 9, dtype, div_mode=False) == [9] * 4

    def test_infinite_scale(self) -> None:
        assert codes([3, -3, 0, np.inf], np.inf, 9) == [9, 9, 9, 0]
        assert codes([3, -3, 0, np.inf], -np.inf, 9) == [9, 9, 9, 0]

    def test_zero_times_infinity(self) -> None:
        assert codes([0, 1, -1], np.inf, 9, div_mode=False) == [0, 127, -128]
        assert codes([np.inf, 1], 0, 9, div_mode=False) == [0, 9]

    def test_negative_scale(self) -> None:
        assert codes([3, -3, 128], -1, 1) == [-2, 4, -127]
        assert codes([3, -3, 300], -1, 0, UINT8) == [0, 3, 0]

    def test_subnormals(self) -> None:
        tiny = float(np.finfo(np.float32).smallest_subnormal)
        assert codes([tiny, 3 * tiny, -5 * tiny], 2 * tiny) == [0, 2, -2]
        assert codes([tiny, 3 * tiny], 2.0**100, div_mode=False) == [0, 0]

    @pytest.mark.parametrize("exponent", [-149, -128, -127, -5, 0, 100, 127])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_powers_of_two(self, exponent: int, sign: int) -> None:
        x = np.concatenate([[0, np.inf, np.nan, 2.0**-149, 3e38], np.arange(-300, 300) / 2])
        with np.errstate(over="ignore"):
            x = np.concatenate([x, x * 2.0 ** max(exponent, -126)]).astype(np.float32)
        scale = np.array([sign * 2.0**exponent], np.float32)
        for zero in (None, np.array([3], np.int32), floats(0.5)):
            for to in (INT8, UINT8, INT32):
                with np.errstate(all="ignore"):
                    expected = reference(x, scale, zero, to)
                assert_same_bits((npu_quantize(x, scale, zero, to),), (expected,))

    def test_quotients_beside_a_tie_whose_remainder_underflows(
        self, rng: np.random.Generator
    ) -> None:
        # x / scale is 2**-25 but for a few units of the last place, and 0.5 + 2**-25 a tie of
        # floats, which goes to 0.5 and to code 0; what is greater goes to 1. x is subnormal.
        m = rng.integers(2**13, 2**14, (4000, 1))
        ulps = np.arange(-3, 4, dtype=np.int32)
        scale = ((m * 2.0**-124).astype(np.float32).view(np.int32) + ulps).view(np.float32).ravel()
        x = np.repeat((m * 2.0**-149).astype(np.float32), ulps.size).reshape(1, -1)
        for to in (INT8, UINT8, INT32):
            a = x, scale, np.full_like(scale, 0.5), to
            assert_same_bits((npu_quantize(*a),), (reference(*a),))

    def test_int32_zero_points_are_rounded_to_float32(self) -> None:
        assert codes([-(2.0**24)], 1, 2**24 + 1) == [0]
        assert codes([0], 1, 2**31 - 1, INT32) == [2**31 - 1]
        assert codes([0], 1, 2**24 + 3, INT32) == [2**24 + 4]

    def test_scales_and_self_of_any_float_dtypes(self, dtype: np.dtype) -> None:
        for scales in DTYPES:
            for zeros in DTYPES:
                arrays = (np.array(v, d) for v, d in (([3, -5], dtype), ([2], scales), (1, zeros)))
                assert npu_quantize(*arrays, "int8").tolist() == [2, -2]

    def test_one_element_of_any_shape(self) -> None:
        """The axis does not matter then."""
        for shape in ((), (1,), (1, 1), (1,) * 8):
            one = np.full(shape, 2, np.float32)
            for axis in (-9, 0, 77):
                assert npu_quantize(np.full((2, 1), 6, np.float16), one, one, 1, axis).tolist() == [
                    [5],
                    [5],
                ]

    def test_no_dimensions(self) -> None:
        x = np.array(5.5, np.float16)
        y = npu_quantize(x, np.ones(1, np.float32), np.array(1, np.int8), "int8")
        assert (y.shape, y.tolist(), type(y)) == ((), 6, np.ndarray)
        out = np.zeros((), np.int8)
        assert npu_quantize(x, np.ones((), np.float32), None, "int8", out=out) is out
        assert out.tolist() == 6

    def test_the_example_that_torch_rounds_otherwise(self) -> None:
        """2.25 / 0.3 is 7.4999995 in float32, 2.25 * fl(1 / 0.3) is 7.5; so 1.65, 5.4999995."""
        for to in (INT8, UINT8, INT32):
            y = npu_quantize(EXAMPLE, EXAMPLE_SCALES, EXAMPLE_ZERO_POINTS, to)
            assert np.minimum(y, 127).tolist() == WE_GIVE
        inverse = np.float32(1) / EXAMPLE_SCALES
        exact = np.rint(EXAMPLE * inverse + EXAMPLE_ZERO_POINTS.astype(np.float32))
        assert np.minimum(exact, 127).tolist() == TORCH_GAVE


def torch_codes(x: Array, scales: Array, zero_points: Array, axis: int, name: str) -> Array:
    """torch.quantize_per_channel's codes; the function is deprecated, and the warning is not ours."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays = (torch.from_numpy(a.copy()) for a in (x, scales, zero_points))
        return torch.quantize_per_channel(*arrays, axis, getattr(torch, name)).int_repr().numpy()


@pytest.mark.needs("torch")
class TestTorch:
    """torch.quantize_per_channel multiplies by fl(1 / scale); all else is as here."""

    def test_it_gives_what_is_written_down(self) -> None:
        arrays = EXAMPLE, EXAMPLE_SCALES, EXAMPLE_ZERO_POINTS
        assert torch_codes(*arrays, 1, "qint8").tolist() == TORCH_GAVE
        assert npu_quantize(*arrays, 1).tolist() == WE_GIVE

    @pytest.mark.usefixtures("target")
    @pytest.mark.parametrize("name", ["qint8", "quint8", "qint32"])
    @pytest.mark.parametrize("axis", [0, 1])
    def test_it_differs_where_the_product_does(
        self, rng: np.random.Generator, name: str, axis: int
    ) -> None:
        x = (rng.standard_normal((400, 300)) * 5).astype(np.float32)
        x.reshape(-1)[:4] = [np.inf, -np.inf, 1e30, -1e30]
        n, shape = x.shape[axis], (-1, 1) if axis == 0 else (1, -1)
        scales = rng.uniform(0.03, 0.2, n).astype(np.float32)
        zero_points = rng.integers(0, 100, n).astype(np.int32)
        y = npu_quantize(x, scales, zero_points, name, axis)
        theirs = torch_codes(x, scales, zero_points, axis, name)
        scale, zero = scales.reshape(shape), zero_points.reshape(shape).astype(np.float32)
        with np.errstate(over="ignore"):
            product, quotient = x * (1 / scale) + zero, x / scale + zero
        same = np.rint(product) == np.rint(quotient)
        assert same.mean() > 0.999
        assert (y[same] == theirs[same]).all()

    def test_it_makes_a_nan_the_least_of_qint32(self) -> None:
        x, one, zero = floats(np.nan), floats(1), np.zeros(1, np.int32)
        assert torch_codes(x, one, zero, 0, "qint32").tolist() == [-(2**31)]
        assert torch_codes(x, one, zero, 0, "qint8").tolist() == [0]


def test_bfloat16_is_ml_dtypes() -> None:
    x = np.array([1, 2.5], ml_dtypes.bfloat16)
    assert npu_quantize(x, x[:1], x[:1], "int8").tolist() == [2, 4]


@pytest.mark.parametrize("to", [INT8, UINT8, INT32], ids=str)
@pytest.mark.parametrize("div_mode", [True, False])
def test_reference_against_scalars(
    rng: np.random.Generator, dtype: np.dtype, to: np.dtype, div_mode: bool
) -> None:
    """The reference itself, against a loop that shares nothing with it: Python's own rounding."""
    limits = np.iinfo(to)
    f = np.float32
    for zeros in (None, INT32, dtype):
        a = sprinkled(rng, arguments(rng, (4, 60), dtype, to, zeros=zeros, div_mode=div_mode))
        y = []
        for i, j in np.ndindex(4, 60):
            with np.errstate(all="ignore"):
                v, scale = f(a["self"][i, j]), f(a["scales"][j])
                q = v / scale if div_mode else v * scale
                q = float(q if zeros is None else q + f(a["zero_points"][j]))
            low, high = float(limits.min), float(limits.max)
            y.append(0 if q != q else round(max(low, min(high, q))))
        assert reference(**a).reshape(-1).tolist() == y
