"""npu_add_rms_norm_quant against its formula, on every layout, target and thread count."""

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
    assert_same_but_nan,
    assert_untouched_around,
    layouts,
    normal,
    out_layouts,
    with_specials,
)

import npu_quant
from npu_quant import npu_add_rms_norm_quant
from npu_quant.ops.add_rms_norm_quant import reference

# Around a vector, the 64 lanes of the sum, and what may be a tile; ragged ends of each.
WIDTHS = [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 511, 1000, 1025, 4096, 5003, 7168]
FORMS = ["gamma", "last", "ones", "one", "0-D"]
Arguments = dict[str, Any]


def spread(rng: np.random.Generator, shape: tuple[int, ...], form: str) -> tuple[int, ...]:
    """Return the shape a scale or zero point has in a form, for gamma of a shape."""
    ones = (1,) * int(rng.integers(1, 6)) + shape[-1:]
    return {"gamma": shape, "last": shape[-1:], "ones": ones, "one": (1,), "0-D": ()}[form]


def scale(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, div_mode: bool) -> Array:
    """Return scales of either sign that spread the codes of a normal row over int8 and beyond."""
    values = np.exp(rng.uniform(-5.5, -2, shape)) * rng.choice([1, -1], shape, p=[0.8, 0.2])
    return np.asarray(values if div_mode else 1 / values).astype(dtype)


