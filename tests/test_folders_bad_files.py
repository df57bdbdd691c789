"""A file that cannot be read is a row that fails; the other files of its folder are compared."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import numpy as np
import pytest
from folders import A, changed, save
from golden_files import archive, npy, put
from test_golden_files_fuzz import FILES, mutated

from npu_quant.golden import compare_folders

EMPTY_ZIP = archive({})
BAD = {
    "an empty zip": EMPTY_ZIP,
    "a zip of folders": archive({"a/": b"", "b/": b""}),
    "a zip of text": archive({"a.txt": b"x"}),
    "a zip of two": archive({"a.npy": npy(A), "b.npy": npy(A)}, zipfile.ZIP_DEFLATED),
    "nothing": b"",
    "a byte": b"P",
    "a magic": b"\x93NUMPY",
    "the begin of a zip": archive({"a.npy": npy(A)})[:9],
    "the end of a zip": archive({"a.npy": npy(A)})[-22:],
    "an ATB head": b"$Version=1.0\n",
    "no items": npy(np.zeros(3, "V0")),
    "text of no letters": npy(np.zeros(3, "U0")),
    "fields": npy(np.zeros(3, [("a", "i1"), ("b", "f4")])),
}
SUFFIXES = ("npy", "bin", "npz", "pt", "safetensors")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("what", BAD)
def test_the_others_are_compared(what: str, suffix: str, sides: tuple[Path, Path]) -> None:
    for side, is_bad in zip(sides, (True, False), strict=True):
        save(side, before=A, z_wrong=A if is_bad else changed(A))
        put(side / f"y.{suffix}", BAD[what] if is_bad else FILES["c.npy"])
    if suffix != "npy":
        (sides[1] / f"y.{suffix}").rename(sides[1] / "y.npy")
    found = compare_folders(*sides)
    rows = {row.name: row for row in found.rows}
    assert rows["before"].passed
    assert rows["z_wrong"].differing == 1
    named = [row for name, row in rows.items() if name.startswith("y")]
    alone = [one.file for one in found.only_actual]
    assert len(named) == 1 or any(file.startswith(f"y.{suffix}") for file in alone)
    for row in named:
        assert not row.passed
        assert f"y.{suffix}" in row.actual
        assert row.problem


@pytest.mark.parametrize("side", [0, 1], ids=["actual", "golden"])
@pytest.mark.parametrize("name", FILES)
def test_mutations(name: str, side: int, sides: tuple[Path, Path]) -> None:
    """Of a file of either side, under its own and under another suffix."""
    rng = random.Random(name)
    stem, suffix = name.split(".")
    for one in sides:
        save(one, good=A)
        put(one / name, FILES[name])
    for turn in range(60):
        for old in sides[side].glob(f"{stem}.*"):
            old.unlink()
        ending = suffix if turn % 3 else rng.choice(SUFFIXES)
        put(sides[side] / f"{stem}.{ending}", mutated(FILES[name], rng))
        found = compare_folders(*sides)
        assert found.row("good").passed
        assert len(found.rows) + len(found.only_actual) + len(found.only_golden) > 1
        str(found)


@pytest.mark.parametrize("seed", range(3))
def test_mutations_of_what_lies_beside_raw_files(seed: int, sides: tuple[Path, Path]) -> None:
    rng = random.Random(seed)
    said = b'{"dtype": "int8", "shape": [3, 4]}'
    for side in sides:
        save(side, good=A)
        put(side / "y.bin", A.tobytes())
        put(side / "y.json", said)
    for _ in range(40):
        put(sides[rng.randrange(2)] / "y.json", mutated(said, rng))
        found = compare_folders(*sides)
        assert [row.name for row in found.rows] == ["good", "y"]
        assert found.rows[0].passed
