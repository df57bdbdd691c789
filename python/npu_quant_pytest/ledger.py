"""What the comparisons of a session found: from test to report to the summary, as plain data.

A record is a dict of plain values, since pytest-xdist sends reports from one process to another.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from . import options

Record = dict[str, Any]
"""note, rung, passed, text; outputs: a list of output, rung, passed, margin, found."""

UNWRITTEN = "not written"
"""The note of a golden that was to be stored and was not."""


RECORDS: pytest.StashKey[list[Record]] = pytest.StashKey()
"""Of an item: the comparisons since its last report."""
KEPT: pytest.StashKey[Path] = pytest.StashKey()
"""Of an item: the folder where arrays of its failing comparisons are kept."""
_REPORTS: pytest.StashKey[list[pytest.TestReport]] = pytest.StashKey()
_ATTRIBUTE = "npu_quant_golden"


def attach(item: pytest.Item, report: pytest.TestReport) -> None:
    """Put an item's records into a report, and forget the arrays of old failures."""
    if report.when == "setup":
        item.stash[_REPORTS] = []  # a test may run again
    item.stash.setdefault(_REPORTS, []).append(report)
    records = item.stash.get(RECORDS, [])
    if records:
        setattr(report, _ATTRIBUTE, list(records))
        records.clear()
    if report.when == "teardown" and KEPT in item.stash and has_passed(item):
        forget(item.stash[KEPT])


def has_passed(item: pytest.Item) -> bool:
    """Say whether a test has passed so far: to be asked late, as a plugin may fail a report."""
    reports = item.stash.get(_REPORTS, [])
    return any(each.when == "call" for each in reports) and all(each.passed for each in reports)


def forget(folder: Path) -> None:
    """Remove what was kept for a test, and the folders that this leaves empty."""
    if not folder.is_dir():
        return
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()


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
        from npu_quant.pytest_plugin.summary import summarize

        full = bool(options.value_of(self._config, "summary"))
        summarize(terminalreporter, self._records, full=full)
