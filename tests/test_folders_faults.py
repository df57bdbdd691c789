"""compare_folders where folders and files are not as they should be, or larger than the memory."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from as_line import as_line
from folders import A, B, changed, save
from golden_files import npy, put
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_quant.errors import ParamError
from npu_quant.files import FileError
from npu_quant.golden import compare_folders


class TestFaults:
    def test_a_folder_that_is_not_there(self, sides: tuple[Path, Path]) -> None:
        for wrong in ((sides[0], "none"), ("none", sides[1])):
            with pytest.raises(FileNotFoundError) as caught:
                compare_folders(*wrong)
            assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, "none")

    def test_nothing_compared_is_no_pass(self, sides: tuple[Path, Path]) -> None:
        with pytest.raises(ParamError, match=r"has no arrays\. Nothing compared is not a pass"):
            compare_folders(*sides)
        save(sides[0], a=A)
        put(sides[1] / "notes.txt", b"no array")
        with pytest.raises(ParamError, match=f"{sides[1]} has no arrays"):
            compare_folders(*sides)
        save(sides[1], b=A)
        with pytest.raises(ParamError, match=r"no name is in both folders.*actual has a\.npy"):
            compare_folders(*sides)

    def test_itself(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], a=A)
        (sides[0].parent / "link").symlink_to(sides[0])
        for same in (sides[0], sides[0].parent / "link"):
            with pytest.raises(ParamError, match="would be compared with itself"):
                compare_folders(sides[0], same)

    def test_a_file_against_a_folder(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], a=A)
        with pytest.raises(ParamError, match=r"a\.npy is a file, .*cpu is a folder"):
            compare_folders(sides[0] / "a.npy", sides[1])

    def test_one_file_in_both_folders_does_not_pass(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, a=A)
        save(sides[0], b=A)
        (sides[1] / "b.npy").symlink_to(sides[0] / "b.npy")
        found = compare_folders(*sides)
        assert [row.passed for row in found.rows] == [True, False]
        assert found.rows[1].problem == "both are the same file, which equals itself"

    def test_a_file_that_is_no_array(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, a=A)
            for bad in ("y.npy", "y.pt", "y.safetensors"):
                put(side / bad, b"not an array, whatever it is called")
        found = compare_folders(*sides)
        assert [row.passed for row in found.rows] == [True, False, False, False]
        assert all(row.problem for row in found.rows[1:])
        assert not compare_folders(*sides).passed

    def test_text_and_objects(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, a=A, text=np.array(["x"]))
        problem = compare_folders(*sides).rows[1].problem or ""
        assert "which is not one of numbers" in problem

    def test_a_damaged_member_is_a_row(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            np.savez(side / "w.npz", good=A, bad=B)
        data = (sides[0] / "w.npz").read_bytes()
        put(sides[0] / "w.npz", data.replace(B.tobytes(), changed(B).tobytes()))
        found = compare_folders(*sides)
        assert {row.name: row.passed for row in found.rows} == {"w::good": True, "w::bad": False}
        assert found.first is not None
        assert "wrong CRC-32" in (found.first.problem or "")

    def test_links_in_a_circle(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, deep__a=A)
            (side / "deep" / "again").symlink_to(side)
            (side / "self.npy").symlink_to("self.npy")
            (side / "gone.npy").symlink_to("nowhere.npy")
        found = compare_folders(*sides)
        assert {row.name: row.passed for row in found.rows} == {
            "deep/a": True,
            "self": False,
            "gone": False,
        }
        assert "deep/again (a link to a folder that it is in)" in as_line(found)

    def test_links_to_other_folders_are_followed(self, sides: tuple[Path, Path]) -> None:
        elsewhere = sides[0].parent / "elsewhere"
        elsewhere.mkdir()
        save(elsewhere, a=changed(A))
        (sides[0] / "rank0").symlink_to(elsewhere)
        save(sides[1], rank0__a=A)
        assert [row.passed for row in compare_folders(*sides).rows] == [False]

    @pytest.mark.needs("a user other than root")
    def test_what_may_not_be_read(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, a=A, b=A, deep__c=A)
        (sides[0] / "a.npy").chmod(0)
        found = compare_folders(*sides)
        assert [row.passed for row in found.rows] == [False, True, True]
        assert "Permission denied" in (found.rows[0].problem or "")
        (sides[0] / "deep").chmod(0)
        try:
            with pytest.raises(FileError, match="cannot be listed: Permission denied"):
                compare_folders(*sides)
        finally:
            (sides[0] / "deep").chmod(0o700)

    def test_names_that_no_terminal_should_get(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, a=A)
        (sides[0] / "\x1b[31m.npy").write_bytes(npy(A))
        os.symlink("a.npy", os.fsencode(sides[0]) + b"/\xff.npy")
        found = compare_folders(*sides)
        assert [one.file for one in found.only_actual] == [r"\x1b[31m.npy", r"\xff.npy"]
        assert str(found).replace("\n", "").isprintable()
        json.dumps(found.to_dict())


class TestWhatFilesDoNotSay:
    def test_raw_files_with_what_lies_beside_them(self, sides: tuple[Path, Path]) -> None:
        for side, name in zip(sides, ("y.json", "y.bin.json"), strict=True):
            put(side / "y.bin", A.tobytes())
            put(side / name, b'{"dtype": "torch.int8", "shape": [3, 4]}')
        found = compare_folders(*sides)
        assert found.passed
        assert (found.rows[0].dtype, found.rows[0].shape) == ("int8", (3, 4))
        assert found.passed_over == ()

    def test_raw_actual_files_are_like_their_golden(self, sides: tuple[Path, Path]) -> None:
        put(sides[0] / "y.bin", A.tobytes())
        save(sides[1], y=A)
        assert compare_folders(*sides).passed
        put(sides[0] / "y.bin", A.tobytes()[1:])
        problem = compare_folders(*sides).rows[0].problem or ""
        assert "has 11 bytes of elements; int8 (3, 4) has 12" in problem

    def test_raw_files_of_which_nothing_is_known_fail(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            put(side / "y.bin", A.tobytes())
        assert "say its dtype and shape" in (compare_folders(*sides).rows[0].problem or "")

    @pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
    def test_floats_as_numpy_saves_them(self, dtype: str, sides: tuple[Path, Path]) -> None:
        x = B.astype(dtype)
        for side in sides:
            save(side, x=x)
        found = compare_folders(*sides)
        if dtype == "float8_e4m3fn":
            assert "say which with dtype=" in (found.rows[0].problem or "")
        found = compare_folders(*sides, dtype=dtype) if found.rows[0].problem else found
        assert found.passed
        assert found.rows[0].dtype == dtype


class TestWhatProvesNothing:
    def test_constants_among_others_are_counted(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, a=A, mask=np.ones(9, bool), none=np.zeros((0, 3), np.int8), one=np.int64(3))
        found = compare_folders(*sides)
        assert found.passed
        assert found.refusal is None
        assert [row.proves for row in found.rows] == [True, False, False, True]
        assert "which prove little: 2 arrays" in str(found)

    def test_nothing_but_constants_is_refused(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, mask=np.ones(9, bool))
        found = compare_folders(*sides)
        assert found.passed
        assert "every golden is empty or the same value everywhere" in (found.refusal or "")
        save(sides[0], mask=np.zeros(9, bool))
        assert compare_folders(*sides).refusal is None  # a failure outranks it


def spoil(path: Path, how: str) -> None:
    """Damage a file of the actual side."""
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "renamed":
        path.rename(path.with_name(f"not_{path.name}"))
    elif how == "cut":
        path.write_bytes(data[:-1])
    elif how == "a bit":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif how == "dtype":
        np.save(path, np.load(path).view(np.uint8))
    elif how == "shape":
        np.save(path, np.load(path)[None])
    else:
        path.write_bytes(b"")


SPOILED = ("gone", "renamed", "cut", "a bit", "dtype", "shape", "empty")


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.integers(0, 7), st.sampled_from(SPOILED)), st.data())
def test_whatever_is_spoiled_fails_and_nothing_else(spoiled: dict[int, str], data: Any) -> None:
    with tempfile.TemporaryDirectory() as work:
        sides = Path(work, "npu"), Path(work, "cpu")
        for side in sides:
            side.mkdir()
            save(side, **{f"y{n}": np.roll(A, n) for n in range(8)}, sure=B)
        for number, how in spoiled.items():
            spoil(sides[0] / f"y{number}.npy", how)
        found = compare_folders(*sides, atol=data.draw(st.sampled_from([None, 0.0])))
        lost = {n for n, how in spoiled.items() if how in ("gone", "renamed")}
        assert {row.name for row in found.failing} == {f"y{n}" for n in spoiled.keys() - lost}
        assert {one.name for one in found.only_golden} == {f"y{n}" for n in lost}
        assert len(found.only_actual) == [*spoiled.values()].count("renamed")
        assert found.passed == (not spoiled)


TENSORS = st.fixed_dictionaries(
    {
        "data_name": st.sampled_from(["a.npy", "gone.npy", "", "..", "/", "\0", "b/c.npy"])
        | st.text()
    },
    optional={"dtype": st.text() | st.integers(), "shape": st.lists(st.integers()) | st.none()},
)
VALUES = st.recursive(
    st.none() | st.integers() | st.floats() | st.text() | TENSORS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["input_args", "input_kwargs", "input", "output", "parameters", "value"])
CALLS = st.sampled_from(["a.0.forward", "b.0.forward", "c/d", ""]) | st.text()


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(CALLS, st.dictionaries(KEYS, VALUES) | VALUES, max_size=4),
    st.dictionaries(CALLS, CALLS | VALUES, max_size=4),
)
def test_whatever_dump_json_says_the_arrays_are_compared(data: Any, parents: Any) -> None:
    with tempfile.TemporaryDirectory() as work:
        sides = Path(work, "npu"), Path(work, "cpu")
        for side in sides:
            side.mkdir()
            save(side, a=A, b=changed(A) if side is sides[0] else A)
            (side / "dump.json").write_text(json.dumps({"data": data}))
            (side / "construct.json").write_text(json.dumps(parents))
        found = compare_folders(*sides)
        # dump.json may name a file that is not there as one that is.
        assert any(row.passed for row in found.rows if row.name == "a")
        assert not any(row.passed for row in found.rows if row.name == "b")
        found.to_html()
        json.dumps(found.to_dict(), allow_nan=False)


LARGE = """
import resource, sys
from npu_quant.golden import compare_folders
resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))
found = compare_folders(*sys.argv[1:])
page = found.to_html()
# Its own peak: ru_maxrss begins at that of the process which started it.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print([row.rung for row in found.rows], peak.split()[1])
"""


def test_what_is_larger_than_the_memory(sides: tuple[Path, Path]) -> None:
    """Four files of 256 MB, mostly holes, in a process that may have 200 MB."""
    rows = 256 << 10
    for side in sides:
        for name in ("same", "wrong"):
            with open(side / f"{name}.npy", "wb") as file:
                header = {"descr": "|i1", "fortran_order": False, "shape": (rows, 1024)}
                np.lib.format.write_array_header_1_0(file, header)
                file.truncate(file.tell() + rows * 1024)
                file.seek(-1024, os.SEEK_END)
                last = np.arange(1024).astype(np.int8)
                file.write((last + (name == "wrong" and side is sides[0])).tobytes())
    done = subprocess.run(
        [sys.executable, "-c", LARGE, *sides], capture_output=True, text=True, check=True
    )
    rungs, size = done.stdout.rsplit(" ", 1)
    assert rungs == "['identical', 'different']"
    assert int(size) < 200 << 10
