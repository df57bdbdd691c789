"""``npu-quant compare``: the command it names next, and axes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import DQ, Say
from folders import save_here as save

from npu_quant._shell import quoted
from npu_quant.commands import compare
from npu_quant.errors import ParamError


@pytest.fixture(autouse=True)
def here(here: Path) -> Path:
    """Return the current folder: an input, and outputs whose row 7 was made with a scale 1 % off."""
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float16)
    scale = np.abs(x.astype(np.float32)).max(axis=1) / np.float32(127)
    scale[7] *= np.float32(1.01)
    y = np.rint(x.astype(np.float32) / scale[:, None]).astype(np.int8)
    save(x=x, y=y, scale=scale)
    y.tofile("y.bin")
    scale.tofile("scale.bin")
    return here


def again(out: str) -> subprocess.CompletedProcess[str]:
    """Run the command that a report names, with a shell that has it as it was printed."""
    line = out.splitlines()[-1]
    assert line.startswith("  rerun: npu-quant compare ")
    command = line.replace("  rerun: npu-quant", f"{sys.executable} -m npu_quant")
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)


# Compares each file with what the operator makes of x.npy; a NUL follows on each report.
COMPARE_EACH = """
import sys
from npu_quant import cli

for name in sys.argv[1:]:
    cli.main(["compare", "y=" + name, "input=x.npy", "--op", "npu_dynamic_quant"])
    print("\\0")
