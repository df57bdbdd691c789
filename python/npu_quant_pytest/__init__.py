"""What pytest loads of npu_quant: a fixture, options, and the account of comparisons.

    def test_rows(npu_golden):
        npu_golden(npu_y, op="npu_dynamic_quant", inputs={"input": x})  # computed golden
        npu_golden(npu_y, expected, atol=1)                             # given golden
        npu_golden.stored(npu_y, name="y")                              # golden of an earlier run

pytest loads it by itself where npu_quant is installed, by ``-p npu_quant`` where it is told to load
nothing so; ``-p no:npu_quant`` leaves it out. npu_quant is imported by the fixture, not before: a
session of other tests neither waits for it nor fails where it cannot be imported.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from . import options
from .ledger import RECORDS, Ledger, attach, has_passed

if TYPE_CHECKING:
    from npu_quant.pytest_plugin.fixture import Golden

__all__ = ["npu_golden"]

_PREFIX = "npu_quant.testing.GoldenMismatch: "
_MARKER = (
    "npu_golden(op=None, inputs=None, numerics=None, atol=None, rtol=None, preset=None, "
    "variant=None, names=None, allow_constant=False): what the fixture `npu_golden` takes unless "
    "the test says else."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    options.add(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and collect what reports bring."""
    config.addinivalue_line("markers", _MARKER)
    config.pluginmanager.register(Ledger(config), "npu_quant-golden-ledger")


# Not of `wrapper=True`, which a pytest before 8 may not know.
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Put into a report what was compared."""
    outcome = yield
    report = outcome.get_result()
    error: Any = None if call.excinfo is None else call.excinfo.value
    if report.failed and hasattr(error, "comparison"):
        _shorten(report.longrepr)
    attach(item, report)


def _shorten(representation: Any) -> None:
    """Begin the text of a GoldenMismatch with its verdict, not with the exception's name."""
    with suppress(AttributeError):  # of what another plugin may have made of it
        crash = representation.reprcrash
        crash.message = crash.message.removeprefix(_PREFIX)
        for entry in representation.reprtraceback.reprentries:
            entry.lines = [line.replace(_PREFIX, "", 1) for line in entry.lines]


@pytest.fixture
def npu_golden(request: pytest.FixtureRequest) -> Iterator[Golden]:
    """Compare arrays with a golden and fail the test unless they agree or rounding explains it.

    ``npu_golden(actual, expected)``, ``npu_golden(actual, op="npu_dynamic_quant", inputs={...})``
    and ``npu_golden.stored(actual, name="y")`` take the tolerances of
    npu_quant.testing.assert_golden; the marker ``npu_golden`` gives them defaults. The session
    ends with a summary of all comparisons.
    """
    from npu_quant.pytest_plugin.fixture import Golden
    from npu_quant.pytest_plugin.folders import Folders
    from npu_quant.pytest_plugin.settings import marked

    test = request.node
    golden = Golden(Folders.of(test), marked(test), test.stash.setdefault(RECORDS, []))
    yield golden
    golden.store(has_passed(test))
