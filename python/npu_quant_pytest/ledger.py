"""What the comparisons of a session found: from test to report to the summary, as plain data.

A record is a dict of plain values, since pytest-xdist sends reports from one process to another.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from . import options

Record = dict[str, Any]
"""note, rung, passed, text; outputs: a list of output, rung, passed, margin, limit, differ."""

UNWRITTEN = "not written"
"""The note of a golden that was to be stored and was not."""


class Waiting(NamedTuple):
    """A golden that is stored when its test has passed."""

    record: Record
    write: Callable[[], str | None]
    """Stores it; returns why it could not."""


RECORDS: pytest.StashKey[list[Record]] = pytest.StashKey()
"""Of an item: the comparisons since its last report."""
WAITING: pytest.StashKey[list[Waiting]] = pytest.StashKey()
"""Of an item: the goldens to be stored."""
KEPT: pytest.StashKey[Path] = pytest.StashKey()
"""Of an item: the folder where arrays of its failing comparisons are kept."""
_REPORTS: pytest.StashKey[list[pytest.TestReport]] = pytest.StashKey()
_RETURNED: pytest.StashKey[bool] = pytest.StashKey()
_ATTRIBUTE = "npu_quant_golden"


def returned(item: pytest.Item) -> None:
    """Note that the test's function has returned or raised."""
    item.stash[_RETURNED] = True


def attach(item: pytest.Item, report: pytest.TestReport) -> None:
    """Put an item's records into a report, store its goldens, forget the arrays of old failures."""
    if report.when == "setup":
        # A test may run again.
        item.stash[_REPORTS] = []
        item.stash[_RETURNED] = False
    reports = item.stash.setdefault(_REPORTS, [])
    reports.append(report)
    _settle(item, report)
    records = item.stash.get(RECORDS, [])
    if records:
        setattr(report, _ATTRIBUTE, list(records))
        records.clear()
    # At the very end, since a plugin may fail a report later, and subtests have reports too.
    if report.when == "teardown" and KEPT in item.stash:
        called = any(each.when == "call" for each in reports)
        if called and all(each.passed for each in reports):
            forget(item.stash[KEPT])
        reports.clear()


def _settle(item: pytest.Item, report: pytest.TestReport) -> None:
    """Store the goldens of a test that passed; give up those of one that did not."""
    waiting = item.stash.get(WAITING, [])
    if not waiting:
        return
    is_subtest = report.when == "call" and not item.stash.get(_RETURNED, False)
    failed = any(each.failed for each in item.stash[_REPORTS])
    if not failed and (is_subtest or (report.when == "setup" and report.passed)):
        return
    records = item.stash.setdefault(RECORDS, [])
    for golden in waiting:
        problem = None
        if failed or not report.passed:
            _give_up(golden.record, "the test did not pass")
        else:
            problem = golden.write()
        if problem is not None:
            _give_up(golden.record, "see the failure")
            report.outcome = "failed"
            report.longrepr = problem
            failed = True
        records.append(golden.record)
    waiting.clear()


def _give_up(record: Record, why: str) -> None:
    record["note"], record["passed"] = UNWRITTEN, False
    record["text"] = f"{UNWRITTEN}, {why}: {record['text']}"
    for output in record["outputs"]:
        output["passed"] = False


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

        full = options.value_of(self._config, "summary")
        more = options.name_of(self._config, "summary")
        summarize(terminalreporter, self._records, full=full, option=more)
