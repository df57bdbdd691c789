"""Bare elements, whose dtype and shape stand elsewhere, and ATB's .bin with a header in text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from operator import index

import numpy as np

from .. import dtypes
from .._face import either
from .._text import clean
from .common import File, InPlace, Stored, check_shape, row_of, shown, take

ATB = b"$Version="
"""How a file with ATB's header begins."""

MAX_HEADER = 64 << 10

_CODE, _DIMS = re.compile(r"\d{1,3}"), re.compile(r"\d{1,19}(\s*,\s*\d{1,19})*,?")
_BYTE = np.dtype(np.uint8)
_SIZES = {1: "int8", 2: "float16 or bfloat16", 4: "float32", 8: "int64"}


def shape_of(shape: Sequence[int], file: File) -> tuple[int, ...]:
    """Return a shape as users give it, checked."""
    try:
        axes = tuple(index(n) for n in shape)
    except TypeError as error:
        raise file.fault(f"shape is {clean(repr(shape), 60)}, not a tuple of integers") from error
    check_shape(axes, 1, file)
    return axes


def stored_of(
    file: File, dtype: dtypes.DTypeName | None, shape: Sequence[int] | None, begin: int = 0
) -> Stored:
    """Return the elements from `begin` on; int4 stands two to a byte, the first in its low half.

    Raises:
        FileError: dtype or shape is missing, or they do not make up the file.
    """
    size = file.size - begin
    axes = None if shape is None else shape_of(shape, file)
    if dtype is None or axes is None:
        missing = " and ".join(
            word for word, given in (("dtype", dtype), ("shape", axes)) if given is None
        )
        raise file.fault(
            f"has no header: say its {missing} ({either('dtype=, shape=', '--dtype, --shape')}). "
            + _guess(file, dtype, axes)
        )
    name, carrier = row_of(dtype, file)
    if carrier is None:
        if not axes or axes[-1] % 2:
            raise file.fault(f"int4 needs an even last axis, the shape is {shown(axes)}")
        carrier, axes = _BYTE, (*axes[:-1], axes[-1] // 2)
    check_shape(axes, carrier.itemsize, file)
    needed = math.prod(axes) * carrier.itemsize
    if needed != size:
        shape_text = shown(tuple(shape or ()))
        raise file.fault(f"has {size} bytes of elements; {name} {shape_text} has {needed}")
    return Stored(InPlace(file, begin, size), 0, name, carrier, axes)


def _guess(file: File, dtype: dtypes.DTypeName | None, shape: tuple[int, ...] | None) -> str:
    """Say what the size of the file allows."""
    if dtype is None:
        return sizes_text(file.size, shape)
    name, carrier = row_of(dtype, file)
    count = 2 * file.size if carrier is None else file.size / carrier.itemsize
    return f"{file.size} bytes are {count:.15g} of {name}"


def sizes_text(size: int, shape: tuple[int, ...] | None) -> str:
    """Say how many elements of which dtypes so many bytes may be."""
    if shape is not None:
        count = math.prod(shape)
        each = size // count if count and size % count == 0 else 0
        words = _SIZES.get(each, "int4" if 2 * size == count else "no dtype")
        return f"{size} bytes for the shape {shown(shape)} fit {words}"
    fits = [f"{size // n} of {word}" for n, word in sorted(_SIZES.items()) if size % n == 0]
    return f"{size} bytes are {', '.join(fits)}"


def atb_stored_of(file: File) -> Stored:
    """Return the array of a file with ATB's header.

    The header has lines `name=value`: `$Version`, `$Object.Length`, `format`, `dtype` as a number
    of ACL, `dims`, and last `$End=1`. The elements follow it. The format is not looked at.
    """
    head = take(InPlace(file, 0, file.size), 0, min(file.size, MAX_HEADER))
    end = re.search(rb"^\$(?i:end)=[^\n]*\n", head, re.MULTILINE)
    if end is None:
        raise file.fault("has a header of ATB's without its last line, $End=1")
    lines = head[: end.start()].decode("ascii", "replace").splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    code, dims = values.get("dtype", "").strip(), values.get("dims", "").strip()
    if not _CODE.fullmatch(code) or not _DIMS.fullmatch(dims):
        raise file.fault("has a header of ATB's whose dtype or dims are missing or malformed")
    length = values.get("$Object.Length", "").strip()
    if length and length != str(file.size - end.end()):
        raise file.fault(
            f"has {file.size - end.end()} bytes of elements, its header says {clean(length, 30)}"
        )
    row = dtypes.resolve(256 + int(code))
    if row is None:
        raise file.fault(f"has a header of ATB's with the unknown dtype {code}")
    shape = tuple(int(n) for n in dims.rstrip(",").split(","))
    return stored_of(file, row.name, shape, end.end())
