"""Rows of stacked experts that are columns of their tensor: what they are, and how they are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checkpoints.tensor_files import BFLOAT16, FLOAT8, Array, write

from npu_quant.checkpoint import matrices
from npu_quant.checkpoint.config import Config
from npu_quant.checkpoint.folder import CheckpointError, Tensor, shard_of

EXPERTS, HIDDEN, INNER = 2, 40, 96
MODEL = Config({"model_type": "qwen3_vl_moe"})


def read(matrix: matrices.Matrix, folder: Path, begin: int, end: int) -> Array:
    """Return rows, whose bands follow each other."""
    bands = [*matrix.bands(folder, begin, end)]
    assert [begin, *(to for _, to, _ in bands)] == [*(at for at, _, _ in bands), end]
    return np.concatenate([values for _, _, values in bands])


@pytest.fixture
def stack(tmp_path: Path) -> tuple[Array, Tensor]:
    """Write gate and up of experts, [E, K, 2N], after another tensor."""
    values = np.arange(EXPERTS * HIDDEN * 2 * INNER, dtype=np.uint32).astype(np.uint16)
    given = values.view(BFLOAT16).reshape(EXPERTS, HIDDEN, 2 * INNER)
    file = tmp_path / "model.safetensors"
    write(file, {"a": np.ones(3, BFLOAT16), "m.experts.gate_up_proj": given})
    (tensor,) = [t for t in shard_of(file).tensors if len(t.shape) == 3]
    return values.reshape(given.shape), tensor


@pytest.mark.parametrize("piece", [1, 1000, 16 << 20])
@pytest.mark.parametrize("band", [1, 1000, 1 << 20])
@pytest.mark.parametrize("rows", [2, 34, INNER])
def test_every_row(
    piece: int,
    band: int,
    rows: int,
    stack: tuple[Array, Tensor],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matrices, "PIECE_BYTES", piece)
    monkeypatch.setattr(matrices, "BAND_BYTES", band)
    values, tensor = stack
    for number, matrix in enumerate(matrices.experts_in(tensor, MODEL)):
        expert, half = divmod(number, 2)
        expected = values[expert, :, half * INNER : (half + 1) * INNER].T
        for begin in range(0, INNER, rows):
            end = min(begin + rows, INNER)
            found = read(matrix, tmp_path, begin, end)
            assert np.array_equal(found.view(np.uint16), expected[begin:end])


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many bytes each read is of, once they are read."""
    counts: list[int] = []
    inner = matrices.bytes_of

    def counted(folder: Path, tensor: Tensor, begin: int, count: int) -> Array:
        counts.append(count)
        return inner(folder, tensor, begin, count)

    monkeypatch.setattr(matrices, "bytes_of", counted)
    return counts


def test_each_byte_is_read_about_once(
    reads: list[int],
    stack: tuple[Array, Tensor],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once for gate and once for up, which lie beside each other, whatever the bands."""
    monkeypatch.setattr(matrices, "BAND_BYTES", 8 * 2 * HIDDEN)
    _, tensor = stack
    for matrix in matrices.experts_in(tensor, MODEL):
        bands = len([*matrix.bands(tmp_path, 0, INNER)])
        assert bands == INNER / 8
    assert sum(reads) <= 2 * tensor.size


UP, DOWN = "gate_up_proj", "down_proj"


@pytest.mark.parametrize(
    ("which", "shape", "sizes", "n", "k"),
    [
        (UP, (40, 192), (40, 96), 96, 40),  # inputs, which are hidden, come first
        (UP, (192, 40), (40, 96), 96, 40),
        (DOWN, (96, 40), (40, 96), 40, 96),  # and of down the inner one
        (DOWN, (40, 96), (40, 96), 40, 96),
        (DOWN, (80, 40), (40, 80), 40, 80),  # though gate and up have no other shape
        (UP, (80, 80), (80, 40), 0, 0),  # both ways fit
        (DOWN, (40, 40), (40, 40), 0, 0),
        (UP, (96, 40), (40, 96), 0, 0),  # none does
        (DOWN, (192, 40), (40, 96), 0, 0),
        (UP, (40, 192), (40, None), 0, 0),
        (UP, (40, 192), (None, 96), 0, 0),
    ],
)
def test_the_axis_of_inputs_by_the_sizes_of_a_model(
    which: str, shape: tuple[int, int], sizes: tuple[int | None, int | None], n: int, k: int
) -> None:
    """Of a type of models that is not known, by its hidden_size and moe_intermediate_size."""
    names = ("hidden_size", "moe_intermediate_size")
    config = Config({"model_type": "new", **dict(zip(names, sizes, strict=True))})
    tensor = Tensor(f"m.experts.{which}", "", "BF16", (EXPERTS, *shape), 0, 0)
    if not n:
        with pytest.raises(CheckpointError, match="which axis has the inputs is not known"):
            list(matrices.experts_in(tensor, config))
        return
    found = list(matrices.experts_in(tensor, config))
    assert len(found) == EXPERTS * (2 if which == UP else 1)
    rows_lie = shape == (n * len(found) // EXPERTS, k)
    assert {m.shape for m in found} == {(n, k)}
    assert {m.strides for m in found} == {(k, 1) if rows_lie else (1, shape[1])}


@pytest.mark.parametrize("rows", [1, 3, 4, 7, 10])
def test_rows_of_blocks(rows: int, tmp_path: Path) -> None:
    """FP8 by blocks of 4 x 3, taken in pieces that begin and end within a block."""
    codes = (np.arange(70, dtype=np.uint8) % 120).reshape(10, 7)
    scales = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    file = tmp_path / "model.safetensors"
    write(file, {"w": codes.view(FLOAT8), "s": scales})
    tensors = {tensor.name: tensor for tensor in shard_of(file).tensors}
    matrix = matrices.Matrix("m", tensors["w"], (10, 7), tensors["s"], (4, 3), strides=(7, 1))
    spread = np.repeat(np.repeat(scales, 4, axis=0)[:10], 3, axis=1)[:, :7]
    expected = codes.view(FLOAT8).astype(np.float32) * spread
    for begin in range(0, 10, rows):
        end = min(begin + rows, 10)
        assert np.array_equal(read(matrix, tmp_path, begin, end), expected[begin:end])


@pytest.mark.parametrize("size", [1, 29, 35, 70, 1000])
def test_bands_have_an_even_number_of_rows(size: int) -> None:
    """Two rows of int4 share a byte in ascend's format; only the last band may be odd."""
    bands = list(matrices.cut(3, 14, 10, size))
    assert [begin for begin, _ in bands] == [3, *(end for _, end in bands[:-1])]
    assert bands[-1][1] == 14
    assert {(end - begin) % 2 for begin, end in bands[:-1]} <= {0}
    assert all(end - begin <= max(2, size // 10) for begin, end in bands)
