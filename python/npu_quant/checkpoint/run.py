"""Carrying out a plan: what a former run finished is taken over, the rest is made by a pool."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from .folder import CheckpointError
from .job import Job, Made, Piece, make, pieces_of, prepare, together
from .plan import CODES
from .pool import Pool
from .reports import Layer
from .weights import Error
from .work import Work, sha256_of, sync

Progress = Callable[[int, int], None]


class Whole(NamedTuple):
    """A task that is all of a shard."""

    shard: int
    nonce: Path
    """A file that is there as long as the run."""


class Done(NamedTuple):
    """What became of a task."""

    shard: int
    made: list[Made]
    part: Path | None = None
    """The file that is the whole shard, on the disk."""
    sha256: str = ""


class Run:
    """One run of a job; what it found is in its attributes."""

    def __init__(self, job: Job, work: Work, progress: Progress | None) -> None:
        self._job, self._work = job, work
        self._progress = progress or (lambda done, total: None)
        self._total = sum(p.source_bytes for s in self._all() for p in pieces_of(job.plan, s))
        self._done = 0
        self._left: dict[int, int] = {}
        self._errors: dict[tuple[int, int], Error] = {}
        self._pending: deque[Future[Done]] = deque()
        self._seals: deque[tuple[int, Future[str], Future[None]]] = deque()
        self.entries: dict[str, dict[str, Any]] = {}
        """Of each shard that is whole: the line of the journal."""
        self.resumed = 0

    def _all(self) -> range:
        return range(len(self._job.plan.shards))

    def take_over(self, pool: Pool) -> None:
        """Take over the shards that a former run finished and that are as it left them."""
        numbers = {shard.name: n for n, shard in enumerate(self._job.plan.shards)}
        entries = [entry for entry in self._work.journal() if entry["shard"] in numbers]
        digests = pool.each(_hash_taken, [entry["shard"] for entry in entries])
        for entry, (name, sha256) in zip(entries, digests, strict=True):
            if sha256 == entry["sha256"] and name not in self.entries:
                self.entries[name] = entry
                pieces = pieces_of(self._job.plan, numbers[name])
                self._advance(sum(p.source_bytes for p in pieces))
        self.resumed = len(self.entries)

    def make(self, pool: Pool) -> None:
        """Make all shards that are not there yet."""
        for shard in self._all():
            if self._job.plan.shards[shard].name in self.entries:
                continue
            for work, task in self._tasks(pool, shard):
                self._pending.append(pool.submit(work, task))
                while len(self._pending) >= pool.ahead:
                    self._take(pool)
                    self._finish_sealed(pool)
        while self._pending:
            self._take(pool)
        while self._seals:
            self._finish_oldest(pool)

    def _tasks(self, pool: Pool, shard: int) -> Iterator[tuple[Callable[..., Done], Any]]:
        """Yield the tasks of a shard: some pieces each, or all of it as one."""
        if pool.takes_shards:
            yield _whole, Whole(shard, self._work.nonce)
            return
        tasks = [*together(pieces_of(self._job.plan, shard), lambda piece: piece.source_bytes)]
        prepare(self._job, shard, self._job.part(shard))
        self._left[shard] = len(tasks)
        self._seal_if_made(pool, shard)
        for pieces in tasks:
            yield _make, pieces

    def _take(self, pool: Pool) -> None:
        """Wait for a task."""
        done = pool.result(pool.next(self._pending))
        for made in done.made:
            if made.error is not None:
                key = made.piece.shard, made.piece.group
                self._errors.setdefault(key, Error()).add(made.error)
            self._advance(made.piece.source_bytes)
        if done.part is not None:
            self._finish(done.shard, done.part, done.sha256)
            return
        self._left[done.shard] -= 1
        self._seal_if_made(pool, done.shard)

    def _seal_if_made(self, pool: Pool, shard: int) -> None:
        if self._left[shard] == 0:
            part = self._job.part(shard)
            self._seals.append((shard, pool.submit(digest, part), pool.submit(_sync, part)))

    def _finish_sealed(self, pool: Pool) -> None:
        """Finish the shards that need not be waited for: others are made meanwhile."""
        while self._seals and all(future.done() for future in self._seals[0][1:]):
            self._finish_oldest(pool)

    def _finish_oldest(self, pool: Pool) -> None:
        """Wait for the oldest shard that is all made."""
        shard, hashed, synced = self._seals.popleft()
        sha256 = pool.result(hashed)
        pool.result(synced)
        self._finish(shard, self._job.part(shard), sha256)

    def _finish(self, shard: int, part: Path, sha256: str) -> None:
        """Give a shard its name."""
        planned = self._job.plan.shards[shard]
        layers = [
            asdict(self._layer(shard, number))
            for number, group in enumerate(planned.groups)
            if group.how == CODES
        ]
        entry = {"shard": planned.name, "bytes": planned.size, "sha256": sha256, "layers": layers}
        self._work.finish_shard(part, entry)
        self.entries[planned.name] = entry

    def _layer(self, shard: int, number: int) -> Layer:
        group = self._job.plan.shards[shard].groups[number]
        error = self._errors[shard, number]
        source: Any = group.source
        shape, greatest = source.shape, error.greatest
        return Layer(source.module, group.type, shape, error.zero_rows, error.sqnr_db, greatest)

    def _advance(self, count: int) -> None:
        self._done += count
        self._progress(self._done, self._total)


def _make(job: Job, pieces: list[Piece]) -> Done:
    """Make some pieces of a shard."""
    shard = pieces[0].shard
    return Done(shard, [make(job, piece, job.part(shard)) for piece in pieces])


def _hash_taken(job: Job, name: str) -> str:
    """Return the SHA-256 of a shard that has its name; none if it cannot be read."""
    try:
        return sha256_of(job.work.parent / name)
    except OSError:
        return ""


def digest(_: Job, path: Path) -> str:
    """Return the SHA-256 of a file, as a task."""
    return sha256_of(path)


def _sync(_: Job, path: Path) -> None:
    sync(path)


def _whole(job: Job, task: Whole) -> Done:
    """Make a shard in a file of its own: another worker may do so, too, if this one seems lost."""
    part = job.work / f"{job.plan.shards[task.shard].name}.{uuid4().hex}.part"
    made = []
    try:
        prepare(job, task.shard, part)
        for piece in pieces_of(job.plan, task.shard):
            _check_goes_on(task.nonce)
            made.append(make(job, piece, part))
        sha256 = sha256_of(part)
        sync(part)
        _check_goes_on(task.nonce)
        return Done(task.shard, made, part, sha256)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _check_goes_on(nonce: Path) -> None:
    """Raise CheckpointError if the run that this is for has ended."""
    try:
        os.stat(nonce)
    except FileNotFoundError as error:
        raise CheckpointError("the run was interrupted.") from error
