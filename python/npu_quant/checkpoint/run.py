"""Carrying out a plan: what a former run finished is taken over, the rest is made by a pool."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from .._kinds import Progress
from .folder import CheckpointError
from .job import Job, Made, Piece, make, pieces_of, prepare, together
from .kept import Entry, line_of, noted, right_pieces, source_of, whole_shards
from .matrices import Matrix
from .pool import Pool
from .weights import Error
from .work import Work, sha256_of, sync

SYNC_SECONDS = 5.0
"""How much of the work a power failure may take; of that a killed process did, nothing is lost."""


def counted(job: Job, progress: Progress | None) -> Callable[[int], None]:
    """Return what is told of bytes of the source as they are done, and tells progress of all."""
    done, total = 0, source_bytes(job)

    def tell(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    return tell


def source_bytes(job: Job) -> int:
    """Return how many bytes of the source are read for all shards."""
    shards = range(len(job.plan.shards))
    return sum(p.source_bytes for shard in shards for p in pieces_of(job.plan, shard))


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

    def __init__(
        self, job: Job, work: Work, modified: dict[str, int], progress: Progress | None
    ) -> None:
        self.job, self.modified, self._work = job, modified, work
        self._tell = counted(job, progress)
        self.total = source_bytes(job)
        self.kept = 0
        """Bytes of the source whose results a next run takes over."""
        self._left: dict[int, int] = {}
        self._made: dict[int, dict[Piece, Made]] = {n: {} for n in self._all()}
        self._pending: deque[Future[Done]] = deque()
        self._seals: deque[tuple[int, Future[str], Future[None]]] = deque()
        self._syncs: list[Future[None]] = []
        self._synced = time.monotonic()
        self.entries: dict[int, Entry] = {}
        """Of each shard that is whole: the line of the journal."""
        self.resumed = 0
        """Shards that were there."""
        self.resumed_bytes = 0
        """Bytes of the source that need not be read again, for shards and pieces of them."""

    def _all(self) -> range:
        return range(len(self.job.plan.shards))

    def take_over(self, pool: Pool) -> None:
        """Take over what a former run finished and what is as it left it."""
        found = noted(self.job, self._work, self.modified)
        for number, entry in whole_shards(self.job, pool, found):
            self.entries[number] = entry
            self._advance(sum(p.source_bytes for p in pieces_of(self.job.plan, number)))
        self.resumed = len(self.entries)
        if pool.takes_shards:
            for number in self._all():
                self.job.part(number).unlink(missing_ok=True)
        else:
            for made in right_pieces(self.job, pool, found, self.entries):
                self._made[made.piece.shard][made.piece] = made
                self._advance(made.piece.source_bytes)
        self.resumed_bytes = self.kept
        self._work.note({"modified": self.modified})

    def make(self, pool: Pool) -> None:
        """Make all that is not there yet."""
        for shard in self._all():
            if shard in self.entries:
                continue
            for work, task in self._tasks(pool, shard):
                self._pending.append(pool.submit(work, task))
                while len(self._pending) >= pool.ahead:
                    self._take(pool)
                    self._finish_sealed(pool)
                    self._sync_at_times(pool)
        while self._pending:
            self._take(pool)
        while self._seals:
            self._finish_oldest(pool)

    def _tasks(self, pool: Pool, shard: int) -> Iterator[tuple[Callable[..., Done], Any]]:
        """Yield the tasks of a shard: some pieces each, or all of it as one."""
        if pool.takes_shards:
            yield _whole, Whole(shard, self._work.nonce)
            return
        left = [p for p in pieces_of(self.job.plan, shard) if p not in self._made[shard]]
        tasks = [*together(left, lambda piece: piece.source_bytes)]
        prepare(self.job, shard, self.job.part(shard))
        self._left[shard] = len(tasks)
        self._seal_if_made(pool, shard)
        for pieces in tasks:
            yield _make, pieces

    def _take(self, pool: Pool) -> None:
        """Wait for a task."""
        done = pool.result(pool.next(self._pending))
        self._made[done.shard].update((made.piece, made) for made in done.made)
        if done.part is not None:
            self._finish(done.shard, done.part, done.sha256)
        else:
            self._work.note(line_of(self.job.plan.shards[done.shard].name, done.made))
            self._left[done.shard] -= 1
            self._seal_if_made(pool, done.shard)
        for made in done.made:
            self._advance(made.piece.source_bytes)

    def _seal_if_made(self, pool: Pool, shard: int) -> None:
        if self._left[shard] == 0:
            part = self.job.part(shard)
            self._seals.append((shard, pool.submit(digest, part), pool.submit(_sync, part)))

    def _sync_at_times(self, pool: Pool) -> None:
        """Have what is made brought to the disk every few seconds, for a power failure's sake."""
        if self._syncs:
            if all(future.done() for future in self._syncs):
                for future in self._syncs:
                    pool.result(future)
                self._work.sync_journal()
                self._syncs, self._synced = [], time.monotonic()
        elif time.monotonic() > self._synced + SYNC_SECONDS:
            parts = [self.job.part(shard) for shard, left in self._left.items() if left]
            self._syncs = [pool.submit(_sync_part, part) for part in parts]

    def _finish_sealed(self, pool: Pool) -> None:
        """Finish the shards that need not be waited for: others are made meanwhile."""
        while self._seals and all(future.done() for future in self._seals[0][1:]):
            self._finish_oldest(pool)

    def _finish_oldest(self, pool: Pool) -> None:
        """Wait for the oldest shard that is all made."""
        shard, hashed, synced = self._seals.popleft()
        sha256 = pool.result(hashed)
        pool.result(synced)
        self._finish(shard, self.job.part(shard), sha256)

    def _finish(self, shard: int, part: Path, sha256: str) -> None:
        """Give a shard its name."""
        planned, of_pieces = self.job.plan.shards[shard], self._made.pop(shard)
        made = [of_pieces[piece] for piece in pieces_of(self.job.plan, shard)]
        errors: dict[str, Error] = {}
        for m in made:
            source = planned.groups[m.piece.group].source
            if m.error is not None and isinstance(source, Matrix):
                errors.setdefault(source.module, Error()).add(m.error)
        entry = {
            "shard": planned.name,
            "bytes": planned.size,
            "sha256": sha256,
            "source": source_of(m.source for m in made),
            "errors": {module: error.sums.tolist() for module, error in errors.items()},
        }
        self._work.finish_shard(part, entry)
        self.entries[shard] = entry

    def _advance(self, count: int) -> None:
        self.kept += count
        self._tell(count)


def _make(job: Job, pieces: list[Piece]) -> Done:
    """Make some pieces of a shard."""
    shard = pieces[0].shard
    return Done(shard, [make(job, piece, job.part(shard)) for piece in pieces])


def digest(_: Job, path: Path) -> str:
    """Return the SHA-256 of a file, as a task."""
    return sha256_of(path)


def _sync(_: Job, path: Path) -> None:
    sync(path)


def _sync_part(_: Job, path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # it has its name, and is on the disk
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
