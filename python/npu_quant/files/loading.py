"""Arrays in files: .npy, .npz, .safetensors, torch's .pt, bare .bin and ATB's.

A file is never loaded whole, nor mapped into memory: `load` reads its header and returns a
`FileSource`, which reads blocks of elements when it is asked for them; of an array in another order
than C's all of its elements. What a file says is checked against what it has before anything is
read; a malformed file is a `FileError`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from .. import _kinds, dtypes
from .._shown import some_of
from .._text import clean, printable
from ..arrays import Source
from . import npy, raw, safetensors, torch_file
from .common import Arrays, File, FileError, InPlace, Stored, dtype_name
from .file_source import FileSource
from .zipped import archive_of

UNREADABLE = "unreadable: "
"""What stands before the fault of an array where its dtype would."""

_TORCH = (".pt", ".pth", ".ckpt")


def load(
    path: str | os.PathLike[str],
    *,
    dtype: dtypes.DTypeName | None = None,
    shape: Sequence[int] | None = None,
    key: str | None = None,
) -> FileSource:
    """Return an array in a file, to be read by blocks.

    Args:
        path: The file. Its kind is told from its first bytes, then from its name.
        dtype: For bare elements: their dtype. For others: the dtype to see the elements as, which
            has the same size; needed where NumPy saved float8 or int4 as V1. ``"int4"``
            unpacks to int8: eight values from each int32, two from each byte, the first in the
            lowest bits, along the last axis; a V1 is one value. hifloat8 and float4 stay uint8.
        shape: For bare elements: their shape, counted in values, also for int4. For others it is
            optional and must equal the file's.
        key: Which of several arrays: its name, or in torch's files the keys and numbers that lead
            to it, joined by dots. A file with one array needs no key.

    Raises:
        FileError: The file is malformed, cannot be opened, or more must be said about it.
        TypeError: `dtype` does not name a dtype.

    Example:
        >>> from npu_quant.golden import load
        >>> with load("dump.pt", key="model.norm.weight") as weight:  # doctest: +SKIP
        ...     weight.read(0, 4)
    """
    _kinds.check("load", "key", key, str | None, "a name")
    file = File(path)
    try:
        bare = Arrays([""], lambda key: raw.stored_of(file, dtype, shape))
        found = _arrays(file) or bare
        chosen = _choose(file, found.keys, key)
        name = printable(f"{file.path}:{chosen}" if len(found.keys) > 1 else file.path)
        source = FileSource(file, found.stored(chosen), dtype, chosen, name)
        if shape is not None and raw.shape_of(shape, file) != source.shape:
            raise file.fault(f"has the shape {source.shape}, not {tuple(shape)}")
        return source
    except BaseException:
        file.close()
        raise


def list_arrays(path: str | os.PathLike[str]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return the key, the dtype's name and the shape of every array in a file.

    The key is empty where a file has one array without a name. A dtype is as the file has it: V1
    where NumPy saved float8. Bare elements are one array of ``"bytes"``. If one of several arrays
    is damaged, its dtype is ``"unreadable: "`` and the fault that `load` raises, and its shape
    is ().

    Raises:
        FileError: The file, or the only array in it, is malformed; or the file cannot be opened.
    """
    file = File(path)
    try:
        found = _arrays(file)
        if found is None:
            return [("", "bytes", (file.size,))]
        if len(found.keys) == 1:
            return [(key, *_described(found.stored(key))) for key in found.keys]
        return [(key, *_described_or_fault(found, key)) for key in found.keys]
    finally:
        file.close()


def same_file(a: Source, b: Source) -> bool:
    """Return whether two sources are the same array of the same file, by whatever paths."""
    if not isinstance(a, FileSource) or not isinstance(b, FileSource):
        return False
    return a.identity == b.identity


def check_sums(*given: Any) -> None:
    """Compare the checksums that files have of some arrays with their bytes.

    Reading a whole .npz checks its sums, too; other readings, and .pt, leave them to this.

    Args:
        given: sources, or dicts, tuples and lists of them; anything else is passed over.

    Raises:
        FileError: a sum is wrong: the error has the first file's path, and names all of them.
    """
    faults = dict.fromkeys((error.path, error.what) for error in _wrong_sums(given))
    if faults:
        (path, what), *others = faults
        raise FileError(path, "; ".join([what, *(f"{other}: {text}" for other, text in others)]))


def _wrong_sums(value: Any) -> Iterator[FileError]:
    if isinstance(value, FileSource):
        try:
            value.check_sum()
        except FileError as error:
            yield error
    elif isinstance(value, (Mapping, tuple, list)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _wrong_sums(item)


def _described(stored: Stored) -> tuple[str, tuple[int, ...]]:
    if stored.is_packed:
        return "int4", (*stored.shape[:-1], 2 * stored.shape[-1])
    return (stored.kind if stored.dtype is None else dtype_name(stored.dtype)), stored.shape


def _described_or_fault(found: Arrays, key: str) -> tuple[str, tuple[int, ...]]:
    try:
        return _described(found.stored(key))
    except FileError as error:
        return f"{UNREADABLE}{clean(error.what, 200)}", ()


def _arrays(file: File) -> Arrays | None:
    """The arrays in a file by what it says of itself; None where that is nothing."""
    suffix = os.path.splitext(file.path)[1].lower()
    if suffix == ".safetensors":
        return safetensors.arrays(file)
    head = file.head(16)
    if head.startswith(npy.MAGIC) or suffix == ".npy":
        whole = InPlace(file, 0, file.size)
        return Arrays([""], lambda key: npy.stored_of(file, whole))
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")) or suffix == ".npz":
        archive = archive_of(file)
        if any(name.endswith(torch_file.PICKLE) for name in archive.members):
            return torch_file.arrays(archive)
        return npy.arrays(archive)
    if head.startswith(torch_file.LEGACY[:16]):
        what = "is of torch's format before 1.6, a bare pickle"
        raise file.fault(f"{what}: load it there and torch.save it again")
    if suffix in _TORCH:
        raise file.fault("is not a zip archive as torch.save has written since 1.6; save it again")
    if head.startswith(raw.ATB):
        return Arrays([""], lambda key: raw.atb_stored_of(file))
    return None


def _choose(file: File, found: Collection[str], key: str | None) -> str:
    known = some_of(found, 8, lambda name: clean(name, 30))
    if not found:
        raise file.fault("has no arrays in it")
    if key is None:
        if len(found) > 1:
            raise file.fault(f"has {len(found)} arrays; choose one by its key: {known}")
        return next(iter(found))
    if key in found:
        return key
    if key.removesuffix(npy.SUFFIX) in found:
        return key.removesuffix(npy.SUFFIX)
    if len(found) == 1 and "" in found:
        raise file.fault(f"has one array, without a key; {clean(key, 60)!r} was asked for")
    raise file.fault(f"has no array {clean(key, 60)!r}; it has {known}")
