"""quantize and check by the workers of a Dask scheduler: the same bytes, whatever becomes of workers."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask_clusters
import numpy as np
import pytest
from checkpoints import models, tensor_files
from checkpoints.runs import OPTIONS, StoppedError, stopped_when
from dask_clusters import Cluster, until
from test_checkpoint_quantize import files_of

import npu_quant
from npu_quant import checkpoint
from npu_quant.checkpoint import workers

pytest_plugins = ["checkpoints.runs"]
pytestmark = pytest.mark.needs("distributed")

INTERRUPTED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
COMMAND = f"{INTERRUPTED}from npu_quant import cli; raise SystemExit(cli.main())"


def command(source: Path, out: Path, address: str) -> list[str]:
    words = ["quantize", str(source), str(out), "--scheme", "W8A8_DYNAMIC", "--shard-size", "80KB"]
    return [sys.executable, "-c", COMMAND, *words, "--scheduler", address]


def started(source: Path, out: Path, address: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command(source, out, address), stderr=subprocess.PIPE, text=True)


def quantize(
    source: Path, out: Path, address: str | None, **more: Any
) -> checkpoint.QuantizeReport:
    return checkpoint.quantize(source, out, "W8A8_DYNAMIC", scheduler=address, **OPTIONS, **more)


def refused(source: Path, out: Path, address: str, **more: Any) -> str:
    with pytest.raises(checkpoint.CheckpointError) as caught:
        quantize(source, out, address, **more)
    return str(caught.value)


def parts_in(out: Path) -> list[str]:
    return [p.name for p in (out / ".npu-quant").glob("*.safetensors.*.part")]


@pytest.fixture
def slowed(cluster: Cluster) -> Iterator[Cluster]:
    """Workers that take a while for each piece."""
    cluster.run(dask_clusters.slow, 0.1)
    yield cluster
    cluster.run(dask_clusters.slow, 0)


class TestSameBytes:
    @pytest.mark.parametrize("at_once", [None, 1])
    def test_of_a_run(
        self, at_once: int | None, cluster: Cluster, source: Path, whole: Path, tmp_path: Path
    ) -> None:
        told: list[tuple[int, int]] = []
        out = tmp_path / "out"
        there = quantize(
            source, out, cluster.address, workers=at_once, progress=lambda *a: told.append(a)
        ).to_dict()
        here = quantize(source, tmp_path / "here", None, workers=1).to_dict()
        assert files_of(out) == files_of(whole)
        for report in (there, here):
            del report["seconds"], report["peak_rss_bytes"]
        assert there == here
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert told[-1] == (there["source_bytes"], there["source_bytes"])
        assert quantize(source, out, cluster.address).is_finished_before

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

    @pytest.mark.parametrize("has_original", [False, True])
    def test_the_same_report_of_a_check(
        self, has_original: bool, cluster: Cluster, source: Path, whole: Path, tmp_path: Path
    ) -> None:
        for name, data in files_of(whole).items():
            (tmp_path / "bad" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "bad" / name).write_bytes(data)
        shard = max((tmp_path / "bad").glob("*.safetensors"), key=lambda p: p.stat().st_size)
        shard.write_bytes(shard.read_bytes()[:-1000] + bytes(1000))
        original = source if has_original else None
        for folder in (whole, tmp_path / "bad"):
            told: list[tuple[int, int]] = []
            there = checkpoint.check(
                folder, original, None, lambda *a, told=told: told.append(a), cluster.address
            )
            assert there.to_dict() == checkpoint.check(folder, original, 1).to_dict()
            assert there.passed == (folder == whole)
            assert told[-1][0] == told[-1][1] > 0


@pytest.mark.parametrize("first", ["here", "there"])
def test_what_one_began_the_other_ends(
    first: str, cluster: Cluster, source: Path, whole: Path, tmp_path: Path
) -> None:
    """The same command goes on, whoever began; a part that nobody ends is removed."""
    out = tmp_path / "out"
    addresses = [None, cluster.address]
    before, after = addresses if first == "here" else addresses[::-1]
    a_shard_is_done = stopped_when(lambda *_: [*out.glob("*.safetensors")])
    with pytest.raises(StoppedError):
        quantize(source, out, before, progress=a_shard_is_done)
    done = len([*out.glob("*.safetensors")])
    left = out / f".npu-quant/{min(out.glob('*.safetensors')).name}.{'0' * 32}.part"
    left.write_bytes(b"half")
    assert quantize(source, out, after).resumed == done
    assert not left.exists()
    assert files_of(out) == files_of(whole)


def test_an_error_in_a_task(cluster: Cluster, tmp_path: Path) -> None:
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
    until(lambda: parts_in(tmp_path / "there") == [])


class TestLost:
    def test_a_worker_that_is_killed_while_it_makes_a_shard(
        self, cluster: Cluster, source: Path, whole: Path, tmp_path: Path
    ) -> None:
        """And all others, once one has joined late."""
        out, mark = tmp_path / "out", tmp_path / "mark"
        cluster.run(dask_clusters.slow, 600, str(mark))
        with started(source, out, cluster.address) as run:
            until(mark.exists)
            until(lambda: parts_in(out))
            for number, name in enumerate([*cluster.processes], 1):
                cluster.leave(name)
                cluster.join(name, nthreads=number)
            _, said = run.communicate(timeout=120)
        cluster.wait_for(2)
        assert (run.returncode, said) == (0, "")
        assert files_of(out) == files_of(whole)

    def test_ctrl_c(self, slowed: Cluster, source: Path, whole: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        with started(source, out, slowed.address) as run:
            until(lambda: dask_clusters.has_shard(out) and parts_in(out))
            run.send_signal(signal.SIGINT)
            _, said = run.communicate(timeout=60)
        assert run.returncode == 130
        kept = r"interrupted: \d+\.\d\d KiB of 737\.25 KiB are kept, the same command goes on\n"
        assert re.fullmatch(f"npu-quant quantize: {kept}", said), said
        until(lambda: not [*(out / ".npu-quant").glob("*.part")])  # what workers had begun, too
        assert not (out / "quant_model_description.json").exists()
        assert quantize(source, out, None, workers=1).resumed >= 1
        assert files_of(out) == files_of(whole)

    def test_kill_9(self, slowed: Cluster, source: Path, whole: Path, tmp_path: Path) -> None:
        """Its workers may go on for a while, also beside the next run."""
        out = tmp_path / "out"
        with started(source, out, slowed.address) as run:
            until(lambda: dask_clusters.has_shard(out) and parts_in(out))
            run.kill()
        assert quantize(source, out, slowed.address).resumed >= 1
        assert files_of(out) == files_of(whole)

    def test_the_scheduler(self, source: Path, whole: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        with Cluster(tmp_path, 1) as own:
            own.run(dask_clusters.slow, 0.1)
            with started(source, out, own.address) as run:
                until(lambda: dask_clusters.has_shard(out))
                own.scheduler.kill()
                _, said = run.communicate(timeout=60)
        text = f"npu-quant quantize: the scheduler at {own.address} was lost: the same command goes on from here.\n"
        assert (run.returncode, said) == (2, text)
        assert quantize(source, out, None, workers=1).resumed >= 1
        assert files_of(out) == files_of(whole)

    def test_one_worker_after_the_other_and_then_all(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(workers, "JOIN_SECONDS", 0.5)
        failures = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        with Cluster(tmp_path, 1, **failures) as own:
            own.run(dask_clusters.deadly)
            said = refused(source, tmp_path / "out", own.address)
            text = r"the workers that did a task were lost, the last tcp://\S+, perhaps for lack of memory: "
            assert re.match(text, said)
            own.wait_for(0)
            said = refused(source, tmp_path / "out", own.address)
            assert said.startswith(
                f"the scheduler at {own.address} has no workers: start some with"
            )


class TestUnfitWorkers:
    """Each ends the run with a line that names the worker."""

    @pytest.fixture
    def site(self, tmp_path: Path) -> dict[str, str]:
        return {"PYTHONPATH": str(dask_clusters.site_without_npu_quant(tmp_path / "site"))}

    @pytest.mark.parametrize(
        ("version", "has"), [(None, "lacks npu_quant"), ("0.0.9", "has npu_quant 0.0.9")]
    )
    def test_of_another_version(
        self,
        version: str | None,
        has: str,
        cluster: Cluster,
        source: Path,
        whole: Path,
        tmp_path: Path,
        site: dict[str, str],
    ) -> None:
        if version is not None:
            about = Path(site["PYTHONPATH"], f"npu_quant-{version}.dist-info")
            about.mkdir()
            said = f"Metadata-Version: 2.1\nName: npu_quant\nVersion: {version}\n"
            (about / "METADATA").write_text(said)
        cluster.join("unfit", "-S", **site)
        cluster.wait_for(3)
        text = (
            rf"worker tcp://\S+ {has}: install npu_quant {npu_quant.__version__} there, as here\."
        )
        try:
            assert re.fullmatch(text, refused(source, tmp_path / "out", cluster.address))
            with pytest.raises(checkpoint.CheckpointError, match=text):
                checkpoint.check(whole, scheduler=cluster.address)
        finally:
            cluster.leave("unfit")
            cluster.wait_for(2)

    @pytest.mark.parametrize(("fault", "text"), [
        ("other_version", "has npu_quant 0.0.9: install npu_quant .* there, as here"),
        ("blind", "does not see {out}: a shared filesystem is needed"),
    ])  # fmt: skip
    def test_what_a_task_tells(
        self, fault: str, text: str, source: Path, whole: Path, tmp_path: Path
    ) -> None:
        """As of a worker that joined after all were asked."""
        out = tmp_path / "out"
        with Cluster(tmp_path, 1) as own:
            own.run(getattr(dask_clusters, fault), *([str(out)] if fault == "blind" else []))
            pattern = rf"worker tcp://\S+ {text.format(out=out)}\."
            assert re.fullmatch(pattern, refused(source, out, own.address))
            with pytest.raises(checkpoint.CheckpointError, match=pattern):
                checkpoint.check(whole, source, scheduler=own.address)


class TestNoScheduler:
    def test_by_the_command(self, source: Path, tmp_path: Path) -> None:
        """A line after some seconds, and nothing written."""
        began = time.monotonic()
        words = command(source, tmp_path / "out", "127.0.0.1:1")
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert time.monotonic() - began < 25
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        text = "npu-quant quantize: no scheduler at 127.0.0.1:1: start one with dask scheduler, "
        assert done.stderr.startswith(text)
        assert not (tmp_path / "out").exists()

    @pytest.fixture(autouse=True)
    def _soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workers, "CONNECT_SECONDS", 0.5)

    @pytest.mark.parametrize(
        "address", ["tcp://127.0.0.1:1", "nonsense", "", "x://y:1", "tls://127.0.0.1:1"]
    )
    def test_at_an_address(self, address: str, source: Path, whole: Path, tmp_path: Path) -> None:
        text = f"no scheduler at {address}: "
        assert refused(source, tmp_path / "out", address).startswith(text)
        with pytest.raises(checkpoint.CheckpointError, match=f"^{text}"):
            checkpoint.check(whole, scheduler=address)

    def test_but_somebody_who_says_nothing(self, source: Path, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
            assert f"no scheduler at {address}" in refused(source, tmp_path / "out", address)

    def test_but_a_worker(self, cluster: Cluster, source: Path, tmp_path: Path) -> None:
        with cluster.client() as client:
            (address, *_) = client.nthreads()
        assert f"no scheduler at {address}" in refused(source, tmp_path / "out", address)

    def test_a_dry_run_needs_none(self, source: Path, tmp_path: Path) -> None:
        assert quantize(source, tmp_path / "out", "127.0.0.1:1", dry_run=True).dry_run


def test_it_leaves_nothing_behind_here(cluster: Cluster, source: Path, tmp_path: Path) -> None:
    from distributed import default_client

    before = threading.active_count()
    quantize(source, tmp_path / "out", cluster.address)
    until(lambda: threading.active_count() <= before, 10)
    with pytest.raises(ValueError, match="No clients found"):
        default_client()
