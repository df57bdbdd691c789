"""What quantize and check say: to a program as a dict, to a person as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from .._shown import Judged, plain
from .._text import clean, printable
from ..golden.report.reports import Report, Reported
from ..golden.report.words import counted
from .schemes import FLOAT
from .weights import Error


class Finding(NamedTuple):
    """One thing that is wrong with a model."""

    severity: str
    """error or warning."""
    rule: str
    name: str
    """The tensor, module or file."""
    text: str
    """What is wrong, and what a consumer does."""


class Findings(list[Finding]):
    """All that was found so far, in order."""

    def error(self, rule: str, name: str, text: str) -> None:
        """Add an error."""
        self.add("error", rule, name, text)

    def warning(self, rule: str, name: str, text: str) -> None:
        """Add a warning."""
        self.add("warning", rule, name, text)

    def add(self, severity: str, rule: str, name: str, text: str) -> None:
        """Add an error or a warning."""
        self.append(Finding(severity, rule, name, text))


@dataclass
class Layer:
    """A module that was quantized, and what it lost."""

    name: str
    type: str
    shape: tuple[int, int]
    zero_rows: int | None = None
    sqnr_db: float | None = None
    max_error: float | None = None

    def measure(self, error: Error) -> None:
        """Add the distance of the weight from the values that its codes stand for."""
        self.zero_rows, self.sqnr_db = error.zero_rows, error.sqnr_db
        self.max_error = error.greatest


class _Report(Judged, Reported):
    """What both reports have; a prompt shows the first line, as some have 45,000 layers."""

    findings: list[Finding]

    @property
    def passed(self) -> bool:
        """Whether no error was found."""
        return not any(finding.severity == "error" for finding in self.findings)

    def _chosen(self, keys: str, layers: Iterable[Layer], of_layer: str) -> dict[str, Any]:
        """Some attributes, and some of each layer, as JSON has them."""
        data: dict[str, Any] = {key: getattr(self, key) for key in keys.split()}
        data["layers"] = [{key: vars(layer)[key] for key in of_layer.split()} for layer in layers]
        if "findings" in data:
            data["findings"] = [finding._asdict() for finding in self.findings]
        result: dict[str, Any] = plain(data)
        return result

    def _report(self) -> Report:
        first, *lines = str(self).splitlines()
        verdict, _, why = first.partition(": ")
        return Report(self.passed, verdict, why, tuple(map(str.strip, lines)))

    def __repr__(self) -> str:
        first, *_ = str(self).splitlines()
        return f"<{type(self).__name__} {clean(first, 300)}>"


@dataclass(repr=False)
class QuantizeReport(_Report):
    """What :func:`npu_quant.checkpoint.quantize` did, or would do."""

    scheme: str
    format: str
    model_type: str
    params_dtype: str
    dry_run: bool
    source_bytes: int
    written_bytes: int
    """Of all shards."""
    left_float: list[dict[str, str]]
    """Linears that are left FLOAT, and why; then matrices that are not known to be Linears."""
    layers: list[Layer]
    shards: list[dict[str, Any]]
    copied_bytes: int
    """Of the files that are copied."""
    warnings: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    """Of what was written, when it was read back and checked."""
    resumed: int = 0
    """Shards that were taken over from a former run."""
    resumed_bytes: int = 0
    """Bytes of the source that they, and pieces of other shards, were made of."""
    is_finished_before: bool = False
    """Whether all was there, from a run that finished."""
    seconds: float | None = None
    peak_rss_bytes: int | None = None

    @property
    def types(self) -> dict[str, int]:
        """How many modules each type has, FLOAT Linears too."""
        count = Counter(layer.type for layer in self.layers)
        count[FLOAT] = len(self.left_float)
        return {type: n for type, n in count.items() if n}

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        keys = "scheme format model_type params_dtype dry_run source_bytes written_bytes types "
        keys += "left_float layers shards resumed resumed_bytes warnings"
        of_layer = "name type shape"
        if not self.dry_run:
            keys += " passed findings is_finished_before seconds peak_rss_bytes"
            of_layer += " zero_rows sqnr_db max_error"
        data = {"command": "quantize"} | self._chosen(keys, self.layers, of_layer)
        return {"float" if key == "left_float" else key: value for key, value in data.items()}

    def __str__(self) -> str:
        return _quantize_text(self)


UNEXPLAINED = ("searched", "other", "transformed")
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


@dataclass(repr=False)
class CheckReport(_Report):
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

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        keys = "model format model_type passed findings notes types recipe layers"
        of_layer = "name type shape"
        if self.has_original:
            of_layer += " recipe codes_different scales_different"
            of_layer += " sqnr_db max_error cosine scale_ratio"
        return {"command": "check"} | self._chosen(keys, self.layers, of_layer)

    def __str__(self) -> str:
        return _check_text(self)


# ---- Texts.

WORST = 5
MOST = 20
"""Of how many like things each is told."""

L = TypeVar("L", Layer, CheckedLayer)


def _quantize_text(report: QuantizeReport) -> str:
    lines = [_headline(report)]
    lines += [f"note: {warning}" for warning in report.warnings]
    lines += _types(report)
    lines += _left(report)
    if report.dry_run:
        lines += [f"  {s['file']}  {size(s['bytes'])}" for s in report.shards]
        lines.append(f"needs {size(report.written_bytes + report.copied_bytes)} on the disk")
    else:
        lines += _worst(report.layers)
    return "\n".join(map(printable, lines))


def _headline(report: QuantizeReport) -> str:
    what = f"{report.model_type or 'a model'} to {report.scheme} ({report.format})"
    sizes = f"{size(report.source_bytes)} become {size(report.written_bytes)}"
    if not report.passed:
        first = next(f for f in report.findings if f.severity == "error")
        return f"FAILED: the written files have errors: {first.name}: {first.text}"
    if report.dry_run:
        return f"would quantize {what}: {sizes}; nothing was written"
    if report.is_finished_before:
        return f"done already: {what}: {sizes}; every file is as it was written"
    seconds = report.seconds or 0.0
    text = f"quantized {what}: {sizes} in {seconds:.1f} s"
    if report.resumed_bytes:
        text += f"; {size(report.resumed_bytes)} of it were done already"
    return text


def _types(report: QuantizeReport) -> list[str]:
    elements: Counter[str] = Counter()
    for layer in report.layers:
        elements[layer.type] += layer.shape[0] * layer.shape[1]
    return [
        f"{type}: {counted(count, 'module')}"
        + (f", {counted(elements[type], 'weight')}" if type in elements else "")
        for type, count in report.types.items()
    ]


def _left(report: QuantizeReport) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for entry in report.left_float:
        by_reason.setdefault(entry["reason"], []).append(entry["name"])
    return [
        f"left FLOAT: {reason}: {', '.join(some[:3])}"
        + (f" and {len(some) - 3} more" if len(some) > 3 else "")
        for reason, some in [*by_reason.items()][:MOST]
    ]


def worst_of(layers: Iterable[L]) -> list[L]:
    """Return the few layers that lost the most, the worst first."""
    measured = [layer for layer in layers if layer.sqnr_db is not None]
    return sorted(measured, key=lambda layer: layer.sqnr_db or 0.0)[:WORST]


def _worst(layers: list[Layer]) -> list[str]:
    some = worst_of(layers)
    if not some:
        return []
    width = max(len(layer.name) for layer in some)
    return [
        "the worst layers, by their signal to noise:",
        *(
            f"  {layer.name:{width}}  {layer.type}  {layer.sqnr_db:.1f} dB"
            f"  at most {layer.max_error:.3g} off"
            + (f"  {counted(layer.zero_rows, 'zero row')}" if layer.zero_rows else "")
            for layer in some
        ),
    ]


def size(count: int) -> str:
    """Write a number of bytes: 512 B, 3.21 MiB."""
    power = min(max(count.bit_length() - 1, 0) // 10, 4)
    unit = ("B", "KiB", "MiB", "GiB", "TiB")[power]
    return f"{count / 1024**power:.2f} {unit}" if power else f"{count} B"


def _check_text(report: CheckReport) -> str:
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
