"""Causes at their limits: one difference less, or one more that they leave, and none is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npu_quant
from npu_quant.golden import compare
from npu_quant.golden.elements import elements_of
from npu_quant.golden.judge.changes import factors_of

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    """Whatever other tests ran before."""
    RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state


def causes(actual: Any, golden: Any) -> tuple[str, ...]:
    return compare(actual, golden).decisive.causes


def numbers(rows: int, columns: int) -> np.ndarray:
    """Return codes from 20 to 99, no two rows alike."""
    return RNG.integers(20, 100, (rows, columns)).astype(np.int8)


def row_of(
    change: Callable[[np.ndarray], np.ndarray], differing: int, left: int
) -> tuple[str, ...]:
    """Change so many codes of a row, of which some become something else; the others are 0."""
    golden = numbers(64, 64)
    golden[5, differing:] = 0
    actual = golden.copy()
    actual[5, :differing] = change(golden[5, :differing])
    actual[5, :left] += 5
    return causes(actual, golden)


class TestWhatIsLeft:
    """At most 1 in 20, of at least 32 codes."""

    @pytest.mark.parametrize(
        ("differing", "left", "is_named"),
        [
            (40, 2, True),
            (39, 2, False),
            (40, 3, False),
            (32, 1, True),
            (32, 0, True),
            (31, 0, False),
        ],
    )
    def test_of_signs(self, differing: int, left: int, is_named: bool) -> None:
        found = row_of(np.negative, differing, left)
        assert [text[:28] for text in found] == ["the sign is flipped in row 5"] * is_named

    @pytest.mark.parametrize(("differing", "is_named"), [(8, True), (7, False)])
    def test_of_floats(self, differing: int, is_named: bool) -> None:
        golden = RNG.standard_normal((64, 64)).astype(np.float32)
        golden[5, differing:] = 0
        actual = golden.copy()
        actual[5] = -golden[5]
        actual[5, differing:] = 0
        named = ("the sign is flipped in row 5",) if is_named else ()
        assert causes(actual, golden) == named

    def test_nan_in_both_is_alike(self) -> None:
        golden = RNG.standard_normal((64, 64)).astype(np.float32)
        golden[5, ::4] = np.nan
        actual = golden.copy()
        actual[5] = -golden[5]
        assert causes(actual, golden) == ("the sign is flipped in row 5",)

    def test_of_what_is_added(self) -> None:
        golden = numbers(64, 64)
        for left, named in ((3, ("7 is added in row 5",)), (4, ())):
            actual = golden.copy()
            actual[5] += 7
            actual[5, :left] -= 11
            assert causes(actual, golden) == named, left  # 64 differ: 3 are less than 1 in 20


class TestRowsAtOtherPlaces:
    @staticmethod
    def exchanged(differing: int, left: int, columns: int = 64) -> tuple[str, ...]:
        """Exchange rows 3 and 9, which differ in so many columns; change some codes of both."""
        golden = numbers(64, columns)
        golden[9] = golden[3]
        golden[9, :differing] -= RNG.integers(1, 9, differing).astype(np.int8)
        actual = golden.copy()
        actual[[3, 9]] = golden[[9, 3]]
        actual[3, :left] += 30
        actual[9, :left] += 30
        return causes(actual, golden)

    NAMED = ("rows are in wrong places: 3 holds the golden's 9, 9 holds the golden's 3",)

    @pytest.mark.parametrize(
        ("differing", "left", "columns", "is_named"),
        [
            (40, 2, 64, True),
            (40, 3, 64, False),
            (8, 0, 8, True),  # so many columns, and differences, at least
            (7, 0, 7, False),
            (9, 0, 80, True),
            (8, 0, 80, False),  # a row is wrong if more than a tenth of it is
        ],
    )
    def test_few_codes_are_left(
        self, differing: int, left: int, columns: int, is_named: bool
    ) -> None:
        found = self.exchanged(differing, left, columns)
        assert (found == self.NAMED) == is_named, found

    @pytest.mark.parametrize(("others", "is_named"), [(2, True), (3, False)])
    def test_half_of_the_wrong_rows_are(self, others: int, is_named: bool) -> None:
        golden = numbers(64, 64)
        actual = golden.copy()
        actual[[3, 9]] = golden[[9, 3]]
        actual[20 : 20 + others] = numbers(others, 64)
        assert (causes(actual, golden) == self.NAMED) == is_named

    def test_a_row_that_is_there_twice(self) -> None:
        golden = numbers(64, 64)
        actual = golden.copy()
        actual[3] = golden[9]  # which is where it should be, too
        assert causes(actual, golden) == ("rows are in wrong places: 3 holds the golden's 9",)

    @pytest.mark.parametrize(("count", "more"), [(3, ""), (4, " and 1 more")])
    def test_three_are_named(self, count: int, more: str) -> None:
        golden = numbers(64, 64)
        actual = golden.copy()
        actual[:count] = np.roll(golden[:count], 1, axis=0)
        (found,) = causes(actual, golden)
        assert found.startswith(f"rows are in wrong places: 0 holds the golden's {count - 1}, 1 ")
        assert found.endswith(f", 2 holds the golden's 1{more}")

    def test_two_rows(self) -> None:
        golden = numbers(2, 64)
        named = ("rows are in wrong places: 0 holds the golden's 1, 1 holds the golden's 0",)
        assert causes(golden[::-1], golden) == named

    def test_a_row_of_one_value_is_no_other_row(self) -> None:
        golden = numbers(64, 64)
        golden[9] = 7
        actual = golden.copy()
        actual[3] = 7
        assert causes(actual, golden) == ("row 3 is 7 everywhere",)

    def test_rows_of_one_value_are_no_other_rows(self) -> None:
        """Every other row is lost, and the golden has such rows of its own."""
        golden = numbers(256, 64)
        golden[3::16] = 0
        actual = golden.copy()
        actual[::2] = 0
        named = "rows 0, 2, ... (every 2nd) are 0 everywhere: were they ever written?"
        assert causes(actual, golden) == (named,)

    @pytest.mark.parametrize(("rows", "is_named"), [(4096, True), (4097, False)])
    def test_of_many_rows_only_wrong_ones_are_looked_among(self, rows: int, is_named: bool) -> None:
        golden = numbers(rows, 16)
        actual = golden.copy()
        actual[3] = golden[9]
        named = ("rows are in wrong places: 3 holds the golden's 9",)
        assert (causes(actual, golden) == named) == is_named

    def test_the_last_of_many_rows(self) -> None:
        """They are counted two by two, and their number is odd."""
        last = 1 << 16
        golden = numbers(last + 1, 16)
        actual = golden.copy()
        actual[[3, last]] = golden[[last, 3]]
        places = f"3 holds the golden's {last}, {last} holds the golden's 3"
        named = f"rows are in wrong places: {places}"
        assert causes(actual, golden) == (named,)


class TestEverywhere:
    @pytest.mark.parametrize(("count", "is_named"), [(32_000, True), (32_001, False)])
    def test_one_in_a_thousand_differs_at_least(self, count: int, is_named: bool) -> None:
        golden = np.zeros(count, np.int8)
        golden[np.linspace(0, count - 1, 32).astype(int)] = RNG.integers(3, 99, 32)
        assert (causes(-golden, golden) == ("the sign is flipped everywhere",)) == is_named

    @pytest.mark.parametrize(("rows", "columns"), [(2, 64), (64, 2), (64, 64), (3, 40)])
    def test_swapped_axes(self, rows: int, columns: int) -> None:
        golden = numbers(rows, columns)
        assert causes(np.ascontiguousarray(golden.T), golden) == ("the last two axes are swapped",)

    @pytest.mark.parametrize(("pairs", "is_named"), [(40, True), (39, False)])
    def test_swapped_axes_make_1_in_20_differ_at_least(self, pairs: int, is_named: bool) -> None:
        """A matrix of 40 x 40 that is symmetric but for some pairs."""
        half = numbers(40, 40)
        golden = np.tril(half) + np.tril(half, -1).T
        rows, columns = (some[:: len(some) // pairs][:pairs] for some in np.triu_indices(40, 1))
        golden[rows, columns] += 1
        found = causes(np.ascontiguousarray(golden.T), golden)
        assert (found == ("the last two axes are swapped",)) == is_named, found

    @pytest.mark.parametrize(
        ("shape", "is_named"), [((4, 5, 6, 7), True), ((4, 5, 2, 3, 7), False)]
    )
    def test_orders_of_four_axes_at_most(self, shape: tuple[int, ...], is_named: bool) -> None:
        golden = numbers(1, 840).reshape(shape)
        order = (1, 0, *range(2, len(shape)))
        actual = golden.transpose(order).reshape(shape)
        named = (f"elements lie in another order: in the order {order} of {shape}",)
        assert (causes(actual, golden) == named) == is_named

    def test_a_single_row_has_none_to_swap(self) -> None:
        golden = numbers(1, 64)
        assert causes(golden.T.copy(), golden) == ()

    @pytest.mark.parametrize(("size", "is_named"), [(4096, True), (4095, False)])
    def test_another_input_s(self, size: int, is_named: bool) -> None:
        golden, actual = RNG.integers(-99, 100, (2, size)).astype(np.int8)
        found = causes(actual.reshape(1, -1), golden.reshape(1, -1))
        assert [
            text.startswith("another input's result, or another order: ") for text in found
        ] == ([True] if is_named else [])

    @pytest.mark.parametrize(
        ("pairs", "counts", "is_named"),
        [  # half of them differ at least, a fifth in sign; and the cosine is less than 0.05
            ([(1, 1), (-1, -1), (1, -1), (-1, 1)], [1024, 1024, 1024, 1024], True),
            ([(1, 1), (-1, -1), (1, -1), (-1, 1)], [1024, 1025, 1024, 1023], False),
            ([(20, 31), (31, 20), (50, -50), (-50, 50)], [2048, 2048, 512, 512], True),
            ([(20, 31), (31, 20), (50, -50), (-50, 50)], [2048, 2049, 512, 511], False),
            ([(1, 2), (2, 1), (1, -2), (-2, 1)], [1530, 1529, 1350, 1351], True),
            ([(1, 2), (2, 1), (1, -2), (-2, 1)], [1530, 1530, 1350, 1350], False),
        ],
    )
    def test_what_unrelated_codes_are(
        self, pairs: list[tuple[int, int]], counts: list[int], is_named: bool
    ) -> None:
        """So many of each pair of an actual and a golden code, in any order."""
        both = RNG.permutation(np.repeat(np.array(pairs, np.int8), counts, axis=0)).T
        found = causes(both[:1].copy(), both[1:].copy())
        assert [text[:15] for text in found] == ["another input's"] * is_named

    def test_of_one_sign_a_cosine_tells_nothing(self) -> None:
        golden, actual = RNG.integers(0, 2, (2, 8192)).astype(np.int8) * 50
        golden[::2], actual[1::2] = 0, 0
        assert causes(actual.reshape(1, -1), golden.reshape(1, -1)) == ()

    def test_of_one_axis(self) -> None:
        golden = numbers(1, 512)[0]
        assert causes(-golden, golden) == ("the sign is flipped everywhere",)


class TestOneValue:
    @pytest.mark.parametrize(("count", "is_named"), [(4, True), (3, False)])
    def test_of_four_at_least(self, count: int, is_named: bool) -> None:
        golden = numbers(256, count)
        actual = golden.copy()
        actual[5] = 0
        named = ("row 5 is 0 everywhere: was it ever written?",)
        assert (causes(actual, golden) == named) == is_named

    @pytest.mark.parametrize(("written", "is_named"), [(10, True), (9, False)])
    def test_where_1_in_20_was_another(self, written: int, is_named: bool) -> None:
        golden = numbers(64, 200)
        golden[5, RNG.permutation(200)[written:]] = 0
        actual = golden.copy()
        actual[5] = 0
        named = ("row 5 is 0 everywhere: was it ever written?",)
        assert causes(actual, golden) == (named if is_named else ())

    def test_several_rows(self) -> None:
        golden = numbers(64, 64)
        actual = golden.copy()
        actual[5:7] = 0
        assert causes(actual, golden) == ("rows 5 to 6 are 0 everywhere: were they ever written?",)


class TestFewValues:
    """4 different ones at least: two runs of one each would do for a sum, or for a shift."""

    @pytest.mark.parametrize(("values", "is_named"), [(4, True), (3, False)])
    def test_of_what_is_added(self, values: int, is_named: bool) -> None:
        golden = numbers(64, 64)
        golden[5] = np.arange(64) % values * 7
        actual = golden.copy()
        actual[5] += 3
        found = causes(actual, golden)
        assert ("3 is added in row 5" in found) == is_named, found

    @pytest.mark.parametrize(("values", "is_named"), [(4, True), (3, False)])
    def test_of_shifts(self, values: int, is_named: bool) -> None:
        golden = numbers(64, 128)
        golden[5] = np.r_[np.arange(values), RNG.integers(0, values, 128 - values)] * 20 + 5
        actual = golden.copy()
        actual[5] = np.roll(golden[5], 7)
        found = causes(actual, golden)
        assert (found == ("row 5 is shifted right by 7 columns",)) == is_named, found


class TestShifts:
    @pytest.mark.parametrize(("by", "is_named"), [(64, True), (-64, True), (200, True)])
    def test_of_any_number_of_columns(self, by: int, is_named: bool) -> None:
        golden = numbers(4, 512)
        way = "right" if by > 0 else "left"
        found = causes(np.roll(golden, by, axis=1), golden)
        assert (found == (f"actual is shifted {way} by {abs(by)} columns",)) == is_named, found

    @pytest.mark.parametrize(
        ("columns", "by", "is_named"),
        [
            (32, 1, True),  # so many codes are wrong
            (31, 1, False),
            (128, 84, True),  # a third of a row is another one
            (128, 90, False),
        ],
    )
    def test_into_a_row_s_end(self, columns: int, by: int, is_named: bool) -> None:
        """What moves out is lost."""
        golden = np.tile(RNG.permutation(columns).astype(np.int8), (64, 1))
        golden += np.arange(64, dtype=np.int8)[:, None] % 7
        actual = golden.copy()
        actual[5] = np.r_[np.zeros(by), golden[5, :-by]]
        found = causes(actual, golden)
        named = f"row 5 is shifted right by {by} column{'s' * (by > 1)}"
        assert (found == (named,)) == is_named, found

    @pytest.mark.parametrize("rows", [slice(5, 6), slice(5, 9)])
    def test_of_half_a_block(self, rows: slice) -> None:
        golden = RNG.standard_normal((448, 384)).astype(np.float32)
        actual = golden.copy()
        actual[rows, 64:128] = golden[rows, :64]
        named = ("row 5 columns 64-127 is shifted right by 64 columns",)
        assert causes(actual, golden) == named

    def test_of_one_column(self) -> None:
        golden = numbers(64, 64)
        actual = golden.copy()
        actual[5] = np.roll(golden[5], -1)
        assert causes(actual, golden) == ("row 5 is shifted left by 1 column",)


class TestFactors:
    @pytest.mark.parametrize("rows", [slice(7, 8), slice(7, 12), slice(None)])
    def test_of_scales(self, rows: slice) -> None:
        """With the inputs a factor is the scale's: here it is 3 % too large."""
        x = RNG.standard_normal((64, 256)).astype(np.float16)
        y, scale = npu_quant.npu_dynamic_quant(x)
        wrong = scale.copy()
        wrong[rows] *= np.float32(1.03)
        y = np.clip(np.rint(x.astype(np.float32) / wrong[:, None]), -128, 127).astype(np.int8)
        found = compare(y, op="npu_dynamic_quant", inputs={"input": x}).decisive.causes
        name = {7: "row 7", None: "every row"}.get(rows.start, "")
        name = "rows 7 to 11" if rows.stop == 12 else name
        expected = f"the scale of {name} is wrong by +3 %: one factor gives its codes"
        # Of several rows, each with its own amax, one factor is still that of their scales.
        assert found == (expected,)

    def test_of_floats(self) -> None:
        golden = RNG.standard_normal((64, 64)).astype(np.float32)
        actual = golden.copy()
        actual[5] *= np.float32(1.5)
        assert causes(actual, golden) == ("a factor of 1.5 (+50 %) in row 5",)

    def test_of_codes(self) -> None:
        """Codes from 20 to 99, of numbers whose scale is 20 % less: 1.25 times as large."""
        golden = numbers(64, 64)
        actual = golden.copy()
        actual[5] = np.clip(np.rint(golden[5] * 1.25), -128, 127).astype(np.int8)
        assert causes(actual, golden) == ("a factor of about 1.25 in row 5, before rounding",)

    @pytest.mark.parametrize(("values", "is_named"), [(8, True), (7, False)])
    def test_of_eight_values_at_least(self, values: int, is_named: bool) -> None:
        golden = (40 + np.arange(64 * 64) % values).reshape(64, 64).astype(np.int8)
        actual = golden.copy()
        actual[5] = np.rint(golden[5] * 1.25).astype(np.int8)
        found = causes(actual, golden)
        assert any("factor" in text for text in found) == is_named, found

    def test_with_the_inputs_few_wrong_codes_are_enough(self) -> None:
        """All that are right bear the factor out; of two arrays alone they do not."""
        x = RNG.standard_normal((64, 256)).astype(np.float16)
        golden, scale = npu_quant.npu_dynamic_quant(x)
        scale[7] *= np.float32(1.002)
        y = np.clip(np.rint(x.astype(np.float32) / scale[:, None]), -128, 127).astype(np.int8)
        assert 8 <= np.count_nonzero(y != golden) < 32
        found = compare(y, op="npu_dynamic_quant", inputs={"input": x}).decisive.causes
        assert [text[:34] for text in found] == ["the scale of row 7 is wrong by +0."]
        assert causes(y, golden) == ()

    @pytest.mark.parametrize(("count", "is_known"), [(4, True), (3, False)])
    def test_of_four_numbers_at_least(self, count: int, is_known: bool) -> None:
        value = np.array([10.0, -20.0, 30.0, 40.0])[:count]
        codes = np.rint(value * 1.2).astype(np.int8)
        found = factors_of(value, value, codes, elements_of(np.int8))
        assert (found is not None) == is_known
