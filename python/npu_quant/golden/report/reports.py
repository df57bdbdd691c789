"""What there is to say of a result, and how it is drawn: as text, in a notebook, as a page."""

from __future__ import annotations

import importlib.resources
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ... import __version__
from ..._table import Table
from ..._text import escaped

SCHEMA_VERSION = 1
WIDTH = 76
"""Of a line: with what pytest puts before it, a terminal of 80 columns breaks none."""

MOST_CHARACTERS = 96_000
"""Of a fragment of HTML; sections that would exceed it are left out."""
COMMANDS = ("rerun: ", "next: ")
"""Beginnings of lines that are to be copied: they are never broken."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_FONT = "font-family:sans-serif;font-size:13px;line-height:1.4"
_BADGE = "border:1px solid;border-radius:4px;padding:1px 9px;font-weight:bold;background:"
_COLOURS = {True: "rgba(46,140,70,.22)", False: "rgba(209,68,47,.22)"}


class Line(NamedTuple):
    """A fact, and what it is worth where there is no room for all."""

    worth: int
    text: str


def fitting(lines: list[Line], most: int) -> tuple[str, ...]:
    """Return the texts of at most so many lines: the least is dropped first, from the end."""
    kept = list(lines)
    while len(kept) > most:
        least = min(line.worth for line in kept)
        del kept[max(i for i, line in enumerate(kept) if line.worth == least)]
    return tuple(line.text for line in kept)


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    if text.startswith(COMMANDS):
        return [f"{indent}{text}"]
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


@dataclass(frozen=True)
class Report:
    """What a result says, whoever draws it."""

    passed: bool
    verdict: str
    """Such as "DIFFERENT", "OK (tie)"."""
    why: str
    """What the verdict stands on, in a line."""
    lines: tuple[str, ...] = ()
    """Where the arrays are from, then the facts, a line each."""
    table: Table | None = None
    """Rows for the text; HTML has its tables in `sections`."""
    more: str = ""
    """Text below the table."""
    sections: Callable[[], Iterable[str]] = tuple
    """Makes the HTML below the lines, the most telling first: tables and pictures."""

    @property
    def headline(self) -> str:
        """The verdict and what it stands on."""
        return f"{self.verdict}: {self.why}"

    def text(self, width: int = WIDTH, *, coloured: bool = False) -> str:
        """Return the text; `width` is that of its table."""
        head = "\n".join([*_wrapped(self.headline, ""), *filter(None, [self.facts()])])
        parts = [head, self.more]
        if self.table is not None and self.table.rows:
            parts.insert(1, self.table.text(width, coloured=coloured))
        return "\n\n".join(filter(None, parts))

    def facts(self) -> str:
        """Return the lines below the verdict's."""
        return "\n".join(part for line in self.lines for part in _wrapped(line))

    def html(self) -> str:
        """Return a fragment of HTML for a notebook."""
        badge = f'<span style="{_BADGE}{_COLOURS[self.passed]}">{escaped(self.verdict)}</span>'
        return self._fragment(f'<p style="margin:4px 0">{badge} {escaped(self.why, 500)}</p>')

    def page(self, *below: Report) -> str:
        """Return a page that needs nothing else, with other reports below it."""
        parts = [self._fragment(), *(report.html() for report in below)]
        cards = "".join(f'<div class="card">{part}</div>' for part in parts)
        title = f"<h1>{escaped(self.headline, 1000)}</h1>"
        return whole_page(self.headline, title + cards, passed=self.passed)

    def _fragment(self, head: str = "") -> str:
        """Return HTML below 100 kB."""
        items = "".join(f"<li>{escaped(line, 500)}</li>" for line in self.lines)
        parts = [head, f'<ul style="margin:6px 0;padding-left:20px">{items}</ul>' * bool(items)]
        size = sum(map(len, parts))
        for section in self.sections():
            if size + len(section) < MOST_CHARACTERS:
                parts.append(section)
                size += len(section)
        return f'<div style="{_FONT}">{"".join(parts)}</div>'


def whole_page(title: str, body: str, *, passed: bool, sorts: bool = False) -> str:
    """Return a page that loads nothing, whatever stands in it.

    Args:
        title: plain text.
        body: HTML.
        passed: whether what it shows is a pass.
        sorts: whether it has a table to sort.
    """
    here = importlib.resources.files(__package__)
    style, script = (here.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    script = f"<script>\n{script}</script>\n" if sorts else ""
    footer = f"<footer>npu_quant {escaped(__version__)}</footer>"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{escaped(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        f'<main class="{"pass" if passed else "fail"}">{body}{footer}</main>\n{script}'
        "</body>\n</html>\n"
    )


class Reported:
    """A result that prints its report, shows it in a notebook, and gives it as a page or data."""

    def _report(self) -> Report:
        """Return what there is to say of it."""
        raise NotImplementedError

    def _data(self) -> dict[str, Any]:
        """Return everything as plain data that JSON takes."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON takes, with a schema_version."""
        report = self._report()
        head = {"schema_version": SCHEMA_VERSION, "npu_quant": __version__}
        return {**head, "verdict": report.verdict, "why": report.why, **self._data()}

    def to_html(self, below: Reported | None = None) -> str:
        """Return a page that needs nothing else, with another result below it if one is given."""
        return self._report().page(*([] if below is None else [below._report()]))

    def to_text(self, width: int = WIDTH, *, coloured: bool = False) -> str:
        """Return the report as ``str()`` does, with tables of another width, or in colours."""
        return self._report().text(width, coloured=coloured)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self._report().html()
