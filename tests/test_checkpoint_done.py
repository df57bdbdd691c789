"""What quantize writes beside the model, SHA256SUMS and the rest, and what it says the second time."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checkpoints import models, tensor_files
from checkpoints.runs import SIZES, StoppedError, stopped_at
from test_checkpoint_quantize import files_of
from test_checkpoint_sources import with_another_row

from npu_quant import checkpoint, cli
from npu_quant.checkpoint import sums
from npu_quant.checkpoint.keep import OutFolder

DESCRIPTION = "quant_model_description.json"
ODD = ("a b.txt", "back\\slash.txt", "two\nlines.txt", "字.txt")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return models.make(tmp_path / "model", "llama", **SIZES)


def quantize(source: Path, out: Path, **more: Any) -> checkpoint.QuantizeReport:
    options: dict[str, Any] = {"shard_size": "200KB", "workers": 1}
    return checkpoint.quantize(source, out, "W8A8_DYNAMIC", **options | more)


class TestSums:
    @pytest.mark.parametrize("format", ["ascend", "compressed-tensors"])
    def test_sha256sum_reads_them(self, format: str, source: Path, tmp_path: Path) -> None:
        for name in ODD:
            (source / name).write_text(name)
        out = tmp_path / "out"
        quantize(source, out, format=format)
        lines = (out / "SHA256SUMS").read_bytes().splitlines()
        assert len(lines) == len(files_of(out)) - 1
        done = subprocess.run(
            ["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=out, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.count(b": OK\n") == len(lines)

    def test_by_hand(self) -> None:
        """As sha256sum of GNU coreutils writes them, sorted."""
        a, b = "a" * 64, "b" * 64
        data = sums.sums_bytes({"b": b, "a c": a, "a\nb\\": b})
        assert data.decode() == f"\\{b}  a\\nb\\\\\n{a}  a c\n{b}  b\n"
        assert sums.parsed(data.split(b"\n")).files == {"b": b, "a c": a, "a\nb\\": b}

    def test_the_sources_own_are_not_copied(self, source: Path, tmp_path: Path) -> None:
        """They are of files that the result has not; in a folder below they are a file as others."""
        (source / "SHA256SUMS").write_text("0" * 64 + "  config.json\n")
        (source / "npu_quant.json").write_text("{}")
        (source / "assets/SHA256SUMS").write_text("mine")
        quantize(source, tmp_path / "out")
        files = files_of(tmp_path / "out")
        sha256 = hashlib.sha256(files["config.json"]).hexdigest()
        assert f"{sha256}  config.json\n".encode() in files["SHA256SUMS"]
        assert files["assets/SHA256SUMS"] == b"mine"
        assert b'"options"' in files["npu_quant.json"]

    @pytest.mark.parametrize("format", ["ascend", "compressed-tensors"])
    def test_what_makes_it_a_model_comes_last(
        self, format: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written: list[str] = []
        write = OutFolder.write
        monkeypatch.setattr(OutFolder, "write", lambda w, n, d: written.append(n) or write(w, n, d))
        quantize(source, tmp_path / "out", format=format)
        last = DESCRIPTION if format == "ascend" else "config.json"
        assert written[-2:] == ["SHA256SUMS", last]

    def test_what_was_copied_is_read_back_too(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write = OutFolder.write

        def spoiling(out: OutFolder, name: str, data: bytes) -> None:
            write(out, name, data)
            if name == DESCRIPTION:
                (out.path / "vocab.txt").write_text("spoilt")

        monkeypatch.setattr(OutFolder, "write", spoiling)
        report = quantize(source, tmp_path / "out")
        assert [(f.rule, f.name) for f in report.findings] == [("changed", "vocab.txt")]


def test_the_same_command_after_it_is_done(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["quantize", str(source), str(out), "--scheme", "W8A8_DYNAMIC"]
    words += ["--shard-size", "200KB", "--workers", "2"]
    first = quantize(source, out)
    before = files_of(out)
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    assert cli.main(words) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith("done already: llama to W8A8_DYNAMIC (ascend): 737.25 KiB become ")
    told: list[tuple[int, int]] = []
    again = quantize(source, out, progress=lambda *at: told.append(at))
    assert told[-1] == (first.source_bytes, first.source_bytes)
    a, b = first.to_dict(), again.to_dict()
    for report in (a, b):
        del report["seconds"], report["peak_rss_bytes"]
    done = {"is_finished_before": True, "resumed": len(a["shards"])}
    assert b == a | done | {"resumed_bytes": a["source_bytes"]}
    assert files_of(out) == before
    assert times == {path: path.stat().st_mtime_ns for path in out.rglob("*")}


def test_what_is_unfit_stays_unfit(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No consumer takes a model of no type: that it is done already makes it no better."""
    (source / "config.json").write_text('{"torch_dtype": "bfloat16"}')
    out = tmp_path / "out"
    words = ["quantize", str(source), str(out), "--scheme", "W8A8_DYNAMIC", "--workers", "1"]
    for is_done in (False, True):
        assert cli.main([*words, "--json", "-"]) == 1
        data = json.loads(capsys.readouterr().out)
        assert (data["passed"], data["is_finished_before"]) == (False, is_done)
        assert [(f["rule"], f["name"]) for f in data["findings"]] == [("config", "config.json")]
    assert cli.main(words) == 1
    assert capsys.readouterr().out.startswith("FAILED: the written files have errors: ")
    assert cli.main([*words, "--no-verify"]) == 0
    assert capsys.readouterr().out.startswith("done already: ")


