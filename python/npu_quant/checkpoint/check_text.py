"""What a check says to a person."""

from __future__ import annotations

from collections import Counter

from .reports import CheckReport, ratio_text

MOST = 20


def text_of(report: CheckReport) -> str:
    """Return the verdict, what was found, the recipe, and the five worst layers."""
    lines = [_verdict(report)]
    shown: Counter[str] = Counter()
    total = Counter(f.rule for f in report.findings)
    for f in report.findings:
        shown[f.rule] += 1
        if shown[f.rule] <= MOST:
            lines.append(f"  {f.severity}: {f.rule}: {f.name}: {f.text}")
        elif shown[f.rule] == total[f.rule]:
            lines.append(f"  {f.severity}: {f.rule}: and {total[f.rule] - MOST} more")
    lines += [
        f"  recipe of {type}: {name or 'not known'}{_ratios(report, type, name)}"
        for type, name in report.recipe.items()
    ]
    measured = [x for x in report.layers if x.sqnr_db is not None]
    for x in sorted(measured, key=lambda x: x.sqnr_db or 0.0)[:5]:
        lines.append(f"  {x.sqnr_db:8.2f} dB  cosine {x.cosine or 0:.6f}  {x.name}")
    return "\n".join(lines)


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
    counts = [_count(errors, "error")] if errors else []
    counts += [_count(warnings, "warning")] if warnings else []
    if errors:
        return f"FAILED: {', '.join(counts)}"
    types = [f"{_count(n, 'module')} {t}" for t, n in report.types.items()]
    names = sorted({name for name in report.recipe.values() if name})
    recipe = [f"recipe {'+'.join(names)}"] if names else []
    return f"passed: {', '.join([*types, *recipe, *counts])}"


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
