"""The report of a comparison of folders: its lines, a row per call, and a page with all of them."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from ..._shown import plain, some_of
from ..._table import Column, Row, Table
from ..._text import escaped
from ..folder_results import Alone, FolderComparisonData, FolderRow
from ..judge.verdict import RUNGS
from . import pair, words
from .reports import Report, whole_page

MOST_PICTURED = 40
"""Rows that fail beyond so many have their text only."""
_MOST_PASSING, _MOST_ALONE = 40, 8
_ALONE = {"only_actual": "only in actual", "only_golden": "only in the golden"}


def report_of(data: FolderComparisonData) -> Report:
    """Return the report of a comparison of folders: the first that differs, then the rest."""
    lines = [f"actual={data.actual_name}  golden={data.golden_name}", data.origin]
    lines += [] if data.passed else [f"of {words.counted(len(data.rows), 'array')}: {rungs(data)}"]
    sides = {what: getattr(data, name) for name, what in _ALONE.items()}
    lines += [
        f"{what}: {some_of(some, _MOST_ALONE, _told)}" for what, some in sides.items() if some
    ]
    lines += _remarks(data)
    first, more = data.first, ""
    if first is not None and first.comparison is not None:
        more = f"{first.name}\n{pair.report_of(first.comparison).facts()}"
    table, facts = _calls(data), tuple(filter(None, lines))
    sections = partial(_sections, table, more)
    return Report(data.passed, _verdict(data), _why(data), facts, table, more, sections)


def _sections(table: Table, more: str) -> Iterator[str]:
    yield table.html()
    yield f"<pre>{_text(more.splitlines())}</pre>" * bool(more)


def data_of(data: FolderComparisonData) -> dict[str, Any]:
    """Return a comparison of folders as plain data."""
    names = ["passed", "origin", "rows", "only_actual", "only_golden", "passed_over"]
    first = None if data.first is None else data.first.name
    own = {"actual": data.actual_name, "golden": data.golden_name, "first": first}
    return own | {name: plain(getattr(data, name)) for name in names}


def page_of(data: FolderComparisonData) -> str:
    """Return a page: the verdict, a table to sort, and pictures of what fails."""
    report = report_of(data)
    lines = "".join(f"<p>{escaped(line, 1000)}</p>" for line in report.lines)
    counts = _rung_counts(data)
    bar = "".join(f'<span class="{rung}" style="flex:{n}"></span>' for rung, n in counts)
    body = (
        f"<header><h1>{escaped(report.headline, 1000)}</h1></header>"
        f'<div class="card"><div class="bar" aria-hidden="true">{bar}</div>{lines}</div>'
        f"<h2>All arrays, in the order of execution</h2>{_arrays(data).to_sort()}"
    )
    return whole_page(
        report.headline, body + "".join(_details(data)), passed=data.passed, sorts=True
    )


def rungs(data: FolderComparisonData) -> str:
    """Return how many rows stand on each rung, in words."""
    return ", ".join(f"{words.count(count)} {rung}" for rung, count in _rung_counts(data))


def _rung_counts(data: FolderComparisonData) -> list[tuple[str, int]]:
    counts = Counter(row.rung for row in data.rows)
    return [(rung, counts[rung]) for rung in RUNGS if counts[rung]]


def _verdict(data: FolderComparisonData) -> str:
    worst = max((row.rung for row in data.rows), key=RUNGS.index, default="identical")
    return f"OK ({worst})" if data.passed else "DIFFERENT"


def _why(data: FolderComparisonData) -> str:
    total = words.counted(len(data.rows), "array")
    if data.passed:
        return f"{total}: {rungs(data)}"
    parts, first = list[str](), data.first
    alone = len(data.only_actual) + len(data.only_golden)
    parts += [f"{words.counted(alone, 'array')} without a partner"] * bool(alone)
    if first is not None:
        fail = "fails" if len(data.failing) == 1 else "fail"
        parts.append(f"{len(data.failing)} of {total} {fail}, first {first.name}: {_found(first)}")
    return ", ".join(parts)


def _found(row: FolderRow) -> str:
    return "; ".join(filter(None, dict.fromkeys([row.problem, row.found, *row.notes])))


def _told(one: Alone) -> str:
    return f"{one.file} ({one.note})" if one.note else one.file


def _remarks(data: FolderComparisonData) -> list[str]:
    """Return what a verdict does not cover."""
    vain = words.counted(sum(row.passed and not row.proves for row in data.rows), "array")
    passed_over = words.names(data.passed_over, 4)
    lines = {
        f"arrays of one value or empty, which prove little: {vain}": not vain.startswith("0 "),
        f"skipped, not arrays: {passed_over}": bool(passed_over),
    }
    return [line for line, there in lines.items() if there]


def _calls(data: FolderComparisonData) -> Table:
    """Return a row for each call that fails, and for what passes by more than equality."""
    folder, rows, left = _common_folder(data), list[Row](), _MOST_PASSING
    for _, group in groupby(data.rows, lambda row: (row.call or row.name, row.passed)):
        some = list(group)
        if some[0].passed:
            some = [row for row in some if row.rung != "identical"][:left]
            left -= len(some)
            rows += [Row((row.name.removeprefix(folder), row.rung, _found(row))) for row in some]
        else:
            worst = max((row.rung for row in some), key=RUNGS.index)
            name = _joined([row.name for row in some]).removeprefix(folder)
            found = dict.fromkeys(map(_found, some))
            rows.append(Row((name, worst, "; ".join(found)), failed=True))
    head = f"array in {folder}" if folder else "array"
    return Table(
        [Column(head, "name"), Column("verdict", "verdict"), Column("found", "wide")], rows
    )


def _joined(names: Sequence[str]) -> str:
    """Return several names as one, as a shell takes them: call.output.{0,1}."""
    start = os.path.commonprefix(list(names))  # noqa: RUF071 (of characters is meant)
    ends = [name.removeprefix(start) for name in names]
    return names[0] if len(names) == 1 else f"{start}{{{','.join(ends)}}}"


def _common_folder(data: FolderComparisonData) -> str:
    """Return the folder that all rows are in, which need not be said in each."""
    names = [row.name.partition("::")[0] for row in data.rows]
    common = os.path.commonprefix([f"{os.path.dirname(name)}/" for name in names])  # noqa: RUF071
    return common[: common.rfind("/") + 1].lstrip("/")


def _arrays(data: FolderComparisonData) -> Table:
    rows = [
        Row(_cells(i, row), not row.passed, "" if row.passed else f"r{i}")
        for i, row in enumerate(data.rows)
    ]
    columns = [Column("#", "number"), Column("array", "name"), Column("dtype"), Column("shape")]
    columns += [Column("verdict", "verdict"), Column("differing", "number")]
    columns += [Column("margin", "number"), Column("found", "wide")]
    return Table(columns, rows)


def _cells(number: int, row: FolderRow) -> tuple[str, ...]:
    differing = words.count(row.differing) if row.count else ""
    if row.differing:
        differing += f" ({words.share(row.differing, row.count)})"
    margin = words.number(row.margin, 3) if math.isfinite(row.margin) else ""
    found = _found(row) if row.rung != "identical" or row.notes or row.problem else ""
    shape = str(row.shape) if row.dtype else ""
    judged = f" (judged by {row.op})" if row.op and found else ""
    name = (str(number + 1), row.name, row.dtype, shape)
    return (*name, row.rung, differing, margin, found + judged)


def _details(data: FolderComparisonData) -> Iterator[str]:
    """Yield a section of each row that fails, the first one open."""
    failing = [(number, row) for number, row in enumerate(data.rows) if not row.passed]
    if failing:
        yield "<h2>What differs</h2>"
    for i, (number, row) in enumerate(failing):
        if i < MOST_PICTURED and row.comparison is not None:
            content = pair.report_of(row.comparison).html()
        else:
            content = f"<pre>{_text(row.report.splitlines() or [_found(row)])}</pre>"
        yield (
            f'<details id="r{number}"{" open" * (i == 0)}><summary><span class="name">'
            f'{escaped(row.name)}</span> <span class="soft">{escaped(_found(row), 500)}</span>'
            f"</summary><div>{content}</div></details>"
        )


def _text(lines: Iterable[str]) -> str:
    return "\n".join(escaped(line, 1000) for line in lines)
