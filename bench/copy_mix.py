"""The yardstick, bench/copy_mix.cpp: a copy with the byte mix of an operator."""

from __future__ import annotations

import ctypes
import itertools
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

LIBRARY = Path(__file__).parent.parent / "build" / "release" / "bench" / "libnpu_quant_bench.so"


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

Arrays = Sequence[NDArray[Any]]


class CopyMix:
    """Copies from one or two arrays to one or two, each of its own width."""

    def __init__(self) -> None:
        if not LIBRARY.exists():
            raise SystemExit("bench: the yardstick is not built. Run: make bench")
        library = ctypes.CDLL(str(LIBRARY))
        self._find, self._copy = library.copy_mix_find, library.copy_mix
        self._copy.argtypes = [
            *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64),
            *[ctypes.c_int] * 5,
            ctypes.c_int64,
        ]
        self._copy.restype = None

    def between(self, inputs: Arrays, outputs: Arrays) -> Callable[[Form, int, int], float]:
        """A function of form, threads and repeats, which returns the seconds taken.

        It repeats in one call, whose cost vanishes in it.
        """
        wider_first = sorted(outputs, key=lambda y: -y.nbytes)
        each = [a.nbytes for a in (inputs[0], *wider_first)]
        elements = math.gcd(*each)  # widths are whole bytes, as small as they can be
        widths = [*(nbytes // elements for nbytes in each), 0][:3]
        mix = self._find(len(inputs), *widths)
        if mix < 0:
            raise ValueError(f"copy_mix: no mix of {len(inputs)} inputs and widths {widths}")
        x, y = _pointers([*inputs, inputs[0]]), _pointers(wider_first)

        def run(form: Form, threads: int, repeats: int) -> float:
            start = time.perf_counter()
            self._copy(x, y, elements, mix, *form, threads, repeats)
            return time.perf_counter() - start

        return run


def _pointers(arrays: Arrays) -> ctypes.Array[ctypes.c_void_p]:
    """Two of them, the second null where there is one array."""
    return (ctypes.c_void_p * 2)(*[a.ctypes.data for a in arrays[:2]])
