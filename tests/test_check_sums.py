"""SHA256SUMS: the lines that sha256sum writes, the files that are hashed, and those that are not."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from checkpoints.runs import expected_pair
from checkpoints.spoiling import SUMS, shards, sums

from npu_quant.checkpoint import check, checking
from npu_quant.checkpoint.sums import NO_SUMS, parsed
from npu_quant.checkpoint.workers import Threads

A, B = "0123456789abcdef" * 4, "f" * 64


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return expected_pair(tmp_path)[1]


def flip(path: Path) -> None:
    """Flip the last bit of a file: of a code's, or of a letter's."""
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


LINES = [
    (f"{A}  a.json\n{B}  b/c.txt\n", {"a.json": A, "b/c.txt": B}, [], []),
    (f"{A} *a.json\r\n{B} *./b\r\n", {"a.json": A, "b": B}, [], []),
    (f"{A.upper()}  a b  c", {"a b  c": A}, [], []),
    (f"\\{A}  a\\\\b\\nc\\r\n", {"a\\b\nc\r": A}, [], []),
    (f"{A}  a\\nb\n", {"a\\nb": A}, [], []),
    (f"# of x\n\n{A}  a\n{A}  a\n", {"a": A}, [], []),
    (f"{A}  a\n{B}  a\n", {"a": A}, [2], []),
    (f"{A} a\n{A[1:]}  a\n{A}  \nx{A}  a\n{A}  ./\n{A}  a\0b\n", {}, [1, 2, 3, 4, 5, 6], []),
    (
        f"{A}  /etc/passwd\n{A}  a/../b\n{A}  ..\n{A}  a..b\n",
        {"a..b": A},
        [],
        ["/etc/passwd", "a/../b", ".."],
    ),
]


@pytest.mark.parametrize(("text", "files", "malformed", "outside"), LINES, ids=range(len(LINES)))
def test_lines(text: str, files: dict[str, str], malformed: list[int], outside: list[str]) -> None:
    assert parsed(text.encode().split(b"\n")) == (files, malformed, outside)


@pytest.mark.parametrize("workers", [1, 2])
def test_each_file_that_was_changed(workers: int, folder: Path) -> None:
    sums(folder)
    assert check(folder, None, workers).findings == []
    changed = ["assets/vocab.txt", shards(folder)[0].name, "tokenizer.json"]
    for name in changed:
        flip(folder / name)
    found = check(folder, None, workers).findings
    assert [f.name for f in found if f.rule == "checksum"] == sorted(changed)
    assert found[0].text.startswith("does not have the SHA-256 in SHA256SUMS")


def test_its_own_line_damages_nothing(folder: Path) -> None:
    sums(folder)
    with open(folder / SUMS, "a") as file:
        file.write(f"{A}  ./{SUMS}\n")
    report = check(folder, None, 1)
    assert report.passed
    (found,) = report.findings
    assert (found.severity, found.name) == ("warning", SUMS)
    assert found.text.startswith("names itself")
    (folder / SUMS).write_text(f"{A}  {SUMS}\n")
    assert "it names no file" in str(check(folder, None, 1))


def test_a_name_that_is_no_text(folder: Path) -> None:
    """Names are bytes, of which some are no UTF-8."""
    path = Path(os.fsdecode(os.fsencode(folder) + b"/\xff"))
    path.write_bytes(b"x")
    (folder / SUMS).write_bytes(hashlib.sha256(b"y").hexdigest().encode() + b"  \xff\n")
    report = check(folder, None, 1)
    assert [f.name for f in report.findings if f.severity == "error"] == ["\udcff"]
    assert r"error: checksum: \xff: does not have the SHA-256" in str(report)


def test_what_lies_outside_is_not_opened(folder: Path) -> None:
    """Nobody would ever write to these pipes."""
    for path in (folder.parent / "pipe", folder / "pipe"):
        os.mkfifo(path)
    names = ["../pipe", str(folder.parent / "pipe"), "pipe", "assets"]
    (folder / SUMS).write_text("".join(f"{A}  {name}\n" for name in names))
    found = [f for f in check(folder, None, 1).findings if f.severity == "error"]
    assert [f.name for f in found if f.rule == "checksum"] == names
    assert [f.name for f in found if f.rule != "checksum"] == ["pipe"]


def test_a_list_that_is_too_long(folder: Path) -> None:
    with open(folder / SUMS, "wb") as file:
        file.truncate((64 << 20) + 1)
    (found,) = check(folder, None, 1).findings
    assert (found.name, found.text[:21]) == (SUMS, "is larger than 64 MiB")


def test_progress_counts_what_is_hashed(folder: Path) -> None:
    told: list[tuple[int, int]] = []
    check(folder, None, 1, lambda *x: told.append(x))
    before = told[-1][1]
    sums(folder)
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and p.name != SUMS)
    check(folder, None, 1, lambda *x: told.append(x))
    assert told[-1] == (before + size, before + size)


def test_what_was_hashed_is_not_hashed_again(folder: Path) -> None:
    """By the run that wrote it, and that checks it before it ends."""
    sums(folder)
    flip(folder / "tokenizer.json")
    with Threads(1) as workers:
        assert checking.check(folder, None, workers, None, is_whole=True).findings == []


def test_without_it_the_text_says_what_is_not_seen(folder: Path) -> None:
    assert f"  note: {NO_SUMS}" in str(check(folder, None, 1)).splitlines()
    assert NO_SUMS not in str(check(folder, folder.parent / "source", 1))
    sums(folder)
    assert NO_SUMS not in str(check(folder, None, 1))
