"""The summary at the end of a session: one line of counts, and the table of comparisons."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from npu_quant_pytest.ledger import UNWRITTEN, Record

from .._table import Column, Row, Table

_PASSES = ("identical", "tie", "variant", "tolerated", "new", "updated")
_FAILURES = ("different", "variant (not accepted)", "missing", "unreadable", "refused")
_ORDER = (*_PASSES, UNWRITTEN, *_FAILURES)
_PASSED, _FAILED, _EXPECTED = "ok", "FAIL", "xfail"
_MOST_ROWS = 40
_COLUMNS = (
    Column("", "verdict"),
    Column("verdict", "verdict"),
    Column("output of test", "name"),
    Column("found", "wide"),
)


def summarize(reporter: pytest.TerminalReporter, found: Sequence[Record], *, full: bool) -> None:
    """Write the summary.

    Args:
        reporter: where to.
        found: the records, each with its test's id and whether that failed.
        full: list all comparisons, whether or not any failed.
    """
    _write_stored(reporter, found)
    if full or any(map(_is_bad, found)):
        rows = [row for record in sorted(found, key=_rank) for row in _rows(record)]
        table = Table(_COLUMNS, rows if full else rows[:_MOST_ROWS])
        reporter.section("golden comparisons")
        width = shutil.get_terminal_size((100, 24)).columns
        reporter.write_line(table.text(width, coloured=reporter.hasmarkup))
        more = len(rows) - len(table.rows)
        if more:
            reporter.write_line(f"and {more:,} more: --npu-golden-summary lists all")
    reporter.write_line(counts(found), red=any(map(_is_bad, found)))


def counts(found: Sequence[Record]) -> str:
    """Return the one line: how many comparisons there were, and how they ended."""
    labels = Counter(
        _label(record) + (" (expected)" if _is_expected(record) else "") for record in found
    )
    order = [*_ORDER, *(f"{label} (expected)" for label in _ORDER)]
    listed = ", ".join(f"{labels[label]:,} {label}" for label in order if labels[label])
    plural = "" if len(found) == 1 else "s"
    return f"golden: {len(found):,} comparison{plural}: {listed}"


def _is_bad(record: Record) -> bool:
    """Say whether a comparison failed its test; one may be meant to fail, inside pytest.raises."""
    return not record["passed"] and bool(record["failed"])


def _is_expected(record: Record) -> bool:
    return not (record["passed"] or record["failed"] or record["note"] == UNWRITTEN)


def _label(record: Record) -> str:
    if record["note"]:
        return str(record["note"])
    refused = record["rung"] == "variant" and not record["passed"]
    return "variant (not accepted)" if refused else str(record["rung"])


def _rank(record: Record) -> tuple[bool, int, float]:
    """Order failures first, then the worse rung, then the greater margin."""
    margins = [output["margin"] for output in record["outputs"]]
    greatest = max((m for m in margins if m is not None), default=0.0)
    return not _is_bad(record), -_ORDER.index(_label(record)), -greatest


def _rows(record: Record) -> Iterator[Row]:
    failed = _FAILED if _is_bad(record) else _EXPECTED if _is_expected(record) else ""
    for output in record["outputs"]:
        state = _PASSED if output["passed"] else failed
        name = f"{output['output']} of " if output["output"] else ""
        verdict, place = record["note"] or output["rung"], f"{name}{record['test']}"
        yield Row((state, verdict, place, output["found"]), failed=state == _FAILED)


def _write_stored(reporter: pytest.TerminalReporter, found: Sequence[Record]) -> None:
    """Show what became of the stored goldens, before anything else."""
    texts = [(record["test"], record["text"]) for record in found if record["text"]]
    if not texts:
        return
    reporter.section("golden update")
    for test, text in texts:
        reporter.write_line(str(test))
        for line in text.splitlines():
            reporter.write_line(f"  {line}")
