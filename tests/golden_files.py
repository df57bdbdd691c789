"""Files made by hand for the tests of `npu_quant.golden.files`: every field at the test's will."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npu_quant.arrays import Source
from npu_quant.files import FileError, load


def refusal(path: Path, **how: Any) -> str:
    """Load what is to be refused, with all of its elements; return what it says after the name."""
    with pytest.raises(FileError) as caught, load(path, **how) as source:
        source.array()
    text = str(caught.value)
    assert len(text) < 300
    assert text.isprintable()
    assert text.startswith(f"{path}: ")
    return text.removeprefix(f"{path}: ")


def bits(array: np.ndarray) -> np.ndarray:
    """Return the bytes of an array's elements, in C order."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


def some(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return an array of random bytes, seen as a dtype."""
    kind = np.dtype(dtype)
    raw = np.random.default_rng(7).integers(0, 256, int(np.prod(shape)) * kind.itemsize, np.uint8)
    return (raw & 1 if dtype == "bool" else raw).view(kind).reshape(shape)


def put(path: Path, data: bytes) -> Path:
    """Write a file."""
    path.write_bytes(data)
    return path


def check(actual: Source, expected: np.ndarray) -> None:
    """Check that all of it, and each block of it, has the expected bits."""
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    whole = actual.array()
    assert (whole.dtype, whole.shape) == (expected.dtype, expected.shape)
    assert np.array_equal(bits(whole), bits(expected))
    flat, size = bits(expected), expected.itemsize
    for begin in range(expected.size + 1):
        for end in range(begin, expected.size + 1, 3):
            block = actual.read(begin, end)
            assert (block.dtype, block.shape) == (expected.dtype, (end - begin,))
            assert block.flags.c_contiguous
            assert np.array_equal(bits(block), flat[begin * size : end * size])


def npy(array: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    """Return an array as NumPy saves it."""
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version, allow_pickle=False)
    return out.getvalue()


def npy_by_hand(header: str, data: bytes = b"", magic: bytes = b"\x93NUMPY\x01\x00") -> bytes:
    """Return a .npy file with any header."""
    return magic + struct.pack("<H", len(header)) + header.encode("latin-1") + data


def safetensors(entries: dict[str, Any] | str, data: bytes = b"", length: int = -1) -> bytes:
    """Return a .safetensors file with any header, and any length said of it."""
    text = (entries if isinstance(entries, str) else json.dumps(entries)).encode()
    return struct.pack("<Q", len(text) if length < 0 else length) + text + data


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as target:
        for name, data in members.items():
            target.writestr(name, data)
    return out.getvalue()


class Code(bytes):
    """Operations of a pickle."""


def pickled(value: object) -> Code:
    """Return the operations that put a value on the stack."""
    if isinstance(value, Code):
        return value
    if isinstance(value, str):
        return Code(b"X" + struct.pack("<I", len(value.encode())) + value.encode())
    if value is None or isinstance(value, bool):
        return Code({None: b"N", True: b"\x88", False: b"\x89"}[value])
    if isinstance(value, int):
        return Code(b"\x8a\x09" + value.to_bytes(9, "little", signed=True))
    if isinstance(value, tuple):
        return Code(b"(" + b"".join(map(pickled, value)) + b"t")
    if isinstance(value, list):
        return Code(b"](" + b"".join(map(pickled, value)) + b"e")
    assert isinstance(value, dict)
    pairs = b"".join(pickled(k) + pickled(v) for k, v in value.items())
    return Code(b"}(" + pairs + b"u")


def name(text: str) -> Code:
    """Return the operation that looks a name up."""
    module, _, last = text.rpartition(".")
    return Code(f"c{module}\n{last}\n".encode())


def call(what: str, *args: object) -> Code:
    """Return the operations that call what a name stands for."""
    return Code(name(what) + pickled(args) + b"R")


def storage(kind: str, key: str, count: object, location: str = "cpu") -> Code:
    """Return the operations that refer to a storage."""
    return Code(pickled(("storage", name(kind), key, location, count)) + b"Q")


HOOKS = call("collections.OrderedDict")


def tensor(
    shape: object, *, strides: object = (), offset: object = 0, count: object = 12, **more: Any
) -> Code:
    """Return the operations that rebuild a tensor, as torch pickles it."""
    held = storage(more.get("kind", "torch.FloatStorage"), "0", count, more.get("location", "cpu"))
    return call("torch._utils._rebuild_tensor_v2", held, offset, shape, strides, False, HOOKS)


def torch_file(
    root: object, storages: dict[str, bytes] | None = None, order: bytes = b"little", **more: bytes
) -> bytes:
    """Return a file such as torch.save writes."""
    members = {"x/data.pkl": b"\x80\x02" + pickled(root) + b"."}
    members |= {"x/byteorder": order, "x/version": b"3\n"}
    members |= {f"x/data/{key}": data for key, data in (storages or {}).items()}
    return archive(members | {f"x/{key.replace('_', '.')}": data for key, data in more.items()})
