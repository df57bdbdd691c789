"""The pytest plugin: no name of an array, a test or a folder makes it take one for another."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from plugin_sessions import Session, arrays_in, command_in, text_of

from npu_quant import cli
from npu_quant._shell import quoted
from npu_quant.pytest_plugin import archive
from npu_quant.pytest_plugin.folders import safe
from npu_quant.pytest_plugin.keeping import member

pytest_plugins = ["pytester", "plugin_sessions"]

CACHE = ".pytest_cache/d/npu_quant"


class TestStored:
    @pytest.mark.parametrize("arrays", ["{1: Y, '1': WRONG}", "{'1': Y, 1: WRONG}"])
    def test_two_arrays_of_a_name_are_refused(
        self, session: Session, folder: Path, arrays: str
    ) -> None:
        result = session(
            f"def test_it(npu_golden): npu_golden.stored({arrays})", "--npu-golden-update", failed=1
        )
        assert "ParamError: npu_golden.stored: two arrays would be stored as '1'" in text_of(result)
        assert arrays_in(folder) == []

    def test_two_of_one_of_the_given_names_too(self, session: Session) -> None:
        call = "npu_golden.stored((Y, WRONG), names=('a', 'a'))"
        result = session(f"def test_it(npu_golden): {call}", "--npu-golden-update", failed=1)
        assert "ParamError: names has a name twice: a, a." in text_of(result)

    def test_one_that_is_not_there_takes_no_name(self, session: Session) -> None:
        source = "def test_it(npu_golden): npu_golden.stored({1: None, '1': Y})"
        session(source, "--npu-golden-update", passed=1)

    @pytest.mark.parametrize("name", ["y.npy", "y.dtype", ".npy", "a\0b", "\udc80"])
    def test_a_name_that_a_file_cannot_hold_is_refused(
        self, session: Session, folder: Path, name: str
    ) -> None:
        source = f"def test_it(npu_golden): npu_golden.stored({{'y': Y, {name!r}: WRONG}})"
        result = session(source, "--npu-golden-update", failed=1)
        assert f"ParamError: npu_golden.stored: an array is named {name!r}" in text_of(result)
        assert arrays_in(folder) == []

    @pytest.mark.parametrize("name", ["a::b", "a/b", "../y", "a b", "ä", "y.npy.", "dtype"])
    def test_any_other_is_read_back(self, session: Session, name: str) -> None:
        source = f"def test_it(npu_golden): npu_golden.stored({{'y': Y, {name!r}: WRONG}})"
        session(source, "--npu-golden-update", passed=1)
        session(source, passed=1)
        session(source.replace("WRONG", "TIE"), failed=1)


class TestArchive:
    def test_members_are_read_by_their_exact_names(self, tmp_path: Path) -> None:
        arrays = {"y": np.int8([1, 2]), "y.npy": np.int8([3]), "z.npy": np.float32([4])}
        archive.write(tmp_path / "a.npz", arrays)
        held = archive.read(tmp_path / "a.npz")
        assert {name: array.tolist() for name, array in held.items()} == {
            "y": [1, 2],
            "y.npy": [3],
            "z.npy": [4.0],
        }


class TestFolders:
    def test_an_id_that_looks_like_a_digest_has_one_too(self) -> None:
        taken = safe("test_it[a/b]")
        assert taken.startswith("test_it-a_b-")
        other = safe(f"test_it[a_b-{taken[-8:]}]")
        assert other != taken
        assert other.startswith(f"{taken}-")

    @pytest.mark.parametrize(
        ("one", "other"), [("a[b]", "a-b"), ("a[b]-c", "a-b-c"), ("a[]", "a-"), ("a/b", "a_b")]
    )
    def test_no_two_names_have_one_folder(self, one: str, other: str) -> None:
        assert safe(one) != safe(other)

    @pytest.mark.parametrize("name", ["..", ".", "../..", "", "-x"])
    def test_no_name_leads_elsewhere(self, name: str) -> None:
        assert safe(name)[-9:-8] == "-"
        assert "/" not in safe(name)


class TestCommand:
    @pytest.mark.parametrize("name", ["a::b", "::", "y.npy", "a\nb", "\x1b[31m", "a\0b", "ä/b"])
    def test_it_finds_the_array_of_any_name(
        self, session: Session, folder: Path, capsys: pytest.CaptureFixture[str], name: str
    ) -> None:
        result = session(
            f"def test_it(npu_golden): npu_golden({{{name!r}: WRONG}}, {{{name!r}: Y}})", failed=1
        )
        command = command_in(result)
        assert command.isprintable()
        words = shlex.split(command)
        assert [word.count("::") for word in words[2:4]] == [1, 1]
        capsys.readouterr()
        assert cli.main(words[1:]) == 1
        assert "1 of 4 codes differs" in capsys.readouterr().out

    def test_names_that_look_alike_are_told_apart(self, session: Session, folder: Path) -> None:
        session("def test_it(npu_golden): npu_golden({1: Y, '1': WRONG}, {1: Y + 0, '1': Y})")
        held = archive.read(folder / CACHE / "test_it/test_it/1.npz")
        assert len(held) == 4

    def test_a_plain_name_stays(self) -> None:
        assert member("actual", "y_1.a") == "actual.y_1.a"
        assert member("actual", "") == "actual"
        for name in ("a::b", "a_b-01234567", "y.npy", "y.dtype", 1, "é"):
            assert member("actual", name)[-9:-8] == "-"

    @pytest.mark.parametrize(
        ("text", "as_written"),
        [
            ("a/b.npz::y", "a/b.npz::y"),
            ("a b", "'a b'"),
            ("ä", "'ä'"),
            ("a\nb", r"$'a\nb'"),
            ("\x1b[1m", r"$'\x1b[1m'"),
            ("it's\t\\", r"$'it\'s\x09\\'"),
            ("\udcff!", r"$'\xff!'"),
            ("\u202e", r"$'\xe2\x80\xae'"),
        ],
    )
    def test_a_word_is_one_line_that_a_shell_reads(self, text: str, as_written: str) -> None:
        assert quoted(text) == as_written
        assert as_written.isprintable()
        shell = ["bash", "-c", f"printf %s {as_written}"]
        run = subprocess.run(shell, capture_output=True, check=True)
        assert run.stdout == text.encode(errors="surrogateescape")

    def test_folders_of_any_name(self, session: Session, folder: Path) -> None:
        keep = "\x1b[1m\nkeep"
        result = session(
            "def test_it(npu_golden): npu_golden(WRONG, Y)", f"--npu-golden-keep={keep}"
        )
        command = command_in(result)
        assert r"$'\x1b[1m\nkeep/test_it/test_it/1.npz::actual'" in command
        result = session(
            "def test_it(npu_golden): npu_golden.stored(Y)", f"--npu-golden-dir={keep}"
        )
        line = next(x for x in result.outlines if "pytest --npu-golden-update" in x)
        assert line.endswith(r"--npu-golden-dir $'\x1b[1m\nkeep' test_it.py::test_it")