def spoil(name: str) -> Callable[[Path], None]:
    def change(out: Path) -> None:
        path = min(out.glob(name))
        data = bytearray(path.read_bytes())
        data[-2] ^= 1
        path.write_bytes(data)

    return change


DAMAGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a shard": (spoil("*-00002-of*.safetensors"), "quant_model_weights-00002-of-00003.safetensors"),
    "a copied file": (spoil("vocab.txt"), "vocab.txt"),
    "the description": (spoil(DESCRIPTION), DESCRIPTION),
    "a lost file": (lambda out: (out / "tokenizer.json").unlink(), "tokenizer.json"),
    "no sums": (lambda out: (out / "SHA256SUMS").unlink(), "SHA256SUMS"),
    "other sums": (lambda out: (out / "SHA256SUMS").write_text("x\n"), "SHA256SUMS"),
    "no sum of a file": (
        lambda out: (out / "SHA256SUMS").write_bytes(
            b"".join((out / "SHA256SUMS").read_bytes().splitlines(keepends=True)[1:])
        ),
        "assets/vocab.txt",
    ),
    "a record that is no JSON": (
        lambda out: (out / "npu_quant.json").write_text("x\n"),
        "npu_quant.json",
    ),
    "the layers": (
        lambda out: (out / "npu_quant.json").write_text(
            (out / "npu_quant.json").read_text().replace('"layers"', '"leyers"')
        ),
        "npu_quant.json",
    ),
    "a number of the record": (
        lambda out: (out / "npu_quant.json").write_text(
            (out / "npu_quant.json").read_text().replace('"zero_rows": 1', '"zero_rows": 2')
        ),
        "npu_quant.json",
    ),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_what_is_damaged_is_not_done(what: str, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    quantize(source, out)
    change, name = DAMAGED[what]
    change(out)
    before = files_of(out)
    with pytest.raises(checkpoint.CheckpointError) as caught:
        quantize(source, out)
    text = str(caught.value)
    assert text.startswith(f"{out} is not empty: it holds the result of this command, but ")
    assert name in text
    assert text.endswith("not as the command writes it: delete the folder, or choose another.")
    assert files_of(out) == before


@pytest.mark.parametrize("name", ["SHA256SUMS", "npu_quant.json", "vocab.txt", "config.json"])
def test_what_cannot_be_read_is_not_damaged(name: str, source: Path, tmp_path: Path) -> None:
    """Such as of a disk that is away for a moment: nobody should delete a result for that."""
    out = tmp_path / "out"
    quantize(source, out)
    (out / name).unlink()
    (out / name).symlink_to(name)  # ELOOP, also for root
    with pytest.raises((OSError, checkpoint.CheckpointError)) as caught:
        quantize(source, out)
    assert "delete" not in str(caught.value)


def new_tokenizer(source: Path, _: Path) -> Path:
    (source / "tokenizer.json").write_text("{}")
    return source


def new_file(source: Path, _: Path) -> Path:
    (source / "added.py").write_text("pass")
    return source


def new_row(source: Path, root: Path) -> Path:
    return with_another_row(source, root / "other", "model.layers.1.mlp.up_proj.weight")


def other_weights(_: Path, root: Path) -> Path:
    return models.make(root / "other", "llama", seed=2, **SIZES)


def new_config(source: Path, _: Path) -> Path:
    config = tensor_files.read_json(source / "config.json")
    tensor_files.write_json(source / "config.json", config | {"rope_theta": 5.0})
    return source


OTHERS = [
    (new_tokenizer, "it holds the result of this command, but tokenizer.json is not as"),
    (new_file, "it holds the result of this command, but added.py is not as"),
    (new_row, "the result of another source (other weights became quant_model_weights-00002-of"),
    (other_weights, "of another source (model-00001-of-00002.safetensors has other weights)"),
    (new_config, "of another source (config.json is another one)"),
]


@pytest.mark.parametrize(("change", "said"), OTHERS, ids=lambda x: getattr(x, "__name__", ""))
def test_what_another_source_has_become_is_not_done(
    change: Callable[[Path, Path], Path], said: str, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    quantize(source, out)
    before = files_of(out)
    with pytest.raises(checkpoint.CheckpointError) as caught:
        quantize(change(source, tmp_path), out)
    assert str(caught.value).startswith(f"{out} is not empty: ")
    assert said in str(caught.value)
    assert files_of(out) == before


def test_foreign_files_change_nothing(source: Path, tmp_path: Path) -> None:
    quantize(source, tmp_path / "out")
    (tmp_path / "out/notes.txt").write_text("mine")
    assert quantize(source, tmp_path / "out").is_finished_before


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        here = Path.cwd()
        os.chdir(path.parent)  # the path of a socket must be short
        end.bind(path.name)
        os.chdir(here)


IRREGULAR: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to nothing": (
        lambda path: path.symlink_to("../../blobs/0123"),
        "is a link to ../../blobs/0123, which is not there: download the model anew, or remove the "
        "link.",
    ),
    "a link to itself": (
        lambda path: path.symlink_to(path.name),
        "is a link to {name}, which is not there: download the model anew, or remove the link.",
    ),
    "a pipe": (pipe, "is not a regular file: move it out of the model's folder."),
    "a socket": (listening, "is not a regular file: move it out of the model's folder."),
    "a device": (
        lambda path: path.symlink_to("/dev/null"),
        "is not a regular file: move it out of the model's folder.",
    ),
}


