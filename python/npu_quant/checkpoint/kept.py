"""What a former run left that the next one takes over: shards that are whole, and pieces of others.

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
from .work import Work, sha256_of
from .workers import Workers

Entry = dict[str, Any]
"""The line of the journal about a shard that is whole."""


class Noted(NamedTuple):
    """What the journal says."""

    shards: dict[int, tuple[Entry, bool]]
    """And whether the source was written since."""
    pieces: dict[Piece, tuple[Made, bool]]


class Look(NamedTuple):
    """A task: to see whether a piece is as it was noted."""

    made: Made
    is_source_too: bool


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


def noted(job: Job, work: Work, modified: dict[str, int]) -> Noted:
    """Read the journal.

    Args:
        modified: when the source's files were written, in ns.
    """
    numbers = {shard.name: n for n, shard in enumerate(job.plan.shards)}
    pieces = {n: {piece[1:4]: piece for piece in pieces_of(job.plan, n)} for n in numbers.values()}
    result = Noted({}, {})
    then: dict[str, int] = {}
    for entry in work.journal():
        try:
            if "modified" in entry:
                then = dict(entry["modified"])
                continue
            number = numbers[entry["shard" if "shard" in entry else "part"]]
            groups = job.plan.shards[number].groups
            if "shard" in entry:
                is_there = (work.out / entry["shard"]).stat().st_size == entry["bytes"]
                if is_there and entry.keys() >= {"sha256", "source", "errors"}:
                    result.shards[number] = entry, _is_newer(groups, then, modified)
                continue
            for group, begin, end, source, written, sums in entry["made"]:
                piece = pieces[number][group, begin, end]
                error = None if sums is None else Error(np.array(sums, np.float64))
                made = Made(piece, source, written, error)
                result.pieces[piece] = made, _is_newer([groups[group]], then, modified)
        except (ValueError, OSError, KeyError, TypeError):  # cut off, or a file is lost
            continue
    return result


def _is_newer(groups: Iterable[Group], then: dict[str, int], now: dict[str, int]) -> bool:
    """Say whether what groups are made of was written since."""
    files = {file for group in groups for file in _files_of(group)}
    return any(then.get(file) != now[file] for file in files)


def _files_of(group: Group) -> Iterator[str]:
    yield tensor_of(group.source).file
    if isinstance(group.source, Matrix) and group.source.scale is not None:
        yield group.source.scale.file


def whole_shards(job: Job, workers: Workers, found: Noted) -> Iterator[tuple[int, Entry]]:
    """Yield the shards that are as they were left."""
    for number, sha256 in workers.each(_hash, job, found.shards):
        entry, is_newer = found.shards[number]
        if sha256 != entry["sha256"]:
            continue
        if is_newer:
            ((_, source),) = source_checksums_of(job, workers, [number])
            if source != entry["source"]:
                continue
        yield number, entry


def right_pieces(job: Job, workers: Workers, found: Noted, but: Iterable[int]) -> Iterator[Made]:
    """Yield the pieces that are as they were left, of other shards than those."""
    left_out = {*but}
    looks = (
        Look(made, is_newer)
        for made, is_newer in found.pieces.values()
        if made.piece.shard not in left_out and job.part(made.piece.shard).exists()
    )
    tasks = together(looks, lambda look: look.made.piece.source_bytes, workers.together_bytes)
    for some, are_right in workers.each(_look, job, tasks):
        yield from (look.made for look, is_right in zip(some, are_right, strict=True) if is_right)


# ---- Tasks.


def _checksums(job: Job, pieces: list[Piece]) -> list[str]:
    return [checksum_of_source(job, piece) for piece in pieces]


def _hash(job: Job, shard: int) -> str:
    """Return the SHA-256 of a shard that has its name; none if it cannot be read."""
    try:
        return sha256_of(job.work.parent / job.plan.shards[shard].name)
    except OSError:
        return ""


def _look(job: Job, looks: list[Look]) -> list[bool]:
    return [_is_right(job, look) for look in looks]


def _is_right(job: Job, look: Look) -> bool:
    made = look.made
    try:
        if checksum_in(job, made.piece, job.part(made.piece.shard)) != made.written:
            return False
    except OSError:
        return False
    return not look.is_source_too or checksum_of_source(job, made.piece) == made.source
