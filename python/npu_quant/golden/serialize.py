"""Comparisons as plain data."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from .comparison import Comparison, OutputComparison

SCHEMA_VERSION = 1


def plain(value: Any) -> Any:
    """Return a value as JSON has it: NaN and infinities as strings, dataclasses as objects."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f.name for f in dataclasses.fields(value) if f.repr]
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, dict):
        return {_key(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def _key(key: Any) -> str:
    return " vs ".join(key) if isinstance(key, tuple) else str(key)


def _output_to_dict(output: OutputComparison) -> dict[str, Any]:
    names = ("name", "rung", "passed", "margin", "problem", "ties", "follows_scale", "where")
    data: dict[str, Any] = {name: plain(getattr(output, name)) for name in names}
    data["dtype"], data["shape"] = output.dtype.name, list(output.shape)
    data["metrics"] = None if output.metrics is None else output.metrics.to_dict()
    seen = output.dequantized
    data["dequantized"] = None if seen is None else seen.to_dict()
    data["tolerance"] = plain(output.tolerance)
    data["presets"] = output.presets
    data["notes"] = list(output.notes)
    return data


def comparison_to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data that JSON takes."""
    from .. import __version__

    return {
        "schema_version": SCHEMA_VERSION,
        "npu_quant": __version__,
        "op": comparison.op,
        "actual": comparison.actual_name,
        "golden": comparison.golden_name,
        "rung": comparison.rung,
        "passed": comparison.passed,
        "margin": plain(comparison.margin),
        "variants": plain(comparison.variants),
        "accepted_variant": comparison.accepted_variant,
        "missing": plain(comparison.missing),
        "extra": plain(comparison.extra),
        "not_compared": plain(comparison.not_compared),
        "outputs": [_output_to_dict(output) for output in comparison.outputs],
    }