def zero_point(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array | None:
    """Return zero points: whole ones of int32, others of a float type; none where dtype is None."""
    if dtype is None:
        return None
    values = rng.integers(-60, 60, shape) if dtype == np.int32 else rng.uniform(-60, 60, shape)
    return np.asarray(values).astype(dtype)


def arguments(
    rng: np.random.Generator,
    dtype: np.dtype,
    shape: tuple[int, ...],
    *,
    rank: int = 1,
    forms: tuple[str, str] = ("gamma", "gamma"),
    scales: Any = np.float32,
    zeros: Any = np.int32,
    div_mode: bool = True,
    beta: bool = True,
    second: bool = True,
) -> Arguments:
    """Return arguments of the operator; the second output has other dtypes and forms than the first."""
    gamma = shape[len(shape) - rank :]
    first, other = (spread(rng, gamma, f) for f in forms)
    return {
        "x1": normal(rng, shape, dtype),
        "x2": normal(rng, shape, dtype),
        "gamma": rng.uniform(-2, 2, gamma).astype(dtype),
        "scales1": scale(rng, first, scales, div_mode),
        "zero_points1": zero_point(rng, other, zeros),
        "beta": rng.uniform(-1, 1, gamma).astype(dtype) if beta else None,
        "scales2": scale(rng, other, dtype, div_mode) if second else None,
        "zero_points2": zero_point(rng, first, np.float32) if second else None,
        "div_mode": div_mode,
    }


def sprinkled(rng: np.random.Generator, a: Arguments) -> Arguments:
    """Return the arguments with special values in every array that holds floats."""
    a = a | {"x1": with_specials(rng, a["x1"]), "x2": with_specials(rng, a["x2"])}
    values = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45]
    for name in ("gamma", "beta", "scales1", "scales2", "zero_points1", "zero_points2"):
        if a[name] is not None and a[name].dtype != np.int32 and a[name].size > 1:
            a[name] = a[name].copy()
            where = rng.integers(a[name].size, size=max(1, a[name].size // 16))
            a[name].reshape(-1)[where] = rng.choice(values, where.size)
    return a


def check(a: Arguments) -> None:
    """Fail unless the operator gives reference()'s bytes."""
    assert_same_but_nan(npu_add_rms_norm_quant(**a), reference(**a))


@pytest.mark.usefixtures("target")
class TestFormula:
    """Bit for bit with reference()."""

    def test_all_combinations(self, rng: np.random.Generator, dtype: np.dtype) -> None:
        zeros = (None, np.int32, np.float32, dtype)
        flags = [(False, True)] * 3
        forms = itertools.product(FORMS, FORMS)
        for scales, zero, form, *rest in itertools.product(
            (np.float32, dtype), zeros, forms, *flags
        ):
            options = dict(zip(("div_mode", "beta", "second"), rest, strict=True))
            check(
                arguments(
                    rng, dtype, (3, 7, 11), rank=2, forms=form, scales=scales, zeros=zero, **options
                )
            )

    @pytest.mark.parametrize("n", WIDTHS)
    def test_widths(self, rng: np.random.Generator, dtype: np.dtype, n: int) -> None:
        options = itertools.product((True, False), (True, False), (None, np.int32, dtype))
        for i, (div_mode, beta, zeros) in enumerate(options):
            forms = (FORMS[i % 5], FORMS[i // 5 % 5])
            a = arguments(
                rng, dtype, (5, n), forms=forms, div_mode=div_mode, beta=beta, zeros=zeros
            )
            check(a)
            check(sprinkled(rng, a))

    @pytest.mark.parametrize("n", WIDTHS)
    @pytest.mark.parametrize("div_mode", [True, False])
    def test_every_bit_of_the_norm(
        self, rng: np.random.Generator, dtype: np.dtype, n: int, div_mode: bool
    ) -> None:
        """Quotients of 2**23, less 2**23: a code steps with the last bit of t."""
        for beta in (False, True):
            a = arguments(rng, dtype, (1, n), beta=beta, second=False, div_mode=div_mode)
            s = a["x1"].astype(np.float64) + a["x2"].astype(np.float64)
            t = s / np.sqrt((s * s).mean() + 1e-6) * a["gamma"].astype(np.float64)
            t = t[0] + (a["beta"].astype(np.float64) if beta else 0)
            with np.errstate(divide="ignore"):
                scales = t / 2**23 if div_mode else 2**23 / t
            a["scales1"] = scales.astype(np.float32)
            a["zero_points1"] = np.array(-(2**23), np.int32)
            check(a)
            check(a | {"x1": np.repeat(a["x1"], 7, axis=0), "x2": np.repeat(a["x2"], 7, axis=0)})

    @pytest.mark.parametrize("rank", range(1, 9))
    def test_ranks(self, rng: np.random.Generator, rank: int) -> None:
        for gamma in range(1, rank + 1):
            shape = (2,) * (rank - 1) + (5,)
            for forms in (("gamma", "ones"), ("last", "0-D")):
                a = arguments(rng, np.dtype(np.float16), shape, rank=gamma, forms=forms)
                check(a)
                check(a | {"x1": a["x1"].copy(order="F"), "x2": np.flip(a["x2"])})
        many = np.ones((1,) * 8, np.float32)
        check(a | {"scales1": many, "zero_points1": many})

    @pytest.mark.parametrize(("shape", "rank"), [((5, 70), 1), ((3, 2, 130), 2), ((2, 4500), 1)])
    def test_layouts(
        self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...], rank: int
    ) -> None:
        a = sprinkled(
            rng, arguments(rng, dtype, shape, rank=rank, forms=("gamma", "last"), zeros=dtype)
        )
        expected = reference(**a)
        for name in a:
            for _, view in layouts(a[name]) if isinstance(a[name], np.ndarray) else ():
                actual = npu_add_rms_norm_quant(**a | {name: view})
                assert_same_but_nan(actual, expected), name
                assert all(output.flags.c_contiguous for output in actual)

    def test_broadcast_inputs(self, rng: np.random.Generator) -> None:
        a = arguments(rng, np.dtype(np.float16), (4, 70))
        rows = np.broadcast_to(a["x1"][0], (4, 70))
        one = np.broadcast_to(np.float16(3), 70)
        check(a | {"x1": rows, "x2": rows, "gamma": one, "beta": one, "scales1": one})
        check(a | {"x1": a["x1"], "x2": a["x1"], "scales2": a["scales1"]})

    def test_out_layouts(self, rng: np.random.Generator, dtype: np.dtype) -> None:
        a = sprinkled(rng, arguments(rng, dtype, (3, 5, 70)))
        expected = reference(**a)
        kinds = [[o for _, o in out_layouts((3, 5, 70), d)] for d in (np.int8, np.int8, dtype)]
        for i, j in itertools.product(range(5), range(5)):
            out = kinds[0][i], kinds[1][(i + j) % 5], kinds[2][j]
            result = npu_add_rms_norm_quant(**a, out=out)
            assert all(r is o for r, o in zip(result, out, strict=True))
            assert_same_but_nan(out, expected)

    def test_writes_nothing_outside(self, rng: np.random.Generator, dtype: np.dtype) -> None:
        for shape, offset in itertools.product([(3, 70), (1, 1), (2, 4100), (4, 64)], (0, 1, 16)):
            a = arguments(rng, dtype, shape)
            assert_untouched_around(
                lambda *out, a=a: npu_add_rms_norm_quant(**a, out=out),
                shape,
                (np.int8, np.int8, dtype),
                offset,
            )

    def test_next_to_ties(self, rng: np.random.Generator) -> None:
        """t is x where x is tiny and epsilon 1; then each quotient's neighbours of a tie."""
        scales = rng.uniform(2.0**-22, 2.0**-21, 500).astype(np.float32)
        steps = np.arange(-130, 130)[:, None] + 0.5
        near = (steps * scales).astype(np.float32)
        x = np.concatenate([np.nextafter(near, np.float32(s)) for s in (-1, 1)] + [near])
        for mode, factors in ((True, scales), (False, 1 / scales)):
            a = {"x1": x, "x2": 0 * x, "gamma": np.ones(500, np.float32), "scales1": factors}
            check(a | {"zero_points1": None, "epsilon": 1.0, "div_mode": mode})
            check(a | {"zero_points1": np.array(1, np.int32), "epsilon": 1.0, "div_mode": mode})

    @pytest.mark.parametrize("div_mode", [True, False])
    def test_random_bits(self, rng: np.random.Generator, dtype: np.dtype, div_mode: bool) -> None:
        """Every array of random bits: numbers of every exponent."""
        a = arguments(rng, dtype, (200, 1001), zeros=np.float32, div_mode=div_mode)
        for name in ("gamma", "scales1", "zero_points1", "beta", "scales2", "zero_points2"):
            patterns = rng.integers(0, 1 << 8 * a[name].itemsize, a[name].shape)
            other = patterns.astype(f"u{a[name].itemsize}").view(a[name].dtype)
            check(a | {name: other})

    @pytest.mark.parametrize("div_mode", [True, False])
    def test_millions_of_elements(
        self, rng: np.random.Generator, dtype: np.dtype, div_mode: bool
    ) -> None:
        for beta in (False, True):
            check(arguments(rng, dtype, (700, 4096), div_mode=div_mode, beta=beta))

    def test_one_long_row(self, rng: np.random.Generator, dtype: np.dtype) -> None:
        check(arguments(rng, dtype, (1, 1_000_003), forms=("one", "gamma")))
        check(arguments(rng, dtype, (2, 700, 501), rank=2, forms=("last", "gamma")))

    @pytest.mark.usefixtures("threads")
    @pytest.mark.parametrize("shape", [(1500, 4096), (3, 500, 1001), (2, 1_500_001)])
    def test_threads(self, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
        a = arguments(rng, np.dtype(ml_dtypes.bfloat16), shape, rank=len(shape) - 1)
        expected = reference(**a)
        for n in (1, 2, 3, 16):
            npu_quant.set_num_threads(n)
            assert_same_but_nan(npu_add_rms_norm_quant(**a), expected)


@pytest.fixture(scope="module")
def large() -> tuple[Arguments, tuple[Array, ...]]:
    """Return arguments and results far larger than a cache: 128 MB in all."""
    a = arguments(np.random.default_rng(5), np.dtype(np.float16), (4000, 4000))
    return a, reference(**a)


@pytest.mark.usefixtures("target")
class TestLarge:
    """Large enough for streaming stores."""

    @pytest.mark.parametrize("offset", [0, 1, 2, 16, 62])
    def test_outputs_at_every_alignment(
        self, large: tuple[Arguments, tuple[Array, ...]], offset: int
    ) -> None:
        a, expected = large
        results = []
        for e in expected:
            memory = np.empty(e.nbytes + 64, np.uint8)
            results.append(memory[offset : offset + e.nbytes].view(e.dtype).reshape(e.shape))
        npu_add_rms_norm_quant(**a, out=tuple(results))
        assert_same_bits(tuple(results), expected)

    def test_some_of_the_outputs(self, large: tuple[Arguments, tuple[Array, ...]]) -> None:
        a, expected = large
        for i, e in enumerate(expected):
            out = [None] * 3
            out[i] = np.empty(e.shape, e.dtype)
            assert_same_bits(npu_add_rms_norm_quant(**a, out=tuple(out))[i : i + 1], (e,))


class TestOut:
    """What out= accepts and gives back."""

    def test_fields_that_are_not_wanted_are_none(
        self, rng: np.random.Generator, dtype: np.dtype
    ) -> None:
        for second in (False, True):
            a = arguments(rng, dtype, (3, 70), second=second)
            expected = reference(**a)
            for wanted in itertools.product((False, True), repeat=3):
                out = tuple(
                    np.full(e.shape, 7, e.dtype) if w else None
                    for e, w in zip(expected, wanted, strict=True)
                )
                result = npu_add_rms_norm_quant(**a, out=out)
                assert all(r is o for r, o in zip(result, out, strict=True))
                pairs = [(o, e) for o, e in zip(out, expected, strict=True) if o is not None]
                assert_same_bits(tuple(o for o, _ in pairs), tuple(e for _, e in pairs))

    def test_result_is_a_named_tuple(self, rng: np.random.Generator) -> None:
        result = npu_add_rms_norm_quant(**arguments(rng, np.dtype(np.float16), (1, 2)))
        assert result._fields == ("y1", "y2", "x")
        assert result.x is result[2]

    def test_an_earlier_result_serves(self, rng: np.random.Generator, dtype: np.dtype) -> None:
        a, b = (arguments(rng, dtype, (3, 70)) for _ in range(2))
        result = npu_add_rms_norm_quant(**a)
        assert_same_bits(npu_add_rms_norm_quant(**b, out=result), reference(**b))
        assert_same_bits(result, reference(**b))


def scalar_row(a: Arguments, row: int) -> tuple[list[int], list[float]]:
    """Compute y1 and x of a row, one np.float32 at a time, with Python's own rounding."""
    f, n = np.float32, a["x1"].shape[1]
    s = [f(u) + f(v) for u, v in zip(a["x1"][row], a["x2"][row], strict=True)]
    lanes = [f(0)] * 64
    for i, v in enumerate(s):
        lanes[i % 64] = lanes[i % 64] + v * v
    h = 32
    while h >= 1:
        for j in range(h):
            lanes[j] = lanes[j] + lanes[j + h]
        h //= 2
    rstd = f(1) / np.sqrt(lanes[0] / f(n) + f(1e-6))
    y = []
    for i, v in enumerate(s):
        t = v * rstd * f(a["gamma"][i])
        t = t if a["beta"] is None else t + f(a["beta"][i])
        scale, zero = a["scales1"][i], a["zero_points1"]
        q = t / f(scale) if a["div_mode"] else t * f(scale)
        q = q if zero is None else q + f(zero[i])
        y.append(0 if np.isnan(q) else round(max(-128.0, min(127.0, float(q)))))
    return y, [v.astype(a["x1"].dtype).item() for v in s]


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 65, 200, 700])
def test_reference_against_scalars(rng: np.random.Generator, dtype: np.dtype, n: int) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    for div_mode, beta, zeros in (
        (True, True, np.int32),
        (False, False, dtype),
        (True, True, None),
    ):
        a = arguments(rng, dtype, (4, n), div_mode=div_mode, beta=beta, zeros=zeros)
        for case in (a, sprinkled(rng, a)):
            expected = reference(**case)
            for row in range(4):
                with np.errstate(all="ignore"):
                    y, x = scalar_row(case, row)
                assert expected.y1[row].tolist() == y
                np.testing.assert_array_equal(expected.x[row].astype(float), x)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(DTYPES),
    st.integers(1, 5),
    st.integers(1, 300),
    st.booleans(),
)
def test_properties(seed: int, dtype: np.dtype, rows: int, n: int, div_mode: bool) -> None:
    """Rows are independent, signs flip codes, and the codes stand for t up to half a step."""
    rng = np.random.default_rng(seed)
    a = arguments(rng, dtype, (rows, n), beta=False, div_mode=div_mode)
    y1, y2, x = npu_add_rms_norm_quant(**a)
    order = rng.permutation(rows)
    permuted = npu_add_rms_norm_quant(**a | {"x1": a["x1"][order], "x2": a["x2"][order]})
    assert_same_bits(permuted, (y1[order], y2[order], x[order]))
    flipped = npu_add_rms_norm_quant(**a | {"x1": -a["x1"], "x2": -a["x2"], "gamma": -a["gamma"]})
    assert_same_bits(flipped[:2], (y1, y2))
    s = a["x1"].astype(np.float64) + a["x2"].astype(np.float64)
    t = s / np.sqrt((s * s).mean(axis=1, keepdims=True) + 1e-6) * a["gamma"].astype(np.float64)
    scale = a["scales1"].astype(np.float64)
    q = t / scale if div_mode else t * scale
    exact = np.clip(q + a["zero_points1"], -128, 127)
    # In units of 2^-24: the sum has n / 64 + 7 additions, squares and what follows 3 more, halved
    # by the root; s, the root, its inverse, two products, the quotient and the last sum add 8.
    error = 2.0**-24 * ((n / 64 + 12) / 2 + 8)
    assert (np.abs(y1 - exact) <= 0.5 + error * (np.abs(q) + 128)).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(DTYPES), st.integers(1, 4), st.integers(1, 90))
def test_ties_of_rows_with_rstd_one(seed: int, dtype: np.dtype, m: int, n: int) -> None:
    """Of rows of 1 and -1 all is exact, half of it ties: NumPy's rint in float64 is the answer."""
    rng = np.random.default_rng(seed)
    x1 = rng.choice([1.0, -1.0], (3, m, n))
    gamma, beta, zero = (rng.integers(-64, 64, (m, n)) / 2 for _ in range(3))
    scales = np.exp2(rng.integers(-1, 2, (m, n)))
    a = {"gamma": gamma, "scales1": scales, "zero_points1": zero, "beta": beta}
    exact = np.clip(np.rint((x1 * gamma + beta) / scales + zero), -128, 127)
    a = {name: value.astype(dtype) for name, value in ({"x1": x1, "x2": 0 * x1} | a).items()}
    y1, _, _ = npu_add_rms_norm_quant(**a, epsilon=0.0)
    assert y1.tolist() == exact.tolist()
    flat = {k: v.reshape(*v.shape[:-2], m * n) for k, v in a.items()}
    y1_flat, _, _ = npu_add_rms_norm_quant(**flat, epsilon=0.0)
    assert y1_flat.tobytes() == y1.tobytes()
