"""A folder that a run finished: how it was made, and whether its files are still the same."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._text import clean
from .check_sums import parsed
from .folder import CheckpointError, json_of
from .kept import source_checksums_of
from .making import Job, together
from .record import difference
from .run import Whole
from .work import RECORD, SUMS, WORK, sha256_of
from .workers import Workers

Errors = dict[str, list[float]]
"""Of each module that was quantized: the sums of its `weights.Error`."""
_SUMS = ("sum_of_squares", "sum_of_squared_errors", "max_error", "zero_rows")


class Finished(NamedTuple):
    """What a finished folder says of itself."""

    errors: Errors
    sha256: dict[str, str]
    """Of each file."""


def recorded(record: Mapping[str, Any], shards: Mapping[str, Whole]) -> dict[str, Any]:
    """Return npu_quant.json: a record, of what shards were made, and what each module lost."""
    sources = {name: whole.source for name, whole in shards.items()}
    errors = {m: sums for whole in shards.values() for m, sums in whole.errors.items()}
    layers = {m: dict(zip(_SUMS, sums, strict=True)) for m, sums in errors.items()}
    return {**record, "shards": sources, "layers": layers}


def is_finished(out: Path) -> bool:
    """Say whether a folder is the result of a run."""
    return (out / RECORD).is_file() and not (out / WORK).exists()


def check_same(out: Path, record: Mapping[str, Any]) -> None:
    """Raise CheckpointError if a finished folder was made by another command, or of another source.

    Args:
        out: the folder.
        record: of :func:`npu_quant.checkpoint.record.record_of`.
    """
    try:
        said = json_of(out / RECORD)
    except CheckpointError as error:
        if isinstance(error.__cause__, OSError):
            raise
        raise CheckpointError(_changed(out, RECORD)) from error
    if other := difference({key: said.get(key) for key in record}, record):
        raise CheckpointError(
            f"{out} is not empty: it holds the result {other}: choose another folder."
        )


def as_written(
    job: Job, workers: Workers, out: Path, sums: Mapping[str, str], read: Callable[[int], None]
) -> Finished:
    """Look at a folder that the same command wrote.

    Args:
        job: what would be done.
        workers: who looks.
        out: the folder.
        sums: the SHA-256 of what would be written beside the shards.
        read: is told how many bytes of the source were read.

    Raises:
        CheckpointError: a file is not as it was written, or would be written otherwise now.
        OSError: a file cannot be read, which says nothing of what is in it.
    """
    shutil.rmtree(out / f"{WORK}.ended", ignore_errors=True)  # which a killed run left
    said = json_of(out / RECORD)
    try:
        listed = parsed((out / SUMS).read_bytes().split(b"\n"))
        if listed.malformed or listed.outside:
            raise ValueError(SUMS)
        sha256 = listed.files
        errors = {m: [layer[key] for key in _SUMS] for m, layer in said["layers"].items()}
        shards = {shard.name: said["shards"][shard.name] for shard in job.plan.shards}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(_changed(out, f"{SUMS} or {RECORD}")) from error
    for name in [*shards, RECORD, *sums]:
        if name not in sha256 or (name in sums and sums[name] != sha256[name]):
            raise CheckpointError(_changed(out, name))
    for number, source in source_checksums_of(job, workers, range(len(job.plan.shards)), read):
        if source != shards[job.plan.shards[number].name]:
            text = f"other weights became {job.plan.shards[number].name}"
            raise CheckpointError(
                f"{out} is not empty: it holds the result of another source ({text}): choose "
                "another folder."
            )
    try:
        changed = min(different(workers, out, sha256), default=None)
    except FileNotFoundError as error:
        changed = os.path.relpath(error.filename or SUMS, out)
    if changed is not None:
        raise CheckpointError(_changed(out, changed))
    return Finished(errors, sha256)


def _changed(out: Path, name: str) -> str:
    return (
        f"{out} is not empty: it holds the result of this command, but {clean(name, 100)} is not "
        "as the command writes it: delete the folder, or choose another."
    )


def different(workers: Workers, folder: Path, sums: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of files that have not these SHA-256.

    Raises:
        OSError: a file cannot be read.
    """
    return (name for name, found in sums_of(workers, folder, sums) if found != sums[name])


def sums_of(workers: Workers, folder: Path, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the names of files, and their SHA-256.

    Raises:
        OSError: a file cannot be read.
    """
    sizes = [(name, (folder / name).stat().st_size) for name in names]
    tasks = together(sizes, lambda file: file[1], workers.together_bytes)
    for some, digests in workers.each(_digests, folder, tasks):
        yield from zip((name for name, _ in some), digests, strict=True)


def _digests(folder: Path, files: list[tuple[str, int]]) -> list[str]:
    return [sha256_of(folder / name) for name, _ in files]
