"""What torch.save writes, read without torch: an archive of one pickle and the storages.

The device a tensor was saved from, such as npu:0, does not matter. Sound files may lack sums, which
are 0 then (`torch.serialization.set_crc32_options`, `skip_data`). The sum of a storage, which may
be large, is checked by `Stored.check_sum`, where arrays turn out to differ.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from .._text import clean
from .common import Arrays, FileError, Stored, check_shape, shown, take
from .pickled import RefusedError, StorageView, Unread, describe
from .zipped import Archive, check_sum, region

PICKLE = "/data.pkl"
"""How the name of a member ends that only torch's archives have."""

LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""How torch.save began a file before torch 1.6: a pickled magic number."""

_NO_SUM = 0

MAX_PICKLE = 64 << 20
MAX_DEPTH = 64
MAX_KEY = 1000


def arrays(archive: Archive) -> Arrays:
    """Return the tensors by the keys that lead to them, joined by dots.

    Raises:
        FileError: the archive or its pickle is malformed, or the pickle asks for what is refused.
    """
    file, members = archive.file, archive.members
    pickles = [name for name in members if name.endswith(PICKLE)]
    if len(pickles) != 1 or pickles[0].count("/") != 1:
        raise file.fault("is not laid out as torch.save does: it needs one data.pkl")
    folder = pickles[0].removesuffix("data.pkl")
    if f"{folder}constants.pkl" in members:
        raise file.fault("is a TorchScript program: torch.save its state_dict() instead")
    swapped = f"{folder}byteorder" in members and _big_endian(archive, f"{folder}byteorder")
    tensors = _tensors(archive, pickles[0])

    def stored(key: str) -> Stored:
        tensor = tensors[key]
        if tensor is None:
            name = clean(key, 60)
            raise file.fault(f"has several tensors called {name}: save them under other keys")
        if isinstance(tensor, Unread):
            raise file.fault(tensor.why)
        name = f"{folder}data/{tensor.storage.key}"
        if name not in members:
            raise file.fault(f"lacks the storage {clean(tensor.storage.key, 60)}")
        return _stored(archive, name, tensor, swapped)

    return Arrays(tensors, stored)


def _whole(archive: Archive, name: str, most: int) -> bytes:
    data = region(archive, name, check=archive.members[name].CRC != _NO_SUM)
    if data.size > most:
        what = f"has a {clean(name, 60)} of {data.size} bytes; {most} are allowed"
        raise archive.file.fault(what)
    return take(data, 0, data.size)


def _big_endian(archive: Archive, name: str) -> bool:
    order = _whole(archive, name, 16)
    if order not in (b"little", b"big"):
        raise archive.file.fault(f"has the unknown byteorder {order!r}")
    return order == b"big"


def _tensors(archive: Archive, name: str) -> dict[str, StorageView | Unread | None]:
    """Return the tensors that a pickle describes, by key; None where several have one key."""
    file = archive.file
    try:
        root, operations = describe(_whole(archive, name, MAX_PICKLE), 1_000_000 + file.size // 8)
        found: dict[str, StorageView | Unread | None] = {}
        _collect(root, found, 10 * operations + 1000)
    except RefusedError as error:
        raise file.fault(str(error)) from error
    except FileError:
        raise
    except Exception as error:  # whatever a malformed pickle brings about
        raise file.fault(f"has a malformed pickle ({type(error).__name__})") from error
    return found


def _collect(root: Any, found: dict[str, StorageView | Unread | None], limit: int) -> None:
    """Put the tensors under `root` into `found`.

    Containers may hold each other many times over, or themselves: at most `limit` are visited.
    """
    waiting = [(root, "", 0)]
    while waiting:
        item, key, depth = waiting.pop()
        limit -= 1
        if limit < 0 or depth > MAX_DEPTH or len(key) > MAX_KEY:
            raise RefusedError("its pickle nests too deeply")
        if isinstance(item, (StorageView, Unread)):
            found[key] = None if key in found else item
        elif isinstance(item, (dict, list, tuple)):
            pairs = item.items() if isinstance(item, dict) else enumerate(item)
            inner = [
                (value, f"{key}.{name}" if depth else str(name), depth + 1)
                for name, value in pairs
                if isinstance(value, (StorageView, Unread, dict, list, tuple))
            ]
            waiting += reversed(inner)


def _dtype(name: str) -> np.dtype:
    return np.dtype("uint8" if name == "float4_e2m1fn_x2" else name)


def _stored(archive: Archive, name: str, tensor: StorageView, swapped: bool) -> Stored:
    """A tensor's elements in its storage.

    Raises:
        FileError: the storage has not the size the pickle says, or the tensor exceeds it.
    """
    file, data, storage = archive.file, region(archive, name, check=False), tensor.storage
    said = storage.count * (_dtype(storage.dtype).itemsize if storage.dtype else 1)
    if data.size != said:
        raise file.fault(f"{clean(name, 60)} has {data.size} bytes, its pickle says {said}")
    dtype, shape, strides = _dtype(tensor.dtype), tensor.size, tensor.stride
    check_shape(shape, dtype.itemsize, file)
    reach = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    last = tensor.offset + reach + 1 if math.prod(shape) else 0
    if last * dtype.itemsize > data.size:
        raise file.fault(
            f"{clean(name, 60)} has {data.size} bytes, too few for the tensor "
            f"{shown(shape)} with strides {shown(strides)} at {tensor.offset}"
        )
    begin = tensor.offset * dtype.itemsize if last else 0
    strides = tuple(stride if n > 1 else 0 for n, stride in zip(shape, strides, strict=True))
    plain = _in_order(shape, strides)
    order = None if plain else strides
    check = partial(_check_sum, archive, name)
    return Stored(data, begin, dtype.name, dtype, shape, order, swapped, check)


def _check_sum(archive: Archive, name: str) -> None:
    if archive.members[name].CRC != _NO_SUM:
        check_sum(archive, name)


def _in_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides are those of C order; an axis of one element may have any."""
    expected = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != expected:
            return math.prod(shape) == 0
        expected *= n
    return True
