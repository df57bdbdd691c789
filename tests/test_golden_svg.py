"""The pictures of a comparison draw the numbers that were measured."""

import dataclasses
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import GOLDEN, SVG, TIE, bars, by_op, cells, element, titled, wrong_row

from npu_quant import golden
from npu_quant._text import escaped
from npu_quant.golden.judge import outputs
from npu_quant.golden.measure import collected, maps
from npu_quant.golden.measure.metrics import STEP_BINS
from npu_quant.golden.report import svg
from npu_quant.golden.results import Concentration, Map, Seen, Where


def test_steps_are_drawn_as_counted() -> None:
    steps = dict(zip(STEP_BINS, (1, 0, 20, 4_000_000, 30, 2, 3_000_000_000), strict=True))
    picture = ElementTree.fromstring(svg.histogram(svg.bars_of_steps(steps), "t"))
    drawn = bars(picture)
    names = ["≤ −3", "−2", "−1", "0", "+1", "+2", "≥ +3"]
    assert [drawn[name][0] for name in names] == [f"{n:,}" for n in steps.values()]
    heights = [drawn[name][1] for name in names]
    assert sorted(heights) == [heights[i] for i in np.argsort(list(steps.values()))]
    assert heights[1] == 0 < heights[0]


def labels(picture: ElementTree.Element) -> list[str]:
    return [t.text or "" for t in picture.iter(f"{SVG}text")]


def test_only_equal_elements_are_pale_and_only_long_numbers_are_squeezed() -> None:
    steps = {"-1": 1, "0": 3_000_000_000, "+1": 1}
    picture = ElementTree.fromstring(svg.histogram(svg.bars_of_steps(steps), "t"))
    opacities = [r.get("fill-opacity") for r in picture.iter(f"{SVG}rect")]
    assert opacities == ["0.85", "0.3", "0.85"]
    squeezed = [t.text for t in picture.iter(f"{SVG}text") if t.get("textLength")]
    assert squeezed == ["3,000,000,000"]


def test_axes_are_logarithmic_beyond_a_ratio_of_thirty() -> None:
    counts = ([0, 0], [5], [1, 30], [1, 31], [0, 1, 31])
    assert [svg.is_logarithmic(c) for c in counts] == [False, False, False, True, True]


def test_texts_are_escaped_and_lose_their_middle_beyond_their_limit() -> None:
    assert escaped("a" * 240) == "a" * 240
    assert escaped("a" * 200 + "b" * 41) == "a" * 118 + "..." + "a" * 77 + "b" * 41
    assert escaped("<\x1b&") == "&lt;\\x1b&amp;"


def test_distances_are_counted_by_powers_of_ten() -> None:
    distances = np.array([0, 4, 4.5, 10, 11, 1000, 5e4, 2e5, np.inf, np.nan])
    assert maps.by_decade(distances, 4) == {
        "≤ 4": 2,
        "≤ 10": 2,
        "≤ 100": 1,
        "≤ 1000": 1,
        "≤ 1e4": 0,
        "≤ 1e5": 1,
        "beyond": 3,
    }
    at_ten = maps.by_decade(distances, 10)
    assert at_ten == {"≤ 10": 4, "≤ 100": 1, "≤ 1000": 1, "≤ 1e4": 0, "≤ 1e5": 1, "beyond": 3}


def test_bars_are_proportional_unless_they_span_decades() -> None:
    few, many = (
        bars(ElementTree.fromstring(svg.histogram(svg.bars_of_steps(steps), "t")))
        for steps in ({"-1": 10, "0": 20}, {"-1": 10, "0": 1000})
    )
    assert few["0"][1] == pytest.approx(2 * few["−1"][1], abs=0.1)
    assert many["0"][1] < 4 * many["−1"][1]


