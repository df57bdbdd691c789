"""Damaged files: whatever is done to a file, it is read or a `FileError`, and soon.

Where sums would betray a mutation, it is made before the sums are.
"""

from __future__ import annotations

import itertools
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from damage import TIMES, mutated, rng_of
from golden_files import HOOKS, archive, call, npy, put, safetensors, storage, tensor, torch_file

from npu_quant.files import FileError, list_arrays, load

X = np.arange(24, dtype=np.float32).reshape(4, 6)
NPU = "torch_npu.utils.storage._rebuild_npu_tensor"
HELD = storage("torch.FloatStorage", "0", 24, "npu:0")
ROOT = {
    "a": [tensor((4, 6), strides=(6, 1), count=24), tensor((6, 4), strides=(1, 6), count=24)],
    "b": {"c": call(NPU, HELD, 4, (2, 3), (12, 2), False, HOOKS, 2)},
}
ENTRIES = {
    "__metadata__": {"format": "pt"},
    "x": {"dtype": "F32", "shape": [4, 6], "data_offsets": [0, 96]},
    "y": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [96, 104]},
}
ATB = b"$Version=1.0\n$Object.Count=1\n$Object.Length=96\nformat=2\ndtype=0\ndims=4,6\n$End=1\n"
MEMBERS = {"x.npy": npy(X), "y.npy": npy(np.asfortranarray(X.astype(">f2")))}
STORAGE = {"0": X.tobytes()}

FILES: dict[str, bytes] = {
    "c.npy": npy(X),
    "fortran.npy": npy(np.asfortranarray(X.astype(">i2")), (2, 0)),
    "void.npy": npy(X.view(np.uint16).view("V2")),
    "stored.npz": archive(MEMBERS),
    "deflated.npz": archive(MEMBERS, zipfile.ZIP_DEFLATED),
    "x.safetensors": safetensors(ENTRIES, X.tobytes() + bytes(8)),
    "torch.pt": torch_file(ROOT, STORAGE),
    "atb.bin": ATB + X.tobytes(),
}


def members_of(data: bytes, path: Path) -> dict[str, bytes]:
    """Return what an archive holds."""
    with zipfile.ZipFile(put(path, data)) as source:
        return {name: source.read(name) for name in source.namelist()}


def caught(error: FileError) -> None:
    """Check that an error can be shown on one line."""
    assert len(str(error)) < 300
    assert str(error).isprintable()


def attempt(path: Path) -> int:
    """Read a file in every way; only `FileError` may come of it. Return how many were read."""
    try:
        keys = [key for key, _, _ in list_arrays(path)]
    except FileError as error:
        caught(error)
        return 0
    done = 0
    for key, dtype in itertools.product(keys, (None, "bfloat16")):
        try:
            with load(path, key=key or None, dtype=dtype) as source:
                array = source.array()
                half = array.size // 2
                rest = source.read(half, array.size)
        except FileError as error:
            caught(error)
        else:
            assert (array.shape, array.dtype) == (source.shape, source.dtype)
            assert array.nbytes <= 64 << 20
            assert rest.tobytes() == array.reshape(-1)[half:].tobytes()
            done += 1
    return done


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_short_is_an_error(name: str, tmp_path: Path) -> None:
    data = FILES[name]
    assert attempt(put(tmp_path / name, data)) > 0
    for size in range(0, len(data), 1 if data[:2] != b"PK" else 5):
        assert attempt(put(tmp_path / name, data[:size])) == 0, size


@pytest.mark.parametrize("name", FILES)
def test_mutations(name: str, tmp_path: Path) -> None:
    rng = rng_of(name)
    path, read, begin = tmp_path / name, 0, time.process_time()
    for _ in range(300 * TIMES):
        read += attempt(put(path, mutated(FILES[name], rng))) > 0
    assert time.process_time() - begin < 20 * TIMES
    assert read < 300 * TIMES  # mutations are noticed at all


@pytest.mark.parametrize("name", ["stored.npz", "deflated.npz", "torch.pt"])
def test_mutations_of_members(name: str, tmp_path: Path) -> None:
    """With the sums right: those of a member's own text and pickle."""
    rng, members = rng_of(name), members_of(FILES[name], tmp_path / name)
    method = zipfile.ZIP_DEFLATED if name.startswith("deflated") else zipfile.ZIP_STORED
    begin = time.process_time()
    for turn in range(600 * TIMES):
        victim = rng.choice(list(members)) if turn % 3 else next(iter(members))
        changed = members | {victim: mutated(members[victim], rng)}
        attempt(put(tmp_path / name, archive(changed, method)))
    assert time.process_time() - begin < 20 * TIMES


def test_bytes_of_no_meaning(tmp_path: Path) -> None:
    """Random bytes after what a kind of file begins with."""
    rng = rng_of(5)
    heads = [data[: rng.randrange(1, 40)] for data in FILES.values()]
    for turn in range(600 * TIMES):
        name = rng.choice(list(FILES))
        data = heads[turn % len(heads)] + rng.randbytes(rng.randrange(200))
        attempt(put(tmp_path / name, data))


def test_pickles_of_random_operations(tmp_path: Path) -> None:
    """Operations in any order, with the names and numbers that tensors have."""
    rng = rng_of(6)
    pieces = [bytes([c]) for c in b"()}]0tasueRbQ.N\x85\x86\x87\x88\x93\x94"]
    pieces += [
        b"K\x01",
        b"h\x00",
        b"q\x00",
        b"K\x06",
        b"X\x07\x00\x00\x00storage",
        b"X\x01\x00\x00\x000",
    ]
    pieces += [bytes(HOOKS), bytes(HELD), bytes(ROOT["a"][0]), b"ctorch\nFloatStorage\n"]
    for _ in range(500 * TIMES):
        code = b"\x80\x02" + b"".join(rng.choices(pieces, k=rng.randrange(1, 40))) + b"."
        attempt(put(tmp_path / "x.pt", archive({"x/data.pkl": code, "x/data/0": X.tobytes()})))
