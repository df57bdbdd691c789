"""``npu-quant``: what ``--json`` may write to, raw outputs, names of files, options and operators."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import DQ, SCALE, Say, X, Y

from npu_quant.commands import compare, info
from npu_quant.golden.operators import operators


@pytest.fixture(autouse=True)
def here(here: Path) -> Path:
    """Return the current folder, which has an input and its right outputs."""
    for name, array in (("x", X), ("y", Y), ("same", Y), ("off", Y // 2), ("scale", SCALE)):
        np.save(f"{name}.npy", array)
    Y.tofile("y.bin")
    SCALE.tofile("scale.bin")
    return here


class TestWhatJsonMayOverwrite:
    OURS = b'{"schema_version": 1, "x": 2}   '

    @pytest.fixture
    def results(self) -> list[str]:
        """Return names of one file whose elements look like one of our results."""
        Path("actual.bin").write_bytes(self.OURS)
        os.link("actual.bin", "hard.json")
        Path("link.json").symlink_to("actual.bin")
        np.save("golden.npy", np.frombuffer(self.OURS, np.int8).reshape(4, 8))
        return ["actual.bin", "./actual.bin", "hard.json", "link.json"]

    def test_nothing_that_is_read(self, say: Say, results: list[str]) -> None:
        for name in results:
            for words in (
                ["compare", "actual.bin", "golden.npy"],
                ["compare", "golden.npy", "actual.bin", "--dtype", "int8", "--shape", "4,8"],
                ["compare", "y=golden.npy", *DQ, "golden.y=actual.bin", "--shape", "4,8"],
                ["compare", "y=y.npy", "input=x.npy", *DQ, "smooth_scales=actual.bin"],
                ["inspect", "actual.bin"],
            ):
                status, out, err = say(*words, "--json", name)
                assert (status, out) == (2, ""), words
                assert f"--json would overwrite {name}, which is read" in err
        assert Path("actual.bin").read_bytes() == self.OURS

    def test_nor_an_array_in_an_archive(self, say: Say) -> None:
        np.savez("both.npz", y=Y, z=Y)
        status, _, err = say("compare", "both.npz::y", "y.npy", "--json", "both.npz")
        assert (status, "overwrite both.npz, which is read" in err) == (2, True)

    @pytest.mark.parametrize(
        "content",
        [b"{", b"[1, 2]", b'{"a": 1}', b"{}", b"[]", b'["schema_version": 1]', b"\x00", b"   "],
    )
    @pytest.mark.parametrize(
        "words", [["compare", "same.npy", "y.npy"], ["inspect", "y.npy"], ["info"]]
    )
    def test_nor_what_is_no_result_of_ours(
        self, words: list[str], content: bytes, say: Say
    ) -> None:
        Path("kept").write_bytes(content)
        status, out, err = say(*words, "--json", "kept")
        assert (status, out) == (2, "")
        assert "--json would overwrite kept, which holds no result of npu-quant" in err
        assert Path("kept").read_bytes() == content

    @pytest.mark.parametrize("content", [b"", OURS, b'{\n  "schema_version": 1}'])
    def test_results_of_ours_and_empty_files(self, content: bytes, say: Say) -> None:
        Path("result.json").write_bytes(content)
        for words in (["compare", "same.npy", "y.npy"], ["inspect", "y.npy"], ["info"]):
            assert say(*words, "--json", "result.json")[0] == 0
            json.loads(Path("result.json").read_text())
            assert say(*words, "--json", "result.json")[0] == 0  # again

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            (".", ".: Is a directory"),
            ("", "'': No such file or directory"),
            ("none/a.json", "none/a.json: No such file or directory"),
            ("y.npy/a.json", "y.npy/a.json: Not a directory"),
        ],
    )
    @pytest.mark.parametrize(
        "words", [["compare", "same.npy", "y.npy"], ["info"], ["inspect", "y.npy"]]
    )
    def test_what_cannot_be_written_is_said_before_the_work(
        self, words: list[str], name: str, message: str, say: Say, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise AssertionError("too late")

        monkeypatch.setattr(compare, "run_comparison", fail)
        monkeypatch.setattr(info, "machine", fail)
        said = say(*words, "--json", name)
        assert said == (2, "", f"npu-quant {words[0]}: --json {message}\n")

    @pytest.mark.needs("a user other than root")
    def test_permissions(self, say: Say) -> None:
        Path("result.json").write_bytes(b"")
        Path("result.json").chmod(0o444)
        status, _, err = say("info", "--json", "result.json")
        assert (status, "--json result.json: Permission denied" in err) == (2, True)

    def test_a_full_disk_is_named_and_the_report_is_printed(self, say: Say) -> None:
        status, out, err = say("compare", "same.npy", "y.npy", "--json", "/dev/full")
        assert (status, out.partition(" ")[0]) == (2, "OK")
        assert err == "npu-quant compare: /dev/full: No space left on device\n"
        for words in (["info"], ["inspect", "y.npy"]):
            status, out, err = say(*words, "--json", "/dev/full")
            assert (status, out != "", "/dev/full: No space left" in err) == (2, True, True)

    def test_nothing_is_made_where_nothing_is_compared(self, say: Say, here: Path) -> None:
        assert say("compare", "none.npy", "y.npy", "--json", "result.json")[0] == 2
        assert not (here / "result.json").exists()

    def test_devices_and_pipes(self) -> None:
        command = f"{sys.executable} -m npu_quant compare same.npy y.npy --json "
        done = subprocess.run(
            ["bash", "-c", command + ">(cat >&2)"], capture_output=True, text=True, check=False
        )
        assert (done.returncode, json.loads(done.stderr)["passed"]) == (0, True)
        assert subprocess.run(["sh", "-c", command + "/dev/null"], check=False).returncode == 0


class TestNamesOfFiles:
    @pytest.mark.parametrize("name", ["--quiet", "-x", "--json=a", "-"])
    def test_two_dashes_end_the_options(self, name: str, say: Say) -> None:
        Path("same.npy").rename(name)
        assert say("compare", "--", name, "y.npy")[0] == 0
        assert say("compare", "y.npy", "--atol", "0", "--", name)[0] == 0
        assert say("inspect", "--", name)[0] == 0
        status, _, err = say("compare", "--", name)
        assert (status, "1 given" in err) == (2, True)

    def test_they_are_no_option_s_value(self, say: Say) -> None:
        status, _, err = say("compare", "off.npy", "--json", "--", "y.npy")
        assert (status, "--json: expected one argument" in err) == (2, True)

    def test_inspect_needs_some(self, say: Say) -> None:
        for words in (["inspect"], ["inspect", "--"], ["inspect", "--dtype", "int8", "--"]):
            status, _, err = say(*words)
            assert (status, "FILE" in err, err.count("\n")) == (2, True, 1)


class TestNamesOfParameters:
    @pytest.mark.parametrize("words", [["foo=none.npy"], ["--attr", "foo=1"]])
    def test_unknown_ones_come_first(self, words: list[str], say: Say) -> None:
        """Before files that are too few, and files that are not there."""
        for files in (["y=y.npy", "input=x.npy"], ["y=none.npy", "input=none.npy"], ["y=y.npy"]):
            status, _, err = say("compare", *files, *DQ, *words)
            assert (
                status,
                err.count("\n"),
                "'foo'; it has y, sc" in err or "'foo'; it has input" in err,
            ) == (2, 1, True)

    def test_one_letter_off(self, say: Say) -> None:
        _, _, err = say("compare", "y=y.npy", "input=x.npy", *DQ, "smooth_scale=s.npy")
        assert "no output or input 'smooth_scale'; did you mean smooth_scales?" in err


class TestNamesOfOperators:
    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("dynamic_quant", "npu_dynamic_quant"),
            ("npu_dynamic_quants", "npu_dynamic_quant"),
            ("add_rms_norm_quant", "npu_add_rms_norm_quant"),
            ("NPU_QUANTIZE", "npu_quantize"),
        ],
    )
    @pytest.mark.parametrize("more", [[], ["golden.y=same.npy"], ["--atol", "y=1"]])
    def test_the_nearest_is_named(self, name: str, meant: str, more: list[str], say: Say) -> None:
        status, _, err = say("compare", "y=y.npy", "input=x.npy", "--op", name, *more)
        said = f"op is '{name.rpartition('.')[2]}'; did you mean {meant}"
        assert (status, said in err) == (2, True)
        assert len(err) < 160

    def test_some_are_where_none_is_near(self, say: Say) -> None:
        _, _, err = say("compare", "y=y.npy", "input=x.npy", "--op", "softmax")
        assert "op is 'softmax', expected one of npu_dynamic_quant, " in err
        more = len(operators()) - 4
        assert err.endswith(f" and {more} more that npu-quant compare --help lists.\n")

    def test_the_help_page_has_all(self) -> None:
        page = re.sub(r"\s+", "", compare.parser().format_help())
        assert [name for name in operators() if name not in page] == []

    def test_a_dotted_name_is_one(self, say: Say) -> None:
        assert (
            say("compare", "y=y.npy", "input=x.npy", "--op", "npu_quant.npu_dynamic_quant")[0] == 0
        )


class TestNamesOfCommands:
    CASES = (
        (
            [],
            "npu-quant: a command is missing: compare, inspect, quantize, check, info or aclnn-prefix",
        ),
        (
            ["foo"],
            "npu-quant: 'foo' is not a command; there are compare, inspect, quantize, check, ",
        ),
        (["compares"], "npu-quant: 'compares' is not a command; did you mean compare?"),
        (["explain"], "npu-quant: 'explain' is not a command; did you mean compare --explain?"),
        (["--bogus"], "npu-quant: '--bogus' is not a command; "),
        (["--", "info"], "npu-quant: '--' is not a command; "),
        (["aclnn-prefix", "foo"], "npu-quant aclnn-prefix: unrecognized arguments: foo"),
    )

    @pytest.mark.parametrize(("words", "start"), CASES, ids=str)
    def test_wrong_ones_are_one_line(self, words: list[str], start: str, say: Say) -> None:
        status, out, err = say(*words)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(start)
        assert "--help)\n" in err
