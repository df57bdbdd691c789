"""How the arrays of a failing assertion differ, such as ``assert np.array_equal(y, expected)``.

pytest shows such an assertion's arrays as their first and last numbers. Here the statement that
failed is read again, the names in it are looked up where it failed, and their arrays are compared.
Nothing is called or computed a second time, and no mistake here may spoil the report of a test.
"""

from __future__ import annotations

import ast
import linecache
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from .statement import Pair, lookup, pairs_of, statement_at

Arrays = dict[str, NDArray[Any]]

# Frames of these lie between a failing statement and the exception.
_LIBRARIES = {"contextlib", "numpy", "torch"}
# What NumPy and torch say of `assert a == b` with more than one element.
_AMBIGUOUS = ("truth value of an array", "Boolean value of Tensor")
# What of pytest asks how the sides of a comparison differ; its caller is the test.
_ASKS = "_call_reprcompare"
_NOT_FOUND = (LookupError, ValueError, TypeError, AttributeError)
_PREFIX = "npu_quant.testing.GoldenMismatch: "
_ADVICE = "a == b of arrays has no truth value: write golden({0}, {1}) or np.array_equal({0}, {1})"
_NAN = "the same bits; == does not hold where both are NaN, golden(...) and equal_nan=True do"


def explain(report: pytest.TestReport, error: BaseException, trace: TracebackType | None) -> None:
    """Add to a report how the arrays of the assertion that failed differ, if it is about arrays.

    Args:
        report: of a test that failed.
        error: what it failed with.
        trace: its traceback.
    """
    try:
        if hasattr(error, "comparison"):
            _shorten(report.longrepr)
            return
        ambiguous = any(text in str(error) for text in _AMBIGUOUS)
        if not (isinstance(error, AssertionError) or ambiguous):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = _explained(trace, ambiguous)
        if text is not None:
            report.longrepr.addsection("golden comparison", text)  # type: ignore[union-attr]
    except Exception:  # a report without this is better than no report
        return


def _shorten(representation: Any) -> None:
    """Take the module's name off the text of a GoldenMismatch, which says itself what it is."""
    crash = representation.reprcrash
    crash.message = crash.message.removeprefix(_PREFIX)
    for entry in representation.reprtraceback.reprentries:
        entry.lines = [line.replace(_PREFIX, "", 1) for line in entry.lines]


def lines_of(left: object, right: object) -> list[str] | None:
    """Return the explanation of ``assert left == right``, of arrays or tuples or dicts of them."""
    try:
        if not (_holds_arrays(left) and _holds_arrays(right)) or _is_told_later(left, right):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = _report(left, right, ("left", "right"), elementwise=True)
    except Exception:  # pytest has an explanation of its own
        return None
    if report is None:
        return None
    return [f"{type(left).__name__} == {type(right).__name__}", *report.splitlines()]


def _is_told_later(left: object, right: object) -> bool:
    """Say whether :func:`explain` will tell, of ``(left == right).all()``, which has a section."""
    frame = sys._getframe()
    while frame.f_code.co_name != _ASKS:
        if frame.f_back is None:
            return False
        frame = frame.f_back
    if frame.f_back is None:
        return False
    statement = _statement_in(frame.f_back, frame.f_back.f_lineno)
    for pair in () if statement is None else pairs_of(statement, bare=False):
        with suppress(*_NOT_FOUND):
            sides = lookup(pair.actual, frame.f_back), lookup(pair.golden, frame.f_back)
            if _is_same(sides[0], left) and _is_same(sides[1], right):
                return True
    return False


def _is_same(one: Any, other: Any) -> bool:
    """Say whether two are one object, or views of the same elements."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(one.__array_interface__ == other.__array_interface__)
    return one is other


def _explained(trace: TracebackType | None, ambiguous: bool) -> str | None:
    """Compare what the failing statement compares; return the first report of a difference."""
    found = _failing(trace)
    if found is None:
        return None
    frame, line = found
    statement = _statement_in(frame, line)
    for pair in () if statement is None else pairs_of(statement, bare=ambiguous):
        text = _of_pair(pair, frame)
        if ambiguous:
            advice = _ADVICE.format(*map(ast.unparse, pair[:2]))
            return advice if text is None else f"{text}\n{advice}"
        if text is not None:
            return text
    return None


def _statement_in(frame: FrameType, line: int) -> ast.stmt | None:
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    return statement_at(ast.parse(source), line)


def _failing(trace: TracebackType | None) -> tuple[FrameType, int] | None:
    """Return the innermost frame that is not a library's, and the line it is at."""
    found = None
    while trace is not None:
        root = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if root not in _LIBRARIES:
            found = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    return found


def _of_pair(pair: Pair, frame: FrameType) -> str | None:
    """Return the report of two expressions; None where they hold no arrays, or equal ones."""
    try:
        actual, golden = lookup(pair.actual, frame), lookup(pair.golden, frame)
    except _NOT_FOUND:
        return None
    if not (_holds_arrays(actual) or _holds_arrays(golden)):
        return None
    names = ast.unparse(pair.actual), ast.unparse(pair.golden)
    return _report(actual, golden, names, elementwise=pair.elementwise)


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray) or type(value).__module__ == "torch"


def _holds_arrays(value: object) -> bool:
    """Say whether this is an array, or a tuple, list or dict of nothing but arrays."""
    if isinstance(value, (tuple, list, dict)):
        return bool(value) and all(_is_array(each) for each in _items(value).values())
    return _is_array(value)


def _items(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {str(name): each for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        names = getattr(type(value), "_fields", None) or range(len(value))
        return {str(name): each for name, each in zip(names, value, strict=True)}
    return {"": value}


def _report(actual: Any, golden: Any, names: tuple[str, str], *, elementwise: bool) -> str | None:
    """Compare; return the report, None where nothing differs."""
    from ..golden.api import run
    from ..golden.judge.request import Request

    # A list of numbers beside an array is an array.
    sides = [
        _items(side) if _holds_arrays(side) else {"": np.asarray(side)} for side in (actual, golden)
    ]
    if sides[0].keys() == sides[1].keys():
        alike = {n: _alike(sides[0][n], sides[1][n], elementwise) for n in sides[0]}
        sides = [{n: both[i] for n, both in alike.items()} for i in (0, 1)]
    comparison = run(sides[0], sides[1], Request(actual_name=names[0], golden_name=names[1]))
    if comparison.rung == "identical":
        return _NAN if any(map(_has_nan, sides[0].values())) else None
    # What comes next is for who calls compare, not for an assertion.
    lines = [line for line in str(comparison).splitlines() if not line.startswith("  next:")]
    return "\n".join(lines).removeprefix("GoldenMismatch: ")


def _alike(actual: Any, golden: Any, elementwise: bool) -> tuple[Any, Any]:
    """Give two arrays one dtype and shape where their assertion takes them for equal."""
    from ..golden.read.sources import as_source

    a, g = as_source(actual, "actual").array(), as_source(golden, "golden").array()
    if a.shape != g.shape and (elementwise or not a.ndim or not g.ndim):
        a, g = np.broadcast_arrays(a, g)
    if a.dtype != g.dtype:
        common, narrow = np.result_type(a, g), min(a.dtype, g.dtype, key=lambda d: d.itemsize)
        wide = [a.astype(common), g.astype(common)]
        kept = [side.astype(narrow) for side in (a, g)]
        exact = all(np.array_equal(k.astype(common), w) for k, w in zip(kept, wide, strict=True))
        a, g = kept if exact else wide
    return a, g


def _has_nan(array: NDArray[Any]) -> bool:
    return bool(np.any(array != array))
