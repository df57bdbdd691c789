"""What a former run left: the pieces that are as it noted them, or a folder that it finished.

What the journal says is compared with what is there. Where a file of the source was written since
then, what was made of it is compared with that file, too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._text import clean
from ..files.small import MOST_BYTES
from .folder import CheckpointError, is_regular, json_of
from .keep import ENDED, RECORD, SUMS, UNFINISHED, OutFolder
from .making import Job, Made, Piece, checksum_in, checksum_of_source
from .matrices import Matrix
from .place import Place, sha256_of
from .plan import Group, tensor_of
from .record import difference
from .sums import parsed
from .weights import Error
from .workers import Workers, each_of_many


class Whole(NamedTuple):
    """A shard that has its name."""

    sha256: str
    source: str
    """The checksum of what it is made of."""
    errors: dict[str, Error]
    """Of each module that was quantized."""


class Noted(NamedTuple):
    """A piece as the journal has it."""

    made: Made
    is_newer: bool
    """Whether what it is made of was written since."""


def line_of(shard: str, made: Iterable[Made]) -> dict[str, Any]:
    """Return the journal's line about pieces of a shard."""
    rows = [
        [*m.piece[1:4], m.source, m.written, None if m.error is None else m.error.sums.tolist()]
        for m in made
    ]
    return {"part": shard, "made": rows}


def sha256_in(out: OutFolder) -> dict[str, str]:
    """Return the SHA-256 that shards had when they were whole, as the journal has them."""
    lines = ((entry.get("sealed"), entry.get("sha256")) for entry in out.journal())
    return {n: s for n, s in lines if isinstance(n, str) and isinstance(s, str)}


def source_of(made: Iterable[str]) -> str:
    """Return the checksum of what a shard is made of, by those of its pieces, in order."""
    return hashlib.blake2b("".join(made).encode(), digest_size=16).hexdigest()


def source_checksums_of(
    job: Job, workers: Workers, read: Callable[[int], None]
) -> Iterator[tuple[str, str]]:
    """Yield the names of all shards, and the checksums of what they are made of, as it is now.

    Args:
        job: the plan.
        workers: who reads.
        read: is told how many bytes of the source were read.
    """
    found: dict[Piece, str] = {}
    pieces, size_of = chain(*job.pieces), attrgetter("source_bytes")
    for piece, checksum in each_of_many(workers, checksum_of_source, job, pieces, size_of):
        found[piece] = checksum
        read(piece.source_bytes)
    for shard, of_shard in zip(job.plan.shards, job.pieces, strict=True):
        yield shard.name, source_of(found[piece] for piece in of_shard)


def right_pieces(
    job: Job, out: OutFolder, workers: Workers, modified: dict[str, int]
) -> Iterator[Made]:
    """Return the pieces that are as the journal has them.

    Args:
        job: the plan.
        out: the folder that is written.
        workers: who looks.
        modified: when the source's files were written, in ns.
    """
    noted = _noted(job, out, modified)
    size_of = attrgetter("made.piece.source_bytes")
    looked = each_of_many(workers, _is_right, job, noted, size_of)
    return (one.made for one, is_right in looked if is_right)


def _noted(job: Job, out: OutFolder, modified: dict[str, int]) -> list[Noted]:
    """What the journal says of pieces, of each the last."""
    numbers = {shard.name: n for n, shard in enumerate(job.plan.shards)}
    pieces = [{piece[1:4]: piece for piece in of_shard} for of_shard in job.pieces]
    result: dict[Piece, Noted] = {}
    then: dict[str, int] = {}
    for entry in out.journal():
        try:
            if "modified" in entry:
                then = dict(entry["modified"])
                continue
            number = numbers[entry["part"]]
            for group, begin, end, source, written, sums in entry["made"]:
                piece = pieces[number][group, begin, end]
                error = None if sums is None else Error(np.array(sums, np.float64))
                files = _files_of(job.plan.shards[number].groups[group])
                is_newer = any(then.get(file) != modified[file] for file in files)
                result[piece] = Noted(Made(piece, source, written, error), is_newer)
        except (ValueError, KeyError, TypeError):  # cut off, or of nobody
            continue
    return [*result.values()]


def _files_of(group: Group) -> Iterator[str]:
    yield tensor_of(group.source).file
    if isinstance(group.source, Matrix) and group.source.scale is not None:
        yield group.source.scale.file


def _is_right(job: Job, noted: Noted) -> bool:
    made, is_newer = noted
    try:
        if checksum_in(job, made.piece, job.part(made.piece.shard)) != made.written:
            return False
    except OSError:
        return False
    return not is_newer or checksum_of_source(job, made.piece) == made.source


# ---- A folder that a run finished.

_SUMS = ("sum_of_squares", "sum_of_squared_errors", "max_error", "zero_rows")


class Finished(NamedTuple):
    """What a finished folder says of itself."""

    errors: dict[str, Error]
    """Of each module that was quantized."""
    sha256: dict[str, str]
    """Of each file."""


def recorded(record: Mapping[str, Any], shards: Mapping[str, Whole]) -> dict[str, Any]:
    """Return npu_quant.json: a record, of what shards were made, and what each module lost."""
    sources = {name: whole.source for name, whole in shards.items()}
    errors = errors_of(shards.values())
    layers = {m: dict(zip(_SUMS, e.sums.tolist(), strict=True)) for m, e in errors.items()}
    return {**record, "shards": sources, "layers": layers}


def errors_of(shards: Iterable[Whole]) -> dict[str, Error]:
    """Return how far each module is from what its codes stand for."""
    return {module: error for whole in shards for module, error in whole.errors.items()}


def is_finished(out: Path) -> bool:
    """Say whether a folder is the result of a run."""
    return is_regular(out / RECORD) and not os.path.lexists(out / UNFINISHED)


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
    Place(out).remove_folder(ENDED)  # which a killed run left
    said = json_of(out / RECORD)
    try:
        lines = Place(out).read(SUMS, MOST_BYTES).split(b"\n")
    except FileNotFoundError as error:
        raise CheckpointError(_changed(out, SUMS)) from error
    try:
        listed = parsed(lines)
        if listed.malformed or listed.outside:
            raise ValueError(SUMS)
        sha256 = listed.files
        sums_by = {m: [layer[key] for key in _SUMS] for m, layer in said["layers"].items()}
        errors = {m: Error(np.array(some, np.float64)) for m, some in sums_by.items()}
        shards = {shard.name: said["shards"][shard.name] for shard in job.plan.shards}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(_changed(out, f"{SUMS} or {RECORD}")) from error
    for name in [*shards, RECORD, *sums]:
        if name not in sha256 or (name in sums and sums[name] != sha256[name]):
            raise CheckpointError(_changed(out, name))
    for name, source in source_checksums_of(job, workers, read):
        if source != shards[name]:
            raise CheckpointError(
                f"{out} is not empty: it holds the result of another source (other weights became "
                f"{name}): choose another folder."
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
    """Return the names of files, and their SHA-256.

    Raises:
        OSError: a file cannot be read.
    """
    sizes = [(name, (folder / name).stat().st_size) for name in names]
    digests = each_of_many(workers, _digest, folder, sizes, itemgetter(1))
    return ((name, digest) for (name, _), digest in digests)


def _digest(folder: Path, file: tuple[str, int]) -> str:
    return sha256_of(folder / file[0])
