"""The arrays of a comparison that failed, kept in a file to be compared again."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from npu_quant_pytest.ledger import forget

from ..golden.api import Comparison
from ..golden.judge.request import Request
from ..golden.read.sources import as_source
from . import archive
from .command import command_of, is_array, member
from .folders import Folders

MOST_BYTES = 1 << 30

Arrays = dict[str, NDArray[Any]]


class Kept(NamedTuple):
    """What became of the arrays."""

    command: str = ""
    problem: str = ""


def keep(folders: Folders, number: int, comparison: Comparison, request: Request) -> Kept:
    """Keep the arrays of a comparison that failed.

    Args:
        folders: those of the test.
        number: which of the test's failures it is; with the first, those of earlier runs go.
        comparison: what failed, with its arrays.
        request: what was asked for.
    """
    if number == 1:
        forget(folders.kept)
    arrays = _members(comparison, request)
    size = sum(array.nbytes for array in arrays.values())
    if size > MOST_BYTES:
        return Kept(problem=f"{size:,} bytes, at most {MOST_BYTES:,} are")
    path = folders.kept / f"{number}.npz"
    try:
        archive.write(path, arrays)
    except OSError as error:
        return Kept(problem=error.strerror or str(error))
    return Kept(command=command_of(folders.shown(path), comparison, request))


def _members(comparison: Comparison, request: Request) -> Arrays:
    arrays: Arrays = {}
    for output in comparison.outputs:
        for side, source in (("actual", output.actual), ("golden", output.golden)):
            if source is not None:
                arrays[member(side, output.name)] = source.array()
    for name, value in (request.inputs or {}).items():
        if is_array(value):
            arrays[member("inputs", name)] = as_source(value, name).array()
    return arrays
