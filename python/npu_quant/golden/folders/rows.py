"""Each pair of arrays compared by itself: what all rows share, and a row of what was found."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from ..._kinds import Progress
from ..._shell import compare_command
from ...arrays import Source
from ...errors import DTypeError, ParamError
from ...files import FileError
from ...files.folder import Entry, Folder
from ..api import Comparison, run
from ..folder_results import FolderRow
from ..judge.refusal import refusal_of
from ..judge.request import Limits, Request
from ..judge.tolerance import is_about
from ..report.why import left_out_text, reason_of, reason_of_output
from ..results import OutputComparison
from .pairs import Pair

FAULTS = (FileError, ParamError, DTypeError, TypeError, ValueError, OSError, MemoryError)
"""What a file, an operator or an array may bring about: a row that fails, not the end of all."""


MOST_KEPT = 100
"""Of more rows that fail, comparisons are not kept: each may take half a megabyte."""


@dataclasses.dataclass(frozen=True)
class Pass:
    """What all rows of a comparison share."""

    sides: tuple[Folder, Folder]
    limits: Limits
    dtype: str | None

    def heeded(self, *dtypes: str) -> Limits:
        """Return the limits, if they say anything about one of some dtypes."""
        preset = self.limits.preset
        about = preset is None or any(is_about(preset, dtype) for dtype in dtypes)
        return self.limits if about else Limits()

    def opened(self, pair: Pair, stack: ExitStack | None = None) -> tuple[Source, Source]:
        """Return the arrays of a pair, to be closed by the stack or when they are dropped."""
        keep: Callable[[Any], Any] = (lambda s: s) if stack is None else stack.enter_context
        try:
            golden = keep(pair.golden.open(dtype=self.dtype))
        except FileError:  # the actual one may say what it holds
            actual = keep(pair.actual.open(dtype=self.dtype))
            return actual, keep(pair.golden.open(actual, self.dtype))
        return keep(pair.actual.open(golden, self.dtype)), golden

    def compared(
        self, pair: Pair, stack: ExitStack | None = None, progress: Progress | None = None
    ) -> Comparison:
        """Compare a pair."""
        actual, golden = self.opened(pair, stack)
        raw = pair.actual.path.lower().endswith(".bin")
        command = compare_command(map(_word, (pair.actual, pair.golden)))
        request = Request(
            limits=self.heeded(golden.dtype.name),
            progress=progress,
            rerun="" if raw else command,
        )
        return run(actual, golden, request)


def _word(entry: Entry) -> str:
    return entry.path if entry.key is None else f"{entry.path}::{entry.key}"


def plain_rows(
    pass_: Pass, pairs: Sequence[Pair], progress: Progress | None
) -> dict[str, FolderRow]:
    """Compare each pair by itself; return the rows by the actual file."""
    rows, failing = {}, 0
    arrays = Counter(pair.actual.path for pair in pairs)
    sizes = [_size(pair.actual.path) // arrays[pair.actual.path] for pair in pairs]
    done, total = 0, max(1, sum(sizes))

    def advance(part: int, whole: int, size: int) -> None:
        if progress is not None:
            progress(done + size * part // max(1, whole), total)

    for pair, size in zip(pairs, sizes, strict=True):
        row = _plain_row(pass_, pair, partial(advance, size=size), failing < MOST_KEPT)
        failing += not row.passed
        rows[pair.actual.file] = row
        done += size
    if progress is not None:
        progress(total, total)
    return rows


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except (OSError, ValueError):  # a name in dump.json may be anything
        return 0


def _plain_row(pass_: Pass, pair: Pair, progress: Progress, keep: bool) -> FolderRow:
    entry = pair.actual
    call = "" if entry.is_input else entry.call
    blank = FolderRow(entry.name, entry.file, pair.golden.file, call)
    with ExitStack() as stack:
        try:
            comparison = pass_.compared(pair, stack, progress)
            row = row_of(blank, comparison, comparison.decisive, keep)
            return proven(row, comparison)
        except FAULTS as error:
            problem = str(error) or type(error).__name__
            return dataclasses.replace(blank, problem=problem)


def row_of(
    blank: FolderRow, comparison: Comparison, output: OutputComparison, keep: bool
) -> FolderRow:
    """Return a row with what was found of an output; `keep` all of it where that does not pass."""
    found = str(reason_of_output(comparison, output) if output.passed else reason_of(comparison))
    if output.left_out is not None and output.rows_compared:
        found += f"; {left_out_text(output.left_out, output.name)}"
    return dataclasses.replace(
        blank,
        dtype=output.type_name,
        shape=output.shape,
        rung=output.rung,
        passed=output.passed,
        metrics=output.metrics,
        margin=output.margin,
        found=found,
        problem=output.problem,
        report="" if output.passed else str(comparison),
        comparison=comparison if keep and not output.passed else None,
    )


def proven(row: FolderRow, comparison: Comparison) -> FolderRow:
    """Fail a row that passes by accident only; note one whose passing says nothing."""
    if not row.passed:
        return row
    why = None
    if comparison.decisive.same:
        why = "both are the same file, which equals itself"
    elif row.rung == "tolerated":
        why = refusal_of(comparison, allow_constant=True)
    if why is not None:
        return dataclasses.replace(row, passed=False, problem=why, margin=float("inf"))
    empty_or_constant = row.count == 0 or refusal_of(comparison, allow_constant=False) is not None
    return dataclasses.replace(row, proves=not empty_or_constant)
