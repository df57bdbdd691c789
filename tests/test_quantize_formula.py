"""npu_quantize against its formula, on every layout, target and thread count."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import (
    Array,
    assert_same_bits,
    assert_untouched_around,
    layouts,
    normal,
    out_layouts,
    with_specials,
)

import npu_quant
from npu_quant import npu_quantize
from npu_quant.ops.quantize import reference

CODES = [np.dtype(d) for d in (np.int8, np.uint8, np.int32)]
ZEROS = [None, np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.int32), *DTYPES]
# Around a vector of 8 or 16 elements, and of 64 bytes, on each target; ragged ends of each.
WIDTHS = [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 1000, 1025, 4096, 7168]
FORMS = ["channel", "one", "0-D", "ones"]
Arguments = dict[str, Any]


def shape_of(form: str, shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Return the shape of a scale or zero point."""
    ranked = tuple(n if a == axis % len(shape) else 1 for a, n in enumerate(shape))
    channel = (shape[axis],)
    return {"channel": channel, "ranked": ranked, "one": (1,), "0-D": (), "ones": (1, 1)}[form]


def arguments(
    rng: np.random.Generator,
    dtype: np.dtype,
    shape: tuple[int, ...],
    *,
    to: np.dtype = CODES[0],
    axis: int = -1,
    forms: tuple[str, str] = ("channel", "channel"),
    scales: Any = np.float32,
    zeros: Any = np.int32,
    div_mode: bool = True,
) -> Arguments:
    """Return arguments whose codes are spread over the range of to, and beyond."""
    first, second = (shape_of(form, shape, axis) for form in forms)
    magnitude = rng.uniform(-5, 2, first) - (0 if to.itemsize == 1 else 8)
    values = np.exp(magnitude) * rng.choice([1, -1], first, p=[0.8, 0.2])
    with np.errstate(over="ignore"):
        factors = np.asarray(values if div_mode else 1 / values).astype(scales)
    zero_points = None
    if zeros is not None:
        exact = np.issubdtype(zeros, np.integer)
        low, high = (0, 100) if np.dtype(zeros).itemsize == 1 else (-300, 300)
        zero_points = np.asarray(
            rng.integers(low, high, second) if exact else rng.uniform(low, high, second)
        ).astype(zeros)
    return {
        "self": normal(rng, shape, dtype),
        "scales": factors,
        "zero_points": zero_points,
        "dtype": to,
        "axis": axis,
        "div_mode": div_mode,
    }


