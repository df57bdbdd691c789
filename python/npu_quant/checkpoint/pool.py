"""Tasks, and who does them: this process, others of this machine, or Dask's (`pool_dask`)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import current_process, get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from .._runtime import set_num_threads
from .folder import CheckpointError
from .matrices import close_files

T = TypeVar("T")
R = TypeVar("R")

_shared: Any = None
_PR_SET_PDEATHSIG = 1
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT = 32 << 20
"""Bytes that a worker's malloc does not give back: pages that come anew are zeroed first."""
_KILLED = (
    "a worker process was killed, perhaps for want of memory: the same command goes on from here, "
    "--workers 1 takes less."
)


def cpu_count() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0))


class Place(NamedTuple):
    """A folder that all who do tasks must see, and the sizes of files in it."""

    folder: Path
    sizes: dict[str, int]

    @classmethod
    def of(cls, folder: Path, names: Iterable[str]) -> Place:
        """Return a folder with these files as they are."""
        return cls(folder, {name: (folder / name).stat().st_size for name in sorted({*names})})


class Workers:
    """Who does tasks: processes of this machine. A context manager."""

    def __init__(self, count: int) -> None:
        self._count = count

    def pool(self, shared: Any, places: Sequence[Place]) -> Pool:
        """Return what does tasks.

        Args:
            shared: what all tasks get.
            places: the folders that tasks read and write.
        """
        return Pool(self._count, shared)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def workers_of(count: int | None, scheduler: str | None) -> Workers:
    """Return who does tasks: so many processes, or as many as CPUs; or the workers of a scheduler.

    Raises:
        CheckpointError: the number is none, or Dask is not installed.
    """
    if count is not None and count < 1:
        raise CheckpointError(f"workers is {count}, expected 1 or more.")
    if scheduler is None:
        return Workers(count or cpu_count())
    from .pool_dask import Cluster

    return Cluster(scheduler, count)


class Pool:
    """Processes that do tasks; with one worker it is this process. A context manager."""

    takes_shards = False
    """Whether a task is to be all of an output shard, and not a piece: no file has two writers."""

    def __init__(self, workers: int, shared: Any) -> None:
        if current_process().daemon:  # such as multiprocessing.Pool's, which may have no children
            workers = 1
        self.shared, self._pool = shared, None
        self.ahead = 3 * workers if workers > 1 else 1
        """How many tasks to hand out before the first is waited for."""
        self.window = self.ahead
        """The same of `each`."""
        if workers > 1:
            # Forked, so that scripts need no guard of __main__.
            context = get_context("fork")
            self._pool = ProcessPoolExecutor(workers, context, _begin, (shared,))

    def submit(self, work: Callable[[Any, T], R], task: T) -> Future[R]:
        """Have a function of a module called with what all tasks share, and a task.

        Raises:
            CheckpointError: a worker cannot be started, or was killed.
        """
        if self._pool is not None:
            return self._submit(self._pool, work, task)
        done: Future[R] = Future()
        done.set_result(work(self.shared, task))
        return done

    @staticmethod
    def _submit(pool: ProcessPoolExecutor, work: Callable[[Any, T], R], task: T) -> Future[R]:
        try:
            with uninterrupted():
                return pool.submit(_run, work, task)
        except BrokenProcessPool as error:
            raise CheckpointError(_KILLED) from error
        except OSError as error:
            raise CheckpointError(
                f"no more than {len(pool._processes)} worker processes can be started "
                f"({error.strerror}): use fewer --workers."
            ) from error

    def each(self, work: Callable[[Any, T], R], tasks: Iterable[T]) -> Iterator[tuple[T, R]]:
        """Yield each task and what it gave, in order; a few are under way at a time."""
        pending: deque[tuple[T, Future[R]]] = deque()
        for task in tasks:
            pending.append((task, self.submit(work, task)))
            while len(pending) >= self.window:
                first, future = pending.popleft()
                yield first, self.result(future)
        for task, future in pending:
            yield task, self.result(future)

    def next(self, pending: deque[Future[R]]) -> Future[R]:
        """Take the task to wait for out of those under way: the oldest."""
        return pending.popleft()

    def result(self, future: Future[R]) -> R:
        """Return what a task gave.

        Raises:
            CheckpointError: a worker was killed.
        """
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise CheckpointError(_KILLED) from error

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None:
            with uninterrupted():
                for process in list(self._pool._processes.values()) if error else []:
                    process.kill()
                self._pool.shutdown(cancel_futures=True)
        close_files()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C until processes are all started, or all ended."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda *a: came.append(a))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])


def _begin(shared: Any) -> None:
    global _shared
    _shared = shared
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a parent that is killed cannot
    if hasattr(libc, "mallopt"):  # glibc
        libc.mallopt(_M_MMAP_THRESHOLD, _KEPT)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent that gives up
    set_num_threads(1)


def _run(work: Callable[[Any, T], R], task: T) -> R:
    return work(_shared, task)
