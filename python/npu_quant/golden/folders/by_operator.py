"""Outputs that differ, judged by what their operator makes of the inputs in the dump."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from ...arrays import Source
from ...errors import ParamError
from ...files import FileError
from ...files.common import Shape
from ...files.dumps import Call, Dumped
from ...files.folder import Entry, Folder
from ..api import Comparison, run
from ..folder_results import FolderRow
from ..judge import verdict
from ..judge.request import Limits, Request
from ..operators import operator_of, outputs_of
from ..operators.dumped import (
    Rule,
    arguments_of_call,
    arrays_in,
    calls_by_names,
    loaded,
    outputs_of_call,
)
from .pairs import Pair
from .rows import FAULTS, Pass, row_of


@dataclasses.dataclass(frozen=True)
class Group:
    """The outputs of a call of an operator."""

    rule: Rule
    name: str
    """Of the call, with its folder."""
    call: Call
    outputs: Mapping[str, Pair] = dataclasses.field(default_factory=dict)
    """By the operator's names."""

    @property
    def folder(self) -> str:
        """The folder of the call's arrays; where only a mapping knows it, its name."""
        return self.name.removesuffix(self.call.name).removesuffix("/") or self.name


def calls_of(rules: Sequence[Rule], side: Folder) -> list[Group]:
    """Return the calls that rules speak of, each with the first that fits, without outputs."""
    groups: dict[str, Group] = {}
    for name, call in side.calls.items():
        fitting = next((rule for rule in rules if rule.fits(name)), None)
        if fitting is not None:
            groups[name] = Group(fitting, name, call)
    arrays = [entry.name for entry in side.entries]
    for rule in rules:
        if rule.outputs and not any(letter in rule.pattern for letter in "*?["):
            groups.setdefault(rule.pattern, Group(rule, rule.pattern, Call(rule.pattern)))
            continue
        said = dataclasses.replace(rule, inputs={}, outputs={})  # by the call
        for name, call in calls_by_names(rule, arrays).items():
            groups.setdefault(name, Group(said, name, call))
    return list(groups.values())


def outputs_in(group: Group, side: Folder) -> dict[str, Entry]:
    """Return the outputs of a call that are there, by the operator's names."""
    names = outputs_of_call(group.rule, group.call)
    found = {output: side.find(array, group.folder) for output, array in names.items()}
    return {output: entry for output, entry in found.items() if entry is not None}


def check_found(rules: Sequence[Rule], groups: Sequence[Group], side: Folder, where: str) -> None:
    """Raise ParamError of a rule for which there is no call with outputs.

    Args:
        rules: what was asked for.
        groups: the calls with outputs.
        side: where they were looked for.
        where: the same in words.
    """
    for rule in rules:
        if not any(group.rule.pattern == rule.pattern for group in groups):
            known = ", ".join([*side.calls][:4]) or "none whose names say what they are"
            names = ", ".join((*outputs_of(rule.op), *operator_of(rule.op).arrays))
            raise ParamError(
                f"no call with outputs in {where} matches {rule.pattern!r}; actual has {known}. "
                f"Name files {names}, in a folder for each call or with the call's name before."
            )


def groups_of(rules: Sequence[Rule], side: Folder, pairs: Sequence[Pair]) -> list[Group]:
    """Return the calls that rules speak of, with the pairs of their outputs.

    Raises:
        ParamError: a rule fits none, or none of a call's outputs is there.
    """
    by_file = {pair.actual.file: pair for pair in pairs}
    groups = []
    for group in calls_of(rules, side):
        entries = outputs_in(group, side)
        found = {o: by_file[e.file] for o, e in entries.items() if e.file in by_file}
        groups.append(dataclasses.replace(group, outputs=found))
    check_found(rules, [group for group in groups if group.outputs], side, "both folders")
    return groups


def said_by_name(
    side: Folder, rules: Sequence[Rule], dtypes: Mapping[str, str], shapes: Mapping[str, Shape]
) -> Folder:
    """Return a folder whose arrays have the dtypes and shapes that are said of them by name."""
    said: dict[str, tuple[str | None, Shape | None]] = {}
    for group in calls_of(rules, side) if dtypes or shapes else ():
        entries = outputs_in(group, side)
        for name, value in arguments_of_call(group.rule, group.call).items():
            entry = side.find(value.name, group.folder) if isinstance(value, Dumped) else None
            entries |= {} if entry is None else {name: entry}
        said |= {e.file: (dtypes.get(name), shapes.get(name)) for name, e in entries.items()}
    entries_ = [
        dataclasses.replace(e, said=(e.said[0] or said[e.file][0], e.said[1] or said[e.file][1]))
        if e.file in said
        else e
        for e in side.entries
    ]
    return dataclasses.replace(side, entries=entries_)


