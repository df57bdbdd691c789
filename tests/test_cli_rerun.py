"""``npu-quant compare``: the command it names next, and places as the whole array has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_quant
from npu_quant.commands import compare, rerun
from npu_quant.errors import ParamError

DQ = ["--op", "npu_dynamic_quant"]
Say = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder: an input, and outputs whose row 7 was made with a scale 1 % off."""
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float16)
    scale = np.abs(x.astype(np.float32)).max(axis=1) / np.float32(127)
    scale[7] *= np.float32(1.01)
    y = np.rint(x.astype(np.float32) / scale[:, None]).astype(np.int8)
    save(x=x, y=y, scale=scale)
    y.tofile("y.bin")
    scale.tofile("scale.bin")
    return tmp_path


def save(**arrays: Any) -> None:
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)


@pytest.fixture
def say(say: Say) -> Say:
    """Return what runs `npu-quant compare` and returns status, stdout and stderr."""
    return partial(say, "compare")


def again(out: str) -> subprocess.CompletedProcess[str]:
    """Run the command that a report names, with a shell that has it as it was printed."""
    line = out.splitlines()[-1]
    assert line.startswith("  rerun: npu-quant compare ")
    command = line.replace("  rerun: npu-quant", f"{sys.executable} -m npu_quant")
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)


class TestRawOutputs:
    @pytest.mark.parametrize("files", [["y.bin", "scale.bin"], ["y.npy", "scale.bin"], ["y.bin"]])
    def test_the_command_runs(self, files: list[str], say: Say) -> None:
        status, out, _ = say("x.npy", *files, *DQ)
        assert (status, out.splitlines()[-1][-8:]) == (1, "--rows 7")
        done = again(out)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith("GoldenMismatch: npu_dynamic_quant ")

    def test_rows_are_those_of_the_whole(self, say: Say) -> None:
        words = ["x.npy", "y.bin", "scale.bin", *DQ, "--rows"]
        assert say(*words, ":7")[0] == say(*words, "8:")[0] == 0
        assert say(*words, "7")[0] == say(*words, "0:8")[0] == 1

    def test_other_axes_before_the_last(self, say: Say) -> None:
        save(x=np.load("x.npy").reshape(2, 32, 256))
        words = ["x.npy", "y.bin", "scale.bin", *DQ, "--rows"]
        assert [say(*words, rows)[0] for rows in ("0:7", "7", "8:64")] == [0, 1, 0]

    def test_blocks_have_rows_too(self, say: Say) -> None:
        x = np.ones((2, 256), np.float16)
        x[1, 128:] = 2
        save(x=x)
        np.full((2, 256), 127, np.int8).tofile("y.bin")
        (np.array([[1, 1], [1, 2]], np.float32) / np.float32(127)).tofile("scale.bin")
        words = ["x.npy", "y.bin", "scale.bin", "--op", "npu_dynamic_block_quant"]
        assert say(*words, "--rows", "1", "--allow-constant")[0] == 0
        (np.array([[1, 1], [1, 1]], np.float32) / np.float32(127)).tofile("scale.bin")
        assert say(*words, "--rows", "1")[0] == 1
        assert say(*words, "--rows", "0", "--allow-constant")[0] == 0

    def test_a_file_of_another_size_is_refused(self, say: Say) -> None:
        np.load("y.npy")[:63].tofile("y.bin")
        status, _, err = say("x.npy", "y.bin", *DQ, "--rows", "7")
        assert (status, "y.bin: has 16128 bytes of elements; int8 (64, 256) has" in err) == (
            2,
            True,
        )