@pytest.mark.parametrize("name", ["tokenizer.json", "original/params.json"])
@pytest.mark.parametrize("what", IRREGULAR)
def test_what_cannot_be_copied_is_refused(
    what: str, name: str, source: Path, tmp_path: Path
) -> None:
    make, said = IRREGULAR[what]
    (source / name).unlink()
    make(source / name)
    with pytest.raises(checkpoint.CheckpointError) as caught:
        quantize(source, tmp_path / "out")
    assert str(caught.value) == f"{name} {said.format(name=Path(name).name)}"
    assert not (tmp_path / "out").exists()


def test_what_is_not_copied_may_be_anything(source: Path, tmp_path: Path) -> None:
    for name in ("pytorch_model.bin", ".cache", "model.onnx"):
        (source / name).symlink_to("nowhere")
    os.mkfifo(source / ".pipe")
    assert quantize(source, tmp_path / "out").passed


def test_links_to_files_are_files(source: Path, tmp_path: Path) -> None:
    """As in the cache of Hugging Face."""
    (tmp_path / "blobs").mkdir()
    shutil.move(source / "tokenizer.json", tmp_path / "blobs/1")
    (source / "tokenizer.json").symlink_to("../blobs/1")
    quantize(source, tmp_path / "out")
    copied = tmp_path / "out/tokenizer.json"
    assert copied.read_bytes() == (tmp_path / "blobs/1").read_bytes()
    assert not copied.is_symlink()


def test_sums_are_right_after_an_interruption(source: Path, tmp_path: Path) -> None:
    quantize(source, tmp_path / "whole")
    with pytest.raises(StoppedError):
        quantize(source, tmp_path / "out", progress=stopped_at(0.5))
    quantize(source, tmp_path / "out")
    assert files_of(tmp_path / "out") == files_of(tmp_path / "whole")