def test_histograms_of_a_wrong_row() -> None:
    comparison = wrong_row()
    root, y = element(comparison), comparison.output("y")
    assert y.metrics is not None
    drawn = bars(titled(root, "y: actual − golden in codes"))
    assert [number for number, _ in drawn.values()] == [f"{n:,}" for n in y.metrics.steps.values()]
    assert sum(int(n.replace(",", "")) for n, _ in drawn.values()) == 40 * 256
    distances = bars(titled(root, "y: differing codes by ulp"))
    assert distances["≤ 4"][0] == "0"
    assert sum(int(n) for n, _ in distances.values()) == y.metrics.mismatches
    tie = bars(titled(element(by_op(TIE)), "by ulp from a tie"))
    assert [number for number, _ in tie.values()] == ["1", "0", "0", "0", "0", "0", "0"]


def test_pairs_that_are_no_numbers_are_not_among_the_steps() -> None:
    root = element(golden.compare(np.array([1, np.nan, np.inf]), np.array([1, 2, -np.inf])))
    picture = titled(root, "2 pairs with NaN or inf not among them")
    assert [number for number, _ in bars(picture).values()] == ["0", "0", "0", "1", "0", "0", "0"]


def test_the_map_shows_where() -> None:
    wanted = np.zeros((200, 1000), np.int8)
    actual = wanted.copy()
    for place in ((0, 0), (7, 15), (7, 16), (199, 999)):
        actual[place] = 1
    picture = titled(element(golden.compare(actual, wanted)), "where")
    # 200 rows: 4 in a cell make 50; 1000 columns: 16 in a cell make 63.
    assert cells(picture) == [(0, 0), (1, 0), (1, 1), (49, 62)]
    assert labels(picture) == [
        *("column (16 a cell)", "0", "999", "row (4 a cell)", "0", "199"),
        "1 difference in a cell",
    ]
    assert float(next(picture.iter(f"{SVG}rect")).get("x") or 0) > 50
    assert cells(titled(element(golden.compare(wanted, wanted + (wanted == 0))), "where")) == [
        (y, x) for y in range(50) for x in range(63)
    ]


def test_rows_and_columns_where_differences_gather_are_marked() -> None:
    wanted = np.zeros((100, 256), np.int8)
    row, column = wanted.copy(), wanted.copy()
    row[17], column[:, 223] = 1, 1
    for actual, mark in ((row, "◂ 17"), (column, "▾ 223")):
        picture = titled(element(golden.compare(actual, wanted)), "where")
        assert [label for label in labels(picture) if label[0] in "◂▾"] == [mark]


def test_a_vector_has_no_rows() -> None:
    actual = np.zeros(65, np.int8)
    actual[64] = 1
    picture = titled(element(golden.compare(actual, np.zeros(65, np.int8))), "where")
    assert cells(picture) == [(0, 32)]
    # A single element is no concentration, and is not marked.
    assert labels(picture) == ["element (2 a cell)", "0", "64", "1 difference in a cell"]
    assert float(next(picture.iter(f"{SVG}rect")).get("x") or 0) < 10


def test_cells_with_more_differences_are_darker() -> None:
    counts = np.array([[0, 1, 3, 300]])
    picture = ElementTree.fromstring(svg.heat_map(Map(counts, 1, 100, 1, 400), "t"))
    assert cells(picture) == [(0, 1), (0, 2), (0, 3)]
    opacity = [float(p.get("stroke-opacity") or 0) for p in picture.iter(f"{SVG}path")]
    assert opacity == [0.3, 1.0]  # log(3) is nearer log(1): one shade for both
    assert labels(picture)[3:] == ["1", "300 differences in a cell"]


def test_marks_keep_apart() -> None:
    """A cell is 6 wide, and a column's number needs 42; rows are 5 high, and need 11."""
    drawn = Map(np.ones((20, 50), np.int64), 1, 1, 20, 50)
    picture = ElementTree.fromstring(
        svg.heat_map(drawn, "t", marked=([3, 4, 5, 6, 19], [0, 6, 7, 20]))
    )
    marks = [label for label in labels(picture) if label[0] in "◂▾"]
    assert marks == ["◂ 3", "◂ 6", "◂ 19", "▾ 0", "▾ 7", "▾ 20"]
    assert labels(picture)[0] == "column"
    assert labels(picture)[3] == "row"


