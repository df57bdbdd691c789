"""quantize and check by the workers of a Dask scheduler: the same bytes, whatever becomes of workers."""

from __future__ import annotations

import os
import pickle
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask_clusters
import numpy as np
import pytest
from checkpoints import models, tensor_files
from checkpoints.runs import OPTIONS, StoppedError, stopped_after, stopped_when
from dask_clusters import Cluster, until
from test_checkpoint_quantize import files_of

from npu_quant import checkpoint, cli
from npu_quant.checkpoint import job, pool_dask

pytest_plugins = ["checkpoints.runs"]
pytestmark = pytest.mark.needs("distributed")

INTERRUPTED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
COMMAND = [
    sys.executable,
    "-c",
    f"{INTERRUPTED}from npu_quant import cli; raise SystemExit(cli.main())",
]


def command(source: Path, out: Path, address: str, *more: str) -> list[str]:
    words = ["quantize", str(source), str(out), "--scheme", "W8A8_DYNAMIC", "--shard-size", "80KB"]
    return [*COMMAND, *words, "--scheduler", address, *more]


def quantize(
    source: Path, out: Path, address: str | None, **more: Any
) -> checkpoint.QuantizeReport:
    return checkpoint.quantize(source, out, "W8A8_DYNAMIC", scheduler=address, **OPTIONS, **more)


def refused(source: Path, out: Path, address: str, **more: Any) -> str:
    with pytest.raises(checkpoint.CheckpointError) as caught:
        quantize(source, out, address, **more)
    return str(caught.value)


