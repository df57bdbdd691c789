"""The C functions refuse negative strides; on several threads, and under a named arithmetic."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from aclnn_calls import recent_message, status_of
from cases.aclnn import CASES
from cases.case import Arguments, Case

import npu_quant

THREADS = 8


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def tried(case: Case) -> Arguments:
    kind = list(case.kinds.values())[-1]
    return case.tried(np.random.default_rng(5), case.layouts[0], **kind)[0]


def test_negative_strides_are_refused(case: Case) -> None:
    a = tried(case)
    expected = case.expected(a)
    for name, value in a.items():
        if isinstance(value, np.ndarray) and value.size > 1:
            with pytest.raises(AssertionError, match=r"161002: .*stride"):
                case.run(a | {name: value[::-1]})
    for i in range(len(expected)):
        out = [np.zeros_like(e) for e in expected]
        out[i] = out[i][::-1]
        with pytest.raises(AssertionError, match=r"161002: .*stride"):
            case.run(a, tuple(out))


def test_the_sum_may_be_left_out(rng: np.random.Generator) -> None:
    """Of the results of aclnnAddRmsNormQuantV2."""
    (case,) = (case for case in CASES if case.name == "aclnn-add_rms_norm_quantV2")
    a = tried(case)
    y1, y2, total, norm = case.expected(a)
    out = np.zeros_like(y1), np.zeros_like(y2), None, np.zeros_like(norm)
    case.run(a, out)
    case.same((out[0], out[1], total, out[3]), (y1, y2, total, norm))


def test_threads_do_not_meet() -> None:
    tries = [(case, tried(case)) for case in CASES]
    expected = [case.expected(a) for case, a in tries]

    def repeat(first: int) -> None:
        for nth in range(first, first + 4 * len(CASES)):
            case, a = tries[nth % len(CASES)]
            case.same(case.run(a), expected[nth % len(CASES)])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(repeat, range(THREADS)))


def test_messages_are_each_threads_own() -> None:
    y, scale = np.zeros((2, 4), np.int8), np.zeros(2, np.float32)
    assert status_of("aclnnDynamicQuant", None, None, y, scale) == 161001
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(recent_message).result() == ""
    assert "x is NULL" in recent_message()
    assert recent_message() == ""


# The variable counts as it is when the C library is loaded; the module could not be imported with an unknown name.
NUMERICS = """
import ctypes, os, sys

import numpy as np

os.environ["NPU_QUANT_NUMERICS"] = sys.argv[1]
ctypes.CDLL(sys.argv[3])
del os.environ["NPU_QUANT_NUMERICS"]
import aclnn_calls

if sys.argv[2] == "init":
    print(aclnn_calls.RUNTIME.aclInit(None))
    print(aclnn_calls.recent_message())
x = np.float32([[1, -2]])
y, scale = np.zeros((1, 2), np.int8), np.zeros(1, np.float32)
print(aclnn_calls.status_of("aclnnDynamicQuant", x, None, y, scale))
print(aclnn_calls.recent_message())
print(y.tolist())
"""


def run_with_numerics(name: str, init: str) -> list[str]:
    library = str(Path(npu_quant.aclnn_prefix()) / "lib64/libascendcl.so")
    path = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", NUMERICS, name, init, library],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.splitlines()


def test_known_numerics() -> None:
    assert run_with_numerics("reference", "init") == ["0", "", "0", "", "[[64, -127]]"]


@pytest.mark.parametrize("init", ["init", "no init"])
def test_unknown_numerics(init: str) -> None:
    lines = run_with_numerics("fast", init)
    if init == "init":
        code, message = lines[:2]
        assert code == "100000"
        assert "NPU_QUANT_NUMERICS is 'fast', available: reference" in message
    code, message, y = lines[-3:]
    assert code == "161002"
    assert "NPU_QUANT_NUMERICS is 'fast', available: reference" in message
    assert y == "[[0, 0]]"
