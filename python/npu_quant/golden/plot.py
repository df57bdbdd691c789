"""A comparison drawn with matplotlib, which is imported only here and only when it is needed."""

from __future__ import annotations

import functools
import importlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import svg, words
from .comparison import Comparison, OutputComparison
from .maps import Map, distances_of, map_of, margins_of

_GREY = "0.6"
_FEW = 10
"""Up to so many differences in a cell, its shade is proportional to them; else by the logarithm."""
_NEAREST = 1e-2
"""Distances from a tie below this, in ulp, are drawn as this: the axis is logarithmic."""


def _matplotlib(module: str) -> Any:
    """Import a module of matplotlib, which nothing else here needs."""
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError("plot() draws with matplotlib: pip install matplotlib") from error


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def plot_comparison(comparison: Comparison, output: OutputComparison) -> Any:
    """Draw an output: step histogram, map of the differences, distances from a tie if known.

    Args:
        comparison: of which it is one.
        output: what to draw.

    Returns:
        A matplotlib Figure that a notebook shows, without pyplot.
    """
    panels: list[Callable[[Any], None]] = []
    if output.metrics is not None:
        steps = output.metrics.steps
        panels.append(lambda axes: _draw_steps(axes, steps))
    drawn = _map(output)
    if drawn is not None:
        along = "column" if len(output.shape) > 1 else "element"
        panels.append(lambda axes: _draw_map(axes, drawn, along))
    distances = distances_of(comparison, output)
    if distances is not None:
        assert output.ties is not None
        allowed = output.ties.allowed
        panels.append(lambda axes: _draw_distances(axes, distances, allowed))
    size = 4.2 * max(1, len(panels)), 3.6
    figure = _matplotlib("figure").Figure(figsize=size, layout="constrained")
    figure._repr_png_ = functools.partial(_png, figure)
    title = f"{comparison.op or ''} {output.title}: {output.rung}".lstrip()
    figure.suptitle(_plain(title), x=0.01, ha="left", weight="bold", size=10.5)
    for i, draw in enumerate(panels):
        draw(figure.add_subplot(1, len(panels), i + 1))
    if not panels:
        figure.text(0.01, 0.5, _plain(output.problem or "not compared"))
    return figure


def _plain(text: str) -> str:
    """Return a text that matplotlib does not take for a formula."""
    return text.replace("$", r"\$")


def _map(output: OutputComparison) -> Map | None:
    """Return the map of differences, or where that costs too much those per column."""
    whole = map_of(output)
    if whole is None and output.where is not None:
        return margins_of(output.where)[1]
    return whole


def _draw_steps(axes: Any, steps: dict[str, int]) -> None:
    colours = [_GREY if step == "0" else svg.colour_of(step) for step in steps]
    bars = axes.bar([svg.sign(step) for step in steps], list(steps.values()), color=colours)
    axes.bar_label(bars, [words.count(n) for n in steps.values()], size=7.5)
    if svg.is_logarithmic(list(steps.values())):
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.5)
    axes.margins(y=0.12)
    axes.set_xlabel("actual − golden, in steps")
    axes.set_ylabel("elements")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_map(axes: Any, drawn: Map, along: str) -> None:
    down, across = drawn.counts.shape
    most = int(drawn.counts.max())
    colors = _matplotlib("colors")
    image = axes.imshow(
        np.ma.masked_equal(drawn.counts, 0),
        cmap="YlOrRd",
        norm=colors.Normalize(0, most) if most <= _FEW else colors.LogNorm(0.5, most),
        aspect="auto",
        extent=(-0.5, across * drawn.column_step - 0.5, down * drawn.row_step - 0.5, -0.5),
        interpolation="nearest",
    )
    axes.set_xlim(-0.5, drawn.columns - 0.5)
    axes.set_ylim(drawn.rows - 0.5, -0.5)
    axes.set_facecolor("0.95")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(along)
    if down > 1:
        axes.set_ylabel("row")
        axes.yaxis.get_major_locator().set_params(integer=True)
    else:
        axes.set_yticks([])
    bar = axes.figure.colorbar(image, ax=axes, label=_unit(drawn, along))
    if most <= _FEW:
        bar.locator = _matplotlib("ticker").MaxNLocator(integer=True)
        bar.update_ticks()


def _unit(drawn: Map, along: str) -> str:
    """Return what a shade of the map counts."""
    spans = [
        words.counted(step, name)
        for step, name, places in (
            (drawn.row_step, "row", drawn.rows),
            (drawn.column_step, along, drawn.columns),
        )
        if step > 1
    ]
    return f"differences in {' x '.join(spans)}" if spans else "differences"


def _draw_distances(axes: Any, distances: NDArray[np.float64], allowed: float) -> None:
    finite = distances[np.isfinite(distances)]
    farthest = max(10 * allowed, float(finite.max(initial=1)))
    bins = np.geomspace(_NEAREST, farthest, 41)
    axes.hist(np.maximum(finite, _NEAREST), bins, color=svg.FARTHER)
    axes.axvspan(_NEAREST, allowed, color="tab:green", alpha=0.15)
    axes.axvline(allowed, color="tab:green")
    axes.annotate(
        f" k = {allowed:g}", (allowed, 1), xycoords=("data", "axes fraction"), va="top", size=9
    )
    axes.yaxis.set_major_locator(_matplotlib("ticker").MaxNLocator(integer=True, nbins=6))
    axes.set_xscale("log")
    axes.set_xlim(_NEAREST / 1.3, farthest * 1.3)
    axes.set_xlabel("distance from a rounding tie, in ulp")
    beyond = len(distances) - len(finite)
    without = f" ({words.count(beyond)} have none)" if beyond else ""
    axes.set_ylabel(f"differing codes{without}")
    axes.spines[["top", "right"]].set_visible(False)
