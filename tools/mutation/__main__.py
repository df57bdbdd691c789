"""Plant faults one at a time: a test must find each.

    python -m tools.mutation                    all of them
    python -m tools.mutation faults             those of the tables: kernels, contracts, faces
    python -m tools.mutation comparisons        every comparison of the modules that decide, flipped
    python -m tools.mutation --tests ../other/tests    the tests of another checkout

A fault of a kernel is built into one instruction set only, so that the tests have to look at each.
Needs CMake, Ninja, pybind11, GoogleTest and what the tests need; builds in build/mutation.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

from . import (
    checkpoints,
    commands,
    comparisons,
    contracts,
    elementwise,
    faces,
    glu,
    kernels,
    mx,
    norms,
    products,
    profiles,
)
from .mutant import ROOT, Mutant, TableError
from .workshop import GOOGLETESTS, MODULES, Workshop

FAULTS = [
    *kernels.FAULTS,
    *norms.FAULTS,
    *glu.FAULTS,
    *elementwise.FAULTS,
    *mx.FAULTS,
    *products.FAULTS,
    *profiles.FAULTS,
    *contracts.FAULTS,
    *commands.FAULTS,
    *faces.FAULTS,
    *checkpoints.FAULTS,
]


class Verdict(NamedTuple):
    """What became of a mutant."""

    found_by: str | None
    seconds: float
    error: str = ""


def find(workshop: Workshop, mutant: Mutant) -> str | None:
    """Return the first test that fails: the likely ones are asked first."""
    is_compiled = mutant.file.startswith("csrc/")
    is_first, words = mutant.googletests_first, mutant.tests.split()
    with workshop.copy() as copy:
        if is_compiled:
            with workshop.built(mutant, *MODULES, *(GOOGLETESTS if is_first else ())):
                if is_first and (found := workshop.googletests()):
                    return found
                workshop.install(copy)
        else:
            (copy / mutant.file).write_text(mutant.source)
        modules = [p for p in copy.glob("tests/**/test_*.py") if any(w in p.stem for w in words)]
        modules.sort(key=lambda path: (len(path.stem), path.stem))  # "test_quantize" comes first
        named = [str(path.relative_to(copy)) for path in modules]
        if named and (found := workshop.pytest(copy, named)):
            return found
        if named and not mutant.goes_on:
            return None
        rest = ["tests", *(f"--ignore={module}" for module in named)]
        if found := workshop.pytest(copy, [*rest, "-k", " or ".join(words)]):
            return found
        if not mutant.goes_on:
            return None
        if is_compiled and not is_first:
            with workshop.built(mutant, *GOOGLETESTS):
                if found := workshop.googletests():
                    return found
        return workshop.pytest(copy, [*rest, "-k", " and ".join(f"not {w}" for w in words)])


def judge(workshop: Workshop, mutant: Mutant) -> Verdict:
    """Look for the test that finds a mutant; say so at once."""
    start = time.monotonic()
    found, error = None, ""
    try:
        found = find(workshop, mutant)
    except TableError as reason:
        error = str(reason)
    seconds = time.monotonic() - start
    print(f"{seconds:5.0f} s  {mutant.name}: {found or error or 'NOBODY'}", flush=True)
    return Verdict(found, seconds, error)


def report(mutants: list[Mutant], verdicts: list[Verdict]) -> int:
    """Print the table; return how many of its rows are to look at."""
    print("\nfault | file | found by | seconds")
    bad = 0
    for mutant, (found, seconds, error) in zip(mutants, verdicts, strict=True):
        shown = found or "NOBODY"
        if error:
            shown = error.splitlines()[-1]
        elif mutant.equivalent:
            shown = f"LISTED AS EQUIVALENT: {found}" if found else f"none: {mutant.equivalent}"
        bad += bool(error) or bool(found) == bool(mutant.equivalent)
        where = f"{mutant.file} ({mutant.target})" if mutant.target else mutant.file
        print(f"{mutant.name} | {where} | {shown} | {seconds:.0f}")
    print(f"mutation: {len(mutants)} faults planted, {bad} to look at")
    return bad


def run(mutants: list[Mutant], tests: Path, processes: int) -> int:
    """Build, plant, test; return the exit status."""
    workshop = Workshop(ROOT / "build/mutation", tests.resolve(), processes)
    start = time.monotonic()
    workshop.prepare()
    print(f"built in {time.monotonic() - start:.0f} s", flush=True)
    runnable = workshop.runnable_targets()
    for mutant in [m for m in mutants if m.target and m.target not in runnable]:
        print(f"left out, as this CPU lacks {mutant.target}: {mutant.name}")
        mutants.remove(mutant)
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        verdicts = list(pool.map(lambda mutant: judge(workshop, mutant), mutants))
    bad = report(mutants, verdicts)
    print(f"mutation: {time.monotonic() - start:.0f} s")
    return 1 if bad else 0


def main() -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", nargs="?", choices=["faults", "comparisons"])
    parser.add_argument(
        "--only", metavar="NAME", nargs="+", default=[""], help="those whose name has this in it"
    )
    parser.add_argument("--list", action="store_true", help="only print the names")
    parser.add_argument(
        "--tests", metavar="DIR", type=Path, default=ROOT / "tests", help="other tests"
    )
    parser.add_argument(
        "-j", dest="processes", type=int, default=os.cpu_count() or 1, help="at once"
    )
    options = parser.parse_args()
    try:
        mutants = [] if options.kind == "comparisons" else [f.mutant() for f in FAULTS]
        if options.kind != "faults":
            mutants += comparisons.mutants()
        mutants = [m for m in mutants if any(name in m.name for name in options.only)]
        if options.list or not mutants:
            print(*(mutant.name for mutant in mutants), sep="\n")
            return 0 if mutants else 1
        return run(mutants, options.tests, options.processes)
    except TableError as error:
        print(f"mutation: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
