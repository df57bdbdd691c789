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
from .folder import few
from .names import KNOWN_MODELS
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


class BaseReport(Judged, Reported):
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
class QuantizeReport(BaseReport):
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
    language_model: list[str] = field(default_factory=list)
    """What the names of its layers begin with; [] if no token embedding tells where they are."""
    outside: list[dict[str, Any]] = field(default_factory=list)
    """What is outside of them, such as towers: name, reason, Linears, how many are quantized."""
    left_files: list[str] = field(default_factory=list)
    """Files that have weights, but none of the model: they are neither read nor copied."""
    left_tensors: list[str] = field(default_factory=list)
    """Scales of an FP8 source's activations: they are left out."""
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
        keys += "left_float layers shards resumed resumed_bytes warnings "
        keys += "language_model outside left_files left_tensors"
        of_layer = "name type shape"
        if not self.dry_run:
            keys += " passed findings is_finished_before seconds peak_rss_bytes"
            of_layer += " zero_rows sqnr_db max_error"
        data = {"command": "quantize"} | self._chosen(keys, self.layers, of_layer)
        return {"float" if key == "left_float" else key: value for key, value in data.items()}

    def __str__(self) -> str:
        return _quantize_text(self)


# ---- Texts.

WORST = 5
MOST = 20
"""Of how many like things each is told."""

L = TypeVar("L", bound=Layer)


def _quantize_text(report: QuantizeReport) -> str:
    lines = [_headline(report)]
    lines += [f"note: {warning}" for warning in report.warnings]
    lines += _types(report)
    lines += _places(report)
    lines += _left(report)
    lines += _left_out(report)
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


def _places(report: QuantizeReport) -> list[str]:
    """What was taken for the language model, where that may surprise."""
    if not report.outside and report.model_type in KNOWN_MODELS:
        return []
    layers = few(report.language_model) or "not told by a token embedding, only by names"
    others = [
        f"{place['name']} ({counted(place['linears'], 'Linear')})" for place in report.outside
    ]
    return [f"layers of the language model: {layers}; outside: {few(others) or 'no Linear'}"]


def _left_out(report: QuantizeReport) -> list[str]:
    lines = []
    if report.left_files:
        what = "not read and not copied, weights of something else"
        lines.append(f"{what}: {few(report.left_files)}")
    if report.left_tensors:
        what = "left out, as FP8 activations are not of the result"
        lines.append(f"{what}: {few(report.left_tensors)}")
    return lines


def _left(report: QuantizeReport) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for entry in report.left_float:
        by_reason.setdefault(entry["reason"], []).append(entry["name"])
    return [f"left FLOAT: {reason}: {few(some)}" for reason, some in [*by_reason.items()][:MOST]]


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