"""


def words_of(commands: list[str]) -> list[list[str]]:
    """Return the words that a shell hands to npu-quant, of each command."""
    script = ["npu-quant() { printf '%s\\0' \"$@\" $'\\n'; }", *commands]
    done = subprocess.run(["bash", "-c", "\n".join(script)], capture_output=True, check=True)
    return [os.fsdecode(one).split("\0")[:-1] for one in done.stdout.split(b"\n\0")[:-1]]


class TestRawOutputs:
    @pytest.mark.parametrize(
        "files", [["y=y.bin", "scale=scale.bin"], ["y=y.npy", "scale=scale.bin"], ["y=y.bin"]]
    )
    def test_the_command_runs(self, files: list[str], compared: Say) -> None:
        status, out, _ = compared(*files, "input=x.npy", *DQ)
        assert (status, out.splitlines()[-1][-8:]) == (1, "-explain")
        done = again(out)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith("DIFFERENT: ")


class TestWhatIsNamed:
    @pytest.mark.parametrize("change", ["dtype", "shape"])
    def test_nothing_where_formulas_cannot_be_tried(self, change: str, compared: Say) -> None:
        y = np.load("y.npy")
        save(other=y.astype(np.int16) if change == "dtype" else y[:, :255])
        for more in ([], ["scale=scale.npy"]):
            status, out, err = compared("y=other.npy", *more, "input=x.npy", *DQ)
            assert (status, err) == (1, "")
            assert f"{change} differs: actual" in out
            assert "--explain" not in out
            assert "next:" not in out
        status, out, _ = compared("other.npy", "y.npy")
        assert (status, "rerun:" in out, "next:" in out) == (1, False, False)

    @pytest.mark.parametrize("change", ["dtype", "shape"])
    def test_the_report_is_there_where_explain_fails(self, change: str, compared: Say) -> None:
        y = np.load("y.npy")
        save(other=y + np.float16(0.5) if change == "dtype" else y[:, :255])
        status, out, err = compared("y=other.npy", "input=x.npy", *DQ, "--explain")
        assert (status, f"{change} differs: actual" in out) == (1, True)
        assert err.startswith("npu-quant compare: --explain: actual y has ")
        assert err.count("\n") == 1
        status, out, _ = compared("y=other.npy", "input=x.npy", *DQ, "--explain", "--json", "-")
        assert (status, "explanation" in json.loads(out)) == (1, False)

    def test_or_fails_otherwise(self, compared: Say, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise ParamError("no")

        monkeypatch.setattr(compare, "explain", fail)
        status, out, err = compared("y=y.npy", "input=x.npy", *DQ, "--explain")
        assert (status, out[:9], err) == (
            1,
            "DIFFERENT",
            "npu-quant compare: --explain: no\n",
        )

    def test_no_command_that_says_the_same(self, compared: Say) -> None:
        save(golden=np.load("y.npy") // 2, flipped=-np.load("y.npy"))
        for words in (
            ["y.npy", "golden.npy"],
            ["y=y.npy", *DQ, "golden.y=golden.npy"],
            ["y=flipped.npy", "input=x.npy", *DQ, "--explain"],
        ):
            status, out, _ = compared(*words)
            assert (status, "rerun:" in out) == (1, False), words
            assert "golden.explain" not in out
        _, out, _ = compared("y=y.npy", *DQ, "golden.y=golden.npy")
        assert "next: give inputs instead of a golden to learn whether" in out


class TestNames:
    NAMES = (
        "a b.npy",
        "it's.npy",
        "a\nb.npy",
        "a\x1b[31m\\'.npy",
        "a\udcffb.npy",
        "größe.npy",
        "$x.npy",
    )

    @pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
    def test_the_lines_are_printable_and_run(self, encoding: str, compared: Say) -> None:
        """A shell reads from each line the words that the command was given, and --explain."""
        for name in self.NAMES:
            shutil.copy("y.npy", name)
        command = [sys.executable, "-c", COMPARE_EACH, *self.NAMES]
        environment = os.environ | {"PYTHONIOENCODING": encoding}
        done = subprocess.run(command, capture_output=True, env=environment, check=True)
        assert done.stderr == b""
        out = done.stdout.decode(encoding)
        assert "\x1b" not in out
        lines = [report.splitlines()[-1] for report in out.split("\0\n")[:-1]]
        assert all(line.startswith("  rerun: npu-quant compare ") for line in lines)
        read = words_of([line.removeprefix("  rerun: ") for line in lines])
        assert read == [["compare", "y=" + n, "input=x.npy", *DQ, "--explain"] for n in self.NAMES]
        for _, *words in read:
            status, shown, err = compared(*words)
            assert (status, shown[:11], err) == (1, "DIFFERENT: ", "")

    @pytest.mark.parametrize("name", ["a\nb.npz", "a\x1b[31m.npz"])
    def test_nor_is_it_in_the_head(self, name: str, compared: Say) -> None:
        np.savez(name, y=np.load("y.npy"), z=np.load("y.npy"))
        _, out, _ = compared(f"y={name}::y", "input=x.npy", *DQ)
        assert "\x1b" not in out
        assert "actual=a\\" in out

    def test_quoted(self) -> None:
        assert quoted("x.npy") == "x.npy"
        assert quoted("a b'c") == "'a b'\"'\"'c'"
        assert quoted("a\nb'\\") == r"$'a\nb\'\\'"
        assert quoted("\udcff\x1b") == r"$'\xff\x1b'"

    def test_what_follows_two_dashes_stays_there(self, compared: Say) -> None:
        np.save("--scale.npy", np.load("scale.npy"))
        status, out, _ = compared(*DQ, "--", "y.npy", "--scale.npy", "x.npy")
        assert (status, out.splitlines()[-1][-34:]) == (1, "explain -- y.npy --scale.npy x.npy")
        assert again(out).returncode == 1


class TestAxis:
    @pytest.mark.parametrize("axis", ["0", "-2"])
    def test_a_row_is_named_once(self, axis: str, compared: Say) -> None:
        _, out, _ = compared("y=y.npy", "input=x.npy", *DQ, "--axis", axis)
        assert out.count("only in row 7 (") == 1
        assert "of axis" not in out

    @pytest.mark.parametrize("axis", ["1", "-1"])
    def test_a_column_is_named_once(self, axis: str, compared: Say) -> None:
        y = np.load("y.npy")
        wrong = y.copy()
        wrong[:, 3] ^= 1
        save(wrong=wrong)
        _, out, _ = compared("wrong.npy", "y.npy", "--axis", axis)
        assert out.count("only in column 3 (") == 1  # the first line has the cause in its place
        assert "of axis" not in out

    def test_of_one_axis_too(self, compared: Say) -> None:
        scale = np.load("scale.npy")
        save(
            long=np.tile(scale, 4096),
            wrong=np.where(np.arange(64 * 4096) == 9, 1, np.tile(scale, 4096)),
        )
        _, out, _ = compared("wrong.npy", "long.npy", "--axis", "0")
        assert "of axis" not in out

    def test_other_axes_are_named(self, compared: Say) -> None:
        y = np.load("y.npy").reshape(4, 16, 256)
        wrong = y.copy()
        wrong[2] ^= 1
        save(whole=y, wrong=wrong)
        _, out, _ = compared("wrong.npy", "whole.npy", "--axis", "0")
        assert "only at 2 of axis 0 (" in out

    def test_several_places_of_an_axis(self, compared: Say) -> None:
        y = np.load("y.npy").reshape(16, 4, 256)
        wrong = y.copy()
        wrong[[3, 5]] ^= 1
        save(whole=y, wrong=wrong)
        _, out, _ = compared("wrong.npy", "whole.npy", "--axis", "0")
        assert "only at 3, 5 of axis 0 (" in out
