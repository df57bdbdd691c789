"""Tasks on the workers of a Dask scheduler, which see the folders that this process sees.

Each worker is met before it does a task, also one that comes late: it shows that it sees the
folders, and gets what all tasks share. Tasks depend on nothing, so that Dask may put them anywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.metadata
import logging
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar
from uuid import uuid4

from .._runtime import __version__, get_num_threads, set_num_threads
from .._text import clean
from .folder import CheckpointError
from .matrices import close_files
from .pool import Place, Pool, Workers, uninterrupted

T = TypeVar("T")
R = TypeVar("R")

CONNECT = 5.0
"""Seconds that a scheduler has to answer."""
GRACE = 60.0
"""Seconds that there may be no worker: one that was killed is started again, others come late."""
_LOOK = 2.0
_WINDOW = 1000
"""Small tasks under way, whose results are taken in order: no worker is to wait for the slowest."""


class Cluster(Workers):
    """The workers of a scheduler."""

    def __init__(self, address: str, most: int | None) -> None:
        self._distributed = _distributed()
        self._address, self._most = address, most
        self._client: Any = None
        self._ends = contextlib.ExitStack()

    def __enter__(self) -> Cluster:
        with contextlib.ExitStack() as ends:
            ends.enter_context(_quiet())
            self._client = self._connected()
            ends.callback(self._client.close)
            self._ends = ends.pop_all()
        return self

    def _connected(self) -> Any:
        try:
            # In a thread, since this one may have a loop that runs. A client that finds nobody
            # would complain in tracebacks.
            with ThreadPoolExecutor(1) as thread:
                said = thread.submit(asyncio.run, self._identity()).result()
            if said.get("type") != "Scheduler":
                raise ValueError(f"a {said.get('type')}")
            return self._distributed.Client(
                self._address, timeout=2 * CONNECT, set_as_default=False, name="npu-quant"
            )
        except Exception as error:  # of sockets, addresses, certificates, other protocols
            raise CheckpointError(
                f"no scheduler at {self._address}: start one with dask scheduler, which says its "
                "address, such as tcp://host:8786."
            ) from error

    async def _identity(self) -> dict[str, Any]:
        security = self._distributed.Security().get_connection_args("client")
        rpc = self._distributed.rpc(self._address, timeout=CONNECT, connection_args=security)
        async with rpc as scheduler:
            return dict(await asyncio.wait_for(scheduler.identity(), CONNECT))

    def pool(self, shared: Any, places: Sequence[Place]) -> Pool:
        """Return what does tasks.

        Raises:
            CheckpointError: a worker does not see the folders, or has not this version.
        """
        return DaskPool(self._client, self._address, shared, places, self._most)

    def __exit__(self, *_: object) -> None:
        with uninterrupted():
            self._ends.close()


class DaskPool(Pool):
    """Tasks on a client's workers."""

    takes_shards = True

    def __init__(
        self, client: Any, address: str, shared: Any, places: Sequence[Place], most: int | None
    ) -> None:
        super().__init__(1, shared)
        self._most, self.window = most, most or _WINDOW
        self._client, self._address = client, address
        self._greeting = uuid4().hex, pickle.dumps(shared), places
        self._met: set[str] = set()
        self._last = self._looked = time.monotonic()
        self._look_after()
        self._executor = client.get_executor(pure=False)

    def submit(self, work: Callable[[Any, T], R], task: T) -> Future[R]:
        """Have a function of a module called with what all tasks share, and a task."""
        # How long tasks take, Dask learns by the beginning of their names.
        key = f"npu-quant{work.__name__}-{uuid4().hex}"
        data = pickle.dumps(_Call(self._greeting[0], work, task))
        future: Future[R] = self._executor.submit(pickle.loads, data, key=key)
        return future

    def next(self, pending: deque[Future[R]]) -> Future[R]:
        """Take one that is done out of those under way."""
        done = self._wait(pending)
        pending.remove(done)
        return done

    def result(self, future: Future[R]) -> R:
        """Return what a task gave.

        Raises:
            CheckpointError: the scheduler or too many workers were lost, or one is unfit.
        """
        self._wait([future])
        try:
            return future.result()
        except CancelledError as error:
            text = f"the scheduler at {self._address} was lost: the same command goes on from here."
            raise CheckpointError(text) from error
        except (CheckpointError, OSError, MemoryError):
            raise
        except Exception as error:
            self._meet(self._client.nthreads())  # it may be one's fault that came late
            if type(error).__name__ != "KilledWorker":
                raise
            last: Any = error.args[1]
            raise CheckpointError(
                f"the workers that did a task were lost, the last {last.address}, perhaps for want "
                "of memory: its log says why, and the same command goes on from here."
            ) from error

    def _wait(self, futures: Iterable[Future[R]]) -> Future[R]:
        """Return a task that is done."""
        while True:
            if time.monotonic() > self._looked + _LOOK:
                self._look_after()
            if done := wait(futures, _LOOK, FIRST_COMPLETED).done:
                return done.pop()

    def _look_after(self) -> None:
        """See to it that there are workers, and that those that came since are fit."""
        with contextlib.suppress(OSError):  # if the scheduler is lost, so are the tasks
            threads = self._client.nthreads()
            self.ahead = self._most or max(1, sum(threads.values()))
            if threads:
                self._last = time.monotonic()
            elif time.monotonic() - self._last > GRACE:
                raise CheckpointError(
                    f"the scheduler at {self._address} has no workers: start some with "
                    f"dask worker {self._address}, the same command goes on from here."
                )
            self._meet(threads.keys() - self._met)
        self._looked = time.monotonic()

    def _meet(self, workers: Iterable[str]) -> None:
        """Raise CheckpointError unless workers have this version, and see the folders."""
        asked = sorted(workers)
        for worker, found in self._asked(asked, importlib.metadata.version, "npu_quant"):
            if found != __version__:
                is_there = not isinstance(found, Exception)
                has = f"has npu_quant {found}" if is_there else "lacks npu_quant"
                text = f"worker {worker} {has}: install npu_quant {__version__} there, as here."
                raise CheckpointError(text)
        for worker, found in self._asked(asked, meet, *self._greeting):
            if isinstance(found, Exception):
                found = f"cannot use npu_quant: {clean(str(found), 200)}."
            if found is not None:
                raise CheckpointError(f"worker {worker} {found}")
            self._met.add(worker)

    def _asked(
        self, workers: list[str], function: Callable[..., Any], *arguments: Any
    ) -> Iterator[tuple[str, Any]]:
        """Yield what a function gives on workers, or its exception, but of those that are lost."""
        if workers:
            run = self._client.run
            answers = run(function, *arguments, workers=workers, on_error="return")
            yield from ((w, a) for w, a in sorted(answers.items()) if not isinstance(a, OSError))

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with uninterrupted(), contextlib.suppress(OSError):
            self._executor.shutdown(wait=False)
            if error is None:
                self._client.run(leave, self._greeting[0], on_error="ignore")


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


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ModuleNotFoundError as error:
        raise CheckpointError(
            "a scheduler is Dask's, which is not installed: pip install npu_quant[dask]."
        ) from error


