"""Fake quantization with one scale against its formula, hand vectors, and every layout and target."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import (
    Array,
    assert_same_but_nan,
    assert_untouched_outside,
    layouts,
    on_steps,
    out_layouts,
    random_patterns,
)

import npu_quant
from npu_quant import _fake_quantize_per_tensor_affine_cachemask_tensor_qparams as with_arrays
from npu_quant import fake_quantize_per_tensor_affine as plain
from npu_quant import fake_quantize_per_tensor_affine_cachemask as cachemask
from npu_quant import fake_quantize_per_tensor_affine_cachemask_backward as backward
from npu_quant.ops.fake_quantize_per_tensor import reference, reference_backward

WIDTHS = [1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 4096, 5000]
WIDE = 1 << 20
# zero_point, quant_min, quant_max: odd zero points move the ties.
RANGES = [
    (0, -128, 127),
    (3, -128, 127),
    (128, 0, 255),
    (101, 0, 255),
    (-1, -8, 7),
    (7, 1, 255),
    (12345, -WIDE, WIDE),
    (-WIDE, -WIDE, WIDE),
    (5, 5, 5),
]
SCALES = [1.0, 0.1, 3e-5, -0.37, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 2e-39, 6e-39, 3e38]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL = ["bool", *INTEGERS, "float16", "bfloat16", "float32", "float64"]
ONE = np.ones(1, np.float32)
ZERO = np.zeros(1, np.int32)


def f32(*values: float) -> Array:
    """Return a float32 array."""
    return np.array(values, np.float32)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 6."""

    def test_ties_and_the_end_of_the_range(self) -> None:
        """0.05, 0.15 and 0.25 are ties in float32: x * 10 is 0.5, 1.5 and 2.5."""
        output, mask = cachemask(f32(0.25, 0.05, 0.15, 12.75), 0.1, 0, -128, 127)
        assert_same_but_nan((output,), (f32(0.2, 0, 0.2, 12.7),))
        assert mask.tolist() == [True, True, True, False]

    def test_the_zero_point_is_added_after_rounding(self) -> None:
        output, mask = cachemask(f32(0.5, 1.5, 2.5, -0.5), 1.0, 1, -128, 127)
        assert_same_but_nan((output,), (f32(0, 2, 2, 0),))  # q is [1, 3, 3, 1]
        assert mask.all()

    def test_nan(self, dtype: np.dtype) -> None:
        output, mask = cachemask(np.array([np.nan, -np.nan, 1], dtype), 0.5, 3, -128, 127)
        assert output.tolist() == [-65.5, -65.5, 1]
        assert mask.tolist() == [False, False, True]

    @pytest.mark.parametrize(
        ("zero_point", "quant_min", "y"), [(5, 0, -0.5), (0, 0, 0), (10, 0, -1), (1, 1, 0)]
    )
    def test_nan_and_minus_inf_with_other_ranges(
        self, zero_point: int, quant_min: int, y: float
    ) -> None:
        output, mask = cachemask(f32(np.nan, -np.inf), 0.1, zero_point, quant_min, 255)
        assert_same_but_nan((output,), (f32(y, y),))
        assert not mask.any()

    def test_inf_and_above(self, dtype: np.dtype) -> None:
        x = np.array([np.inf, 1000, 62.75, 62.25, 62], dtype)  # 62.25 is a tie: q = 124 + 3
        output, mask = cachemask(x, 0.5, 3, -128, 127)
        assert output.tolist() == [62] * 5
        assert mask.tolist() == [False, False, False, True, True]

    def test_minus_inf_and_below(self, dtype: np.dtype) -> None:
        output, mask = cachemask(np.array([-np.inf, -1000, -65.5], dtype), 0.5, 3, -128, 127)
        assert output.tolist() == [-65.5] * 3
        assert mask.tolist() == [False, False, True]

    def test_output_too_large(self, dtype: np.dtype) -> None:
        """66 * 1000 is inf in float16, 2 * 2.2e38 in the others."""
        scale = 1000.0 if dtype == np.float16 else 2.2e38
        most = ml_dtypes.finfo(dtype).max
        output, mask = cachemask(np.array([most, -most], dtype), scale, 0, -128, 127)
        assert output.tolist() == [np.inf, -np.inf]
        assert mask.all()

    def test_negative_scale(self, dtype: np.dtype) -> None:
        x = np.array([1, -1, np.inf, -np.inf, 0], dtype)
        output, mask = cachemask(x, -0.5, 0, -128, 127)
        assert_same_but_nan((output,), (np.array([1, -1, 64, -63.5, -0.0], dtype),))
        assert mask.tolist() == [True, True, False, False, True]

    @pytest.mark.parametrize("scale", [0.0, 1e-45, 1e-39])
    def test_scale_zero_or_so_small_that_its_inverse_is_inf(self, scale: float) -> None:
        output, mask = cachemask(f32(1, -1, 0, np.nan), scale, 0, -128, 127)
        assert_same_but_nan((output,), (f32(127, -128, -128, -128) * np.float32(scale),))
        assert not mask.any()

    @pytest.mark.parametrize("scale", [np.inf, 1e39])
    def test_scale_inf(self, scale: float) -> None:
        output, mask = cachemask(f32(5, 0, np.inf, -np.inf, np.nan), scale, 0, -128, 127)
        assert_same_but_nan((output,), (f32(np.nan, np.nan, -np.inf, -np.inf, -np.inf),))
        assert mask.tolist() == [True, True, False, False, False]

    def test_scale_nan(self, dtype: np.dtype) -> None:
        output, mask = cachemask(np.array([1, np.inf, np.nan], dtype), np.nan, 0, -128, 127)
        assert np.isnan(output).all()
        assert not mask.any()

    def test_quant_min_equal_to_quant_max(self) -> None:
        output, mask = cachemask(f32(0, 0.25, -0.25, 1, np.nan), 0.5, 5, 5, 5)
        assert_same_but_nan((output,), (f32(0, 0, 0, 0, 0),))
        assert mask.tolist() == [True, True, True, False, False]

    @pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3, 4)])
    def test_empty(self, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        x = np.zeros(shape, dtype)
        nothing = np.zeros(shape, np.bool_)
        assert_same_but_nan(cachemask(x, 0.1, 0, -128, 127), (x, nothing))
        assert_same_but_nan(with_arrays(x, ONE, ZERO, ONE, -128, 127), (x, nothing))
        assert_same_but_nan((plain(x, 0.1, 0, -128, 127), backward(x, nothing)), (x, x))

    def test_a_scalar_array(self, dtype: np.dtype) -> None:
        x = np.array(1.25, dtype)
        expected = np.array(1, dtype), np.array(True)
        assert_same_but_nan(cachemask(x, 0.5, 0, -128, 127), expected)
        out = np.zeros((), dtype), np.zeros((), np.bool_)
        cachemask(x, 0.5, 0, -128, 127, out=out)
        assert_same_but_nan(out, expected)

    @pytest.mark.parametrize("enabled", [0, False, 0.5, -1, -3.0, np.nan, -np.inf])
    def test_switched_off(self, dtype: np.dtype, enabled: float) -> None:
        x = np.array([np.nan, np.inf, -np.inf, -0.0, 0.3, 1e4, 1e-7], dtype)
        output, mask = with_arrays(x, ONE, ZERO, np.array([enabled]), -128, 127)
        assert_same_but_nan((output,), (x,))
        assert mask.all()
        assert not np.shares_memory(output, x)

    @pytest.mark.parametrize("enabled", [1, True, 1.5, 255, np.inf])
    def test_switched_on(self, enabled: float) -> None:
        output, mask = with_arrays(f32(0.3, 999), ONE, ZERO, np.array([enabled]), -128, 127)
        assert output.tolist() == [0, 127]
        assert mask.tolist() == [True, False]

    def test_zero_point_outside_the_range(self) -> None:
        """q is 300 and 299: above 255, whose value is -45; plain() takes such arrays, too."""
        zero_point = np.array([300], np.int64)
        output, mask = with_arrays(f32(0, -1, -45), ONE, zero_point, ONE, 0, 255)
        assert output.tolist() == [-45, -45, -45]
        assert mask.tolist() == [False, False, True]
        assert plain(f32(0, -1, -45), ONE, zero_point, 0, 255).tolist() == output.tolist()

    def test_gradient(self, dtype: np.dtype) -> None:
        grad = np.array([1.5, -2, np.inf, np.nan, 3, -np.inf, -0.0], dtype)
        mask = np.array([True, False, False, False, False, True, False])
        expected = np.array([1.5, -0.0, np.nan, np.nan, 0, -np.inf, -0.0], dtype)
        assert_same_but_nan((backward(grad, mask),), (expected,))


@pytest.mark.usefixtures("target")
class TestFormula:
    """Bit for bit with reference()."""

    @pytest.mark.parametrize("n", WIDTHS)
    def test_widths(self, rng: np.random.Generator, dtype: np.dtype, n: int) -> None:
        for zero_point, quant_min, quant_max in RANGES:
            x = on_steps(rng, (3, n), dtype, 0.1 if quant_max < WIDE else 300.0)
            arguments = (x, 0.1, zero_point, quant_min, quant_max)
            expected = reference(*arguments)
            assert_same_but_nan(cachemask(*arguments), expected)
            assert_same_but_nan((plain(*arguments),), expected[:1])
            grad = on_steps(rng, (3, n), dtype)
            gradient = reference_backward(grad, expected.mask)
            assert_same_but_nan((backward(grad, expected.mask),), (gradient,))

    @pytest.mark.parametrize("scale", SCALES)
    def test_scales(self, rng: np.random.Generator, dtype: np.dtype, scale: float) -> None:
        step = abs(scale) if 0 < abs(scale) < 1e30 else 1.0
        x = on_steps(rng, (5, 300), dtype, step)
        for range_ in RANGES:
            assert_same_but_nan(cachemask(x, scale, *range_), reference(x, scale, *range_))

    @pytest.mark.parametrize("name", ["float16", "bfloat16"])
    def test_all_patterns(self, name: str) -> None:
        x = np.arange(65536, dtype=np.uint16).view(getattr(ml_dtypes, name, None) or name)
        for scale in (0.1, 0.0078125, 3.7, -0.3, 1e-5):
            for range_ in RANGES:
                assert_same_but_nan(cachemask(x, scale, *range_), reference(x, scale, *range_))
        for mask in (np.ones(65536, np.bool_), np.zeros(65536, np.bool_)):
            assert_same_but_nan((backward(x, mask),), (reference_backward(x, mask),))

    @pytest.mark.parametrize("dtype_of_scale", DTYPES, ids=lambda d: d.name)
    @pytest.mark.parametrize("zero_point", [0, 3, -(1 << 24), 1 << 24, 70000])
    def test_scale_and_zero_point_in_arrays(
        self, rng: np.random.Generator, dtype: np.dtype, dtype_of_scale: np.dtype, zero_point: int
    ) -> None:
        x = on_steps(rng, (3, 200), dtype)
        scale = np.array([0.1, 0.2]).astype(dtype_of_scale)[::-1][1:]
        for zp in (np.array(zero_point, np.int32), np.array([[zero_point]], np.int64)):
            expected = reference(x, scale.astype(np.float32), zero_point, -WIDE, WIDE)
            assert_same_but_nan(with_arrays(x, scale, zp, ONE, -WIDE, WIDE), expected)
            assert_same_but_nan((plain(x, scale, zp, -WIDE, WIDE),), expected[:1])

    @pytest.mark.parametrize("name", REAL)
    def test_switches(self, rng: np.random.Generator, name: str) -> None:
        x = on_steps(rng, (3, 200), np.dtype(np.float16))
        dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
        for enabled in (np.ones((1, 1), dtype), np.zeros((), dtype), np.ones(3, dtype)[1:2]):
            expected = reference(x, 1.0, 0, -8, 7, fake_quant_enabled=enabled)
            assert_same_but_nan(with_arrays(x, ONE, ZERO, enabled, -8, 7), expected)

    @pytest.mark.parametrize("shape", [(70,), (5, 70), (3, 2, 130), (2, 4500), (2,) * 8])
    def test_layouts(
        self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]
    ) -> None:
        x = on_steps(rng, shape, dtype)
        expected = reference(x, 0.1, 3, -128, 127)
        off = x, np.ones(shape, np.bool_)
        for _, view in layouts(x):
            actual = cachemask(view, 0.1, 3, -128, 127)
            assert_same_but_nan(actual, expected)
            assert actual.output.flags.c_contiguous
            assert_same_but_nan(with_arrays(view, ONE, ZERO, ZERO, -128, 127), off)
            for _, mask in layouts(expected.mask) if x.ndim < 8 else ():
                gradient = reference_backward(x, expected.mask)
                assert_same_but_nan((backward(view, mask),), (gradient,))

    def test_broadcast_input(self) -> None:
        x = np.broadcast_to(np.float16(3), (2, 500))
        assert_same_but_nan(cachemask(x, 0.7, 1, -8, 7), reference(x, 0.7, 1, -8, 7))

    @pytest.mark.parametrize("shape", [(3, 5, 70), (2, 4500), (1,)])
    def test_out_layouts(
        self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]
    ) -> None:
        x = on_steps(rng, shape, dtype)
        expected = reference(x, 0.1, 3, -128, 127)
        for _, output in out_layouts(shape, dtype):
            for _, mask in out_layouts(shape, np.bool_):
                result = cachemask(x, 0.1, 3, -128, 127, out=(output, mask))
                assert result.output is output
                assert result.mask is mask
                assert_same_but_nan((output, mask), expected)
            assert plain(x, 0.1, 3, -128, 127, out=output) is output
            assert_same_but_nan((output,), expected[:1])
            assert backward(x, expected.mask, out=output) is output
            assert_same_but_nan((output,), (reference_backward(x, expected.mask),))

    def test_streams_past_the_cache(self, rng: np.random.Generator, dtype: np.dtype) -> None:
        """Large enough for streaming stores, with outputs at every alignment."""
        part = on_steps(rng, (1000, 1000), dtype)
        times = (48 // part.itemsize, 1)  # 48 MB
        x = np.tile(part, times)
        expected = tuple(np.tile(a, times) for a in reference(part, 0.1, 3, -128, 127))
        memory = np.empty(x.nbytes + 64, np.uint8), np.empty(x.size + 64, np.uint8)
        for offset in (0, 1, 16, 63):
            output = memory[0][offset : offset + x.nbytes].view(dtype).reshape(x.shape)
            mask = memory[1][offset : offset + x.size].view(np.bool_).reshape(x.shape)
            cachemask(x, 0.1, 3, -128, 127, out=(output, mask))
            assert_same_but_nan((output, mask), expected)
        assert_same_but_nan((plain(x, 0.1, 3, -128, 127, out=output),), expected[:1])
        gradient = reference_backward(x, expected[1])
        assert_same_but_nan((backward(x, expected[1], out=output),), (gradient,))

    def test_writes_nothing_outside(self, rng: np.random.Generator, dtype: np.dtype) -> None:
        for n in (1, 70, 4100):
            x = on_steps(rng, (3, n), dtype)
            mask = np.ones(x.shape, np.bool_)

            def write(memory: Array, x: Array = x, mask: Array = mask) -> None:
                output = memory.view(x.dtype)
                cachemask(x, 0.1, 3, -128, 127, out=(output, None))
                plain(x, 0.1, 3, -128, 127, out=output)
                backward(x, mask, out=output)

            def write_mask(memory: Array, x: Array = x) -> None:
                cachemask(x, 0.1, 3, -128, 127, out=(None, memory.view(np.bool_)))

            assert_untouched_outside(write, (3, n * dtype.itemsize))
            assert_untouched_outside(write_mask, (3, n))

    @pytest.mark.usefixtures("threads")
    def test_threads(self, rng: np.random.Generator) -> None:
        x = on_steps(rng, (1500, 4096), np.dtype(ml_dtypes.bfloat16))
        expected = reference(x, 0.1, 3, -128, 127)
        for n in (1, 2, 3, 16):
            npu_quant.set_num_threads(n)
            assert_same_but_nan(cachemask(x, 0.1, 3, -128, 127), expected)
            gradient = reference_backward(x, expected.mask)
            assert_same_but_nan((backward(x, expected.mask),), (gradient,))


class TestOut:
    """What out= accepts and gives back."""

    def test_fields_that_are_not_wanted_are_none(self) -> None:
        x, output, mask = f32(1, 2, 99), f32(0, 0, 0), np.zeros(3, np.bool_)
        assert cachemask(x, 1.0, 0, -8, 7, out=(output, None)).mask is None
        assert cachemask(x, 1.0, 0, -8, 7, out=(None, mask)).output is None
        assert cachemask(x, 1.0, 0, -8, 7, out=(None, None)) == (None, None)
        assert output.tolist() == [1, 2, 7]
        assert mask.tolist() == [True, True, False]
        assert with_arrays(x, ONE, ZERO, ZERO, -8, 7, out=(output, None)).mask is None
        assert with_arrays(x, ONE, ZERO, ZERO, -8, 7, out=(None, mask)).output is None
        assert output.tolist() == [1, 2, 99]
        assert mask.all()

    def test_result_is_a_named_tuple(self) -> None:
        for result in (cachemask(ONE, 1.0, 0, 0, 1), with_arrays(ONE, ONE, ZERO, ONE, 0, 1)):
            assert result._fields == ("output", "mask")
            assert result.output is result[0]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(DTYPES),
    st.integers(1, 600),
    st.floats(2**-6, 2**6, width=32),
)
def test_properties(seed: int, dtype: np.dtype, n: int, scale: float) -> None:
    """Half a step at most inside the range, a fixed point the second time, each element for itself."""
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.standard_normal(n) * 100 * scale).astype(dtype)
    output, mask = cachemask(x, scale, 3, -128, 127)
    v, y = x.astype(np.float64), output.astype(np.float64)
    # Half a step; inv and the product round, 2^-24 of x each (times 1 + 2^-24, so doubled); y is rounded to float32,
    # then to its dtype, half of eps each (float16 below 2^-14: of its smallest subnormal).
    rounding = 2.0**-24 + ml_dtypes.finfo(dtype).eps / 2
    bound = scale / 2 + np.abs(v) * 2.0**-22 + np.abs(y) * rounding + 2.0**-25
    assert (np.abs(y - v) <= bound)[mask].all()
    assert (np.abs(y) <= np.abs(v) + bound)[~mask].all()
    order = rng.permutation(n)
    assert_same_but_nan(cachemask(x[order], scale, 3, -128, 127), (output[order], mask[order]))
    # 15 steps at most: a rounding of 2^-8 (bfloat16) moves none to the next.
    once = plain(x, scale, -1, -8, 7)
    assert_same_but_nan(cachemask(once, scale, -1, -8, 7), (once, np.ones(n, np.bool_)))


@pytest.mark.usefixtures("target")
def test_many_random_elements(dtype: np.dtype) -> None:
    """Over the dtypes, 5 * 10^7 values for each target."""
    rng = np.random.default_rng(7)
    for scale, *range_ in [(0.1, 0, -128, 127), (0.7, 101, 0, 255), (1e-4, 5, -WIDE, WIDE), (3, 1, -8, 7)]:  # fmt: skip
        x = random_patterns(rng, (1 << 10, 1 << 12), dtype)
        assert_same_but_nan(cachemask(x, scale, *range_), reference(x, scale, *range_))
