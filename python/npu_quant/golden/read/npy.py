"""NumPy's .npy, versions 1 to 3, never unpickled.

The header is a Python dict in text. It is taken apart by a pattern: nothing is evaluated.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from .common import Arrays, File, InPlace, Region, Stored, check_shape, clean, count_of, shown, take

MAGIC = b"\x93NUMPY"
MAX_HEADER = 1 << 16

_PAIR = re.compile(
    r"""\s*(['"])(?P<name>\w{1,20})\1\s*:\s*
    (?:(['"])(?P<text>[^'"\\]*)\3 | (?P<tuple>\([\dL,\s]*\)) | (?P<flag>True|False)
       | (?P<fields>\[.*\]))\s*(?:,|$)""",
    re.VERBOSE | re.DOTALL,
)
_DESCR = re.compile(r"([<>|=]?)([biufV])(\d{1,2})")
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (1, 2, 4, 8), "V": (1, 2)}


class Header(NamedTuple):
    """What a header says."""

    descr: str
    fortran: bool
    shape: tuple[int, ...]
    end: int
    """The byte that the elements begin at."""


def header_of(file: File, data: Region, what: str) -> Header:
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


def _parse(text: str, end: int) -> Header:
    """Return what a header's text says; ValueError where it is malformed."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError("it is not a dict")
    inside, at, found = text[1:-1].rstrip(), 0, {}
    while at < len(inside):
        pair = _PAIR.match(inside, at)
        if pair is None:
            raise ValueError(f"at {clean(inside[at:], 40)!r}")
        if pair["name"] in found:
            raise ValueError(f"{pair['name']} stands in it twice")
        found[pair["name"]], at = pair, pair.end()
    if set(found) != {"descr", "fortran_order", "shape"}:
        raise ValueError(f"it has the keys {clean(', '.join(found), 60)}")
    descr = found["descr"]["text"] or found["descr"]["fields"]
    flag, shape = found["fortran_order"]["flag"], found["shape"]["tuple"]
    if descr is None or flag is None or shape is None:
        raise ValueError("a value is of the wrong type")
    return Header(descr, flag == "True", _shape(shape), end)


def _shape(text: str) -> tuple[int, ...]:
    inside = text[1:-1].strip()
    if not inside:
        return ()
    parts = [part.strip() for part in inside.split(",")]
    if len(parts) == 1:
        raise ValueError("its shape is no tuple")
    if not parts[-1]:
        parts.pop()
    if not all(re.fullmatch(r"\d{1,20}L?", part) for part in parts):
        raise ValueError(f"its shape is {clean(text, 60)}")
    return tuple(int(part.rstrip("L")) for part in parts)


def stored_of(file: File, data: Region, what: str = "") -> Stored:
    """Return the array of a .npy file, or of such a member of an archive.

    Raises:
        FileError: it is malformed, or not as long as its header says.
    """
    header = header_of(file, data, what)
    known = _DESCR.fullmatch(header.descr)
    if known is None or int(known[3]) not in _SIZES[known[2]]:
        kind = "object, which is pickled" if "O" in header.descr else clean(header.descr, 40)
        return Stored(data, header.end, kind, None, header.shape)
    letter, itemsize = known[2], int(known[3])
    # ml_dtypes' float8_e5m2 is saved as f1, which NumPy does not know.
    word = f"{letter}{itemsize}"
    dtype = np.dtype("V1" if word == "f1" else word)
    check_shape(header.shape, itemsize, file)
    size, has = count_of(header.shape) * itemsize, data.size - header.end
    if size != has:
        raise file.fault(
            f"{what}has {has} bytes of elements; its header says {size} "
            f"for {word} {shown(header.shape)}"
        )
    kind = word if dtype.kind == "V" else dtype.name
    strides = None
    if header.fortran and len(header.shape) > 1:
        strides = tuple(count_of(header.shape[:axis]) for axis in range(len(header.shape)))
    return Stored(data, header.end, kind, dtype, header.shape, strides, known[1] == ">")


def arrays(file: File) -> Arrays:
    """Return the one array of a .npy file, which has no key."""
    return {"": lambda: stored_of(file, InPlace(file, 0, file.size))}