def judge(pass_: Pass, group: Group, rows: dict[str, FolderRow]) -> None:
    """Judge what differs of a call's outputs by its operator, each side by its own inputs.

    Both have to be what it makes of them, and what differs of the inputs has to be accepted. What
    a tolerance allows was seen when the two were compared with each other.
    """
    differing = {
        output: pair
        for output, pair in group.outputs.items()
        if rows[pair.actual.file].rung != "identical"
    }
    if not differing:
        return
    try:
        inputs = _inputs(pass_, group)
        sides = _judged(pass_, group, 0), _judged(pass_, group, 1)
    except FAULTS as error:
        for pair in differing.values():
            row = rows[pair.actual.file]
            note = f"not judged by {group.rule.op}: {error}"
            rows[pair.actual.file] = dataclasses.replace(row, notes=(*row.notes, note))
        return
    for output, pair in differing.items():
        plain = rows[pair.actual.file]
        row = _row_of_both(pass_, group, sides, output, plain)
        if row.passed:
            row = _with_inputs(row, plain, [rows.get(file) for file in inputs])
        rows[pair.actual.file] = row if row.passed or not plain.passed else plain


def _inputs(pass_: Pass, group: Group) -> list[str]:
    """Return the files of the arrays that went into a call.

    Raises:
        ParamError: the sides' other arguments differ: both cannot be judged by one rule.
    """
    arguments = [_asked(pass_, group, side)[1] for side in (0, 1)]
    for name in {**arguments[0], **arguments[1]}:
        actual, golden = (side.get(name) for side in arguments)
        if not arrays_in([actual, golden]) and actual != golden:
            raise ParamError(f"{name} differs: actual {actual!r}, golden {golden!r}.")
    entries = [pass_.sides[0].find(name, group.folder) for name in arrays_in(arguments[0])]
    return [entry.file for entry in entries if entry is not None]


def _asked(pass_: Pass, group: Group, side: int) -> tuple[Folder, dict[str, Any]]:
    """Return what a side's call was given, and the folder that its arrays are in.

    A golden folder that lacks an input is judged by the actual ones.
    """
    folder = pass_.sides[side]
    call = folder.calls.get(group.name, group.call)
    if side:
        has_all = bool(call.positional or call.named or group.rule.inputs)
        arguments = arguments_of_call(group.rule, call) if has_all else {}
        has_all = has_all and all(folder.find(n, group.folder) for n in arrays_in(arguments))
        return (folder, arguments) if has_all else _asked(pass_, group, 0)
    return folder, arguments_of_call(group.rule, call)


def _row_of_both(
    pass_: Pass,
    group: Group,
    sides: tuple[Comparison, Comparison],
    output: str,
    plain: FolderRow,
) -> FolderRow:
    """Return the row of an output that both sides' inputs have judged: the worse of the two."""
    actual, golden = (side.output(output) for side in sides)
    keep = plain.comparison is not None
    blank = dataclasses.replace(plain, op=group.rule.op, call=group.name)
    if not actual.passed:
        return row_of(blank, sides[0], actual, keep)
    if golden.passed:
        return dataclasses.replace(
            row_of(blank, sides[0], actual, keep),
            rung=max(actual.rung, golden.rung, key=verdict.RUNGS.index),
            margin=verdict.greatest_margin((actual, golden)),
        )
    problem = f"the golden is not what {group.rule.op} makes of its inputs; actual is"
    return dataclasses.replace(row_of(blank, sides[1], golden, keep), problem=problem)


def _with_inputs(row: FolderRow, plain: FolderRow, inputs: list[FolderRow | None]) -> FolderRow:
    """Return a row that passes no better than what went into it."""
    known = [one for one in inputs if one is not None]
    if all(one.passed for one in known):
        rung = max((row.rung, *(one.rung for one in known)), key=verdict.RUNGS.index)
        follows = f"it follows from its inputs, which are accepted as {rung}"
        notes = (*row.notes, follows) if row.rung == "identical" else row.notes
        return dataclasses.replace(row, rung=rung, notes=notes)
    note = f"it follows from its inputs, which differ: each side is what {row.op} makes of its own"
    return dataclasses.replace(plain, notes=(*plain.notes, note))


def _judged(pass_: Pass, group: Group, side: int) -> Comparison:
    """Judge a side's outputs of a call by what the operator makes of its inputs."""
    folder, arguments = _asked(pass_, group, side)
    inputs = loaded(arguments, partial(array_of, pass_, group, folder))
    arrays = {output: pass_.opened(pair)[side] for output, pair in group.outputs.items()}
    return judged_call(group, pass_.sides[side].path, inputs, arrays, Limits())


def judged_call(
    group: Group,
    where: str,
    inputs: Mapping[str, Any],
    arrays: Mapping[str, Source],
    limits: Limits,
) -> Comparison:
    """Judge what a call gave, by the outputs' names, by what its operator makes of its inputs."""
    rule = group.rule
    request = Request(rule.op, inputs, rule.numerics, limits, rule.variant, actual_name=where)
    request = dataclasses.replace(request, golden_name=f"computed from the inputs of {group.name}")
    return run(dict.fromkeys(outputs_of(rule.op)) | dict(arrays), None, request)


def array_of(pass_: Pass, group: Group, folder: Folder, name: str) -> Any:
    """Return an array of a call, still in its file; a KeyError says that it is not there."""
    entry = folder.find(name, group.folder)
    if entry is None:
        raise KeyError(name)
    others = [side.find(name, group.folder) for side in pass_.sides if side is not folder]
    with ExitStack() as stack:
        like = None
        for other in filter(None, others):  # which may say what a raw file holds
            with suppress(FileError):
                like = stack.enter_context(other.open(dtype=pass_.dtype))
        return entry.open(like, pass_.dtype)
