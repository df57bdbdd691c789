"""What was quantized, as text for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from .._text import printable
from ..golden.report.words import counted

if TYPE_CHECKING:
    from .reports import CheckedLayer, Layer, QuantizeReport

WORST = 5
MOST = 20
"""Of how many like things each is told."""

L = TypeVar("L", "Layer", "CheckedLayer")


def quantize_text(report: QuantizeReport) -> str:
    """Return the report as text: what was written, what was left, what it cost."""
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
        return f"FAILED: what was written is not what was meant: {first.name}: {first.text}"
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
    """Return the modules that are left FLOAT, by reason."""
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
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    for unit in units:
        if value < 1024 or unit == units[-1]:
            return f"{count} B" if unit == "B" else f"{value:.2f} {unit}"
        value /= 1024
    raise AssertionError
