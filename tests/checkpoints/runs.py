"""Runs of quantize in the tests: a model, what one process makes of it, runs that are stopped.

It is imported by tests that do not load it as a plugin too: PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoints import expected, models
from npu_quant import checkpoint

SIZES: dict[str, Any] = {"hidden": 128, "inner": 256}
OPTIONS: dict[str, Any] = {"shard_size": "80KB"}


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model, which no test changes."""
    return models.make(tmp_path_factory.mktemp("source") / "model", "llama", **SIZES)


@pytest.fixture(scope="session")
def whole(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what one process makes of it when nothing interrupts: some shards."""
    out = tmp_path_factory.mktemp("whole") / "out"
    report = checkpoint.quantize(source, out, "W8A8_DYNAMIC", workers=1, **OPTIONS)
    assert len(report.shards) >= 4
    return out


def quantized_pair(
    root: Path, scheme: str = "W8A8_DYNAMIC", family: str = "llama", **sizes: Any
) -> tuple[Path, Path]:
    """Return a model, and what quantize makes of it."""
    source, out = models.make(root / "source", family, **sizes), root / "out"
    checkpoint.quantize(source, out, scheme, workers=1)
    return source, out


def expected_pair(
    root: Path, scheme: str = "W8A8_DYNAMIC", family: str = "llama"
) -> tuple[Path, Path]:
    """Return a model, and what it becomes by the specification."""
    source = models.make(root / "source", family)
    return source, expected.expect(source, scheme).write(root / "quantized")


class StoppedError(Exception):
    """What stops a run in these tests."""


def stopped_when(is_so: Callable[[int, int], object]) -> Callable[[int, int], None]:
    """Return a progress that stops a run when something is so of what is done and the total."""

    def progress(done: int, total: int) -> None:
        if is_so(done, total):
            raise StoppedError

    return progress


def stopped_after(count: int) -> Callable[[int, int], None]:
    """Return a progress that stops a run when it is told so often."""
    left = iter(range(count))
    return stopped_when(lambda *_: next(left, None) is None)


def stopped_at(share: float) -> Callable[[int, int], None]:
    """Return a progress that stops a run when so much of it is done."""
    return stopped_when(lambda done, total: done >= share * total)
