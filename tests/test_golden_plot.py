"""The pictures that matplotlib draws."""

import dataclasses
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from pictures import GOLDEN, TIE, by_op, wrong_row

from npu_quant import golden

PNG = b"\x89PNG"


def panels(figure: Any) -> list[str]:
    """Return what each panel's horizontal axis is, without colour bars."""
    return [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]


def test_an_operator_has_three_panels_and_two_arrays_have_two() -> None:
    steps, distance = "actual − golden, in steps", "distance from a rounding tie, in ulp"
    assert panels(wrong_row().plot("y")) == [steps, "column", distance]
    assert panels(wrong_row().plot("scale")) == [steps, "element"]
    assert panels(golden.compare(TIE, GOLDEN).plot()) == [steps, "column"]
    assert panels(golden.compare(GOLDEN, GOLDEN).plot()) == [steps]


def test_the_decisive_output_is_drawn_unless_another_is_named() -> None:
    op = "npu_dynamic_quant"
    assert wrong_row().plot().get_suptitle() == f"{op} scale float32 (40,): different"
    assert wrong_row().plot("y").get_suptitle() == f"{op} y int8 (40, 256): different"
    assert golden.compare(GOLDEN, GOLDEN).plot().get_suptitle() == "int8 (1, 4): identical"


def test_bars_are_the_counts() -> None:
    comparison = wrong_row()
    metrics = comparison.output("y").metrics
    assert metrics is not None
    axes = comparison.plot("y").axes[0]
    assert [bar.get_height() for bar in axes.patches] == [*metrics.steps.values()]
    assert [text.get_text() for text in axes.texts] == [f"{n:,}" for n in metrics.steps.values()]
    assert axes.get_yscale() == "log"


def test_the_map_is_the_map() -> None:
    wanted = np.zeros((100, 300), np.int8)
    actual = wanted.copy()
    actual[17, 4] = actual[99, 299] = 1
    axes = golden.compare(actual, wanted).plot().axes[1]
    shades = axes.images[0].get_array()
    assert shades.shape == (50, 38)  # 2 rows and 8 columns a cell
    assert {(int(y), int(x)) for y, x in zip(*np.nonzero(~shades.mask), strict=True)} == {
        (8, 0),
        (49, 37),
    }
    assert (axes.get_xlim(), axes.get_ylim()) == ((-0.5, 299.5), (99.5, -0.5))


def test_the_axes_of_a_map_suit_the_array() -> None:
    def drawn(shape: tuple[int, ...]) -> Any:
        wanted = np.zeros(shape, np.int8)
        actual = wanted.copy()
        actual.flat[0] = 1
        return golden.compare(actual, wanted).plot().axes[1:]

    matrix, bar = drawn((64, 65))
    assert (matrix.get_ylabel(), bar.get_ylabel()) == ("row", "differences in 2 columns")
    vector, bar = drawn((64,))
    assert (vector.get_ylabel(), list(vector.get_yticks()), bar.get_ylabel()) == (
        "",
        [],
        "differences",
    )


@pytest.mark.parametrize(("most", "scale"), [(10, "linear"), (11, "log")])
def test_shades_are_logarithmic_where_there_are_many(most: int, scale: str) -> None:
    wanted = np.zeros((1, 16 * 64), np.int8)
    actual = wanted.copy()
    actual[0, :most] = 1
    figure = golden.compare(actual, wanted).plot()
    assert figure.axes[2].get_yscale() == scale
    ticks = figure.axes[2].get_yticks()
    assert scale == "log" or all(tick == int(tick) for tick in ticks)


def test_distances_are_all_drawn_with_k() -> None:
    comparison = wrong_row()
    y = comparison.output("y")
    axes = comparison.plot("y").axes[-1]
    assert axes.texts[0].get_text() == " k = 4"
    bars = [patch.get_height() for patch in axes.patches[:40]]
    assert y.metrics is not None
    assert sum(bars) == y.metrics.mismatches
    # None is explained by rounding: all stand right of k; a tie stands left of it.
    assert not any(p.get_height() for p in axes.patches[:40] if p.get_x() < 4)
    tie = by_op(TIE).plot().axes[-1]
    assert sum(p.get_height() for p in tie.patches[:40] if p.get_x() < 4) == 1


def test_codes_without_a_number_before_rounding_are_counted_beside() -> None:
    x = np.array([[np.nan, 1, -2, 4]], np.float16)  # a NaN leaves its row no scale
    comparison = by_op(GOLDEN + np.int8(1), x)
    assert comparison.plot().axes[-1].get_ylabel() == "differing codes (4 have none)"
    assert by_op(TIE).plot().axes[-1].get_ylabel() == "differing codes"


@pytest.mark.parametrize(
    ("actual", "wanted"),
    [
        (np.zeros(3, np.int8), np.zeros(3, np.uint8)),
        (np.int8(1), np.int8(2)),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)),
        (np.array([np.nan, np.inf]), np.array([1, -np.inf])),
        (np.zeros(10_000, np.int8), np.ones(10_000, np.int8)),
    ],
    ids=["dtype", "0-D", "empty", "not finite", "1-D"],
)
def test_every_comparison_can_be_drawn(actual: Any, wanted: Any) -> None:
    assert golden.compare(actual, wanted).plot()._repr_png_().startswith(PNG)


def test_what_cannot_be_compared_says_why() -> None:
    figure = golden.compare(np.zeros(3, np.int8), np.zeros(3, np.uint8)).plot()
    assert any(text.get_text().startswith("dtype differs") for text in figure.texts)


def test_names_are_no_formulas() -> None:
    comparison = golden.compare({r"$\frac{": TIE}, {r"$\frac{": GOLDEN})
    assert comparison.plot()._repr_png_().startswith(PNG)


def test_outputs_without_their_arrays_are_drawn_from_their_counts() -> None:
    comparison = wrong_row()
    bare = dataclasses.replace(comparison.output("y"), actual=None, golden=None)
    figure = dataclasses.replace(comparison, outputs=(bare,)).plot()
    assert panels(figure) == ["actual − golden, in steps", "column"]
    assert figure._repr_png_().startswith(PNG)


def test_without_matplotlib_there_is_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        by_op(TIE).plot()


def test_pyplot_and_its_backends_stay_out() -> None:
    """A notebook would show the picture twice, and a script would need a display."""
    code = (
        "import sys, numpy as np; from npu_quant import golden\n"
        "loaded = lambda: 'matplotlib' in sys.modules\n"
        "comparison = golden.compare(np.zeros(3), np.ones(3)); print(loaded())\n"
        "comparison.plot()._repr_png_(); print(loaded(), 'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False"]
