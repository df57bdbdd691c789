"""What every file format needs: the error, the open file, stretches of it, and names of dtypes."""

from __future__ import annotations

import errno
import math
import os
import threading
import weakref
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import dtypes
from .._text import clean
from ..errors import NpuQuantError
from .opening import IrregularError, open_regular

Shape = tuple[int, ...]

MAX_MESSAGE = 299
MAX_NAME = 100
MAX_AXES = 32  # NumPy 1.26 has no more
MAX_BYTES = (1 << 63) - 1

ALIASES = {f"{word}{bits}": f"float{bits}" for word in ("fp", "f") for bits in (16, 32, 64)} | {
    "bf16": "bfloat16",
    "double": "float64",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e4m3fn": "float8_e4m3fn",
    "float8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "fp8_e8m0": "float8_e8m0fnu",
    "float8_e8m0": "float8_e8m0fnu",
    "hif8": "hifloat8",
    "fp4_e2m1": "float4_e2m1",
    "fp4_e1m2": "float4_e1m2",
}
"""Short names of dtypes, besides those of `npu_quant.dtypes`."""

_CARRIERS: dict[str, np.dtype] = {name: np.dtype(name) for name in ("uint16", "uint32", "uint64")}
_BYTES = np.dtype(np.uint8)


class FileError(NpuQuantError, ValueError):
    """A file cannot be read as an array: it is malformed or refused, or the call must say more."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(path, what)
        self.path = path
        self.what = what

    def __str__(self) -> str:
        name = clean(self.path, MAX_NAME)
        return f"{name}: {clean(self.what, MAX_MESSAGE - 2 - len(name))}"


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(path, what)
        self.errno, self.filename = errno.ENOENT, path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.what)

    def __str__(self) -> str:
        return FileError.__str__(self)


class File:
    """An open file, read at given places; its size is the one it had when it was opened."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fsdecode(path)
        try:
            self._descriptor = open_regular(self.path, os.O_RDONLY)
        except FileNotFoundError as error:
            raise MissingFileError(self.path, f"cannot be opened: {_reason(error)}") from error
        except IrregularError as error:
            raise self.fault(_reason(error)) from error
        except (OSError, ValueError) as error:
            raise self.fault(f"cannot be opened: {_reason(error)}") from error
        self._closing = weakref.finalize(self, os.close, self._descriptor)
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        self.identity = (status.st_dev, status.st_ino)

    def fault(self, what: str) -> FileError:
        """Return an error about this file."""
        return FileError(self.path, what)

    def close(self) -> None:
        """Close it; it may be closed twice."""
        self._closing()

    def head(self, count: int) -> bytes:
        """Return the first `count` bytes, or what there is."""
        target = np.empty(min(count, self.size), np.uint8)
        self.fill(target, 0)
        return target.tobytes()

    def handle(self) -> Any:
        """Return it as a Python file, for `zipfile`; to be dropped before this is closed."""
        return open(self._descriptor, "rb", closefd=False)

    def check_open(self) -> None:
        """Raise FileError if it has been closed."""
        if not self._closing.alive:
            raise self.fault("is closed")

    def fill(self, target: NDArray[np.uint8], offset: int) -> None:
        """Read what stands from `offset` on, until `target` is full."""
        self.check_open()
        view, done = target.data, 0
        while done < len(view):
            try:
                count = os.preadv(self._descriptor, [view[done:]], offset + done)
            except (OSError, OverflowError) as error:
                raise self.fault(f"cannot be read: {_reason(error)}") from error
            if count == 0:
                end = offset + done
                raise self.fault(f"ends at byte {end}, of {self.size} when it was opened")
            done += count


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


class Region(Protocol):
    """A stretch of bytes of a file, unpacked if it was packed."""

    size: int

    def fill(self, target: NDArray[np.uint8], offset: int) -> None:
        """Read `target` full from `offset` on; the caller stays within `size`."""
        ...


