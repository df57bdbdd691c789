"""quantize and check --scheduler where workers are lost, unfit or not there: a line, or the same bytes."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import dask_clusters
import pytest
from dask_clusters import Cluster, until
from test_checkpoint_dask import command, parts_in, quantize, refused
from test_checkpoint_quantize import files_of

import npu_quant
from npu_quant import checkpoint
from npu_quant.checkpoint import pool_dask

pytest_plugins = ["checkpoints.runs"]
pytestmark = pytest.mark.needs("distributed")


@pytest.fixture
def slowed(cluster: Cluster) -> Iterator[Cluster]:
    """Workers that take a while for each piece."""
    cluster.run(dask_clusters.slow, 0.1)
    yield cluster
    cluster.run(dask_clusters.slow, 0)


class TestLost:
    def test_a_worker_that_is_killed_while_it_makes_a_shard(
        self, cluster: Cluster, source: Path, whole: Path, tmp_path: Path
    ) -> None:
        out, mark = tmp_path / "out", tmp_path / "mark"
        cluster.run(dask_clusters.slow, 0.3)
        cluster.run(dask_clusters.slow, 600, str(mark), "worker-1")
        with subprocess.Popen(
            command(source, out, cluster.address), stderr=subprocess.PIPE, text=True
        ) as run:
            until(mark.exists)
            assert parts_in(out)
            cluster.leave("worker-1")
            _, said = run.communicate(timeout=120)
        cluster.join("worker-1", nthreads=2)
        cluster.wait_for(2)
        cluster.run(dask_clusters.slow, 0)
        assert (run.returncode, said) == (0, "")
        assert files_of(out) == files_of(whole)

    def test_all_workers_and_others_that_join_late(
        self, cluster: Cluster, source: Path, whole: Path, tmp_path: Path
    ) -> None:
        out, mark = tmp_path / "out", tmp_path / "mark"
        cluster.run(dask_clusters.slow, 600, str(mark))
        with subprocess.Popen(
            command(source, out, cluster.address), stderr=subprocess.PIPE, text=True
        ) as run:
            until(mark.exists)
            for number, name in enumerate([*cluster.processes], 1):
                cluster.leave(name)
                cluster.join(name, nthreads=number)
            _, said = run.communicate(timeout=120)
        cluster.wait_for(2)
        assert (run.returncode, said) == (0, "")
        assert files_of(out) == files_of(whole)

    def test_ctrl_c(self, slowed: Cluster, source: Path, whole: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        words = command(source, out, slowed.address)
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as run:
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
        with subprocess.Popen(command(source, out, slowed.address)) as run:
            until(lambda: dask_clusters.has_shard(out) and parts_in(out))
            run.kill()
        assert quantize(source, out, slowed.address).resumed >= 1
        assert files_of(out) == files_of(whole)

    def test_the_scheduler(self, source: Path, whole: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        with Cluster(tmp_path, 1) as own:
            own.run(dask_clusters.slow, 0.1)
            with subprocess.Popen(
                command(source, out, own.address), stderr=subprocess.PIPE, text=True
            ) as run:
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
        monkeypatch.setattr(pool_dask, "GRACE", 0.5)
        failures = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        with Cluster(tmp_path, 1, **failures) as own:
            own.run(dask_clusters.deadly)
            said = refused(source, tmp_path / "out", own.address)
            text = r"the workers that did a task were lost, the last tcp://\S+, perhaps for want of memory: "
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

    @pytest.fixture
    def joined(self, cluster: Cluster) -> Iterator[Cluster]:
        yield cluster
        for name in [name for name in cluster.processes if name.startswith("unfit")]:
            cluster.leave(name)
        cluster.wait_for(2)

    def test_without_npu_quant(
        self, joined: Cluster, source: Path, tmp_path: Path, site: dict[str, str]
    ) -> None:
        joined.join("unfit", "-S", **site)
        joined.wait_for(3)
        said = refused(source, tmp_path / "out", joined.address)
        version = npu_quant.__version__
        assert re.fullmatch(
            rf"worker tcp://\S+ lacks npu_quant: install npu_quant {version} there, as here.", said
        )

    def test_of_another_version(
        self, joined: Cluster, source: Path, whole: Path, tmp_path: Path, site: dict[str, str]
    ) -> None:
        about = Path(site["PYTHONPATH"], "npu_quant-0.0.9.dist-info")
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: npu_quant\nVersion: 0.0.9\n")
        joined.join("unfit", "-S", **site)
        joined.wait_for(3)
        with pytest.raises(
            checkpoint.CheckpointError, match=r"^worker tcp://\S+ has npu_quant 0.0.9: install"
        ):
            checkpoint.check(whole, scheduler=joined.address)

    @pytest.mark.parametrize("which", ["source", "out"])
    def test_that_does_not_see_a_folder(
        self, which: str, joined: Cluster, source: Path, whole: Path, tmp_path: Path
    ) -> None:
        folder = {"source": source, "out": tmp_path / "out"}[which]
        (tmp_path / "sitecustomize.py").write_text(dask_clusters.BLIND)
        joined.join("unfit", PYTHONPATH=f"{tmp_path}:{dask_clusters.HERE}", HIDDEN=str(folder))
        joined.wait_for(3)
        text = rf"^worker tcp://\S+ does not see {folder}: a shared filesystem is needed"
        assert re.match(text, refused(source, tmp_path / "out", joined.address))
        if which == "source":
            with pytest.raises(checkpoint.CheckpointError, match=text):
                checkpoint.check(whole, source, scheduler=joined.address)

    @pytest.mark.parametrize("fault", ["blind", "empty"])
    def test_that_joins_late(
        self,
        fault: str,
        slowed: Cluster,
        joined: Cluster,
        source: Path,
        tmp_path: Path,
        site: dict[str, str],
    ) -> None:
        joined.run(dask_clusters.slow, 1)
        out = tmp_path / "out"
        (tmp_path / "sitecustomize.py").write_text(dask_clusters.BLIND)
        words = command(source, out, joined.address)
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as run:
            until(lambda: parts_in(out))
            if fault == "blind":
                joined.join("unfit", PYTHONPATH=f"{tmp_path}:{dask_clusters.HERE}", HIDDEN=str(out))
            else:
                joined.join("unfit", "-S", **site)
            _, said = run.communicate(timeout=60)
        text = {
            "blind": f"does not see {out}: a shared filesystem is needed",
            "empty": "lacks npu_quant: install npu_quant .* there, as here",
        }[fault]
        assert run.returncode == 2
        assert re.fullmatch(rf"npu-quant quantize: worker tcp://\S+ {text}\.\n", said)

    def test_what_is_seen(self, tmp_path: Path) -> None:
        """Folders, files and their sizes."""
        (tmp_path / "a").write_bytes(b"four")
        assert pool_dask.hidden([pool_dask.Place.of(tmp_path, ["a"])]) is None
        refused = tmp_path / ("x" * 300)  # whose stat is an error, as of what one may not look into
        unseen = [(tmp_path / "none", {}), (tmp_path, {"b": 4}), (refused, {})]
        for place in (pool_dask.Place(*some) for some in unseen):
            assert pool_dask.hidden([pool_dask.Place.of(tmp_path, ["a"]), place]) == (
                f"does not see {place.folder}: a shared filesystem is needed."
            )
        other = pool_dask.Place(tmp_path, {"a": 5})
        assert (
            pool_dask.hidden([other]) == f"sees another {tmp_path / 'a'}, of 4 bytes instead of 5."
        )


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
        monkeypatch.setattr(pool_dask, "CONNECT", 0.5)

    @pytest.mark.parametrize(
        "address", ["tcp://127.0.0.1:1", "nonsense", "", "x://y:1", "tls://127.0.0.1:1"]
    )
    def test_at_an_address(self, address: str, source: Path, tmp_path: Path) -> None:
        assert refused(source, tmp_path / "out", address).startswith(f"no scheduler at {address}: ")

    def test_but_somebody_who_says_nothing(self, source: Path, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
            assert f"no scheduler at {address}" in refused(source, tmp_path / "out", address)

    def test_but_a_worker(self, cluster: Cluster, source: Path, tmp_path: Path) -> None:
        with cluster.client() as client:
            (address, *_) = client.nthreads()
        assert f"no scheduler at {address}" in refused(source, tmp_path / "out", address)

    def test_of_check(self, whole: Path) -> None:
        with pytest.raises(checkpoint.CheckpointError, match=r"no scheduler at 127\.0\.0\.1:1: "):
            checkpoint.check(whole, scheduler="127.0.0.1:1")

    def test_a_dry_run_needs_none(self, source: Path, tmp_path: Path) -> None:
        assert quantize(source, tmp_path / "out", "127.0.0.1:1", dry_run=True).dry_run
