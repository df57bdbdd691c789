"""npu_group_quant by hand: every special row of its page, groups of every size."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases.case import check
from cases.group_quant import CASES, arguments
from test_anti_quant import nearest
from witnesses import Array, assert_same_bits, columns, padded

from npu_quant import _core, npu_group_quant, npu_quantize
from npu_quant.golden import compare
from npu_quant.ops.group_quant import reference

F32 = np.float32
INF, NAN = np.inf, np.nan


def codes(x: Any, scale: Any, offset: float | None = None, ends: Any = (1,)) -> list[Any]:
    """Return int8 codes of one group, or of groups that end so."""
    given = None if offset is None else np.array([offset], F32)
    rows, scales = np.array(x, F32), np.array(scale, F32)
    if rows.ndim == 1:
        rows, scales = rows[None], np.broadcast_to(scales, rows.shape)[None]
    y = npu_group_quant(rows, scales, np.array(ends), offset=given)
    assert y.dtype == np.int8
    return y[0].tolist() if np.ndim(x) == 1 else y.tolist()


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 19."""

    def test_the_example(self) -> None:
        row = [1, -2, 2.5, 1000]
        y = codes([row, row], [[1] * 4, [0.5] * 4], 0.5, [1, 2])
        assert y == [[2, -2, 3, 127], [1, 0, 2, 127]]

    def test_int4(self) -> None:
        x = np.arange(-4, 4, dtype=np.float16)[None]
        y = npu_group_quant(x, np.full((1, 8), 2, F32), np.array([1]), dst_dtype=285)
        assert (y.dtype, y.tolist()) == (np.int32, [[0x6420ECA8]])

    def test_each_row_has_the_scales_of_its_group(self) -> None:
        """The first and third group have no rows, the second has two."""
        scale = [[9, 9], [1, 2], [9, 9], [3, 4]]
        assert codes([[1, 1]] * 3, scale, None, [0, 2, 2, 3]) == [[1, 2], [1, 2], [3, 4]]

    def test_many_groups(self) -> None:
        """More than are kept without allocating, each of two rows."""
        ends, scale = np.arange(2, 202, 2), np.arange(100, dtype=F32)[:, None]
        y = npu_group_quant(np.ones((200, 1), F32), scale, ends)
        assert y[:, 0].tolist() == [row // 2 for row in range(200)]

    def test_ties_go_to_even_after_the_sum(self) -> None:
        assert codes([0.5, 1.5, 2.5, -0.5, -1.5], 1) == [0, 2, 2, 0, -2]
        assert codes([0.5, 1.5, 2.5, -0.5, -1.5], 1, 1) == [2, 2, 4, 0, 0]

    def test_the_product_is_rounded_before_the_sum(self) -> None:
        """3 * fl(1/3) is above 1 by 2**-25, in float32 1; 2.5 of it is a tie, then."""
        assert codes([3], 1 / 3, 1.5) == [2]
        assert Fraction(float(F32(1 / 3))) * 3 > 1

    def test_saturation(self) -> None:
        assert codes([127.5, -128.5, 1e30, -INF, INF], 1) == [127, -128, 127, -128, 127]

    def test_nan_is_0(self) -> None:
        assert codes([NAN, 1, 0, INF, 1], [1, NAN, INF, 0, 1], 5) == [0, 0, 0, 0, 6]
        assert codes([INF, -INF, 1], 1, -INF) == [0, -128, -128]
        assert codes([1, 2], 1, NAN) == [0, 0]

    def test_subnormal_products(self) -> None:
        assert codes([2.0**-140], 2.0**-9, -1) == [-1]
        assert codes([2.0**-100], 2.0**-40) == [0]
        assert codes([2.0**-149], 2.0**127, 0.5) == [1]  # 2**-22 above a tie

    def test_scales_of_16_bits_are_widened(self) -> None:
        scale, offset = np.full((1, 2), 0.1, np.float16), np.full((), 0.25, np.float16)
        y = npu_group_quant(np.array([[1000, -5]], F32), scale, np.array([1]), offset=offset)
        assert y.tolist() == [[100, 0]]  # fl(1000 * 0.0999755859375) + 0.25 is 100.2255859375

    def test_empty(self) -> None:
        for shape, ends in (((0, 8), [0, 0]), ((3, 0), [1, 3])):
            scale = np.ones((2, shape[1]), F32)
            assert npu_group_quant(np.ones(shape, F32), scale, np.array(ends)).shape == shape


@pytest.mark.parametrize("to", ["int8", "int4"])
def test_a_group_is_what_npu_quantize_makes_of_its_rows(rng: np.random.Generator, to: str) -> None:
    a = arguments(rng, (50, 72), np.dtype(np.float16), to, groups=9)
    y, start = npu_group_quant(**a), 0
    for e, end in enumerate(a["group_index"]):
        one: Array = npu_quantize(
            a["x"][start:end], a["scale"][e], a["offset"], to, -1, div_mode=False
        )
        assert_same_bits((y[start:end],), (one,))
        start = end


@pytest.mark.parametrize("to", ["int8", "int4"])
def test_results_that_bypass_the_caches(rng: np.random.Generator, to: str) -> None:
    """As large ones do: in rows, in rows with gaps, in columns."""
    before = _core.streaming()
    assert _core.set_streaming("always")
    try:
        for groups in (1, 5):
            a = arguments(rng, (38, 4200), np.dtype(np.float16), to, groups=groups)
            (e,) = expected = CASES[0].expected(a)
            for out in (np.empty_like(e), padded(e), columns(e, 24)):
                check(CASES[0], a, expected, (out,))
    finally:
        _core.set_streaming(before)


def test_reference_against_fractions(rng: np.random.Generator) -> None:
    """The reference itself, against exact arithmetic that shares nothing with it."""
    a = arguments(rng, (6, 300), np.dtype(F32), groups=3)
    y = reference(**a)
    for i, j in np.ndindex(y.shape):
        e = next(e for e, end in enumerate(a["group_index"]) if i < end)
        product = nearest(
            Fraction(float(a["x"][i, j])) * Fraction(float(a["scale"][e, j])), "float32"
        )
        assert product is not None
        total = nearest(product + Fraction(-5, 2), "float32")
        assert total is not None
        assert y[i, j] == max(-128, min(127, round(total)))


def test_a_row_of_another_group_is_different(rng: np.random.Generator) -> None:
    a = arguments(rng, (40, 64), np.dtype(np.float16), groups=4)
    a["group_index"] = np.array([10, 20, 30, 40])
    y = npu_group_quant(**a)
    assert compare(y.copy(), op="npu_group_quant", inputs=a).rung == "identical"
    shifted = npu_group_quant(**a | {"group_index": np.array([10, 21, 30, 40])})
    comparison = compare(shifted, op="npu_group_quant", inputs=a)
    assert (comparison.rung, comparison.passed) == ("different", False)
    assert comparison.where.first == 20 * 64 + int(np.flatnonzero(shifted[20] != y[20])[0])
