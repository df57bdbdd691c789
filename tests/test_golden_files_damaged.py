"""Files that are damaged: a checksum that is wrong is heeded wherever arrays differ."""

from __future__ import annotations

import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npu_quant import npu_dynamic_quant
from npu_quant.golden import FileError, compare, compare_folders, load

pytestmark = pytest.mark.needs("torch")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((16, 64)).astype(np.float16)
Y, SCALE = npu_dynamic_quant(X)
OP: dict[str, Any] = {"op": "npu_dynamic_quant", "inputs": {"input": X}}
OF_DATA = "data/0 has a wrong CRC-32: it is damaged"


def saved(path: Path, array: Any = Y, *, has_sums: bool = True) -> Path:
    import torch

    torch.serialization.set_crc32_options(has_sums)
    try:
        torch.save(torch.from_numpy(array.copy()), path)
    finally:
        torch.serialization.set_crc32_options(True)
    return path


def zipped(save: Callable[..., None]) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        save(path.with_suffix(".npz"), y=Y)
        return path.with_suffix(".npz")

    return make


def flip(path: Path, member: str, byte: int, bit: int = 0) -> Path:
    """Flip a bit of a member's bytes as they are stored."""
    with zipfile.ZipFile(path) as archive:
        (info,) = (i for i in archive.infolist() if i.filename.endswith(member))
    data = bytearray(path.read_bytes())
    lengths = struct.unpack_from("<HH", data, info.header_offset + 26)
    data[info.header_offset + 30 + sum(lengths) + byte] ^= 1 << bit
    path.write_bytes(data)
    return path


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    return flip(saved(tmp_path / "bad.pt"), "data/0", 500)


@pytest.mark.parametrize("bit", [0, 3, 7])
@pytest.mark.parametrize("swaps", [False, True])
@pytest.mark.parametrize("more", [{}, {"atol": 300}])
def test_a_bit_of_the_data(tmp_path: Path, bit: int, swaps: bool, more: Any) -> None:
    bad = flip(saved(tmp_path / "bad.pt"), "data/0", 500, bit)
    sides = [load(bad), load(saved(tmp_path / "good.pt"))]
    with pytest.raises(FileError) as caught:
        compare(*(sides[::-1] if swaps else sides), **more)
    assert caught.value.path == str(bad)
    assert caught.value.what == f"bad/{OF_DATA}"


def test_both_are_said(tmp_path: Path, damaged: Path) -> None:
    other = flip(saved(tmp_path / "other.pt"), "data/0", 7)
    with pytest.raises(FileError) as caught:
        compare(load(damaged), load(other))
    assert caught.value.path == str(damaged)
    assert caught.value.what == f"bad/{OF_DATA}; {other}: other/{OF_DATA}"


def test_an_input_of_the_operator(tmp_path: Path) -> None:
    x = load(flip(saved(tmp_path / "x.pt", X), "data/0", 101, 6))
    with pytest.raises(FileError, match=f"x/{OF_DATA}"):
        compare((Y, SCALE), op="npu_dynamic_quant", inputs={"input": x})


def test_only_members_that_are_compared_count(tmp_path: Path) -> None:
    import torch

    path = tmp_path / "two.pt"
    torch.save({"y": torch.from_numpy(Y.copy()), "scale": torch.from_numpy(SCALE.copy())}, path)
    flip(path, "data/1", 3)
    assert compare(load(path, key="y"), Y).rung == "identical"
    with pytest.raises(FileError, match="data/1 has a wrong CRC-32"):
        compare((load(path, key="y"), load(path, key="scale")), **OP)


@pytest.mark.parametrize("byte", [0, 40, 100])
def test_a_bit_of_the_pickle(tmp_path: Path, byte: int) -> None:
    with pytest.raises(FileError):
        load(flip(saved(tmp_path / "x.pt"), "data.pkl", byte, 5)).array()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("byte", [30, 200, 500])
def test_members_of_npz(tmp_path: Path, save: Any, byte: int) -> None:
    with pytest.raises(FileError, match=r"y\.npy"):
        compare(load(flip(zipped(save)(tmp_path / "x"), "y.npy", byte, 2)), Y)


def test_a_shape_that_damage_made_is_none(tmp_path: Path) -> None:
    """The 6 of (16, 64) becomes a 4: no element is read, but the sum is."""
    path = zipped(np.savez)(tmp_path / "x")
    at = path.read_bytes().index(b"(16, 64)") - path.read_bytes().index(b"\x93NUMPY")
    flip(path, "y.npy", at + 2, 1)
    with pytest.raises(FileError):
        compare(load(path), Y)


class TestSoundFiles:
    """Sums may be left out on purpose, and what differs may be undamaged."""

    def test_equal_without_sums(self, tmp_path: Path) -> None:
        assert compare(load(saved(tmp_path / "x.pt", has_sums=False)), Y).rung == "identical"

    @pytest.mark.parametrize("has_sums", [False, True])
    def test_different(self, tmp_path: Path, has_sums: bool) -> None:
        other = Y.copy()
        other[3] = 0
        comparison = compare(load(saved(tmp_path / "x.pt", other, has_sums=has_sums)), Y)
        assert comparison.rung == "different"
        assert comparison.decisive.causes == ("row 3 is 0 everywhere: was it ever written?",)

    @pytest.mark.parametrize("has_sums", [False, True])
    def test_tolerated(self, tmp_path: Path, has_sums: bool) -> None:
        path = saved(tmp_path / "x.pt", np.minimum(Y, 126), has_sums=has_sums)
        assert compare(load(path), Y, atol=1).rung == "tolerated"


def run(*words: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "npu_quant", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


def test_at_a_prompt(tmp_path: Path, damaged: Path) -> None:
    good, scale = saved(tmp_path / "good.pt"), saved(tmp_path / "scale.pt", SCALE)
    x = saved(tmp_path / "x.pt", X)
    for words in (
        ("compare", damaged, good),
        ("compare", "--op", "npu_dynamic_quant", f"y={damaged}", f"scale={scale}", f"input={x}"),
        ("inspect", damaged),
    ):
        done = run(*words)
        assert (done.returncode, OF_DATA in done.stderr) == (2, True), words
    assert run("inspect", good).returncode == 0


def test_in_folders(tmp_path: Path) -> None:
    for side in ("npu", "cpu"):
        (tmp_path / side).mkdir()
        saved(tmp_path / side / "y.pt")
        saved(tmp_path / side / "scale.pt", SCALE)
    sides = tmp_path / "npu", tmp_path / "cpu"
    assert compare_folders(*sides).passed
    flip(sides[0] / "y.pt", "data/0", 500)
    rows = {row.name: row for row in compare_folders(*sides).rows}
    assert rows["scale"].passed
    assert not rows["y"].passed
    assert OF_DATA in (rows["y"].problem or "")


def test_an_input_in_a_folder(tmp_path: Path) -> None:
    for name, array in {"y": Y, "scale": SCALE, "input": X}.items():
        saved(tmp_path / f"call_{name}.pt", array)
    assert compare_folders(tmp_path, ops="npu_dynamic_quant").passed
    flip(tmp_path / "call_input.pt", "data/0", 101, 6)
    found = compare_folders(tmp_path, ops="npu_dynamic_quant")
    assert all(OF_DATA in (row.problem or "") for row in found.rows)
