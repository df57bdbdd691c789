"""A comparison as HTML, for notebooks and reports: tables and pictures, nothing to load or run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..._text import escaped
from ..elements import elements_of_output
from ..judge.verdict import badness
from ..measure.maps import gathered, margins_of
from ..measure.metrics import MOST_ROW_BUCKETS
from ..results import ComparisonData, Element, Metrics, OutputComparison, VariantMatch
from . import svg, words
from .page import whole_page
from .text import text_of

MOST_CHARACTERS = 96_000
"""Of the whole; pictures that would exceed it are left out."""

_MOST_OUTPUTS, _MOST_VARIANTS, _MOST_PICTURED = 20, 8, 3
_WORST = 10
_SAME = "the same in real numbers"

_FONT = "font-family:sans-serif;font-size:13px;line-height:1.4"
_TABLE = "border-collapse:collapse;margin:6px 0;font:inherit"
_CELL = "padding:2px 9px;text-align:"
_COLOURS = {True: "rgba(46,140,70,.22)", False: "rgba(209,68,47,.22)"}


def comparison_to_html(comparison: ComparisonData) -> str:
    """Return a fragment of HTML that shows a comparison, below 100 kB."""
    parts = [_headline(comparison), _outputs(comparison.outputs), _findings(comparison)]
    size = sum(map(len, parts))
    sections = [_variants(comparison.variants), *_pictured(comparison)]
    for section in sections:
        if size + len(section) < MOST_CHARACTERS:
            parts.append(section)
            size += len(section)
    return f'<div style="{_FONT}">{"".join(parts)}</div>'


def comparison_page(comparison: ComparisonData, more: str = "") -> str:
    """Return a page that shows a comparison, and more HTML below it."""
    title = text_of(comparison).splitlines()[0]
    cards = [f'<div class="card">{part}</div>' for part in (comparison_to_html(comparison), more)]
    body = f"<h1>{escaped(title, 1000)}</h1>{''.join(cards if more else cards[:1])}"
    return whole_page(title, body, passed=comparison.passed)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[bool]) -> str:
    """Return a table of plain texts.

    Args:
        heads: the columns' names.
        rows: their texts.
        numbers: which columns have numbers, to be aligned on the right.
    """
    align = ["right;white-space:nowrap" if number else "left" for number in numbers]
    align[0] += ";white-space:nowrap"

    def line(tag: str, texts: Sequence[str]) -> str:
        cells = (
            f'<{tag} style="{_CELL}{side}">{escaped(content)}</{tag}>'
            for content, side in zip(texts, align, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return (
        f'<table style="{_TABLE}"><thead style="border-bottom:1px solid">'
        f"{line('th', heads)}</thead><tbody>{body}</tbody></table>"
    )


def _headline(comparison: ComparisonData) -> str:
    """Return rung and verdict in words, the operator, and where the arrays came from."""
    verdict = "pass" if comparison.passed else "fail"
    accepted = comparison.accepted_variant
    if comparison.rung == "variant" and accepted is not None:
        verdict += f" as “{escaped(accepted)}”"
    badge = (
        "border:1px solid;border-radius:4px;padding:1px 9px;font-weight:bold;"
        f"background:{_COLOURS[comparison.passed]}"
    )
    op = f"<b>{escaped(comparison.op)}</b> " if comparison.op else ""
    return (
        f'<p style="margin:4px 0"><span style="{badge}">{comparison.rung}: {verdict}</span> {op}'
        f"actual <code>{escaped(comparison.actual_name)}</code>, "
        f"golden <code>{escaped(comparison.golden_name)}</code></p>"
    )


def _margin(margin: float) -> str:
    return "–" if math.isnan(margin) else words.number(margin, 3)


def _differing(output: OutputComparison) -> str:
    m = output.metrics
    if m is None:
        return output.problem or "not compared"
    start = f"{output.problem}; as {output.type_name} " if output.problem else ""
    if m.mismatches == 0:
        return f"{start}none of {words.count(m.count)}"
    share = words.share(m.mismatches, m.count)
    return f"{start}{words.count(m.mismatches)} of {words.count(m.count)} ({share})"


def _outputs(outputs: Sequence[OutputComparison]) -> str:
    """Return the table of outputs; of very many the worst."""
    chosen = list(outputs)
    if len(chosen) > _MOST_OUTPUTS:
        chosen.sort(key=badness, reverse=True)
        del chosen[_MOST_OUTPUTS:]
    rows = [
        (o.name or "–", o.type_name, str(o.shape), o.rung, _differing(o), _margin(o.margin))
        for o in chosen
    ]
    heads = ("output", "dtype", "shape", "rung", "differing", "margin (of 1)")
    left_out = len(outputs) - len(chosen)
    more = f"<p>and {words.counted(left_out, 'more output')}, none worse</p>" if left_out else ""
    return table(heads, rows, (False, False, False, False, True, True)) + more


def _findings(comparison: ComparisonData) -> str:
    """Return what the report says below its first line."""
    lines = [line.strip() for line in text_of(comparison).splitlines()[1:]]
    if not lines:
        return ""
    items = "".join(f"<li>{escaped(line)}</li>" for line in lines)
    return f'<ul style="margin:6px 0;padding-left:20px">{items}</ul>'


def _variants(variants: Sequence[VariantMatch]) -> str:
    if not variants:
        return ""
    rows = [
        (v.name, _SAME if v.benign else "another function", v.summary, v.source)
        for v in variants[:_MOST_VARIANTS]
    ]
    left_out = len(variants) - len(rows)
    more = f"<p>and {left_out} more</p>" if left_out else ""
    heads = ("identical to", "which is", "formula", "met in")
    return f"<div>{table(heads, rows, (False,) * 4)}{more}</div>"


def _pictured(comparison: ComparisonData) -> Iterable[str]:
    """Yield a section for each differing output, the decisive one first."""
    first = comparison.decisive
    others = [o for o in comparison.outputs if o is not first]
    differing = [o for o in (first, *others) if o.metrics is not None and o.metrics.mismatches]
    for output in differing[:_MOST_PICTURED]:
        yield _section(output)
    left_out = len(differing) - _MOST_PICTURED
    if left_out > 0:
        yield f"<p>not drawn: {words.counted(left_out, 'more output')}</p>"


def _section(output: OutputComparison) -> str:
    """Return an output's pictures and its worst elements."""
    assert output.metrics is not None
    name = f"{output.name}: " if output.name else ""
    bars = [_steps(output, output.metrics, name), *_distances(output, name)]
    figures = [f"<div>{''.join(bars)}</div>", *_maps(output, name)]
    if len(output.seen.worst) > 1 or output.metrics.mismatches == 1:
        figures.append(_worst(output.seen.worst[:_WORST], name))
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:4px 28px;margin-top:8px;border-top:1px solid '
        f'rgba(128,128,128,.4)">{"".join(figures)}</div>'
    )


