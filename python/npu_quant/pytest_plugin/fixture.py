"""The fixture `npu_golden`: assert_golden that keeps account, arrays that failed, and goldens."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pytest

from npu_quant_pytest.ledger import Record

from ..errors import DTypeError, ParamError
from ..golden.api import Comparison, Sides, run, sides_of
from ..golden.judge.request import Arguments, Request
from ..testing import GoldenFixture, GoldenMismatch, GoldenRefused, checked
from . import archive, keeping, records, store
from .folders import Folders
from .settings import Settings, request_of, settings_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

# pytest shows the frames of the test only.
__tracebackhide__ = True

_ADVICE = {
    "missing": "When the result is right, store it",
    "stale": "when the result is right and the golden is not, store it",
    "unreadable": "Restore it, or store what is right now",
}

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


class Golden(GoldenFixture):
    """Compares arrays with a golden in one test; see the fixture `npu_golden`."""

    def __init__(
        self, folders: Folders, defaults: Mapping[str, Any], records: list[Record]
    ) -> None:
        self._folders, self._defaults, self._records = folders, defaults, records
        self._failures = 0
        self._names: set[str] = set()
        self._to_store: list[tuple[Record, Path, archive.Arrays]] = []

    def __repr__(self) -> str:
        return "<npu_golden>"  # pytest shows it in every failing test

    @_concise
    def __call__(
        self, actual: Any, golden: Any = None, **arguments: Unpack[Arguments]
    ) -> Comparison:
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
            GoldenRefused: it could only pass.
            ParamError: an argument does not fit the others.
        """
        asked = settings_of(arguments, self._defaults, computed=golden is None)
        return self._judge(actual, golden, asked, request_of(asked))

    @_concise
    def stored(self, actual: Any, name: str = "y", **arguments: Unpack[Arguments]) -> Comparison:
        """Compare with what this test gave when its goldens were stored.

        They are in ``golden/<test module>/<test>/<name>.npz`` beside the test's file. ``pytest
        --npu-golden-update`` stores what the test gives now, if it passes, and shows how that
        differs from before.

        Args:
            actual: what is to be judged: an array, or a tuple or dict of arrays.
            name: the golden's name, once in a test.
            arguments: as above; `inputs` and `variant` have no meaning here.

        Returns:
            The comparison that passed.

        Raises:
            GoldenMismatch: it did not pass.
            pytest.fail.Exception: there is no such golden yet, it has other arrays, or it cannot
                be read.
            GoldenRefused: it could only pass, or is not worth storing: empty, or one value only.
            ParamError: `name` is taken or no file's name, two arrays have one name, or an argument
                does not fit the others.
        """
        asked = settings_of(arguments, self._defaults, computed=False)
        path = self._folders.stored_file(name)
        if name in self._names:
            raise ParamError(
                f"npu_golden.stored: {name!r} was compared before; give each its own name."
            )
        self._names.add(name)
        arrays = store.arrays_of(actual, name, asked)
        request = request_of(asked, names=None, golden_name=self._folders.shown(path))
        if self._folders.updating:
            return self._update(path, arrays, asked, request)
        found = store.held(path, arrays)
        if found.note:
            self._records.append(records.record_of_none(found.note, name))
            text = (
                f"npu_golden.stored: {request.golden_name} {found.problem}.\n{_ADVICE[found.note]}"
            )
            pytest.fail(f"{text}: {self._folders.update_command}")
        try:
            return self._judge(arrays, found.arrays, asked, request)
        except GoldenMismatch as mismatch:
            # The comparison is of what the test gives now: that may be what is right.
            mismatch.args = (f"{mismatch}\n  {_ADVICE['stale']}: {self._folders.update_command}",)
            raise

    def _judge(self, actual: Any, golden: Any, asked: Settings, request: Request) -> Comparison:
        """Compare and record; raise unless it passes and could have failed."""
        sides = sides_of(actual, golden, request)
        try:
            comparison = checked(sides, request, "npu_golden")
        except GoldenMismatch as mismatch:
            raise self._mismatch(mismatch.comparison, sides, request) from None
        except GoldenRefused as refused:
            if refused.comparison is not None:
                self._records.append(records.record_of("refused", refused.comparison))
            raise
        self._records.append(records.record_of("", comparison))
        return comparison

    def _mismatch(self, comparison: Comparison, sides: Sides, request: Request) -> GoldenMismatch:
        """Keep the arrays of a comparison that failed; return what is to be raised."""
        self._failures += 1
        command, problem = keeping.keep(
            self._folders, self._failures, comparison, sides.pairs, request
        )
        comparison = dataclasses.replace(comparison, rerun=command)
        self._records.append(records.record_of("", comparison))
        mismatch = GoldenMismatch(comparison)
        if problem:
            mismatch.args = (f"{comparison}\n  arrays not kept: {problem}",)
        return mismatch

    def _update(
        self, path: Path, arrays: archive.Arrays, asked: Settings, request: Request
    ) -> Comparison:
        """Have what the test gives stored when it has passed, unless that is there already."""
        # Tolerances are for results, not for what is to be the golden.
        plain = Request(
            op=request.op,
            golden_name=request.golden_name,
            allow_constant=request.allow_constant,
        )
        refusal: str | None = "the result has no arrays."
        if arrays:
            # The test may change its arrays before they are stored.
            copies = {name: array.copy() for name, array in arrays.items()}
            comparison = run(arrays, copies, plain)
            # To compare with such a golden could only pass.
            refusal = comparison.refusal
        if refusal is not None:
            self._records.append(records.record_of_none("refused", path.stem))
            raise GoldenRefused(f"npu_golden.stored does not store {plain.golden_name}: {refusal}")
        note, text = store.change_of(path, copies, plain)
        record = records.record_of(note, comparison, text)
        if note:
            self._to_store.append((record, path, copies))
        else:
            self._records.append(record)
        return comparison

    def store(self, passed: bool) -> None:
        """Store the goldens of a test that has passed, at its end; note those of one that did not.

        Raises:
            pytest.fail.Exception: one cannot be written.
        """
        problems = []
        for record, path, arrays in self._to_store:
            try:
                if passed:
                    archive.write(path, arrays)
                else:
                    records.give_up(record, "the test did not pass")
            except (OSError, ValueError, MemoryError) as error:
                why = getattr(error, "strerror", None) or str(error) or repr(error)
                shown = self._folders.shown(path)
                problems.append(f"npu_golden.stored: {shown} cannot be written: {why}")
                records.give_up(record, "see the failure")
            self._records.append(record)
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)
