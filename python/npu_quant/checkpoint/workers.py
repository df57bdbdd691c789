"""Who does tasks: threads of this process, or the workers of a Dask scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeVar

from .._runtime import __version__
from . import matrices
from .folder import CheckpointError

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

CONNECT_SECONDS = 5.0
"""That a scheduler has to answer."""
JOIN_SECONDS = 60.0
"""That there may be no worker at first: they are started beside the command."""


class Threads:
    """Threads of this process. A context manager."""

    def __init__(self, count: int) -> None:
        self._executor = ThreadPoolExecutor(count, "npu-quant")
        self._ahead = 3 * count
        self.together_bytes = matrices.PIECE_BYTES // 4
        """Of small tasks that are handed out as one: to hand one out takes longer than to do it."""

    def each(
        self, work: Callable[[S, T], R], shared: S, tasks: Iterable[T]
    ) -> Iterator[tuple[T, R]]:
        """Yield each task and what it gave, in the order in which they are done.

        Args:
            work: a function of a module, called with what tasks share, and with a task.
            shared: what tasks share.
            tasks: taken a few at a time.
        """
        left = iter(tasks)
        under_way: dict[Future[R], T] = {}
        while True:
            for task in islice(left, self._ahead - len(under_way)):
                under_way[self._executor.submit(work, shared, task)] = task
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                yield under_way.pop(future), future.result()

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)


class Cluster:
    """The workers of a Dask scheduler, which see the folders that this process sees.

    Dask hands the tasks of a worker that is lost to others. A context manager.
    """

    def __init__(self, address: str, most: int | None) -> None:
        try:
            self._dask = importlib.import_module("distributed")
        except ModuleNotFoundError as error:
            raise CheckpointError(
                "a scheduler needs Dask, which is not installed: pip install npu_quant[dask]."
            ) from error
        self._address, self._most = address, most
        self.together_bytes = 16 * matrices.PIECE_BYTES
        self._ends = contextlib.ExitStack()
        self._client: Any = None

    def __enter__(self) -> Cluster:
        with contextlib.ExitStack() as ends:
            ends.enter_context(_quiet())
            self._client = self._connected()
            ends.callback(self._client.close)
            self._check_versions()
            self._ends = ends.pop_all()
        return self

    def _connected(self) -> Any:
        try:
            # In a thread, since this one may have a loop that runs. A client of what is no
            # scheduler would wait for ever.
            with ThreadPoolExecutor(1) as thread:
                said = thread.submit(asyncio.run, self._identity()).result()
            if said.get("type") != "Scheduler":
                raise ValueError(f"a {said.get('type')}")
            return self._dask.Client(
                self._address, timeout=2 * CONNECT_SECONDS, set_as_default=False, name="npu-quant"
            )
        except Exception as error:  # of sockets, addresses, certificates, other protocols
            raise CheckpointError(
                f"no scheduler at {self._address}: start one with dask scheduler, which says its "
                "address, such as tcp://host:8786."
            ) from error

    async def _identity(self) -> dict[str, Any]:
        security = self._dask.Security().get_connection_args("client")
        rpc = self._dask.rpc(self._address, timeout=CONNECT_SECONDS, connection_args=security)
        async with rpc as scheduler:
            return dict(await asyncio.wait_for(scheduler.identity(), CONNECT_SECONDS))

    def _check_versions(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=JOIN_SECONDS)
        except TimeoutError as error:
            raise CheckpointError(
                f"the scheduler at {self._address} has no workers: start some with dask worker "
                f"{self._address}."
            ) from error
        # This imports both on the workers: two threads of one that import a package together, as
        # they would for their first tasks, may find half of it.
        packages = ["npu_quant", "npu_quant.checkpoint"]
        found = self._client.get_versions(packages=packages)["workers"]
        for worker in sorted(found):
            _check_version(worker, found[worker]["packages"].get("npu_quant"))

    def each(
        self, work: Callable[[S, T], R], shared: S, tasks: Iterable[T]
    ) -> Iterator[tuple[T, R]]:
        """Yield each task and what it gave, in the order in which they are done.

        Args:
            work: a function of a module, called with what tasks share, and with a task.
            shared: what tasks share.
            tasks: no more than so many are under way at a time, if there is a limit.

        Raises:
            CheckpointError: the scheduler or too many workers were lost, or one is unfit.
        """
        # A task that any worker can do again, should the one that has it be lost.
        there = self._client.submit(pickle.loads, pickle.dumps(shared), pure=False)
        task_of: dict[Any, T] = {}

        def submitted(task: T) -> Any:
            future = self._client.submit(_do, __version__, work, there, task, pure=False)
            task_of[future.key] = task
            return future

        left = iter(tasks)
        first = [*map(submitted, islice(left, self._most))]
        running = self._dask.as_completed(first, loop=self._client.loop)
        for future in running:
            yield task_of.pop(future.key), self._result(future)
            running.update(map(submitted, islice(left, 1)))

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except CancelledError as error:
            text = f"the scheduler at {self._address} was lost: the same command goes on from here."
            raise CheckpointError(text) from error
        except self._dask.KilledWorker as error:
            raise CheckpointError(
                f"the workers that did a task were lost, the last {error.last_worker.address}, "
                "perhaps for lack of memory: its log says why, and the same command goes on from "
                "here."
            ) from error

    def __exit__(self, *_: object) -> None:
        self._ends.close()


def _do(version: str, work: Callable[[S, T], R], shared: S, task: T) -> R:
    """Do a task on a worker, which may have joined late."""
    worker = importlib.import_module("distributed").get_worker().address
    _check_version(worker, __version__, version)
    try:
        return work(shared, task)
    except FileNotFoundError as error:
        text = f"worker {worker} does not see {error.filename}: a shared filesystem is needed."
        raise CheckpointError(text) from error


def _check_version(worker: str, found: str | None, wanted: str = __version__) -> None:
    if found != wanted:
        has = f"has npu_quant {found}" if found else "lacks npu_quant"
        raise CheckpointError(f"worker {worker} {has}: install npu_quant {wanted} there, as here.")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from telling in tracebacks what is told in a line here."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


Workers = Threads | Cluster


def each_of_many(
    workers: Workers,
    work: Callable[[S, T], R],
    shared: S,
    tasks: Iterable[T],
    size_of: Callable[[T], int],
) -> Iterator[tuple[T, R]]:
    """Yield each task and what it gave, of tasks that may be small: some are handed out as one."""
    some = together(tasks, size_of, workers.together_bytes)
    for done, gave in workers.each(_do_all, (work, shared), some):
        yield from zip(done, gave, strict=True)


def _do_all(shared: tuple[Callable[[S, T], R], S], tasks: list[T]) -> list[R]:
    work, own = shared
    return [work(own, task) for task in tasks]


def together(tasks: Iterable[T], size_of: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Yield tasks in lists of up to so many bytes, or of one task that has more."""
    some: list[T] = []
    size = 0
    for task in tasks:
        if some and size + size_of(task) > most:
            yield some
            some, size = [], 0
        some.append(task)
        size += size_of(task)
    if some:
        yield some


def workers_of(count: int | None, scheduler: str | None) -> Workers:
    """Return who does tasks: so many threads, or as many as CPUs; or the workers of a scheduler.

    Raises:
        CheckpointError: the number is none, or Dask is not installed.
    """
    if count is not None and count < 1:
        raise CheckpointError(f"workers is {count}, expected 1 or more.")
    if scheduler is not None:
        return Cluster(scheduler, count)
    return Threads(count or len(os.sched_getaffinity(0)))
