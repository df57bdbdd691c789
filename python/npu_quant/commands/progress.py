"""A progress bar on stderr, for work that lasts and somebody who looks."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from .console import is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress

DELAY = 1.0
"""Seconds before a bar appears: what takes less is over before it is read."""


class Bar:
    """A bar that appears after a while, pulsing until it is told how much is done."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._shown: Progress | None = None
        self._ended = False
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> Callable[[int, int], None]:
        return self._advance

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._shown is not None:
                self._shown.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(file=sys.stderr, emoji=False)
        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        shown = Progress(
            *columns,
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with self._lock:
            if self._ended:
                return
            shown.add_task(self._what, total=None)
            shown.start()
            self._shown = shown

    def _advance(self, done: int, total: int) -> None:
        shown = self._shown
        if shown is not None:
            shown.update(shown.task_ids[0], completed=done, total=total)


@contextlib.contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar while the block runs, if stderr is a terminal; it is told (done, total)."""
    if quiet or not is_terminal(sys.stderr):
        yield None
        return
    with Bar(what) as advance:
        yield advance
