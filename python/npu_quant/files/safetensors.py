"""The .safetensors format: the length of a header in JSON, the header, the elements.

As strict as its definition: each byte of the elements belongs to exactly one tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from sys import intern
from typing import Any, NamedTuple

import numpy as np

from .._text import clean
from .common import Arrays, File, InPlace, Shape, Stored, fault_of_shape, take

MAX_HEADER = 100_000_000
MAX_KEPT = 32 << 20
"""The longest header that is kept, parsed, for the next array of its file."""

NUMPY: dict[str, np.dtype] = {
    f"{kind.upper()}{8 * size}": np.dtype(f"{kind}{size}")
    for kind, sizes in (("u", (1, 2, 4, 8)), ("i", (1, 2, 4, 8)), ("f", (2, 4, 8)))
    for size in sizes
}
NUMPY |= {
    word: np.dtype(name)
    for word, name in (
        ("BOOL", "bool"),
        ("BF16", "bfloat16"),
        ("F8_E4M3", "float8_e4m3fn"),
        ("F8_E5M2", "float8_e5m2"),
        ("F8_E8M0", "float8_e8m0fnu"),
        ("F4", "uint8"),  # two to a byte
    )
}
"""What NumPy computes with of each dtype, by the format's word; of a few words it has nothing."""
BITS = {kind: 8 * dtype.itemsize for kind, dtype in NUMPY.items()}
BITS |= {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "C64": 64, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8}
_FIELDS = {"dtype", "shape", "data_offsets"}


class _HeaderError(ValueError):
    """A malformed header."""


class TensorInfo(NamedTuple):
    """A tensor as the header has it."""

    kind: str
    shape: Shape
    begin: int
    """Its first byte, counted from the first element, as `end` is."""
    end: int


class Header(NamedTuple):
    """What stands before the elements."""

    text: bytes
    tensors: dict[str, TensorInfo]
    """By name, in the order of their bytes; not to be changed."""

    @property
    def begin(self) -> int:
        """The first element's place in the file."""
        return 8 + len(self.text)

    @property
    def size(self) -> int:
        """How many bytes of elements the file is to have."""
        return max((t.end for t in self.tensors.values()), default=0)


def header_of(file: File) -> Header:
    """Read the header, which may say more or fewer elements than the file has.

    Raises:
        FileError: it is malformed.
    """
    text = _header(file)
    try:
        return Header(text, _kept(text) if len(text) <= MAX_KEPT else _parsed(text))
    except _HeaderError as error:
        raise file.fault(str(error)) from error


def arrays(file: File) -> Arrays:
    """Return the tensors by their names.

    Raises:
        FileError: the header is malformed, or does not fit the file.
    """
    header = header_of(file)
    tensors, begin = header.tensors, header.begin
    size, said = file.size - begin, header.size
    if said > size:
        name, t = next((name, t) for name, t in tensors.items() if t.end > size)
        at = f"{clean(name, 60)}: bytes {t.begin} to {t.end}"
        raise file.fault(f"its tensors exceed the file, at {at}")
    if said < size:
        raise file.fault(f"has {size} bytes of elements, its header says {said}")
    data = InPlace(file, begin, size)
    return Arrays(tensors, lambda name: _stored(file, data, tensors[name]))


def _header(file: File) -> bytes:
    whole = InPlace(file, 0, file.size)
    length = int.from_bytes(take(whole, 0, 8), "little") if file.size >= 8 else -1
    if not 2 <= length <= min(MAX_HEADER, file.size - 8):
        raise file.fault("has no safetensors header: its length does not fit the file")
    text = take(whole, 8, length)
    if not text.startswith(b"{"):
        raise file.fault("has no safetensors header: it does not begin with {")
    return text


def _parsed(text: bytes) -> dict[str, TensorInfo]:
    """Return the tensors that a header has, in the order of their bytes; not to be changed.

    Raises:
        _HeaderError: it is malformed, or a byte before the last tensor's end is not of one tensor.
    """
    entries = _entries(text)
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _HeaderError("has __metadata__ that is not text by name")
    found: list[tuple[TensorInfo, str]] = []
    for name, entry in entries.items():
        if not isinstance(entry, TensorInfo):
            raise _HeaderError(f"tensor {clean(name, 60)} {_tensor(entry)}")
        found.append((entry, name))
    found.sort(key=lambda pair: (pair[0].begin, pair[0].end, pair[1]))
    at = 0
    for t, name in found:
        if t.begin != at:
            fault = "overlap" if t.begin < at else "leave a hole"
            where = f"{clean(name, 60)}: bytes {t.begin} to {t.end}"
            raise _HeaderError(f"its tensors {fault}, at {where}")
        at = t.end
    return {name: t for t, name in found}


# Files are asked for one array after another. It is the text that is looked up, not the file, which
# may have become another one in the meantime.
_kept: Callable[[bytes], dict[str, TensorInfo]] = lru_cache(maxsize=2)(_parsed)


def _entries(text: bytes) -> dict[str, Any]:
    import json

    try:
        entries = json.loads(
            text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant
        )
    except (_HeaderError, json.JSONDecodeError, UnicodeDecodeError) as error:
        why = str(error)
    except RecursionError:
        why = "it nests too deeply"
    except MemoryError:
        why = "it needs more memory than there is"
    except ValueError:  # which is how int() refuses
        why = "a number in it has too many digits"
    else:
        if isinstance(entries, dict):
            return entries
        why = "it is a tensor's"
    raise _HeaderError(f"has a malformed header: {why}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any] | TensorInfo:
    """An object of the JSON; a tensor's is a TensorInfo, which takes much less room."""
    entries = dict(pairs)
    if len(entries) != len(pairs):
        last = {name: at for at, (name, _) in enumerate(pairs)}
        twice = next(name for at, (name, _) in enumerate(pairs) if last[name] != at)
        raise _HeaderError(f"{clean(twice, 60)!r} occurs in it twice")
    tensor = _tensor(entries)
    return entries if isinstance(tensor, str) else tensor


def _no_constant(name: str) -> None:
    raise _HeaderError(f"{name} is not JSON")


def _integers(value: object) -> bool:
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def _tensor(entry: object) -> TensorInfo | str:
    """A tensor that has as many bytes as its dtype and shape need, or what is wrong."""
    if not isinstance(entry, dict) or entry.keys() != _FIELDS:
        return "has not dtype, shape and data_offsets"
    kind, axes, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    bits = BITS.get(kind) if isinstance(kind, str) else None
    if bits is None:
        return f"has the unknown dtype {clean(str(kind), 30)}"
    if not _integers(axes) or not _integers(offsets) or len(offsets) != 2:
        return "has a malformed shape or data_offsets"
    shape, (begin, end) = tuple(axes), offsets
    if fault := fault_of_shape(shape, 8):
        return fault
    if end < begin or 8 * (end - begin) != math.prod(shape) * bits:
        return f"needs {math.prod(shape) * bits // 8} bytes, its data_offsets are {offsets}"
    return TensorInfo(intern(kind), shape, begin, end)


def _stored(file: File, data: InPlace, tensor: TensorInfo) -> Stored:
    kind, shape = tensor.kind, tensor.shape
    if kind == "F4":
        if not shape or shape[-1] % 2:
            raise file.fault(f"has F4 of the shape {shape}, an odd number to a row")
        shape = (*shape[:-1], shape[-1] // 2)
    return Stored(data, tensor.begin, kind, NUMPY.get(kind), shape)
