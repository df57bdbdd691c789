"""What commands write, and FILE::KEY as they are told of files; no array is looked at."""

from __future__ import annotations

import errno
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .arguments import UsageError
from .console import is_coloured, width, write, write_json, write_text

if TYPE_CHECKING:
    from ..golden import Comparison, Explanation, FolderComparison


def split(word: str) -> tuple[str, str | None]:
    """Return the path and the key of FILE::KEY."""
    path, colons, key = word.rpartition("::")
    if not colons or not path or os.path.exists(word):
        return word, None
    return path, key


_WRITTEN = {
    "json": rb'\s*{\s*"(schema_version|command)"\s*:',
    "html": rb"<!DOCTYPE html>\s<html lang=\"en\">",
}
"""The options that name files to write, and patterns of how such files begin."""


def check_outputs(arguments: Namespace, read: Sequence[str] = ()) -> None:
    """Raise UsageError unless what is to be written can be, over nothing else.

    ``--json x.npy npu.npy`` is soon written where ``--json`` has no value in mind.

    Args:
        arguments: a command's.
        read: words that name files which are read.
    """
    for option, begin in _WRITTEN.items():
        where = getattr(arguments, option, None)
        if where not in (None, "-"):
            _check(f"--{option}", begin, where, read)


def _check(option: str, begin: bytes, where: str, read: Sequence[str]) -> None:
    head, there = b"", os.path.exists(where)
    try:
        if not there:
            _check_folder(where)
        elif os.path.isfile(where) or os.path.isdir(where):  # which open() refuses
            with open(where, "r+b") as file:
                head = file.read(64)
    except OSError as error:
        raise UsageError(f"{option} {where or repr(where)}: {error.strerror}") from error
    others = filter(os.path.exists, (split(word)[0] for word in read))
    if there and any(os.path.samefile(where, path) for path in others):
        raise UsageError(f"{option} would overwrite {where}, which is read.")
    if head and not re.match(begin, head):
        raise UsageError(f"{option} would overwrite {where}, which holds no result of npu-quant.")


def write_result(
    arguments: Namespace,
    text: Callable[[], str],
    data: Callable[[], dict[str, Any]],
    style: str = "",
    html: Callable[[], str] = str,
) -> None:
    """Print a result, and write it where the arguments say.

    Args:
        arguments: with ``json``; ``quiet`` and ``html`` where the command has them.
        text: makes what a person reads, of this style.
        data: makes the same for a program.
        style: rich's, of the first line.
        html: makes the page.
    """
    if not getattr(arguments, "quiet", False) and arguments.json != "-":
        write(text(), style)
    if getattr(arguments, "html", None) is not None:
        write_text(html(), arguments.html)
    if arguments.json is not None:
        write_json(data(), arguments.json)


def write_comparison(
    arguments: Namespace,
    result: Comparison | FolderComparison,
    below: Explanation | None = None,
    hint: str = "",
) -> None:
    """Print a comparison, and write it where the arguments say.

    Args:
        arguments: the command's.
        result: what was found.
        below: what goes below it.
        hint: one more line of what is printed.
    """
    explained = {} if below is None else {"explanation": below.to_dict()}
    passing = "bold yellow" if getattr(result, "rung", "") == "variant" else "bold green"
    style = passing if result.passed else "bold red"

    def text() -> str:
        own = result.to_text(width(), coloured=is_coloured(sys.stdout)) + hint
        return own if below is None else f"{own}\n\n{below}"

    write_result(
        arguments,
        text,
        lambda: result.to_dict() | explained,
        style,
        lambda: result.to_html(below),
    )


def _check_folder(path: str) -> None:
    """Raise OSError unless a file can be made there."""
    folder = os.path.dirname(os.path.realpath(path)) if path else path
    os.stat(f"{folder}/" if folder else folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
