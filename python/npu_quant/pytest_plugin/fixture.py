"""The fixture `golden`: assert_golden that is recorded, keeps what failed, and stores goldens."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

from ..errors import DTypeError, ParamError
from ..golden.compare import run
from ..golden.comparison import Comparison
from ..golden.refusal import refusal_of
from ..golden.request import Request
from ..testing import GoldenMismatch
from . import archive, keep, records, store
from .ledger import Record
from .places import Places
from .settings import Settings, settings

# pytest shows the frames of the test only.
__tracebackhide__ = True

P = ParamSpec("P")
R = TypeVar("R")


def _concise(method: Callable[P, R]) -> Callable[P, R]:
    """Leave out of a complaint about arguments where in the package they were looked at."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except (ParamError, DTypeError) as error:
            raise error.with_traceback(None) from None

    return call


class Golden:
    """Compares arrays with a golden in one test; see the fixture `golden`."""

    def __init__(
        self,
        places: Places,
        defaults: Mapping[str, Any],
        found: list[Record],
        properties: list[tuple[str, object]],
    ) -> None:
        self._places, self._defaults = places, defaults
        self._found, self._properties = found, properties
        self._calls, self._failures = 0, 0
        self._names: set[str] = set()

    def __repr__(self) -> str:
        return "<golden>"  # pytest shows it in every failing test

    @_concise
    def __call__(self, actual: Any, golden: Any = None, **arguments: Any) -> Comparison:
        """Fail unless results are what their golden says, or rounding explains the difference.

        Args:
            actual: what is to be judged: an array, or a tuple or dict of arrays.
            golden: what it should be; None where `op` computes it.
            arguments: those of :func:`npu_quant.testing.assert_golden`: op, inputs, numerics, atol,
                rtol, preset, variant, names, allow_constant. Their defaults are the marker's.

        Returns:
            The comparison that passed.

        Raises:
            GoldenMismatch: it did not pass; the text ends with a command that compares once more.
            ValueError: it could only pass.
            ParamError: an argument does not fit the others.
        """
        asked = settings(arguments, self._defaults, computed=golden is None)
        return self._judge(actual, golden, asked, asked.request())

    @_concise
    def stored(self, actual: Any, name: str = "y", **arguments: Any) -> Comparison:
        """Compare with what this test gave when its goldens were stored.

        They are in ``golden/<test module>/<test>/<name>.npz`` beside the test's file. ``pytest
        --golden-update`` stores what the test gives now, and shows how it differs from before.

        Args:
            actual: what is to be judged: an array, or a tuple or dict of arrays.
            name: the golden's name, once in a test.
            arguments: as above; `inputs` and `variant` have no meaning here.

        Returns:
            The comparison that passed.

        Raises:
            GoldenMismatch: it did not pass.
            pytest.fail.Exception: there is no such golden yet, or it has other arrays.
            ValueError: it could only pass, or is not worth storing: empty, or one value only.
            ParamError: `name` is taken or no file's name, or an argument does not fit the others.
        """
        asked = settings(arguments, self._defaults, computed=False)
        path = self._places.stored_file(name)
        if name in self._names:
            raise ParamError(
                f"golden.stored: {name!r} was compared before; give each its own name."
            )
        self._names.add(name)
        arrays = store.arrays_of(actual, name, asked)
        request = asked.request(names=None, golden_name=self._places.shown(path))
        if self._places.updating:
            return self._update(path, arrays, asked, request)
        problem = store.problem_of(path, arrays)
        if problem is not None:
            self._record(records.record_of_none("missing", name))
            advice = f"When the result is right, store it: {self._places.update_command}"
            pytest.fail(f"golden.stored: {request.golden_name} {problem}.\n{advice}")
        return self._judge(arrays, archive.read(path), asked, request)

    def _judge(self, actual: Any, golden: Any, asked: Settings, request: Request) -> Comparison:
        """Compare and record; raise unless it passes and could have failed."""
        comparison = run(actual, golden, request)
        if not comparison.passed:
            raise self._mismatch(comparison, request)
        refusal = refusal_of(comparison, asked.allow_constant)
        self._record(records.record_of("" if refusal is None else "refused", comparison))
        if refusal is not None:
            raise ValueError(f"golden refuses: {refusal}")
        return comparison

    def _mismatch(self, comparison: Comparison, request: Request) -> GoldenMismatch:
        """Keep the arrays of a comparison that failed; return what is to be raised."""
        self._failures += 1
        kept = keep.keep(self._places, self._failures, comparison, request)
        comparison = dataclasses.replace(comparison, rerun=kept.command)
        self._record(records.record_of("", comparison))
        mismatch = GoldenMismatch(comparison)
        if kept.problem:
            mismatch.args = (f"{comparison}\n  arrays not kept: {kept.problem}",)
        return mismatch

    def _update(
        self, path: Path, arrays: store.Arrays, asked: Settings, request: Request
    ) -> Comparison:
        """Store what the test gives, unless that is there already."""
        # Tolerances are for results, not for what is to be the golden.
        plain = Request(op=request.op, golden_name=request.golden_name)
        refusal = store.refusal_of_storing(arrays, plain, asked.allow_constant)
        if refusal is not None:
            self._record(records.record_of_none("refused", path.stem))
            raise ValueError(f"golden.stored does not store {plain.golden_name}: {refusal}")
        note, text = store.change_of(path, arrays, plain)
        if note:
            archive.write(path, arrays)
        comparison = run(arrays, archive.read(path), plain)
        self._record(records.record_of(note, comparison, text))
        return comparison

    def _record(self, record: Record) -> None:
        self._calls += 1
        self._found.append(record)
        self._properties += records.properties_of(record, self._calls)
