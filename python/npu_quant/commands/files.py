"""Files as the commands name them: FILE or FILE::KEY, with dtype and shape where they lack them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from .._text import clean
from ..arrays import Source
from ..files import FileError, FileSource, list_arrays, load
from ..files.common import ALIASES
from .arguments import UsageError
from .outputs import split

RAW = "bytes"
"""What `list_arrays` calls the elements of a file that does not say what they are."""

LOST = "V1"
"""The same of a .npy file of a dtype that NumPy does not know, of which there are several."""

FLOAT_BITS = {"uint16": "bf16", "uint8": "float8_e4m3fn or float8_e5m2"}
"""What an array's bytes may stand for, for `--dtype`, by the dtype it has."""

_MAX_NAME = 400

T = TypeVar("T")

Listed = tuple[str, str, tuple[int, ...]]
Like = Union[Source, NDArray[Any]]  # noqa: UP007 (Python 3.10 cannot write it otherwise)

_PACKED_INT4 = ("int8", "uint8", "int32", LOST)
_CARRIERS = {"uint16", "int16"}
_NARROW_CARRIERS = {LOST, "uint8"}
_NARROW = ("float8", "fp8", "hif", "float4", "fp4")


@dataclass
class Reading:
    """Opens files with the options that say what the files do not: for one by its name, or all."""

    dtypes: Mapping[str, str] = field(default_factory=dict)
    """By name; "" is for every file that lacks it."""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    key: str | None = None
    used: set[str] = field(default_factory=set)
    """Which options for all were of use."""

    def open(
        self, word: str, name: str = "", like: Like | None = None, lost: str | None = None
    ) -> FileSource:
        """Open the array that a word names.

        Args:
            word: FILE or FILE::KEY.
            name: what the command line calls it.
            like: an array that a file without a header is taken to be like; one that has lost
                its dtype has this one's.
            lost: the dtype of one that has lost it.

        Raises:
            FileError: the file cannot be read, or more must be said about it.
            UsageError: an option is for a file that says its own dtype or shape.
        """
        path, key = split(word)
        arrays = listed(path)
        if key is None and self.key is not None and [k for k, _, _ in arrays] != [""]:
            key = self.key
            self.used.add("--key")
        stored, has = next(((d, s) for k, d, s in arrays if key in (None, k)), ("", ()))
        raw = stored == RAW
        dtype, shape = (lost if stored == LOST else None), None
        if like is not None and (raw or is_lost_as(stored, has, like)):
            dtype, shape = like.dtype.name, like.shape if raw else None
        dtype = self._said("--dtype", self.dtypes, (name, word), dtype, partial(carries, stored))
        shape = self._said("--shape", self.shapes, (name, word), shape, lambda _: raw)
        source = load(path, dtype=dtype, shape=shape, key=key)
        if len(arrays) > 1:
            source.name = clean(f"{path}::{source.key}", _MAX_NAME)
        return source

    def check_used(self) -> None:
        """Raise UsageError if an option for all files was given that none needed."""
        given = {"--dtype": "" in self.dtypes, "--shape": "" in self.shapes, "--key": self.key}
        for option, value in given.items():
            if value not in (None, False) and option not in self.used:
                raise UsageError(f"{option} has no effect: no file needs it.")

    def _said(
        self,
        option: str,
        given: Mapping[str, T],
        named: tuple[str, str],
        known: T | None,
        fits: Callable[[T], bool],
    ) -> T | None:
        """What an option says of a file's name, else what is known, else what it says of all."""
        name, word = named
        if name and name in given:
            if not fits(given[name]):
                raise UsageError(f"{option} {name}= has no effect: {word} names its own.")
            return given[name]
        if known is None and "" in given and fits(given[""]):
            self.used.add(option)
            return given[""]
        return known


def carries(stored: str, wanted: str) -> bool:
    """Say whether an array of one dtype may stand for another's bytes.

    An array that says it is float16 is not seen as bfloat16 because another file needs that.
    """
    name = ALIASES.get(wanted.lower(), wanted.lower()).removeprefix("torch.")
    if stored in (RAW, name):
        return True
    if name in ("int4", "quint4x2"):
        return stored in _PACKED_INT4
    if name.startswith(_NARROW):
        return stored in _NARROW_CARRIERS
    return stored in _CARRIERS


def is_lost_as(stored: str, shape: tuple[int, ...], like: Like) -> bool:
    """Say whether an array that has lost its dtype may be like another, or the bytes of scales."""
    if stored != LOST or like.dtype.itemsize > 1:
        return False
    return like.dtype.kind == "V" or (like.dtype == np.uint8 and like.shape == shape)


def dtype_of(word: str) -> str:
    """Return the dtype that a file says it has, of FILE::KEY or of its first array."""
    path, key = split(word)
    return next((dtype for k, dtype, _ in listed(path) if key in (None, k)), "")


def listed(path: str) -> list[Listed]:
    """Return what is in a file: keys, dtypes' names and shapes.

    Raises:
        FileError: it cannot be read, or is a directory.
    """
    if os.path.isdir(path):
        raise FileError(path, "is a directory; name the files in it one by one")
    if not path:
        raise FileError("''", f"cannot be opened: {os.strerror(errno.ENOENT)}")
    return list_arrays(path)
