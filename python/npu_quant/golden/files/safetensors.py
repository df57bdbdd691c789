"""The .safetensors format: the length of a header in JSON, the header, the elements.

As strict as its definition: each byte of the elements belongs to exactly one tensor.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .common import Arrays, File, InPlace, Stored, check_shape, clean, count_of, take

MAX_HEADER = 100_000_000

_DTYPES: dict[str, np.dtype] = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "I16": np.dtype(np.int16),
    "U16": np.dtype(np.uint16),
    "I32": np.dtype(np.int32),
    "U32": np.dtype(np.uint32),
    "I64": np.dtype(np.int64),
    "U64": np.dtype(np.uint64),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
    "F4": np.dtype(np.uint8),  # two to a byte
}
_OTHER_BITS = {"F6_E2M3": 6, "F6_E3M2": 6, "C64": 64, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8}


def arrays(file: File) -> Arrays:
    """Return the tensors by their names.

    Raises:
        FileError: the header is malformed, or does not fit the file.
    """
    entries, begin = _header(file)
    spans = sorted((*_span(file, name, entry), name) for name, entry in entries.items())
    at, end = 0, file.size - begin
    for first, last, name in spans:
        if first != at or last > end:
            fault = "overlap" if first < at else "leave a hole" if first > at else "exceed the file"
            raise file.fault(f"its tensors {fault}, at {clean(name, 60)}: bytes {first} to {last}")
        at = last
    if at != end:
        raise file.fault(f"has {end} bytes of elements, its header says {at}")
    data = InPlace(file, begin, end)
    return {
        name: lambda first=first, name=name: _stored(file, data, first, entries[name])  # type: ignore[misc]
        for first, _, name in spans
    }


def _header(file: File) -> tuple[dict[str, dict[str, Any]], int]:
    """Return the header's entries and where the elements begin."""
    import json

    whole = InPlace(file, 0, file.size)
    length = int.from_bytes(take(whole, 0, 8), "little") if file.size >= 8 else -1
    if not 2 <= length <= min(MAX_HEADER, file.size - 8):
        raise file.fault("has no safetensors header: its length does not fit the file")
    text = take(whole, 8, length)
    if not text.startswith(b"{"):
        raise file.fault("has no safetensors header: it does not begin with {")
    try:
        entries = json.loads(
            text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant
        )
    except (ValueError, RecursionError, MemoryError) as error:
        raise file.fault(f"has a malformed header: {error or type(error).__name__}") from error
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise file.fault("has __metadata__ that is not text by name")
    return entries, 8 + length


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        last = {name: at for at, (name, _) in enumerate(pairs)}
        twice = next(name for at, (name, _) in enumerate(pairs) if last[name] != at)
        raise ValueError(f"{clean(twice, 60)!r} stands in it twice")
    return entries


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _integers(value: object) -> bool:
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def _span(file: File, name: str, entry: object) -> tuple[int, int]:
    """Return where a tensor's bytes begin and end, counted from the first element."""
    what = clean(name, 60)
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise file.fault(f"tensor {what} has not dtype, shape and data_offsets")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or not (kind in _DTYPES or kind in _OTHER_BITS):
        raise file.fault(f"tensor {what} has the unknown dtype {clean(str(kind), 30)}")
    if not _integers(shape) or not _integers(offsets) or len(offsets) != 2:
        raise file.fault(f"tensor {what} has a malformed shape or data_offsets")
    check_shape(tuple(shape), 8, file)
    bits = 4 if kind == "F4" else _OTHER_BITS.get(kind) or 8 * _DTYPES[kind].itemsize
    size = count_of(tuple(shape)) * bits
    if offsets[1] < offsets[0] or 8 * (offsets[1] - offsets[0]) != size:
        raise file.fault(f"tensor {what} needs {size // 8} bytes, its data_offsets are {offsets}")
    return offsets[0], offsets[1]


def _stored(file: File, data: InPlace, first: int, entry: dict[str, Any]) -> Stored:
    kind, shape = entry["dtype"], tuple(entry["shape"])
    if kind == "F4":
        if not shape or shape[-1] % 2:
            raise file.fault(f"has F4 of the shape {shape}, an odd number to a row")
        shape = (*shape[:-1], shape[-1] // 2)
    return Stored(data, first, kind, _DTYPES.get(kind), shape)
