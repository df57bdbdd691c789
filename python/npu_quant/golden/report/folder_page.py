"""A comparison of folders as one page: the verdict, a table to sort, and pictures of what fails."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..._text import escaped
from ..folder_results import FolderComparisonData, FolderRow
from ..judge.verdict import RUNGS
from . import words
from .folder_text import alone_lines, faults, found, headline, remarks, rungs_of
from .html import comparison_to_html
from .page import SCRIPT, whole_page

_NONE = '<td class="n" data-v=""></td>'

MOST_PICTURED = 40
"""Rows that fail beyond so many have their text only."""

# The columns, and of which kind they are: numbers sort as such.
_COLUMNS = (
    ("#", "n"),
    ("array", "t"),
    ("dtype", "t"),
    ("shape", "t"),
    ("verdict", "v"),
    ("differing", "n"),
    ("worst", "n"),
    ("margin", "n"),
)


def folders_page(data: FolderComparisonData) -> str:
    """Return the page."""
    parts = [_head(data), _first(data), _alone(data), _table(data), *_details(data)]
    return whole_page(headline(data), "".join(parts), passed=data.passed, script=SCRIPT)


def _head(data: FolderComparisonData) -> str:
    total = words.counted(len(data.rows), "array")
    verdict = f"All of {total} pass" if len(data.rows) > 1 else f"The {total} passes"
    if not data.passed:
        verdict = faults(data)
    there = rungs_of(data)
    bar = "".join(f'<span class="{r}" style="flex:{n}"></span>' for r, n in there)
    legend = "".join(
        f'<span class="{r}"><i class="dot"></i><b>{words.count(n)}</b> {r}</span>' for r, n in there
    )
    notes = "".join(f'<p class="soft">{escaped(line, 1000)}</p>' for line in remarks(data))
    return (
        f"<header><h1>{escaped(verdict)}</h1><p>actual <code>{escaped(data.actual_name)}</code>, "
        f"golden <code>{escaped(data.golden_name)}</code></p></header>"
        f'<div class="card"><div class="bar" aria-hidden="true">{bar}</div>'
        f'<div class="legend">{legend}</div>{notes}</div>'
    )


def _first(data: FolderComparisonData) -> str:
    first = data.first
    if first is None:
        return ""
    number = data.rows.index(first)
    facts = [found(first), *first.notes, data.origin]
    lines = "".join(f"<p>{escaped(fact, 1000)}</p>" for fact in facts if fact)
    return (
        '<div class="card first"><p class="eyebrow">first that differs, in the order of '
        "execution</p>"
        f'<p><a class="name" href="#r{number}">{escaped(first.name)}</a> '
        f'<span class="soft">{escaped(_kind(first))}</span></p>{lines}</div>'
    )


def _kind(row: FolderRow) -> str:
    return f"{row.dtype} {row.shape}" if row.dtype else ""


def _alone(data: FolderComparisonData) -> str:
    if not alone_lines(data):
        return ""
    items = [
        f'<li><span class="rung alone">{what}</span> <span class="name">{escaped(one.file)}</span>'
        f' <span class="note">{escaped(one.note)}</span></li>'
        for what, some in (
            ("only in actual", data.only_actual),
            ("only in golden", data.only_golden),
        )
        for one in some
    ]
    return f'<h2>Without a partner</h2><ul class="alone card">{"".join(items)}</ul>'


def _table(data: FolderComparisonData) -> str:
    heads = "".join(
        f'<th scope="col" class="{kind}"><button type="button">{name}</button></th>'
        for name, kind in _COLUMNS
    )
    body = "".join(_line(number, row) for number, row in enumerate(data.rows))
    return (
        '<h2>All arrays, in the order of execution</h2><div class="tools">'
        '<input id="words" type="search" placeholder="filter" aria-label="filter by words">'
        '<label><input id="failing" type="checkbox"> only what differs</label>'
        '<span id="count" class="soft" role="status"></span></div>'
        f'<div class="frame"><table class="rows"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _line(number: int, row: FolderRow) -> str:
    name = f'<span class="name">{escaped(row.name)}</span>'
    if not row.passed:
        name = f'<a class="name" href="#r{number}">{escaped(row.name)}</a>'
    judged = f"judged by {row.op}" if row.op else ""
    texts = [row.problem or "", *row.notes, judged]
    notes = "".join(f'<div class="note">{escaped(text)}</div>' for text in texts if text)
    measured = row.count > 0
    cells = [
        _number(number + 1, words.count(number + 1), "#"),
        f'<td class="wide">{name}{notes}</td>',
        f"<td>{escaped(row.dtype)}</td>",
        f'<td class="shape">{escaped(str(row.shape)) if row.dtype else ""}</td>',
        f'<td class="verdict" data-v="{RUNGS.index(row.rung) + (not row.passed) * len(RUNGS)}">'
        f'<span class="rung {row.rung if row.passed else "different"}">{row.rung}</span></td>',
        _number(row.differing, _differing(row), "differing") if measured else _NONE,
        _number(row.worst, words.number(row.worst, 4), "worst") if measured else _NONE,
        _number(row.margin, words.number(row.margin, 3), "margin"),
    ]
    return f"<tr{' data-passed' if row.passed else ''}>{''.join(cells)}</tr>"


def _differing(row: FolderRow) -> str:
    if row.differing == 0:
        return "0"
    return f"{words.count(row.differing)} ({words.share(row.differing, row.count)})"


def _number(value: float, text: str, label: str) -> str:
    if math.isnan(value):
        return _NONE
    # JavaScript's word for it.
    sorted_by = "Infinity" if math.isinf(value) else f"{value!r}"
    return f'<td class="n" data-v="{sorted_by}" data-label="{label}">{escaped(text)}</td>'


def _details(data: FolderComparisonData) -> Iterable[str]:
    """Yield a section of each row that fails, the first one open."""
    failing = [(number, row) for number, row in enumerate(data.rows) if not row.passed]
    if failing:
        yield "<h2>What differs</h2>"
    for i, (number, row) in enumerate(failing):
        content = ""
        if i < MOST_PICTURED and row.comparison is not None:
            content = comparison_to_html(row.comparison)
        if not content:
            lines = (row.report or row.problem or "").splitlines()
            content = f"<pre>{chr(10).join(escaped(line, 1000) for line in lines)}</pre>"
        yield (
            f'<details id="r{number}"{" open" * (i == 0)}><summary><span class="name">'
            f'{escaped(row.name)}</span> <span class="soft">{escaped(found(row), 500)}</span>'
            f"</summary><div>{content}</div></details>"
        )