class InPlace:
    """Bytes that stand in the file as they are.

    With a CRC-32 they are checked against it whenever they have been read to the end in order.
    """

    def __init__(
        self, file: File, begin: int, size: int, crc: int | None = None, what: str = ""
    ) -> None:
        self.size, self.begin = size, begin
        self._file, self._crc, self._what = file, crc, what
        self._lock = threading.Lock()
        self._checked, self._so_far = 0, 0

    def fill(self, target: NDArray[np.uint8], offset: int) -> None:
        """Read `target` full from `offset` on, and check what has been read."""
        self._file.fill(target, self.begin + offset)
        if self._crc is not None:
            with self._lock:
                self._check(self._crc, target, offset)

    def _check(self, crc: int, target: NDArray[np.uint8], offset: int) -> None:
        if offset == 0:
            self._checked, self._so_far = 0, 0
        if offset != self._checked:
            return
        self._so_far = zlib.crc32(target.data, self._so_far)
        self._checked += target.size
        if self._checked == self.size and self._so_far != crc:
            raise self._file.fault(f"{self._what} has a wrong CRC-32: it is damaged")


def take(region: Region, offset: int, count: int) -> bytes:
    """Return `count` bytes of a region, which has them."""
    target = np.empty(count, np.uint8)
    region.fill(target, offset)
    return target.tobytes()


def allocate(count: int, file: File) -> NDArray[np.uint8]:
    """Return room for `count` bytes."""
    try:
        return np.empty(count, np.uint8)
    except (MemoryError, ValueError) as error:
        raise file.fault(f"has {count} bytes to read, more than fit in memory") from error


@dataclass(frozen=True)
class Stored:
    """One array as its file has it."""

    data: Region
    begin: int
    """The byte of `data` that its first element is at."""
    kind: str
    """The word for the dtype, the file's own where there is none; int4: two to a byte."""
    dtype: np.dtype | None
    """The dtype in the machine's byte order, V1 where it is not known; None: not numbers."""
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    """In elements, none negative; None for C order."""
    swapped: bool = False
    check_sum: Callable[[], None] = lambda: None
    """Reads all bytes of it that the file has a checksum of; raises FileError if that is wrong."""

    @property
    def is_packed(self) -> bool:
        """Whether a byte holds two elements, of int4."""
        return self.kind == "int4" and self.dtype == _BYTES


class Arrays(NamedTuple):
    """The arrays of a file, of which there may be very many."""

    keys: Collection[str]
    stored: Callable[[str], Stored]
    """Looks closely at one."""


_VOID = np.dtype("V1").num  # ml_dtypes' own are of kind V too, and have numbers of their own


def is_void(dtype: np.dtype) -> bool:
    """Return whether a dtype is bytes of which the file does not say what they are."""
    return dtype.num == _VOID


def dtype_name(dtype: np.dtype) -> str:
    """Return a dtype's name; V1 for what has none."""
    return str(dtype.str[1:] if is_void(dtype) else dtype.name)


def row_of(dtype: dtypes.DTypeName, file: File) -> tuple[str, np.dtype | None]:
    """Return the name and NumPy's carrier of a dtype as users give it; no carrier: int4.

    Raises:
        TypeError: it is nothing that names a dtype.
        FileError: no dtype goes by it.
    """
    value = ALIASES.get(dtype.lower(), dtype) if isinstance(dtype, str) else dtype
    row = dtypes.resolve(value, "dtype")
    if row is not None:
        return row.name, row.numpy or (None if row.name == "int4" else _BYTES)
    word = value if isinstance(value, str) else ""
    if not isinstance(value, (str, int, np.integer)):
        word = np.dtype(cast(DTypeLike, value)).name
    if word in _CARRIERS:
        return word, _CARRIERS[word]
    raise file.fault(f"dtype {str(dtype)!r:.40} is not known; try bfloat16, float8_e4m3fn or int8")


def shown(shape: Shape) -> str:
    """Return a shape in few letters."""
    return clean(str(shape), 60)


def fault_of_shape(shape: Shape, itemsize: int) -> str | None:
    """Say why no array can have a shape: too many axes, a negative one, or too many bytes."""
    if len(shape) > MAX_AXES:
        return f"has an array of {len(shape)} axes; at most {MAX_AXES} are allowed"
    if any(n < 0 for n in shape):
        return f"has a negative axis in the shape {shown(shape)}"
    if math.prod(n for n in shape if n) * itemsize > MAX_BYTES:
        return f"has a shape beyond all memory: {shown(shape)}"
    return None


def check_shape(shape: Shape, itemsize: int, file: File) -> None:
    """Refuse a shape that no array can have.

    Raises:
        FileError: no array can have it.
    """
    if fault := fault_of_shape(shape, itemsize):
        raise file.fault(fault)
