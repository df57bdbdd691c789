"""Small files, read whole: the JSON and text that lie beside arrays and models."""

from __future__ import annotations

import json
import os
from typing import Any

from .._text import clean
from .common import File, FileError

MOST_BYTES = 64 << 20
DEEPEST = 100
"""How deep JSON may nest. Models nest 5 deep; what reads and writes them recurses."""


def read_small(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """Return what is in a file.

    Raises:
        FileError: it cannot be opened or read, is no regular file, or has more bytes than `most`.
    """
    file = File(path)
    try:
        if file.size > most:
            raise file.fault(f"is larger than {most >> 20} MiB")
        return file.head(file.size)
    finally:
        file.close()


def json_in(
    path: str | os.PathLike[str], most: int = MOST_BYTES, deepest: int | None = DEEPEST
) -> Any:
    """Return what a JSON file says; of a name that is there twice what is said last.

    Args:
        path: of the file.
        most: bytes that it may have.
        deepest: how deep it may nest; None where whoever asks does not recurse.

    Raises:
        FileError: as by :func:`read_small`, or it is not JSON in UTF-8, or nests deeper.
    """
    try:
        return parsed(read_small(path, most), deepest)
    except ValueError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(os.fsdecode(path), str(error)) from error


def parsed(data: bytes, deepest: int | None = DEEPEST) -> Any:
    """Return what JSON in UTF-8 says.

    Raises:
        ValueError: it is none, or nests deeper; the text follows a file's name.
    """
    try:
        value = json.loads(data.decode())
    except ValueError as error:
        raise ValueError(f"is not JSON: {clean(str(error), 200)}") from error
    except MemoryError as error:
        raise ValueError("needs more memory than there is") from error
    except RecursionError as error:
        raise ValueError(_too_deep(deepest)) from error
    if deepest is not None and _nests(value, deepest):
        raise ValueError(_too_deep(deepest))
    return value


def _too_deep(deepest: int | None) -> str:
    return "nests too deeply" if deepest is None else f"nests deeper than {deepest} levels"


def _nests(value: Any, deepest: int) -> bool:
    """Whether there are containers below so many levels of them."""
    level = [value]
    for _ in range(deepest):
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return any(isinstance(one, (dict, list)) for one in level)


def axes_of(value: object) -> tuple[int, ...] | None:
    """Return the shape that JSON has as a list; None if it is none of whole numbers from 0 on."""
    if not isinstance(value, list) or not all(type(n) is int and n >= 0 for n in value):
        return None
    return tuple(value)
