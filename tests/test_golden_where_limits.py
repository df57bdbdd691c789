"""Places at their limits: one difference elsewhere, and none is named; shapes at the bounds."""

from __future__ import annotations

import numpy as np
import pytest

from npu_quant.golden import compare
from npu_quant.golden.measure.where import concentration_of, period_of, range_of


def counts(places: int, **more: int) -> np.ndarray:
    """Return counts by place: `p3=5` are 5 in place 3."""
    result = np.zeros(places, np.int64)
    for name, count in more.items():
        result[int(name[1:])] = count
    return result


class TestHalf:
    """A place is named if it holds half of all differences, at least."""

    @pytest.mark.parametrize(("elsewhere", "is_named"), [(32, True), (33, False)])
    def test_of_a_place(self, elsewhere: int, is_named: bool) -> None:
        some = np.zeros(1024, np.int64)
        some[100 : 100 + elsewhere] = 1
        some[5] = 32 - 7 * (elsewhere > 32)  # 7 places beside it hold one each
        found = concentration_of("row", some, 1024)
        assert found is not None
        assert (found.places == (5,)) == is_named

    @pytest.mark.parametrize(("elsewhere", "is_named"), [(100, True), (101, False)])
    def test_of_a_range(self, elsewhere: int, is_named: bool) -> None:
        some = np.zeros(10_000, np.int64)
        some[40:50] = 10
        some[1000 : 1000 + 80 * elsewhere : 80] = 1
        found = range_of("row", some, 10_000)
        assert (found is not None and found.places == (40, 49)) == is_named


def test_one_of_two_places() -> None:
    found = concentration_of("row", counts(2, p1=64), 2)
    assert found is not None
    assert found.places == (1,)
    assert concentration_of("row", counts(1, p0=64), 1) is None


@pytest.mark.parametrize(("inside", "is_named"), [(9, True), (8, False)])
def test_a_range_has_more_places_than_a_list(inside: int, is_named: bool) -> None:
    some = np.zeros(256, np.int64)
    some[40 : 40 + inside] = 50
    some[200] = 1
    assert (range_of("row", some, 256) is not None) == is_named


@pytest.mark.parametrize(("elsewhere", "is_named"), [(48, True), (49, False)])
def test_a_range_is_eight_times_as_dense(elsewhere: int, is_named: bool) -> None:
    """8 in each of 16 places, and one in each of the other 48."""
    some = np.ones(64, np.int64)
    some[20:36] = 8
    some[60] += elsewhere - 48
    assert (range_of("row", some, 64) is not None) == is_named


@pytest.mark.parametrize(("columns", "is_named"), [(16, True), (15, False)])
def test_a_period_is_there_twice(columns: int, is_named: bool) -> None:
    some = np.zeros(columns, np.int64)
    some[3::8] = 40
    assert (period_of("period", some) is not None) == is_named


@pytest.mark.parametrize(("rows", "bucket"), [(65_536, 1), (65_537, 2)])
def test_rows_are_counted_together_beyond_65536(rows: int, bucket: int) -> None:
    golden = np.zeros((rows, 2), np.int8)
    actual = golden.copy()
    actual[7, 1] = 3
    where = compare(actual, golden).where
    assert where is not None
    assert where.row_bucket == bucket
    assert len(where.row_counts) == -(-rows // bucket)


@pytest.mark.parametrize("axis", [0, -3])
def test_the_first_axis_from_either_end(axis: int) -> None:
    golden = np.arange(4 * 8 * 8, dtype=np.int16).reshape(4, 8, 8)
    actual = golden.copy()
    actual[2] += 3
    where = compare(actual, golden, axis=axis).where
    assert where is not None
    assert [c.places for c in where.concentrations if c.kind[:4] == "axis"] == [(2,)]
