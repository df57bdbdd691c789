"""NumPy's .npy, versions 1 to 3, never unpickled, and .npz, an archive of such.

The header is a Python dict in text, of literals: nothing in it is called. In an archive, a text
member ``y.dtype`` beside ``y.npy`` names the dtype that integers stand for: so the pytest plugin
stores bfloat16 and float8, which .npy has no name for.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import re
from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from .._text import clean
from .common import (
    Arrays,
    File,
    Region,
    Stored,
    check_shape,
    dtype_name,
    row_of,
    shown,
    take,
)
from .zipped import Archive, check_sum, region

MAGIC = b"\x93NUMPY"
MAX_HEADER = 1 << 16
SUFFIX = ".npy"

_DESCR = re.compile(r"([<>|=]?)([biufV])(\d{1,2})")
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (1, 2, 4, 8), "V": (1, 2)}
_KEYS = ["descr", "fortran_order", "shape"]
_LONGEST_NAME = 40
_KNOWN = {"V2": np.dtype(ml_dtypes.bfloat16), "f1": np.dtype(ml_dtypes.float8_e5m2)}
"""What ml_dtypes' types are saved as that NumPy does not know; V1 is what several are saved as."""


class _ArrayHeader(NamedTuple):
    descr: str
    fortran: bool
    shape: tuple[int, ...]
    end: int
    """The byte that the elements begin at."""


def _header_of(file: File, data: Region, what: str) -> _ArrayHeader:
    """Return the header of a .npy file, or of such a member of an archive, named in messages.

    Raises:
        FileError: it is malformed.
    """
    if data.size < 10 or not (lead := take(data, 0, 10)).startswith(MAGIC):
        raise file.fault(f"{what}does not begin as a .npy file does")
    version, more = lead[6], 2 if lead[6] > 1 else 0
    if version not in (1, 2, 3) or lead[7]:
        raise file.fault(f"{what}is .npy of version {version}.{lead[7]}; 1.0 to 3.0 are known")
    if data.size < 10 + more:
        raise file.fault(f"{what}is cut short in its header")
    length = int.from_bytes(lead[8:10] + take(data, 10, more), "little")
    end = 10 + more + length
    if length > MAX_HEADER or end > data.size:
        raise file.fault(f"{what}has a header of {length} bytes, too long or cut short")
    text = take(data, 10 + more, length)
    try:
        return _parse(text.decode("latin-1"), end)  # version 3 has UTF-8 in names of fields only
    except ValueError as error:
        raise file.fault(f"{what}has a malformed header: {error}") from error


def _parse(text: str, end: int) -> _ArrayHeader:
    """The header in a text; ValueError where it is malformed."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError("it is not a dict")
    try:
        # Python 2 wrote an L behind whole numbers.
        tree: Any = ast.parse(re.sub(r"(\d)L\b", r"\1", text), mode="eval").body
        names = sorted(str(ast.literal_eval(key)) for key in tree.keys)
        found = ast.literal_eval(tree)
    except Exception as error:  # Python answers what is no literal with errors of many types
        raise ValueError(f"at {clean(text, 40)!r}") from error
    if len(set(names)) < len(names):
        raise ValueError("a name occurs in it twice")
    if names != _KEYS:
        raise ValueError(f"it has the keys {clean(', '.join(names), 60)}")
    descr, fortran, shape = (found[key] for key in _KEYS)
    if not isinstance(shape, tuple):
        raise ValueError("its shape is not a tuple")
    if not all(type(n) is int and n >= 0 for n in shape) or not isinstance(fortran, bool):
        raise ValueError("a value is of the wrong type")
    return _ArrayHeader(descr if isinstance(descr, str) else repr(descr), fortran, shape, end)


def stored_of(file: File, data: Region, what: str = "") -> Stored:
    """Return the array of a .npy file, or of such a member of an archive.

    Raises:
        FileError: it is malformed, or not as long as its header says.
    """
    header = _header_of(file, data, what)
    known = _DESCR.fullmatch(header.descr)
    if known is None or int(known[3]) not in _SIZES[known[2]]:
        kind = "object, which is pickled" if "O" in header.descr else clean(header.descr, 40)
        return Stored(data, header.end, kind, None, header.shape)
    letter, itemsize = known[2], int(known[3])
    word = f"{letter}{itemsize}"
    dtype = _KNOWN[word] if word in _KNOWN else np.dtype(word)
    check_shape(header.shape, itemsize, file)
    size, has = math.prod(header.shape) * itemsize, data.size - header.end
    if size != has:
        raise file.fault(
            f"{what}has {has} bytes of elements; its header says {size} "
            f"for {word} {shown(header.shape)}"
        )
    strides = None
    if header.fortran and len(header.shape) > 1:
        strides = tuple(math.prod(header.shape[:axis]) for axis in range(len(header.shape)))
    swapped = known[1] == ">"
    return Stored(data, header.end, dtype_name(dtype), dtype, header.shape, strides, swapped)


def arrays(archive: Archive) -> Arrays:
    """Return the arrays of a .npz file by their names; other members are passed over."""
    names = [name.removesuffix(SUFFIX) for name in archive.members if name.endswith(SUFFIX)]
    return Arrays(names, lambda key: _archived(archive, key))


def _archived(archive: Archive, key: str) -> Stored:
    data = region(archive, key + SUFFIX, check=True)
    stored = stored_of(archive.file, data, f"{clean(key + SUFFIX, 60)} ")
    stored = dataclasses.replace(stored, check_sum=partial(check_sum, archive, key + SUFFIX))
    return _named(archive, stored, f"{key}.dtype") if f"{key}.dtype" in archive.members else stored


def _named(archive: Archive, stored: Stored, beside: str) -> Stored:
    """See integers as the dtype whose name stands beside them."""
    data = region(archive, beside, check=True)
    text = take(data, 0, min(data.size, _LONGEST_NAME)).decode("ascii", "replace")
    scalar = getattr(ml_dtypes, text, None)
    is_type = isinstance(scalar, type) and issubclass(scalar, np.generic)
    dtype = np.dtype(scalar) if is_type else row_of(text, archive.file)[1]
    if stored.dtype is None or dtype is None or dtype.itemsize != stored.dtype.itemsize:
        what = f"{clean(beside, 60)} is {clean(text, 40)}"
        raise archive.file.fault(f"{what}, which {stored.kind} does not stand for")
    return dataclasses.replace(stored, dtype=dtype, kind=dtype_name(dtype))
