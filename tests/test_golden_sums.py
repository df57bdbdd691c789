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


INDEPENDENT = (normal, positive, biased, nearly_one)
ALIKE = (constant, two_values, repeated, one_large, one_constant_row)


def measured(data: Callable[[Any, int], Data], k: int) -> tuple[float, dict[str, float]]:
    """Return the bound of a product, and what each order leaves of it, in the same unit."""
    x, w = (a.astype(F32) for a in data(np.random.default_rng(k), k))
    product = products.of_floats(x, lambda: w)
    bound = float_sums.sum_roundings(k, lambda: float_sums.some_of([product]))
    exact, size = products.exact(product), products.sizes(product)
    terms = x.T[:, :, None] * w[:, None]
    own = {name: add(terms) for name, add in ORDERS.items()} | {"BLAS": x @ w}
    return bound, {
        name: (np.abs(y - exact) / np.spacing(F32(size))).max() for name, y in own.items()
    }


@pytest.mark.parametrize("k", [64, 256, 1024, 4096, 16384])
@pytest.mark.parametrize("data", INDEPENDENT)
def test_independent_roundings_are_far_below(data: Any, k: int) -> None:
    bound, left = measured(data, k)
    assert bound <= 4 * k**0.5 + 1
    assert 3 * max(left.values()) <= bound, left


@pytest.mark.parametrize("k", [64, 1024, 4096, 16384])
@pytest.mark.parametrize("data", ALIKE)
def test_equal_terms_are_below(data: Any, k: int) -> None:
    """Roundings of equal terms are all to one side: they grow as K, and so does the bound."""
    bound, left = measured(data, k)
    assert bound <= (k + k // 32 + 1) / 2
    assert max(left.values()) <= bound, left


def test_what_is_not_finite_says_nothing() -> None:
    x, w = (a.astype(F32) for a in normal(np.random.default_rng(0), 4096))
    x[0, 0], x[1, 0], x[2] = np.nan, np.inf, 0
    product = products.of_floats(x, lambda: w)
    assert float_sums.sum_roundings(4096, lambda: float_sums.some_of([product])) == 256
    assert float_sums.sum_roundings(0, lambda: float_sums.some_of([product])) == 0.5


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


def test_a_formula_that_leaves_far_fewer_than_many_ties_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the bound hides it, it passes as before."""
    monkeypatch.setattr(float_sums, "SURE", 1e9)
    actual, inputs, wrong = narrow()
    at = np.argmax(actual != wrong)  # one that is not the formula's, byte for byte
    wrong.flat[at] = actual.flat[at]
    comparison = compare(wrong, op="npu_grouped_matmul", inputs=inputs)
    assert comparison.passed
    assert comparison.rung == "tie"
    assert [NARROW in variant.name for variant in comparison.variants] == [True]
    assert "also follows npu_grouped_matmul with" in " ".join(str(comparison).split())
