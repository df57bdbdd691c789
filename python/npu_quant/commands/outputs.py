"""What commands write, and FILE::KEY as they are told of files; no array is looked at."""

from __future__ import annotations

import errno
import os
import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

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


class Output(NamedTuple):
    """A kind of file that is written."""

    option: str
    begin: bytes
    """A pattern of how such a file begins."""


JSON = Output("--json", rb'\s*{\s*"(schema_version|command)"\s*:')
HTML = Output("--html", rb"<!DOCTYPE html>\s<html lang=\"en\">")


def check_json(where: str | None, read: Sequence[str] = ()) -> None:
    """Raise UsageError unless ``--json`` has a file that can be written, as `check_output`."""
    check_output(JSON, where, read)


def check_output(kind: Output, where: str | None, read: Sequence[str] = ()) -> None:
    """Raise UsageError unless an option has a file that can be written and holds nothing else.

    ``--json x.npy npu.npy`` is soon written where ``--json`` has no value in mind.

    Args:
        kind: what is written.
        where: the file.
        read: words that name files which are read.
    """
    if where is None or where == "-":
        return
    try:
        target = _identity(where)
        if target is None:
            _check_folder(where)
        elif os.path.isdir(where):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        ours = not os.path.isfile(where) or _is_ours(where, kind)
    except OSError as error:
        raise UsageError(f"{kind.option} {where or repr(where)}: {error.strerror}") from error
    if target is not None and target in [_identity(split(word)[0]) for word in read]:
        raise UsageError(f"{kind.option} would overwrite {where}, which is read.")
    if not ours:
        raise UsageError(
            f"{kind.option} would overwrite {where}, which holds no result of npu-quant."
        )


def write_result(
    arguments: Namespace,
    result: Comparison | FolderComparison,
    below: Explanation | None = None,
    hint: str = "",
) -> None:
    """Print a comparison, and write it where the arguments say.

    Args:
        arguments: with ``quiet``, ``json`` and ``html``.
        result: what was found.
        below: what goes below it.
        hint: one more line of what is printed.
    """
    if not arguments.quiet and arguments.json != "-":
        text = result.to_text(width(), coloured=is_coloured(sys.stdout)) + hint
        passing = "bold yellow" if getattr(result, "rung", "") == "variant" else "bold green"
        write(text, passing if result.passed else "bold red")
        if below is not None:
            write(f"\n{below}")
    if arguments.html is not None:
        write_text(result.to_html(below), arguments.html)
    if arguments.json is not None:
        explained = {} if below is None else {"explanation": below.to_dict()}
        write_json(result.to_dict() | explained, arguments.json)


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and number of a file; None where there is none."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def _check_folder(path: str) -> None:
    """Raise OSError unless a file can be made there."""
    folder = os.path.dirname(os.path.realpath(path)) if path else path
    os.stat(f"{folder}/" if folder else folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _is_ours(path: str, kind: Output) -> bool:
    """Say whether a file is empty or holds what was written before; it is to be writable."""
    with open(path, "r+b") as file:
        begin = file.read(64)
    return not begin or re.match(kind.begin, begin) is not None
