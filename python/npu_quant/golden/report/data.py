"""Comparisons as plain data."""

from __future__ import annotations

from typing import Any

from ... import __version__
from ..explanation_results import ExplanationData
from ..results import ComparisonData, OutputComparison
from ..shown import plain

SCHEMA_VERSION = 1


def _output_to_dict(output: OutputComparison) -> dict[str, Any]:
    names = ["name", "rung", "passed", "margin", "problem", "rung_of_values"]
    names += ["ties", "follows_scale", "where"]
    data: dict[str, Any] = {name: plain(getattr(output, name)) for name in names}
    data["dtype"], data["shape"] = output.type_name, list(output.shape)
    data["metrics"] = None if output.metrics is None else output.metrics.to_dict()
    data["numbers"] = None if output.numbers is None else output.numbers.to_dict()
    data["tolerance"] = plain(output.tolerance)
    data["presets"] = output.presets
    data["notes"] = list(output.notes)
    return data


def comparison_to_dict(comparison: ComparisonData) -> dict[str, Any]:
    """Return a comparison as plain data that JSON takes."""
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


def explanation_to_dict(explanation: ExplanationData) -> dict[str, Any]:
    """Return an explanation as plain data that JSON takes."""
    return {
        "schema_version": SCHEMA_VERSION,
        "op": explanation.op,
        "outputs": dict(explanation.outputs),
        "matches": [result.name for result in explanation.matches],
        "ranked": plain(explanation.ranked),
    }
