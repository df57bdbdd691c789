"""npu_quant.checkpoint.quantize: wherever it is called from, and whatever happens to its workers."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar

import pytest
from checkpoints import models
from test_checkpoint_quantize import files_of

from npu_quant import checkpoint
from npu_quant.checkpoint import finished, job, run
from npu_quant.checkpoint.pool import Pool


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.make(tmp_path / "model", "llama")


def quantize(model: Path, out: str, workers: int) -> dict[str, bytes]:
    checkpoint.quantize(model, model.parent / out, "W8A8_DYNAMIC", workers=workers)
    return files_of(model.parent / out)


def test_a_model_that_was_replaced(model: Path) -> None:
    """Files under the names of others that were read before: it is they that are quantized."""
    quantize(model, "first", 1)
    for shard in model.glob("*.safetensors"):
        data = shard.read_bytes()
        begin = 8 + int.from_bytes(data[:8], "little")
        shard.unlink()
        shard.write_bytes(data[:begin] + b"\x11\x3c" * ((len(data) - begin) // 2))
    assert quantize(model, "second", 1) == quantize(model, "third", 2)


def _in_daemon(model: Path) -> dict[str, bytes]:
    return quantize(model, "daemon", 2)


def test_a_process_that_may_have_no_children(model: Path) -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_in_daemon, (model,)) == quantize(model, "here", 1)


def test_no_more_processes(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None that was started before stays behind."""
    left, fork = [1, 1], os.fork

    def limited() -> int:
        if not left:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        left.pop()
        return fork()

    monkeypatch.setattr(os, "fork", limited)
    with pytest.raises(checkpoint.CheckpointError, match=r"no more than 2 worker .* \(Resource"):
        quantize(model, "out", 4)
    for process in multiprocessing.active_children():
        process.join(10)
    assert multiprocessing.active_children() == []


class SlowToHash(Pool):
    """It has no shard hashed before it is waited for."""

    made: ClassVar[list[Any]] = []
    """Pieces, and None for each wait."""

    def submit(self, work: Callable[[Any, Any], Any], task: Any) -> Future[Any]:
        if work is run.digest:
            return Future()
        self.made.append(task)
        return super().submit(work, task)

    def result(self, future: Future[Any]) -> Any:
        if not future.done():
            self.made.append(None)
            future.set_result("0" * 64)
        return super().result(future)


def test_a_shard_that_is_hashed_holds_up_no_other(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("npu_quant.checkpoint.pool.Pool", SlowToHash)
    report = checkpoint.quantize(
        model, model.parent / "out", "W8A8_DYNAMIC", shard_size="60KB", workers=1, verify=False
    )
    waits = [i for i, piece in enumerate(SlowToHash.made) if piece is None]
    assert len(waits) == len(report.shards) > 1
    assert waits == [*range(len(SlowToHash.made) - len(waits), len(SlowToHash.made))]


def test_small_tensors_are_handed_out_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[Any] = []
    submit = Pool.submit

    def counting(pool: Pool, work: Any, task: Any) -> Future[Any]:
        handed.append(task)
        return submit(pool, work, task)

    monkeypatch.setattr(Pool, "submit", counting)
    model, out = models.make(tmp_path / "model", "llama", layers=20, hidden=24), tmp_path / "out"
    report = checkpoint.quantize(model, out, "W8A8_DYNAMIC", workers=1)
    assert len(report.layers) == 140
    checkpoint.check(out, model, 1)
    assert len(handed) < 10


def test_together_they_have_4_mib_at_most() -> None:
    """But for one that is larger by itself."""
    handed = job.together([2, 2, 1, 5, 0, 4], lambda mib: mib << 20)
    assert [*handed] == [[2, 2], [1], [5], [0, 4]]


class Counted(Pool):
    """It knows how many shards are read back at a time."""

    under_way: ClassVar[list[int]] = [0]

    def submit(self, work: Callable[[Any, Any], Any], task: Any) -> Future[Any]:
        if work is finished.digests_of:
            self.under_way.append(self.under_way[-1] + 1)
        return super().submit(work, task)

    def result(self, future: Future[Any]) -> Any:
        self.under_way.append(max(0, self.under_way[-1] - 1))
        return super().result(future)


def test_no_more_shards_are_read_back_at_once_than_may_be(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("npu_quant.checkpoint.pool.Pool", Counted)
    monkeypatch.setattr("npu_quant.checkpoint.job.PIECE_BYTES", 1000)  # a task for each file
    report = checkpoint.quantize(
        model, model.parent / "out", "W8A8_DYNAMIC", shard_size="60KB", workers=1
    )
    assert len(report.shards) > 1
    assert max(Counted.under_way) == 1


def _interrupt(_: Any, number: int) -> None:
    for _ in range(number):
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(0.05)
    time.sleep(60)


def test_ctrl_c_again_and_again() -> None:
    """It ends the workers, also in the middle of a task."""
    began = time.monotonic()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs have none
    try:
        with pytest.raises(KeyboardInterrupt), Pool(2, None) as pool:
            pool.result(pool.submit(_interrupt, 5))
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 30
    assert multiprocessing.active_children() == []


def _doubled(_: Any, number: int) -> int:
    return 2 * number


def test_a_worker_that_was_killed_before_the_next_task() -> None:
    with Pool(2, None) as pool:
        assert pool.result(pool.submit(_doubled, 2)) == 4
        for process in multiprocessing.active_children():
            process.kill()
        with pytest.raises(checkpoint.CheckpointError, match="was killed, perhaps"):
            _submit_until_noticed(pool)


def _submit_until_noticed(pool: Pool) -> None:
    for _ in range(10_000):
        pool.submit(_doubled, 2)
        time.sleep(0.001)
