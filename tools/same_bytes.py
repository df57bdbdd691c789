"""Compare the bytes that two architectures give for the same arguments, made by tests/cases.

`make FILE` writes calls of all operators, and the CRC-32 of each output on each instruction set of
this CPU. `check FILE` makes the same calls where it runs, on the other architecture, and fails if
an output differs. The bits of a NaN that is no scale are undefined (docs/numerics.md 1): here it
becomes one NaN first. Kinds whose arguments are all large are left out, for the time they take.
"""

from __future__ import annotations

import pickle
import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from cases import CASES, formulas
from cases.case import Arguments, Case, described

from npu_quant import _core

# Of each kind, CALLS are drawn from its FIRST whose arguments have at most MOST bytes, fewer once
# they have ENOUGH bytes together.
CALLS, FIRST, ENOUGH, MOST = 4, 64, 1 << 16, 1 << 20
FREE = ("float16", "bfloat16", "float32")

# A kind, its case's name, the arguments, and the CRCs of each instruction set.
Call = tuple[str, str, Arguments, dict[str, list[int]]]


def size(value: Any) -> int:
    """Return the bytes of an argument's arrays."""
    return (
        sum(map(size, value)) if isinstance(value, (list, tuple)) else getattr(value, "nbytes", 0)
    )


def named(case: Case, results: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Yield each array of the results and its name."""
    for i, result in enumerate(results):
        for array in result if isinstance(result, (list, tuple)) else [result]:
            yield case.fields[i] if case.fields else "", array


def crcs(case: Case, a: Arguments) -> list[int]:
    """Make a call, and return the CRC of the bytes of each output."""
    made = []
    for name, array in named(case, case.run(a)):
        array = np.array(array)
        if array.dtype.name in FREE and "scale" not in name:
            array[np.isnan(array)] = np.nan
        made.append(zlib.crc32(array.tobytes()))
    return made


def chosen() -> Iterator[tuple[str, Case, Arguments]]:
    """Yield the calls: of each kind some, by a draw that is the same each time."""
    for case in CASES:
        for name, kind, trial in formulas(case):
            rng = np.random.default_rng(zlib.crc32(name.encode()))
            first = islice(case.tries(trial, rng, **kind), FIRST)
            small = [a for a in first if size([*a.values()]) <= MOST]
            taken: list[Any] = []
            for i in rng.permutation(len(small))[:CALLS]:
                if size(taken) < ENOUGH:
                    taken += small[i].values()
                    yield name, case, small[i]


def make(file: str) -> None:
    """Write the calls and their CRCs on every target of this CPU."""
    calls = [(name, case, a, dict[str, list[int]]()) for name, case, a in chosen()]
    for target in _core.targets():
        assert _core.set_target(target)
        for _, case, a, made in calls:
            made[target] = crcs(case, a)
    table: list[Call] = [(name, case.name, a, made) for name, case, a, made in calls]
    Path(file).write_bytes(pickle.dumps(table))


def check(file: str) -> str:
    """Return what differs here, a line per kind, or nothing, and print the counts."""
    calls: list[Call] = pickle.loads(Path(file).read_bytes())
    cases = {case.name: case for case in CASES}
    differ: dict[str, str] = {}
    for name, case, a, made in calls:
        own = crcs(cases[case], a)
        others = [target for target, theirs in made.items() if theirs != own]
        if others and name not in differ:
            differ[name] = f"{name}  {' '.join(others)}  {described(a)}"
    kinds, targets = len({name for name, *_ in calls}), ", ".join(calls[0][3])
    print(
        f"{_core.target()} against {targets}: {len(calls)} calls of {kinds} kinds, "
        f"{len(differ)} kinds differ"
    )
    return "\n".join(differ.values())


if __name__ == "__main__":
    sys.exit({"make": make, "check": check}[sys.argv[1]](sys.argv[2]) or 0)
