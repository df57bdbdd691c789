"""What formats lose of an array: as text, as data, as a table and as a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._format_losses import GROUPS, FormatLoss
from ._shown import NoTruth, plain
from ._svg import picture, text
from ._table import Column, Row, Table
from ._text import escaped

_INKS = ("#d1442f", "#8c8c8c", "#3f9a58", "#8a63c7", "#2f86c1", "#d98a1e", "#c75f9a")
_COLOURS = dict(zip(GROUPS, _INKS, strict=True))
"""Of groups, to be told apart on a light and on a dark page."""
_LEFT, _WIDTH, _LINE, _GAP = 105.0, 500.0, 9, 9
_CHARACTERS = 120
"""Of a line: room for the names of all groups."""


@dataclass(frozen=True, repr=False)
class FormatComparison(NoTruth):
    """What :func:`compare` returns: print it, or let a notebook show its picture and table."""

    _ask = "ask for .best() or .loss(format, group)"
    dtype: str
    shape: tuple[int, ...]
    losses: tuple[FormatLoss, ...]
    """Of each format with each group that an operator has it with."""

    def loss(self, format: str, group: str) -> FormatLoss:
        """Return what a format loses with a group; KeyError if they were not compared."""
        return {(one.format, one.group): one for one in self.losses}[format, group]

    def best(self) -> list[FormatLoss]:
        """Return each format with the group by which it loses least."""
        best: dict[str, FormatLoss] = {}
        for one in self.losses:
            if one.format not in best or one.sqnr_db > best[one.format].sqnr_db:
                best[one.format] = one
        return list(best.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, with the worst rows of each loss instead of all."""
        data: dict[str, Any] = plain(self)
        for shown, one in zip(data["losses"], self.losses, strict=True):
            shown["worst_rows"] = plain(one.worst())
        return {"schema_version": 1, **data}

    def to_svg(self) -> str:
        """Return the picture: a dot for each format and group, a line from its worst row on."""
        return _picture(self)

    def __repr__(self) -> str:
        best = max(self.losses, key=lambda one: one.sqnr_db, default=None)
        return f"<FormatComparison {self.dtype} {self.shape}: {len(self.losses)} ways; {best}>"

    def __str__(self) -> str:
        groups = [group for group in GROUPS if any(one.group == group for one in self.losses)]
        shown = {(one.format, one.group): f"{one.sqnr_db:.1f}" for one in self.losses}
        best = self.best()
        rows = [
            Row([one.format, *(shown.get((one.format, g), "-") for g in groups)]) for one in best
        ]
        table = Table([Column(""), *(Column(group, "number") for group in groups)], rows)
        lines = (f"SQNR in dB of {self.dtype} {self.shape}", table.text(_CHARACTERS))
        return "\n".join([*lines, "best by format:", *(f"  {one}" for one in best)])

    def _repr_html_(self) -> str:
        heads = ("format", "group", "SQNR in dB", "worst row", "bytes an element", "call")
        rows = [Row(_words(one)) for one in self.losses]
        table = Table([Column(head) for head in heads], rows).html()
        return f"{self.to_svg()}<details><summary>{len(rows)} ways</summary>{table}</details>"


def _words(one: FormatLoss) -> tuple[str, ...]:
    return (
        *(one.format, one.group, f"{one.sqnr_db:.1f}", one.worst_row),
        *(f"{one.bytes_per_element:.4g}", one.call),
    )


def _finite(one: FormatLoss) -> list[float]:
    """Return the dB to draw: of all, of the worst and of the best row; none of what has none."""
    rows = one.rows_db[np.isfinite(one.rows_db)]
    ends = [float(rows.min()), float(rows.max())] if rows.size else []
    return [one.sqnr_db, *ends] if math.isfinite(one.sqnr_db) else []


def _picture(comparison: FormatComparison) -> str:
    drawn = [(one, _finite(one)) for one in comparison.losses]
    every = [db for _, found in drawn for db in found] or [0.0]
    least = 10 * math.floor(min(every) / 10)
    most = max(least + 10, 10 * math.ceil(max(every) / 10))
    scale = _WIDTH / (most - least)
    parts, y, format = list[str](), 24.0, ""
    for one, found in drawn:
        if one.format != format:
            y, format = y + _GAP, one.format
            parts.append(text(_LEFT - 8, y + 8, format, "end"))
        if found:
            parts.append(_line(one, y + _LINE / 2, [_LEFT + scale * (db - least) for db in found]))
        y += _LINE
    for db in range(least, most + 1, 10):
        x, ink = _LEFT + scale * (db - least), 'stroke="currentColor" stroke-opacity=".15"'
        parts.append(f'<path d="M{x:.1f} 26V{y + 4:g}" {ink}/>')
        parts.append(text(x, y + 18, f"{db} dB" if db == most else str(db)))
    parts += _legend([one.group for one in comparison.losses])
    title = f"SQNR in dB of {comparison.dtype} {comparison.shape} by format and group"
    return picture(_LEFT + _WIDTH + 40, y + 26, title, parts)


def _line(one: FormatLoss, y: float, places: list[float]) -> str:
    dot, *ends = places
    worst, best = ends or (dot, dot)
    ink = _COLOURS[one.group]
    return (
        f"<g><title>{escaped(str(one))}</title>"
        f'<path d="M{worst:.1f} {y:g}H{best:.1f}" stroke="{ink}" stroke-opacity=".45"/>'
        f'<circle cx="{dot:.1f}" cy="{y:g}" r="3.5" fill="{ink}"/></g>'
    )


def _legend(groups: list[str]) -> list[str]:
    """Return the colours of groups, and what the lines are, above the picture."""
    parts, x = list[str](), _LEFT
    for group in dict.fromkeys(groups):
        parts.append(f'<circle cx="{x + 4:g}" cy="10" r="3.5" fill="{_COLOURS[group]}"/>')
        parts.append(text(x + 11, 14, group, "start"))
        x += 26 + 5.8 * len(group)
    return [*parts, text(x, 14, "line: worst row to best", "start")]
