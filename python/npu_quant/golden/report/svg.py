"""Pictures of a comparison as inline SVG, in colours that a light and a dark page can show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..._svg import picture, text
from ..results import Map
from . import words

EQUAL, ONE_STEP, FARTHER, EXPLAINED = "currentColor", "#d98a1e", "#d1442f", "#3f9a58"
"""Elements that agree, that are one step apart or farther, that rounding explains."""

_WIDTH, _HEIGHT, _BARS = 400, 150, 7
_LEVELS = (0.3, 0.45, 0.6, 0.8, 1.0)
_DECADES = 30
"""From this ratio of greatest to least count on, bars are drawn by the logarithm."""


def is_logarithmic(counts: Sequence[int]) -> bool:
    """Say whether bars of such counts need a logarithmic axis to be seen beside each other."""
    some = [n for n in counts if n]
    return bool(some) and max(some) > _DECADES * min(some)


def _sign(step: str) -> str:
    """Return the name of a bar of the step histogram as people write it."""
    return step.replace("<=", "≤ ").replace(">=", "≥ +").replace("-", "−")


class Bar(NamedTuple):
    """A bar of a histogram."""

    name: str
    height: int
    colour: str
    opacity: float = 0.85


def bars_of_steps(steps: Mapping[str, int]) -> list[Bar]:
    """Return the bars of the step histogram."""
    colours = {"0": EQUAL, "-1": ONE_STEP, "+1": ONE_STEP}
    return [
        Bar(_sign(step), n, colours.get(step, FARTHER), 0.3 if step == "0" else 0.85)
        for step, n in steps.items()
    ]


def bars_of_distances(counts: Mapping[str, int]) -> list[Bar]:
    """Return the bars of distances from a tie; the first is what rounding explains."""
    return [Bar(name, n, FARTHER if i else EXPLAINED) for i, (name, n) in enumerate(counts.items())]


def histogram(bars: Sequence[Bar], title: str) -> str:
    """Draw bars, each with its count above it."""
    counts = [bar.height for bar in bars]
    logarithmic = is_logarithmic(counts)

    def size(n: int) -> float:
        return math.log10(n) + 0.3 if logarithmic and n else float(n)

    wide = min(_WIDTH / _BARS, _WIDTH / len(bars))
    most, base = size(max(counts)) or 1.0, _HEIGHT - 20
    width = wide * len(bars)
    parts = [f'<path d="M0 {base}.5H{width:g}" stroke="currentColor" stroke-opacity=".5"/>']
    for i, bar in enumerate(bars):
        tall = max(1.5, (base - 18) * size(bar.height) / most) if bar.height else 0.0
        middle = (i + 0.5) * wide
        parts.append(
            f'<rect x="{middle - 0.4 * wide:.1f}" y="{base - tall:.1f}" width="{0.8 * wide:.1f}" '
            f'height="{tall:.1f}" fill="{bar.colour}" fill-opacity="{bar.opacity}"/>'
        )
        for y, label in ((base - tall - 4, words.count(bar.height)), (_HEIGHT - 6, bar.name)):
            # What is too long is written smaller, not over its neighbour.
            fit = f' textLength="{wide - 4:.0f}" lengthAdjust="spacingAndGlyphs"'
            parts.append(text(middle, y, label, more=fit * (6 * len(label) > wide)))
    return picture(width, _HEIGHT, title, parts)


def _level(n: int, most: int) -> int:
    """Return which shade a count has, by its logarithm."""
    last = len(_LEVELS) - 1
    return last if n >= most else int(last * math.log(n) / math.log(most))


def _cells(map: Map) -> str:
    """Draw the cells, each run of equal ones as a line of their height."""
    most = int(map.counts.max())
    paths: dict[int, list[str]] = {}
    for y, row in enumerate(map.counts.tolist()):
        x = 0
        while x < len(row):
            level, begin = _level(row[x], most) if row[x] else -1, x
            while x < len(row) and (_level(row[x], most) if row[x] else -1) == level:
                x += 1
            if level >= 0:
                paths.setdefault(level, []).append(f"M{begin} {y}h{x - begin}")
    return "".join(
        f'<path d="{"".join(runs)}" stroke="{FARTHER}" stroke-opacity="{_LEVELS[level]}"/>'
        for level, runs in sorted(paths.items())
    )


def _axis_name(name: str, step: int, places: int) -> str:
    return f"{name} ({words.count(step)} a cell)" if 1 < step < places else name


def _marks(places: Sequence[int], step: int, cell: float, least: float) -> list[tuple[int, float]]:
    """Return places with their distance from the axis' start, without those too near another."""
    kept: list[tuple[int, float]] = []
    for place in sorted(places):
        at = (place // step + 0.5) * cell
        if not kept or at - kept[-1][1] >= least:
            kept.append((place, at))
    return kept


def _axes(map: Map, box: tuple[float, float, float, float], names: tuple[str, str]) -> list[str]:
    """Return first and last number of either axis, and its name."""
    x, y, width, height = box
    rows, columns = _axis_name(names[0], map.row_step, map.rows), names[1]
    columns = _axis_name(columns, map.column_step, map.columns)
    below = y + height + 12
    parts = [text(x + width / 2, below, columns), text(x, below, "0", "start")]
    parts.append(text(x + width, below, words.count(map.columns - 1), "end"))
    if len(map.counts) > 1:
        middle = y + height / 2
        turned = f' transform="rotate(-90 9 {middle:g})"'
        parts.append(text(9, middle, rows, more=turned))
        parts.append(text(x - 4, y + 9, "0", "end"))
        parts.append(text(x - 4, y + height, words.count(map.rows - 1), "end"))
    return parts


def _legend(map: Map, x: float, y: float) -> list[str]:
    """Return the shades of the fewest and the most differences that a cell has."""
    some = map.counts[map.counts > 0]
    least, most = int(some.min()), int(some.max())
    shades = [least, most] if least < most else [most]
    parts = []
    for n in shades:
        parts.append(
            f'<rect x="{x:g}" y="{y - 8:g}" width="9" height="9" fill="{FARTHER}" '
            f'fill-opacity="{_LEVELS[_level(n, most)]}"/>'
        )
        label = words.count(n) if n < most else f"{words.counted(n, 'difference')} in a cell"
        parts.append(text(x + 13, y, label, "start"))
        x += 28 + 6.2 * len(label)
    return parts


def heat_map(
    map: Map,
    title: str,
    names: tuple[str, str] = ("row", "column"),
    marked: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> str:
    """Draw a map of differences.

    Args:
        map: what to draw, with one difference or more.
        title: what it says.
        names: of the axes.
        marked: numbers of rows and of columns to point at.
    """
    down, across = map.counts.shape
    height = float(np.clip(5 * down, 14, 220))
    x, y, width = (56.0 if down > 1 else 4.0), 15.0, 300.0
    frame = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    parts = [
        f'<rect {frame} fill="currentColor" fill-opacity=".06" stroke="currentColor" '
        f'stroke-opacity=".4"/><svg {frame} viewBox="0 -.5 {across} {down}" '
        f'preserveAspectRatio="none" shape-rendering="crispEdges">{_cells(map)}</svg>',
        *_axes(map, (x, y, width, height), names),
        *_legend(map, x, y + height + 30),
    ]
    if down > 1:
        for place, at in _marks(marked[0], map.row_step, height / down, 11):
            parts.append(text(x + width + 3, y + at + 3.5, f"◂ {words.count(place)}", "start"))
    for place, at in _marks(marked[1], map.column_step, width / across, 42):
        parts.append(text(x + at, y - 4, f"▾ {words.count(place)}"))
    return picture(x + width + 60, y + height + 36, title, parts)
