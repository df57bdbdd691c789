"""The work of a plan: pieces of output shards, each read, made and written where the plan says.

::

    q_proj.weight        [ codes ........ ][ codes ........ ]    pieces of rows, 16 MiB of source,
    q_proj.weight_scale  [ scales ][ scales ]                    each in bands of 1 MiB, which stay
                                                                 in the cache
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..golden.read.safetensors import NUMPY
from . import names
from .folder import CheckpointError, Tensor
from .matrices import Matrix, bytes_of, cut
from .plan import COPY, PARAMS, WIDEN, Group, OutputShard, Plan, size_of
from .weights import DTYPES, Error, NonFiniteError, Outputs, Rule, quantize

T = TypeVar("T")

PIECE_BYTES = 16 << 20
BAND_BYTES = 1 << 20


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
    error: Error | None


@dataclass(frozen=True)
class Job:
    """A plan, and where it reads and writes."""

    source: Path
    work: Path
    """The folder of the files that are not yet whole."""
    plan: Plan
    rule: Rule

    def part(self, shard: int) -> Path:
        """Return the file that a shard is while it is not whole."""
        return self.work / f"{self.plan.shards[shard].name}.part"


def pieces_of(plan: Plan, shard: int) -> Iterator[Piece]:
    """Yield the tasks of a shard."""
    for number, group in enumerate(plan.shards[shard].groups):
        count, each = _extent(group.source)
        for begin, end in cut(0, count, each, PIECE_BYTES):
            yield Piece(shard, number, begin, end, (end - begin) * each)


def together(tasks: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield small tasks together, up to 4 MiB: to hand one out takes longer than to do it."""
    some: list[T] = []
    size = 0
    for task in tasks:
        if some and size + size_of(task) > PIECE_BYTES // 4:
            yield some
            some, size = [], 0
        some.append(task)
        size += size_of(task)
    if some:
        yield some


def _extent(source: Tensor | Matrix) -> tuple[int, int]:
    """Return how many rows a source has, and their bytes; a plain tensor's rows are bytes."""
    if isinstance(source, Tensor):
        return source.size, 1
    return source.shape[0], source.row_bytes


def prepare(job: Job, shard: int, path: Path) -> None:
    """Make the file of a shard, with its header."""
    planned = job.plan.shards[shard]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        os.ftruncate(descriptor, planned.size)
        _write(descriptor, memoryview(planned.header), 0)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)


def make(job: Job, piece: Piece, path: Path) -> Made:
    """Read, make and write a piece.

    Raises:
        CheckpointError: a weight has NaN or infinite values, or the source has become shorter.
        OSError: the file cannot be written.
    """
    shard = job.plan.shards[piece.shard]
    group = shard.groups[piece.group]
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        if isinstance(group.source, Tensor):
            _copy(job, shard, group, piece, descriptor)
            return Made(piece, None)
        return Made(piece, _rows(job, shard, group, piece, descriptor))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)


def _copy(job: Job, shard: OutputShard, group: Group, piece: Piece, descriptor: int) -> None:
    """Write bytes of a tensor, a bias of 16 bits as float32."""
    assert isinstance(group.source, Tensor)
    place = shard.places[group.outputs[0].name]
    for begin, end in cut(piece.begin, piece.end, 1, BAND_BYTES):
        raw = bytes_of(job.source, group.source, begin, end - begin)
        if group.how == WIDEN:
            values = raw.view(NUMPY[group.source.kind])
            wide = values.astype(np.float32).view(np.uint8)
            _write(descriptor, wide.data, place + begin // values.itemsize * 4)
        else:
            _write(descriptor, raw.data, place + begin)


def _rows(job: Job, shard: OutputShard, group: Group, piece: Piece, descriptor: int) -> Error:
    matrix = group.source
    assert isinstance(matrix, Matrix)
    total = Error()
    for begin, end in cut(piece.begin, piece.end, matrix.row_bytes, BAND_BYTES):
        arrays = _made_of(job, group, matrix, begin, end, total)
        for output, array in zip(group.outputs, arrays, strict=True):
            place = shard.places[output.name] + begin * size_of(output) // matrix.shape[0]
            _write(descriptor, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, place)
    return total


def _made_of(job: Job, group: Group, matrix: Matrix, begin: int, end: int, error: Error) -> Outputs:
    """Return what rows become."""
    if group.how == COPY:
        return (matrix.rows(job.source, begin, end),)
    values = matrix.read(job.source, begin, end)
    if group.how == PARAMS:
        narrow = _narrowed(values, job)
        if (~np.isfinite(narrow) & np.isfinite(values)).any():
            raise CheckpointError(_beyond(job, matrix))
        return (narrow,)
    try:
        return quantize(values, group.type, names.is_down(matrix.module), job.rule, error)
    except NonFiniteError as found:
        raise CheckpointError(_non_finite(job, matrix)) from found
    except CheckpointError as found:
        raise CheckpointError(f"{matrix.module}.weight: {found}") from found


@np.errstate(over="ignore")
def _narrowed(values: NDArray[np.float32], job: Job) -> NDArray[Any]:
    """Return values in the params dtype."""
    return values.astype(DTYPES[job.plan.params])


def _non_finite(job: Job, matrix: Matrix) -> str:
    """Say how many values of a weight are not finite, and where the first is."""
    count, first = _count(job, matrix, lambda values: ~np.isfinite(values.astype(np.float32)))
    return (
        f"{matrix.module}.weight has {count} NaN or infinite values, the first at {first}: "
        f"mend it, or leave it as it is with --exclude {matrix.module}, which is another plan and "
        "needs another folder."
    )


def _beyond(job: Job, matrix: Matrix) -> str:
    """Say how many finite values of a weight are infinite in the params dtype."""
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
    """Return how many values of a weight are bad, and where the first is."""
    count, first = 0, [0, 0]
    for begin, end in cut(0, matrix.shape[0], matrix.row_bytes, BAND_BYTES):
        bad = is_bad(matrix.read(job.source, begin, end))
        if bad.any() and count == 0:
            row, column = divmod(int(bad.argmax()), matrix.shape[1])
            first = [begin + row, column]
        count += int(bad.sum())
    return count, first


def _write(descriptor: int, data: memoryview, place: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], place + done)
