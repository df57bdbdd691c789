"""What may be rounding, at its limits: one difference more, and it is none."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from npu_quant.golden import compare
from npu_quant.golden.elements import elements_of
from npu_quant.golden.judge import verdict


@pytest.mark.parametrize(
    ("dtype", "is_scale", "steps"),
    [
        (np.int8, False, 1),
        (ml_dtypes.float8_e4m3fn, False, 1),
        (np.float32, False, 1),
        (np.int64, False, 0),
        (np.float32, True, 1),
        (ml_dtypes.float8_e8m0fnu, True, 0),  # a power of two is exact
    ],
)
def test_steps_of_rounding(dtype: Any, is_scale: bool, steps: int) -> None:
    assert verdict.steps_of_rounding(elements_of(dtype), is_scale=is_scale) == steps


def test_rounding_explains_any_code_if_it_moves_by_all_of_them() -> None:
    """An ulp is 2 from 2^24 on, and 1 below: 127.5 of them are int8's range, or half of it."""
    magnitude = np.array([2.0**24, 2.0**24 - 1])
    found = verdict.explains_any(magnitude, 127.5, elements_of(np.int8))
    assert found.tolist() == [True, False]


@pytest.mark.parametrize(
    ("shape", "wrong", "is_maybe"),
    [
        ((1, 6), [1], True),  # one may always be off
        ((1, 6), [2], False),
        ((5, 100), [1, 1, 1, 1, 1], True),  # 1 in 100
        ((5, 100), [2, 1, 1, 1, 1], False),
        ((8, 64), [2, 2, 1], True),  # 1 in 32 of a row
        ((8, 64), [3, 1, 1], False),
    ],
)
def test_few_codes_may_be_off(shape: tuple[int, int], wrong: list[int], is_maybe: bool) -> None:
    golden = np.random.default_rng(0).integers(-99, 99, shape, np.int8)
    actual = golden.copy()
    for row, count in enumerate(wrong):
        actual[row, row + 1 :: shape[1] // count][:count] += 1
    comparison = compare(actual, golden)
    metrics = comparison.outputs[0].metrics
    assert metrics is not None
    assert metrics.mismatches == sum(wrong)
    assert ("may be rounding" in str(comparison)) == is_maybe
