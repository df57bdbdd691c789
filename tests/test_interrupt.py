"""Ctrl-C during a long call: KeyboardInterrupt at once, and everything works afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import long_calls
import numpy as np
import pytest

import npu_quant

SCRIPT = Path(__file__).with_name("long_calls.py")
# It takes less than 0.1 s of CPU time, whatever else the machine does; a call that goes on to its end
# takes far more.
AT_ONCE = long_calls.SECONDS / 3


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", sorted(long_calls.CALLS))
def test_ctrl_c_ends_a_call(name: str, threads: int) -> None:
    command = [sys.executable, SCRIPT, name, str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    ended = json.loads(done.stdout)
    assert 0 < ended["interrupted"] < long_calls.BEFORE + AT_ONCE


@contextmanager
def alarms(handler: Callable[..., Any]) -> Iterator[None]:
    """Call the handler after each 0.05 s of CPU time."""
    before = signal.signal(signal.SIGPROF, handler)
    signal.setitimer(signal.ITIMER_PROF, 0.05, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.fixture(params=[1, 2])
def call(request: pytest.FixtureRequest) -> Iterator[Callable[[], Any]]:
    """Return a call that takes a second of CPU time, with one thread and with two."""
    before = npu_quant.get_num_threads()
    npu_quant.set_num_threads(request.param)
    yield long_calls.long_call(long_calls.scales_only, 1.0)
    npu_quant.set_num_threads(before)


def test_where_a_handler_returns_the_work_goes_on(call: Callable[[], Any]) -> None:
    """The handler may call an operator too."""
    x = np.ones((1024, 4096), np.float32)
    handled = []

    def handle(*_: object) -> None:
        handled.append((time.process_time(), npu_quant.npu_dynamic_quant(x).y.min()))

    with alarms(handle):
        scale = call()
        end = time.process_time()
    assert scale.min() == scale.max() == long_calls.scales_only(1)()[0]
    assert sum(at < end - 0.1 for at, _ in handled) >= 1
    assert {least for _, least in handled} == {127}


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_a_handler_forks_ends_the_call_too(call: Callable[[], Any]) -> None:
    """It does the rest alone, and misses nothing that other threads were doing."""
    children: list[int] = []
    begun = 0

    def fork(*_: object) -> None:
        nonlocal begun
        if begun == 3 or begun > len(children):  # Python takes locks to fork: none within another
            return
        begun += 1
        children.append(os.fork())
        if children[-1] == 0:
            begun = 3
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)  # ends a child that waits for ever

    is_whole = False
    try:
        with alarms(fork):
            while not children:
                scale = call()
        is_whole = scale.min() == scale.max() == long_calls.scales_only(1)()[0]
    finally:
        if 0 in children:
            os._exit(0 if is_whole else 1)
    assert is_whole
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(children)


def test_any_exception_of_a_handler_ends_the_call(call: Callable[[], Any]) -> None:
    def give_up(*_: object) -> None:
        raise TimeoutError("no time")

    start = time.process_time()
    with pytest.raises(TimeoutError, match="no time"), alarms(give_up):
        call()
    assert time.process_time() - start < 0.8
    long_calls.check_that_all_works()
