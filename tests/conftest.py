"""What the tests share: what some need and may be missing, every target in turn, random numbers."""

from __future__ import annotations

import gc
import os
import platform
import shutil
from collections.abc import Callable, Generator, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import browser
import dask_clusters
import exhaustive
import ml_dtypes
import numpy as np
import pytest
from command_line import Say

import npu_quant
from npu_quant import _core, cli

TARGETS = _core.targets()
DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)]

# What some tests need and the README does not ask for. They are skipped where it is missing, and
# `pytest -m needs` runs them alone.
EXTRAS: dict[str, Callable[[], object]] = {
    "torch": lambda: find_spec("torch"),
    "safetensors": lambda: find_spec("safetensors"),
    "distributed": lambda: find_spec("distributed"),
    "mypy": lambda: find_spec("mypy"),
    "en_dtypes": lambda: find_spec("en_dtypes"),
    "clang": lambda: shutil.which("clang") and shutil.which("clang++"),
    "pkg-config": lambda: shutil.which("pkg-config"),
    "subtests": lambda: hasattr(pytest, "Subtests") or find_spec("pytest_subtests"),
    "NPU_QUANT_ASCEND_DOC": lambda: os.environ.get("NPU_QUANT_ASCEND_DOC"),
    "NPU_QUANT_TRANSFORMERS": lambda: os.environ.get("NPU_QUANT_TRANSFORMERS"),
    "chromium": browser.executable,
    "x86-64": lambda: platform.machine() in ("x86_64", "AMD64"),
    "a user other than root": lambda: os.geteuid(),
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"needs(*names): runs where these are: {', '.join(EXTRAS)}")
    config.addinivalue_line("markers", f"exhaustive: runs where {exhaustive.VARIABLE} is set")
    if "PYTEST_XDIST_WORKER" in os.environ:  # there is a worker per core
        npu_quant.set_num_threads(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without looking for garbage: a fifth of the time, as they all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if exhaustive.IS_ASKED_FOR:
        return
    left = [item for item in items if item.get_closest_marker("exhaustive")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for name in [name for mark in item.iter_markers("needs") for name in mark.args]:
        if not EXTRAS[name]():
            pytest.skip(f"needs {name}")


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test on each instruction set this CPU has."""
    before = _core.target()
    assert _core.set_target(request.param)
    yield request.param
    _core.set_target(before)


@pytest.fixture
def threads() -> Iterator[None]:
    """Put the number of threads back after the test."""
    before = npu_quant.get_num_threads()
    yield
    npu_quant.set_num_threads(before)


@pytest.fixture
def shared() -> Iterator[None]:
    """Let threads share small work."""
    _core.set_shares_small_work(True)
    yield
    _core.set_shares_small_work(False)


@pytest.fixture
def streamed(shared: None) -> Iterator[None]:
    """Let small results bypass the caches, and threads share them."""
    before = _core.streaming()
    assert _core.set_streaming("always")
    yield
    _core.set_streaming(before)


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def dtype(request: pytest.FixtureRequest) -> np.dtype:
    """Run the test with each input dtype."""
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    """Return random numbers, the same in every run."""
    return np.random.default_rng(20240607)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dask_clusters.Cluster]:
    """Return a Dask scheduler with two workers, of one thread and of two."""
    with dask_clusters.Cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which is an empty one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Return what runs an `npu-quant` command and returns status, stdout and stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        status = cli.main(words)
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture
def compared(say: Say) -> Say:
    """Return what runs `npu-quant compare` and returns status, stdout and stderr."""
    return partial(say, "compare")


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Return two empty folders."""
    made = tmp_path / "npu", tmp_path / "cpu"
    for side in made:
        side.mkdir()
    return made
