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
    rate = Rate()

    def show() -> None:
        bar = _bar(in_bytes=in_bytes)
        with lock:
            if not ended.is_set():
                bar.add_task(what, total=None, said="")  # it pulses until it is told how much
                bar.start()
                shown.append(bar)

    def advance(done: int, total: int) -> None:
        said = rate.said(done, total, time.monotonic())
        for bar in shown:
            bar.update(bar.task_ids[0], completed=done, total=total, said=said)

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
    """Return what prints a line every minute."""
    rate = Rate()
    next_line = time.monotonic() + LINE_SECONDS

    def advance(done: int, total: int) -> None:
        nonlocal next_line
        now = time.monotonic()
        said = rate.said(done, total, now)
        if now >= next_line:
            write_error(what, said)
            next_line = now + LINE_SECONDS

    return advance


class Rate:
    """How fast bytes are done, from the first time that it is told."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None

    def said(self, done: int, total: int, now: float) -> str:
        """Return how far it is: 62 %, 0.9 of 1.4 GiB, 3 s left.

        Args:
            done: bytes.
            total: bytes.
            now: in seconds.
        """
        if self._first is None:  # what a former run did was no work of this one
            self._first = done, now
        begin, start = self._first
        text = f"{100 * done // max(total, 1)} %, {_of(done, total)}"
        if done <= begin or done >= total:
            return text
        left = (now - start) / (done - begin) * (total - done)
        return f"{text}, {_duration(left)} left"


def _of(done: int, total: int) -> str:
    power = next((n for n in (3, 2, 1) if total >= 1024**n), 0)
    unit = ("B", "KiB", "MiB", "GiB")[power]
    digits = 1 if power else 0
    return f"{done / 1024**power:.{digits}f} of {total / 1024**power:.{digits}f} {unit}"


def _duration(seconds: float) -> str:
    """Write a time: 3 s, 5 min, 2 h 10 min."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _bar(*, in_bytes: bool) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}") if in_bytes else TimeRemainingColumn(),
        console=Console(file=sys.stderr, emoji=False),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
