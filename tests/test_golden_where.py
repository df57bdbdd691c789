"""Where differences lie: places, odds, and what they look like."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from npu_quant import ParamError
from npu_quant.golden import Concentration, Where, compare
from npu_quant.golden.api import run
from npu_quant.golden.elements import elements_of
from npu_quant.golden.judge.changes import factors_of
from npu_quant.golden.judge.request import Request
from npu_quant.golden.measure.where import log10_odds

Array = NDArray[Any]


@pytest.fixture
def golden(rng: np.random.Generator) -> Array:
    return rng.integers(-100, 100, (64, 1000)).astype(np.int8)


def where(actual: Array, golden: Array, axis: int | None = None) -> Where:
    found = run(actual, golden, Request(axis=axis)).where
    assert found is not None
    return found


def kinds(found: Where) -> dict[str, Concentration]:
    return {c.kind: c for c in found.concentrations}


class TestOdds:
    def test_nothing_beyond_what_is_expected(self) -> None:
        assert log10_odds(10, 100, 1, 10) == 0
        assert log10_odds(5, 100, 1, 10) == 0

    def test_all_in_one_of_ten(self) -> None:
        """(1/10)^n, times ten ways to choose the one."""
        assert log10_odds(8, 8, 1, 10) == pytest.approx(-7)
        assert log10_odds(8, 8, 2, 10) == pytest.approx(8 * math.log10(0.2) + math.log10(45))

    def test_it_bounds_the_binomial_tail(self) -> None:
        tail = sum(math.comb(20, k) * 0.1**k * 0.9 ** (20 - k) for k in range(12, 21))
        assert 10 ** log10_odds(12, 20, 1, 10) >= 10 * tail


class TestPlaces:
    def test_rows(self, golden: Array) -> None:
        actual = golden.copy()
        actual[7, ::3] += 1
        actual[9, ::3] += 1
        found = where(actual, golden)
        assert (found.first, found.rows, found.of_rows) == (7000, 2, 64)
        assert (found.columns, found.of_columns) == (334, 1000)
        assert kinds(found)["row"].places == (7, 9)
        assert kinds(found)["row"].held == kinds(found)["row"].of == 668
        assert "block" not in kinds(found)

    def test_columns(self, golden: Array) -> None:
        actual = golden.copy()
        actual[:, 999] += 1
        assert kinds(where(actual, golden))["column"].places == (999,)

    def test_a_block(self, golden: Array) -> None:
        actual = golden.copy()
        actual[3, 896:1000] += 1  # the last block of 8 a row
        found = where(actual, golden)
        assert found.concentrations[0].kind == "block"
        assert found.concentrations[0].named == "row 3 columns 896-999"
        assert found.concentrations[0].places == (3 * 8 + 7,)

    def test_ranges(self, golden: Array) -> None:
        actual = golden.copy()
        actual[48:, 5::7] += 1
        assert kinds(where(actual, golden))["rows"].places == (48, 63)
        actual = golden.copy()
        actual[::5, 960:] += 1
        assert kinds(where(actual, golden))["columns"].places == (960, 999)

    @pytest.mark.parametrize(
        ("inside", "outside", "is_range"),
        [(1, 0.005, True), (0.2, 0.01, True), (0.2, 0.04, False), (0.2, 0.027, False)],
    )
    def test_a_range_among_others(self, inside: float, outside: float, is_range: bool) -> None:
        """It has half of the differences at least, and is 8 times as dense; to the row exactly."""
        rng = np.random.default_rng(9)
        golden = np.zeros((1024, 512), np.int8)
        share = np.full((1024, 1), outside)
        share[100:228] = inside
        found = kinds(where((rng.random(golden.shape) < share).astype(np.int8), golden))
        assert ("rows" in found) == is_range
        if is_range:
            assert found["rows"].places == (100, 227)
            assert found["rows"].of // 2 <= found["rows"].held < found["rows"].of

    def test_a_period(self, golden: Array) -> None:
        actual = golden.copy()
        actual[:, 5::32] += 1
        assert kinds(where(actual, golden))["period"].places == (32, 5)

    def test_a_period_of_which_few_columns_hold_half(self, golden: Array) -> None:
        golden = golden[:, :256]
        actual = golden.copy()
        actual[:, ::16] += 1
        found = where(actual, golden).concentrations
        assert [(c.kind, c.places, c.held) for c in found] == [("period", (16, 0), 16 * 64)]

    def test_what_holds_less_than_half_is_not_named(self) -> None:
        """A little more in every 128th column, among differences everywhere: unlikely, yet no place."""
        rng = np.random.default_rng(5)
        golden = np.zeros((2048, 1024), np.int8)
        actual = (rng.random(golden.shape) < 0.5).astype(np.int8)
        actual[:, ::128] = rng.random((2048, 8)) < 0.6
        assert where(actual, golden).concentrations == ()

    def test_chance_names_nothing(self, golden: Array, rng: np.random.Generator) -> None:
        for _ in range(20):
            actual = golden.copy()
            actual[rng.integers(64, size=300), rng.integers(1000, size=300)] += 1
            assert where(actual, golden).concentrations == ()

    def test_a_few_are_no_pattern(self, golden: Array) -> None:
        actual = golden.copy()
        actual[7, 3] += 1
        assert where(actual, golden).concentrations == ()

    def test_an_axis_that_is_asked_for(self, rng: np.random.Generator) -> None:
        golden = rng.integers(-100, 100, (4, 16, 32)).astype(np.int8)
        actual = golden.copy()
        actual[:, 5] += 1
        for axis in (1, -2):
            assert kinds(where(actual, golden, axis))[f"axis {axis}"].places == (5,)
        with pytest.raises(ParamError, match="axis is 3, the arrays have rank 3"):
            where(actual, golden, 3)
        for axis in (2, -1):  # the columns, which are named as such
            assert f"axis {axis}" not in kinds(where(actual, golden, axis))
        both = run((actual, actual[0, 0]), (golden, golden[0, 0] + np.int8(1)), Request(axis=1))
        assert both.outputs[0].where is not None
        assert kinds(both.outputs[0].where)["axis 1"].places == (5,)

    def test_ranks_of_all_sorts(self) -> None:
        for shape in ((), (5,), (1, 1), (2, 3, 4, 5)):
            golden = np.zeros(shape, np.float32)
            found = where(golden + 1, golden)
            assert found.first == 0
            assert found.of_rows * found.of_columns == golden.size

    def test_the_worst(self, golden: Array) -> None:
        actual = golden.astype(np.int16)
        reference = actual.copy()
        actual[3, 4] += 2
        actual[5, 6] -= 9
        comparison = compare(actual, reference)
        assert comparison.where is not None
        assert comparison.where.worst == 5006
        worst = comparison.worst(10)
        assert [e.index for e in worst] == [(5, 6), (3, 4)]
        large = compare(np.array([2**62 + 7, 10, 0]), np.array([2**62, 12, 5]))
        assert [e.index for e in large.worst(3)] == [(0,), (2,), (1,)]
        assert comparison.worst(1) == worst[:1]
        assert comparison.worst(0) == []
        assert compare(reference, reference.copy()).worst() == []


class TestDiagnosis:
    """What the differences look like; each with a twin that does not look like it."""

    def note(self, actual: Array, golden: Array) -> str:
        return " ".join(compare(actual, golden).outputs[0].causes)

    def test_never_written(self, golden: Array) -> None:
        assert "0 everywhere: was it ever written?" in self.note(golden * 0, golden)
        assert "7 everywhere" in self.note(golden * 0 + np.int8(7), golden)
        almost = golden * 0
        almost[1, 1] = 1
        assert "everywhere" not in self.note(almost, golden)

    def test_flipped_signs(self, golden: Array) -> None:
        assert "sign is flipped" in self.note(-golden, golden)
        wrong = -golden
        wrong[0, 0] += 1  # as a tie
        assert "flipped" in self.note(wrong, golden)
        wrong[::10] += 1
        assert "flipped" not in self.note(wrong, golden)

    def test_swapped_axes(self, golden: Array) -> None:
        square = golden[:, :64]
        assert "last two axes are swapped" in self.note(square.T.copy(), square)
        wrong = square.T.copy()
        wrong[0, 1] += 1  # as a tie
        assert "swapped" in self.note(wrong, square)
        wrong[::10] += 1
        assert "swapped" not in self.note(wrong, square)

    def test_swapped_rows(self, golden: Array) -> None:
        actual = golden.copy()
        actual[[3, 9]] = golden[[9, 3]]
        assert "row" in self.note(actual, golden)
        assert "3 holds the golden's 9, 9 holds the golden's 3" in self.note(actual, golden)
        actual[3, 3] += 1  # as a tie
        assert "holds the golden's" in self.note(actual, golden)
        actual[3:10, ::10] += 1
        assert "holds the golden's" not in self.note(actual, golden)
        mask = golden > 50
        mask[0] = True
        forced = mask.copy()
        forced[[9, 11]] = True
        assert "holds the golden's" not in self.note(forced, mask)

    @pytest.mark.parametrize(("shift", "words"), [(1, "right by 1 column"), (-3, "left by 3 col")])
    def test_a_shifted_row(self, golden: Array, shift: int, words: str) -> None:
        actual = golden.copy()
        actual[5] = np.roll(golden[5], shift)
        assert words in self.note(actual, golden)
        actual[5, 500] += 1  # as a tie
        assert words in self.note(actual, golden)
        actual[5, ::10] += 1
        assert "shifted" not in self.note(actual, golden)

    def test_a_factor_on_the_scale(self) -> None:
        v = np.array([10.2, -20.4, 30.6, 100.0, 126.9, 0.1])
        q = np.clip(np.rint(v * 1.05), -128, 127)
        interval = factors_of(v, v, q, elements_of(np.int8))
        assert interval is not None
        assert interval[0] <= 1.05 <= interval[1]
        assert interval[1] / interval[0] < 1.02
        assert factors_of(v, v, q + np.array([0, 0, 3, 0, 0, 0]), elements_of(np.int8)) is None
        assert factors_of(v, v, -q, elements_of(np.int8)) is None
        assert factors_of(v, v, np.rint(v), elements_of(np.int8)) is None  # nothing is wrong
        assert factors_of(v[:3], v[:3], q[:3], elements_of(np.int8)) is None
