"""What callers hand over as paths, globs and types: looked at before anything is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from .._kinds import check, wrong
from .folder import CheckpointError


def path_of(who: str, name: str, value: Any) -> str:
    """Return a path as text.

    Raises:
        TypeError: it is none, or one in bytes.
        CheckpointError: it is empty, such as of a variable that was never set.
    """
    found = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(found, str):
        more = "; os.fsdecode makes a str of it" if isinstance(found, bytes) else ""
        raise wrong(who, name, found, f"the path of a folder, a str or a pathlib.Path{more}")
    if not found:
        raise CheckpointError(f"{who}: {name} is an empty path.")
    return found


def globs_of(who: str, name: str, value: Any) -> tuple[str, ...]:
    """Return globs, of which one may stand alone.

    Raises:
        TypeError: they are no texts.
    """
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise wrong(who, name, value, "a glob, or several in a list; [] for none")
    globs = tuple(value)
    for i, glob in enumerate(globs):
        check(who, f"{name}[{i}]", glob, str, "a str, such as '*.mlp.*'")
    return globs


def pairs_of(who: str, name: str, value: Any) -> tuple[tuple[str, str], ...]:
    """Return globs and types.

    Raises:
        TypeError: they are no pairs of texts.
    """
    expected = "a dict of globs and types, or a list of pairs of them"
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise wrong(who, name, value, expected)
    pairs = tuple(value.items() if isinstance(value, Mapping) else value)
    for i, pair in enumerate(pairs):
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not is_pair or not all(isinstance(word, str) for word in pair):
            example = "a glob and a type, such as ('*.mlp.*', 'FLOAT')"
            raise wrong(who, f"{name}[{i}]", pair, example)
    return tuple((glob, type) for glob, type in pairs)
