"""What a run is known by: its options, the contents of its source, the version of npu_quant."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from .._runtime import __version__
from .._text import clean
from ..files.opening import open_regular
from ..files.small import read_small
from .folder import Shard, Tensor

STRETCH = 4096
_HASHED = (
    f"SHA-256 of the first, middle and last {STRETCH} bytes of each tensor in the order of the "
    "file, and of a header's JSON"
)
_READERS = 8
"""Threads: of a model on a network, stretches are what takes time."""


class Sources(NamedTuple):
    """The source's files, as they are when a run begins."""

    files: dict[str, dict[str, Any]]
    """What is in them."""
    modified: dict[str, int]
    """When they were written, in ns."""


def sources_of(folder: Path, shards: Iterable[Shard]) -> Sources:
    """Look at the files that weights are read from."""
    shards = list(shards)
    with ThreadPoolExecutor(_READERS) as readers:
        seen = [*readers.map(lambda shard: _seen(folder, shard), shards)]
    files = {
        s.name: {"bytes": s.size, "header": s.header_sha256, "stretches": stretches}
        for s, (stretches, _) in zip(shards, seen, strict=True)
    }
    return Sources(files, {s.name: at for s, (_, at) in zip(shards, seen, strict=True)})


def modified_of(folder: Path, names: Iterable[str]) -> dict[str, int]:
    """Return when files were written, in ns."""
    return {name: (folder / name).stat().st_mtime_ns for name in names}


def _seen(folder: Path, shard: Shard) -> tuple[str, int]:
    """The hash of a file's stretches, and when it was written."""
    digest = hashlib.sha256()
    descriptor = open_regular(folder / shard.name, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # no more is read ahead
        modified = os.fstat(descriptor).st_mtime_ns
        for begin, end in _stretches(shard.tensors):
            digest.update(os.pread(descriptor, end - begin, begin))
    finally:
        os.close(descriptor)
    return digest.hexdigest(), modified


def _stretches(tensors: Iterable[Tensor]) -> Iterator[tuple[int, int]]:
    for tensor in tensors:
        if tensor.size <= 3 * STRETCH:
            yield tensor.begin, tensor.end
            continue
        for begin in (tensor.begin, tensor.begin + tensor.size // 2, tensor.end - STRETCH):
            yield begin, begin + STRETCH


def record_of(
    options: Mapping[str, Any], config: Path, files: Mapping[str, Mapping[str, Any]], headers: str
) -> dict[str, Any]:
    """Return plan.json: what must be the same for a run to go on.

    Args:
        options: by their names on the command line.
        config: the source's config.json.
        files: of :func:`sources_of`.
        headers: the SHA-256 of all headers that are written.
    """
    config_json = hashlib.sha256(read_small(config)).hexdigest()
    source = {"hashed": _HASHED, "config.json": config_json, "files": dict(files)}
    return {
        "npu_quant": __version__,
        "options": dict(options),
        "source": source,
        "headers": headers,
    }


def other_version(there: Any, here: Mapping[str, Any]) -> str | None:
    """Return the version of npu_quant that made a record; None if it is this one."""
    known = isinstance(there, dict) and isinstance(there.get("options"), dict)
    if known and there.get("npu_quant") == here["npu_quant"]:
        return None
    version = there.get("npu_quant", "unknown") if isinstance(there, dict) else "unknown"
    return clean(str(version), 40)


def difference(there: Any, here: Mapping[str, Any]) -> str | None:
    """Say what a record has otherwise, as "of another ..."; None if it is the same."""
    if there == here:
        return None
    if (version := other_version(there, here)) is not None:
        return f"of another version of npu_quant ({version} there, {here['npu_quant']} here)"
    options, ours = there["options"], here["options"]
    if other := [key for key in ours if options.get(key) != ours[key]]:
        said = ", ".join(
            f"--{key} {_value(options.get(key))} there, {_value(ours[key])} here"
            for key in other[:3]
        )
        more = f" and {len(other) - 3} more" if len(other) > 3 else ""
        return f"of another command ({said}{more})"
    if there.get("source") == here["source"]:
        return "by other rules (the same command now writes other tensors)"
    return f"of another source ({_other_source(there.get('source'), here['source'])})"


def _value(value: Any) -> str:
    """An option's value as it is typed."""
    if isinstance(value, list):
        words = ["=".join(v) if isinstance(v, list) else str(v) for v in value]
        return clean(" ".join(words), 60) if words else "none"
    if type(value) is int:
        units = ((30, "GiB"), (20, "MiB"), (10, "KiB"))
        return next((f"{value >> n}{u}" for n, u in units if not value % (1 << n)), str(value))
    return clean(str(value), 60)


def _other_source(there: Any, here: Mapping[str, Any]) -> str:
    files = there.get("files") if isinstance(there, dict) else None
    if not isinstance(files, dict):
        return "which is not known"
    for name, ours in here["files"].items():
        theirs = files.get(name)
        if theirs is None:
            return f"{clean(name, 100)} was not in it"
        if theirs != ours:
            keys = {"bytes": "size", "header": "tensors", "stretches": "weights"}
            what = next((keys[k] for k in keys if theirs.get(k) != ours[k]), "weights")
            return f"{clean(name, 100)} has other {what}"
    for name in files:
        if name not in here["files"]:
            return f"{clean(name, 100)} is not in it any more"
    return "config.json is another one"