@pytest.fixture
def _small_pieces(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For many tasks."""
    before = job.PIECE_BYTES
    monkeypatch.setattr(job, "PIECE_BYTES", 3000)
    cluster.run(dask_clusters.set_pieces, 3000)
    yield
    cluster.run(dask_clusters.set_pieces, before)


def parts_in(out: Path) -> list[str]:
    return [p.name for p in (out / ".npu-quant").glob("*.safetensors.*.part")]


class TestSameBytes:
    @pytest.mark.parametrize("workers", [None, 1])
    def test_of_a_run(
        self, workers: int | None, cluster: Cluster, source: Path, whole: Path, tmp_path: Path
    ) -> None:
        told: list[tuple[int, int]] = []
        there = quantize(
            source,
            tmp_path / "out",
            cluster.address,
            workers=workers,
            progress=lambda *a: told.append(a),
        ).to_dict()
        here = quantize(source, tmp_path / "here", None, workers=1).to_dict()
        assert files_of(tmp_path / "out") == files_of(whole)
        for report in (there, here):
            del report["seconds"], report["peak_rss_bytes"]
        assert there == here
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert told[-1] == (there["source_bytes"], there["source_bytes"])

    @pytest.mark.parametrize(("family", "scheme", "format"), [
        ("deepseek_v3", "W8A8_MXFP8", "ascend"), ("qwen3_moe", "W4A8_DYNAMIC", "compressed-tensors"),
    ])  # fmt: skip
    def test_of_other_schemes(
        self, family: str, scheme: str, format: str, cluster: Cluster, tmp_path: Path
    ) -> None:
        model = models.make(tmp_path / "model", family)
        how: dict[str, Any] = {"format": format, "shard_size": "50KB"}
        checkpoint.quantize(model, tmp_path / "there", scheme, scheduler=cluster.address, **how)
        checkpoint.quantize(model, tmp_path / "here", scheme, workers=1, **how)
        assert files_of(tmp_path / "there") == files_of(tmp_path / "here")

    def test_by_paths_from_here(
        self,
        cluster: Cluster,
        source: Path,
        whole: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Workers have other current folders."""
        monkeypatch.chdir(tmp_path)
        quantize(Path(os.path.relpath(source)), Path("out"), cluster.address)
        assert files_of(tmp_path / "out") == files_of(whole)
        report = checkpoint.check("out", os.path.relpath(source), scheduler=cluster.address)
        assert report.passed

    def test_of_a_model_that_replaces_another(self, cluster: Cluster, tmp_path: Path) -> None:
        """Workers outlive runs: they keep no file of one open."""
        for seed in (1, 2):
            model = models.make(tmp_path / f"{seed}", "llama", seed=seed)
            model.rename(tmp_path / "model")
            quantize(tmp_path / "model", tmp_path / f"there{seed}", cluster.address)
            quantize(tmp_path / "model", tmp_path / f"here{seed}", None, workers=1)
            assert files_of(tmp_path / f"there{seed}") == files_of(tmp_path / f"here{seed}")
            (tmp_path / "model").rename(tmp_path / f"{seed}")

    @pytest.mark.usefixtures("_small_pieces")
    def test_the_plan_is_in_no_task(
        self, cluster: Cluster, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is made bytes of once, and so is what tasks of the check share."""
        sizes: list[int] = []

        def dumps(what: Any) -> bytes:
            data = pickle.dumps(what)
            sizes.append(len(data))
            return data

        monkeypatch.setattr(pool_dask, "pickle", SimpleNamespace(dumps=dumps, loads=pickle.loads))
        quantize(source, tmp_path / "out", cluster.address)
        assert len(sizes) > 20
        assert sum(size > 1000 for size in sizes) == 2

    def test_workers_are_left_as_they_were(
        self, cluster: Cluster, source: Path, tmp_path: Path
    ) -> None:
        cluster.run(dask_clusters.set_threads, 3)
        before = cluster.run(dask_clusters.state)
        assert [state[:2] for state in before] == [(3, 0)] * 2
        quantize(source, tmp_path / "out", cluster.address)
        assert cluster.run(dask_clusters.state) == before


class TestCheck:
    @pytest.mark.parametrize("has_original", [False, True])
    def test_the_same_report(
        self, has_original: bool, cluster: Cluster, source: Path, whole: Path
    ) -> None:
        original = source if has_original else None
        told: list[tuple[int, int]] = []
        there = checkpoint.check(whole, original, None, lambda *a: told.append(a), cluster.address)
        assert there.to_dict() == checkpoint.check(whole, original, 1).to_dict()
        assert there.passed
        assert told[-1][0] == told[-1][1] > 0

    def test_what_it_finds(
        self, cluster: Cluster, source: Path, whole: Path, tmp_path: Path
    ) -> None:
        for name, data in files_of(whole).items():
            (tmp_path / "bad" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "bad" / name).write_bytes(data)
        shard = max((tmp_path / "bad").glob("*.safetensors"), key=lambda p: p.stat().st_size)
        data = bytearray(shard.read_bytes())
        data[-1000:] = bytes(1000)
        shard.write_bytes(data)
        there = checkpoint.check(tmp_path / "bad", source, scheduler=cluster.address)
        assert not there.passed
        assert there.to_dict() == checkpoint.check(tmp_path / "bad", source, 1).to_dict()

    def test_by_the_command(
        self, cluster: Cluster, source: Path, whole: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["check", str(whole), "--original", str(source), "--scheduler", cluster.address]
        assert cli.main(words) == 0
        assert "npu_quant-P-127" in capsys.readouterr().out


class TestResume:
    """The same command goes on, whoever began; workers and scheduler are no part of the plan."""

    @pytest.mark.parametrize("first", ["here", "there"])
    @pytest.mark.usefixtures("_small_pieces")
    def test_by_the_other(self, first: str, cluster: Cluster, source: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        addresses = [None, cluster.address]
        before, after = addresses if first == "here" else addresses[::-1]
        a_shard_is_done = stopped_when(lambda *_: [*out.glob("*.safetensors")])
        with pytest.raises(StoppedError):
            quantize(source, out, before, progress=a_shard_is_done)
        done = len([*out.glob("*.safetensors")])
        assert quantize(source, out, after).resumed == done
        quantize(source, tmp_path / "whole", None, workers=1)
        assert files_of(out) == files_of(tmp_path / "whole")

    def test_parts_of_a_run_that_was_killed_are_removed(
        self, cluster: Cluster, source: Path, whole: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        with pytest.raises(StoppedError):
            quantize(source, out, cluster.address, progress=stopped_after(18))
        left = (
            out / ".npu-quant" / f"quant_model_weights-00001-of-00009.safetensors.{'0' * 32}.part"
        )
        left.write_bytes(b"half")
        seen: list[bool] = []
        quantize(source, out, None, progress=lambda *_: seen.append(left.exists()), workers=1)
        assert seen
        assert not any(seen)
        assert files_of(out) == files_of(whole)


class TestErrorsInTasks:
    def test_nan(self, cluster: Cluster, tmp_path: Path) -> None:
        """The line is that of one process."""
        model = models.make(tmp_path / "model", "llama")
        path = max(model.glob("*.safetensors"))
        tensors = {name: a.copy() for name, a in tensor_files.read(path).items()}
        name = next(name for name in tensors if name.endswith("up_proj.weight"))
        tensors[name][5, 7] = np.nan
        tensor_files.write(path, tensors)
        with pytest.raises(checkpoint.CheckpointError) as caught:
            quantize(model, tmp_path / "here", None, workers=1)
        said = refused(model, tmp_path / "there", cluster.address)
        assert said == str(caught.value)
        assert f"{name} has 1 NaN or infinite values, the first at [5, 7]" in said
        assert parts_in(tmp_path / "there") == []

    def test_no_room(
        self,
        cluster: Cluster,
        source: Path,
        whole: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        out = tmp_path / "out"
        cluster.run(dask_clusters.limit_files, 76_800)
        try:
            assert cli.main(command(source, out, cluster.address)[3:]) == 2
        finally:
            cluster.run(dask_clusters.limit_files, -1)
        said = capsys.readouterr().err
        assert re.fullmatch(
            r"npu-quant quantize: \S+safetensors\.\w{32}\.part: File too large: \S+ \S+ of "
            r"737\.25 KiB are kept, the same command goes on\n",
            said,
        )
        until(lambda: parts_in(out) == [])
        quantize(source, out, cluster.address)
        assert files_of(out) == files_of(whole)


def test_it_leaves_nothing_behind_here(cluster: Cluster, source: Path, tmp_path: Path) -> None:
    from distributed import default_client

    before = threading.active_count()
    quantize(source, tmp_path / "out", cluster.address)
    until(lambda: threading.active_count() <= before, 10)
    with pytest.raises(ValueError, match="No clients found"):
        default_client()
