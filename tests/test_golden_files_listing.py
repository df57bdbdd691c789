"""What is in a file of several arrays, one of which is damaged; names; and many tensors."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from golden_files import (
    archive,
    check,
    npy,
    npy_by_hand,
    put,
    refusal,
    safetensors,
    some,
    storage,
    tensor,
    torch_file,
)

from npu_quant.files import FileError, list_arrays, load
from npu_quant.files import safetensors as safetensors_file
from npu_quant.files.common import clean

X = some((3, 4), "float32")


class TestDamaged:
    """One damaged array does not hide the others."""

    @pytest.mark.parametrize(
        ("bad", "fault"),
        [
            (b"", "b.npy does not begin as a .npy file does"),
            (npy(X)[:-1], "b.npy has 47 bytes of elements; its header says 48 for f4 (3, 4)"),
            (npy_by_hand("{}"), "b.npy has a malformed header: it has the keys "),
        ],
    )
    def test_a_member(self, tmp_path: Path, bad: bytes, fault: str) -> None:
        path = put(tmp_path / "x.npz", archive({"a.npy": npy(X), "b.npy": bad, "c.npy": npy(X)}))
        good = "float32", (3, 4)
        expected = [("a", *good), ("b", f"unreadable: {fault}", ()), ("c", *good)]
        assert list_arrays(path) == expected
        check(load(path, key="a"), X)
        check(load(path, key="c"), X)
        assert refusal(path, key="b") == fault

    def test_a_member_not_where_the_directory_says(self, tmp_path: Path) -> None:
        data = archive({"a.npy": npy(X), "b.npy": npy(X)}).replace(b"b.npy", b"z.npy", 1)
        path = put(tmp_path / "x.npz", data)
        fault = "unreadable: b.npy has another name where it stands"
        assert list_arrays(path) == [("a", "float32", (3, 4)), ("b", fault, ())]
        check(load(path, key="a"), X)

    def test_a_tensor(self, tmp_path: Path) -> None:
        lost = tensor((12,), strides=(1,), kind="torch.FloatStorage")
        lost = type(lost)(lost.replace(storage("torch.FloatStorage", "0", 12), OTHER))
        root = {"a": tensor((3, 4), strides=(4, 1)), "b": lost}
        path = put(tmp_path / "x.pt", torch_file(root, {"0": X.tobytes()}))
        fault = "unreadable: lacks the storage 9"
        assert list_arrays(path) == [("a", "float32", (3, 4)), ("b", fault, ())]
        check(load(path, key="a"), X)
        assert refusal(path, key="b") == "lacks the storage 9"

    def test_two_tensors_of_one_key(self, tmp_path: Path) -> None:
        one, whole = tensor((12,), strides=(1,)), tensor((3, 4), strides=(4, 1))
        root = {"a.b": one, "a": {"b": one}, "c": whole}
        path = put(tmp_path / "x.pt", torch_file(root, {"0": X.tobytes()}))
        fault = "has several tensors called a.b: save them under other keys"
        listed = [("a.b", f"unreadable: {fault}", ()), ("c", "float32", (3, 4))]
        assert list_arrays(path) == listed
        check(load(path, key="c"), X)
        assert refusal(path, key="a.b") == fault

    def test_a_long_fault_is_cut_and_printable(self, tmp_path: Path) -> None:
        bad = npy_by_hand("{'\n" + "x" * 3000 + "': 1}")
        path = put(tmp_path / "x.npz", archive({"\n" + "k" * 900 + ".npy": bad, "a.npy": npy(X)}))
        words = list_arrays(path)[0][1]
        assert words.startswith("unreadable: \\nkkk")
        assert words.isprintable()
        assert len(words) < 300

    @pytest.mark.parametrize("make", [lambda b: b, lambda b: archive({"a.npy": b})])
    def test_a_file_of_nothing_else_is_refused(
        self, tmp_path: Path, make: Callable[[bytes], bytes]
    ) -> None:
        name = "x.npz" if make(b"") else "x.npy"
        with pytest.raises(FileError, match=r"47 bytes of elements; its header says 48"):
            list_arrays(put(tmp_path / name, make(npy(X)[:-1])))
        assert len(list_arrays(put(tmp_path / name, make(npy(X))))) == 1


OTHER = storage("torch.FloatStorage", "9", 12)


class TestNames:
    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            (b"bad\xff.npy", "bad\\xff.npy"),
            (b"esc\x1b.npy", "esc\\x1b.npy"),
            (b"\x80\n\t.npy", "\\x80\\n\\t.npy"),
            ("schön 量.npy".encode(), "schön 量.npy"),
        ],
    )
    def test_short_ones_are_shown_whole(self, tmp_path: Path, name: bytes, shown: str) -> None:
        path = os.path.join(os.fsencode(tmp_path), name)
        with open(path, "wb") as file:
            file.write(npy(X))
        with load(os.fsdecode(path)) as source:
            assert source.name == f"{tmp_path}/{shown}"
            assert os.fsencode(source.path) == path
        with load(json.loads(json.dumps(source.path))) as again:
            check(again, X)
        with pytest.raises(FileError) as caught:
            load(os.fsdecode(path), shape=(5,))
        # The folder of a test may itself be long; what is cut is its middle.
        assert str(caught.value).split(": ")[0].endswith(shown)

    def test_keys_are_shown_whole(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.npz", archive({"a\x1b.npy": npy(X), "b.npy": npy(X)}))
        assert load(path, key="a\x1b").name == f"{path}:a\\x1b"
        assert load(path, key="a\x1b").key == "a\x1b"
        assert refusal(path) == "has 2 arrays; choose one by its key: a\\x1b, b"

    @pytest.mark.parametrize(
        ("text", "limit", "shown"),
        [
            ("\x1b" * 4, 16, "\\x1b" * 4),  # 16 letters
            ("\x1b" * 4, 15, "\\x1b...\\x1b"),  # 6 letters a side: no part of an escape
            ("ab\x1bcd", 8, "ab\\x1bcd"),
            ("ab\x1bcd", 7, "ab...cd"),
            ("\udcff", 4, "\\xff"),
            ("\ud800", 6, "\\ud800"),
            ("x" * 1000, 10, "xxx...xxx"),
            ("", 10, ""),
        ],
    )
    def test_the_limit_is_on_what_is_printed(self, text: str, limit: int, shown: str) -> None:
        assert clean(text, limit) == shown


COUNT = 20_000


class TestManyTensors:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        entries = {
            f"layer.{i}": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]}
            for i in range(COUNT)
        }
        data = (np.arange(COUNT) % 251).astype(np.uint8).tobytes()
        return put(tmp_path / "x.safetensors", safetensors(entries, data))

    def test_each_has_its_own_bytes(self, path: Path) -> None:
        for i in (0, 1, 777, COUNT - 1):
            check(load(path, key=f"layer.{i}"), np.array([i % 251], np.uint8))
        assert [key for key, _, _ in list_arrays(path)] == [f"layer.{i}" for i in range(COUNT)]

    def test_the_header_is_parsed_once(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        put(path, path.read_bytes().replace(b"layer", b"level"))  # not what was parsed before
        parsed = []
        loads = json.loads

        def counting(*args: Any, **options: Any) -> Any:
            parsed.append(1)
            return loads(*args, **options)

        monkeypatch.setattr(json, "loads", counting)
        list_arrays(path)
        for i in range(3):
            load(path, key=f"level.{i}").close()
        assert len(parsed) == 1

    def test_a_header_that_changes_is_read_again(self, path: Path) -> None:
        """At the same place, of the same length, within the same tick of the clock."""
        data = path.read_bytes()
        assert load(path, key="layer.7").array() == 7
        times = os.stat(path)
        put(path, data.replace(b'"layer.7"', b'"layer.x"'))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert load(path, key="layer.x").array() == 7
        assert "has no array 'layer.7'" in refusal(path, key="layer.7")

    def test_a_name_is_made_printable_only_for_messages(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cleaned = []
        monkeypatch.setattr(safetensors_file, "clean", lambda *a: cleaned.append(a) or clean(*a))
        data = path.read_bytes().replace(b"layer", b"later")  # not what was parsed before
        assert load(put(path, data), key="later.3").array() == 3
        assert cleaned == []


class TestHeadersLikeATensors:
    """The words that describe a tensor may stand elsewhere too."""

    ENTRY: ClassVar = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}

    def test_names_and_metadata(self, tmp_path: Path) -> None:
        words = {word: word for word in self.ENTRY}
        entries = {
            name: {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]}
            for i, name in enumerate(self.ENTRY)
        }
        path = put(
            tmp_path / "x.safetensors", safetensors({"__metadata__": words} | entries, b"abc")
        )
        for name, letter in zip(self.ENTRY, b"abc", strict=True):
            assert load(path, key=name).array() == letter
        path = put(tmp_path / "x.safetensors", safetensors(entries, b"abc"))
        assert [key for key, _, _ in list_arrays(path)] == list(entries)

    @pytest.mark.parametrize(
        ("entries", "fault"),
        [
            (ENTRY, "has a malformed header: it is a tensor's"),
            ({"__metadata__": ENTRY}, "has __metadata__ that is not text by name"),
            ({"a": {"a": ENTRY}}, "tensor a has not dtype, shape and data_offsets"),
            ({"a": ENTRY | {"shape": ENTRY}}, "tensor a has a malformed shape or data_offsets"),
            ({"a": ENTRY | {"shape": [ENTRY]}}, "tensor a has a malformed shape or data_offsets"),
        ],
    )
    def test_elsewhere(self, tmp_path: Path, entries: Any, fault: str) -> None:
        assert refusal(put(tmp_path / "x.safetensors", safetensors(entries, b"a"))) == fault


class TestNumbersInHeaders:
    @pytest.mark.parametrize("digits", [4299, 5000, 100_000])
    @pytest.mark.parametrize("where", ['{"a": %s}', '{"a": {"shape": [-%s]}}'])
    def test_too_many_digits(self, tmp_path: Path, digits: int, where: str) -> None:
        path = put(tmp_path / "x.safetensors", safetensors(where % ("1" * digits)))
        text = refusal(path)
        assert "set_int_max_str_digits" not in text
        if digits > sys.get_int_max_str_digits():
            assert text == "has a malformed header: a number in it has too many digits"
        else:
            assert text == "tensor a has not dtype, shape and data_offsets"

    def test_too_deep(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.safetensors", safetensors('{"a": ' + "[" * 100_000))
        assert refusal(path) == "has a malformed header: it nests too deeply"
