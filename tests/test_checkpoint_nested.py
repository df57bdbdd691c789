"""JSON that nests deeper than Python recurses: one line, before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkpoints.expected import expect
from checkpoints.faults import FIRST
from checkpoints.models import make
from checkpoints.runs import expected_pair
from checkpoints.spoiling import DESCRIPTION, INDEX

from npu_quant.checkpoint import CheckpointError, check, quantize

DEPTHS = pytest.mark.parametrize("depth", [101, 600, 950, 100_000])
SHAPES = pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}")])


def deepen(path: Path, depth: int, left: str, right: str) -> None:
    """Give a file of a JSON object one more key, whose value makes it nest so deeply."""
    text = path.read_text().rstrip().removesuffix("}")
    path.write_text(f'{text}, "x": {left * (depth - 1)}0{right * (depth - 1)}}}')


@SHAPES
@DEPTHS
@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
def test_a_source(name: str, depth: int, left: str, right: str, tmp_path: Path) -> None:
    source, out = make(tmp_path / "model", "llama"), tmp_path / "out"
    deepen(source / name, depth, left, right)
    with pytest.raises(CheckpointError, match=f"^{name} nests deeper than 100 levels[.]$"):
        quantize(source, out, "W8A8_DYNAMIC", workers=1)
    assert not out.exists()


@SHAPES
@DEPTHS
@pytest.mark.parametrize(
    ("name", "rule"), [("config.json", "config"), (DESCRIPTION, "config"), (INDEX, "index")]
)
def test_a_quantized_model(
    name: str, rule: str, depth: int, left: str, right: str, tmp_path: Path
) -> None:
    source, folder = expected_pair(tmp_path)
    deepen(folder / name, depth, left, right)
    (found,) = [f for f in check(folder, source, 1).findings if f.name == name]
    assert (found.severity, found.rule) == ("error", rule)
    assert f"{name} nests deeper than 100 levels." in found.text


def test_as_deep_as_may_be(tmp_path: Path) -> None:
    source, out = make(tmp_path / "model", "llama"), tmp_path / "out"
    deepen(source / "config.json", 100, "[", "]")
    quantize(source, out, "W8A8_DYNAMIC", workers=1)
    assert check(out, source, 1).findings == []


@SHAPES
@DEPTHS
@pytest.mark.parametrize("key", ["__metadata__", "dtype", "shape", "data_offsets"])
def test_a_header(key: str, depth: int, left: str, right: str, tmp_path: Path) -> None:
    source = make(tmp_path / "source", "llama")
    folder = expect(source, "W8A8_DYNAMIC", shard_size=100_000).write(tmp_path / "quantized")
    path = folder / FIRST
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    before, quoted, rest = data[8:start].decode().partition(f'"{key}":')
    value = f"{left * depth}0{right * depth}"
    header = f'{before}{quoted}{value}, "y":{rest}'.encode()  # the value that was there gets a name
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[start:])
    found = {f.name: f.rule for f in check(folder, None, 1).findings}
    assert found[FIRST] == "header"
