"""The command line on terminals and pipes: colours, the bar, encodings, readers that go away."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest
from command_line import DQ, TRUNCATED, X, Y
from folders import save_here as save

from npu_quant import cli
from npu_quant.commands import compare, console, progress
from npu_quant.golden.api import Comparison

OURS = ("NO_COLOR", "TERM", "FORCE_COLOR", "PYTHONUNBUFFERED", "PYTHONIOENCODING")
CLEAN = {k: v for k, v in os.environ.items() if k not in OURS}
COLOURED = {"TERM": "xterm-256color"}


@pytest.fixture(autouse=True)
def here(here: Path) -> Path:
    """Return the current folder, which has an input and results of every kind."""
    save(x=X, y=Y, truncated=TRUNCATED)
    np.save("wrong.npy", np.array([[0, 32, -64, 120], [127, -64, 32, -127]], np.int8))
    return here


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command without a terminal."""
    command = [sys.executable, "-m", "npu_quant", *words]
    return subprocess.run(command, capture_output=True, env=CLEAN | environment, check=False)


def read_all(master: int) -> bytes:
    """Return what was written to a terminal whose writers are gone."""
    said = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # how Linux says that it is closed
            return said
        if not piece:
            return said
        said += piece


def run_on_terminal(*words: str, **environment: str) -> tuple[int, str]:
    """Run the command with stdout on a terminal; return its status and what it printed."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "npu_quant", *words]
    with subprocess.Popen(command, stdout=slave, env=CLEAN | environment) as process:
        os.close(slave)
        said = read_all(master)
    os.close(master)
    return process.returncode, said.decode().replace("\r\n", "\n")


class TestColours:
    CASES = (
        (["y=y.npy", "input=x.npy", *DQ], 0, "\x1b[1;32mOK (identical): "),
        (
            ["y=truncated.npy", "input=x.npy", *DQ, "--variant", "truncation"],
            0,
            "\x1b[1;33mOK (variant): ",
        ),
        (["y=truncated.npy", "input=x.npy", *DQ], 1, "\x1b[1;31mDIFFERENT: "),
        (["y=wrong.npy", "input=x.npy", *DQ], 1, "\x1b[1;31mDIFFERENT: "),
    )

    @pytest.mark.parametrize(("words", "status", "start"), CASES)
    def test_the_first_line_on_a_terminal(self, words: list[str], status: int, start: str) -> None:
        got, said = run_on_terminal("compare", *words, **COLOURED)
        first, _, rest = said.partition("\n")
        assert got == status
        assert first.startswith(start)
        assert first.endswith("\x1b[0m")
        assert "\x1b" not in rest

    def test_an_empty_no_color_says_nothing(self) -> None:
        _, said = run_on_terminal("compare", "y=y.npy", "input=x.npy", *DQ, NO_COLOR="", **COLOURED)
        assert "\x1b" in said

    @pytest.mark.parametrize("environment", [COLOURED | {"NO_COLOR": "1"}, {"TERM": "dumb"}])
    def test_not_where_the_environment_says_no(self, environment: dict[str, str]) -> None:
        status, said = run_on_terminal("compare", "y=wrong.npy", "input=x.npy", *DQ, **environment)
        assert status == 1
        assert said.startswith("DIFFERENT: ")
        assert "\x1b" not in said

    @pytest.mark.parametrize("words", [["compare", "y=y.npy", "input=x.npy", *DQ], ["info"]])
    def test_not_in_pipes(self, words: list[str]) -> None:
        done = run(*words, FORCE_COLOR="1", CLICOLOR_FORCE="1", **COLOURED)
        assert done.returncode == 0
        assert b"\x1b" not in done.stdout + done.stderr

    def test_the_text_is_the_same(self) -> None:
        _, said = run_on_terminal("compare", "y=wrong.npy", "input=x.npy", *DQ, **COLOURED)
        plain = run("compare", "y=wrong.npy", "input=x.npy", *DQ).stdout.decode()
        assert re.sub(r"\x1b\[[0-9;]*m", "", said) == plain


class AtOnce:
    """A timer that does not wait."""

    def __init__(self, _: float, show: Callable[[], None]) -> None:
        self.start = show

    def cancel(self) -> None:
        pass


class TestBar:
    """In this process, whose stderr is made a terminal."""

    @pytest.fixture
    def drawn(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, threading.Event]:
        """Return what is set when a bar is on the terminal, by what the bar says."""
        events = {what: threading.Event() for what in ("comparing", "explaining")}
        make = progress._bar

        def watched(**how: Any) -> Any:
            bar = make(**how)
            start = bar.start

            def start_and_say_so() -> None:
                start()
                events[bar.tasks[0].description].set()

            monkeypatch.setattr(bar, "start", start_and_say_so)
            return bar

        monkeypatch.setattr(progress, "_bar", watched)
        return events

    @pytest.fixture
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where there may be a bar it is there from the beginning."""
        monkeypatch.setattr(threading, "Timer", AtOnce)

    def run(self, *more: str, delay: float = 0.01) -> tuple[int, str]:
        """Run the command with stderr on a terminal; return its status and what it printed there.

        The stream is exchanged here and not in a fixture, whose place pytest's own would take.
        """
        master, slave = pty.openpty()
        with pytest.MonkeyPatch.context() as patch, os.fdopen(slave, "w") as stream:
            patch.setattr(sys, "stderr", stream)
            patch.setattr(progress, "DELAY", delay)
            patch.setenv("TERM", "xterm-256color")
            status = cli.main(["compare", "y=y.npy", "input=x.npy", *DQ, *more])
        said = read_all(master).decode()
        os.close(master)
        return status, said

    def test_work_that_lasts_shows_one(
        self, monkeypatch: pytest.MonkeyPatch, drawn: dict[str, threading.Event]
    ) -> None:
        compared = compare.run_comparison

        def wait(sides: Any, request: Any) -> Comparison:
            assert drawn["comparing"].wait(60)
            request.progress(50, 100)
            return compared(sides, request)

        monkeypatch.setattr(compare, "run_comparison", wait)
        status, said = self.run()
        assert status == 0
        assert "comparing" in said
        assert "━" in said
        assert "\x1b[2K" in said.rpartition("comparing")[2]  # and takes it away

    def test_so_does_the_search_for_a_formula(
        self, monkeypatch: pytest.MonkeyPatch, drawn: dict[str, threading.Event]
    ) -> None:
        assert self.run("--explain", delay=3600) == (0, "")
        explain = compare.explain

        def wait(*sides: Any, progress: Any, **more: Any) -> Any:
            assert drawn["explaining"].wait(60)
            progress(50, 100)
            return explain(*sides, progress=progress, **more)

        monkeypatch.setattr(compare, "explain", wait)
        status, said = self.run("--explain")
        assert status == 0
        assert "explaining" in said
        assert "\x1b[2K" in said.rpartition("explaining")[2]

    def test_short_work_shows_none(self) -> None:
        assert progress.DELAY == 1.0
        assert self.run(delay=3600) == (0, "")

    @pytest.mark.usefixtures("at_once")
    def test_quiet_shows_none(self) -> None:
        assert self.run("--quiet") == (0, "")
        assert "comparing" in self.run()[1]

    @pytest.mark.usefixtures("at_once")
    def test_without_a_terminal_there_is_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["compare", "y=y.npy", "input=x.npy", *DQ]) == 0
        assert capsys.readouterr().err == ""

    @pytest.mark.usefixtures("at_once")
    def test_an_error_takes_it_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> Comparison:
            raise ValueError("no")

        monkeypatch.setattr(compare, "run_comparison", fail)
        status, said = self.run()
        assert status == 2
        assert "comparing" in said
        assert said.endswith("npu-quant compare: no\r\n")


