"""Two files of int8 codes compared by golden.compare's engine, beside reading them and peers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from timeit import Timer
from typing import Any

import numpy as np

import npu_quant
from npu_quant.golden import load
from npu_quant.golden.measure.metrics import measure as compare
from npu_quant.golden.sources import blocks

from . import arrays
from .cases import Bench
from .goals import Goal
from .harness import Candidate, Quartiles, measure
from .operators import Operator

OPERATORS: tuple[Operator, ...] = ()  # it computes no array

COLUMNS = 4096
DIFFERING = 1000
"""One code in so many differs: numpy and torch then say how much does, too."""
MOST_MIB_OF_PEERS = 128
"""They need about 50 times a file's size in memory to say what differs."""
OF_READING = 0.25
"""Goal: which part of the speed of only reading both files is wanted, with most threads."""


@dataclass(frozen=True)
class Comparing:
    """What comparing two files took, from opening them to the verdict."""

    how: str
    threads: int
    mib: int
    """Of each file."""
    seconds: Quartiles
    of_reading: Quartiles
    """Time of reading both over this, from round to round."""
    peak_mib: float
    """By how much it raises the greatest resident size of a process that does nothing else."""


def comparisons(bench: Bench, mib: int) -> list[Comparing]:
    """Measure all ways with each number of threads they have; none where there are 0 MiB."""
    if mib == 0:
        return []
    with tempfile.TemporaryDirectory(prefix="npu_quant-bench-") as folder:
        paths = _write(Path(folder), mib)
        keys = [("reading", 1), *(("npu_quant", t) for t in bench.threads)]
        if mib <= MOST_MIB_OF_PEERS:
            keys += [("numpy", 1)]
        if mib <= MOST_MIB_OF_PEERS and bench.torch is not None:
            keys += [("torch", t) for t in bench.threads]
        candidates = [
            Candidate((how, t), _repeated(HOWS[how], paths), partial(bench.set_threads, t))
            for how, t in keys
        ]
        samples = measure(candidates, bench.plan)
        return [
            Comparing(
                how=how,
                threads=t,
                mib=mib,
                seconds=samples.seconds((how, t)),
                of_reading=samples.ratio(("reading", 1), (how, t)),
                peak_mib=_peak_mib(how, paths, t),
            )
            for how, t in keys
        ]


def goals(comparings: list[Comparing]) -> Iterator[Goal]:
    """Of golden.compare; reading takes one thread, so comparing may have all there are."""
    most = max((c.threads for c in comparings), default=0)
    for c in comparings:
        if c.how == "npu_quant" and c.threads == most:
            where, seen = f"int8 {c.mib} MiB {c.threads}T", c.of_reading.median
            met = seen >= OF_READING
            yield Goal("comparing, of reading both", where, f">= {OF_READING}", seen, met)


def _write(folder: Path, mib: int) -> list[str]:
    codes = arrays.normal(((mib << 20) // COLUMNS, COLUMNS), "int8", "numpy")
    np.save(folder / "golden.npy", codes)
    codes.reshape(-1)[::DIFFERING] ^= 1
    np.save(folder / "actual.npy", codes)
    return [str(folder / name) for name in ("actual.npy", "golden.npy")]


def _repeated(how: Callable[[str, str], Any], paths: list[str]) -> Callable[[int], float]:
    return Timer(lambda: how(*paths)).timeit


def _read(actual: str, golden: str) -> None:
    with load(actual) as ours, load(golden) as theirs:
        for block in blocks(theirs):
            ours.read(*block)
            theirs.read(*block)


def _npu_quant(actual: str, golden: str) -> int:
    with load(actual) as ours, load(golden) as theirs:
        return compare(ours, theirs)[0].mismatches


def _numpy(actual: str, golden: str) -> str:
    try:
        np.testing.assert_array_equal(np.load(actual), np.load(golden))
    except AssertionError as error:
        return str(error)
    raise RuntimeError("bench: NumPy sees no difference")


def _torch(actual: str, golden: str) -> str:
    import torch

    ours, theirs = (torch.from_numpy(np.load(path)) for path in (actual, golden))
    try:
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
    except AssertionError as error:
        return str(error)
    raise RuntimeError("bench: torch sees no difference")


HOWS: dict[str, Callable[[str, str], Any]] = {
    "reading": _read,
    "npu_quant": _npu_quant,
    "numpy": _numpy,
    "torch": _torch,
}


def _peak_mib(how: str, paths: list[str], threads: int) -> float:
    """Of a process of its own."""
    command = [sys.executable, "-m", f"{__package__}.bench_compare", how, str(threads), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _resident_mib(which: str) -> float:
    """VmRSS or VmHWM, its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(which))


def _main(how: str, threads: str, *paths: str) -> None:
    """Print the MiB that the first comparison of a process takes."""
    npu_quant.set_num_threads(int(threads))
    if how == "torch":
        import torch  # noqa: F401
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _resident_mib("VmRSS")
    HOWS[how](*paths)
    print(_resident_mib("VmHWM") - before)


if __name__ == "__main__":
    _main(*sys.argv[1:])
