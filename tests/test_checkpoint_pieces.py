"""npu-quant quantize keeps pieces of a shard that is not whole: a killed run loses no more than seconds."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checkpoints.runs import StoppedError, stopped_at
from test_checkpoint_quantize import files_of

from npu_quant import checkpoint, cli
from npu_quant.checkpoint import matrices, run
from npu_quant.checkpoint.making import Piece
from npu_quant.checkpoint.place import Place

pytest_plugins = ["checkpoints.runs"]

SHARD = "quant_model_weights-00001-of-00001.safetensors"
TOTAL = 754_944  # bytes of the source's tensors


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard of forty-odd pieces."""
    monkeypatch.setattr(matrices, "PIECE_BYTES", 20_000)
    monkeypatch.setattr(matrices, "BAND_BYTES", 6_000)


def quantize(source: Path, out: Path, **more: Any) -> checkpoint.QuantizeReport:
    return checkpoint.quantize(source, out, "W8A8_DYNAMIC", **{"workers": 1} | more)


@pytest.fixture
def whole(source: Path, tmp_path: Path) -> tuple[dict[str, bytes], list[checkpoint.Layer]]:
    """Return the files and the layers of a run that nothing interrupts."""
    report = quantize(source, tmp_path / "whole")
    assert [s["file"] for s in report.shards] == [SHARD]
    return files_of(tmp_path / "whole"), report.layers


@pytest.fixture
def half(source: Path, tmp_path: Path) -> Path:
    """Return a folder in which half of the only shard is made."""
    with pytest.raises(StoppedError):
        quantize(source, tmp_path / "out", progress=stopped_at(0.5))
    assert not (tmp_path / "out" / SHARD).exists()
    return tmp_path / "out"


def part_in(out: Path) -> Path:
    return out / f".npu-quant/{SHARD}.part"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Piece]:
    """Return the pieces that are made."""
    result: list[Piece] = []
    make = run.make

    def counted(job: Any, piece: Any, path: Any) -> Any:
        result.append(piece)
        return make(job, piece, path)

    monkeypatch.setattr(run, "make", counted)
    return result


@pytest.mark.parametrize("workers", [1, 2])
def test_half_of_a_shard_is_taken_over(
    workers: int, source: Path, half: Path, whole: Any, made: list[Piece]
) -> None:
    """With what its layers lost: the report is that of one run."""
    told: list[int] = []
    report = quantize(source, half, workers=workers, progress=lambda done, _: told.append(done))
    assert (files_of(half), report.layers) == whole
    assert TOTAL / 2 <= report.resumed_bytes < TOTAL / 2 + 20_000
    assert report.resumed == 0
    assert f"; {report.resumed_bytes / 1024:.2f} KiB of it were done already" in str(report)
    assert told[-1] == TOTAL
    if workers == 1:
        assert sum(piece.source_bytes for piece in made) == TOTAL - report.resumed_bytes


def embedding_in(part: Path) -> int:
    """Return where the embedding begins, which is made first: four pieces and a little."""
    data = part.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    first: int = json.loads(data[8:begin])["model.embed_tokens.weight"]["data_offsets"][0]
    return begin + first


def put(path: Path, at: int, data: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def flip(path: Path, at: int) -> None:
    put(path, at, bytes([path.read_bytes()[at] ^ 1]))


SPOILT: dict[str, Callable[[Path], object]] = {
    "a flipped bit": lambda part: flip(part, embedding_in(part) + 50_001),
    "a page that never came to the disk": lambda part: put(
        part, embedding_in(part) + 18_000, bytes(4096)
    ),
    "its end cut off": lambda part: os.truncate(part, embedding_in(part) + 30_000),
    "its header": lambda part: flip(part, 5),
    "all of it": lambda part: part.unlink(),
    "too long": lambda part: os.truncate(part, 10_000_000),
}


@pytest.mark.parametrize("what", SPOILT)
def test_what_is_not_as_it_was_noted_is_made_anew(
    what: str, source: Path, half: Path, whole: Any
) -> None:
    kept = quantize(source, Path(shutil.copytree(half, half.with_name("kept")))).resumed_bytes
    SPOILT[what](part_in(half))
    report = quantize(source, half)
    assert (files_of(half), report.layers) == whole
    assert (report.resumed_bytes == kept) == (what in ("its header", "too long"))
    assert (report.resumed_bytes == 0) == (what == "all of it")


@pytest.mark.parametrize("lines", [1, 2, 10])
def test_a_journal_that_is_cut_off(lines: int, source: Path, half: Path, whole: Any) -> None:
    journal = half / ".npu-quant/journal.jsonl"
    some = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join(some[:-lines])[:-7])
    report = quantize(source, half)
    assert (files_of(half), report.layers) == whole


