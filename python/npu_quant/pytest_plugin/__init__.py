"""The pytest plugin: the fixture `golden`, its options, and reports of arrays that differ.

    def test_rows(golden):
        golden(npu_y, op="npu_dynamic_quant", inputs={"input": x})  # computed golden
        golden(npu_y, expected, atol=1)                             # given golden
        golden.stored(npu_y, name="y")                              # golden of an earlier run

pytest loads it by itself where npu_quant is installed; ``-p no:npu_quant`` leaves it out. Only
hooks live here: what they need is imported when it is needed, so that other tests do not wait.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from .ledger import RECORDS, Ledger, attach

if TYPE_CHECKING:
    from .fixture import Golden

__all__ = ["golden"]

_MARKER = (
    "golden(op=None, inputs=None, numerics=None, atol=None, rtol=None, preset=None, variant=None, "
    "names=None, allow_constant=False): what the fixture `golden` takes unless the test says else."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("golden", "comparison with goldens (npu_quant)")
    group.addoption(
        "--golden-dir",
        metavar="DIR",
        help="where golden.stored finds its files, from rootdir; default: golden/ beside the test",
    )
    group.addoption(
        "--golden-update",
        action="store_true",
        help="golden.stored stores what the tests give now, and the summary shows what changed",
    )
    group.addoption(
        "--golden-keep",
        metavar="DIR",
        help="where arrays of failing comparisons are kept, from rootdir; default: pytest's cache",
    )
    group.addoption(
        "--golden-summary",
        action="store_true",
        help="list every comparison with its rung and margin, also when all pass",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and collect what reports bring."""
    config.addinivalue_line("markers", _MARKER)
    config.pluginmanager.register(Ledger(config), "npu_quant-golden-ledger")


# Not `wrapper=True`, which a pytest before 8 may not know.
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Put into a report what was compared, and how the arrays of a failing assertion differ."""
    outcome = yield
    report = outcome.get_result()
    attach(item, report)
    # Without NumPy there are no arrays, and nothing is to be imported.
    if report.failed and call.excinfo is not None and "numpy" in sys.modules:
        from .failures import explain

        explain(report, call.excinfo.value, call.excinfo.tb)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain ``assert left == right`` of arrays, or of tuples and dicts of arrays."""
    if op != "==" or "numpy" not in sys.modules:
        return None
    from .failures import lines_of

    return lines_of(left, right)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare arrays with a golden and fail the test unless they agree or rounding explains it.

    ``golden(actual, expected)``, ``golden(actual, op="npu_dynamic_quant", inputs={...})`` and
    ``golden.stored(actual, name="y")`` take the tolerances of npu_quant.testing.assert_golden; the
    marker ``golden`` gives them defaults. The session ends with a summary of all comparisons.
    """
    from .fixture import Golden
    from .places import Places
    from .settings import marked

    test = request.node
    records = test.stash.setdefault(RECORDS, [])
    # Not by record_property, which warns where pytest writes JUnit's newer format.
    return Golden(Places.of(test), marked(test), records, test.user_properties)
