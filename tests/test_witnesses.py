"""The checks of the other tests fail where they must."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases.case import FLOAT16, Case, check
from cases.dynamic_quant import CASES
from witnesses import Array, assert_same_bits, assert_same_but_nan, guarded, spoil

from npu_quant import _core, npu_dynamic_quant


@pytest.mark.parametrize(
    "other", [[1, 2, 0.0], [1, np.nan, -0.0], [np.nan, np.nan, 0.0], [1, np.nan]]
)
def test_the_comparison_that_lets_nans_differ_fails(dtype: np.dtype, other: list[float]) -> None:
    a = np.array([1, np.nan, 0.0], dtype)
    assert_same_but_nan((a,), (np.array([1, -np.nan, 0.0], dtype),))
    with pytest.raises(AssertionError):
        assert_same_but_nan((a,), (np.array(other, dtype),))


@pytest.mark.parametrize("other", [[1, 2], [[1, 3]], [[1, 2, 3]], [[1.0, 2.0]]])
def test_the_comparison_of_bits_fails(other: Any) -> None:
    a = np.array([[1, 2]], np.int8)
    assert_same_bits((a,), (a.copy(),))
    wrong = np.array(other)
    with pytest.raises(AssertionError):
        assert_same_bits((a,), (wrong if wrong.dtype == float else wrong.astype(np.int8),))
    with pytest.raises(AssertionError):
        assert_same_bits((a,), (None,))


@pytest.mark.parametrize("place", [0, 1024 + 16 - 1, 1024 + 16 + 8, -1])
def test_a_guard_sees_what_is_written_outside(place: int) -> None:
    like = np.zeros((2, 4), np.int8)
    with guarded([None, like], 16) as (none, inside):
        assert none is None
        inside[...] = 1
    with pytest.raises(AssertionError, match="outside"), guarded([like], 16) as (inside,):
        inside.base[place] = 1


def test_what_is_spoilt_differs_everywhere(rng: np.random.Generator) -> None:
    value = rng.integers(0, 256, 999, np.uint8)
    for dtype in (np.bool_, np.int8):
        array = np.zeros(2 * 999, dtype)[::2]
        spoil(array, value.view(dtype))
        assert (array.view(np.uint8) != value).all()


X = {"input": np.array([[0, 1, -2, 4]], np.float16)}


def one_wrong(y: Array) -> Array:
    y = y.copy()
    y[0, 2] += 1
    return y


def wrong_code(**a: Any) -> Any:
    y, scale = npu_dynamic_quant(**a)
    return one_wrong(y), scale


def wrong_on_one_target(**a: Any) -> Any:
    return wrong_code(**a) if _core.target() == _core.targets()[-1] else npu_dynamic_quant(**a)


def strided(**a: Any) -> Any:
    y, scale = npu_dynamic_quant(**a)
    return np.repeat(y, 2, axis=1)[:, ::2], scale


def not_into_out(**a: Any) -> Any:
    out = a.pop("out", None)
    return out if out is not None else npu_dynamic_quant(**a)


def beside_out(**a: Any) -> Any:
    npu_dynamic_quant(**a)
    return npu_dynamic_quant(a["input"])


CASE = CASES[0]
OUT = np.zeros((1, 4), np.int8), np.zeros(1, np.float32)


@pytest.mark.parametrize(
    ("operator", "out", "text"),
    [
        (wrong_code, None, r"output 0: 1 of 4 differ, first at \[0 2\]: -63, expected -64"),
        (wrong_on_one_target, None, f"dynamic_quant on {_core.targets()[-1]}, there, of input float16"),
        (strided, None, "on baseline"),
        (not_into_out, OUT, "output 0: 4 of 4 differ"),
        (not_into_out, (None, OUT[1]), "output 0: 1 of 1 differ"),
        (beside_out, OUT, "on baseline"),
        (lambda **a: 1 / 0, None, "division by zero"),
    ],
)  # fmt: skip
def test_a_check_fails_and_says_where(operator: Any, out: Any, text: str) -> None:
    before = _core.target()
    check(CASE, X, out=out)
    with pytest.raises(AssertionError, match=text):
        check(replace(CASE, operator=operator), X, out=out, where="there")
    assert _core.target() == before


def test_a_case_makes_what_it_is_asked_for(rng: np.random.Generator) -> None:
    plain, special = CASE.tried(rng, ((9, 16), {}), dtype=FLOAT16)
    assert np.isfinite(plain["input"]).all()
    assert not np.isfinite(special["input"]).all()
    assert isinstance(CASE, Case)