def sprinkled(rng: np.random.Generator, a: Arguments) -> Arguments:
    """Return the arguments with special values in every array that holds floats."""
    a = a | {"self": with_specials(rng, a["self"])}
    values = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45]
    for name in ("scales", "zero_points"):
        if (
            a[name] is not None
            and not np.issubdtype(a[name].dtype, np.integer)
            and a[name].size > 1
        ):
            a[name] = a[name].copy()
            where = rng.integers(a[name].size, size=max(1, a[name].size // 16))
            a[name].reshape(-1)[where] = rng.choice(values, where.size)
    return a


def check(a: Arguments) -> None:
    """Fail unless the operator gives reference()'s bytes."""
    assert_same_bits((npu_quantize(**a),), (reference(**a),))


@pytest.mark.usefixtures("target")
class TestFormula:
    """Bit for bit with reference()."""

    @pytest.mark.parametrize("to", CODES, ids=str)
    def test_all_combinations(
        self, rng: np.random.Generator, dtype: np.dtype, to: np.dtype
    ) -> None:
        forms = itertools.product(FORMS, FORMS)
        for form, scales, zeros, axis in itertools.product(forms, DTYPES, ZEROS, (0, 1, -1)):
            options = {"to": to, "forms": form, "scales": scales, "zeros": zeros}
            check(arguments(rng, dtype, (5, 3, 19), axis=axis, **options))

    @pytest.mark.parametrize("to", CODES, ids=str)
    def test_all_combinations_of_products(
        self, rng: np.random.Generator, dtype: np.dtype, to: np.dtype
    ) -> None:
        forms = itertools.product([*FORMS, "ranked"], repeat=2)
        for form, scales, zeros, axis in itertools.product(forms, DTYPES, ZEROS, (-1, -2)):
            options = {"to": to, "forms": form, "scales": scales, "zeros": zeros}
            a = arguments(rng, dtype, (5, 3, 19), axis=axis, div_mode=False, **options)
            check(a)
            if axis == -1:
                assert_same_bits((npu_quantize(**a | {"axis": 1}),), (reference(**a),))

    @pytest.mark.parametrize("n", WIDTHS)
    @pytest.mark.parametrize("to", CODES, ids=str)
    def test_widths(self, rng: np.random.Generator, dtype: np.dtype, to: np.dtype, n: int) -> None:
        for axis, div_mode in ((-1, True), (-2, True), (0, True), (-1, False), (-2, False)):
            for form in (
                ("channel", "channel"),
                ("one", "channel"),
                ("channel", "one"),
                ("one", "one"),
            ):
                options = {"to": to, "forms": form, "div_mode": div_mode, "scales": dtype}
                a = arguments(rng, dtype, (2, 3, n), axis=axis, **options)
                check(a)
                check(sprinkled(rng, a))

    @pytest.mark.parametrize("rank", range(1, 9))
    def test_ranks_and_axes(self, rng: np.random.Generator, rank: int) -> None:
        shape = (3, 2, 1, 4, 1, 2, 3, 5)[8 - rank :]
        for axis in range(-rank, rank):
            a = arguments(rng, np.dtype(np.float16), shape, axis=axis)
            check(a)
            check(a | {"self": a["self"].copy(order="F")})
            flat = npu_quantize(**a | {"self": np.moveaxis(a["self"], axis, 0), "axis": 0})
            assert_same_bits((np.moveaxis(flat, 0, axis),), (reference(**a),))

    @pytest.mark.parametrize("shape", [(5, 70), (3, 2, 130), (2, 4500), (130,)])
    def test_layouts(
        self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]
    ) -> None:
        for axis, zeros, to in itertools.product({-1, 0}, (dtype, ZEROS[1], ZEROS[3]), CODES[1:]):
            a = sprinkled(rng, arguments(rng, dtype, shape, axis=axis, zeros=zeros, to=to))
            expected = reference(**a)
            for name in ("self", "scales", "zero_points"):
                for _, view in layouts(a[name]):
                    actual = npu_quantize(**a | {name: view})
                    assert_same_bits((actual,), (expected,))
                    assert actual.flags.c_contiguous

    def test_layouts_of_ranked_scales(self, rng: np.random.Generator, dtype: np.dtype) -> None:
        for axis in (-1, -2):
            a = arguments(
                rng, dtype, (2, 30, 50), axis=axis, div_mode=False, forms=("ranked", "ranked")
            )
            for name in ("scales", "zero_points"):
                for _, view in layouts(a[name]):
                    assert_same_bits((npu_quantize(**a | {name: view}),), (reference(**a),))

    def test_broadcast_inputs(self, rng: np.random.Generator) -> None:
        a = arguments(rng, np.dtype(np.float16), (4, 70))
        check(a | {"self": np.broadcast_to(a["self"][0], (4, 70))})
        check(a | {"self": np.broadcast_to(np.float16(3), (4, 70))})
        check(a | {"scales": np.broadcast_to(np.float32(0.1), 70)})
        check(a | {"self": np.ones((70, 70), np.float16)[::7, ::1], "scales": a["self"][0]})

    @pytest.mark.parametrize("to", CODES, ids=str)
    def test_out_layouts(self, rng: np.random.Generator, dtype: np.dtype, to: np.dtype) -> None:
        for shape, axis in itertools.product([(3, 5, 70), (200,), (2, 700)], (-1, 0)):
            a = sprinkled(rng, arguments(rng, dtype, shape, to=to, axis=axis))
            for _, out in out_layouts(shape, to):
                assert npu_quantize(**a, out=out) is out
                assert_same_bits((out,), (reference(**a),))

    @pytest.mark.parametrize("to", CODES, ids=str)
    def test_writes_nothing_outside(
        self, rng: np.random.Generator, dtype: np.dtype, to: np.dtype
    ) -> None:
        for shape, offset, axis in itertools.product(
            [(3, 70), (1, 1), (2, 4100)], (0, 1, 16), (0, 1)
        ):
            a = arguments(rng, dtype, shape, to=to, axis=axis)
            assert_untouched_around(
                lambda out, a=a: npu_quantize(**a, out=out), shape, [to], offset
            )

    def test_next_to_ties(self, rng: np.random.Generator) -> None:
        """Each tie of each scale, and the float32 numbers on either side."""
        scales = np.exp(rng.uniform(-3, 3, 500)).astype(np.float32)
        near = ((np.arange(-130, 258)[:, None] + 0.5) * scales).astype(np.float32)
        x = np.concatenate([np.nextafter(near, np.float32(s)) for s in (-1e9, 1e9)] + [near])
        for zeros, to in itertools.product((None, np.array(1, np.int32)), CODES):
            a = {"self": x, "zero_points": zeros, "dtype": to}
            check(a | {"scales": scales})
            check(a | {"scales": 1 / scales, "div_mode": False})
            check(a | {"scales": scales[:1]})

    def test_every_bit_of_the_quotient(self, rng: np.random.Generator, dtype: np.dtype) -> None:
        """From 2**23 on a code in int32 is the quotient itself."""
        x = rng.uniform(1, 2, (200, 1000)).astype(dtype)
        scales = (2.0**-24 / rng.uniform(1, 60, 1000)).astype(np.float32)
        for form, mode in itertools.product((slice(None), slice(1)), (True, False)):
            factors = scales if mode else 1 / scales
            check(
                {
                    "self": x,
                    "scales": factors[form],
                    "zero_points": None,
                    "dtype": "int32",
                    "div_mode": mode,
                }
            )

    @pytest.mark.parametrize("zeros", [np.int32, None], ids=str)
    def test_every_16_bit_pattern(self, zeros: Any) -> None:
        """All numbers of both types, with scales of many kinds."""
        zero_points = None if zeros is None else np.array(-3, zeros)
        scales = np.array(
            [1, 0.1, -0.3, 2.0**-24, 1e5, 3e38, 1e-38, 1e-45, 7, np.inf, 0, np.nan], np.float32
        )
        for dtype, to, mode in itertools.product(DTYPES[:2], CODES, (True, False)):
            x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
            for one in scales:
                check(
                    {
                        "self": x,
                        "scales": one[None],
                        "zero_points": zero_points,
                        "dtype": to,
                        "div_mode": mode,
                    }
                )

    @pytest.mark.parametrize("div_mode", [True, False])
    def test_random_bits(self, rng: np.random.Generator, div_mode: bool) -> None:
        """Millions of float32 numbers of every exponent, by scales of every exponent."""
        shape = (1500, 2001)
        x = rng.integers(0, 1 << 32, shape, np.uint32).view(np.float32)
        scales = rng.integers(0, 1 << 32, shape[1], np.uint32).view(np.float32)
        near = (x.view(np.int32) % (1 << 26) + (scales.view(np.int32) & 0x7F800000)).view(
            np.float32
        )
        for values, to in itertools.product((x, near), CODES):
            a = {"self": values, "scales": scales, "zero_points": None, "dtype": to, "axis": 1}
            check(a | {"div_mode": div_mode})

    @pytest.mark.usefixtures("threads")
    @pytest.mark.parametrize(
        ("shape", "axis"),
        [((1500, 4096), 1), ((1500, 4096), 0), ((3_000_001,), 0), ((3, 500, 2001), 1)],
    )
    def test_threads(self, rng: np.random.Generator, shape: tuple[int, ...], axis: int) -> None:
        a = arguments(rng, np.dtype(ml_dtypes.bfloat16), shape, axis=axis)
        expected = reference(**a)
        for n in (1, 2, 3, 16):
            npu_quant.set_num_threads(n)
            assert_same_bits((npu_quantize(**a),), (expected,))


@pytest.fixture(scope="module", params=itertools.product(CODES[::2], ["one", "channel"]), ids=str)
def large(request: pytest.FixtureRequest) -> tuple[Arguments, Array]:
    """Return arguments and a result far larger than a cache: 50 and 100 MB in all."""
    to, form = request.param
    rng = np.random.default_rng(5)
    a = arguments(rng, np.dtype(np.float16), (4000, 4200), to=to, forms=(form, form))
    return a, reference(**a)


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("offset", [0, 1, 4, 16, 63])
def test_streams_past_the_cache(large: tuple[Arguments, Array], offset: int) -> None:
    """Large enough for streaming stores, with outputs at every alignment."""
    a, expected = large
    memory = np.empty(expected.nbytes + 64, np.uint8)
    out = memory[offset : offset + expected.nbytes].view(expected.dtype).reshape(expected.shape)
    npu_quantize(**a, out=out)
    assert_same_bits((out,), (expected,))


def test_large_outputs_are_fresh() -> None:
    """A large result must not share memory with one that is still in use."""
    x, one = np.ones((2048, 1024), np.float16), np.ones(1, np.float32)
    results = [npu_quantize(x, one, None, "int8") for _ in range(3)]
    results[0][...] = 5
    assert (results[1] == 1).all()
    assert not any(np.shares_memory(results[0], other) for other in results[1:])


def test_an_earlier_result_serves_as_out(rng: np.random.Generator, dtype: np.dtype) -> None:
    a, b = (arguments(rng, dtype, (3, 70)) for _ in range(2))
    y = npu_quantize(**a)
    assert npu_quantize(**b, out=y) is y
    assert_same_bits((y,), (reference(**b),))


@pytest.mark.parametrize("to", CODES, ids=str)
@pytest.mark.parametrize("div_mode", [True, False])
def test_reference_against_scalars(
    rng: np.random.Generator, dtype: np.dtype, to: np.dtype, div_mode: bool
) -> None:
    """The reference itself, against a loop that shares nothing with it: Python's own rounding."""
    limits = np.iinfo(to)
    f = np.float32
    for zeros in (None, ZEROS[3], dtype):
        a = sprinkled(rng, arguments(rng, dtype, (4, 60), to=to, zeros=zeros, div_mode=div_mode))
        y = []
        for i, j in np.ndindex(4, 60):
            with np.errstate(all="ignore"):
                v, scale = f(a["self"][i, j]), f(a["scales"][j])
                q = v / scale if div_mode else v * scale
                q = float(q if zeros is None else q + f(a["zero_points"][j]))
            low, high = float(limits.min), float(limits.max)
            y.append(0 if q != q else round(max(low, min(high, q))))
        assert reference(**a).reshape(-1).tolist() == y


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(DTYPES),
    st.integers(1, 5),
    st.integers(1, 300),
    st.booleans(),
)
def test_properties(seed: int, dtype: np.dtype, rows: int, n: int, div_mode: bool) -> None:
    """The error is at most half a step, rows and channels are independent, one scale is many equal ones."""
    rng = np.random.default_rng(seed)
    a = arguments(rng, dtype, (rows, n), div_mode=div_mode)
    y = npu_quantize(**a)
    x, scales = a["self"].astype(np.float64), a["scales"].astype(np.float64)
    q = x / scales if div_mode else x * scales
    exact = np.clip(q + a["zero_points"], -128, 127)
    # Half a step, and the relative error of quotient and sum in fp32, 2^-24 of each.
    assert (np.abs(y - exact) <= 0.5 + 2.0**-24 * (2 * np.abs(q) + 300)).all()
    order = rng.permutation(rows)
    assert_same_bits((npu_quantize(**a | {"self": a["self"][order]}),), (y[order],))
    order = rng.permutation(n)
    channels = {name: a[name][..., order] for name in ("self", "scales", "zero_points")}
    assert_same_bits((npu_quantize(**a | channels),), (y[:, order],))
    one = {"scales": a["scales"][:1], "zero_points": a["zero_points"][:1]}
    many = {name: np.repeat(value, n) for name, value in one.items()}
    assert_same_bits((npu_quantize(**a | one),), (npu_quantize(**a | many),))
    if div_mode:
        turned = npu_quantize(**a | {"self": a["self"].T, "axis": 0})
        assert_same_bits((turned,), (y.T,))
