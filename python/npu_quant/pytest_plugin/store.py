"""Stored goldens: what a test would store, and how that differs from what it stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..golden.arguments import as_outputs
from ..golden.compare import run
from ..golden.models import outputs_of
from ..golden.refusal import refusal_of
from ..golden.request import Request
from . import archive
from .settings import Settings

__tracebackhide__ = True

Arrays = dict[str, NDArray[Any]]


def arrays_of(actual: Any, name: str, asked: Settings) -> Arrays:
    """Return a result's arrays by the names they are stored under.

    Those are the operator's, the ones that were given, or a dict's keys; else a tuple's numbers,
    and for a single array the golden's own `name`.
    """
    op, names = asked.values.get("op"), asked.values.get("names")
    if op is not None:
        names = outputs_of(op)
    elif names is None and not isinstance(actual, (Mapping, tuple, list)):
        names = (name,)
    outputs = as_outputs(actual, names, "actual")
    return {str(n): source.array() for n, source in outputs if source is not None}


def problem_of(path: Path, arrays: Arrays) -> str | None:
    """Say why a stored golden cannot be compared with: it is not there, or has other arrays."""
    if not path.exists():
        return "is not stored yet"
    held = archive.read(path)
    if held.keys() == arrays.keys():
        return None
    return f"has {_listed(held)}; the result has {_listed(arrays)}"


def _listed(arrays: Arrays) -> str:
    return ", ".join(arrays) or "no arrays"


def refusal_of_storing(arrays: Arrays, request: Request, allow_constant: bool) -> str | None:
    """Say why arrays are no golden: to compare with it could only pass."""
    if not arrays:
        return "the result has no arrays."
    copies = {name: array.copy() for name, array in arrays.items()}
    return refusal_of(run(copies, arrays, request), allow_constant)


def change_of(path: Path, arrays: Arrays, request: Request) -> tuple[str, str]:
    """Return what storing would do, "new", "updated" or "" for nothing, and its description."""
    if not path.exists():
        listed = ", ".join(f"{n} {a.dtype.name} {a.shape}" for n, a in arrays.items())
        return "new", f"new {request.golden_name}: {listed}"
    try:
        held = archive.read(path)
    except ValueError as error:
        return "updated", f"updated {request.golden_name}, which could not be read: {error}"
    lines = [f"updated {request.golden_name}"]
    if held.keys() != arrays.keys():
        lines.append(f"had {_listed(held)}; has {_listed(arrays)}")
    common = [name for name in arrays if name in held]
    if common:
        now, before = ({n: side[n] for n in common} for side in (arrays, held))
        comparison = run(now, before, request)
        if comparison.rung == "identical" and len(lines) == 1:
            return "", ""
        lines += str(comparison).splitlines()
    return "updated", "\n  ".join(lines)
