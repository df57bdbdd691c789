"""The kinds of what callers hand over: each argument is looked at before anything is read."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

from .folder import CheckpointError


def kind_error(where: str, value: object, expected: str) -> TypeError:
    """Return the error of an argument of a wrong kind, such as `quantize: scheme`."""
    kind = "None" if value is None else type(value).__name__
    return TypeError(f"{where} is {kind}, expected {expected}.")


def path_of(where: str, value: Any) -> str:
    """Return a path as text.

    Raises:
        TypeError: it is none, or one in bytes.
        CheckpointError: it is empty, such as of a variable that was never set.
    """
    found = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(found, str):
        more = "; os.fsdecode makes a str of it" if isinstance(found, bytes) else ""
        raise kind_error(where, found, f"the path of a folder, a str or a pathlib.Path{more}")
    if not found:
        raise CheckpointError(f"{where} is an empty path.")
    return found


def word_of(where: str, value: Any, example: str) -> str:
    """Return a word.

    Raises:
        TypeError: it is no text.
    """
    if not isinstance(value, str):
        raise kind_error(where, value, f"a str, such as {example!r}")
    return value


def globs_of(where: str, value: Any) -> tuple[str, ...]:
    """Return globs, of which one may stand alone.

    Raises:
        TypeError: they are no texts.
    """
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise kind_error(where, value, "a glob, or several in a list; [] for none")
    globs = tuple(value)
    return tuple(word_of(f"{where}[{i}]", glob, "*.mlp.*") for i, glob in enumerate(globs))


def pairs_of(where: str, value: Any) -> tuple[tuple[str, str], ...]:
    """Return globs and types.

    Raises:
        TypeError: they are no pairs of texts.
    """
    expected = "a dict of globs and types, or a list of pairs of them"
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise kind_error(where, value, expected)
    pairs = tuple(value.items() if isinstance(value, Mapping) else value)
    for i, pair in enumerate(pairs):
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not is_pair or not all(isinstance(word, str) for word in pair):
            example = "a glob and a type, such as ('*.mlp.*', 'FLOAT')"
            raise kind_error(f"{where}[{i}]", pair, example)
    return tuple((glob, type) for glob, type in pairs)


def number_of(where: str, value: Any, expected: str) -> int:
    """Return a whole number, Python's or NumPy's.

    Raises:
        TypeError: it is none.
    """
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise kind_error(where, value, expected)


def switch_of(where: str, value: Any) -> bool:
    """Return True or False.

    Raises:
        TypeError: it is something else, such as "no", which would be taken for True.
    """
    if not isinstance(value, bool):
        raise kind_error(where, value, "True or False")
    return value


def check_callable(where: str, value: Any) -> None:
    """Refuse what cannot be called, and is not None.

    Raises:
        TypeError: it cannot be.
    """
    if value is not None and not callable(value):
        raise kind_error(where, value, "a function of (done, total), or None")
