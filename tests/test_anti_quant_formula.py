"""npu_anti_quant against its formula, on every layout, target and thread count."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import (
    Array,
    assert_same_bits,
    assert_same_but_nan,
    assert_untouched_around,
    layouts,
    out_layouts,
)

import npu_quant
from npu_quant import npu_anti_quant
from npu_quant.ops.anti_quant import reference

FLOAT16, BFLOAT16, FLOAT32 = DTYPES
RESULTS, SCALES = [FLOAT16, BFLOAT16], [FLOAT32, BFLOAT16]
# Around a vector of 8 or 16 elements, and of 64 bytes, on each target; ragged ends of each.
WIDTHS = [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 1000, 1025, 4096, 7168]
FORMS = ["one", "ones", "column", "row", "ranked column", "ranked row"]
SPECIALS = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -3e-39, 3.4e38, 1e-30]
Arguments = dict[str, Any]


@pytest.fixture(params=RESULTS, ids=str)
def to(request: pytest.FixtureRequest) -> np.dtype:
    """Run the test with each type of results."""
    return request.param


def shape_of(form: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a scale: one per column lies along the last axis, per row before it."""
    axis = {"column": -1, "row": -2}.get(form.rpartition(" ")[2])
    if axis is None or -axis > len(shape):
        return (1,) if form == "one" else (1,) * len(shape)
    if form.startswith("ranked"):
        return tuple(n if a == axis % len(shape) else 1 for a, n in enumerate(shape))
    return (shape[axis],)


def arguments(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    *,
    to: np.dtype = FLOAT16,
    form: str = "column",
    scales: np.dtype = FLOAT32,
    offsets: bool = True,
) -> Arguments:
    """Return arguments whose results are spread over the range of float16, and beyond."""
    where = shape_of(form, shape)
    scale = np.exp(rng.uniform(-22, 9, where)) * rng.choice([1, -1], where, p=[0.8, 0.2])
    offset = rng.choice([0, 3, 0.3, 1000], where) * rng.standard_normal(where)
    return {
        "x": rng.integers(-128, 128, shape, np.int8),
        "scale": scale.astype(scales),
        "offset": offset.astype(scales) if offsets else None,
        "dst_dtype": to,
    }


