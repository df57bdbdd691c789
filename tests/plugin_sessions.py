"""pytest in pytest: sessions that load nothing but the plugin of npu_quant.

It has no assertions of its own: PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Protocol

import pytest

# Imported here, since pytester forgets what is imported first in one of its sessions.
from npu_quant.pytest_plugin import fixture, summary  # noqa: F401

# The example of npu_dynamic_quant's page: -2 is -63.5 steps, a tie, so that -63 is one code off.
HEADER = """
import ml_dtypes
import numpy as np
import pytest

import npu_quant
from npu_quant.testing import GoldenMismatch

X = np.array([[0, 1, -2, 4]], dtype=np.float16)
Y = np.array([[0, 32, -64, 127]], dtype=np.int8)
TIE = np.array([[0, 32, -63, 127]], dtype=np.int8)
WRONG = np.array([[0, 32, -62, 127]], dtype=np.int8)
SCALE = np.array([4], dtype=np.float32) / np.float32(127)
OP = {"op": "npu_dynamic_quant", "inputs": {"input": X}}
"""


class Session(Protocol):
    """Runs pytest on a test module."""

    def __call__(
        self, source: str = "", *options: str, module: str = "test_it", **outcomes: int
    ) -> pytest.RunResult:
        """Write the module if there is a source, and run pytest with these options.

        Where outcomes are given, such as passed=1, there are these and no others.
        """
        ...


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Return what runs pytest in an empty folder, 100 columns wide."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "100")
    # Where these are set pytest is more talkative.
    for name in ("CI", "BUILD_NUMBER", "PYTEST_ADDOPTS", "FORCE_COLOR", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)

    # A module that is written twice in a second may look the same.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def run(
        source: str = "", *options: str, module: str = "test_it", **outcomes: int
    ) -> pytest.RunResult:
        if source:
            pytester.makepyfile(**{module: HEADER + textwrap.dedent(source)})
        always = ["-p", "npu_quant", "-q", "--strict-markers", "-W", "error"]
        result = pytester.runpytest_inprocess(*always, *options)
        if outcomes:
            result.assert_outcomes(**outcomes)
        return result

    return run


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Path:
    """Where the sessions run."""
    return pytester.path


def text_of(result: pytest.RunResult) -> str:
    """Return what a session printed."""
    return result.stdout.str()


def arrays_in(folder: Path) -> list[str]:
    """Return the files of kept and stored arrays."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*.npz"))


def command_in(result: pytest.RunResult) -> str:
    """Return the command that the report of the only failure ends with."""
    lines = [line for line in result.outlines if line.startswith("E ")]
    start, found, command = lines[-1].partition("rerun: ")
    assert found, start
    return command
