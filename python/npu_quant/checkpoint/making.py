"""Making a shard: its pieces, each read, made and written where the plan says.

::

    q_proj.weight        [ codes ........ ][ codes ........ ]    pieces of rows, 16 MiB of source,
    q_proj.weight_scale  [ scales ][ scales ]                    each in bands of 1 MiB, which stay
                                                                 in the cache
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..files.safetensors import NUMPY
from . import names
from .folder import CheckpointError, Tensor
from .keep import part_of
from .matrices import Matrix, bands, bytes_of, pieces
from .place import Place, write
from .plan import CODES, COPY, PARAMS, WIDEN, Group, OutputShard, Plan, size_of
from .weights import DTYPES, Error, NonFiniteError, Outputs, quantize

CHECKED_BYTES = 4096


class Checksum:
    """Of arrays, one after the other: the sums of the words in each 4 KiB, hashed.

    It takes a thirtieth of the time of SHA-256. It can be forged; data that is torn, damaged or of
    another model has another checksum.
    """

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=16)

    def add(self, array: NDArray[Any]) -> None:
        """Take in an array's bytes."""
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        whole = len(raw) // CHECKED_BYTES * CHECKED_BYTES
        words = raw[:whole].view(np.uint64).reshape(-1, CHECKED_BYTES // 8)
        self._digest.update(np.add.reduce(words, axis=1).data)
        self._digest.update(raw[whole:].data)

    @property
    def text(self) -> str:
        """The checksum, in hexadecimal."""
        return self._digest.hexdigest()


class Piece(NamedTuple):
    """Rows of a matrix, or bytes of a tensor, that one task makes."""

    shard: int
    group: int
    begin: int
    end: int
    source_bytes: int


class Made(NamedTuple):
    """What became of a piece."""

    piece: Piece
    source: str
    """The checksum of what was read."""
    written: str
    """The checksum of what was written."""
    error: Error | None


@dataclass(frozen=True)
class Job:
    """A plan, and where it reads and writes."""

    source: Path
    unfinished: Place
    """The folder of the files that are not yet whole."""
    plan: Plan

    @cached_property
    def pieces(self) -> list[list[Piece]]:
        """The pieces of each shard."""
        return [[*_pieces_of(n, shard.groups)] for n, shard in enumerate(self.plan.shards)]

    @property
    def source_bytes(self) -> int:
        """How many bytes of the source are read for all of them."""
        return sum(piece.source_bytes for of_shard in self.pieces for piece in of_shard)

    def part(self, shard: int) -> str:
        """Return the name that a shard has there."""
        return part_of(self.plan.shards[shard].name)


def _pieces_of(shard: int, groups: Iterable[Group]) -> Iterator[Piece]:
    for number, group in enumerate(groups):
        count, each = _extent(group.source)
        for begin, end in pieces(0, count, each):
            yield Piece(shard, number, begin, end, (end - begin) * each)


def _extent(source: Tensor | Matrix) -> tuple[int, int]:
    """The rows of a source, and their bytes; a plain tensor's rows are bytes."""
    if isinstance(source, Tensor):
        return source.size, 1
    return source.shape[0], source.row_bytes


def prepare(job: Job, shard: int, part: str) -> None:
    """Make the file of a shard, with its header; what else stands in it stays."""
    planned = job.plan.shards[shard]
    with job.unfinished.opened(part, os.O_WRONLY | os.O_CREAT) as descriptor:
        os.ftruncate(descriptor, planned.size)
        write(descriptor, memoryview(planned.header))


def make(job: Job, piece: Piece, part: str) -> Made:
    """Read, make and write a piece.

    Raises:
        CheckpointError: a weight has NaN or infinite values, or the source has become shorter.
        OSError: the file cannot be written.
    """
    shard = job.plan.shards[piece.shard]
    group = shard.groups[piece.group]
    source, written = Checksum(), Checksum()
    error = Error() if group.how == CODES else None
    with job.unfinished.opened(part, os.O_WRONLY) as descriptor:
        for begin, end, values in _bands(job, group, piece):
            if group.how != COPY:
                source.add(values)
            arrays = _made_of(job, group, values, error)
            del values  # the next band is read to where these are, which is in the cache
            places = _places(shard, group, begin, end)
            for (place, _), array in zip(places, arrays, strict=True):
                raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                written.add(raw)
                write(descriptor, raw.data, place)
            del arrays, array, raw
    return Made(piece, (written if group.how == COPY else source).text, written.text, error)


def checksum_of_source(job: Job, piece: Piece) -> str:
    """Return the checksum of what a piece is made of."""
    source = Checksum()
    for _, _, values in _bands(job, job.plan.shards[piece.shard].groups[piece.group], piece):
        source.add(values)
    return source.text


def checksum_in(job: Job, piece: Piece, part: str) -> str:
    """Return the checksum of what stands in a file where a piece is written."""
    shard = job.plan.shards[piece.shard]
    group = shard.groups[piece.group]
    _, each = _extent(group.source)
    written = Checksum()
    with job.unfinished.opened(part) as descriptor:
        for begin, end in bands(piece.begin, piece.end, each):
            for place, count in _places(shard, group, begin, end):
                written.add(np.frombuffer(os.pread(descriptor, count, place), np.uint8))
    return written.text


def _bands(job: Job, group: Group, piece: Piece) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Yield bands of the source: bytes, or the numbers that are quantized."""
    source, begin, end = group.source, piece.begin, piece.end
    if isinstance(source, Matrix):
        yield from source.bands(job.source, begin, end, as_bytes=group.how == COPY)
        return
    for at, to in bands(begin, end, 1):
        yield at, to, bytes_of(job.source, source, at, to - at)


def _places(shard: OutputShard, group: Group, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Where each output of rows stands in the file, and its bytes."""
    count, _ = _extent(group.source)
    for output in group.outputs:
        size = size_of(output)
        first = begin * size // count
        yield shard.places[output.name] + first, end * size // count - first


def _made_of(job: Job, group: Group, values: NDArray[Any], error: Error | None) -> Outputs:
    source = group.source
    if group.how == COPY:
        return (values,)
    if isinstance(source, Tensor):
        assert group.how == WIDEN
        return (values.view(NUMPY[source.kind]).astype(np.float32),)
    if group.how == PARAMS:
        narrow = _narrowed(values, job)
        if (~np.isfinite(narrow) & np.isfinite(values)).any():
            raise CheckpointError(_beyond(job, source))
        return (narrow,)
    assert error is not None
    try:
        return quantize(values, group.type, names.is_down(source.module), job.plan.rule, error)
    except NonFiniteError as found:
        raise CheckpointError(_non_finite(job, source)) from found
    except CheckpointError as found:
        raise CheckpointError(f"{source.module}.weight: {found}") from found


@np.errstate(over="ignore")
def _narrowed(values: NDArray[np.float32], job: Job) -> NDArray[Any]:
    return values.astype(DTYPES[job.plan.params])


def _non_finite(job: Job, matrix: Matrix) -> str:
    count, first = _count(job, matrix, lambda values: ~np.isfinite(values.astype(np.float32)))
    return (
        f"{matrix.module}.weight has {count} NaN or infinite values, the first at {first}: "
        f"mend it, or leave it as it is with --exclude {matrix.module}, which is another plan and "
        "needs another folder."
    )


def _beyond(job: Job, matrix: Matrix) -> str:
    params = job.plan.params

    def is_beyond(values: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(~np.isfinite(_narrowed(values, job)) & np.isfinite(values))

    count, first = _count(job, matrix, is_beyond)
    text = f"{matrix.module}.weight has {count} values beyond {params}, the first at {first}"
    if params == "bfloat16":
        return f"{text}: mend the scales of its blocks."
    return f"{text}: use --dtype bfloat16, which is another plan and needs another folder."


def _count(
    job: Job, matrix: Matrix, is_bad: Callable[[NDArray[Any]], NDArray[np.bool_]]
) -> tuple[int, list[int]]:
    """How many values of a weight are bad, and where the first is."""
    count, first = 0, [0, 0]
    for begin, _, values in matrix.bands(job.source, 0, matrix.shape[0]):
        bad = is_bad(values)
        if bad.any() and count == 0:
            row, column = divmod(int(bad.argmax()), matrix.shape[1])
            first = [begin + row, column]
        count += int(bad.sum())
    return count, first
