"""The report of an explanation: which formula it is, and how much the others differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._face import either
from ..._shown import plain
from ..explanation_results import ExplanationData, VariantResult
from .reports import Report
from .table import Column, Row, Table
from .words import count

_ROWS, _HTML_ROWS = 9, 24


def report_of(explanation: ExplanationData) -> Report:
    """Return the report of an explanation."""
    verdict = f"explain {explanation.op}"
    heads = [*explanation.outputs, "kind", "formula (elements that differ)"]
    number = len(explanation.outputs)
    columns = [Column(name, "number" if i < number else "text") for i, name in enumerate(heads)]
    alike = _alike(explanation.ranked)
    rows = [
        Row((*_counts(first, explanation), first.kind, first.name + f"  (+{n} alike)" * (n > 0)))
        for first, n in alike[:_ROWS]
    ]
    rest = sum(1 + others for _, others in alike[_ROWS:])
    more = f"{count(rest)} more: {either('.ranked', '--json')} has all" if rest else ""
    lines = (f"outputs: {', '.join(explanation.titles)}",)
    return Report(
        bool(explanation.matches),
        verdict,
        _why(explanation),
        lines,
        Table(columns, rows),
        more,
        lambda: [_all_of(explanation)],
    )


def data_of(explanation: ExplanationData) -> dict[str, Any]:
    """Return an explanation as plain data."""
    return {
        "op": explanation.op,
        "outputs": dict(explanation.outputs),
        "matches": [result.name for result in explanation.matches],
        "ranked": plain(explanation.ranked),
    }


def _all_of(explanation: ExplanationData) -> str:
    """Return the table with formulas and sources."""
    names = explanation.outputs
    rows = [
        Row(
            (*_counts(result, explanation), result.kind, result.name, result.summary, result.source)
        )
        for result in explanation.ranked[:_HTML_ROWS]
    ]
    columns = [Column(name, "number") for name in names]
    columns += [Column(name) for name in ("kind", "formula", "", "source")]
    rest = len(explanation.ranked) - _HTML_ROWS
    more = f"<p>{count(rest)} more: <code>.ranked</code> has all</p>" if rest > 0 else ""
    return Table(columns, rows).html() + more


def _counts(result: VariantResult, explanation: ExplanationData) -> list[str]:
    """Return how many elements of each output differ, with a mark where that is estimated."""
    mark = "~" * result.estimated
    return [mark + count(result.differing[name]) for name in explanation.outputs]


def _alike(ranked: Sequence[VariantResult]) -> list[tuple[VariantResult, int]]:
    """Return the first of those that differ by the same numbers, and how many follow it."""
    groups: dict[tuple[int, ...], list[VariantResult]] = {}
    for result in ranked:
        key = (result.estimated, *result.differing.values())
        groups.setdefault(key, []).append(result)
    return [(group[0], len(group) - 1) for group in groups.values()]


def _why(explanation: ExplanationData) -> str:
    """Say in a line which formula it is."""
    matches = explanation.matches
    if not matches:
        return f"none of {count(len(explanation.ranked))} formulas gives exactly these outputs"
    first = matches[0]
    attribute = f" (= --attr {first.attribute})" if first.attribute else ""
    others = f", and {len(matches) - 1} more" if len(matches) > 1 else ""
    return f"exactly {first.name!r}{attribute} ({first.kind}): {first.summary}{others}"
