"""How far the work on a whole model is: on a terminal a bar, else a line a minute."""

from __future__ import annotations

import os
import pty
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from checkpoints import models
from test_cli_terminal import read_all

from npu_quant import cli
from npu_quant.checkpoint import matrices, run
from npu_quant.commands import progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time in a list, which tests change."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_a_minute(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.LINE_SECONDS == 60.0
    with progress.progress_bar("quantizing x", quiet=False, in_bytes=True) as tell:
        assert tell is not None
        for seconds in range(0, 200, 10):
            clock[0] = 1000.0 + seconds
            tell(seconds << 20, 200 << 20)
    assert capsys.readouterr().err == (
        "quantizing x: 30% 60.0/200.0 MiB 0:02:20\n"
        "quantizing x: 60% 120.0/200.0 MiB 0:01:20\n"
        "quantizing x: 90% 180.0/200.0 MiB 0:00:20\n"
    )


def test_what_a_former_run_did_took_this_one_no_time(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.progress_bar("quantizing x", quiet=False, in_bytes=True) as tell:
        assert tell is not None
        for seconds in range(0, 70, 10):
            clock[0] = 1000.0 + seconds
            tell((800 + seconds) << 20, 1000 << 20)
    assert capsys.readouterr().err == "quantizing x: 86% 860.0/1,000.0 MiB 0:02:20\n"


@pytest.mark.parametrize("how", [{"quiet": True, "in_bytes": True}, {"quiet": False}])
def test_none(how: dict[str, bool]) -> None:
    with progress.progress_bar("comparing", **how) as tell:
        assert tell is None


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.make(tmp_path / "model", "llama")


def test_a_short_run_without_a_terminal(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["quantize", str(model), str(tmp_path / "out"), "--scheme", "W8A16", "--workers", "1"]
    assert cli.main(words) == 0
    assert capsys.readouterr().err == ""


def test_the_bar_of_a_run(model: Path, tmp_path: Path) -> None:
    """It is drawn while pieces are made, of which each waits until the bar is there."""
    master, slave = pty.openpty()
    words = ["quantize", str(model), str(tmp_path / "out"), "--scheme", "W8A16", "--workers", "1"]
    with pytest.MonkeyPatch.context() as patch, os.fdopen(slave, "w") as stream:
        patch.setattr(sys, "stderr", stream)
        patch.setattr(progress, "DELAY", 0.0)
        patch.setattr(matrices, "PIECE_BYTES", 10_000)
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", "120")
        make, bars = run.make, started(patch)

        def waiting(*arguments: Any) -> Any:
            assert bars.acquire(timeout=60)
            bars.release()
            return make(*arguments)

        patch.setattr(run, "make", waiting)
        assert cli.main(words) == 0
    said = read_all(master).decode()
    os.close(master)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said)
    assert re.search(r"quantizing \S+ ━+ +100% 246\.0/246\.0 KiB", plain)


def started(patch: pytest.MonkeyPatch) -> Any:
    """Return a semaphore that is released when a bar starts."""
    bars = threading.Semaphore(0)
    make = progress._bar

    def bar(**how: Any) -> Any:
        result = make(**how)
        start = result.start

        def starting() -> None:
            start()
            bars.release()

        result.start = starting  # type: ignore[method-assign]
        return result

    patch.setattr(progress, "_bar", bar)
    return bars