def sprinkled(rng: np.random.Generator, a: Arguments) -> Arguments:
    """Return the arguments with special values among scales and offsets, unless there is one."""
    a = a.copy()
    for name in ("scale", "offset"):
        if a[name] is not None and a[name].size > 1:
            values = a[name].copy()
            where = rng.integers(values.size, size=max(1, values.size // 8))
            values.reshape(-1)[where] = rng.choice(SPECIALS, where.size)
            a[name] = values
    return a


def check(a: Arguments) -> None:
    """Fail unless the operator gives reference()'s bytes; which NaN is not promised."""
    assert_same_but_nan((npu_anti_quant(**a),), (reference(**a),))


@pytest.mark.usefixtures("target")
class TestFormula:
    """Bit for bit with reference()."""

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("shape", [(19,), (3, 19), (5, 3, 19), (2, 5, 3, 1), (4, 4)])
    def test_all_combinations(
        self, rng: np.random.Generator, to: np.dtype, form: str, shape: tuple[int, ...]
    ) -> None:
        for scales, offsets in itertools.product(SCALES, (True, False)):
            a = arguments(rng, shape, to=to, form=form, scales=scales, offsets=offsets)
            assert_same_bits((npu_anti_quant(**a),), (reference(**a),))
            check(sprinkled(rng, a))

    @pytest.mark.parametrize("n", WIDTHS)
    def test_widths(self, rng: np.random.Generator, to: np.dtype, n: int) -> None:
        for form, offsets in itertools.product(FORMS[::2] + FORMS[3:4], (True, False)):
            a = arguments(rng, (2, 3, n), to=to, form=form, offsets=offsets)
            check(a)
            check(sprinkled(rng, a))

    @pytest.mark.parametrize("rank", range(1, 9))
    def test_ranks(self, rng: np.random.Generator, rank: int) -> None:
        shape = (3, 2, 1, 4, 1, 2, 3, 5)[8 - rank :]
        for form in FORMS:
            a = arguments(rng, shape, form=form)
            check(a)
            check(a | {"x": a["x"].copy(order="F")})

    @pytest.mark.parametrize("shape", [(5, 70), (3, 2, 130), (2, 4500), (130,)])
    @pytest.mark.parametrize("form", FORMS[2:])
    def test_layouts(
        self, rng: np.random.Generator, to: np.dtype, shape: tuple[int, ...], form: str
    ) -> None:
        for scales in SCALES:
            a = sprinkled(rng, arguments(rng, shape, to=to, form=form, scales=scales))
            expected = reference(**a)
            for name in ("x", "scale", "offset"):
                for _, view in layouts(a[name]):
                    actual = npu_anti_quant(**a | {name: view})
                    assert_same_but_nan((actual,), (expected,))
                    assert actual.flags.c_contiguous

    def test_broadcast_inputs(self, rng: np.random.Generator) -> None:
        a = arguments(rng, (4, 70))
        check(a | {"x": np.broadcast_to(a["x"][0], (4, 70))})
        check(a | {"x": np.broadcast_to(np.int8(3), (4, 70))})
        check(a | {"scale": np.broadcast_to(np.float32(0.1), 70)})
        check(a | {"scale": a["offset"]})

    @pytest.mark.parametrize("form", FORMS)
    def test_out_layouts(self, rng: np.random.Generator, to: np.dtype, form: str) -> None:
        for shape in [(3, 5, 70), (200,), (2, 700), (300, 6)]:
            a = arguments(rng, shape, to=to, form=form)
            for _, out in out_layouts(shape, to):
                assert npu_anti_quant(**a, out=out) is out
                assert_same_bits((out,), (reference(**a),))
                assert npu_anti_quant(**a | {"x": a["x"].copy(order="F")}, out=out) is out
                assert_same_bits((out,), (reference(**a),))

    @pytest.mark.parametrize("form", ["one", "column", "row"])
    def test_writes_nothing_outside(
        self, rng: np.random.Generator, to: np.dtype, form: str
    ) -> None:
        for shape, offset in itertools.product([(3, 70), (1, 1), (2, 4100)], (0, 1, 16)):
            a = arguments(rng, shape, to=to, form=form)
            assert_untouched_around(
                lambda out, a=a: npu_anti_quant(**a, out=out), shape, [to], offset
            )

    def test_every_code_by_every_bfloat16(self, to: np.dtype, exhaustive: Arguments) -> None:
        """All 256 codes, all 65,536 scales; without an offset, which is one sum with 0."""
        y = npu_anti_quant(**exhaustive["given"], dst_dtype=to)
        assert_same_but_nan((y,), (exhaustive[to.name],))

    def test_every_code_by_many_scales_and_offsets(
        self, rng: np.random.Generator, to: np.dtype
    ) -> None:
        """Float32 patterns of every exponent, offsets of the codes' size and of any."""
        x = np.broadcast_to(np.arange(-128, 128, dtype=np.int8), (4096, 256))
        scale = rng.integers(0, 1 << 32, 4096, np.uint32).view(np.float32)
        near = rng.uniform(-300, 300, 4096).astype(np.float32)
        for offset in (near, np.rint(near), rng.permuted(scale)):
            check({"x": x, "scale": scale, "offset": offset, "dst_dtype": to})

    def test_random_bits(self, rng: np.random.Generator, to: np.dtype) -> None:
        """Every code a scale of its own, of every exponent or of those of a float16's."""
        n = 1 << 20
        x = rng.integers(-128, 128, n, np.int8)
        patterns = rng.integers(0, 1 << 32, n, np.uint32)
        near = (patterns & 0x87FFFFFF | 0x30000000).view(np.float32)
        for scale in (patterns.view(np.float32), near):
            check({"x": x, "scale": scale, "dst_dtype": to})
            check({"x": x, "scale": scale, "offset": rng.permuted(near), "dst_dtype": to})

    @pytest.mark.usefixtures("threads")
    @pytest.mark.parametrize("form", ["one", "column", "row"])
    @pytest.mark.parametrize("shape", [(1500, 4096), (3_000_001,), (3, 500, 2001)])
    def test_threads(self, rng: np.random.Generator, shape: tuple[int, ...], form: str) -> None:
        a = arguments(rng, shape, to=BFLOAT16, form=form)
        expected = reference(**a)
        for n in (1, 2, 3, 16):
            npu_quant.set_num_threads(n)
            assert_same_bits((npu_anti_quant(**a),), (expected,))


@pytest.fixture(scope="module")
def exhaustive() -> Arguments:
    """Return every bfloat16 as the scale of a row of all codes, and what the formula makes of it."""
    given = {
        "x": np.broadcast_to(np.arange(-128, 128, dtype=np.int8), (1 << 16, 256)),
        "scale": np.arange(1 << 16, dtype=np.uint16).view(BFLOAT16),
    }
    return {"given": given} | {to.name: reference(**given, dst_dtype=to) for to in RESULTS}


@pytest.fixture(
    scope="module", params=itertools.product(RESULTS, ["one", "column", "row"]), ids=str
)
def large(request: pytest.FixtureRequest) -> tuple[Arguments, Array]:
    """Return arguments and a result far larger than a cache: 50 MB in all."""
    to, form = request.param
    a = arguments(np.random.default_rng(5), (4000, 4200), to=to, form=form)
    return a, reference(**a)


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("offset", [0, 1, 2, 16, 62])
def test_streams_past_the_cache(large: tuple[Arguments, Array], offset: int) -> None:
    """Large enough for streaming stores, with outputs at every alignment."""
    a, expected = large
    memory = np.empty(expected.nbytes + 64, np.uint8)
    out = memory[offset : offset + expected.nbytes].view(expected.dtype).reshape(expected.shape)
    npu_anti_quant(**a, out=out)
    assert_same_bits((out,), (expected,))


def test_large_outputs_are_fresh() -> None:
    """A large result must not share memory with one that is still in use."""
    x, one = np.ones((2048, 1024), np.int8), np.ones(1, np.float32)
    results = [npu_anti_quant(x, one) for _ in range(3)]
    results[0][...] = 5
    assert (results[1] == 1).all()
    assert not any(np.shares_memory(results[0], other) for other in results[1:])


def test_an_earlier_result_serves_as_out(rng: np.random.Generator, to: np.dtype) -> None:
    a, b = (arguments(rng, (3, 70), to=to) for _ in range(2))
    y = npu_anti_quant(**a)
    assert npu_anti_quant(**b, out=y) is y
    assert_same_bits((y,), (reference(**b),))


# Bits of the significand, the exponent of the least subnormal, and the largest number.
FORMATS = {
    "float32": (24, -149, 2**128 - 2**104),
    "float16": (11, -24, 65504),
    "bfloat16": (8, -133, 2**128 - 2**120),
}


def nearest(value: Fraction, name: str) -> Fraction | None:
    """Round an exact number to nearest, ties to even; None for what overflows."""
    bits, least, largest = FORMATS[name]
    exponent = least
    while abs(value) >= Fraction(2) ** (exponent + bits):
        exponent += 1
    rounded = round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent
    return rounded if abs(rounded) <= largest else None


def test_reference_against_fractions(rng: np.random.Generator, to: np.dtype) -> None:
    """The reference itself, against exact arithmetic that shares nothing with it."""
    a = arguments(rng, (4, 500), to=to)
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


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(RESULTS),
    st.integers(1, 5),
    st.integers(1, 300),
)
def test_properties(seed: int, to: np.dtype, rows: int, n: int) -> None:
    """Near the exact value, rows and columns are independent, one scale is many equal ones."""
    rng = np.random.default_rng(seed)
    a = arguments(rng, (rows, n), to=to)
    y = npu_anti_quant(**a)
    offset, scale = (a[name].astype(np.float64) for name in ("offset", "scale"))
    exact = (a["x"] + offset) * scale
    # Half a unit of to's significand or of its subnormals, and 2^-24 of sum and product each.
    unit, least = (2.0**-11, 2.0**-25) if to == FLOAT16 else (2.0**-8, 2.0**-134)
    bound = np.abs(exact) * (unit + 2.0**-22) + least + 2.0**-149
    finite = np.isfinite(y.astype(np.float64))
    assert (np.abs(y.astype(np.float64) - exact) <= bound)[finite].all()
    assert (np.abs(exact)[~finite] >= 65519).all()
    order = rng.permutation(rows)
    assert_same_bits((npu_anti_quant(**a | {"x": a["x"][order]}),), (y[order],))
    order = rng.permutation(n)
    columns = {name: a[name][..., order] for name in ("x", "scale", "offset")}
    assert_same_bits((npu_anti_quant(**a | columns),), (y[:, order],))
    one = {name: a[name][:1] for name in ("scale", "offset")}
    many = {name: np.repeat(value, n) for name, value in one.items()}
    assert_same_bits((npu_anti_quant(**a | one),), (npu_anti_quant(**a | many),))
    ranked = {name: a[name][:, None] for name in ("scale", "offset")}
    turned = npu_anti_quant(**a | ranked | {"x": a["x"].T})
    assert_same_bits((turned,), (y.T,))
