"""Carrying out a plan: what a former run finished is taken over, the rest is made."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from .._kinds import Progress
from .folder import CheckpointError
from .keep import OutFolder, part_of
from .making import Job, Made, Piece, make, prepare
from .matrices import Matrix
from .place import Place
from .record import Sources
from .resuming import Whole, line_of, right_pieces, sha256_in, source_of
from .weights import Error
from .workers import Threads, Workers, together

SYNC_SECONDS = 5.0
"""How much of the work a power failure may take; of that a killed process did, nothing is lost."""


def counted(job: Job, progress: Progress | None) -> Callable[[int], None]:
    """Return what is told of bytes of the source as they are done, and tells progress of all."""
    done, total = 0, job.source_bytes

    def tell(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    return tell


class Batch(NamedTuple):
    """Pieces of a shard that one task makes."""

    shard: int
    pieces: list[Piece]


class Sealed(NamedTuple):
    """A file that is a whole shard, on the disk."""

    part: str
    """Its name there."""
    sha256: str


class Done(NamedTuple):
    """What became of a task."""

    made: list[Made]
    sealed: Sealed | None = None


class Run:
    """One run of a job; what it found is in its attributes."""

    def __init__(
        self, job: Job, out: OutFolder, sources: Sources, progress: Progress | None
    ) -> None:
        self.job, self.out = job, out
        self.modified = sources.modified
        self._sizes = {name: file["bytes"] for name, file in sources.files.items()}
        self._tell = counted(job, progress)
        self.kept = 0
        """Bytes of the source whose results a next run takes over."""
        self._made: list[dict[Piece, Made]] = [{} for _ in self.job.pieces]
        self._lock = threading.Lock()
        self._left: dict[int, int] = {}
        self._synced = time.monotonic()
        self._sealed: dict[int, Sealed] = {}
        self.whole: dict[int, Whole] = {}
        self.resumed = 0
        """Shards that were there."""
        self.resumed_bytes = 0
        """Bytes of the source that need not be read again, for shards and pieces of them."""

    def take_over(self, workers: Workers) -> None:
        """Take over what a former run made and what is as it left it."""
        named = [n for n, s in enumerate(self.job.plan.shards) if self.out.take_back(s.name)]
        for made in right_pieces(self.job, self.out, workers, self.modified):
            self._made[made.piece.shard][made.piece] = made
            if isinstance(workers, Threads):
                self._advance(made.piece.source_bytes)
        whole = [shard for shard in named if self._is_made(shard)]
        self.resumed = len(whole)
        if not isinstance(workers, Threads):
            self._leave_out_parts()
        self._finish_again(whole)
        self.resumed_bytes = self.kept
        self.out.note({"modified": self.modified})

    def _finish_again(self, whole: list[int]) -> None:
        """Finish shards all of whose pieces are as they were, by the SHA-256 that they had.

        A shard that is read by the checksums of its pieces need not be hashed once more: that takes
        thirty times as long. What these may miss is found when all files are read back, as
        SHA256SUMS has the SHA-256 of what was written, not of what is there now.
        """
        noted = sha256_in(self.out)
        for shard in whole:
            if (sha256 := noted.get(self.job.plan.shards[shard].name)) is not None:
                part = self.job.part(shard)
                prepare(self.job, shard, part)
                self.out.unfinished.sync(part)
                self._finish(shard, part, sha256)

    def _is_made(self, shard: int) -> bool:
        return len(self._made[shard]) == len(self.job.pieces[shard])

    def _leave_out_parts(self) -> None:
        """Go on with shards alone that are all made: who makes another makes all of it."""
        for shard, pieces in enumerate(self.job.pieces):
            if self._is_made(shard):
                self._advance(sum(piece.source_bytes for piece in pieces))
            else:
                self._made[shard] = {}
                self.out.unfinished.remove(self.job.part(shard))

    def make(self, workers: Workers) -> None:
        """Make all that is not there yet."""
        if isinstance(workers, Threads):
            for task, done in workers.each(_make, self, self._tasks(workers.together_bytes)):
                self._take(task.shard, done)
            return
        unfinished = [n for n in range(len(self.job.pieces)) if n not in self.whole]
        there = [*filter(self._is_made, unfinished)]
        left = [shard for shard in unfinished if shard not in there]
        for shard in there:
            prepare(self.job, shard, self.job.part(shard))
        for shard, done in workers.each(seal, self.job, there):
            self._take(shard, done)
        for shard, done in workers.each(make_whole, (self.job, self.out.nonce, self._sizes), left):
            self._take(shard, done)

    def _tasks(self, together_bytes: int) -> Iterator[Batch]:
        for shard, there in enumerate(self._made):
            if shard in self.whole:
                continue
            pieces = [piece for piece in self.job.pieces[shard] if piece not in there]
            # One at least: who does the last of them seals the shard.
            tasks = [*together(pieces, lambda piece: piece.source_bytes, together_bytes)] or [[]]
            prepare(self.job, shard, self.job.part(shard))
            self._left[shard] = len(tasks)
            for some in tasks:
                yield Batch(shard, some)

    def is_last(self, shard: int) -> bool:
        """Note that a task of a shard is done, and say whether it was the last."""
        with self._lock:
            self._left[shard] -= 1
            return self._left[shard] == 0

    def sync_at_times(self) -> None:
        """Bring what is made to the disk every few seconds, for a power failure's sake."""
        with self._lock:
            now = time.monotonic()
            if now <= self._synced + SYNC_SECONDS:
                return
            self._synced = now
            shards = [shard for shard, left in self._left.items() if left]
        for shard in shards:
            with contextlib.suppress(FileNotFoundError):  # it has its name, and is on the disk
                self.out.unfinished.sync(self.job.part(shard))
        self.out.sync_journal()

    def _take(self, shard: int, done: Done) -> None:
        """Take in what a task made, and give the shard its name if that was all of it."""
        name = self.job.plan.shards[shard].name
        self.out.note(line_of(name, done.made))
        self._made[shard].update((made.piece, made) for made in done.made)
        for made in done.made:
            self._advance(made.piece.source_bytes)
        if done.sealed is not None:
            self._sealed[shard] = done.sealed
        if shard in self._sealed and self._is_made(shard):
            part, sha256 = self._sealed[shard]
            self.out.note({"sealed": name, "sha256": sha256})
            self._finish(shard, part, sha256)

    def _finish(self, shard: int, part: str, sha256: str) -> None:
        self.out.finish_shard(part, self.job.plan.shards[shard].name)
        self.whole[shard] = self._whole(shard, sha256)

    def _whole(self, shard: int, sha256: str) -> Whole:
        made = [self._made[shard][piece] for piece in self.job.pieces[shard]]
        errors: dict[str, Error] = {}
        for m in made:
            source = self.job.plan.shards[shard].groups[m.piece.group].source
            if m.error is not None and isinstance(source, Matrix):
                errors.setdefault(source.module, Error()).add(m.error)
        return Whole(sha256, source_of(m.source for m in made), errors)

    def _advance(self, count: int) -> None:
        self.kept += count
        self._tell(count)


