"""The summary at the end of a session: one line of counts, and the table of comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from .ledger import Record

_PASSES = ("identical", "tie", "variant", "tolerated", "new", "updated")
_ORDER = (*_PASSES, "different", "variant (not accepted)", "missing", "refused")
_PASSED, _FAILED, _EXPECTED = "ok", "FAIL", "xfail"
_MOST_ROWS = 40
_WIDEST = 100
_HEADINGS = ("", "rung", "margin", "differ", "output of test")
Row = tuple[str, str, str, str, str]


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
        reporter.section("golden comparisons")
        _write_table(reporter, rows, len(rows) if full else _MOST_ROWS)
    reporter.write_line(counts(found), red=any(map(_is_bad, found)))


def counts(found: Sequence[Record]) -> str:
    """Return the one line: how many comparisons there were, and how they ended."""
    labels = Counter(
        _label(record) + ("" if record["passed"] or _is_bad(record) else " (expected)")
        for record in found
    )
    order = [*_ORDER, *(f"{label} (expected)" for label in _ORDER)]
    listed = ", ".join(f"{labels[label]:,} {label}" for label in order if labels[label])
    plural = "" if len(found) == 1 else "s"
    return f"golden: {len(found):,} comparison{plural}: {listed}"


def _is_bad(record: Record) -> bool:
    """Say whether a comparison failed its test; one may be meant to fail, inside pytest.raises."""
    return not record["passed"] and bool(record["failed"])


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


def _rows(record: Record) -> list[Row]:
    failed = _FAILED if _is_bad(record) else _EXPECTED
    return [
        (
            _PASSED if output["passed"] else failed,
            record["note"] or output["rung"],
            _margin(output["margin"], output["limit"]),
            output["differ"] or "-",
            f"{output['output']} of {record['test']}" if output["output"] else record["test"],
        )
        for output in record["outputs"]
    ]


def _margin(margin: float | None, limit: str) -> str:
    """Return such as "0.24 of 4 ulp"."""
    if margin is None:
        return limit or "-"
    if not limit:
        return f"{margin:.2f}"
    return f"{margin:.2f} of {limit}" if margin < 1000 else f"{margin:.2g} of {limit}"


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


def _write_table(reporter: pytest.TerminalReporter, rows: Sequence[Row], most: int) -> None:
    shown = [_HEADINGS, *rows[:most]]
    widths = [min(30, max(len(row[i]) for row in shown)) for i in range(4)]
    for row in shown:
        cells = [_cut(cell, width).ljust(width) for cell, width in zip(row, widths, strict=False)]
        start = "  ".join(cells)
        place = row[4][-max(20, _WIDEST - len(start) - 2) :]
        cut = f"...{place[3:]}" if len(place) < len(row[4]) else place
        reporter.write_line(f"{start}  {cut}", red=row[0] == _FAILED)
    if len(rows) > most:
        reporter.write_line(f"and {len(rows) - most:,} more: --golden-summary lists all")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
