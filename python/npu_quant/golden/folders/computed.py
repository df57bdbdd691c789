"""The calls in one folder: outputs judged by what an operator makes of the inputs beside them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ..._kinds import Progress
from ...arrays import Source
from ...errors import ParamError
from ...files import FileError
from ...files.folder import Entry
from ..folder_results import Alone, FolderRow
from ..operators import model_of
from ..operators.dumped import Rule, arguments_of_call, arrays_in, loaded, output_in_file
from ..sources import ArraySource
from .by_operator import Group, array_of, calls_of, check_found, judged_call, outputs_in
from .rows import FAULTS, MOST_KEPT, Pass, proven, row_of

Outputs = Mapping[str, Entry]
"""Of a call, by the operator's names."""


def rows_of_calls(
    pass_: Pass, rules: Sequence[Rule], progress: Progress | None
) -> tuple[list[FolderRow], tuple[Alone, ...]]:
    """Return a row for each output, and the arrays that belong to no call.

    Raises:
        ParamError: a rule fits no call.
    """
    folder, rows, used, failing = pass_.sides[0], dict[str, FolderRow](), set[str](), 0
    calls = [(group, outputs_in(group, folder)) for group in calls_of(rules, folder)]
    calls = [(group, outputs) for group, outputs in calls if outputs]
    check_found(rules, [group for group, _ in calls], folder, "the folder")
    for done, (group, outputs) in enumerate(calls, 1):
        judged = _rows(pass_, group, outputs, failing < MOST_KEPT)
        failing += sum(not row.passed for row in judged.values())
        rows |= judged
        with suppress(ParamError):  # of a call without inputs
            arrays = arrays_in(arguments_of_call(group.rule, group.call))
            used |= {e.file for n in arrays if (e := folder.find(n, group.folder)) is not None}
        if progress is not None:
            progress(done, len(calls))
    alone = [
        Alone(entry.name, entry.file, entry.fault or "is no output or input of a call")
        for entry in folder.entries
        if entry.file not in rows.keys() | used
    ]
    return [rows[entry.file] for entry in folder.entries if entry.file in rows], tuple(alone)


def _rows(pass_: Pass, group: Group, outputs: Outputs, keep: bool) -> dict[str, FolderRow]:
    rule, folder = group.rule, pass_.sides[0]
    rows = {
        name: FolderRow(entry.name, entry.file, f"computed by {rule.op}", group.name, rule.op)
        for name, entry in outputs.items()
    }
    try:
        arguments = arguments_of_call(rule, group.call)
        inputs = loaded(arguments, partial(array_of, pass_, group, folder))
        arrays = {name: _opened(pass_, rule, e, name, inputs) for name, e in outputs.items()}
        limits = pass_.heeded(*(array.dtype.name for array in arrays.values()))
        comparison = judged_call(group, folder.path, inputs, arrays, limits)
    except FAULTS as error:
        problem = str(error) or type(error).__name__
        rows = {name: dataclasses.replace(row, problem=problem) for name, row in rows.items()}
    else:
        rows = {
            name: proven(row_of(row, comparison, comparison.output(name), keep), comparison)
            for name, row in rows.items()
        }
    return {outputs[name].file: row for name, row in rows.items()}


def _opened(pass_: Pass, rule: Rule, entry: Entry, name: str, inputs: Mapping[str, Any]) -> Source:
    """An output; what it does not say the operator does."""
    try:
        return entry.open(dtype=pass_.dtype)
    except FileError:
        if entry.fault is not None:
            raise
        model = model_of(rule.op, inputs, rule.numerics)
        made = output_in_file(model, name, os.path.getsize(entry.path))
        return entry.open(None if made is None else ArraySource(made))