def _make(run: Run, task: Batch) -> Done:
    """Make some pieces of a shard; the last that is made has all of it on the disk."""
    made = [make(run.job, piece, run.job.part(task.shard)) for piece in task.pieces]
    if run.is_last(task.shard):
        return Done(made, sealed(run.out.unfinished, run.job.part(task.shard)))
    run.sync_at_times()
    return Done(made)


def seal(job: Job, shard: int) -> Done:
    """Have a shard whose pieces are all made on the disk."""
    return Done([], sealed(job.unfinished, job.part(shard)))


def sealed(folder: Place, part: str) -> Sealed:
    """Have a whole shard on the disk."""
    sha256 = folder.sha256(part)
    folder.sync(part)
    return Sealed(part, sha256)


def make_whole(shared: tuple[Job, Path, Mapping[str, int]], shard: int) -> Done:
    """Make a shard in a file of its own: another worker may do so, too, if this one seems lost.

    Args:
        shared: the job, a file that is there as long as the run, and the sizes of the source's.
        shard: its number.
    """
    job, nonce, sizes = shared
    for name, size in sizes.items():
        if (found := (job.source / name).stat().st_size) != size:
            text = f"a worker sees another {job.source / name}, of {found} bytes instead of {size}."
            raise CheckpointError(text)
    part = part_of(f"{job.plan.shards[shard].name}.{uuid4().hex}")
    made = []
    try:
        prepare(job, shard, part)
        for piece in job.pieces[shard]:
            _check_goes_on(nonce)
            made.append(make(job, piece, part))
        done = Done(made, sealed(job.unfinished, part))
        _check_goes_on(nonce)
        return done
    except BaseException:
        job.unfinished.remove(part)
        raise


def _check_goes_on(nonce: Path) -> None:
    """Raise CheckpointError if the run that this is for has ended."""
    try:
        os.stat(nonce)
    except FileNotFoundError as error:
        raise CheckpointError("the run was interrupted.") from error
