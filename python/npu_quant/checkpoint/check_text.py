"""What a check says to a person."""

from __future__ import annotations

from collections import Counter

from .._text import clean, printable
from ..golden.report.words import counted
from .report_text import MOST, worst_of
from .reports import CheckReport, ratio_text


def text_of(report: CheckReport) -> str:
    """Return the verdict, what was found, the recipe, and the five worst layers."""
    lines = [_verdict(report), *(f"  note: {note}" for note in report.notes)]
    shown: Counter[str] = Counter()
    total = Counter(f.rule for f in report.findings)
    for f in report.findings:
        shown[f.rule] += 1
        if shown[f.rule] <= MOST:
            lines.append(f"  {f.severity}: {f.rule}: {clean(f.name, 200)}: {f.text}")
        elif shown[f.rule] == total[f.rule]:
            lines.append(f"  {f.severity}: {f.rule}: and {total[f.rule] - MOST} more")
    lines += [
        f"  recipe of {clean(type, 100)}: {name or 'not known'}{_ratios(report, type, name)}"
        for type, name in [*report.recipe.items()][:MOST]
    ]
    for x in worst_of(report.layers):
        lines.append(f"  {x.sqnr_db:8.2f} dB  cosine {x.cosine or 0:.6f}  {clean(x.name, 200)}")
    return "\n".join(map(printable, lines))


def _ratios(report: CheckReport, type: str, recipe: str | None) -> str:
    layers = [x for x in report.layers if (x.type, x.recipe) == (type, recipe)]
    ratios = [x.scale_ratio for x in layers if x.scale_ratio]
    if not ratios:
        return ""
    least, most = min(r[0] for r in ratios), max(r[1] for r in ratios)
    return f", scale / amax {ratio_text((least, most))}"


def _verdict(report: CheckReport) -> str:
    errors = sum(f.severity == "error" for f in report.findings)
    warnings = len(report.findings) - errors
    counts = [counted(errors, "error")] if errors else []
    counts += [counted(warnings, "warning")] if warnings else []
    if errors:
        return f"FAILED: {', '.join(counts)}"
    types = [f"{counted(n, 'module')} {t}" for t, n in report.types.items()] or ["no Linear"]
    names = sorted({name for name in report.recipe.values() if name})
    recipe = [f"recipe {'+'.join(names)}"] if names else []
    return f"passed: {', '.join([*types, *recipe, *counts])}"