def _figure(caption: str, content: str) -> str:
    return f'<div style="margin:6px 0"><div>{escaped(caption)}</div>{content}</div>'


def _bars(caption: str, bars: Sequence[svg.Bar], more: str = "") -> str:
    """Return a histogram, with its numbers for who cannot see it."""
    if svg.is_logarithmic([bar.height for bar in bars]):
        caption += ", logarithmic bars"
    caption += more
    listed = ", ".join(f"{bar.name}: {words.count(bar.height)}" for bar in bars)
    return _figure(caption, svg.histogram(bars, f"{caption}. {listed}"))


def _steps(output: OutputComparison, metrics: Metrics, name: str) -> str:
    unit = "codes" if elements_of_output(output).noun == "code" else "steps of the dtype"
    apart = sum(metrics.nonfinite.values())
    more = f"; {words.counted(apart, 'pair')} with NaN or inf not among them" if apart else ""
    bars = svg.bars_of_steps(metrics.steps)
    return _bars(f"{name}actual − golden in {unit}", bars, more)


def _maps(output: OutputComparison, name: str) -> list[str]:
    """Return the map of differences, or where that costs too much those per row and per column."""
    where = output.where
    if where is None:
        return []
    names = where.axes if len(output.shape) > 1 else ("row", "element")
    whole = output.seen.map
    if whole is not None:
        caption = f"{name}where the differences are"
        rows = f"{where.rows} of {words.counted(where.of_rows, 'row')}"
        title = f"{caption}: in {rows}" if where.of_rows <= MOST_ROW_BUCKETS else caption
        return [_figure(caption, svg.heat_map(whole, title, names, gathered(where)))]
    return [
        _figure(caption, svg.heat_map(strip, caption, names, gathered(where)))
        for caption, strip in zip(
            (f"{name}differences by row", f"{name}differences by {names[1]}"),
            margins_of(where),
            strict=True,
        )
    ]


def _distances(output: OutputComparison, name: str) -> list[str]:
    """Return how far the differing codes lie from a tie, where that is known."""
    if output.seen.distances is None or output.ties is None:
        return []
    bars = svg.bars_of_distances(output.seen.distances)
    allowed = f"(≤ {output.ties.allowed:g} is rounding)"
    return [_bars(f"{name}differing codes by ulp from a tie {allowed}", bars)]


def _worst(elements: Sequence[Element], name: str) -> str:
    """Return the table of the worst elements, with what is known of their rounding."""
    heads = ["index", "actual", "golden"]
    rounding = any(e.before_rounding is not None for e in elements)
    if rounding:
        heads += ["before rounding", "ulp from a tie"]
    rows = []
    for e in elements:
        row = [words.index(e.index), words.number(e.actual, 9), words.number(e.golden, 9)]
        if rounding:
            before, ulp = e.before_rounding, e.ulp_from_tie
            row.append("–" if before is None else words.number(before, 9))
            row.append("–" if ulp is None else words.distance(ulp))
        rows.append(row)
    return _figure(f"{name}the worst", table(heads, rows, [False] + [True] * (len(heads) - 1)))