RUBBISH = (
    *(b"\xff\xfe\0", b"[1]", b"[" * 100_000, b'{"part": []}', b'{"shard": "../x"}'),
    *(b'{"modified": 5}', b'{"modified": {"a": 1}}', b'{"part": "x", "made": 5}'),
)


def test_a_journal_with_lines_that_nobody_wrote(source: Path, half: Path, whole: Any) -> None:
    journal = half / ".npu-quant/journal.jsonl"
    journal.write_bytes(b"\n".join([*RUBBISH, journal.read_bytes(), *RUBBISH]))
    report = quantize(source, half)
    assert (files_of(half), report.layers) == whole


@pytest.mark.parametrize(
    "plan", [b"x", b"[" * 100_000, b"[]", b'{"options": {}}', b'{"npu_quant": ""}']
)
def test_a_plan_that_nobody_wrote(plan: bytes, source: Path, half: Path) -> None:
    (half / ".npu-quant/plan.json").write_bytes(plan)
    with pytest.raises(checkpoint.CheckpointError, match=r"an unfinished run of another version"):
        quantize(source, half)


def test_the_room_that_is_there_needs_no_more(
    source: Path, half: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of the half shard: they are written over, or stay."""
    there = part_in(half).stat().st_blocks * 512
    assert 200_000 < there < 350_000
    size = part_in(half).stat().st_size
    copied = quantize(source, half.with_name("dry"), dry_run=True).copied_bytes
    needed = size + copied - there
    for free in (needed - 1, needed):
        disk = shutil._ntuple_diskusage(1 << 40, 0, free)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, disk=disk: disk)
        if free < needed:
            with pytest.raises(
                checkpoint.CheckpointError, match=r"needs (\S+ KiB), there are \1 free: make room"
            ):
                quantize(source, half)
    quantize(source, half)


FULL = OSError(errno.ENOSPC, "No space left on device", "a.part")


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [(KeyboardInterrupt(), 130, "interrupted"), (FULL, 2, "a.part: No space left on device")],
)
def test_what_interrupts_says_what_is_kept(
    error: BaseException,
    status: int,
    said: str,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    out = tmp_path / "out"
    make, left = run.make, iter(range(20))

    def interrupted(*arguments: Any) -> Any:
        if next(left, None) is None:
            raise error
        return make(*arguments)

    monkeypatch.setattr(run, "make", interrupted)
    words = ["quantize", str(source), str(out), "--scheme", "W8A8_DYNAMIC", "--workers", "1"]
    assert cli.main(words) == status
    monkeypatch.setattr(run, "make", make)
    report = quantize(source, out)
    kept = f"{report.resumed_bytes / 1024:.2f}"
    assert capsys.readouterr().err == (
        f"npu-quant quantize: {said}: {kept} KiB of 737.25 KiB are kept, the same command goes on\n"
    )
    assert float(kept) > 100


def test_what_is_made_comes_to_the_disk_every_few_seconds(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a failure of power; the clock is ours."""
    assert run.SYNC_SECONDS == 5.0
    now = iter(range(0, 1000, 2))
    synced: list[str] = []
    monkeypatch.setattr(run.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(Place, "sync", lambda _, name="": synced.append(name))
    quantize(source, tmp_path / "out", verify=False)
    assert 3 <= synced.count(f"{SHARD}.part") < 20


WRITES = ("pwrite", "write", "replace", "fsync", "ftruncate", "rename", "unlink", "rmdir")


def killed_at(number: int, source: Path, out: Path) -> bool:
    """Carry out a run that is killed when it changes something on the disk for the nth time.

    Return whether it got so far.
    """
    process = multiprocessing.get_context("fork").Process(
        target=_killed_at, args=(number, source, out)
    )
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def _killed_at(number: int, source: Path, out: Path) -> None:
    left = iter(range(number))

    def counted(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return work(*arguments, **more)

        return call

    for name in WRITES:
        setattr(os, name, counted(getattr(os, name)))
    quantize(source, out)


# A run changes some 500 things: pieces first, from about 490 on it takes names and cleans up.
KILLED = [(1, 2), (6, 7, 40), (33, 100), (150, 90, 60), (299,), (350, 90), (420, 30), (470, 10)]


@pytest.mark.parametrize("numbers", KILLED)
def test_kill_9(numbers: tuple[int, ...], source: Path, whole: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number in numbers:
        assert killed_at(number, source, out)
    report = quantize(source, out)
    assert (files_of(out), report.layers) == whole


def test_kill_9_at_the_end(source: Path, whole: Any, tmp_path: Path) -> None:
    """Each time one step further, from the first name on that is no shard's."""
    out, number = tmp_path / "out", 1
    with pytest.raises(StoppedError):
        quantize(source, out, progress=stopped_at(1))
    while killed_at(number, source, out):
        number += 7
    assert number > 20
    assert files_of(out) == whole[0]
    assert quantize(source, out).is_finished_before
