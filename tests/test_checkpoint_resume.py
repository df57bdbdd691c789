"""npu-quant quantize that is interrupted, killed, or runs out of room: the same command goes on."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import models
from checkpoints.runs import OPTIONS, StoppedError, stopped_after
from test_checkpoint_quantize import files_of

from npu_quant import checkpoint

pytest_plugins = ["checkpoints.runs"]


@pytest.fixture(scope="session")
def whole(whole: Path) -> dict[str, bytes]:
    """Return the files of a run that nothing interrupts."""
    return files_of(whole)


def went_on(source: Path, out: Path, workers: int = 1, **more: Any) -> checkpoint.QuantizeReport:
    return checkpoint.quantize(source, out, "W8A8_DYNAMIC", workers=workers, **OPTIONS, **more)


def stop(source: Path, out: Path, count: int, workers: int = 1) -> None:
    """Begin a run, and stop it when it tells of progress so often."""
    with pytest.raises(StoppedError):
        went_on(source, out, workers, progress=stopped_after(count))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 5, 9, 14, 20])
def test_stopped_anywhere(
    count: int, workers: int, source: Path, whole: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    stop(source, out, count, workers)
    done = {p.name for p in out.glob("*.safetensors")}
    assert not (out / "quant_model_description.json").exists()
    report = went_on(source, out, workers)
    assert report.resumed == len(done)
    assert files_of(out) == whole


def test_the_report_has_the_layers_of_shards_that_were_there(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stop(source, out, 9)
    resumed, other = went_on(source, out), went_on(source, tmp_path / "other")
    assert resumed.resumed > 0
    assert resumed.layers == other.layers


@pytest.fixture
def unfinished(source: Path, tmp_path: Path) -> Path:
    """Return a folder with two shards or more, and the rest to do."""
    out = tmp_path / "out"
    stop(source, out, 14)
    assert len([*out.glob("*.safetensors")]) >= 2
    return out


def test_a_shard_that_was_changed_is_made_anew(
    unfinished: Path, source: Path, whole: dict[str, bytes]
) -> None:
    shard = min(unfinished.glob("*.safetensors"))
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    count = len([*unfinished.glob("*.safetensors")])
    assert went_on(source, unfinished).resumed == count - 1
    assert files_of(unfinished) == whole


def test_damage_that_keeps_the_checksums_of_pieces_is_found_in_the_end(
    unfinished: Path, source: Path, whole: dict[str, bytes]
) -> None:
    """Two words change places: SHA256SUMS has the SHA-256 that the shard had when it was whole."""
    shard = min(unfinished.glob("*.safetensors"))
    data = shard.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    places = (t["data_offsets"] for name, t in header.items() if name != "__metadata__")
    at = next(begin + first for first, end in places if end - first >= 8192)
    assert data[at : at + 8] != data[at + 8 : at + 16]
    words = data[at + 8 : at + 16] + data[at : at + 8]
    shard.write_bytes(data[:at] + words + data[at + 16 :])
    report = went_on(source, unfinished)
    assert [(f.rule, f.name) for f in report.findings] == [("changed", shard.name)]
    files = files_of(unfinished)
    assert files.pop(shard.name) != whole[shard.name]
    assert files == {name: held for name, held in whole.items() if name != shard.name}


@pytest.mark.parametrize("end", [b'{"shard": "quant_mod', b"\xff\n", b'{"shard": 5}\n', b"[]\n"])
def test_a_journal_whose_last_line_is_cut_off(
    end: bytes, unfinished: Path, source: Path, whole: dict[str, bytes]
) -> None:
    with open(unfinished / ".npu-quant/journal.jsonl", "ab") as file:
        file.write(end)
    went_on(source, unfinished)
    assert files_of(unfinished) == whole


@pytest.mark.parametrize("is_written", [False, True])
def test_the_room_of_what_a_killed_run_left_half(
    is_written: bool, unfinished: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is free as soon as the next run begins, but where it is a hole it was free before."""
    part = unfinished / ".npu-quant/x.part"
    part.write_bytes(bytes(1 << 20) if is_written else b"")
    os.truncate(part, 1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1 << 40, 0, 1000))
    if is_written:
        went_on(source, unfinished)
    else:
        with pytest.raises(checkpoint.CheckpointError, match="1000 B free"):
            went_on(source, unfinished)


def test_another_command_is_refused(unfinished: Path, source: Path) -> None:
    before = files_of(unfinished)
    with pytest.raises(
        checkpoint.CheckpointError,
        match=r"unfinished run of another command \(--scheme W8A8_DYNAMIC there, W8A16 here\): give "
        r"the same again, or delete it or choose another folder\.",
    ):
        checkpoint.quantize(source, unfinished, "W8A16", workers=1, **OPTIONS)
    assert files_of(unfinished) == before