class TestPipes:
    @pytest.mark.parametrize(("file", "status"), [("y.npy", 0), ("wrong.npy", 1)])
    def test_a_reader_that_has_gone_changes_nothing(self, file: str, status: int) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "npu_quant", "compare", f"y={file}", "input=x.npy", *DQ]
        done = subprocess.run(
            command, stdout=writer, stderr=subprocess.PIPE, env=CLEAN, check=False
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (status, b"")

    @pytest.mark.parametrize("words", [["info"], ["--help"], ["compare", "--help"], ["--version"]])
    def test_nor_of_any_other_page(self, words: list[str]) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "npu_quant", *words]
        done = subprocess.run(
            command, stdout=writer, stderr=subprocess.PIPE, env=CLEAN, check=False
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, b"")

    @pytest.mark.parametrize(
        ("words", "face"),
        [
            (["compare", "y=y.npy", "input=x.npy", *DQ], b"npu-quant compare"),
            (["--version"], b"npu-quant"),
        ],
    )
    def test_a_full_disk_is_said(self, words: list[str], face: bytes) -> None:
        command = [sys.executable, "-m", "npu_quant", *words]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, env=CLEAN, check=False
            )
        assert done.returncode == 2
        assert done.stderr == face + b": No space left on device\n"

    def test_closed_streams(self) -> None:
        command = (
            f"{sys.executable} -m npu_quant compare y=wrong.npy input=x.npy {' '.join(DQ)} >&- 2>&-"
        )
        assert subprocess.run(["sh", "-c", command], env=CLEAN, check=False).returncode == 1

    def test_no_traceback_and_one_line_from_outside(self) -> None:
        done = run("compare", "none.npy", "y.npy")
        assert done.returncode == 2
        assert done.stdout == b""
        assert done.stderr.startswith(b"npu-quant compare: none.npy: ")
        assert done.stderr.count(b"\n") == 1

    def test_an_interrupt_is_status_130(self) -> None:
        program = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from npu_quant import cli
