"""Calls that take seconds and little memory: what is read is one row over and over.

``python long_calls.py NAME THREADS`` makes one, is sent Ctrl-C's signal meanwhile, and tells how
the call ended. All seconds are of this process's CPU time, so that no other process delays them.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import npu_quant

N = 4096
ROW = np.linspace(-3, 3, 2 * N, dtype=np.float32).astype(ml_dtypes.bfloat16)
OLD = 111  # no code of what is written over it
SECONDS = 1.5  # that a call would take
BEFORE = 0.1  # so many seconds into a call comes the signal


def rows_of(count: int, row: np.ndarray = ROW[:N]) -> np.ndarray:
    return np.broadcast_to(row, (count, N))


def scales_only(count: int) -> Callable[[], Any]:
    x, scale = rows_of(count), np.zeros(count, np.float32)
    return lambda: npu_quant.npu_dynamic_quant(x, out=(None, scale)).scale


def strided_input(count: int) -> Callable[[], Any]:
    x, scale = rows_of(count, ROW[::2]), np.empty(count, np.float32)
    return lambda: npu_quant.npu_dynamic_quant(x, out=(None, scale))


def fresh_outputs(count: int) -> Callable[[], Any]:
    x, one = rows_of(count, ROW[::2]), np.ones(1, np.float32)
    return lambda: npu_quant.npu_quantize(x, one, None, np.int8)


class OutArray:
    """Of which the beginning is new after Ctrl-C, and the end old."""

    def __init__(self, count: int) -> None:
        self.x, self.out = rows_of(count, ROW[::2]), np.empty((count, N), np.int8)
        self.out[[0, -1]] = OLD  # of gigabytes no more than what is looked at
        self.quantizer = npu_quant.make_per_tensor_affine_quantizer(0.1, 0, "qint8")

    def __call__(self) -> Any:
        return self.quantizer.quantize(self.x, out=self.out)

    def check(self) -> None:
        assert np.all(self.out[0] != OLD)
        assert np.all(self.out[-1] == OLD)


def norm(count: int) -> Callable[[], Any]:
    x, one = rows_of(count, ROW[::2]), np.ones(1, np.float32)
    y = np.empty((count, N), np.int8)
    gamma = ROW[:N].copy()
    return lambda: npu_quant.npu_add_rms_norm_quant(x, x, gamma, one, None, out=(y, None, None))


def comparison(count: int) -> Callable[[], Any]:
    actual, golden = (np.zeros((count, N), np.int8) for _ in range(2))
    return lambda: npu_quant.golden.compare(actual, golden)


CALLS = {
    "scales_only": scales_only,
    "strided_input": strided_input,
    "fresh_outputs": fresh_outputs,
    "out_array": OutArray,
    "norm": norm,
    "comparison": comparison,
}


def seconds_of(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def long_call(
    make: Callable[[int], Callable[[], Any]], wanted: float = SECONDS
) -> Callable[[], Any]:
    """Return a call that would take so many seconds, by how long a shorter one takes."""
    count = 256
    while (seconds := min(seconds_of(make(count)) for _ in range(2))) < 0.02:
        count *= 2
    return make(int(count * wanted / seconds))


def check_that_all_works() -> None:
    x = np.ascontiguousarray(rows_of(4096))
    y, scale = npu_quant.npu_dynamic_quant(x)
    expected = npu_quant.ops.dynamic_quant.reference(x[:1])
    assert np.all(y == expected[0])
    assert np.all(scale == expected[1])


def main(name: str, threads: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which background jobs lack
    npu_quant.set_num_threads(int(threads))
    signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    # Of gigabytes less: what check() looks at shows the same.
    call = long_call(CALLS[name], SECONDS / 3 if CALLS[name] is OutArray else SECONDS)
    start, ended = time.process_time(), {}
    signal.setitimer(signal.ITIMER_PROF, BEFORE)
    try:
        call()
    except KeyboardInterrupt:
        ended = {"interrupted": time.process_time() - start}
    if isinstance(call, OutArray):
        call.check()
    check_that_all_works()
    print(json.dumps(ended))


if __name__ == "__main__":
    main(*sys.argv[1:])
