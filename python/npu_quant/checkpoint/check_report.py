"""What `check` found, and how it is told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .._text import clean, printable
from ..golden.report.words import counted
from .folder import few
from .reports import MOST, BaseReport, Finding, Layer, worst_of

PASSED, FAILED, NOT_JUDGED = "passed", "FAILED", "not judged"
STATUSES = {PASSED: 0, FAILED: 1, NOT_JUDGED: 3}
"""Exit statuses of verdicts; 2 is for what nothing can be said about at all."""
CODES, SCALES, SHAPES = "codes", "scales", "shapes"
BY = (CODES, SCALES, SHAPES)
"""What a module may be judged by: codes by an original, scales by themselves, shapes by its type.
"""


TRANSFORMED = "transformed"
UNEXPLAINED = ("searched", "other", TRANSFORMED)
"""What is said in place of a recipe."""


def ratio_text(ratio: tuple[float, float]) -> str:
    """Write the least and the greatest ratio: 0.00709, or 0.00612 to 0.00787."""
    return " to ".join(dict.fromkeys(f"{r:.3g}" for r in ratio))


@dataclass
class CheckedLayer(Layer):
    """A quantized module that was checked; its error is measured against the original."""

    recipe: str | None = None
    codes_different: int | None = None
    """From the recipe; where there is none, from rint(w / scale) by the scales that are there."""
    scales_different: int | None = None
    """From the recipe; where there is none, from the nearest."""
    cosine: float | None = None
    scale_ratio: tuple[float, float] | None = None
    """The least and the greatest scale / amax, where no recipe fits."""
    first: tuple[int, int] | None = None
    """Row and column of the first difference."""
    judged: tuple[str, ...] = ()
    """What it was judged by: some of "codes" (with the original), "scales" and "shapes"."""


@dataclass(repr=False)
class CheckReport(BaseReport):
    """What :func:`npu_quant.checkpoint.check` found."""

    model: str
    format: str
    model_type: str
    findings: list[Finding]
    types: dict[str, int]
    recipe: dict[str, str | None]
    layers: list[CheckedLayer]
    has_original: bool = False
    notes: list[str] = field(default_factory=list)
    """What the check could not see."""
    not_judged: dict[str, str] = field(default_factory=dict)
    """Quantized modules that nothing judged, and why; with an original, also those whose codes were
    not compared."""

    @property
    def judged(self) -> dict[str, int]:
        """How many quantized modules were judged by codes, by scales and by shapes."""
        return {by: sum(by in layer.judged for layer in self.layers) for by in BY}

    @property
    def verdict(self) -> str:
        """Return "passed", "FAILED" (an error was found) or "not judged".

        A model is not judged where a module is not, or where no module is quantized.
        """
        if any(finding.severity == "error" for finding in self.findings):
            return FAILED
        return PASSED if self.layers and not self.not_judged else NOT_JUDGED

    @property
    def passed(self) -> bool:
        """Whether all quantized modules were judged, one at least, and no error was found."""
        return self.verdict == PASSED

    @property
    def status(self) -> int:
        """The exit status of the command: 0 passed, 1 an error was found, 3 not judged."""
        return STATUSES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        keys = "model format model_type verdict passed findings notes types judged not_judged"
        keys += " recipe layers"
        of_layer = "name type shape judged"
        if self.has_original:
            of_layer += " recipe codes_different scales_different"
            of_layer += " sqnr_db max_error cosine scale_ratio"
        return {"command": "check"} | self._chosen(keys, self.layers, of_layer)

    def __str__(self) -> str:
        return _check_text(self)


def _check_text(report: CheckReport) -> str:
    lines = [_verdict(report), *(f"  {line}" for line in _judged(report))]
    lines += [f"  note: {note}" for note in report.notes]
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
        return f"{FAILED}: {', '.join(counts)}"
    types = [f"{counted(n, 'module')} {t}" for t, n in report.types.items()]
    by = [name for name, n in report.judged.items() if n]
    types += [f"judged by {', '.join(by)}"] if by else []
    if report.not_judged:
        every = {layer.name for layer in report.layers} | report.not_judged.keys()
        types.insert(0, f"{len(report.not_judged):,} of {counted(len(every), 'quantized module')}")
    elif not report.layers:
        types.insert(0, "no module is quantized")
    names = sorted({name for name in report.recipe.values() if name})
    recipe = [f"recipe {'+'.join(names)}"] if names else []
    return f"{report.verdict}: {', '.join([*types, *recipe, *counts])}"


def _judged(report: CheckReport) -> list[str]:
    """Return what modules were judged by, and which were not."""
    lines = []
    by = [f"{name} of {counted(n, 'module')}" for name, n in report.judged.items() if n]
    if by:
        lines.append(f"judged: {', '.join(by)}")
    if by and not report.judged[CODES] and not report.has_original:
        lines[0] += "; codes were compared with nothing (--original DIR compares them)"
    by_reason: dict[str, list[str]] = {}
    for module, why in report.not_judged.items():
        by_reason.setdefault(why, []).append(module)
    return lines + [
        f"not judged: {why}: {few(modules)}" for why, modules in [*by_reason.items()][:MOST]
    ]
