"""The summary at the end of a session: one line of counts, and the table of comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from npu_quant_pytest.ledger import UNWRITTEN, Record

_PASSES = ("identical", "tie", "variant", "tolerated", "new", "updated")
_FAILURES = ("different", "variant (not accepted)", "missing", "unreadable", "refused")
_ORDER = (*_PASSES, UNWRITTEN, *_FAILURES)
_PASSED, _FAILED, _EXPECTED = "ok", "FAIL", "xfail"
_MOST_ROWS = 40
_WIDEST = 100
_HEADINGS = ("", "rung", "margin", "differ")
_LAST_HEADING = "output of test"
# Of these columns: what a test's id has at least, and what the others and a name are cut to for it.
_PLACE, _LEAST, _NAME = 48, 9, 16


class Row(NamedTuple):
    """A line of the table."""

    cells: tuple[str, str, str, str]
    output: str
    test: str


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
        shown = rows if full else rows[:_MOST_ROWS]
        _write_table(reporter, shown)
        if len(rows) > len(shown):
            reporter.write_line(
                f"and {len(rows) - len(shown):,} more: --npu-golden-summary lists all"
            )
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


def _rows(record: Record) -> list[Row]:
    failed = _FAILED if _is_bad(record) else _EXPECTED if _is_expected(record) else ""
    rows = []
    for output in record["outputs"]:
        passed = _PASSED if output["passed"] else failed
        margin = _margin(output["margin"], output["limit"])
        cells = (passed, record["note"] or output["rung"], margin, output["differ"] or "-")
        rows.append(Row(cells, str(output["output"]), record["test"]))
    return rows


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


def _write_table(reporter: pytest.TerminalReporter, rows: Sequence[Row]) -> None:
    widths = _widths(rows)
    room = _WIDEST - sum(widths) - 2 * len(widths)
    _write_row(reporter, _HEADINGS, widths, _LAST_HEADING)
    for row in rows:
        _write_row(reporter, row.cells, widths, _place(row, room))


def _write_row(
    reporter: pytest.TerminalReporter, cells: Sequence[str], widths: Sequence[int], place: str
) -> None:
    padded = [_cut(cell, width).ljust(width) for cell, width in zip(cells, widths, strict=True)]
    reporter.write_line("  ".join([*padded, place]), red=cells[0] == _FAILED)


def _widths(rows: Sequence[Row]) -> list[int]:
    """Return the widths of the columns before the last, which leave room for that."""
    shown = [_HEADINGS, *(row.cells for row in rows)]
    widths = [max(len(cells[i]) for cells in shown) for i in range(len(_HEADINGS))]
    longest = max(len(_place(row, _WIDEST)) for row in rows)
    room = _WIDEST - 2 * len(widths) - min(longest, _PLACE)
    while sum(widths) > room and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _place(row: Row, width: int) -> str:
    """Return the output's name and the test's id, of which the end says most."""
    start = f"{_cut(row.output, _NAME)} of " if row.output else ""
    left = width - len(start)
    test = row.test if len(row.test) <= left else f"...{row.test[3 - left :]}"
    return start + test


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
