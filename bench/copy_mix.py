"""The yardstick, bench/copy_mix.cpp: a copy with the byte mix of a quantization."""

from __future__ import annotations

import ctypes
import itertools
import time
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

import npu_quant

LIBRARY = Path(__file__).parent.parent / "build" / "bench" / "libnpu_quant_bench.so"


class Form(NamedTuple):
    """How the copy moves its bytes."""

    streams: bool
    prefetches: bool
    halves: bool

    def __str__(self) -> str:
        stores = "streaming" if self.streams else "plain"
        return stores + ", prefetch" * self.prefetches + ", half loads" * self.halves


# Which is fastest depends on the size, the alignment and the CPU: all are timed, the best counts.
FORMS = [Form(*flags) for flags in itertools.product((False, True), repeat=3)]


class CopyMix:
    """Copies x to y; several bytes of x are read for each byte of y."""

    def __init__(self) -> None:
        if not LIBRARY.exists():
            raise SystemExit("bench: the yardstick is not built. Run: make bench")
        library = ctypes.CDLL(str(LIBRARY))
        self._copy = library.copy_mix
        self._copy.argtypes = [
            *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64),
            *[ctypes.c_int] * 5,
            ctypes.c_int64,
        ]
        target = npu_quant.info()["target"]
        if not library.copy_mix_set_target(target.encode()):
            raise SystemExit(f"bench: the yardstick has no target {target}. Run: make bench")

    def run(
        self, x: NDArray[Any], y: NDArray[Any], form: Form, threads: int, repeats: int
    ) -> float:
        """Copy `repeats` times in one call, whose cost vanishes in it; return the seconds taken."""
        ratio = x.nbytes // y.nbytes
        arguments = (x.ctypes.data, y.ctypes.data, y.nbytes, ratio, *form, threads)
        start = time.perf_counter()
        if not self._copy(*arguments, repeats):
            raise ValueError(f"copy_mix: no copy that reads {ratio} bytes for one written")
        return time.perf_counter() - start
