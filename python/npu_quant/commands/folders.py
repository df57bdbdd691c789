"""``npu-quant compare`` of two folders, or of two files with several arrays."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

from ..errors import ParamError
from ..files import FileError, list_arrays
from ..golden import FolderComparison, FolderRow, compare_folders
from ..golden.judge.verdict import RUNGS
from ..golden.operators.dumped import every_call_of
from ..golden.report import words
from ..golden.report.folder_text import alone_lines, found, headline, remarks
from .arguments import UsageError, limits, once
from .console import write, write_json, write_table, write_text
from .outputs import HTML, JSON, check_output, split
from .progress import progress_bar

_MOST_ROWS = 40
_OF_TWO_ARRAYS = ("explain", "axis", "key")
_STYLES = dict(zip(RUNGS, ("green", "cyan", "yellow", "magenta", "red"), strict=True))


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
            dtype=arguments.dtypes.get("", arguments.dtypes),
            shape=arguments.shapes,
            **limit,  # type: ignore[arg-type]
        )
    if comparison.refusal is not None and not arguments.allow_constant:
        raise ParamError(f"refused: {comparison.refusal}")
    if not arguments.quiet and arguments.json != "-":
        _report(comparison)
    if arguments.json is not None:
        write_json(comparison.to_dict(), arguments.json)
    if arguments.html is not None:
        write_text(comparison.to_html(), arguments.html)
    return comparison.passed


def _check(arguments: Namespace) -> None:
    for name in _OF_TWO_ARRAYS:
        if getattr(arguments, name):
            raise UsageError(f"--{name} is for two arrays, not for folders.")
    if "" in arguments.dtypes and len(arguments.dtypes) > 1:
        raise UsageError("--dtype is one for all arrays of folders, or has the names of some.")
    if "" in arguments.shapes:
        raise UsageError("--shape of arrays in folders is NAME=SHAPE.")
    for name in ("atol", "rtol"):
        if any(output for output, _ in getattr(arguments, name) or ()):
            raise UsageError(f"--{name} is a number for folders, the same for all arrays.")
    read = [*arguments.files, *([arguments.mapping] if arguments.mapping else [])]
    check_output(JSON, arguments.json, read)
    check_output(HTML, arguments.html, read)


def _rules(arguments: Namespace) -> dict[str, dict[str, Any]]:
    """Return what CALLS=OPERATOR or OPERATOR alone says, with what goes for all calls."""
    more = {"attributes": once("--attr", arguments.attr)}
    more |= {name: getattr(arguments, name) for name in ("numerics", "variant")}
    words = [word.rpartition("=") for word in arguments.ops or ()]
    return {name or every_call_of(op): {"op": op, **more} for name, _, op in words}


def _report(comparison: FolderComparison) -> None:
    first = comparison.first
    write(headline(comparison), "bold green" if comparison.passed else "bold red")
    lines = [] if first is None else [found(first), *first.notes, comparison.origin]
    lines += [*alone_lines(comparison), *remarks(comparison)]
    for line in filter(None, lines):
        write(f"  {line}")
    _print_table(comparison)
    if first is not None and first.report:
        # Its own first line is a verdict once more, with the files in it, as is the last.
        lines = first.report.splitlines()[1:]
        write("\n" + "\n".join([f"{first.name}  {first.dtype} {first.shape}", *lines]))


def _print_table(comparison: FolderComparison) -> None:
    """Print the rows, of very many those that fail."""
    from rich.table import Table

    chosen = comparison.rows
    if len(chosen) > _MOST_ROWS:
        chosen = comparison.failing[:_MOST_ROWS]
    table = Table(box=None, pad_edge=False)
    folder = _common_folder(comparison)
    table.add_column(f"array in {folder}" if folder else "array", overflow="fold", ratio=1)
    for heading in ("dtype", "shape", "verdict"):
        table.add_column(heading, no_wrap=True)
    for heading in ("differ", "worst", "margin"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in chosen:
        table.add_row(*_cells(row, folder), style=None if row.passed else "red")
    if chosen:
        write_table("", table)
    left_out = len(comparison.rows) - len(chosen)
    if left_out:
        failing = len(comparison.failing) - sum(not row.passed for row in chosen)
        more = f", of which {words.count(failing)} differ" if failing else ""
        write(f"and {words.counted(left_out, 'more array')}{more}: --html or --json has all")


def _common_folder(comparison: FolderComparison) -> str:
    """Return the folder that all rows are in, which need not be said in each."""
    names = [row.name.partition("::")[0] for row in comparison.rows]
    common = os.path.commonpath([os.path.dirname(name) for name in names]) if names else ""
    return f"{common}/" if common else ""


def _cells(row: FolderRow, folder: str) -> list[str]:
    name = row.name.removeprefix(folder)
    shape = str(row.shape) if row.dtype else ""
    if row.metrics is None:
        return [name, row.dtype, shape, row.rung, "", "", ""]
    worst = words.number(row.worst, 3)
    margin = words.number(row.margin, 3)
    return [name, row.dtype, shape, row.rung, words.count(row.differing), worst, margin]
