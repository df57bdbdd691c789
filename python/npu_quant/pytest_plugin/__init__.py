"""What the fixture `golden` and the reports of the pytest plugin need; see npu_quant_pytest.

pytest loads npu_quant_pytest by itself, which imports this when a test compares.
``-p npu_quant.pytest_plugin`` loads it too, where pytest is told to load nothing by itself.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import pytest

import npu_quant_pytest


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Load the plugin, by the name that pytest would load it by."""
    if not pluginmanager.is_registered(npu_quant_pytest):
        pluginmanager.register(npu_quant_pytest, "npu_quant")