def test_stopped_while_what_was_written_is_checked(
    source: Path, whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from npu_quant.checkpoint import quantizing

    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(quantizing, "check", stopped)
        with pytest.raises(KeyboardInterrupt):
            went_on(source, out)
    with pytest.raises(checkpoint.CheckpointError, match="is unfinished"):
        checkpoint.check(out)
    report = went_on(source, out)
    assert report.resumed == len(report.shards)
    assert files_of(out) == whole


def test_killed_while_it_removes_what_an_unfinished_run_needs(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is whole."""

    def killed(folder: Path) -> None:
        min(folder.iterdir()).unlink()
        raise StoppedError

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", killed)
        with pytest.raises(StoppedError):
            went_on(source, out)
    assert checkpoint.check(out, source).passed
    assert [*out.glob(".npu-quant*")]
    assert went_on(source, out).is_finished_before
    assert [*out.glob(".npu-quant*")] == []


def test_foreign_files_stay(unfinished: Path, source: Path, whole: dict[str, bytes]) -> None:
    (unfinished / "notes.txt").write_text("mine")
    went_on(source, unfinished)
    assert files_of(unfinished) == whole | {"notes.txt": b"mine"}


def command(source: Path, out: Path, *more: str) -> list[str]:
    words = ["quantize", str(source), str(out), "--scheme", "W8A8_DYNAMIC", "--shard-size", "80KB"]
    return [sys.executable, "-m", "npu_quant", *words, *more]


SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which background jobs lack
from npu_quant import cli
from npu_quant.checkpoint import run
make = run.make
run.make = lambda *a: (time.sleep(0.02), make(*a))[1]
sys.exit(cli.main(sys.argv[1:]))
"""


def started(source: Path, out: Path) -> subprocess.Popen[str]:
    """Start a run that takes a while, and wait until its first shard has its name."""
    words = [sys.executable, "-c", SLOW, *command(source, out, "--workers", "2")[3:]]
    run = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until = time.monotonic() + 60
    while not [*out.glob("*.safetensors")]:
        assert time.monotonic() < until
        assert run.poll() is None
        time.sleep(0.01)
    return run


@pytest.fixture
def run(source: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = started(source, tmp_path / "out")
    yield process
    process.kill()
    process.wait()


def test_ctrl_c(
    run: subprocess.Popen[str], source: Path, whole: dict[str, bytes], tmp_path: Path
) -> None:
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    kept = r"interrupted: (\d+\.\d\d) KiB of 737\.25 KiB are kept, the same command goes on\n"
    assert (found := re.fullmatch(f"npu-quant quantize: {kept}", said)), said
    assert 0 < float(found[1]) <= 737.25
    assert not (tmp_path / "out/quant_model_description.json").exists()
    assert went_on(source, tmp_path / "out").resumed >= 1
    assert files_of(tmp_path / "out") == whole


def test_kill_9(
    run: subprocess.Popen[str], source: Path, whole: dict[str, bytes], tmp_path: Path
) -> None:
    run.kill()
    run.communicate(timeout=60)  # which waits for those that hold its stderr
    assert went_on(source, tmp_path / "out").resumed >= 1
    assert files_of(tmp_path / "out") == whole


LIMITED = ["sh", "-c", 'ulimit -f 150; exec "$@"', "sh"]  # in blocks of 512 bytes, or 1024


def test_a_limit_of_file_sizes(source: Path, whole: dict[str, bytes], tmp_path: Path) -> None:
    """As a full disk: one line that names the file, and the same command goes on."""
    out = tmp_path / "out"
    words = [*LIMITED, *command(source, out, "--workers", "1")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    kept = "0 B of 737.25 KiB are kept, the same command goes on"
    assert done.stderr.endswith(f"safetensors.part: File too large: {kept}\n")
    assert done.stderr.count("\n") == 1
    went_on(source, out)
    assert files_of(out) == whole


def test_a_limit_where_a_file_is_copied(tmp_path: Path) -> None:
    """The file that cannot be written is named, not the one that is read."""
    model, out = models.make(tmp_path / "model", "llama"), tmp_path / "out"
    (model / "large.txt").write_bytes(bytes(200_000))
    words = [*LIMITED, *command(model, out, "--shard-size", "30KB", "--workers", "1")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    text = f"npu-quant quantize: {out}/.npu-quant/copy.part: File too large: "
    text += "245.95 KiB of 245.95 KiB are kept, the same command goes on\n"
    assert (done.returncode, done.stderr) == (2, text)


def test_the_source_shrinks_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npu_quant.checkpoint.matrices.PIECE_BYTES", 3000)  # so that there are many
    model = models.make(tmp_path / "model", "llama")
    path = model / "model-00001-of-00002.safetensors"

    def cut(done: int, total: int) -> None:
        os.truncate(path, 40_000)

    with pytest.raises((checkpoint.CheckpointError, OSError, ValueError), match=path.name):
        checkpoint.quantize(model, tmp_path / "out", "W8A8_DYNAMIC", workers=1, progress=cut)


def test_what_is_written_is_read_back(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte that changes after its shard was closed is told, with status 1."""
    from npu_quant import cli
    from npu_quant.checkpoint import quantizing

    written = quantizing._write_files

    def spoil(prepared: Any, out: Any, *more: Any) -> Any:
        sums = written(prepared, out, *more)
        path = min(out.path.glob("*.safetensors"))
        data = np.fromfile(path, np.uint8)
        data[-1] ^= 1
        data.tofile(path)
        return sums

    monkeypatch.setattr(quantizing, "_write_files", spoil)
    words = command(source, tmp_path / "out", "--workers", "1", "--json", str(tmp_path / "j"))[3:]
    assert cli.main(words) == 1
    assert json.loads((tmp_path / "j").read_text())["command"] == "quantize"
    unverified = command(source, tmp_path / "unverified", "--workers", "1", "--no-verify")[3:]
    assert cli.main(unverified) == 0