class TestWhatIsNamed:
    @pytest.mark.parametrize("change", ["dtype", "shape"])
    def test_nothing_where_formulas_cannot_be_tried(self, change: str, say: Say) -> None:
        y = np.load("y.npy")
        save(other=y.astype(np.int16) if change == "dtype" else y[:, :255])
        for words in (["x.npy", "other.npy", *DQ], ["x.npy", "other.npy", "scale.npy", *DQ]):
            status, out, err = say(*words)
            assert (status, err) == (1, "")
            assert f"{change} differs: actual" in out
            assert "--explain" not in out
            assert "next:" not in out
        status, out, _ = say("other.npy", "y.npy")
        assert (status, "rerun:" in out, "next:" in out) == (1, False, False)

    @pytest.mark.parametrize("change", ["dtype", "shape"])
    def test_the_report_is_there_where_explain_fails(self, change: str, say: Say) -> None:
        y = np.load("y.npy")
        save(other=y.astype(np.int16) if change == "dtype" else y[:, :255])
        status, out, err = say("x.npy", "other.npy", *DQ, "--explain")
        assert (status, f"{change} differs: actual" in out) == (1, True)
        assert err.startswith("npu-quant compare: --explain: actual y has ")
        assert err.count("\n") == 1
        status, out, _ = say("x.npy", "other.npy", *DQ, "--explain", "--json", "-")
        assert (status, "explanation" in json.loads(out)) == (1, False)

    def test_or_fails_otherwise(self, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise ParamError("no")

        monkeypatch.setattr(compare, "_explained", fail)
        status, out, err = say("x.npy", "y.npy", *DQ, "--explain")
        assert (status, out[:14], err) == (
            1,
            "GoldenMismatch",
            "npu-quant compare: --explain: no\n",
        )

    def test_no_command_that_says_the_same(self, say: Say) -> None:
        save(golden=np.load("y.npy") // 2, flipped=-np.load("y.npy"))
        for words in (
            ["y.npy", "golden.npy", "--rows", "7"],
            ["y.npy", *DQ, "--golden", "golden.npy"],
            ["x.npy", "flipped.npy", *DQ, "--explain"],
            ["x.npy", "y.npy", *DQ, "--rows", "7", "--explain"],
        ):
            status, out, _ = say(*words)
            assert (status, "rerun:" in out) == (1, False), words
            assert "golden.explain" not in out
        _, out, _ = say("y.npy", *DQ, "--golden", "golden.npy")
        assert "next: give the inputs instead of --golden to learn whether" in out

    def test_formulas_are_what_is_left_for_rows(self, say: Say) -> None:
        status, out, _ = say("x.npy", "y.npy", *DQ, "--rows", "7")
        assert (status, out.splitlines()[-1][-18:]) == (1, "--rows 7 --explain")
        assert again(out).returncode == 1

    def test_rows_that_differ_by_ties_only_are_not_looked_at(self, say: Say) -> None:
        """Rows that pass would be named where the fault is all over the scales."""
        x = np.tile(np.array([2, 1, 3, 127], np.float16), (64, 1))
        x[9] = np.array([0.5, 1.5, 2.5, 127])  # the scale is 1
        y = np.rint(x).astype(np.int8)
        y[9] = [1, 1, 3, 127]  # the other side of each tie
        save(x=x, y=y, scale=np.full(64, 1.5, np.float32))
        _, out, _ = say("x.npy", "y.npy", "scale.npy", *DQ)
        assert "--rows" not in out.splitlines()[-1]

    def test_gamma_of_several_axes_has_no_rows(self, say: Say) -> None:
        x = np.random.default_rng(0).standard_normal((64, 2, 128)).astype(np.float16)
        save(x=x, g=np.ones((2, 128), np.float16), s=np.full((2, 128), 0.1, np.float32))
        ones = [np.load(f"{name}.npy") for name in ("g", "s")]
        y = npu_quant.npu_add_rms_norm_quant(x, x, *ones, None)[0].copy()
        y[9, 1] += 3
        save(y=y, x2=x)
        words = ["x.npy", "x2.npy", "g.npy", "s.npy", "-", "y.npy"]
        status, out, err = say(*words, "--op", "npu_add_rms_norm_quant")
        assert (status, err) == (1, "")
        assert out.splitlines()[-1].endswith("--explain")


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

    @pytest.mark.parametrize("name", NAMES)
    def test_the_line_is_printable_and_runs(self, name: str) -> None:
        Path("y.npy").rename(name)
        words = [sys.executable, "-m", "npu_quant", "compare", "x.npy", name, *DQ]
        for encoding in ("utf-8", "ascii"):
            environment = os.environ | {"PYTHONIOENCODING": encoding}
            done = subprocess.run(words, capture_output=True, env=environment, check=False)
            out = done.stdout.decode(encoding)
            assert done.returncode == 1
            assert "\x1b" not in out
            shown = again(out)
            assert (shown.returncode, shown.stderr) == (1, "")
            assert shown.stdout.startswith("GoldenMismatch: ")

    @pytest.mark.parametrize("name", ["a\nb.npz", "a\x1b[31m.npz"])
    def test_nor_is_it_in_the_head(self, name: str, say: Say) -> None:
        np.savez(name, y=np.load("y.npy"), z=np.load("y.npy"))
        _, out, _ = say("x.npy", f"{name}::y", *DQ)
        assert "\x1b" not in out
        assert "actual=a\\" in out.splitlines()[0]

    def test_quoted(self) -> None:
        assert rerun.quoted("x.npy") == "x.npy"
        assert rerun.quoted("a b'c") == "'a b'\"'\"'c'"
        assert rerun.quoted("a\nb'\\") == r"$'a\x0ab\'\\'"
        assert rerun.quoted("\udcff\x1b") == r"$'\xff\x1b'"

    def test_what_follows_two_dashes_stays_there(self, say: Say) -> None:
        Path("y.npy").rename("--y.npy")
        status, out, _ = say("x.npy", *DQ, "--", "--y.npy")
        assert (status, out.splitlines()[-1][-18:]) == (1, "--rows 7 -- --y.npy"[-18:])
        assert again(out).returncode == 1


class TestPlaces:
    def test_are_those_of_the_whole(self, say: Say) -> None:
        scale, y = np.load("scale.npy"), np.load("y.npy")
        status, out, _ = say("x.npy", "y.npy", "scale.npy", *DQ, "--rows", "7")
        assert status == 1
        assert "scale: 1 of 1 scale differs" in out
        assert f"scale: [7] actual {scale[7]:.6g}, golden " in out
        assert "y: worst [7, " in out
        save(wrong=np.where(np.arange(64) == 9, 1, 0).astype(np.int8)[:, None] + y)
        status, out, _ = say("wrong.npy", "y.npy", "--rows", "5:20")
        assert (status, "only in row 9 (256 of 256" in out, "worst [9, 0] " in out) == (
            1,
            True,
            True,
        )

    def test_of_more_axes_too(self, say: Say) -> None:
        save(**{n: np.load(f"{n}.npy").reshape(2, 32, 256) for n in ("x", "y")})
        save(scale=np.load("scale.npy").reshape(2, 32))
        y = np.load("y.npy")
        wrong = y.copy()
        wrong[1, 8, 3] += 1
        save(wrong=wrong)
        _, out, _ = say("x.npy", "y.npy", "scale.npy", *DQ, "--rows", "6:9")
        assert "scale: [0, 7] actual" in out
        _, out, _ = say("wrong.npy", "y.npy", "--rows", "38:42")
        assert "worst [1, 8, 3] actual" in out

    @pytest.mark.parametrize("rows", ["7", "7:9", "4:32"])
    def test_of_what_passes_too(self, rows: str, say: Say) -> None:
        status, out, _ = say("x.npy", "y.npy", *DQ, "--rows", rows, "--atol", "2")
        assert (status, out.startswith("OK (tolerated)")) == (0, True)
        assert "worst [7, " in out

    def test_what_it_looks_like_names_rows_of_the_whole(self, say: Say) -> None:
        y = np.load("y.npy")
        swapped = y.copy()
        swapped[[10, 12]] = y[[12, 10]]
        shifted = y.copy()
        shifted[11] = np.roll(y[11], 3)
        save(swapped=swapped, shifted=shifted)
        _, out, _ = say("swapped.npy", "y.npy", "--rows", "8:40")
        assert "rows are at other places: 10 is the golden's 12, 12 is the golden's 10" in out
        _, out, _ = say("shifted.npy", "y.npy", "--rows", "8:40")
        assert "row 11 columns 0-255 are shifted right by 3 columns" in out
        _, out, _ = say("x.npy", "y.npy", *DQ, "--rows", "4:36")
        assert "the scale of row 7 is wrong by " in out

    def test_of_scales_too(self, say: Say) -> None:
        x = np.random.default_rng(0).standard_normal((4096, 4)).astype(np.float16)
        save(x=x, scale=npu_quant.npu_dynamic_quant(x).scale)
        wrong = np.load("scale.npy")
        wrong[100:120] *= np.float32(1.01)
        save(scale=wrong)
        words = ["x.npy", "-", "scale.npy", *DQ]
        for rows in ("0:4096", "50:4000"):
            status, out, _ = say(*words, "--rows", rows)
            assert (status, "only in columns 100 to 119 (20 of 20" in out) == (1, True)
        save(x=x.reshape(2, 2048, 4), scale=wrong.reshape(2, 2048))
        status, out, _ = say(*words, "--rows", "50:4000")
        assert (status, "only in columns" in out) == (1, False)  # they go over two axes

    def test_what_passes_by_rounding_says_what_it_could_not_see(self, say: Say) -> None:
        x = np.array([[0, 1, -2, 4], [3, -1.5, 0.75, -3], [0, 1, -2, 4]], np.float16)
        y = np.array([[0, 32, -64, 127], [127, -64, 32, -127], [0, 32, -63, 127]], np.int8)
        save(x=x, y=y)
        status, out, _ = say("x.npy", "y.npy", *DQ, "--rows", "1:3")
        assert (status, out.startswith("OK (tie)")) == (0, True)
        assert "power: without scale, a row's scale" in out

    def test_blocks(self, say: Say) -> None:
        x = np.random.default_rng(0).standard_normal((64, 512)).astype(np.float16)
        wrong = x.copy()
        wrong[9, 128:256] += 1
        save(x=x, wrong=wrong)
        _, out, _ = say("wrong.npy", "x.npy", "--rows", "5:40")
        assert "only in row 9" in out
        assert "row 9 columns 128-255 (128 of 128" in out

    def test_json_has_the_same_and_which_rows(self, say: Say) -> None:
        words = ["x.npy", "y.npy", "scale.npy", *DQ, "--json", "-"]
        whole = json.loads(say(*words)[1])
        assert "rows" not in whole
        data = json.loads(say(*words, "--rows", "7")[1])
        assert data["rows"] == [7, 8]
        for some, every in zip(data["outputs"], whole["outputs"], strict=True):
            assert some["where"]["first"] == every["where"]["first"]
            assert some["where"]["worst"] == every["where"]["worst"]
            assert some["shape"] == every["shape"]
        assert data["outputs"][0]["metrics"]["count"] == 256

    def test_without_rows_nothing_is_moved(self, say: Say) -> None:
        _, out, _ = say("x.npy", "y.npy", "scale.npy", *DQ)
        assert "scale: [7] actual" in out
        assert "y: only in row 7 (" in out


class TestAxis:
    @pytest.mark.parametrize("axis", ["0", "-2"])
    def test_a_row_is_named_once(self, axis: str, say: Say) -> None:
        _, out, _ = say("x.npy", "y.npy", *DQ, "--axis", axis)
        assert out.count("only in row 7 (") == 1
        assert "only in axis" not in out

    @pytest.mark.parametrize("axis", ["1", "-1"])
    def test_a_column_is_named_once(self, axis: str, say: Say) -> None:
        y = np.load("y.npy")
        wrong = y.copy()
        wrong[:, 3] ^= 1
        save(wrong=wrong)
        _, out, _ = say("wrong.npy", "y.npy", "--axis", axis)
        assert out.count("only in column 3 (") == 1
        assert "only in axis" not in out

    def test_of_one_axis_too(self, say: Say) -> None:
        scale = np.load("scale.npy")
        save(
            long=np.tile(scale, 4096),
            wrong=np.where(np.arange(64 * 4096) == 9, 1, np.tile(scale, 4096)),
        )
        _, out, _ = say("wrong.npy", "long.npy", "--axis", "0")
        assert "only in axis" not in out

    def test_other_axes_are_named(self, say: Say) -> None:
        y = np.load("y.npy").reshape(4, 16, 256)
        wrong = y.copy()
        wrong[2] ^= 1
        save(whole=y, wrong=wrong)
        _, out, _ = say("wrong.npy", "whole.npy", "--axis", "0")
        assert "only in axis 0 2 (" in out
