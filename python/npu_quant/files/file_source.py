"""An array in a file as a `Source`: read by blocks, in C order, in its dtype."""

from __future__ import annotations

import math
from functools import cached_property
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import dtypes
from .._codes import int4_of
from .._face import either
from .._text import clean
from .common import (
    MAX_BYTES,
    File,
    InPlace,
    Shape,
    Stored,
    allocate,
    check_shape,
    dtype_name,
    is_void,
    row_of,
)

EXPANDED_BYTES = 64 << 20
EXPANDED_RATIO = 16


_INT8 = np.dtype(np.int8)

_Meaning = tuple[np.dtype, int]
"""The dtype that stored elements are seen as, and how many int4 each holds; 0: it is not int4."""


def _int4(stored: Stored, dtype: np.dtype, file: File) -> _Meaning:
    """How int4 is carried: 8 to an int32, 2 to a byte, or one to an ml_dtypes V1."""
    if is_void(dtype) and dtype.itemsize == 1:
        return _INT8, 1
    if dtype.kind not in "iu" or dtype.itemsize not in (1, 4):
        raise file.fault(f"has {stored.kind}; int4 is packed in int32, int8 or uint8")
    if not stored.shape:
        raise file.fault("has a single element without axes, which int4 cannot be packed in")
    return _INT8, 2 * dtype.itemsize


def _meaning(stored: Stored, wanted: dtypes.DTypeName | None, file: File) -> _Meaning:
    """How stored elements become those of the wanted dtype."""
    dtype = stored.dtype
    if dtype is None:
        raise file.fault(f"has dtype {stored.kind}, which is not one of numbers")
    name, carrier = (stored.kind, dtype) if wanted is None else row_of(wanted, file)
    if carrier is None or (wanted is None and stored.is_packed):
        return _int4(stored, dtype, file)
    if wanted is None and is_void(dtype):
        raise file.fault(
            f"has {stored.kind}, as float8 is saved by NumPy: say which with "
            + either("dtype='float8_e4m3fn'", "--dtype")
        )
    if carrier.itemsize != dtype.itemsize:
        raise file.fault(
            f"has {stored.kind} of {dtype.itemsize} bytes, which cannot be seen as "
            f"{name} of {carrier.itemsize}"
        )
    return carrier, 0


class FileSource:
    """An array in a file, read when it is asked for; a context manager, closed at its end.

    What is read is in the machine's byte order and in C order, whatever the file has. Reading
    raises `FileError` where the file turns out damaged or has become shorter.
    """

    def __init__(
        self, file: File, stored: Stored, dtype: dtypes.DTypeName | None, key: str, name: str
    ) -> None:
        self._dtype, self._codes = _meaning(stored, dtype, file)
        assert stored.dtype is not None
        self.path, self.key, self.name = file.path, key, name
        self._file, self._stored, self._itemsize = file, stored, stored.dtype.itemsize
        shape = stored.shape
        if self._codes > 1:
            shape = (*shape[:-1], shape[-1] * self._codes)
        check_shape(shape, self._dtype.itemsize, file)
        self._shape, self._size = shape, math.prod(shape)
        if stored.strides is not None and self._size:
            _check_expanded(stored, self._itemsize, file)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of what `read` returns."""
        return self._dtype

    @property
    def shape(self) -> Shape:
        """The shape."""
        return self._shape

    @property
    def identity(self) -> tuple[int, int, str]:
        """The file, by device and number, and the key in it."""
        return (*self._file.identity, self.key)

    @property
    def place(self) -> tuple[int, int, int] | None:
        """The file, by device and number, and the byte its elements begin at; None if packed."""
        data = self._stored.data
        if not isinstance(data, InPlace) or self._codes:
            return None
        return (*self._file.identity, data.begin + self._stored.begin)

    @property
    def strides(self) -> Shape:
        """How many bytes of the file are from one element to the next along each axis."""
        shape, each = self._shape, self._stored.strides
        if each is None:
            each = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
        return tuple(step * self._itemsize for step in each)

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return elements `[begin, end)`, counted in C order, contiguous and 1-D."""
        if not 0 <= begin <= end <= self._size:
            raise IndexError(f"elements [{begin}, {end}) of {self._size} were asked for")
        each = self._codes or 1
        first, last = begin // each, -(-end // each)
        if self._stored.strides is None or not self._size:
            raw = self._plain(first, last)
        else:
            raw = self._in_order[first:last].copy().view(np.uint8)
        if self._stored.swapped and self._itemsize > 1:
            raw.view(f"u{self._itemsize}").byteswap(inplace=True)
        if not self._codes:
            return raw.view(self._dtype)
        return int4_of(raw, packed=self._codes > 1)[begin - first * each : end - first * each]

    def _plain(self, begin: int, end: int) -> NDArray[np.uint8]:
        """Bytes of stored elements, in the file's order."""
        raw = allocate((end - begin) * self._itemsize, self._file)
        self._stored.data.fill(raw, self._stored.begin + begin * self._itemsize)
        return raw

    @cached_property
    def _in_order(self) -> NDArray[Any]:
        """All stored elements of another order than C's, such as Fortran's, in that order."""
        shape, strides = self._stored.shape, self._stored.strides or ()
        reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        raw = self._plain(0, reach + 1).view(f"u{self._itemsize}")
        steps = [s * self._itemsize for s in strides]
        return np.lib.stride_tricks.as_strided(raw, shape, steps).reshape(-1)

    def array(self) -> NDArray[Any]:
        """Return all of it, in its shape."""
        return self.read(0, self._size).reshape(self._shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all of it, which is read anew each time: NumPy's functions take a source so."""
        if copy is False:
            raise ValueError(f"{self.name}: an array in a file cannot be had without a copy")
        array = self.array()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of an array without axes")
        return self._shape[0]

    def check_sum(self) -> None:
        """Compare the checksum that the file has of the array, if any, with its bytes.

        Raises:
            FileError: it is wrong: the file is damaged.
        """
        self._stored.check_sum()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> FileSource:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{clean(self.name)}: {dtype_name(self.dtype)}{clean(str(list(self._shape)))}>"


def _check_expanded(stored: Stored, itemsize: int, file: File) -> None:
    """Refuse an array that repeats few bytes so often that it could fill any memory."""
    size = math.prod(stored.shape) * itemsize
    if size > min(MAX_BYTES, max(EXPANDED_BYTES, EXPANDED_RATIO * stored.data.size)):
        raise file.fault(
            f"has {size} bytes repeated out of {stored.data.size}: save a contiguous copy"
        )
