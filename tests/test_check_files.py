"""The files beside the weights: those that a check misses, names that are no model's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from checkpoints.expected import expect
from checkpoints.models import make
from checkpoints.runs import expected_pair
from checkpoints.tensor_files import write_json

from npu_quant.checkpoint import CheckpointError, check, quantize

WORDS = ["tokenizer.json", "tokenizer.model", "vocab.txt"]
# What the original has, what of it is lost, what is said of each: severity, name, text.
LOST = [
    ([], ["tokenizer.json"], [("warning", "consumers that read it do without it")]),
    ([], WORDS, [("error", "vLLM finds no tokenizer, and ends")] * 3),
    (["qwen.tiktoken"], [*WORDS, "qwen.tiktoken"], [("error", "vLLM finds no tokenizer, and")] * 4),
    (["qwen.tiktoken"], WORDS, [("warning", "consumers that read")] * 3),
    (["modeling_x.py"], ["modeling_x.py"], [("error", "vLLM cannot run the model's own code")]),
]
NEVER_COPIED = ["SHA256SUMS", "a.bin", ".b", "quant_model_description_old.json", "x.index.json"]


@pytest.mark.parametrize(("more", "lost", "said"), LOST)
def test_files_that_the_original_has(
    more: list[str], lost: list[str], said: list[tuple[str, str]], tmp_path: Path
) -> None:
    source = make(tmp_path / "source", "llama")
    for name in more:
        (source / name).write_bytes(b"x")
    folder = expect(source, "W8A8_DYNAMIC").write(tmp_path / "quantized")
    for name in NEVER_COPIED:
        (source / name).write_bytes(b"x")
    assert check(folder, source, 1).findings == []
    for name in lost:
        (folder / name).unlink()
    found = check(folder, source, 1).findings
    assert [(f.rule, f.severity, f.name) for f in found] == [
        ("missing-file", severity, name)
        for (severity, _), name in zip(said, sorted(lost), strict=True)
    ]
    for finding, (_, text) in zip(found, said, strict=True):
        assert text in finding.text


NO_MODELS = [
    (
        "Qwen/Qwen2-7B",
        "is not a folder: to take a model from a hub, download it first, and name its",
    ),
    ("here/config.json", "here/config.json is not a folder."),
    ("/nowhere/x", "/nowhere/x is not a folder."),
    ("nowhere", "nowhere is not a folder."),
    ("a/b/c", "a/b/c is not a folder."),
    ("../b", "../b is not a folder."),
    ("plain", "plain is not quantized: it has neither quant_model_description.json nor a quant"),
    ("gptq", "gptq is not quantized for Ascend: its quantization_config is of gptq, not of"),
    ("broken", "broken has no quant_model_description.json, and config.json is not JSON: "),
]


@pytest.mark.parametrize(("path", "text"), NO_MODELS)
def test_what_is_no_quantized_model(
    path: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("here", "plain", "gptq", "broken"):
        Path(name).mkdir()
        write_json(Path(name, "config.json"), {"model_type": "llama"})
    write_json(Path("gptq/config.json"), {"quantization_config": {"quant_method": "gptq"}})
    Path("broken/config.json").write_text("{")
    with pytest.raises(CheckpointError, match=re.escape(text)):
        check(path, None, 1)


def test_a_shard_that_was_cut_off_is_told_once(tmp_path: Path) -> None:
    folder = expect(make(tmp_path / "source", "llama"), "W8A8_DYNAMIC").write(tmp_path / "out")
    (path,) = folder.glob("*.safetensors")
    data = path.read_bytes()
    path.write_bytes(data[:-100])
    (line,) = [x for x in str(check(folder, None, 1)).splitlines() if "truncated" in x]
    said = (
        f"has {len(data) - 100} bytes, its header says {len(data)}: safetensors refuses to open it"
    )
    assert line == f"  error: truncated: {path.name}: {said}"


def test_what_an_index_misplaces(tmp_path: Path) -> None:
    folder = expect(make(tmp_path / "source", "llama"), "W8A8_DYNAMIC").write(tmp_path / "out")
    path = folder / "quant_model_weights.safetensors.index.json"
    index = json.loads(path.read_text())
    (shard,) = {*index["weight_map"].values()}
    norm, head = "model.norm.weight", "lm_head.weight"
    del index["weight_map"][norm]
    index["weight_map"] |= {"x.weight": shard, head: "y.safetensors", "z.weight": "y.safetensors"}
    write_json(path, index)
    found = [f for f in check(folder, None, 1).findings if f.rule in ("index", "missing-shard")]
    assert [(f.name, f.text) for f in found] == [
        ("y.safetensors", "is not there: its tensors cannot be loaded"),
        (head, f"is in {shard}, but {path.name} puts it in y.safetensors: readers fail"),
        (norm, f"is in {shard}, but not in {path.name}: readers by index leave it out"),
        ("x.weight", f"is not in {shard}, where {path.name} puts it: not loaded"),
    ]


@pytest.mark.parametrize(("has_index", "text"), [(True, "{} names no file"), (False, "has no *.s")])
def test_a_model_of_no_shard(has_index: bool, text: str, tmp_path: Path) -> None:
    folder = expect(make(tmp_path / "source", "llama"), "W8A8_DYNAMIC").write(tmp_path / "out")
    index = folder / "quant_model_weights.safetensors.index.json"
    write_json(index, {"weight_map": {}})
    if not has_index:
        index.unlink()
        for shard in folder.glob("*.safetensors"):
            shard.unlink()
    (found,) = [f for f in check(folder, None, 1).findings if f.rule == "missing-shard"]
    assert found.name == folder.name
    assert found.text.startswith(text.format(index.name))


@pytest.mark.parametrize("shard_size", ["4GiB", "30KB"])
def test_shards_without_an_index(shard_size: str, tmp_path: Path) -> None:
    """One file needs none."""
    source, out = make(tmp_path / "source", "llama"), tmp_path / "out"
    quantize(source, out, "W8A8_DYNAMIC", shard_size=shard_size, workers=1)
    index = out / "quant_model_weights.safetensors.index.json"
    index.unlink()
    found = [f for f in check(out, None, 1).findings if f.rule == "index"]
    text = "is missing: consumers load all files, in no order"
    said = [("warning", "index", index.name, text)] if shard_size == "30KB" else []
    assert found == said


def test_an_original_whose_files_cannot_be_listed(tmp_path: Path) -> None:
    """Its weights are compared nevertheless."""
    source, folder = expected_pair(tmp_path)
    (source / "README.md").symlink_to("blobs/1")
    report = check(folder, source, 1)
    (found,) = report.findings
    assert (found.severity, found.rule, found.name) == ("warning", "missing-file", "source")
    assert found.text.startswith("README.md is a link to blobs/1, which is not there: ")
    assert found.text.endswith(": its files are not compared")
    assert report.recipe == {"W8A8_DYNAMIC": "npu_quant-P-127"}
