"""npu_dynamic_quant against its formula, hand vectors, and every layout, target and thread count."""

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
from npu_quant import DTypeError, ParamError, npu_dynamic_quant
from npu_quant.ops.dynamic_quant import reference

SHAPES = [
    (1, 1),
    (1, 16),
    (3, 4),
    (7, 63),
    (5, 64),
    (5, 65),
    (9, 127),
    (4, 300),
    (3, 5000),
    (33, 2049),
]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 2."""

    def test_row_with_a_tie(self) -> None:
        y, scale = npu_dynamic_quant(np.array([[0, 1, -2, 4]], np.float16))
        assert y.tolist() == [[0, 32, -64, 127]]  # -63.5 is a tie: to even
        assert scale.view(np.uint32).tolist() == [0x3D010204]

    def test_row_without_a_tie(self) -> None:
        y, _ = npu_dynamic_quant(np.array([[3, -1.5, 0.75, -3]], np.float16))
        assert y.tolist() == [[127, -64, 32, -127]]

    def test_zeros(self, dtype: np.dtype) -> None:
        y, scale = npu_dynamic_quant(np.zeros((3, 4), dtype))
        assert not y.any()
        assert scale.view(np.uint32).tolist() == [0, 0, 0]

    def test_negative_zeros(self, dtype: np.dtype) -> None:
        y, scale = npu_dynamic_quant(np.full((1, 5), -0.0, dtype))
        assert not y.any()
        assert scale.view(np.uint32).tolist() == [0]

    @pytest.mark.parametrize("nan", [np.nan, -np.nan])
    def test_nan_row(self, dtype: np.dtype, nan: float) -> None:
        x = np.ones((2, 100), dtype)
        x[0, 77] = nan
        x[0, 3] = np.inf
        y, scale = npu_dynamic_quant(x)
        assert scale.view(np.uint32)[0] == 0x7FC00000
        assert not y[0].any()
        assert (y[1] == 127).all()

    def test_signalling_nan_with_payload(self) -> None:
        x = np.array([[0x7C01, 0x3C00]], np.uint16).view(np.float16)
        y, scale = npu_dynamic_quant(x)
        assert scale.view(np.uint32).tolist() == [0x7FC00000]
        assert y.tolist() == [[0, 0]]

    @pytest.mark.parametrize("inf", [np.inf, -np.inf])
    def test_inf_row(self, dtype: np.dtype, inf: float) -> None:
        x = np.ones((1, 100), dtype)
        x[0, 50] = inf
        y, scale = npu_dynamic_quant(x)
        assert scale.tolist() == [np.inf]
        assert not y.any()

    def test_scale_that_underflows(self) -> None:
        tiny = np.finfo(np.float32).smallest_subnormal
        y, scale = npu_dynamic_quant(np.array([[tiny * 3, -tiny, 0, tiny * 60]], np.float32))
        assert scale.tolist() == [0.0]
        assert y.tolist() == [[127, -128, 0, 127]]

    def test_zero_times_inf_with_smooth_scales(self, dtype: np.dtype) -> None:
        x, smooth = np.array([[0, 1]], dtype), np.array([np.inf, 1], dtype)
        y, scale = npu_dynamic_quant(x, smooth_scales=smooth)
        assert scale.view(np.uint32).tolist() == [0x7FC00000]
        assert y.tolist() == [[0, 0]]

    def test_smooth_scales_multiply_before_the_maximum(self) -> None:
        x, smooth = np.array([[1, 2, 4]], np.float16), np.array([8, 2, -0.5], np.float16)
        y, scale = npu_dynamic_quant(x, smooth_scales=smooth)
        assert scale.tolist() == [np.float32(8) / np.float32(127)]
        assert y.tolist() == [[127, 64, -32]]  # 8, 4 (63.5: a tie), -2

    def test_empty(self, dtype: np.dtype) -> None:
        y, scale = npu_dynamic_quant(np.zeros((2, 3, 0), dtype))
        assert (y.shape, scale.tolist()) == ((2, 3, 0), [[0, 0, 0], [0, 0, 0]])
        y, scale = npu_dynamic_quant(np.zeros((0, 5), dtype))
        assert (y.shape, scale.shape) == ((0, 5), (0,))


@pytest.mark.usefixtures("target")
class TestFormula:
    """Bit for bit with reference()."""

    @pytest.mark.parametrize("shape", SHAPES)
    def test_shapes(
        self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]
    ) -> None:
        x = normal(rng, shape, dtype)
        assert_same_bits(npu_dynamic_quant(x), reference(x))
        x = with_specials(rng, x)
        assert_same_bits(npu_dynamic_quant(x), reference(x))

    @pytest.mark.parametrize("shape", SHAPES)
    def test_smooth_scales(
        self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]
    ) -> None:
        x, smooth = with_specials(rng, normal(rng, shape, dtype)), normal(rng, shape[-1:], dtype)
        assert_same_bits(
            npu_dynamic_quant(x, smooth_scales=smooth), reference(x, smooth_scales=smooth)
        )
        strided = np.repeat(smooth, 2)[::2]
        assert_same_bits(
            npu_dynamic_quant(x, smooth_scales=strided), reference(x, smooth_scales=smooth)
        )

    @pytest.mark.parametrize("rank", range(2, 9))
    def test_ranks(self, rng: np.random.Generator, rank: int) -> None:
        x = normal(rng, (2,) * (rank - 1) + (70,), np.dtype(np.float16))
        assert_same_bits(npu_dynamic_quant(x), reference(x))
        assert_same_bits(npu_dynamic_quant(x.T), reference(x.T))

    @pytest.mark.parametrize("shape", [(5, 70), (3, 2, 130), (2, 4500)])
    def test_layouts(
        self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]
    ) -> None:
        x = with_specials(rng, normal(rng, shape, dtype))
        expected = reference(x)
        for name, view in layouts(x):
            actual = npu_dynamic_quant(view)
            assert_same_bits(actual, expected), name
            assert actual.y.flags.c_contiguous

    def test_broadcast_input(self) -> None:
        x = np.broadcast_to(np.array([1, -2, 3], np.float16), (4, 3))
        assert_same_bits(npu_dynamic_quant(x), reference(x))
        x = np.broadcast_to(np.float16(3), (2, 200))
        assert_same_bits(npu_dynamic_quant(x), reference(x))

    def test_out_layouts(self, rng: np.random.Generator, dtype: np.dtype) -> None:
        x = with_specials(rng, normal(rng, (3, 5, 70), dtype))
        expected = reference(x)
        for _, y in out_layouts(x.shape, np.int8):
            for _, scale in out_layouts(x.shape[:-1], np.float32):
                result = npu_dynamic_quant(x, out=(y, scale))
                assert result.y is y
                assert result.scale is scale
                assert_same_bits((y, scale), expected)

    def test_streams_past_the_cache(self, rng: np.random.Generator) -> None:
        """Large enough for streaming stores, with outputs at every alignment."""
        x = normal(rng, (9000, 4000), np.dtype(np.float16))
        expected = reference(x)
        for offset in (0, 1, 16, 63):
            memory = np.empty(x.size + 64, np.int8)
            y = memory[offset : offset + x.size].reshape(x.shape)
            npu_dynamic_quant(x, out=(y, None))
            assert_same_bits((y,), expected[:1])

    def test_writes_nothing_outside(self, rng: np.random.Generator) -> None:
        for shape in [(3, 70), (1, 1), (2, 4100)]:
            x = normal(rng, shape, np.dtype(np.float16))
            assert_untouched_outside(lambda y, x=x: npu_dynamic_quant(x, out=(y, None)), shape)

    @pytest.mark.usefixtures("threads")
    def test_threads(self, rng: np.random.Generator) -> None:
        x = normal(rng, (1500, 4096), np.dtype(ml_dtypes.bfloat16))
        results = []
        for n in (1, 2, 3, 16):
            npu_quant.set_num_threads(n)
            results.append(npu_dynamic_quant(x))
        for result in results:
            assert_same_bits(result, reference(x))


class TestOut:
    """What out= accepts and gives back."""

    def test_fields_that_are_not_wanted_are_none(self) -> None:
        x = np.array([[1, 2]], np.float16)
        y, scale = np.zeros((1, 2), np.int8), np.zeros(1, np.float32)
        assert npu_dynamic_quant(x, out=(y, None)).scale is None
        assert npu_dynamic_quant(x, out=(None, scale)).y is None
        assert npu_dynamic_quant(x, out=(None, None)) == (None, None)
        assert y.tolist() == [[64, 127]]
        assert scale.tolist() == [np.float32(2) / np.float32(127)]

    def test_result_is_a_named_tuple(self) -> None:
        result = npu_dynamic_quant(np.ones((1, 2), np.float16))
        assert result._fields == ("y", "scale")
        assert result.y is result[0]

    def test_large_outputs_are_fresh(self) -> None:
        """A large result must not share memory with one that is still in use."""
        x = np.ones((2048, 1024), np.float16)
        results = [npu_dynamic_quant(x).y for _ in range(3)]
        results[0][...] = 5
        assert (results[1] == 127).all()
        assert not any(np.shares_memory(results[0], other) for other in results[1:])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(DTYPES), st.integers(1, 6), st.integers(1, 300))
def test_properties(seed: int, dtype: np.dtype, rows: int, n: int) -> None:
    """The error is at most half a step, rows are independent, and a sign flips codes."""
    rng = np.random.default_rng(seed)
    x = normal(rng, (rows, n), dtype)
    y, scale = npu_dynamic_quant(x)
    v = x.astype(np.float64)
    # Half a step, and the relative error of scale and quotient in fp32, 3 * 2^-24 of at most 127 steps.
    bound = scale.astype(np.float64)[:, None] * (0.5 + 127 * 3 * 2.0**-24)
    assert (np.abs(y * scale.astype(np.float64)[:, None] - v) <= bound).all()
    order = rng.permutation(rows)
    assert_same_bits(npu_dynamic_quant(x[order]), (y[order], scale[order]))
    flipped = npu_dynamic_quant(-x)
    assert_same_bits(flipped, (-y, scale))


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("smooth", [False, True], ids=["plain", "smooth"])
def test_a_hundred_million_random_elements(dtype: np.dtype, smooth: bool) -> None:
    """Over the dtypes, with and without smooth_scales, 1.2 * 10^8 values for each target."""
    rng = np.random.default_rng(7)
    for _ in range(5):
        x = random_patterns(rng, (1 << 10, 1 << 12), dtype)
        factors = normal(rng, x.shape[-1:], dtype) if smooth else None
        assert_same_bits(
            npu_dynamic_quant(x, smooth_scales=factors), reference(x, smooth_scales=factors)
        )


X = np.ones((2, 4), np.float16)
Y = np.zeros((2, 4), np.int8)
S = np.zeros(2, np.float32)
UNWRITTEN = (Y, S)


def frozen(a: np.ndarray) -> np.ndarray:
    """Return a read-only copy."""
    a = a.copy()
    a.flags.writeable = False
    return a


def overlapping() -> tuple[np.ndarray, np.ndarray]:
    """Return a y and a scale that share memory."""
    memory = np.zeros(64, np.uint8)
    return memory[:8].view(np.int8).reshape(2, 4), memory[4:12].view(np.float32)


def in_place() -> tuple[np.ndarray, np.ndarray]:
    """Return an input and a y that share memory."""
    memory = np.ones(16, np.uint8)
    return memory.view(np.float16).reshape(2, 4), memory[3:11].view(np.int8).reshape(2, 4)


# Name, call, exception, code, message (from its beginning; the operator's name comes first).
ERRORS = [
    ("input None", lambda: npu_dynamic_quant(None), DTypeError, 161001, "input is None, expected a numpy.ndarray."),
    ("list", lambda: npu_dynamic_quant([[1.0]]), DTypeError, 161002, "input is a list, expected a numpy.ndarray. Convert it, e.g. with np.asarray(input, dtype=np.float16)."),
    ("scalar", lambda: npu_dynamic_quant(np.float16(1)), DTypeError, 161002, "input is a numpy.float16, expected a numpy.ndarray."),
    ("masked", lambda: npu_dynamic_quant(np.ma.ones((2, 4), dtype=np.float16)), DTypeError, 161002, "input is a numpy.ma.MaskedArray, expected a numpy.ndarray. Its mask would be lost: pass input.filled(0) or input.data."),
    ("float64", lambda: npu_dynamic_quant(np.ones((2, 4))), DTypeError, 161002, "input has dtype float64, expected float16, bfloat16 or float32. Convert it, e.g. with input.astype(np.float32)."),
    ("bfloat16 bits", lambda: npu_dynamic_quant(X.view(np.uint16)), DTypeError, 161002, "input has dtype uint16, expected float16, bfloat16 or float32. Convert it, e.g. with input.astype(np.float32); if it holds the bits of bfloat16, input.view(ml_dtypes.bfloat16)."),
    ("int", lambda: npu_dynamic_quant(Y), DTypeError, 161002, "input has dtype int8, expected"),
    ("bool", lambda: npu_dynamic_quant(np.ones((2, 4), bool)), DTypeError, 161002, "input has dtype bool, expected"),
    ("complex", lambda: npu_dynamic_quant(np.ones((2, 4), complex)), DTypeError, 161002, "input has dtype complex128, expected float16, bfloat16 or float32. Convert it, e.g. with input.astype(np.float32)."),
    ("object", lambda: npu_dynamic_quant(np.array([[None]], object)), DTypeError, 161002, "input has dtype object, expected"),
    ("string", lambda: npu_dynamic_quant(np.array([["a"]])), DTypeError, 161002, "input has dtype <U1, expected"),
    ("void", lambda: npu_dynamic_quant(np.zeros((2, 4), "V2")), DTypeError, 161002, "input has dtype |V2, expected float16, bfloat16 or float32. If it holds the bits of bfloat16: input.view(ml_dtypes.bfloat16)."),
    ("fp8", lambda: npu_dynamic_quant(np.ones((2, 4), ml_dtypes.float8_e5m2)), DTypeError, 161002, "input has dtype float8_e5m2, expected"),
    ("structured", lambda: npu_dynamic_quant(np.zeros((2, 4), [(f"field{i}", "f4") for i in range(99)])), DTypeError, 161002, "input has dtype [('field0', '<f4')"),
    ("byte-swapped", lambda: npu_dynamic_quant(X.astype(">f2")), DTypeError, 161002, "input has dtype >f2, expected float16, bfloat16 or float32. Its bytes are swapped: input.astype(input.dtype.newbyteorder('='))."),
    ("smooth list", lambda: npu_dynamic_quant(X, smooth_scales=[1] * 4), DTypeError, 161002, "smooth_scales is a list, expected a numpy.ndarray."),
    ("smooth dtype", lambda: npu_dynamic_quant(X, smooth_scales=np.ones(4, np.float32)), DTypeError, 161002, "smooth_scales has dtype float32, expected that of input, float16. Convert it with smooth_scales.astype(input.dtype)."),
    ("rank 1", lambda: npu_dynamic_quant(X[0]), ParamError, 161002, "input has 1 dimension, expected 2 to 8. A token is a row: give it an axis, e.g. input.reshape(1, -1)."),
    ("rank 0", lambda: npu_dynamic_quant(np.array(1, np.float16)), ParamError, 161002, "input has 0 dimensions, expected 2 to 8."),
    ("rank 9", lambda: npu_dynamic_quant(np.ones((1,) * 9, np.float16)), ParamError, 161002, "input has 9 dimensions, expected 2 to 8. Merge leading axes with input.reshape(-1, n)."),
    ("rank 30", lambda: npu_dynamic_quant(np.ones((1,) * 30, np.float16)), ParamError, 161002, "input has 30 dimensions, expected 2 to 8."),
    ("smooth rank", lambda: npu_dynamic_quant(X, smooth_scales=X), ParamError, 161002, "smooth_scales has 2 dimensions, expected 1. It holds one factor per element of a token."),
    ("smooth length", lambda: npu_dynamic_quant(X, smooth_scales=X[0, :3].copy()), ParamError, 161002, "smooth_scales has shape (3,), expected (4,): the last axis of input."),
    ("group_index", lambda: npu_dynamic_quant(X, group_index=np.zeros(1, np.int32)), ParamError, 161002, "group_index is given, available: None (one smooth_scales for all tokens)."),
    ("dst_type int16", lambda: npu_dynamic_quant(X, dst_type=np.int16), ParamError, 161002, "dst_type is int16, available: int8. Name it 1 (torch_npu's code), torch.int8, np.int8 or 'int8'."),
    ("dst_type 2", lambda: npu_dynamic_quant(X, dst_type=2), ParamError, 161002, "dst_type is int16, available"),
    ("dst_type unknown", lambda: npu_dynamic_quant(X, dst_type="int9"), ParamError, 161002, "dst_type is 'int9', available"),
    ("dst_type unknown code", lambda: npu_dynamic_quant(X, dst_type=-7), ParamError, 161002, "dst_type is -7, available"),
    ("dst_type kind", lambda: npu_dynamic_quant(X, dst_type=1.5), TypeError, None, "dst_type is a float, expected an int code, a dtype or a dtype's name."),
    ("dst_type list", lambda: npu_dynamic_quant(X, dst_type=[1]), TypeError, None, "dst_type is a list, expected"),
    ("dst_type object", lambda: npu_dynamic_quant(X, dst_type=object()), TypeError, None, "dst_type is an object, expected"),
    ("quant_mode", lambda: npu_dynamic_quant(X, quant_mode="pertensor"), ParamError, 161002, "quant_mode is 'pertensor', available: 'pertoken'."),
    ("quant_mode long", lambda: npu_dynamic_quant(X, quant_mode="m" * 999), ParamError, 161002, "quant_mode is 'mmmm"),
    ("quant_mode kind", lambda: npu_dynamic_quant(X, quant_mode=None), TypeError, None, "quant_mode is a NoneType, expected a str."),
    ("dst_type_max", lambda: npu_dynamic_quant(X, dst_type_max=15.0), ParamError, 161002, "dst_type_max is 15, available: 0.0 (it belongs to hifloat8)."),
    ("dst_type_max nan", lambda: npu_dynamic_quant(X, dst_type_max=np.nan), ParamError, 161002, "dst_type_max is nan, available"),
    ("dst_type_max kind", lambda: npu_dynamic_quant(X, dst_type_max="a"), TypeError, None, "dst_type_max is a str, expected a number."),
    ("numerics", lambda: npu_dynamic_quant(X, numerics="ascend310"), ParamError, 161002, "numerics is 'ascend310', available: reference."),
    ("numerics kind", lambda: npu_dynamic_quant(X, numerics=3), TypeError, None, "numerics is an int, expected a str."),
    ("out kind", lambda: npu_dynamic_quant(X, out=Y), DTypeError, 161002, "out is a numpy.ndarray, expected a tuple (y, scale) of arrays, None where one is not wanted."),
    ("out list", lambda: npu_dynamic_quant(X, out=[Y, S]), DTypeError, 161002, "out is a list, expected a tuple (y, scale)"),
    ("out length", lambda: npu_dynamic_quant(X, out=(Y,)), ParamError, 161002, "out has 1 entries, expected 2: (y, scale), None where one is not wanted."),
    ("out entry", lambda: npu_dynamic_quant(X, out=(Y, [0.0])), DTypeError, 161002, "out[scale] is a list, expected a numpy.ndarray. Pass an array to be written."),
    ("out dtype", lambda: npu_dynamic_quant(X, out=(Y.view(np.uint8), S)), DTypeError, 161002, "out[y] has dtype uint8, expected int8."),
    ("out scale dtype", lambda: npu_dynamic_quant(X, out=(Y, S.astype(np.float64))), DTypeError, 161002, "out[scale] has dtype float64, expected float32."),
    ("out shape", lambda: npu_dynamic_quant(X, out=(Y, S[:, None])), ParamError, 161002, "out[scale] has shape (2, 1), expected (2,)."),
    ("out rank 9", lambda: npu_dynamic_quant(X, out=(Y.reshape((1,) * 7 + (2, 4)), S)), ParamError, 161002, "out[y] has 9 dimensions, expected shape (2, 4)."),
    ("out read-only", lambda: npu_dynamic_quant(X, out=(frozen(Y), S)), ParamError, 161002, "out[y] is read-only. Pass a writable array."),
    ("out on itself", lambda: npu_dynamic_quant(X, out=(np.lib.stride_tricks.as_strided(Y, (2, 4), (0, 1)), S)), ParamError, 161002, "out[y] overlaps itself: some of its elements share memory. Pass a copy."),
    ("out on input", lambda: (lambda x, y: npu_dynamic_quant(x, out=(y, None)))(*in_place()), ParamError, 161002, "out[y] shares memory with input. Pass a fresh array."),
    ("out on out", lambda: npu_dynamic_quant(X, out=overlapping()), ParamError, 161002, "out[scale] shares memory with out[y]."),
]  # fmt: skip
