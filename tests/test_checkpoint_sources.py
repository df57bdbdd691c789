"""npu-quant quantize that goes on: only with the model that was begun with, by the same command."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import models, runs, tensor_files
from checkpoints.runs import StoppedError, stopped_at, stopped_when
from checkpoints.spoiling import edit_json, reindex
from test_checkpoint_quantize import files_of

import npu_quant
from npu_quant import checkpoint
from npu_quant.checkpoint import record

SIZES: dict[str, Any] = {**runs.SIZES, "shards": 2}
OPTIONS: dict[str, Any] = {"shard_size": "300KB", "workers": 1}
DOWN = "model.layers.0.mlp.down_proj.weight"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return models.make(tmp_path / "model", "llama", **SIZES)


def quantize(source: Path, out: Path, **more: Any) -> checkpoint.QuantizeReport:
    return checkpoint.quantize(source, out, "W8A8_DYNAMIC", **OPTIONS | more)


@pytest.fixture
def unfinished(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a whole shard, and half of another."""
    monkeypatch.setattr("npu_quant.checkpoint.matrices.PIECE_BYTES", 20_000)
    out, left = tmp_path / "out", iter(range(5))
    later = stopped_when(lambda *_: [*out.glob("*.safetensors")] and next(left, None) is None)
    with pytest.raises(StoppedError):
        quantize(source, out, progress=later)
    assert len([*out.glob("*.safetensors")]) == 1
    assert len([*out.glob(".npu-quant/*.safetensors.part")]) == 1
    return out


def with_another_row(source: Path, folder: Path, tensor: str) -> Path:
    """Return a copy of a model, a row of which is another: neither first, middle nor last."""
    shutil.copytree(source, folder)
    for path in folder.glob("*.safetensors"):
        data = bytearray(path.read_bytes())
        begin = 8 + int.from_bytes(data[:8], "little")
        if said := json.loads(data[8:begin]).get(tensor):
            row = 2 * said["shape"][1]
            at = begin + said["data_offsets"][0] + said["shape"][0] // 3 * row
            data[at : at + row] = bytes(row)
            path.write_bytes(data)
    return folder


def refused(source: Path, out: Path, **more: Any) -> str:
    """Return why nothing is done; nothing is."""
    before = files_of(out)
    with pytest.raises(checkpoint.CheckpointError) as caught:
        quantize(source, out, **more)
    assert files_of(out) == before
    text = str(caught.value)
    assert "\n" not in text
    assert len(text.replace(str(out), "out")) <= 400
    return text


def same_as_uninterrupted(source: Path, out: Path, root: Path) -> bool:
    quantize(source, root / "uninterrupted")
    return files_of(out) == files_of(root / "uninterrupted")


def test_another_model_of_the_same_shapes(source: Path, unfinished: Path, tmp_path: Path) -> None:
    other = models.make(tmp_path / "other", "llama", seed=2, **SIZES)
    for name in ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"):
        size = 8 + int.from_bytes((other / name).read_bytes()[:8], "little")
        assert (other / name).read_bytes()[:size] == (source / name).read_bytes()[:size]
    assert refused(other, unfinished) == (
        f"{unfinished} has an unfinished run of another source (model-00001-of-00002.safetensors "
        "has other weights): give the same again, or delete it or choose another folder."
    )
    quantize(source, unfinished)
    assert same_as_uninterrupted(source, unfinished, tmp_path)


@pytest.mark.parametrize("tensor", ["model.layers.0.self_attn.q_proj.weight", DOWN])
def test_a_model_that_differs_in_one_row(
    tensor: str, source: Path, unfinished: Path, tmp_path: Path
) -> None:
    """Between the stretches that are hashed: the times of the files differ, so all is compared."""
    other = with_another_row(source, tmp_path / "other", tensor)
    stretches = [
        record.sources_of(folder, checkpoint.quantizing.shards_of(folder)).files
        for folder in (source, other)
    ]
    assert stretches[0] == stretches[1]
    assert quantize(other, unfinished).resumed_bytes > 0
    assert same_as_uninterrupted(other, unfinished, tmp_path)


def test_a_model_that_was_downloaded_anew(source: Path, unfinished: Path, tmp_path: Path) -> None:
    """The same bytes at another time: all that was done is taken over."""
    other = Path(shutil.copytree(source, tmp_path / "other"))
    for path in other.glob("*.safetensors"):
        os.utime(path, ns=(0, 1))
    before = quantize(source, Path(shutil.copytree(unfinished, tmp_path / "before")))
    after = quantize(other, unfinished)
    assert after.resumed_bytes == before.resumed_bytes > 0
    assert same_as_uninterrupted(source, unfinished, tmp_path)


def test_two_models_by_turns(source: Path, unfinished: Path, tmp_path: Path) -> None:
    """What the second made is not taken for the first's, whose files have their old times."""
    other = with_another_row(source, tmp_path / "other", DOWN)
    for most in (0.6, 0.8):
        with pytest.raises(StoppedError):
            quantize(other, unfinished, progress=stopped_at(most))
    quantize(source, unfinished)
    assert same_as_uninterrupted(source, unfinished, tmp_path)


