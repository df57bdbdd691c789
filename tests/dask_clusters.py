"""A scheduler of Dask and its workers, each a process; and what the tests do to workers."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WORKER = ["-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard"]


def until(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


class Cluster:
    """Processes on this machine; a context manager that ends them."""

    def __init__(self, folder: Path, workers: int = 2, **environment: str) -> None:
        self.folder, self._environment = folder, environment
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        file = folder / "scheduler.json"
        words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"]
        words += ["--scheduler-file", str(file)]
        self.scheduler = self._start(["-m", "distributed.cli.dask_scheduler", *words])
        until(file.exists)
        until(file.read_text)
        self.address: str = json.loads(file.read_text())["address"]
        for number in range(workers):
            self.join(f"worker-{number}", nthreads=number + 1)
        self.wait_for(workers)

    def _start(self, words: list[str], **environment: str) -> subprocess.Popen[bytes]:
        paths = {"PYTHONPATH": str(HERE), **self._environment, **environment}
        words = [sys.executable, *words]
        quiet = subprocess.DEVNULL
        environ = os.environ | paths
        return subprocess.Popen(words, stdout=quiet, stderr=quiet, env=environ, cwd=self.folder)

    def join(self, name: str, *options: str, nthreads: int = 1, **environment: str) -> None:
        """Start a worker; the options are Python's."""
        words = [*options, *WORKER, "--host", "127.0.0.1", "--nthreads", str(nthreads)]
        words += ["--name", name, "--local-directory", str(self.folder), self.address]
        self.processes[name] = self._start(words, **environment)

    @contextlib.contextmanager
    def client(self) -> Iterator[Any]:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            yield client

    def wait_for(self, count: int) -> None:
        """Wait until there are so many workers."""
        with self.client() as client:
            until(lambda: len(client.nthreads()) == count)

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function on every worker."""
        with self.client() as client:
            return [*client.run(function, *arguments).values()]

    def leave(self, name: str) -> None:
        """End a worker with SIGKILL."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.processes.values(), self.scheduler):
            process.kill()
            process.wait()


def site_without_npu_quant(folder: Path) -> Path:
    """Make a folder of all packages but this one, for PYTHONPATH and -S."""
    folder.mkdir()
    for path in map(Path, sys.path):
        for entry in path.iterdir() if path.name == "site-packages" else []:
            if not entry.name.startswith("npu_quant") and not (folder / entry.name).exists():
                (folder / entry.name).symlink_to(entry)
    return folder


# ---- What is called on workers.


def slow(seconds: float, mark: str = "", only: str = "", *, dask_worker: Any) -> None:
    """Have every piece take longer, on one worker or on all; the first makes a file."""
    from npu_quant.checkpoint import run

    make = getattr(run.make, "plain", run.make)

    def slowly(*arguments: Any) -> Any:
        if mark:
            Path(mark).touch()
        time.sleep(seconds)
        return make(*arguments)

    slowly.plain = make  # type: ignore[attr-defined]
    if only in ("", dask_worker.name):
        run.make = slowly if seconds else make


def has_shard(out: Path) -> bool:
    """Say whether a shard is whole."""
    return any(out.glob("*.safetensors"))


def other_version() -> None:
    """Have a worker be of another version, which it was not when it was asked."""
    from npu_quant.checkpoint import workers

    workers.__version__ = "0.0.9"


def blind(name: str) -> None:
    """Have a worker see no file of such a name."""
    from npu_quant.checkpoint import matrices, run

    def unseen(*_: Any) -> Any:
        raise FileNotFoundError(2, "No such file or directory", name)

    matrices.File = unseen  # type: ignore[assignment,misc]
    run.prepare = unseen


def die(*_: Any) -> None:
    os.kill(os.getpid(), 9)


def deadly() -> None:
    """Have every piece kill its process."""
    from npu_quant.checkpoint import run

    run.make = die
