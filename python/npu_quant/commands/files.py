"""Files as the commands name them: FILE or FILE::KEY, with dtype and shape where they lack them."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from .._text import clean
from ..arrays import Source
from ..files import FileError, FileSource, list_arrays, load
from ..files.common import ALIASES
from .arguments import UsageError
from .outputs import split

ABSENT = "-"
"""What stands in the place of an array that is not there."""

RAW = "bytes"
"""What `list_arrays` calls the elements of a file that does not say what they are."""

_MAX_NAME = 400

Listed = tuple[str, str, tuple[int, ...]]
Like = Union[Source, NDArray[Any]]  # noqa: UP007 (Python 3.10 cannot write it otherwise)

LOST = "V1"
"""The same of a .npy file of a dtype that NumPy does not know, of which there are several."""

# dtypes that carry another one's bytes, since NumPy or the program that saved them lacks it.
_PACKED_INT4 = ("int8", "uint8", "int32", LOST)
_CARRIERS = {"uint16", "int16"}
FLOAT_BITS = {"uint16": "--dtype bf16", "uint8": "--dtype float8_e4m3fn or float8_e5m2"}
"""How it is said what an array of bytes stands for, where nothing else tells it."""
_NARROW_CARRIERS = {LOST, "uint8"}
_NARROW = ("float8", "fp8", "hif", "float4", "fp4")


@dataclass
class Opener:
    """Opens files with the options that say what the files do not."""

    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    key: str | None = None
    used: set[str] = field(default_factory=set)
    """Which of these options were of use."""
    named: dict[str, str] = field(default_factory=dict)
    """The dtype of what some words name."""
    raw_outputs: bool = False
    """Whether there were files whose dtype and shape only another array said."""

    def open(self, word: str, like: Like | None = None, *, options: bool = True) -> FileSource:
        """Open the array that a word names.

        Args:
            word: FILE or FILE::KEY.
            like: an array that a file without a header is taken to be like; one that has lost
                its dtype has this one's.
            options: whether `dtype` and `shape` go before that.

        Raises:
            FileError: the file cannot be read, or more must be said about it.
        """
        path, key = split(word)
        arrays = listed(path)
        if key is None and self.key is not None and [k for k, _, _ in arrays] != [""]:
            key = self.key
            self.used.add("key")
        stored, has = next(((d, s) for k, d, s in arrays if key is None or k == key), ("", ()))
        raw = arrays[:1] and arrays[0][1] == RAW
        dtype, shape = (None, None)
        if options or like is None or not raw:
            dtype, shape = self._lacking(stored, word)
        else:
            self._agree(like)
        if like is not None and dtype is None and (raw or is_lost_as(stored, has, like)):
            dtype = like.dtype.name
        if like is not None and raw and shape is None:
            shape = like.shape
        source = load(path, dtype=dtype, shape=shape, key=key)
        if len(arrays) > 1:
            source.name = clean(f"{path}::{source.key}", _MAX_NAME)
        return source

    def check_used(self) -> None:
        """Raise UsageError if an option was given that no file needed: it would be a surprise."""
        for word in self.named.keys() - self.used:
            raise UsageError(f"--dtype NAME= is of no use for {word}, which says its dtype.")
        for option in ("dtype", "shape", "key"):
            if getattr(self, option) is None or option in self.used:
                continue
            if self.raw_outputs and option != "key":
                raise UsageError(
                    f"--{option} is not the golden's: raw outputs take dtype and shape from it; "
                    f"leave --{option} out."
                )
            raise UsageError(f"--{option} is of no use: no file needs it.")

    def _agree(self, like: Like) -> None:
        """Let options be of use that say of a raw output what its golden says."""
        self.raw_outputs = True
        self.used |= {"dtype"} if self.dtype and full_name(self.dtype) == like.dtype.name else set()
        self.used |= {"shape"} if self.shape == like.shape else set()

    def _lacking(self, stored: str, word: str) -> tuple[str | None, tuple[int, ...] | None]:
        """Return dtype and shape where the file does not say them."""
        wanted = self.named.get(word, self.dtype)
        dtype = wanted if wanted is not None and carries(stored, wanted) else None
        shape = self.shape if stored == RAW else None
        self.used |= {word if word in self.named else "dtype"} if dtype is not None else set()
        self.used |= {"shape"} if shape is not None else set()
        return dtype, shape


def full_name(dtype: str) -> str:
    """Return the name of a dtype that goes by several."""
    return ALIASES.get(dtype.lower(), dtype.lower()).removeprefix("torch.")


def carries(stored: str, wanted: str) -> bool:
    """Say whether an array of one dtype may stand for another's bytes.

    An array that says it is float16 is not seen as bfloat16 because another file needs that.
    """
    name = full_name(wanted)
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
