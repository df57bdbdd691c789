"""What the tests share: every target and thread count in turn, and equality of bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np
import pytest

import npu_quant
from npu_quant import _core, cli

TARGETS = _core.targets()
DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)]


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


@pytest.fixture(params=DTYPES, ids=lambda d: d.name)
def dtype(request: pytest.FixtureRequest) -> np.dtype:
    """Run the test with each input dtype."""
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    """Return random numbers, the same in every run."""
    return np.random.default_rng(20240607)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return what runs an `npu-quant` command and returns status, stdout and stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        status = cli.main(words)
        said = capsys.readouterr()
        return status, said.out, said.err

    return run
