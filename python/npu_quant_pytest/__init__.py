"""What pytest loads of npu_quant: a fixture, options, and the account of comparisons.

    def test_rows(npu_golden):
        npu_golden(npu_y, op="npu_dynamic_quant", inputs={"input": x})  # computed golden
        npu_golden(npu_y, expected, atol=1)                             # given golden
        npu_golden.stored(npu_y, name="y")                              # golden of an earlier run

`golden` is the same fixture, unless another plugin or a conftest.py has one of that name.

pytest loads it by itself where npu_quant is installed; ``-p no:npu_quant`` leaves it out. npu_quant
is imported by the fixture, or where an assertion of NumPy or torch on arrays fails, not before: a
session of other tests neither waits for it nor fails where it cannot be imported.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from . import options
from .assertions import sections_of
from .ledger import RECORDS, WAITING, Ledger, attach, returned

if TYPE_CHECKING:
    from npu_quant.pytest_plugin.fixture import Golden

__all__ = ["npu_golden"]

_NAME = "npu_quant"
_PREFIX = "npu_quant.testing.GoldenMismatch: "
_MARKER = (
    "golden(op=None, inputs=None, numerics=None, atol=None, rtol=None, preset=None, variant=None, "
    "names=None, allow_constant=False): what the fixture `golden` takes unless the test says else."
)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options now where a conftest.py loads the plugin, which is after the others'."""
    if pluginmanager.get_name(sys.modules[__name__]) != _NAME:
        # Pytest would load what `-p` named otherwise once more by its entry point, and end there.
        pluginmanager.set_blocked(_NAME)
    config = pluginmanager.get_plugin("pytestconfig")
    names = [name for name, _ in pluginmanager.list_name_plugin()]
    if config is not None and any(name.endswith("conftest.py") for name in names):
        options.add(parser, config)


# Hooks are not of `wrapper=True`, which a pytest before 8 may not know.
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser
) -> Generator[None, Any, None]:
    """Add the options when those of plugins and conftest.py files are there."""
    yield
    options.add(parser, early_config)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and collect what reports bring."""
    config.addinivalue_line("markers", _MARKER)
    config.pluginmanager.register(Ledger(config), "npu_quant-golden-ledger")
    if not any(map(_has_golden, config.pluginmanager.get_plugins())):
        config.pluginmanager.register(_Alias(), "npu_quant-golden-alias")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Tell the report of a test from those of its subtests, which come before."""
    yield
    returned(item)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Put into a report what was compared."""
    outcome = yield
    report = outcome.get_result()
    if report.failed and call.excinfo is not None:
        if hasattr(call.excinfo.value, "comparison"):
            _shorten(report.longrepr, call.excinfo.value.comparison)
        elif isinstance(call.excinfo.value, AssertionError):
            report.sections += sections_of(call.excinfo.tb)
    attach(item, report)


def _shorten(representation: Any, comparison: Any) -> None:
    """Begin the text of a GoldenMismatch with the cause, and take its module's name off it."""
    with suppress(AttributeError):  # of what another plugin may have made of it
        crash = representation.reprcrash
        if crash.message.startswith(_PREFIX):
            from npu_quant.golden.report.text import brief_of

            text = crash.message.removeprefix(_PREFIX)
            crash.message = f"GoldenMismatch: {brief_of(comparison)}\n{text}"
        for entry in representation.reprtraceback.reprentries:
            entry.lines = [line.replace(_PREFIX, "", 1) for line in entry.lines]


def _has_golden(plugin: object) -> bool:
    """Say whether a plugin or conftest.py has a fixture of that name, not a module, say."""
    return "fixture" in type(getattr(plugin, "golden", None)).__name__.lower() or hasattr(
        getattr(plugin, "golden", None), "_pytestfixturefunction"
    )


class _Alias:
    """`golden`, the short name of `npu_golden`, where nothing else has a fixture of that name."""

    @pytest.fixture
    def golden(self, npu_golden: Golden) -> Golden:
        """Compare arrays with a golden: the same as `npu_golden`."""
        return npu_golden


@pytest.fixture
def npu_golden(request: pytest.FixtureRequest) -> Golden:
    """Compare arrays with a golden and fail the test unless they agree or rounding explains it.

    ``npu_golden(actual, expected)``, ``npu_golden(actual, op="npu_dynamic_quant", inputs={...})``
    and ``npu_golden.stored(actual, name="y")`` take the tolerances of
    npu_quant.testing.assert_golden; the marker ``golden`` gives them defaults. The session ends
    with a summary of all comparisons.
    """
    from npu_quant.pytest_plugin.fixture import Golden, Outbox
    from npu_quant.pytest_plugin.folders import Folders
    from npu_quant.pytest_plugin.settings import marked

    test = request.node
    # Not by record_property, which warns where pytest writes JUnit's newer format.
    outbox = Outbox(
        records=test.stash.setdefault(RECORDS, []),
        waiting=test.stash.setdefault(WAITING, []),
        properties=test.user_properties,
    )
    return Golden(Folders.of(test), marked(test), outbox)
