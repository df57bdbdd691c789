"""What a former run left that the next one takes over: the pieces that are as it noted them.

What the journal says is compared with what is there. Where a file of the source was written since
then, what was made of it is compared with that file, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .making import Job, Made, Piece, checksum_in, checksum_of_source, pieces_of, together
from .matrices import Matrix
from .plan import Group, tensor_of
from .weights import Error
from .work import Work
from .workers import Workers


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


def source_of(made: Iterable[str]) -> str:
    """Return the checksum of what a shard is made of, by those of its pieces, in order."""
    return hashlib.blake2b("".join(made).encode(), digest_size=16).hexdigest()


def source_checksums_of(
    job: Job,
    workers: Workers,
    shards: Iterable[int],
    read: Callable[[int], None] = lambda count: None,
) -> Iterator[tuple[int, str]]:
    """Yield the checksums of what shards are made of, as it is now.

    Args:
        job: the plan.
        workers: who reads.
        shards: their numbers.
        read: is told how many bytes of the source were read.
    """
    for shard in shards:
        pieces = [*pieces_of(job.plan, shard)]
        tasks = together(pieces, lambda piece: piece.source_bytes, workers.together_bytes)
        found: dict[Piece, str] = {}
        for some, checksums in workers.each(_checksums, job, tasks):
            found |= zip(some, checksums, strict=True)
            read(sum(piece.source_bytes for piece in some))
        yield shard, source_of(found[piece] for piece in pieces)


def _checksums(job: Job, pieces: list[Piece]) -> list[str]:
    return [checksum_of_source(job, piece) for piece in pieces]


def right_pieces(
    job: Job, work: Work, workers: Workers, modified: dict[str, int]
) -> Iterator[Made]:
    """Yield the pieces that are as the journal has them.

    Args:
        job: the plan.
        work: the folder that is written.
        workers: who looks.
        modified: when the source's files were written, in ns.
    """
    noted = _noted(job, work, modified)
    tasks = together(noted, lambda n: n.made.piece.source_bytes, workers.together_bytes)
    for some, are_right in workers.each(_look, job, tasks):
        yield from (n.made for n, is_right in zip(some, are_right, strict=True) if is_right)


def _noted(job: Job, work: Work, modified: dict[str, int]) -> list[Noted]:
    """What the journal says of pieces, of each the last."""
    numbers = {shard.name: n for n, shard in enumerate(job.plan.shards)}
    pieces = {n: {piece[1:4]: piece for piece in pieces_of(job.plan, n)} for n in numbers.values()}
    result: dict[Piece, Noted] = {}
    then: dict[str, int] = {}
    for entry in work.journal():
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


def _look(job: Job, noted: list[Noted]) -> list[bool]:
    return [_is_right(job, *one) for one in noted]


def _is_right(job: Job, made: Made, is_newer: bool) -> bool:
    try:
        if checksum_in(job, made.piece, job.part(made.piece.shard)) != made.written:
            return False
    except OSError:
        return False
    return not is_newer or checksum_of_source(job, made.piece) == made.source
