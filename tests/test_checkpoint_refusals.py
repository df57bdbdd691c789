"""npu_quant.checkpoint.quantize: what it refuses, before anything is written."""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import models, tensor_files
from checkpoints.source_faults import SOURCE_FAULTS
from checkpoints.spoiling import add
from test_checkpoint_quantize import files_of

from npu_quant import checkpoint, cli
from npu_quant.checkpoint.keep import OutFolder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    families = ["llama", "qwen3_moe", "deepseek_v3", "qwen3_vl_moe"]
    return {family: models.make(root / family, family) for family in families}


@pytest.mark.parametrize("fault", SOURCE_FAULTS)
def test_a_broken_source(fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refusal = SOURCE_FAULTS[fault]
    source, out = models.make(tmp_path / "model", refusal.family), tmp_path / "out"
    refusal.spoil(source)
    words = ["quantize", str(source), str(out), "--scheme", "W8A8_DYNAMIC", "--workers", "1"]
    assert cli.main(words) == 2
    line = capsys.readouterr().err
    assert line.startswith("npu-quant quantize: ")
    assert line.count("\n") == 1
    assert [word for word in refusal.words if word not in line] == []
    if fault.startswith("numbers that are none"):  # which only reading tells
        assert {p.name for p in out.iterdir()} == {".npu-quant"}
    else:
        assert not out.exists()


PLANS: list[tuple[str, str, dict[str, Any], str]] = [
    ("llama", "w8a8_mxpf8", {}, r"scheme is 'w8a8_mxpf8', available: W8A16, .*mean W8A8_MXFP8\?"),
    ("llama", "W8A8_DYNAMIC", {"format": "gguf"}, r"format is 'gguf', available: ascend, comp"),
    ("llama", "W8A16", {"format": "compressed-tensors"}, r"no Ascend consumer reads W8A16 as com"),
    ("llama", "W4A8_DYNAMIC", {}, r"W4A8_DYNAMIC is for routed experts, and the model has none"),
    ("llama", "W8A8_DYNAMIC", {"dtype": "float32"}, r"dtype is 'float32', available: bfloat16, f"),
    ("llama", "W8A8_MXFP8", {"mx_scale": "down"}, r"mx_scale is 'down', available: up, floor"),
    ("llama", "W8A8_DYNAMIC", {"shard_size": "4 parsecs"}, r"shard size is '4 parsecs', expected"),
    ("llama", "W8A8_DYNAMIC", {"workers": 0}, r"workers is 0, expected 1 or more"),
    ("llama", "W8A8_DYNAMIC", {"exclude": "*.mpl.*"}, r"--exclude \*\.mpl\.\* matches no module; t"),
    ("llama", "W8A8_DYNAMIC", {"include": ["lm_head"]}, r"selects no Linear: lm_head is never qu"),
    ("llama", "W8A8_DYNAMIC", {"types": {"*.q_proj": "W8A16"}}, r"q_proj, k_proj and v_proj of .*: "
     r"they have|must have one type.*add --exclude"),
    ("llama", "W8A8_DYNAMIC", {"types": {"*": "W4A4"}}, r"--type \*=W4A4: ascend has W8A16"),
    ("llama", "W8A8_DYNAMIC", {"types": {"*.mlp.*": "W4A8_DYNAMIC"}}, r"is for routed experts only"),
    ("llama", "W8A8_DYNAMIC", {"exclude": ["*.q_proj"]}, r"must have one type.*--exclude 'model\.l"),
    ("qwen3_moe", "W8A16", {}, r"vllm-ascend has no experts of W8A16"),
    ("qwen3_moe", "W8A8_DYNAMIC", {"exclude": ["*.experts.1.*"]}, r"the experts of .*one type"),
    ("qwen3_moe", "W8A8_MXFP8", {"types": {"*.experts.*": "W4A8_DYNAMIC"}}, r"has one group_size"),
    ("deepseek_v3", "W8A8_DYNAMIC", {"include": ["*.kv_b_proj"]}, r"kv_b_proj is never quantized"),
    ("deepseek_v3", "W8A8_DYNAMIC", {"include": ["*.eh_proj"]}, r"eh_proj is never quantized"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "scheme", "options", "text"), PLANS)
def test_a_plan_that_no_consumer_reads(
    family: str,
    scheme: str,
    options: dict[str, Any],
    text: str,
    folders: dict[str, Path],
    tmp_path: Path,
) -> None:
    with pytest.raises(checkpoint.CheckpointError, match=text):
        checkpoint.quantize(folders[family], tmp_path / "out", scheme, **options)
    assert not (tmp_path / "out").exists()


def test_a_model_without_tensors(tmp_path: Path) -> None:
    (source := tmp_path / "model").mkdir()
    (source / "config.json").write_text('{"model_type": "llama"}')
    tensor_files.write(source / "model.safetensors", {})
    with pytest.raises(
        checkpoint.CheckpointError, match=r"^the model has no tensors: its \*\.safe"
    ):
        checkpoint.quantize(source, tmp_path / "out", "W8A8_DYNAMIC", workers=1)
    assert not (tmp_path / "out").exists()


def test_a_model_without_linears(tmp_path: Path) -> None:
    """It is copied, and that is said."""
    (source := tmp_path / "model").mkdir()
    (source / "config.json").write_text('{"model_type": "llama", "torch_dtype": "bfloat16"}')
    tensor_files.write(source / "model.safetensors", {"model.norm.weight": np.ones(3, np.float32)})
    report = checkpoint.quantize(source, tmp_path / "out", "W8A8_DYNAMIC", workers=1)
    said = "no module is quantized: the model has no Linear, or all are left FLOAT"
    assert report.warnings == [said]
    checked = checkpoint.check(tmp_path / "out", source, 1)
    assert (checked.verdict, checked.passed, checked.status) == ("not judged", False, 3)
    assert str(checked) == "not judged: no module is quantized"


MENDED: list[tuple[str, dict[str, int], str, dict[str, Any]]] = [
    ("qwen3_moe", {"hidden": 96}, "W8A8_MXFP8", {}),
    ("qwen3_moe", {"inner": 44}, "W4A8_DYNAMIC", {}),
    ("qwen3_moe", {"inner": 40}, "W4A8_DYNAMIC", {}),
    ("qwen3_moe", {}, "W8A16", {}),
    ("qwen3_moe", {"experts": 8}, "W8A8_DYNAMIC", {"exclude": ["*.experts.1.*"]}),
    ("qwen3_moe", {"experts": 8}, "W8A8_DYNAMIC", {"types": [("*.experts.1.*", "W8A8_MXFP8")]}),
    ("llama", {}, "W4A8_DYNAMIC", {}),
    ("llama", {}, "W8A8_DYNAMIC", {"exclude": ["*.q_proj"]}),
    ("llama", {}, "W8A8_DYNAMIC", {"types": [("*.0.mlp.down_proj", "W4A8_DYNAMIC")]}),
]


@pytest.mark.parametrize("which", [0, -1])
@pytest.mark.parametrize(("family", "sizes", "scheme", "options"), MENDED)
def test_the_options_that_a_refusal_names_mend_the_plan(
    which: int,
    family: str,
    sizes: dict[str, int],
    scheme: str,
    options: dict[str, Any],
    tmp_path: Path,
) -> None:
    """Each layer that it names by the next refusal, until there is none."""
    source = models.make(tmp_path / "model", family, **sizes)
    how = {"exclude": [*options.get("exclude", ())], "types": [*options.get("types", ())]}
    for count in itertools.count():
        try:
            checkpoint.quantize(source, tmp_path / "out", scheme, dry_run=True, **how)
        except checkpoint.CheckpointError as error:
            text = str(error)
        else:
            break
        assert count < 10
        assert len(text) <= 400
        either = text.rpartition(": ")[2].split(", or ")[which].rstrip(".")
        found = re.findall(r"--(exclude|type|scheme) '?([^' ,]+)'?", either)
        assert found, text
        scheme = next((value for option, value in found if option == "scheme"), scheme)
        how["exclude"] += [value for option, value in found if option == "exclude"]
        how["types"] += [tuple(v.split("=")) for option, v in found if option == "type"]
    assert count > 0


class TestOut:
    def refuse(self, source: Path, out: Path, text: str) -> None:
        before = files_of(out) if out.is_dir() else None
        with pytest.raises(checkpoint.CheckpointError, match=text):
            checkpoint.quantize(source, out, "W8A8_DYNAMIC", workers=1)
        assert before is None or files_of(out) == before

    def test_a_file(self, folders: dict[str, Path], tmp_path: Path) -> None:
        (tmp_path / "out").write_text("x")
        self.refuse(folders["llama"], tmp_path / "out", r"out is a file")

    def test_not_empty(self, folders: dict[str, Path], tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("x")
        self.refuse(folders["llama"], tmp_path, r"is not empty")

    def test_the_model_itself_and_inside(self, folders: dict[str, Path], tmp_path: Path) -> None:
        source = shutil.copytree(folders["llama"], tmp_path / "model")
        self.refuse(source, source, r"is the model's folder, or in it")
        self.refuse(source, source / "out", r"is the model's folder, or in it")
        (tmp_path / "link").symlink_to(source)
        self.refuse(source, tmp_path / "link", r"is the model's folder, or in it")

    def test_finished(self, folders: dict[str, Path], tmp_path: Path) -> None:
        checkpoint.quantize(folders["llama"], tmp_path / "out", "W8A16", workers=1)
        text = r"not empty: it holds the result of another command \(--scheme W8A16 there, W8A8_D"
        self.refuse(folders["llama"], tmp_path / "out", text)

    def test_no_room(
        self, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        full = shutil._ntuple_diskusage(1 << 40, 1 << 40, 1000)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
        self.refuse(folders["llama"], tmp_path / "out", r"needs \S+ KiB, there are 1000 B free")
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("there", ["out", "elsewhere", "nowhere"])
    def test_a_link(self, there: str, folders: dict[str, Path], tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "out").symlink_to(tmp_path / there)
        self.refuse(folders["llama"], tmp_path / "out", f"is a link to {tmp_path / there}: name")
        assert [*(tmp_path / "elsewhere").iterdir()] == []

    def test_a_file_to_copy_that_cannot_be_read(
        self, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = shutil.copytree(folders["llama"], tmp_path / "model")
        (source / "secret.txt").write_text("x")
        monkeypatch.setattr(os, "access", lambda path, _: "secret" not in str(path))
        with pytest.raises(PermissionError, match=r"secret\.txt"):
            checkpoint.quantize(source, tmp_path / "out", "W8A8_DYNAMIC", workers=1)
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("is_whole", [False, True])
    def test_another_run_came_first(
        self, is_whole: bool, folders: dict[str, Path], tmp_path: Path
    ) -> None:
        """It began, and was killed or finished, between the look at the folder and the lock."""
        out = tmp_path / "out"
        plans = [{"npu_quant": "1", "options": {"scheme": x}} for x in ("W8A8_DYNAMIC", "W8A16")]
        mine, other = (OutFolder(out, plan) for plan in plans)
        mine.check()
        with other:
            other.write("config.json", b"{}")
            if is_whole:
                other.end()
        before = files_of(out)
        text = "is not empty" if is_whole else r"--scheme W8A16 there, W8A8_DYNAMIC here"
        with pytest.raises(checkpoint.CheckpointError, match=text), mine:
            pass
        assert files_of(out) == before

    def test_held_by_another_run(self, folders: dict[str, Path], tmp_path: Path) -> None:
        work = tmp_path / "out/.npu-quant"
        work.mkdir(parents=True)
        lock = os.open(work / "lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.refuse(folders["llama"], tmp_path / "out", r"another run is writing to")
        os.close(lock)


OF_THE_MODEL = ["version", "model_quant_type", "group_size", "metadata", "optional"]


@pytest.mark.parametrize("name", OF_THE_MODEL)
def test_a_tensor_named_as_what_the_description_has_for_the_model(
    name: str, tmp_path: Path
) -> None:
    source = models.make(tmp_path / "model", "llama")
    add(source, {name: np.ones(3, np.float32)})
    text = rf"^a tensor is named {name}, which quant_model_description\.json has for the model: re"
    with pytest.raises(checkpoint.CheckpointError, match=text):
        checkpoint.quantize(source, tmp_path / "out", "W8A8_DYNAMIC", workers=1)
    assert not (tmp_path / "out").exists()
    options: dict[str, Any] = {"format": "compressed-tensors", "workers": 1}
    checkpoint.quantize(source, tmp_path / "out", "W8A8_DYNAMIC", **options)
    assert checkpoint.check(tmp_path / "out", source, 1).findings == []