from npu_quant.commands import compare
compare.run_comparison = lambda *_: os.kill(os.getpid(), signal.SIGINT)
raise SystemExit(cli.main(["compare", "y=y.npy", "input=x.npy", "--op", "npu_dynamic_quant"]))
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (130, b"npu-quant compare: interrupted\n")


class TestEncodings:
    def test_ascii_is_enough(self) -> None:
        done = run("compare", "y=wrong.npy", "input=x.npy", *DQ, PYTHONIOENCODING="ascii")
        assert done.returncode == 1
        assert done.stdout.isascii()
        assert done.stdout.startswith(b"DIFFERENT: ")

    @pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
    def test_help_has_a_chinese_name_on_every_terminal(self, encoding: str) -> None:
        done = run("compare", "--help", PYTHONIOENCODING=encoding)
        assert (done.returncode, done.stderr) == (0, b"")
        page = " ".join(done.stdout.decode(encoding).split())
        name = "双千分之一" if encoding == "utf-8" else r"\u53cc\u5343\u5206\u4e4b\u4e00"
        assert f"off_by_one, thousandth ({name}), sqnr=40" in page

    def test_and_the_histogram_too(self) -> None:
        text = run("inspect", "y.npy", PYTHONIOENCODING="latin-1").stdout
        assert text.isascii()
        assert b"|" in text
        assert "█" in run("inspect", "y.npy", PYTHONIOENCODING="utf-8").stdout.decode()

    @pytest.mark.parametrize("name", ["a\nb.npy", "a\x1b[31m.npy", "a\udcff.npy", "größe.npy"])
    def test_names_of_files_are_made_printable(self, name: str) -> None:
        done = run("compare", name, "y.npy", PYTHONIOENCODING="utf-8")
        assert done.returncode == 2
        assert done.stderr.count(b"\n") == 1
        assert b"\x1b" not in done.stderr
        Path("y.npy").rename(name)
        shown = run("inspect", name, PYTHONIOENCODING="utf-8")
        assert shown.returncode == 0
        assert b"\x1b" not in shown.stdout

    def test_words_are_plainer_where_characters_lack(self) -> None:
        class Stream(io.StringIO):
            encoding = "ascii"

        assert console._encodable("1 ‰ · é", Stream()) == r"1 per mille | \xe9"
        assert console._encodable("1 ‰ · é", io.StringIO()) == "1 ‰ · é"

    def test_a_closed_stream_is_no_terminal(self) -> None:
        stream: TextIO = io.StringIO()
        stream.close()
        assert not console.is_terminal(stream)
        assert not console.is_terminal(None)


IMPORTED = """
import sys
before = set(sys.modules)
import npu_quant
{program}
names = ("rich", "argparse", "npu_quant.golden", "npu_quant.commands", "matplotlib", "torch")
print(*[name for name in names if name in sys.modules])
"""
COMPARE = "from npu_quant import cli; cli.main(['compare', 'y.npy', 'y2.npy', '--quiet'])"


class TestWhatIsImported:
    @pytest.mark.parametrize(
        ("program", "modules"),
        [
            ("", ""),
            ("from npu_quant import cli", "argparse"),
            (
                "from npu_quant import cli; cli.main(['aclnn-prefix'])",
                "argparse npu_quant.commands",
            ),
            (COMPARE, "argparse npu_quant.golden npu_quant.commands"),
        ],
    )
    def test_no_more_than_is_needed(self, program: str, modules: str) -> None:
        np.save("y2.npy", np.load("y.npy"))
        source = IMPORTED.format(program=program)
        done = subprocess.run(
            [sys.executable, "-c", source], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == modules

    def test_rich_is_imported_where_it_draws(self) -> None:
        source = IMPORTED.format(program="from npu_quant import cli; cli.main(['info'])")
        done = subprocess.run(
            [sys.executable, "-c", source], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1].startswith("rich argparse ")
