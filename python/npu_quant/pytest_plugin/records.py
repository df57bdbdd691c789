"""Records: what the summary says of a comparison, as plain data."""

from __future__ import annotations

import math
from typing import Any

from npu_quant_pytest.ledger import UNWRITTEN, Record

from ..golden.api import Comparison
from ..golden.report.why import reason_of_output
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
    outputs = [{"output": name, "rung": note, "margin": None, "found": "", "passed": False}]
    return {"note": note, "rung": note, "passed": False, "outputs": outputs, "text": ""}


def _output(output: OutputComparison, comparison: Comparison, note: str) -> dict[str, Any]:
    return {
        "output": output.name,
        "rung": output.rung,
        "margin": None if math.isnan(output.margin) else float(output.margin),
        "found": reason_of_output(comparison, output).text,
        "passed": output.passed and note != "refused",
    }


def give_up(record: Record, why: str) -> None:
    """Note that a golden is not stored, and why."""
    record["note"], record["passed"] = UNWRITTEN, False
    record["text"] = f"{UNWRITTEN}, {why}: {record['text']}"
    for output in record["outputs"]:
        output["passed"] = False
