"""How far honest orders of a sum of floats may be apart, and what that bound must not hide."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from npu_quant.golden import compare
from npu_quant.golden.operators import float_sums, products

F32 = np.float32
Data = tuple[Any, Any]
ROWS, COLUMNS = 12, 10
NARROW = "product in 16 bits before the bias"


def one_by_one(terms: Any) -> Any:
    """Add up (K, M, N) in float32 from the first one on."""
    return np.cumsum(terms, 0, F32)[-1]


def by_pieces(terms: Any, size: int, inner: Callable[[Any], Any]) -> Any:
    return one_by_one(np.stack([inner(terms[k : k + size]) for k in range(0, len(terms), size)]))


def once(terms: Any) -> Any:
    return terms.sum(0, dtype=float).astype(F32)


def in_pairs(terms: Any) -> Any:
    while len(terms) > 1:
        odd = terms[len(terms) // 2 * 2 :]
        terms = np.concatenate([terms[:-1:2] + terms[1::2], odd])
    return terms[0]


# Of the products in float32: their sum as devices, BLAS and scripts make it.
ORDERS: dict[str, Callable[[Any], Any]] = {
    "one k after another": one_by_one,
    "the last k first": lambda terms: one_by_one(terms[::-1]),
    "16 at a time": partial(by_pieces, size=16, inner=once),
    "32 at a time": partial(by_pieces, size=32, inner=once),
    "512 at a time": partial(by_pieces, size=512, inner=once),
    "sums of 128": partial(by_pieces, size=128, inner=one_by_one),
    "pairwise": in_pairs,
    "halves": lambda terms: by_pieces(terms, len(terms) // 2, one_by_one),
    "four lanes": lambda terms: once(np.stack([one_by_one(terms[i::4]) for i in range(4)])),
}


def normal(rng: Any, k: int) -> Data:
    return rng.standard_normal((ROWS, k)), rng.standard_normal((k, COLUMNS)) / 50


def positive(rng: Any, k: int) -> Data:
    return rng.random((ROWS, k)), rng.random((k, COLUMNS))


def biased(rng: Any, k: int) -> Data:
    return 3 + rng.standard_normal((ROWS, k)), 2 + rng.standard_normal((k, COLUMNS)) / 10


def nearly_one(rng: Any, k: int) -> Data:
    x, w = normal(rng, k)
    return 1 + x / 1000, 1 + w / 20


def constant(rng: Any, k: int) -> Data:
    return np.full((ROWS, k), rng.uniform(0.5, 2, (ROWS, 1))), np.full((k, COLUMNS), 0.7)


def two_values(rng: Any, k: int) -> Data:
    return 1 + rng.integers(0, 2, (ROWS, k)) / 128, np.full((k, COLUMNS), rng.uniform(0.5, 2))


def repeated(rng: Any, k: int) -> Data:
    x, w = positive(rng, k)
    return np.repeat(x[:, ::32], 32, 1)[:, :k], w * 0 + w[:1]


def one_large(rng: Any, k: int) -> Data:
    x, w = constant(rng, k)
    x[:, 0] *= 1e6
    return x, w


def one_constant_row(rng: Any, k: int) -> Data:
    x, w = positive(rng, k)
    x[7], w[:, 3] = 1 / 3, 0.7
    return x, w


def cancelling(rng: Any, k: int) -> Data:
    """Return halves that are each other's opposites."""
    x, w = positive(rng, k)
    x[:, k // 2 :] *= -1
    return x, np.concatenate([w[: k // 2], w[: k // 2]])


def of_either_sign(rng: Any, k: int) -> Data:
    """Return terms whose lanes have one sign each."""
    x, w = positive(rng, k)
    x[:, 1::2] *= -1
    return x, w


def heavy_tailed(rng: Any, k: int) -> Data:
    return rng.standard_t(1.2, (ROWS, k)), rng.standard_t(2, (k, COLUMNS))


def large_at_the_end(rng: Any, k: int) -> Data:
    x, w = normal(rng, k)
    x[:, -1] = 1e6
    return x, w


def sparse(rng: Any, k: int) -> Data:
    x, w = normal(rng, k)
    return x * (rng.random(x.shape) < 0.02), w


def like_each_other(rng: Any, k: int) -> Data:
    """Return rows and columns of which some are the same: only those add up terms of one sign."""
    x, _ = normal(rng, k)
    return x, x.T[:, :COLUMNS]


def tiny(rng: Any, k: int) -> Data:
    x, w = normal(rng, k)
    return x * 1e-12, w * 1e-12


def huge(rng: Any, k: int) -> Data:
    x, w = normal(rng, k)
    return x * 1e15, w * 1e15


def codes(rng: Any, k: int) -> Data:
    """Return a weight of int4 codes, and ones for some of the rows."""
    x, w = rng.standard_normal((ROWS, k)), rng.integers(-8, 8, (k, COLUMNS))
    x[::2] = 1
    return x, w * rng.uniform(0.01, 0.02, COLUMNS)


MIXED = (normal, tiny, huge, sparse)
OTHERS = (positive, biased, nearly_one, cancelling, of_either_sign, heavy_tailed, like_each_other)
ALIKE = (constant, two_values, repeated, one_large, one_constant_row, large_at_the_end, codes)
DTYPES = (np.float16, ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e4m3fn)


def measured(data: Callable[[Any, int], Data], k: int, dtype: Any = F32) -> tuple[Any, Any, Any]:
    """Return the bound of each element, what orders leave of it, and the sum of magnitudes."""
    with np.errstate(over="ignore"):
        x, w = (a.astype(dtype).astype(F32) for a in data(np.random.default_rng(k), k))
    x, w = (np.nan_to_num(a, posinf=0, neginf=0) for a in (x, w))
    product = products.of_floats(x, lambda: w)
    exact = products.exact(product)
    terms = x.T[:, :, None] * w[:, None]
    own = {name: add(terms) for name, add in ORDERS.items()} | {"BLAS": x @ w}
    left = {name: np.abs(y - exact) for name, y in own.items()}
    return float_sums.left_by(product), left, np.abs(x).astype(float) @ np.abs(w)


@pytest.mark.parametrize("k", [4, 16, 64, 1024, 4096, 16384])
@pytest.mark.parametrize("data", [*MIXED, *OTHERS, *ALIKE])
def test_no_order_is_beyond(data: Any, k: int) -> None:
    for dtype in DTYPES if k < 4096 else DTYPES[:1]:
        bound, left, _ = measured(data, k, dtype)
        beyond = {name: own for name, own in left.items() if (own > bound).any()}
        assert not beyond, (dtype, beyond)


@pytest.mark.parametrize("k", [1024, 16384])
@pytest.mark.parametrize("data", MIXED)
def test_of_mixed_signs_the_bound_does_not_grow_with_their_number(data: Any, k: int) -> None:
    """Partial sums are as far from all magnitudes as the root of K: it is not counted twice."""
    bound, left, whole = measured(data, k)
    assert np.median(bound / whole) <= 6 * 2**-24
    assert 1.5 * max(own.max() for own in left.values()) <= bound.max(), left


@pytest.mark.parametrize("k", [1024, 16384])
def test_of_one_sign_it_grows_as_the_root(k: int) -> None:
    bound, left, whole = measured(positive, k)
    assert (bound <= 3 * k**0.5 * 2**-24 * whole).all()
    assert 2 * max(own.max() for own in left.values()) <= bound.max(), left


def test_a_row_of_equal_terms_is_a_bound_for_itself() -> None:
    """One row and one column of one value each: only their element may be so far off."""

    def data(rng: Any, k: int) -> Data:
        x, w = normal(rng, k)
        x[0], w[:, 0] = 1.1, 0.0123
        return x, w

    bound, _, whole = measured(data, 11008, np.float16)
    share = bound / (whole * 2**-24)
    assert share[0, 0] > 1000
    share[0, 0] = 0
    assert share.max() < 20


def test_what_is_not_finite_says_nothing() -> None:
    x, w = (a.astype(F32) for a in normal(np.random.default_rng(0), 4096))
    plain = float_sums.left_by(products.of_floats(x.copy(), lambda: w))
    x[0, 0], x[1, 0] = np.nan, np.inf
    bound = float_sums.left_by(products.of_floats(x, lambda: w))
    assert not np.isfinite(bound[:2]).any()
    assert np.array_equal(bound[2:], plain[2:])
    none = products.of_floats(np.ones((2, 0), F32), lambda: np.ones((0, 3), F32))
    assert np.array_equal(float_sums.left_by(none), np.zeros((2, 3)))


def narrow() -> tuple[Any, dict[str, Any], Any]:
    """Return a deep layer's results, its arguments, and results of two operators of 16 bits."""
    rng, kind = np.random.default_rng(7), ml_dtypes.bfloat16
    x, w = (a.astype(kind) for a in normal(rng, 4096))
    bias = F32(rng.standard_normal(COLUMNS) / 200)
    total = F32(x) @ F32(w)
    inputs = {"x": [x], "weight": [w], "bias": [bias]}
    return (total + bias).astype(kind), inputs, (F32(total.astype(kind)) + bias).astype(kind)


def test_a_16_bit_intermediate_does_not_hide_in_a_deep_sum() -> None:
    actual, inputs, wrong = narrow()
    assert compare(actual, op="npu_grouped_matmul", inputs=inputs).passed
    comparison = compare(wrong, op="npu_grouped_matmul", inputs=inputs)
    assert not comparison.passed
    assert NARROW in comparison.variants[0].name


def test_a_mistake_that_leaves_far_fewer_than_many_ties_is_none_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where a bound would hide it, the search finds it: the verdict heeds what the report says."""
    monkeypatch.setattr(float_sums, "FLOOR", 1e9)
    actual, inputs, wrong = narrow()
    at = np.argmax(actual != wrong)  # one that is not the formula's, byte for byte
    wrong.flat[at] = actual.flat[at]
    comparison = compare(wrong, op="npu_grouped_matmul", inputs=inputs)
    ties = comparison.decisive.ties
    assert ties is not None
    assert ties.within == comparison.decisive.metrics.mismatches  # type: ignore[union-attr]
    assert [NARROW in variant.name for variant in comparison.variants] == [True]
    assert (comparison.rung, comparison.passed) == ("different", False)
    assert "follows npu_grouped_matmul with" in str(comparison).splitlines()[0]
