"""Records: what the summary says of a comparison, as plain data."""

from __future__ import annotations

import math
from typing import Any

from npu_quant_pytest.ledger import UNWRITTEN, Record

from ..golden.api import Comparison
from ..golden.elements import elements_of
from ..golden.report import words
from ..golden.results import OutputComparison


def record_of(note: str, comparison: Comparison, text: str = "") -> Record:
    """Return the record of a comparison.

    Args:
        note: "" for one that counts by its rung; "refused", "new" or "updated".
        comparison: what was found.
        text: what the summary shows of a golden that was stored.
    """
    return {
        "note": note,
        "rung": comparison.rung,
        "passed": comparison.passed and note != "refused",
        "outputs": [_output(o, comparison, note) for o in comparison.outputs],
        "text": text,
    }


def record_of_none(note: str, name: str) -> Record:
    """Return the record of a comparison that could not take place: "missing" or "refused"."""
    output = {"output": name, "rung": note, "margin": None, "limit": "", "differ": ""}
    outputs = [{**output, "passed": False}]
    return {"note": note, "rung": note, "passed": False, "outputs": outputs, "text": ""}


def _output(output: OutputComparison, comparison: Comparison, note: str) -> dict[str, Any]:
    margin, limit = output.margin, _limit(output, comparison)
    if output.rung == "different" and output.tolerance is not None:
        margin = output.tolerance.margin
    differ = output.problem or ""
    if output.metrics is not None:
        counts = output.metrics
        differ = f"{words.count(counts.mismatches)} of {words.count(counts.count)}"
        differ += f" as {output.type_name}" if output.problem else ""
    return {
        "output": output.name,
        "rung": output.rung,
        "margin": None if math.isnan(margin) else float(margin),
        "limit": limit,
        "differ": differ,
        "passed": output.passed and note != "refused",
    }


def _limit(output: OutputComparison, comparison: Comparison) -> str:
    """Return what a margin is a fraction of."""
    if output.rung == "tie":
        own = elements_of(output.type_name)
        return f"{own.scale_steps if output.ties is None else output.ties.allowed:g} ulp"
    if output.rung == "variant":
        return comparison.accepted_variant or ""
    if output.rung in ("tolerated", "different") and output.tolerance is not None:
        return output.tolerance.text
    return ""


def give_up(record: Record, why: str) -> None:
    """Note that a golden is not stored, and why."""
    record["note"], record["passed"] = UNWRITTEN, False
    record["text"] = f"{UNWRITTEN}, {why}: {record['text']}"
    for output in record["outputs"]:
        output["passed"] = False
