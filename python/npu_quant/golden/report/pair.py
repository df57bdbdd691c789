"""The report of a comparison of arrays: its lines, and for HTML the tables and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from ..._shown import plain
from ..._table import Column, Row, Table
from ..._text import escaped
from ..elements import elements_of_output
from ..judge.verdict import badness
from ..measure.maps import gathered, margins_of
from ..measure.metrics import MOST_ROW_BUCKETS
from ..results import ComparisonData, Element, Metrics, OutputComparison, VariantMatch
from . import svg, words
from .evidence import facts_of
from .reports import Report, fitting
from .why import left_by, named, reason_of, reason_of_output

MOST_FACTS = 11
"""Lines below the verdict's, before they are broken to fit a terminal."""
_MOST_OUTPUTS, _MOST_VARIANTS, _MOST_PICTURED = 20, 8, 3
_WORST = 10
_SAME = "the same in real numbers"


def report_of(comparison: ComparisonData) -> Report:
    """Return the report of a comparison."""
    passed = comparison.passed
    verdict = f"OK ({comparison.rung})" if passed else "DIFFERENT"
    why = str(reason_of(comparison))
    lines = fitting(facts_of(comparison), MOST_FACTS)
    return Report(passed, verdict, why, lines, sections=partial(_sections, comparison))


def _sections(comparison: ComparisonData) -> Iterable[str]:
    yield _outputs(comparison)
    yield _variants(comparison.variants)
    yield from _pictured(comparison)


def data_of(comparison: ComparisonData) -> dict[str, Any]:
    """Return a comparison as plain data."""
    names = ["op", "rung", "passed", "margin", "variants", "accepted_variant", "missing", "extra"]
    data = {name: plain(getattr(comparison, name)) for name in [*names, "not_compared", "refusal"]}
    data |= {"actual": comparison.actual_name, "golden": comparison.golden_name}
    return data | {"outputs": [_output_data(output) for output in comparison.outputs]}


def _output_data(output: OutputComparison) -> dict[str, Any]:
    names = ["name", "rung", "passed", "margin", "problem", "rung_of_values", "ties", "where"]
    names += [
        "follows_scale",
        "tolerance",
        "presets",
        "notes",
        "causes",
        "metrics",
        "numbers",
        "left_out",
        "rows_compared",
    ]
    data = {name: plain(getattr(output, name)) for name in names}
    return data | {"dtype": output.type_name, "shape": list(output.shape)}


def _outputs(comparison: ComparisonData) -> str:
    """Return the table of outputs; of very many the worst."""
    chosen = list(comparison.outputs)
    if len(chosen) > _MOST_OUTPUTS:
        chosen.sort(key=badness, reverse=True)
        del chosen[_MOST_OUTPUTS:]
    columns = [Column(name) for name in ("output", "dtype", "shape", "rung", "found")]
    found = (reason_of_output(comparison, output).text for output in chosen)
    rows = [
        Row((o.name or "–", o.type_name, str(o.shape), o.rung, text))
        for o, text in zip(chosen, found, strict=True)
    ]
    left_out = len(comparison.outputs) - len(chosen)
    more = f"<p>and {words.counted(left_out, 'more output')}, none worse</p>" if left_out else ""
    return Table(columns, rows).html() + more


def _variants(variants: Sequence[VariantMatch]) -> str:
    if not variants:
        return ""
    rows = [
        Row((named(v), _SAME if v.benign else "another function", left_by(v), v.summary, v.source))
        for v in variants[:_MOST_VARIANTS]
    ]
    left_out = len(variants) - len(rows)
    more = f"<p>and {left_out} more</p>" if left_out else ""
    columns = [Column(name) for name in ("follows", "which is", "but for", "formula", "met in")]
    return f"<div>{Table(columns, rows).html()}{more}</div>"


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
    names = where.axes
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
    columns = [Column("index"), Column("actual", "number"), Column("golden", "number")]
    rounding = any(e.before_rounding is not None for e in elements)
    if rounding:
        columns += [Column("before rounding", "number"), Column("ulp from a tie", "number")]
    rows = []
    for e in elements:
        row = [words.index(e.index), words.number(e.actual, 9), words.number(e.golden, 9)]
        if rounding:
            before, ulp = e.before_rounding, e.ulp_from_tie
            row.append("–" if before is None else words.number(before, 9))
            row.append("–" if ulp is None else words.distance(ulp))
        rows.append(Row(row))
    return _figure(f"{name}the worst", Table(columns, rows).html())