def test_a_source_that_is_written_to_while_it_is_read(source: Path, tmp_path: Path) -> None:
    path, out = source / "model-00001-of-00002.safetensors", tmp_path / "out"

    def touch(*_: int) -> None:
        os.utime(path, ns=(0, 1))

    text = rf"^{path.name} was written to while it was read: run the same command again\.$"
    with pytest.raises(checkpoint.CheckpointError, match=text):
        quantize(source, out, progress=touch)
    assert not (out / "quant_model_description.json").exists()
    quantize(source, out)
    assert same_as_uninterrupted(source, out, tmp_path)


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"shard_size": "1MiB"}, "--shard-size 300000 there, 1MiB here"),
    ({"format": "compressed-tensors"}, "--format ascend there, compressed-tensors here"),
    ({"exclude": ["*.0.mlp.*", "*.1.mlp.*"]}, "--exclude none there, *.0.mlp.* *.1.mlp.* here"),
    ({"types": {"*.mlp.*": "W8A16"}}, "--type none there, *.mlp.*=W8A16 here"),
    ({"mx_scale": "floor"}, "--mx-scale up there, floor here"),
    ({"dtype": "float16"}, "--dtype bfloat16 there, float16 here"),
    ({"dtype": "float16", "mx_scale": "floor"}, "--mx-scale up there, floor here, --dtype bfloat1"),
]


@pytest.mark.parametrize(("options", "said"), OTHERS)
def test_another_option(options: dict[str, Any], said: str, source: Path, unfinished: Path) -> None:
    assert f"has an unfinished run of another command ({said}" in refused(
        source, unfinished, **options
    )


def test_another_version(source: Path, unfinished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "__version__", "9.9")
    said = refused(source, unfinished)
    assert said == (
        f"{unfinished} has an unfinished run of another version of npu_quant ({npu_quant.__version__} "
        "there, 9.9 here): use that version to go on, or delete it or choose another folder."
    )


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"scheme": "W8A8_DYNAMIC"}'])
def test_a_plan_that_is_none(data: bytes, source: Path, unfinished: Path) -> None:
    (unfinished / ".npu-quant/plan.json").write_bytes(data)
    assert "of another version of npu_quant (unknown there, " in refused(source, unfinished)


def test_a_plan_by_other_rules(source: Path, unfinished: Path) -> None:
    """Such as of a version that quantized other modules: its shards may have other names."""
    edit_json(unfinished / ".npu-quant/plan.json", lambda plan: plan.update(headers="0" * 64))
    assert "by other rules" in refused(source, unfinished)
    edit_json(unfinished / ".npu-quant/plan.json", lambda plan: plan.pop("headers"))
    assert "by other rules" in refused(source, unfinished)


def test_another_config(source: Path, unfinished: Path) -> None:
    config = tensor_files.read_json(source / "config.json")
    tensor_files.write_json(source / "config.json", config | {"rope_theta": 5.0})
    assert "of another source (config.json is another one)" in refused(source, unfinished)


def test_other_files(source: Path, unfinished: Path) -> None:
    """As where a model was saved once more in other shards."""
    path = source / "model-00002-of-00002.safetensors"
    tensor_files.write(source / "model-00003.safetensors", {"model.x": np.ones(3, np.float32)})
    reindex(source)
    assert "(model-00003.safetensors was not in it)" in refused(source, unfinished)
    (source / "model-00003.safetensors").unlink()
    tensors = tensor_files.read(path)
    tensor_files.write(path, dict([*tensors.items()][1:]))
    reindex(source)
    assert re.search(
        r"\(model-00002-of-\w+.safetensors has other size\)", refused(source, unfinished)
    )


def test_the_record_says_what_was_hashed(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = quantize(source, out, exclude=["*.0.mlp.*"])
    said = json.loads((out / "npu_quant.json").read_text())
    assert [*said] == ["npu_quant", "options", "source", "headers", "shards", "layers"]
    assert said["options"] == {
        "scheme": "W8A8_DYNAMIC", "format": "ascend", "exclude": ["*.0.mlp.*"], "include": [],
        "type": [], "mx-scale": "up", "shard-size": 300_000, "dtype": "bfloat16",
    }  # fmt: skip
    assert said["source"]["hashed"].startswith("SHA-256 of the first, middle and last 4096 bytes")
    config = hashlib.sha256((source / "config.json").read_bytes()).hexdigest()
    assert said["source"]["config.json"] == config
    for path in source.glob("*.safetensors"):
        data = path.read_bytes()
        begin = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:begin])
        header.pop("__metadata__", None)
        stretches = b""
        for first, last in sorted(t["data_offsets"] for t in header.values()):
            tensor = data[begin + first : begin + last]
            if len(tensor) > 12_288:
                half = len(tensor) // 2
                tensor = tensor[:4096] + tensor[half : half + 4096] + tensor[-4096:]
            stretches += tensor
        file = said["source"]["files"][path.name]
        assert file["bytes"] == len(data)
        assert file["header"] == hashlib.sha256(data[8:begin]).hexdigest()
        assert file["stretches"] == hashlib.sha256(stretches).hexdigest()
    layers = [(x.name, x.max_error, x.zero_rows) for x in report.layers]
    keys = ("max_error", "zero_rows")
    assert layers == [(name, *(x[k] for k in keys)) for name, x in said["layers"].items()]
    for layer in report.layers:
        x = said["layers"][layer.name]
        decibels = 10 * np.log10(x["sum_of_squares"] / x["sum_of_squared_errors"])
        assert layer.sqnr_db == pytest.approx(decibels, abs=1e-9)
