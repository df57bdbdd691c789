"""A progress bar on stderr, for work that lasts and somebody who looks; else a line a minute."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._kinds import Progress
from .console import is_terminal, write_error

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

DELAY = 1.0
"""Seconds before a bar appears: what takes less is over before it is read."""
LINE_SECONDS = 60.0
"""Seconds between two lines where there is no terminal."""


@contextlib.contextmanager
def progress_bar(what: str, *, quiet: bool, in_bytes: bool = False) -> Iterator[Progress | None]:
    """Show a bar while the block lasts, if stderr is a terminal; it is told (done, total).

    Args:
        what: is done, as the bar begins.
        quiet: show nothing.
        in_bytes: whether it is told bytes: then the bar says percent, bytes and the time left, and
            where there is no terminal a line says so every minute.
    """
    if quiet or not (is_terminal(sys.stderr) or in_bytes):
        yield None
    elif is_terminal(sys.stderr):
        with _shown(what, in_bytes=in_bytes) as progress:
            yield progress
    else:
        yield _lines(what)


@contextlib.contextmanager
def _shown(what: str, *, in_bytes: bool) -> Iterator[Progress]:
    lock, ended = threading.Lock(), threading.Event()
    shown: list[Bar] = []

    def show() -> None:
        bar = _bar(in_bytes=in_bytes)
        with lock:
            if not ended.is_set():
                bar.add_task(what, total=None)  # it pulses until it is told how much
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


def _lines(what: str) -> Progress:
    """Return what prints a line every minute, of the words that a bar would have."""
    bar = _bar(in_bytes=True)
    bar.add_task(what, total=None)
    (task,), (_, _, *columns) = bar.tasks, bar.columns
    next_line = time.monotonic() + LINE_SECONDS

    def advance(done: int, total: int) -> None:
        nonlocal next_line
        bar.update(task.id, completed=done, total=total)
        if time.monotonic() >= next_line:
            write_error(
                what, " ".join(str(c.render(task)) for c in columns if not isinstance(c, str))
            )
            next_line = time.monotonic() + LINE_SECONDS

    return advance


def _bar(*, in_bytes: bool) -> Bar:
    from rich import progress
    from rich.console import Console
    from rich.table import Column

    whole = Column(no_wrap=True)
    of_bytes = (
        progress.TaskProgressColumn(table_column=whole),
        progress.DownloadColumn(binary_units=True, table_column=whole),
    )
    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *(of_bytes if in_bytes else ()),
        progress.TimeRemainingColumn(table_column=whole),
        console=Console(file=sys.stderr, emoji=False),
        get_time=time.monotonic,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