# ---- On the workers.

_lock = threading.Lock()
_running, _threads = 0, 1
_kept: dict[str, Any] = {}
_MOST_KEPT = 16
"""Of runs at a time, and of those that ended before they could take leave."""


def meet(id: str, data: bytes, places: Sequence[Place]) -> str | None:
    """Keep what the tasks of a pool share; return what of the folders is not seen here."""
    if text := hidden(places):
        return text
    close_files()  # which other files may have replaced since another run
    while len(_kept) >= _MOST_KEPT:
        del _kept[next(iter(_kept))]
    _kept[id] = pickle.loads(data)
    return None


def leave(id: str) -> None:
    """Keep it no longer."""
    _kept.pop(id, None)


def hidden(places: Sequence[Place]) -> str | None:
    """Return what of the folders this process does not see; None if it sees all."""
    for folder, sizes in places:
        unseen = f"does not see {folder}: a shared filesystem is needed."
        try:
            if not folder.is_dir():
                return unseen
            found = {name: (folder / name).stat().st_size for name in sizes}
        except OSError:  # such as of permission
            return unseen
        for name, size in sizes.items():
            if found[name] != size:
                return f"sees another {folder / name}, of {found[name]} bytes instead of {size}."
    return None


class _Call:
    """A task that is done when its bytes are read.

    So a worker that lacks npu_quant, and comes late, fails in the task. It would die of a message
    that it cannot read, and Dask would send the task on to the next one.
    """

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return _run, self._arguments


def _run(id: str, work: Callable[[Any, T], R], task: T) -> R:
    """Do a task, once this worker was met, which it is in a moment if it came late."""
    until = time.monotonic() + GRACE
    while id not in _kept:
        if time.monotonic() > until:
            raise CheckpointError("a worker was not told what to do.")
        time.sleep(0.1)
    with _busy():
        return work(_kept[id], task)


@contextlib.contextmanager
def _busy() -> Iterator[None]:
    """Leave the threads to Dask while tasks run in this process, and no file open after them."""
    global _running, _threads
    with _lock:
        if _running == 0:
            _threads = get_num_threads()
            set_num_threads(1)
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _running == 0:
                set_num_threads(_threads)
                close_files()
