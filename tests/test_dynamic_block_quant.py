"""npu_dynamic_block_quant against its formula, hand vectors, and every layout, target and thread count."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import (
    assert_same_bits,
    assert_untouched_outside,
    layouts,
    normal,
    out_layouts,
    random_patterns,
    with_specials,
)

import npu_quant
from npu_quant import DTypeError, ParamError, npu_dynamic_block_quant
from npu_quant.ops.dynamic_block_quant import reference

# Around a block (128), a group of blocks on each target (512, 1024, 2048), and ragged ends of each.
WIDTHS = [1, 16, 127, 128, 129, 300, 511, 512, 513, 1024, 1100, 2047, 2048, 2049, 4096, 6300]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 2."""

    def test_row_with_a_tie(self) -> None:
        y, scale = npu_dynamic_block_quant(np.array([[0, 1, -2, 4]], np.float16))
        assert y.tolist() == [[0, 32, -64, 127]]
        assert scale.view(np.uint32).tolist() == [[0x3D010204]]

    def test_zeros(self, dtype: np.dtype) -> None:
        y, scale = npu_dynamic_block_quant(np.zeros((3, 4), dtype))
        assert not y.any()
        assert scale.tolist() == [[0], [0], [0]]

    def test_blocks_do_not_mix(self, dtype: np.dtype) -> None:
        """Each block of a long row has the scale of its own largest element."""
        n = 2048 + 3 * 128 + 5
        x = np.ones((2, n), dtype)
        amax = np.arange(1, 40)[: -(-n // 128)] * 2.0
        for b, value in enumerate(amax):
            x[1, b * 128 + (b * 7) % min(128, n - b * 128)] = -value
        y, scale = npu_dynamic_block_quant(x)
        assert scale[1].tolist() == (amax.astype(np.float32) / np.float32(127)).tolist()
        assert (y[0] == 127).all()
        assert [int(y[1, b * 128 : b * 128 + 128].min()) for b in range(len(amax))] == [-127] * len(
            amax
        )

    def test_special_blocks(self, dtype: np.dtype) -> None:
        x = np.ones((1, 128 * 20), dtype)
        x[0, 128 * 3 + 5] = np.nan
        x[0, 128 * 3 + 6] = np.inf
        x[0, 128 * 4 + 127] = -np.inf
        x[0, 128 * 5 : 128 * 6] = 0
        y, scale = npu_dynamic_block_quant(x)
        assert scale.view(np.uint32)[0, 3] == 0x7FC00000
        assert scale[0, 4] == np.inf
        assert scale[0, 5] == 0
        assert not y[0, 128 * 3 : 128 * 6].any()
        assert (y[0, : 128 * 3] == 127).all()
        assert (y[0, 128 * 6 :] == 127).all()

    def test_scale_that_underflows(self) -> None:
        tiny = np.finfo(np.float32).smallest_subnormal
        y, scale = npu_dynamic_block_quant(np.array([[tiny * 3, -tiny, 0]], np.float32))
        assert scale.tolist() == [[0.0]]
        assert y.tolist() == [[127, -128, 0]]

    def test_min_scale_bounds_the_scale(self) -> None:
        x = np.array([[100, -100, 0.25, 0, np.inf, -np.inf]], np.float32)
        y, scale = npu_dynamic_block_quant(x, min_scale=2.0)
        assert scale.tolist() == [[0.5]]
        assert y.tolist() == [[127, -128, 0, 0, 127, -128]]  # 0.25 / 0.5 is a tie: to even

    def test_min_scale_leaves_smaller_scales_and_nan(self) -> None:
        x = np.array([[1.0, 0.5], [np.nan, 1.0]], np.float32)
        y, scale = npu_dynamic_block_quant(x, min_scale=2.0)
        assert scale[0, 0] == np.float32(1) / np.float32(127)
        assert scale.view(np.uint32)[1, 0] == 0x7FC00000
        assert y.tolist() == [[127, 64], [0, 0]]

    def test_min_scale_is_rounded_to_float32_first(self) -> None:
        """1e-50 is 0 in float32: no bound."""
        x = np.array([[np.inf, 1.0]], np.float32)
        assert npu_dynamic_block_quant(x, min_scale=1e-50).scale.tolist() == [[np.inf]]

    @pytest.mark.parametrize(
        ("shape", "scale_shape"),
        [((3, 0), (3, 0)), ((0, 300), (0, 3)), ((2, 0, 5), (2, 0, 1)), ((0, 2, 0), (0, 2, 0))],
    )
    def test_empty(
        self, dtype: np.dtype, shape: tuple[int, ...], scale_shape: tuple[int, ...]
    ) -> None:
        y, scale = npu_dynamic_block_quant(np.zeros(shape, dtype))
        assert (y.shape, scale.shape) == (shape, scale_shape)

    def test_the_documents_example_has_this_form(self, rng: np.random.Generator) -> None:
        """seeds: rand(3, 4) has 127 in each row, and scale = amax / 127."""
        x = rng.random((3, 4)).astype(np.float16)
        y, scale = npu_dynamic_block_quant(x, min_scale=0, dst_type=1)
        assert y.max(axis=1).tolist() == [127] * 3
        assert (scale[:, 0] == x.max(axis=1).astype(np.float32) / np.float32(127)).all()


@pytest.mark.usefixtures("target")
class TestFormula:
    """Bit for bit with reference()."""

    @pytest.mark.parametrize("n", WIDTHS)
    @pytest.mark.parametrize("min_scale", [0.0, 3.7])
    def test_widths(
        self, rng: np.random.Generator, dtype: np.dtype, n: int, min_scale: float
    ) -> None:
        x = normal(rng, (5, n), dtype)
        for values in (x, with_specials(rng, x)):
            actual = npu_dynamic_block_quant(values, min_scale=min_scale)
            assert_same_bits(actual, reference(values, min_scale=min_scale))

    @pytest.mark.parametrize("shape", [(5, 70), (3, 2, 130), (2, 4500), (2, 3, 2176)])
    def test_layouts(
        self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]
    ) -> None:
        x = with_specials(rng, normal(rng, shape, dtype))
        expected = reference(x)
        for _, view in layouts(x):
            assert_same_bits(npu_dynamic_block_quant(view), expected)

    def test_broadcast_input(self) -> None:
        x = np.broadcast_to(np.float16(3), (2, 5000))
        assert_same_bits(npu_dynamic_block_quant(x), reference(x))

    @pytest.mark.parametrize("n", [256, 300, 4096])
    def test_out_layouts(self, rng: np.random.Generator, dtype: np.dtype, n: int) -> None:
        x = with_specials(rng, normal(rng, (3, n), dtype))
        expected = reference(x)
        for _, y in out_layouts(x.shape, np.int8):
            for _, scale in out_layouts(expected.scale.shape, np.float32):
                assert_same_bits(npu_dynamic_block_quant(x, out=(y, scale)), expected)
                assert_same_bits((y, scale), expected)

    @pytest.mark.parametrize("n", [4096, 4000])
    def test_streams_past_the_cache(self, rng: np.random.Generator, n: int) -> None:
        """Large enough for streaming stores, with outputs at every alignment."""
        x = normal(rng, (9000, n), np.dtype(np.float16))
        expected = reference(x)
        for offset in (0, 1, 16, 63):
            memory = np.empty(x.size + 64, np.int8)
            y = memory[offset : offset + x.size].reshape(x.shape)
            npu_dynamic_block_quant(x, out=(y, None))
            assert_same_bits((y,), expected[:1])

    def test_writes_nothing_outside(self, rng: np.random.Generator) -> None:
        for shape in [(3, 70), (1, 1), (2, 4100), (3, 2048)]:
            x = normal(rng, shape, np.dtype(np.float16))
            assert_untouched_outside(
                lambda y, x=x: npu_dynamic_block_quant(x, out=(y, None)), shape
            )

    @pytest.mark.usefixtures("threads")
    @pytest.mark.parametrize(
        "shape", [(1500, 4096), (1, 6_000_000), (2, 3_000_001), (3, 500, 4000)]
    )
    def test_threads(self, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
        x = normal(rng, shape, np.dtype(ml_dtypes.bfloat16))
        expected = reference(x)
        for n in (1, 2, 3, 16):
            npu_quant.set_num_threads(n)
            assert_same_bits(npu_dynamic_block_quant(x), expected)


def test_out_fields_that_are_not_wanted_are_none() -> None:
    x = np.array([[1, 2]], np.float16)
    y, scale = np.zeros((1, 2), np.int8), np.zeros((1, 1), np.float32)
    assert npu_dynamic_block_quant(x, out=(y, None)).scale is None
    assert npu_dynamic_block_quant(x, out=(None, scale)).y is None
    assert npu_dynamic_block_quant(x, out=(None, None)) == (None, None)
    assert y.tolist() == [[64, 127]]
    assert scale.tolist() == [[np.float32(2) / np.float32(127)]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(DTYPES), st.integers(1, 5), st.integers(1, 700))
def test_properties(seed: int, dtype: np.dtype, rows: int, n: int) -> None:
    """The error is at most half a step, blocks are independent, and a sign flips codes."""
    rng = np.random.default_rng(seed)
    x = normal(rng, (rows, n), dtype)
    y, scale = npu_dynamic_block_quant(x)
    steps = np.repeat(scale.astype(np.float64), 128, axis=1)[:, :n]
    # Half a step, and the relative error of scale and quotient in fp32, 3 * 2^-24 of at most 127 steps.
    assert (np.abs(y * steps - x.astype(np.float64)) <= steps * (0.5 + 127 * 3 * 2.0**-24)).all()
    first = npu_dynamic_block_quant(x[:, :128])
    assert_same_bits(first, (y[:, :128], scale[:, :1]))
    assert_same_bits(npu_dynamic_block_quant(-x), (-y, scale))


@pytest.mark.usefixtures("target")
def test_a_hundred_million_random_elements(dtype: np.dtype) -> None:
    """Over the dtypes, 1.2 * 10^8 values for each target."""
    rng = np.random.default_rng(7)
    for _ in range(10):
        x = random_patterns(rng, (1 << 15, 1 << 7), dtype).reshape(1 << 10, 1 << 12)
        assert_same_bits(npu_dynamic_block_quant(x), reference(x))


X = np.ones((2, 4), np.float16)
Y = np.zeros((2, 4), np.int8)
S = np.zeros(2, np.float32)
UNWRITTEN = (Y, S)

# Name, call, exception, code, message (from its beginning; the operator's name comes first).
ERRORS = [
    ("x None", lambda: npu_dynamic_block_quant(None), DTypeError, 161001, "x is None, expected a numpy.ndarray."),
    ("tuple", lambda: npu_dynamic_block_quant(((1.0,),)), DTypeError, 161002, "x is a tuple, expected a numpy.ndarray."),
    ("float64", lambda: npu_dynamic_block_quant(np.ones((2, 4))), DTypeError, 161002, "x has dtype float64, expected"),
    ("rank 1", lambda: npu_dynamic_block_quant(X[0]), ParamError, 561002, "x has 1 dimension, expected 2 or 3. Give it an axis, e.g. x.reshape(1, -1)."),
    ("rank 4", lambda: npu_dynamic_block_quant(X[None, None]), ParamError, 561002, "x has 4 dimensions, expected 2 or 3. Merge leading axes with x.reshape(-1, m, n)."),
    ("min_scale negative", lambda: npu_dynamic_block_quant(X, min_scale=-1), ParamError, 561002, "min_scale is -1, expected a number >= 0 that is finite in float32 (0 means no bound)."),
    ("min_scale tiny negative", lambda: npu_dynamic_block_quant(X, min_scale=-1e-60), ParamError, 561002, "min_scale is -1e-60, expected"),
    ("min_scale nan", lambda: npu_dynamic_block_quant(X, min_scale=np.nan), ParamError, 561002, "min_scale is nan, expected"),
    ("min_scale inf", lambda: npu_dynamic_block_quant(X, min_scale=np.inf), ParamError, 561002, "min_scale is inf, expected"),
    ("min_scale inf in float32", lambda: npu_dynamic_block_quant(X, min_scale=1e39), ParamError, 561002, "min_scale is 1e+39, expected"),
    ("min_scale kind", lambda: npu_dynamic_block_quant(X, min_scale="a"), TypeError, None, "min_scale is a str, expected a number."),
    ("round_mode", lambda: npu_dynamic_block_quant(X, round_mode="round"), ParamError, 561002, "round_mode is 'round', available: 'rint'."),
    ("round_mode kind", lambda: npu_dynamic_block_quant(X, round_mode=0), TypeError, None, "round_mode is an int, expected a str."),
    ("dst_type", lambda: npu_dynamic_block_quant(X, dst_type=2), ParamError, 561002, "dst_type is int16, available: int8"),
    ("row_block_size", lambda: npu_dynamic_block_quant(X, row_block_size=128), ParamError, 561002, "row_block_size is 128, available: 1."),
    ("row_block_size kind", lambda: npu_dynamic_block_quant(X, row_block_size=1.0), TypeError, None, "row_block_size is a float, expected an int."),
    ("col_block_size", lambda: npu_dynamic_block_quant(X, col_block_size=64), ParamError, 561002, "col_block_size is 64, available: 128."),
    ("col_block_size huge", lambda: npu_dynamic_block_quant(X, col_block_size=10**30), ParamError, 561002, "col_block_size is "),
    ("dst_type_max", lambda: npu_dynamic_block_quant(X, dst_type_max=1), ParamError, 561002, "dst_type_max is 1, available"),
    ("numerics", lambda: npu_dynamic_block_quant(X, numerics=""), ParamError, 161002, "numerics is '', available: reference."),
    ("out shape", lambda: npu_dynamic_block_quant(X, out=(Y, S)), ParamError, 561002, "out[scale] has shape (2,), expected (2, 1)."),
]  # fmt: skip