def test_the_title_counts_rows() -> None:
    assert titled(element(wrong_row()), "y: where the differences are: in 1 of 40 rows") is not None


def test_places_of_another_axis_are_no_columns() -> None:
    found = Concentration("axis 1", (3, 5), 8, 8, -9.0)
    where = Where(0, 0, 8, 64, 8, 64, (found,))
    assert maps.gathered(where) == ([], [])
    assert maps.gathered(
        dataclasses.replace(where, concentrations=(dataclasses.replace(found, kind="column"),))
    ) == (
        [],
        [3, 5],
    )


def test_as_many_differences_as_may_be_drawn_are(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = wrong_row().output("y").metrics
    assert metrics is not None
    for limit, drawn in ((metrics.mismatches, True), (metrics.mismatches - 1, False)):
        for module in (collected, outputs):
            monkeypatch.setattr(module, "MOST_LISTED", limit)
        words = "".join(element(wrong_row()).itertext())
        for found in ("y: where", "y: differing codes by ulp"):
            assert (found in words) == drawn
        assert "y: the worst" in words  # they are looked at one by one all the same


def test_many_differences_are_drawn_by_row_and_by_column(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (collected, outputs):
        monkeypatch.setattr(module, "MOST_LISTED", 3)
    root = element(wrong_row())
    assert cells(titled(root, "y: differences by row")) == [(7, 0)]
    assert len({y for y, _ in cells(titled(root, "y: differences by column"))}) == 1
    assert "y: where" not in "".join(root.itertext())
    alone = golden.compare(np.ones(4, np.int8), np.zeros(4, np.int8))
    assert "the worst" not in "".join(element(alone).itertext())  # not known without a second pass
    assert [e.index for e in alone.worst()] == [(0,)]


def test_bucketed_rows_are_drawn() -> None:
    """Counts of an array with more rows than are counted one by one."""
    comparison = golden.compare(TIE, GOLDEN)
    (output,) = comparison.outputs
    counts = np.zeros(65536, np.int64)
    counts[-1] = 5
    assert output.where is not None
    where = dataclasses.replace(
        output.where, of_rows=65536 * 1024, row_counts=counts, row_bucket=1024
    )
    metrics = dataclasses.replace(output.metrics, mismatches=collected.MOST_LISTED + 1)  # type: ignore[type-var]
    huge = dataclasses.replace(output, where=where, metrics=metrics, shape=(65536 * 1024, 4))
    huge = dataclasses.replace(huge, seen=Seen())
    root = element(dataclasses.replace(comparison, outputs=(huge,)))
    picture = titled(root, "differences by row")
    assert cells(picture) == [(63, 0)]
    assert {"row (1,048,576 a cell)", "67,108,863", "5 differences in a cell"} <= {*labels(picture)}
    assert "column" in labels(picture)  # all of them in each cell: not worth saying


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.integers(1, 300), st.data())
def test_a_map_counts_every_difference(rows: int, columns: int, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, rows * columns - 1), max_size=40, unique=True))
    wanted = np.zeros((rows, columns), np.int8)
    actual = wanted.copy()
    actual.flat[places] = 1
    (output,) = golden.compare(actual, wanted).outputs
    found = output.seen.map
    if not places:
        assert found is None
        return
    assert found is not None
    assert max(found.counts.shape) <= 64
    expected = np.zeros_like(found.counts)
    for place in places:
        expected[place // columns // found.row_step, place % columns // found.column_step] += 1
    np.testing.assert_array_equal(found.counts, expected)
    by_row, by_column = maps.margins_of(output.where)  # type: ignore[arg-type]
    np.testing.assert_array_equal(by_row.counts[:, 0], expected.sum(axis=1))
    np.testing.assert_array_equal(by_column.counts[0], expected.sum(axis=0))
