"""A table of plain texts: what a terminal, a notebook and a page show of the same rows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ._text import escaped

_LEAST = 30
"""Of a line: what is left to the other columns where one is not broken."""

Kind = Literal["text", "number", "verdict", "name", "wide"]
"""Whole words, numbers on the right, a rung, what the row is about, a sentence."""

_TABLE = "border-collapse:collapse;margin:6px 0;font:inherit"
_CELL = "padding:2px 9px;text-align:"


class Column(NamedTuple):
    """What a column is called, and what it holds."""

    name: str
    kind: Kind = "text"


class Row(NamedTuple):
    """The texts of a row, one for each column."""

    cells: Sequence[str]
    failed: bool = False
    target: str = ""
    """The part of a page that tells more of it."""


@dataclass(frozen=True)
class Table:
    """Rows of texts below the names of their columns."""

    columns: Sequence[Column]
    rows: Sequence[Row]

    def text(self, width: int, *, coloured: bool = False) -> str:
        """Return lines of at most so many characters; what is longer goes on below, in its column.

        Args:
            width: how many characters a line may have.
            coloured: whether rows that fail are red.
        """
        from rich.console import Console
        from rich.table import Table as Grid

        headed = any(column.name for column in self.columns)
        grid = Grid(box=None, pad_edge=False, show_header=headed)
        out, room = io.StringIO(), width - _LEAST
        for i, (name, kind) in enumerate(self.columns):
            justify: Literal["left", "right"] = "right" if kind == "number" else "left"
            longest = 2 + max(map(len, [name, *(row.cells[i] for row in self.rows)]))
            whole = kind in ("number", "verdict") or longest <= room
            grid.add_column(name, justify=justify, no_wrap=whole, overflow="fold")
            room -= longest * whole
        for row in self.rows:
            grid.add_row(*row.cells, style="red" if row.failed else None)
        Console(
            file=out,
            force_terminal=coloured,
            force_jupyter=False,
            color_system="standard" if coloured else None,
            width=width,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        ).print(grid)
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    def html(self) -> str:
        """Return it for a notebook, which has no styles of ours."""
        align = ["right;white-space:nowrap" if c.kind == "number" else "left" for c in self.columns]
        align[0] += ";white-space:nowrap"

        def line(tag: str, texts: Sequence[str]) -> str:
            cells = (
                f'<{tag} style="{_CELL}{side}">{escaped(content)}</{tag}>'
                for content, side in zip(texts, align, strict=True)
            )
            return f"<tr>{''.join(cells)}</tr>"

        body = "".join(line("td", row.cells) for row in self.rows)
        return (
            f'<table style="{_TABLE}"><thead style="border-bottom:1px solid">'
            f"{line('th', [c.name for c in self.columns])}</thead><tbody>{body}</tbody></table>"
        )

    def to_sort(self) -> str:
        """Return it for a page, with the script that sorts and filters."""
        heads = "".join(
            f'<th scope="col" class="{kind}"><button type="button">{name}</button></th>'
            for name, kind in self.columns
        )
        body = "".join(map(self._row_to_sort, self.rows))
        return (
            '<div class="tools">'
            '<input id="words" type="search" placeholder="filter" aria-label="filter by words">'
            '<label><input id="failing" type="checkbox"> only what differs</label>'
            '<span id="count" class="soft" role="status"></span></div>'
            f'<div class="frame"><table class="rows"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def _row_to_sort(self, row: Row) -> str:
        cells = []
        for (name, kind), content in zip(self.columns, row.cells, strict=True):
            inner, label = escaped(content, 1000), f' data-label="{name}"' * (kind == "number")
            if kind == "verdict":
                inner = (
                    f'<span class="rung {"different" if row.failed else content}">{inner}</span>'
                )
            elif kind == "name" and row.target:
                inner = f'<a href="#{row.target}">{inner}</a>'
            cells.append(f'<td class="{kind}"{label}>{inner}</td>')
        return f"<tr{'' if row.failed else ' data-passed'}>{''.join(cells)}</tr>"
