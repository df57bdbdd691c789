"""Formats of elements: their neighbours, the ties between them, and codes of numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from npu_quant.golden.operators.arithmetic import compiled, roundings
from npu_quant.golden.operators.formats import format_of, whole

E4M3 = ml_dtypes.float8_e4m3fn
WHOLE = ["int8", "uint8", "int32", ml_dtypes.int4]
FLOATS = [E4M3, ml_dtypes.float8_e5m2, np.float16, ml_dtypes.bfloat16]


def in_order(dtype: Any) -> Any:
    """Return all finite values of a float format of up to 16 bits, 0 once."""
    size = np.dtype(dtype).itemsize
    values = np.arange(1 << (8 * size)).astype(f"u{size}").view(dtype)
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    keep = np.isfinite(wide) & ~((wide == 0) & np.signbit(wide))
    return values[keep][np.argsort(wide[keep], kind="stable")]


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: np.dtype(d).name)
class TestFloats:
    def test_neighbours_are_the_next_values(self, dtype: Any) -> None:
        values = in_order(dtype)
        wide = values.astype(np.float64)
        below, above = format_of(dtype).neighbours(values)
        assert (below == [wide[0], *wide[:-1]]).all()
        assert (above == [*wide[1:], wide[-1]]).all()

    def test_ties_are_where_conversion_changes(self, dtype: Any) -> None:
        values = in_order(dtype)
        own = format_of(dtype)
        low, high = own.ties(values)
        wide = values.astype(np.float64)
        assert (low[1:] == (wide[1:] + wide[:-1]) / 2).all()
        assert (high[:-1] == low[1:]).all()
        assert (low[0], high[-1]) == (-np.inf, np.inf)
        inside = np.float32(np.nextafter(np.float32(low[1:]), np.float32(np.inf)))
        assert (own.nearest(inside.astype(np.float64)) == values[1:]).all()

    def test_steps_are_counted_in_their_order(self, dtype: Any) -> None:
        values = in_order(dtype)
        own = format_of(dtype)
        assert (own.steps(values[1:], values[:-1]) == 1).all()
        assert own.steps(values[:1], values[-1:]) == len(values) - 1
        assert own.steps(-values[:1] * 0, values[:1] * 0) == 0
        assert own.steps(np.array([np.nan], dtype), values[:1]) == np.inf


def test_e4m3_ends_at_448() -> None:
    own = format_of(E4M3)
    assert own.limits == (-448, 448)
    top = np.array([448, 416, 2.0**-9], E4M3)
    below, above = own.neighbours(top)
    assert (below.tolist(), above.tolist()) == ([416, 384, 0], [448, 448, 2.0**-8])
    test = own.tie(np.array([430.0]), top[:1], top[1:2])
    assert (test.tie, test.steps, test.magnitude) == (432, 1, 432)


@pytest.mark.parametrize("dtype", WHOLE, ids=lambda d: np.dtype(d).name)
class TestWhole:
    def test_neighbours_and_ties(self, dtype: Any) -> None:
        own = whole(dtype)
        low, high = (int(end) for end in own.limits)
        codes = np.array([low, 3, high], own.carrier)
        below, above = own.neighbours(codes)
        assert (below.tolist(), above.tolist()) == ([low, 2, high - 1], [low + 1, 4, high])
        ties = own.ties(codes)
        assert [t.tolist() for t in ties] == [
            [-np.inf, 2.5, high - 0.5],
            [low + 0.5, 3.5, np.inf],
        ]

    def test_codes(self, dtype: Any) -> None:
        own = whole(dtype)
        numbers = np.array([-np.inf, np.nan, 2, np.inf], np.float32)
        assert own.codes(numbers).astype(float).tolist() == [own.limits[0], 0, 2, own.limits[1]]
        narrow = own.codes(numbers, int(own.limits[0]) + 1, nan=1).astype(float)
        assert narrow.tolist() == [own.limits[0] + 1, 1, 2, own.limits[1]]
        assert numbers[0] == -np.inf  # it is left as it was

    def test_nearest(self, dtype: Any) -> None:
        values = np.array([0.5, 1.5, 2.6, 1e10])
        found = whole(dtype).nearest(values).astype(float)
        assert found.tolist() == [0, 2, 3, whole(dtype).limits[1]]


def test_a_mask_is_0_or_1() -> None:
    own = format_of(np.bool_)
    assert own.nearest(np.array([0.0, 1.01])).tolist() == [False, True]


class TestTexts:
    """What a formula's text says is what is computed."""

    def test_numbers_are_float32(self) -> None:
        third = compiled("x * (1/3)", "x")
        x = np.array([3, 7], np.float32)
        assert third(x).dtype == np.float32
        assert (third(x) == x * (np.float32(1) / np.float32(3))).all()
        assert third(x.astype(np.float64)).dtype == np.float64

    def test_names_and_functions(self) -> None:
        x, eps = np.array([4, 0], np.float32), np.float32(1e-8)
        assert (compiled("max(x2, 1e-8)", "x2")(x) == np.maximum(x, eps)).all()
        assert compiled("sqrt(a) + b", "a", "b")(x, x).tolist() == [6, 0]

    @pytest.mark.parametrize(
        ("text", "count"),
        [
            ("{x} / {scale}", 1),
            ("{x} * (1 / {scale})", 2),
            ("{x} * ((1 / amax) * 127)", 3),
            ("max(amax, 1e-12) / 127", 1),
            ("amax + 1e-8", 1),
            ("sqrt(mean + epsilon)", 2),
        ],
    )
    def test_roundings_are_operations(self, text: str, count: int) -> None:
        assert roundings(text) == count
