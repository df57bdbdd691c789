"""Arrays as a comparison reads them: block by block, from memory or from a file."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Source
from ..errors import DTypeError
from .elements import remedy_of

BLOCK_BYTES = 8 << 20
"""About what is read at a time of each side."""


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


class Cast:
    """A source whose elements are converted to another dtype, block by block."""

    def __init__(
        self, source: Source, dtype: np.dtype, convert: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> None:
        self.name, self.dtype, self.shape = source.name, dtype, source.shape
        self.source = source
        self._convert = convert

    def of(self, source: Source) -> Cast:
        """Return another source converted in the same way."""
        return Cast(source, self.dtype, self._convert)

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return elements ``[begin, end)``, counted in C order, contiguous and 1-D."""
        with np.errstate(all="ignore"):  # of signalling NaN
            return self._convert(self.source.read(begin, end))

    def array(self) -> NDArray[Any]:
        """Return all of it, in its shape."""
        with np.errstate(all="ignore"):
            return self._convert(self.source.array())


def given_dtype(source: Source) -> np.dtype:
    """Return the dtype that a source has been given in."""
    return source.source.dtype if isinstance(source, Cast) else source.dtype


def given_names(actual: Source, golden: Source) -> tuple[str, str]:
    """Return the names of the dtypes they were given in, ">f4" where only bytes are swapped."""
    ours, theirs = given_dtype(actual), given_dtype(golden)
    return (ours.str, theirs.str) if ours == theirs.newbyteorder() else (ours.name, theirs.name)


def size_of(source: Source) -> int:
    """Return how many elements a source has."""
    return math.prod(source.shape)


def blocks(source: Source, most: int | None = None) -> list[tuple[int, int]]:
    """Return the ranges of elements it is best read in, of at most so many."""
    size = size_of(source)
    step = max(1, BLOCK_BYTES // source.dtype.itemsize)
    step = step if most is None else min(step, most)
    return [(begin, min(begin + step, size)) for begin in range(0, size, step)]


def crc32(source: Source) -> int:
    """Return the CRC-32 of the elements' bytes in C order, which other tools print as a digest."""
    value = 0
    for begin, end in blocks(source):
        value = zlib.crc32(np.ascontiguousarray(source.read(begin, end)).view(np.uint8).data, value)
    return value


class Number(ArraySource):
    """A Python number, which has no dtype of its own."""


def _of_torch(tensor: Any, what: str) -> NDArray[Any]:
    """Return a torch tensor's elements, of a quantized one its codes."""
    tensor = tensor.detach()
    if not tensor.is_meta:
        tensor = tensor.cpu()
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    flat = tensor.reshape(-1) if tensor.ndim > 8 else tensor
    array: NDArray[Any] = _core.array_of(flat, "compare", what).reshape(tensor.shape)
    return array


def is_source(value: Any) -> bool:
    """Say whether this is an array that is read in pieces, such as one in a file."""
    return all(hasattr(value, name) for name in ("read", "dtype", "array"))


def as_source(value: Any, what: str) -> Source:
    """Return an argument as a source.

    Args:
        value: an array, a NumPy or Python number, a torch tensor, anything with ``__array__``, or
            a source, which stays as it is.
        what: its name in messages, such as "actual".

    Raises:
        DTypeError: it is none of these, a masked array, or holds objects.
    """
    if is_source(value):
        source: Source = value
        return source
    if _core.is_tensor(value):
        value = _of_torch(value, what)
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(f"{what} is a masked array, whose mask would be lost.")
    numbers = (np.ndarray, np.generic, bool, int, float)
    if not isinstance(value, numbers) and not hasattr(value, "__array__"):
        kind = type(value).__name__
        raise DTypeError(f"{what} is a {kind}, expected an array or a tuple of arrays.")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DTypeError(f"{what} cannot be read as an array: {error}") from None
    dtype = array.dtype
    if dtype.names is not None:
        first = f", such as {what}[{dtype.names[0]!r:.40}]" if dtype.names else ""
        raise DTypeError(f"{what} has named fields, expected numbers. Compare each{first}.")
    if dtype.hasobject or dtype.kind in "USMmc" or not dtype.itemsize:
        text = f"{what} has dtype {dtype}, expected numbers. {remedy_of(dtype)}"
        raise DTypeError(text.rstrip())
    return Number(array) if type(value) in (bool, int, float) else ArraySource(array)
