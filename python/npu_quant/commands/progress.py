"""A progress bar on stderr, for work that lasts and somebody who looks."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .console import is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress

DELAY = 1.0
"""Seconds before a bar appears: what takes less is over before it is read."""


@contextlib.contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar while the block lasts, if stderr is a terminal; it is told (done, total)."""
    if quiet or not is_terminal(sys.stderr):
        yield None
        return
    lock, ended = threading.Lock(), threading.Event()
    shown: list[Progress] = []

    def show() -> None:
        bar = _bar()
        with lock:
            if not ended.is_set():
                bar.add_task(what, total=None)  # it pulses until it is told how much is done
                bar.start()
                shown.append(bar)

    def advance(done: int, total: int) -> None:
        for bar in shown:
            bar.update(bar.task_ids[0], completed=done, total=total)

    timer = threading.Timer(DELAY, show)
    timer.daemon = True
    timer.start()
    try:
        yield advance
    finally:
        timer.cancel()
        with lock:
            ended.set()
            for bar in shown:
                bar.stop()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr, emoji=False),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
