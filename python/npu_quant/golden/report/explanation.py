"""An explanation as text and HTML: which formula it is, and how much the others differ."""

from __future__ import annotations

import html
from collections.abc import Sequence

from ..._face import either
from ..explanation_results import ExplanationData, VariantResult
from .html import table
from .words import count

LINES = 12
"""How long the text of an explanation is at most."""
_HTML_ROWS = 24


def explanation_text(explanation: ExplanationData) -> str:
    """Return an explanation in at most LINES lines."""
    mark = any(result.estimated for result in explanation.ranked)
    widths = {n: max(len(n), len(count(size)) + mark) for n, size in explanation.outputs.items()}
    columns = "  ".join(name.rjust(width) for name, width in widths.items())
    lines = [_head(explanation), f"  {_verdict(explanation)}"]
    lines.append(f"  {columns}  kind    formula (elements that differ)")
    alike = _alike(explanation.ranked)
    shown = alike[: LINES - len(lines) - 1]
    for first, others in shown:
        counts = "  ".join(_differing(first, k).rjust(w) for k, w in widths.items())
        more = f"  (+{others} alike)" if others else ""
        lines.append(f"  {counts}  {first.kind:6}  {first.name}{more}")
    rest = sum(1 + others for _, others in alike[len(shown) :])
    if rest:
        lines.append(f"  {count(rest)} more: {either('.ranked', '--json')} has all")
    return "\n".join(lines)


def explanation_to_html(explanation: ExplanationData) -> str:
    """Return an explanation as a fragment of HTML."""
    names = explanation.outputs
    rows = [
        [*(_differing(r, n) for n in names), r.kind, r.name, r.summary, r.source]
        for r in explanation.ranked[:_HTML_ROWS]
    ]
    heads = [*names, "kind", "formula", "", "source"]
    numbers = [True] * len(names) + [False] * 4
    rest = len(explanation.ranked) - _HTML_ROWS
    more = f"<p>{count(rest)} more: <code>.ranked</code> has all</p>" if rest > 0 else ""
    return (
        f"<p><strong>{html.escape(_head(explanation))}</strong><br>"
        f"{html.escape(_verdict(explanation))}</p>{table(heads, rows, numbers)}{more}"
    )


def _head(explanation: ExplanationData) -> str:
    return f"explain {explanation.op}: {', '.join(explanation.titles)}"


def _differing(result: VariantResult, name: str) -> str:
    """Return how many elements of an output differ, with a mark where that is estimated."""
    return "~" * result.estimated + count(result.differing[name])


def _alike(ranked: Sequence[VariantResult]) -> list[tuple[VariantResult, int]]:
    """Return the first of those that differ by the same numbers, and how many follow it."""
    groups: dict[tuple[int, ...], list[VariantResult]] = {}
    for result in ranked:
        key = (result.estimated, *result.differing.values())
        groups.setdefault(key, []).append(result)
    return [(group[0], len(group) - 1) for group in groups.values()]


def _verdict(explanation: ExplanationData) -> str:
    """Say in a line which formula it is."""
    matches = explanation.matches
    if not matches:
        return f"none of {count(len(explanation.ranked))} formulas gives exactly these outputs"
    first = matches[0]
    others = f", and {len(matches) - 1} more" if len(matches) > 1 else ""
    return f"exactly {first.name!r} ({first.kind}): {first.summary}{others}"
