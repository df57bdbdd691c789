"""pytest in pytest: sessions that load nothing but the plugin of npu_quant.

It has no assertions of its own: PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import sys
import textwrap
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
        self, source: str = "", *options: str, module: str = "test_it"
    ) -> pytest.RunResult:
        """Write the module if there is a source, and run pytest with these options."""
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

    def run(source: str = "", *options: str, module: str = "test_it") -> pytest.RunResult:
        if source:
            pytester.makepyfile(**{module: HEADER + textwrap.dedent(source)})
        options = (
            "-p",
            "npu_quant.pytest_plugin",
            "-q",
            "--strict-markers",
            "-W",
            "error",
            *options,
        )
        return pytester.runpytest_inprocess(*options)

    return run


def text_of(result: pytest.RunResult) -> str:
    """Return what a session printed."""
    return result.stdout.str()
