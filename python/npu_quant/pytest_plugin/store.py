"""Stored goldens: what a test would store, and how that differs from what it stored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._text import clean
from ..errors import ParamError
from ..files import FileError
from ..golden.api import run
from ..golden.judge.request import Request
from ..golden.operators import outputs_of
from ..golden.sides import as_outputs, checked_names
from . import archive
from .archive import Arrays
from .settings import Settings

__tracebackhide__ = True

_LONGEST = 160
"""Of why a file cannot be read."""


def arrays_of(actual: Any, name: str, asked: Settings) -> Arrays:
    """Return a result's arrays by the names they are stored under.

    Those are the operator's, the ones that were given, or a dict's keys; else a tuple's numbers,
    and for a single array the golden's own `name`.
    """
    op, names = asked.get("op"), checked_names(asked.get("names"))
    if op is not None:
        names = outputs_of(op)
    elif names is None and not isinstance(actual, (Mapping, tuple, list)):
        names = (name,)
    arrays: Arrays = {}
    for given, source in as_outputs(actual, names, "actual").items():
        if source is None:
            continue
        stored_as = str(given)
        problem = archive.problem_of_name(stored_as)
        if problem is not None:
            raise ParamError(f"npu_golden.stored: an array is named {stored_as!r}; {problem}.")
        if stored_as in arrays:
            raise ParamError(f"npu_golden.stored: two arrays would be stored as {stored_as!r}.")
        arrays[stored_as] = source.array()
    return arrays


class Held(NamedTuple):
    """A stored golden, or why there is nothing to compare with."""

    arrays: Arrays
    note: str = ""
    """"missing" or "unreadable"."""
    problem: str = ""


def held(path: Path, arrays: Arrays) -> Held:
    """Return the stored golden of a result."""
    try:
        found = archive.read(path)
    except FileNotFoundError:
        return Held({}, "missing", "is not stored yet")
    except (FileError, MemoryError) as error:
        why = clean(getattr(error, "what", "MemoryError"), _LONGEST)
        return Held({}, "unreadable", f"cannot be read: {why}")
    if found.keys() == arrays.keys():
        return Held(found)
    return Held(found, "missing", f"has {_listed(found)}; the result has {_listed(arrays)}")


def _listed(arrays: Arrays) -> str:
    return ", ".join(arrays) or "no arrays"


def change_of(path: Path, arrays: Arrays, request: Request) -> tuple[str, str]:
    """Return what storing would do, "new", "updated" or "" for nothing, and its description."""
    found, name = held(path, arrays), request.golden_name
    if not os.path.lexists(path):
        listed = ", ".join(f"{n} {a.dtype.name} {a.shape}" for n, a in arrays.items())
        return "new", f"new {name}: {listed}"
    if found.note:
        return "updated", f"updated {name}, which {found.problem}"
    comparison = run(arrays, found.arrays, request)
    if comparison.rung == "identical":
        return "", ""
    return "updated", "\n  ".join([f"updated {name}", *str(comparison).splitlines()])
