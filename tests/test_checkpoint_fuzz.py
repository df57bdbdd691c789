"""Damaged models: whatever is done to a file, it is read, or a `CheckpointError`, and soon."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from checkpoints.expected import expect
from checkpoints.models import make
from checkpoints.spoiling import edit_json
from damage import TIMES, mutated, rng_of

from npu_quant.checkpoint import CheckpointError, check, quantize

TURNS = 120 * TIMES
FORMATS = {"ascend": "W8A8_DYNAMIC", "compressed-tensors": "W4A8_DYNAMIC"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("model") / "source", "llama", shards=2)


@pytest.fixture(scope="module", params=FORMATS)
def quantized(source: Path, request: pytest.FixtureRequest) -> Path:
    expected = expect(source, FORMATS[request.param], request.param, shard_size=100_000)
    return expected.write(source.parent / request.param)


@contextmanager
def damaged(path: Path, rng: random.Random) -> Iterator[None]:
    """Spoil a file for a while; of weights the header alone, which says what they are."""
    before = path.read_bytes()
    size = 8 + int.from_bytes(before[:8], "little") if path.suffix == ".safetensors" else None
    path.write_bytes(mutated(before[:size], rng) + (before[size:] if size else b""))
    try:
        yield
    finally:
        path.write_bytes(before)


def caught(error: CheckpointError) -> None:
    """Check that an error can be shown on one line."""
    assert len(str(error)) < 500
    assert str(error).isprintable()


def attempt(folder: Path, seed: str, finds_nothing: Callable[[], bool]) -> None:
    """Spoil one file after the other; only `CheckpointError` may come of it."""
    rng, unnoticed = rng_of(seed), 0
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors"))
    assert finds_nothing()
    begin = time.process_time()
    for turn in range(TURNS):
        with damaged(files[turn % len(files)], rng):
            try:
                unnoticed += finds_nothing()
            except CheckpointError as error:
                caught(error)
    assert time.process_time() - begin < 30 * TIMES
    assert unnoticed < TURNS


def test_a_damaged_result_is_checked(source: Path, quantized: Path) -> None:
    attempt(quantized, quantized.name, lambda: not check(quantized, source, 1).findings)


def test_names_are_printed_on_one_line(source: Path, tmp_path: Path) -> None:
    def rename(index: Any) -> None:
        index["weight_map"] = dict.fromkeys(index["weight_map"], "a\x7f\nb.safetensors")

    folder = shutil.copytree(source, tmp_path / "renamed")
    edit_json(folder / "model.safetensors.index.json", rename)
    with pytest.raises(CheckpointError, match=r"^a\\x7f\\nb\.safetensors is missing"):
        quantize(folder, tmp_path / "out", "W8A8_DYNAMIC", dry_run=True)


def test_a_damaged_model_is_planned(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    attempt(source, "plan", lambda: bool(quantize(source, out, "W8A8_DYNAMIC", dry_run=True)))
