"""Arrays as a comparison reads them: block by block, from memory or from a file."""

from __future__ import annotations

import zlib
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 8 << 20
"""About what is read at a time of each side."""


class Source(Protocol):
    """An array that is read in pieces of its elements in C order."""

    name: str
    """Where it comes from, such as a file's name; empty for an array in memory."""

    @property
    def dtype(self) -> np.dtype:
        """The elements' dtype."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        ...

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return elements ``[begin, end)``, counted in C order, contiguous and 1-D."""
        ...

    def array(self) -> NDArray[Any]:
        """Return all of it, in its shape."""
        ...


class ArraySource:
    """An array in memory, of any strides."""

    def __init__(self, array: NDArray[Any], name: str = "") -> None:
        self.name = name
        self._array = array
        self._flat = array.reshape(-1) if array.flags.c_contiguous else None

    @property
    def dtype(self) -> np.dtype:
        """The elements' dtype."""
        return self._array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self._array.shape

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return elements ``[begin, end)``, counted in C order, contiguous and 1-D."""
        return self._array.flat[begin:end] if self._flat is None else self._flat[begin:end]

    def array(self) -> NDArray[Any]:
        """Return the array itself."""
        return self._array


def size_of(source: Source) -> int:
    """Return how many elements a source has."""
    return int(np.prod(source.shape, dtype=np.int64))


def blocks(source: Source) -> list[tuple[int, int]]:
    """Return the ranges of elements it is best read in."""
    size = size_of(source)
    step = max(1, BLOCK_BYTES // source.dtype.itemsize)
    return [(begin, min(begin + step, size)) for begin in range(0, size, step)]


def crc32(source: Source) -> int:
    """Return the CRC-32 of the elements' bytes in C order, which other tools print as a digest."""
    value = 0
    for begin, end in blocks(source):
        value = zlib.crc32(np.ascontiguousarray(source.read(begin, end)).view(np.uint8).data, value)
    return value
