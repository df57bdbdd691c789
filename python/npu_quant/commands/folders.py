"""``npu-quant compare`` of two folders, or of two files with several arrays."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

from ..errors import ParamError
from ..files import FileError, list_arrays
from ..golden import compare_folders
from ..golden.operators.dumped import every_call_of
from .arguments import UsageError, limits
from .outputs import check_outputs, split, write_comparison
from .progress import progress_bar

_OF_TWO_ARRAYS = ("explain", "axis", "key")


def are_meant(arguments: Namespace) -> bool:
    """Say whether the arguments name one or two folders, or two files with several arrays."""
    files = arguments.files
    if len(files) == 1:
        return os.path.isdir(files[0])
    if len(files) != 2:
        return False
    if any(os.path.isdir(file) for file in files) or arguments.mapping:
        return True
    of_calls = all("=" in rule for rule in arguments.ops or ())
    return of_calls and arguments.key is None and _have_keys(files)


def _have_keys(files: list[str]) -> bool:
    """Say whether the arrays of both files have keys, and one has several."""
    try:
        arrays = [list_arrays(file) for file in files if split(file)[1] is None]
    except (FileError, OSError):
        return False
    keyed = [bool(some) and some[0][0] != "" for some in arrays]
    return keyed == [True, True] and any(len(some) > 1 for some in arrays)


def run_folders(arguments: Namespace) -> bool:
    """Compare folders, print the report, and say whether they pass."""
    _check(arguments)
    dtypes = arguments.dtype or {}
    limit = {
        option: limits(f"--{option}", getattr(arguments, option)) for option in ("atol", "rtol")
    }
    with progress_bar("comparing", quiet=arguments.quiet) as progress:
        comparison = compare_folders(
            *arguments.files,
            ops=_rules(arguments),
            mapping=arguments.mapping,
            progress=progress,
            preset=arguments.preset,
            dtype=dtypes.get("", dtypes),
            shape=arguments.shape,
            **limit,  # type: ignore[arg-type]
        )
    if comparison.refusal is not None and not arguments.allow_constant:
        raise ParamError(f"refused: {comparison.refusal}")
    write_comparison(arguments, comparison)
    return comparison.passed


def _check(arguments: Namespace) -> None:
    for name in _OF_TWO_ARRAYS:
        if getattr(arguments, name):
            raise UsageError(f"--{name} is for two arrays, not for folders.")
    if arguments.dtype is not None and "" in arguments.dtype and len(arguments.dtype) > 1:
        raise UsageError("--dtype for folders is DTYPE, for all arrays, or NAME=DTYPE, for some.")
    if "" in (arguments.shape or {}):
        raise UsageError("--shape for folders is NAME=SHAPE.")
    for name in ("atol", "rtol"):
        if any(getattr(arguments, name) or {}):
            raise UsageError(f"--{name} is a number for folders, the same for all arrays.")
    read = [*arguments.files, *([arguments.mapping] if arguments.mapping else [])]
    check_outputs(arguments, read)


def _rules(arguments: Namespace) -> dict[str, dict[str, Any]]:
    """Return what CALLS=OPERATOR or OPERATOR alone says, with what goes for all calls."""
    more = {"attributes": arguments.attr or {}}
    more |= {name: getattr(arguments, name) for name in ("numerics", "variant")}
    words = [word.rpartition("=") for word in arguments.ops or ()]
    return {name or every_call_of(op): {"op": op, **more} for name, _, op in words}
