"""The report of an explanation: which formula it is, and how much the others differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ..._face import either
from ..._shown import plain
from ..._table import Column, Row, Table
from ..explanation_results import ExplanationData, VariantResult
from .reports import Report
from .why import named
from .words import count

_ROWS, _HTML_ROWS = 9, 24


def report_of(explanation: ExplanationData) -> Report:
    """Return the report of an explanation."""
    table, rest = _table(explanation, _ROWS)
    return Report(
        bool(explanation.matches),
        f"explain {explanation.op}",
        _why(explanation),
        (f"outputs: {', '.join(explanation.titles)}",),
        table,
        f"{count(rest)} more: {either('.ranked', '--json')} has all" if rest else "",
        partial(_sections, explanation),
    )


def _sections(explanation: ExplanationData) -> Iterator[str]:
    table, rest = _table(explanation, _HTML_ROWS, "summary", "source")
    yield table.html()
    yield f"<p>{count(rest)} more: <code>.ranked</code> has all</p>" * bool(rest)


def _table(explanation: ExplanationData, most: int, *more: str) -> tuple[Table, int]:
    """Return what formulas do not give of each output, alike ones once, and how many are left."""
    names, alike = explanation.outputs, _alike(explanation.ranked)
    columns = [*(Column(name, "number") for name in names), Column("kind")]
    columns += [Column(head) for head in ("formula (elements that differ)", *more)]
    rows = []
    for result, others in alike[:most]:
        mark = "~" * result.estimated
        counts = [mark + count(result.left.get(name, 0)) for name in names]
        text = named(result) + f"  (+{others} alike)" * (others > 0)
        rows.append(Row((*counts, result.kind, text, *(getattr(result, field) for field in more))))
    return Table(columns, rows), sum(1 + others for _, others in alike[most:])


def data_of(explanation: ExplanationData) -> dict[str, Any]:
    """Return an explanation as plain data."""
    return {
        "op": explanation.op,
        "outputs": dict(explanation.outputs),
        "matches": [result.name for result in explanation.matches],
        "ranked": plain(explanation.ranked),
    }


def _alike(ranked: Sequence[VariantResult]) -> list[tuple[VariantResult, int]]:
    """Return the first of those that differ by the same numbers, and how many follow it."""
    groups: dict[tuple[Any, ...], list[VariantResult]] = {}
    for result in ranked:
        key = result.estimated, tuple(result.left.items()), tuple(result.at_ties.items())
        groups.setdefault(key, []).append(result)
    return [(group[0], len(group) - 1) for group in groups.values()]


def _why(explanation: ExplanationData) -> str:
    matches = explanation.matches
    if not matches:
        return f"none of {count(len(explanation.ranked))} formulas gives exactly these outputs"
    first = matches[0]
    others = f", and {len(matches) - 1} more" if len(matches) > 1 else ""
    return f"exactly {named(first)!r} ({first.kind}): {first.summary}{others}"
