"""What the comparisons of a session found: from test to report to the summary, as plain data.

A record is a dict of plain values, since pytest-xdist sends reports from one process to another.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

Record = dict[str, Any]
"""note, rung, passed, text; outputs: a list of output, rung, passed, margin, limit, differ."""

RECORDS: pytest.StashKey[list[Record]] = pytest.StashKey()
"""Of an item: the comparisons since its last report."""
KEPT: pytest.StashKey[Path] = pytest.StashKey()
"""Of an item: the folder where arrays of its failing comparisons are kept."""
_ATTRIBUTE = "npu_quant_golden"


def attach(item: pytest.Item, report: pytest.TestReport) -> None:
    """Put an item's records into a report; forget the arrays of earlier failures if it passed."""
    records = item.stash.get(RECORDS, [])
    if records:
        setattr(report, _ATTRIBUTE, list(records))
        records.clear()
    if report.when == "call" and report.passed and KEPT in item.stash:
        from .places import forget

        forget(item.stash[KEPT])


class Ledger:
    """Collects the records that reports bring, for the summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._records: list[Record] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the records out of a report."""
        for record in getattr(report, _ATTRIBUTE, ()):
            self._records.append({**record, "test": report.nodeid, "failed": report.failed})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was compared; nothing where nothing was."""
        if not self._records:
            return
        from .summary import summarize

        summarize(terminalreporter, self._records, full=self._config.getoption("golden_summary"))
