"""Who makes a model: threads, from wherever quantize is called, and however often at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from checkpoints import models
from test_checkpoint_quantize import files_of

import npu_quant
from npu_quant import checkpoint
from npu_quant.checkpoint import making, quantizing, run, workers
from npu_quant.checkpoint.choices import Wanted
from npu_quant.checkpoint.place import Place
from npu_quant.checkpoint.workers import Threads


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


def test_two_models_at_a_time(model: Path) -> None:
    """Called by threads, which take no signals."""
    other = models.make(model.parent / "other", "qwen2")
    with ThreadPoolExecutor(2) as callers:
        both = [callers.submit(quantize, m, f"{m.name}-out", 2) for m in (model, other)]
    for m, found in zip((model, other), both, strict=True):
        assert found.result() == quantize(m, f"{m.name}-alone", 1)


def test_the_threads_of_operators_are_left_alone(model: Path) -> None:
    before, told = npu_quant.get_num_threads(), list[int]()
    checkpoint.quantize(
        model,
        model.parent / "out",
        "W8A8_DYNAMIC",
        workers=2,
        progress=lambda *_: told.append(npu_quant.get_num_threads()),
    )
    assert {*told} == {before}


@pytest.mark.parametrize("scheme", ["W8A8_DYNAMIC", "W8A8_MXFP8"])
def test_the_profile_is_always_the_reference(scheme: str, model: Path) -> None:
    """Whatever the default is: what one run wrote, the next one goes on with."""
    out = model.parent / "out"
    there = model.parent / "there"
    checkpoint.quantize(model, out, scheme, workers=1)
    environment = os.environ | {"NPU_QUANT_NUMERICS": "ascend910b"}
    for words in (
        ["quantize", str(model), str(there), "--scheme", scheme],
        ["check", str(out), "--original", str(model)],
    ):
        command = [sys.executable, "-m", "npu_quant", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    assert files_of(there) == files_of(out)


def test_a_shard_that_is_hashed_holds_up_no_other(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one is hashed until all pieces are made."""
    made, all_made = list[Any](), threading.Event()
    total = checkpoint.quantize(model, model.parent / "dry", "W8A8_DYNAMIC", dry_run=True)
    hashed = Place.sha256

    def counted(*arguments: Any) -> Any:
        result = making.make(*arguments)
        made.append(result.piece.source_bytes)
        if sum(made) == total.source_bytes:
            all_made.set()
        return result

    def slowly(folder: Place, name: str) -> str:
        assert name == "copy.part" or all_made.wait(60)
        return hashed(folder, name)

    monkeypatch.setattr(run, "make", counted)
    monkeypatch.setattr(Place, "sha256", slowly)
    # Each thread but one may have to hash a shard in the meantime.
    report = checkpoint.quantize(
        model, model.parent / "out", "W8A8_DYNAMIC", shard_size="60KB", workers=9, verify=False
    )
    assert 1 < len(report.shards) < 9
    assert len({s["sha256"] for s in report.shards}) == len(report.shards)


def test_small_tensors_are_handed_out_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[Any] = []
    submit = ThreadPoolExecutor.submit

    def counting(*arguments: Any) -> Any:
        handed.append(arguments)
        return submit(*arguments)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", counting)
    model, out = models.make(tmp_path / "model", "llama", layers=20, hidden=24), tmp_path / "out"
    report = checkpoint.quantize(model, out, "W8A8_DYNAMIC", workers=1)
    assert len(report.layers) == 140
    checkpoint.check(out, model, 1)
    assert len(handed) < 12


def test_together_they_have_so_many_bytes_at_most() -> None:
    """But for one that is larger by itself."""
    handed = workers.together([2, 2, 1, 5, 0, 4], lambda n: n, 4)
    assert [*handed] == [[2, 2], [1], [5], [0, 4]]


def test_a_few_tasks_are_under_way() -> None:
    """However many there are: of each there is a result to be kept."""
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    with Threads(2) as workers:
        for count, (task, result) in enumerate(workers.each(pow, 2, tasks()), 1):
            assert result == 2**task
            assert len(taken) <= count + 6
    assert count == len(taken) == 1000


def test_the_next_result_is_the_first_that_is_there() -> None:
    other, done = threading.Event(), list[bool]()
    with Threads(2) as workers:
        for waits, is_so in workers.each(
            lambda event, w: not w or event.wait(60), other, [True, False]
        ):
            done.append(waits)
            other.set()
            assert is_so
    assert done == [False, True]


def test_an_error_ends_all() -> None:
    """What was handed out is not begun any more, and nobody works on."""
    done: list[float] = []

    def work(_: None, number: int) -> None:
        done.append(number)
        time.sleep(0.01)
        1 / (number - 5)

    with pytest.raises(ZeroDivisionError), Threads(1) as workers:
        for _ in workers.each(work, None, range(1000)):
            pass
    assert len(done) < 12
    assert not [t for t in threading.enumerate() if t.name.startswith("npu-quant")]


def test_a_worker_that_sees_another_file(model: Path) -> None:
    out = model.parent / "out"
    p = quantizing.prepared(model, out, Wanted("W8A8_DYNAMIC"))
    size, name = p.shards[0].size, p.shards[0].name
    job = making.Job(model, out, p.plan)
    with pytest.raises(checkpoint.CheckpointError) as caught:
        run.make_whole((job, model, {name: size + 1}), 0)
    text = f"a worker sees another {model / name}, of {size} bytes instead of {size + 1}."
    assert str(caught.value) == text


def _interrupt(_: None, number: int) -> None:
    if number == 3:
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)


def test_ctrl_c_ends_all() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs have none
    try:
        with pytest.raises(KeyboardInterrupt), Threads(2) as workers:
            for _ in workers.each(_interrupt, None, range(10_000)):
                pass
    finally:
        signal.signal(signal.SIGINT, before)
    assert not [t for t in threading.enumerate() if t.name.startswith("npu-quant")]
