"""The arrays of a comparison that failed, kept in a file, and the command that takes them again."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from npu_quant_pytest.ledger import forget

from .. import _core, dtypes
from .._shell import compare_command
from ..commands.arguments import attribute
from ..golden.api import Comparison
from ..golden.judge.request import Limits, Request
from ..golden.operators import inputs_of
from ..golden.sides import Paired
from ..golden.sources import as_source, is_source
from . import archive
from .folders import Folders, digest_of

# No "-", which a digest begins with.
_PLAIN = re.compile(r"[A-Za-z0-9_.]+")
_LONGEST = 40

MOST_BYTES = 1 << 30


def keep(
    folders: Folders,
    number: int,
    comparison: Comparison,
    pairs: Sequence[Paired],
    request: Request,
) -> tuple[str, str]:
    """Keep the arrays of a comparison that failed; return a command, or else why they are not.

    Args:
        folders: those of the test.
        number: which of the test's failures it is; with the first, those of earlier runs go.
        comparison: what failed.
        pairs: its arrays.
        request: what was asked for.
    """
    if number == 1:
        forget(folders.kept)
    if request.op is not None and request.inputs is not None:
        request = dataclasses.replace(request, inputs=inputs_of(request.op, request.inputs))
    arrays = _members(pairs, request)
    size = sum(array.nbytes for array in arrays.values())
    if size > MOST_BYTES:
        return "", f"{size:,} bytes, at most {MOST_BYTES:,} are"
    path = folders.kept / f"{number}.npz"
    try:
        archive.write(path, arrays)
    except OSError as error:
        return "", error.strerror or str(error)
    return command_of(folders.shown(path), comparison, request), ""


def _members(pairs: Sequence[Paired], request: Request) -> archive.Arrays:
    arrays: archive.Arrays = {}
    for name, *both in pairs:
        for side, source in zip(("actual", "golden"), both, strict=True):
            if source is not None:
                arrays[member(side, name)] = source.array()
    for name, value in (request.inputs or {}).items():
        if is_array(value):
            arrays[member("inputs", name)] = as_source(value, name).array()
    return arrays


def is_array(value: Any) -> bool:
    """Say whether an operator's argument is an array, not an attribute."""
    return isinstance(value, np.ndarray) or _core.is_tensor(value) or is_source(value)


def member(side: str, name: Any) -> str:
    """Return what an array is called in the file: "actual.y", "golden.y", "inputs.x".

    A name that a command line or a file might take for something else has a digest.
    """
    if name == "":
        return side
    plain = isinstance(name, str) and _PLAIN.fullmatch(name) is not None
    if plain and archive.problem_of_name(name) is None:
        return f"{side}.{name}"
    kept = re.sub(r"[^A-Za-z0-9_]", "_", str(name))[:_LONGEST]
    return f"{side}.{kept}-{digest_of(repr(name))}"


def command_of(path: str, comparison: Comparison, request: Request) -> str:
    """Return the command that compares the arrays in a file as the test did.

    Where the operator's arguments cannot be written on a command line, or the golden was given, it
    compares the two arrays of the output that decided. There is none for an output that one side
    lacks: a command line compares the files that are there.
    """
    if comparison.missing or comparison.extra:
        return ""
    words = _computed(path, comparison, request)
    if words is None:
        output = comparison.decisive.name
        words = [f"{path}::{member(side, output)}" for side in ("actual", "golden")]
        words += _limits(request.limits, output)
    return compare_command(words)


def _computed(path: str, comparison: Comparison, request: Request) -> list[str] | None:
    """Return the words of a command that computes the golden once more."""
    if not comparison.computed or comparison.op is None:
        return None
    given = request.inputs or {}
    attributes = {n: _literal(value) for n, value in given.items() if not is_array(value)}
    if None in attributes.values():
        return None
    words = ["--op", comparison.op]
    words += [f"{o.name}={path}::{member('actual', o.name)}" for o in comparison.outputs]
    words += [f"{n}={path}::{member('inputs', n)}" for n in given if n not in attributes]
    for name, text in attributes.items():
        words += ["--attr", f"{name}={text}"]
    for option, value in (("--numerics", request.numerics), ("--variant", request.variant)):
        words += [] if value is None else [option, value]
    return words + _limits(request.limits)


def _literal(value: Any) -> str | None:
    """Return an attribute as `--attr` reads it; None where it cannot be written."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value if value and attribute(f"name={value}")[1] == value else repr(value)
    if isinstance(value, (bool, int, float, type(None))):
        return repr(value) if value is None or math.isfinite(value) else None
    try:
        row = dtypes.resolve(value)
    except TypeError:
        return None
    return None if row is None else row.name


def _limits(limits: Limits, output: str | None = None) -> list[str]:
    """Return limits as options, those of one output as if they were of all."""
    words = [] if limits.preset is None else ["--preset", limits.preset]
    for option, limit in (("--atol", limits.atol), ("--rtol", limits.rtol)):
        named = limit if isinstance(limit, Mapping) else {"": limit}
        if output is not None:
            named = {"": named.get(output, named.get(""))}
        given = ((name, number) for name, number in named.items() if number is not None)
        for name, number in given:
            words += [option, f"{name}={number}".removeprefix("=")]
    return words
