"""Tensors in .safetensors, bare .bin and ATB's; and what all kinds of files have in common."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from golden_files import archive, check, npy, put, refusal, safetensors, some

from npu_quant.files import (
    FileError,
    FileSource,
    list_arrays,
    load,
    same_file,
)
from npu_quant.files.common import clean
from npu_quant.golden.sources import ArraySource

SAFETENSORS = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
}


def entry(dtype: object, shape: object, *offsets: object) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}


class TestSafetensors:
    def test_every_dtype(self, tmp_path: Path) -> None:
        entries, data, arrays = {"__metadata__": {"format": "pt"}}, b"", {}
        for at, (kind, dtype) in enumerate(SAFETENSORS.items()):
            arrays[kind] = x = some((3, at % 3), dtype)
            entries[kind] = entry(kind, list(x.shape), len(data), len(data) + x.nbytes)
            data += x.tobytes()
        path = put(tmp_path / "x.safetensors", safetensors(entries, data))
        for kind, x in arrays.items():
            check(load(path, key=kind), x)
        assert sorted(list_arrays(path)) == sorted(
            (kind, SAFETENSORS[kind], x.shape) for kind, x in arrays.items()
        )
        check(load(path, key="U16", dtype="bf16"), arrays["U16"].view(ml_dtypes.bfloat16))
        assert "choose one by its key" in refusal(path)
        assert "has no array 'F4'" in refusal(path, key="F4")

    def test_one_needs_no_key_and_half_bytes_stay_packed(self, tmp_path: Path) -> None:
        path = put(
            tmp_path / "x.safetensors", safetensors({"a": entry("F4", [2, 4], 0, 4)}, b"abcd")
        )
        check(load(path), np.frombuffer(b"abcd", np.uint8).reshape(2, 2))
        path = put(
            tmp_path / "x.safetensors", safetensors({"a": entry("F4", [4, 3], 0, 6)}, b"abcdef")
        )
        assert "an odd number to a row" in refusal(path)
        path = put(
            tmp_path / "x.safetensors", safetensors({"a": entry("C64", [1], 0, 8)}, bytes(8))
        )
        assert "has dtype C64, which is not one of numbers" in refusal(path)
        assert list_arrays(path) == [("a", "C64", (1,))]

    @pytest.mark.parametrize(
        ("entries", "data", "text"),
        [
            ({"a": entry("U8", [4], 0, 4)}, 4, None),
            (
                {
                    "a": entry("U8", [2], 0, 2),
                    "b": entry("U8", [2], 2, 4),
                    "c": entry("U8", [0], 2, 2),
                },
                4,
                None,
            ),
            ({"a": entry("U8", [4], 0, 4)}, 3, "its tensors exceed the file, at a: bytes 0 to 4"),
            ({"a": entry("U8", [4], 0, 4)}, 5, "has 5 bytes of elements, its header says 4"),
            ({"a": entry("U8", [3], 0, 3), "b": entry("U8", [2], 2, 4)}, 4, "overlap, at b"),
            ({"a": entry("U8", [4], 0, 4), "b": entry("U8", [4], 0, 4)}, 4, "overlap, at b"),
            ({"a": entry("U8", [1], 0, 1), "b": entry("U8", [2], 2, 4)}, 4, "leave a hole, at b"),
            ({"a": entry("U8", [3], 1, 4)}, 4, "leave a hole, at a"),
            ({"a": entry("U8", [4], 4, 0)}, 4, "needs 4 bytes, its data_offsets are [4, 0]"),
            ({"a": entry("U8", [3], 0, 4)}, 4, "needs 3 bytes, its data_offsets are [0, 4]"),
            ({"a": entry("F4", [3], 0, 2)}, 2, "needs 1 bytes"),
            ({"a": entry("U8", [-4], 0, 4)}, 4, "malformed shape or data_offsets"),
            ({"a": entry("U8", [4.0], 0, 4)}, 4, "malformed shape or data_offsets"),
            ({"a": entry("U8", [True], 0, 1)}, 1, "malformed shape or data_offsets"),
            ({"a": entry("U8", 4, 0, 4)}, 4, "malformed shape or data_offsets"),
            ({"a": entry("U8", [4], 0, 4, 4)}, 4, "malformed shape or data_offsets"),
            ({"a": entry("U8", [4], -1, 3)}, 4, "malformed shape or data_offsets"),
            ({"a": entry("U8", [4], "0", "4")}, 4, "malformed shape or data_offsets"),
            ({"a": entry("U8", [1 << 62, 1 << 62], 0, 4)}, 4, "shape beyond all memory"),
            ({"a": entry("U8", [0, 1 << 63], 0, 0)}, 0, "shape beyond all memory"),
            ({"a": entry("U8", [1] * 33, 0, 1)}, 1, "33 axes"),
            ({"a": entry("U9", [4], 0, 4)}, 4, "unknown dtype U9"),
            ({"a": entry(["U8"], [4], 0, 4)}, 4, "unknown dtype"),
            ({"a": {"dtype": "U8", "shape": [4]}}, 4, "has not dtype, shape and data_offsets"),
            ({"a": entry("U8", [4], 0, 4) | {"x": 1}}, 4, "has not dtype, shape and data_offsets"),
            ({"a": [1]}, 4, "has not dtype, shape and data_offsets"),
            ({"__metadata__": {"a": 1}}, 0, "__metadata__ that is not text by name"),
            ({"__metadata__": "a"}, 0, "__metadata__ that is not text by name"),
            ({}, 0, "has no arrays in it"),
            ('{"b": 1, "a": 1, "a": 1}', 4, "malformed header: 'a' occurs in it twice"),
            ('{"a": NaN}', 4, "malformed header: NaN is not JSON"),
            ('{"a": ' + "[" * 100_000, 4, "malformed header"),
            ('{"a": ' + "1" * 5000 + "}", 4, "malformed header"),
            ('{"a": "\xff', 4, "malformed header"),
            ('{"a": 1} x', 4, "malformed header"),
            ("[1]", 4, "it does not begin with {"),
            (" {}", 0, "it does not begin with {"),
        ],
    )
    def test_headers(self, tmp_path: Path, entries: Any, data: int, text: str | None) -> None:
        path = put(tmp_path / "x.safetensors", safetensors(entries, bytes(data)))
        if text is None:
            check(load(path, key="a"), np.zeros(load(path, key="a").shape, np.uint8))
        else:
            assert text in refusal(path)

    @pytest.mark.parametrize("length", [0, 1, 10_000, 100_000_001, 1 << 63, (1 << 64) - 1])
    def test_lengths(self, tmp_path: Path, length: int) -> None:
        data = safetensors({"a": entry("U8", [4], 0, 4)}, bytes(4), length)
        assert "its length does not fit the file" in refusal(put(tmp_path / "x.safetensors", data))


class TestRaw:
    @pytest.mark.parametrize(
        "dtype", ["int8", "uint16", "float32", "bfloat16", "float8_e5m2", "int64"]
    )
    def test_dtype_and_shape_are_said(self, tmp_path: Path, dtype: str) -> None:
        x = some((3, 5), dtype)
        path = put(tmp_path / "x.bin", x.tobytes())
        check(load(path, dtype=dtype, shape=(3, 5)), x)
        check(load(path, dtype=np.dtype(dtype), shape=[15]), x.reshape(15))
        assert list_arrays(path) == [("", "bytes", (x.nbytes,))]

    def test_int4_stands_two_to_a_byte(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.bin", b"\x10\xf8\x7f\x00")
        codes = np.array([[0, 1, -8, -1], [-1, 7, 0, 0]], np.int8)
        check(load(path, dtype="int4", shape=(2, 4)), codes)
        assert "int4 needs an even last axis" in refusal(path, dtype="int4", shape=(8, 1))
        check(load(path, dtype="hifloat8", shape=(4,)), np.array([0x10, 0xF8, 0x7F, 0], np.uint8))

    @pytest.mark.parametrize(
        ("how", "text"),
        [
            (
                {},
                "say its dtype and shape (dtype=, shape=). 24 bytes are 24 of int8, 12 of float16 or bfloat16, 6 of float32, 3 of int64",
            ),
            ({"dtype": "bf16"}, "say its shape (dtype=, shape=). 24 bytes are 12 of bfloat16"),
            ({"dtype": "int4"}, "24 bytes are 48 of int4"),
            ({"dtype": "float8"}, "is not known"),
            (
                {"shape": (3, 4)},
                "say its dtype (dtype=, shape=). 24 bytes for the shape (3, 4) fit float16 or bfloat16",
            ),
            ({"shape": (48,)}, "fit int4"),
            ({"shape": (5,)}, "fit no dtype"),
            ({"shape": (0,)}, "fit no dtype"),
            ({"dtype": "int8", "shape": (23,)}, "has 24 bytes of elements; int8 (23,) has 23"),
            ({"dtype": "int8", "shape": (25,)}, "has 24 bytes of elements; int8 (25,) has 25"),
            ({"dtype": "int8", "shape": (-24,)}, "negative axis"),
            ({"dtype": "int8", "shape": (-4, -6)}, "negative axis"),
            ({"dtype": "int8", "shape": 24}, "shape is 24, not a tuple of integers"),
            ({"dtype": "int8", "shape": (24.0,)}, "not a tuple of integers"),
            ({"dtype": "int64", "shape": (1 << 61,)}, "beyond all memory"),
            (
                {"dtype": "int8", "shape": (24,), "key": "x"},
                "has one array, without a key; 'x' was asked for",
            ),
        ],
    )
    def test_what_is_missing_or_wrong(self, tmp_path: Path, how: dict, text: str) -> None:
        assert text in refusal(put(tmp_path / "x.bin", bytes(24)), **how)


HEADER = "$Version=1.0\n$Object.Count=1\n$Object.Length=24\nformat=2\ndtype=1\ndims=3,4\n$Object.data=0,24\n$End=1\n"


class TestAtb:
    @pytest.mark.parametrize(
        ("code", "dtype", "dims"),
        [
            (0, "float32", "3,2"),
            (1, "float16", "3,4"),
            (27, "bfloat16", "2,3,2"),
            (2, "int8", "24"),
            (29, None, "6,8"),
        ],
    )
    def test_dtypes(self, tmp_path: Path, code: int, dtype: str, dims: str) -> None:
        data = some((24,), "uint8")
        head = HEADER.replace("dtype=1", f"dtype={code}").replace("3,4", dims).encode()
        with load(put(tmp_path / "x.bin", head + data.tobytes())) as actual:
            shape = tuple(map(int, dims.split(",")))
            assert actual.shape == shape
            if dtype is not None:
                check(actual, data.view(dtype).reshape(shape))
            else:
                assert actual.read(1, 2)[0] == data.view(np.int8)[0] >> 4
                assert list_arrays(tmp_path / "x.bin") == [("", "int4", (6, 8))]

    @pytest.mark.parametrize(
        ("old", "new", "text"),
        [
            ("$End=1\n", "", "without its last line"),
            ("dims=3,4\n", "", "dtype or dims are missing or malformed"),
            ("dims=3,4", "dims=3,-4", "dtype or dims are missing or malformed"),
            ("dims=3,4", "dims=" + "9" * 30, "dtype or dims are missing or malformed"),
            ("dims=3,4", "dims=3,5", "has 24 bytes of elements; float16 (3, 5) has 30"),
            ("dims=3,4", "dims=" + ",".join(["9" * 19] * 9), "beyond all memory"),
            ("dtype=1\n", "dtype=99\n", "unknown dtype 99"),
            ("dtype=1\n", "dtype=x\n", "dtype or dims are missing or malformed"),
            ("Length=24", "Length=25", "has 24 bytes of elements, its header says 25"),
        ],
    )
    def test_malformed(self, tmp_path: Path, old: str, new: str, text: str) -> None:
        check(
            load(put(tmp_path / "x.bin", HEADER.encode() + bytes(24))), np.zeros((3, 4), np.float16)
        )
        assert text in refusal(
            put(tmp_path / "x.bin", HEADER.replace(old, new).encode() + bytes(24))
        )


class TestAnyFile:
    def test_what_cannot_be_opened(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert "No such file" in refusal(tmp_path / "none.npy")
        assert "is not a regular file" in refusal(tmp_path)
        assert "is not a regular file" in refusal(tmp_path / "pipe")
        with pytest.raises(FileError, match="null byte"):
            load("x\0.npy")

    def test_a_name_that_cannot_be_printed_and_a_long_one(self, tmp_path: Path) -> None:
        path = put(tmp_path / ("a\n\x1b[31m" + "b" * 200 + ".npy"), b"")
        for read in (load, list_arrays):
            with pytest.raises(FileError) as caught:
                read(path)
            assert str(caught.value).isprintable()
            assert len(str(caught.value)) < 300
            assert str(caught.value).endswith("bbb.npy: does not begin as a .npy file does")
        keys = {f"{i}\n{'k' * 500}.npy": npy(np.zeros(1, np.int8)) for i in range(20)}
        assert "and 12 more" in refusal(put(tmp_path / "x.npz", archive(keys)))
        eight = {f"{i}.npy": npy(np.zeros(1, np.int8)) for i in range(8)}
        assert refusal(put(tmp_path / "y.npz", archive(eight))).endswith(": 0, 1, 2, 3, 4, 5, 6, 7")
        assert (clean("x" * 10, 10), clean("x" * 11, 10)) == ("x" * 10, "xxx...xxx")

    def test_the_shape_may_be_said_and_must_hold(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.npy", npy(np.zeros((2, 3), np.int8)))
        check(load(path, shape=(2, 3)), np.zeros((2, 3), np.int8))
        assert "has the shape (2, 3), not (3, 2)" in refusal(path, shape=(3, 2))

    def test_the_kind_is_told_by_the_first_bytes(self, tmp_path: Path) -> None:
        x = some((2, 3), "float32")
        check(load(put(tmp_path / "x.dump", npy(x))), x)
        check(load(put(tmp_path / "x.bin", archive({"y.npy": npy(x)}))), x)
        assert "is not a zip archive" in refusal(put(tmp_path / "x.npz", npy(x)[1:]))

    def test_reading_beyond_the_end_and_after_closing(self, tmp_path: Path) -> None:
        actual = load(put(tmp_path / "x.npy", npy(np.zeros(4, np.int8))))
        for begin, end in [(0, 5), (-1, 2), (3, 2)]:
            with pytest.raises(IndexError, match="of 4 were asked for"):
                actual.read(begin, end)
        actual.close()
        actual.close()
        with pytest.raises(FileError, match="is closed"):
            actual.array()

    @pytest.mark.parametrize("kind", ["npy", "npz", "safetensors", "bin"])
    def test_a_file_that_becomes_shorter_is_an_error(self, tmp_path: Path, kind: str) -> None:
        x = some((1000, 40), "uint8")
        data = {"npy": npy(x), "npz": archive({"x.npy": npy(x)}), "bin": x.tobytes()}
        data["safetensors"] = safetensors({"x": entry("U8", [1000, 40], 0, 40_000)}, x.tobytes())
        path = put(tmp_path / f"x.{kind}", data[kind])
        with load(path, dtype="uint8", shape=x.shape) as actual:
            assert actual.read(0, 40).size == 40
            os.truncate(path, 20_000)
            with pytest.raises(FileError, match="ends at byte 20000, of 40"):
                actual.array()

    def test_files_are_closed(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.npz", archive({"x.npy": npy(np.zeros(4, np.int8)), "y.npy": b""}))

        def opened() -> int:
            links = (f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd"))
            return sum(os.path.exists(n) and os.path.samefile(n, path) for n in links)

        with load(path, key="x"):
            assert opened() == 1
        assert opened() == 0
        kept = load(path, key="x")
        assert opened() == 1
        del kept
        assert opened() == 0
        for wrong in ({"key": "y"}, {"key": "z"}, {"key": "x", "dtype": "fp32"}, {}):
            with pytest.raises(FileError) as caught:
                load(path, **wrong)
            assert opened() == 0, caught
        with pytest.raises(TypeError):
            load(path, key="x", dtype=1.5)  # type: ignore[arg-type]
        assert len(list_arrays(path)) == 2
        assert opened() == 0
        with pytest.raises(FileError):
            list_arrays(put(path, archive({"y.npy": b""})))
        assert opened() == 0

    def test_same_file(self, tmp_path: Path) -> None:
        data = archive({"x.npy": npy(np.zeros(4, np.int8)), "y.npy": npy(np.zeros(4, np.int8))})
        path, copy = put(tmp_path / "x.npz", data), put(tmp_path / "y.npz", data)
        (tmp_path / "link").symlink_to(path)
        os.link(path, tmp_path / "hard")
        x = load(path, key="x")
        assert same_file(x, x)
        assert same_file(x, load(tmp_path / "link", key="x.npy"))
        assert same_file(x, load(tmp_path / "hard", key="x", dtype="uint8"))
        assert not same_file(x, load(path, key="y"))
        assert not same_file(x, load(copy, key="x"))
        assert not same_file(x, ArraySource(x.array()))
        assert (x.name, x.path, x.key) == (f"{path}:x", str(path), "x")
        assert load(put(tmp_path / "z.npy", npy(np.zeros(1)))).name == str(tmp_path / "z.npy")

    def test_any_order_is_put_in_order(self, tmp_path: Path) -> None:
        for shape in [(7, 5), (2, 3, 4), (1, 9), (9, 1), (2, 1, 3, 2)]:
            for dtype in ("int8", ">i4"):
                x = np.asfortranarray(some(shape, dtype))
                source = load(put(tmp_path / "x.npy", npy(x)))
                check(source, np.ascontiguousarray(x).astype(x.dtype.newbyteorder("=")))
                # What was read is the reader's own.
                source.read(0, 3)[:] = 0
                assert np.array_equal(source.array(), x)


LAZY = """
import sys, numpy as np
from npu_quant.files import load
# Its own: ru_maxrss begins at the peak of the process which started it.
status = lambda: open("/proc/self/status").read().split()
peak = lambda: int(status()[status().index("VmHWM:") + 1])
how = {"dtype": "int8", "shape": (1 << 29,)} if sys.argv[1].endswith("bin") else {}
before = peak()
with load(sys.argv[1], **how) as x:
    size = int(np.prod(x.shape))
    step = 1 << 20 if sys.argv[1].endswith("npy") else 1 << 25
    assert not any(x.read(i, i + (1 << 20)).any() for i in range(0, size, step))
assert size == 1 << 29
print(peak() - before)
"""


def test_half_a_gigabyte_is_read_in_little_memory(tmp_path: Path) -> None:
    size = 1 << 29
    heads = {
        "npy": npy(np.zeros(0, np.int8)).replace(
            b"(0,), }" + b" " * 8, f"({size},), }}".encode().ljust(15)
        ),
        "safetensors": safetensors({"x": entry("I8", [size], 0, size)}),
        "bin": b"",
    }
    for kind, head in heads.items():
        path = put(tmp_path / f"x.{kind}", head)
        os.truncate(path, len(head) + size)
        run = subprocess.run(
            [sys.executable, "-c", LAZY, path], capture_output=True, text=True, check=True
        )
        assert int(run.stdout) < 50_000, kind


def test_a_source_is_a_source(tmp_path: Path) -> None:
    actual = load(put(tmp_path / "x.npy", npy(np.zeros((2, 3), np.int8))))
    assert isinstance(actual, FileSource)
    folder = str(tmp_path)  # of a long path the middle is left out
    assert repr(actual).startswith(f"<{folder[:20]}")
    assert repr(actual).endswith("/x.npy: int8[2, 3]>")
