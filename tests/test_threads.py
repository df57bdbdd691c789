"""Every operator on many threads, and past the caches, where it streams: large arrays' ways, on small ones.

`make test` has small arrays take these ways (_core.set_shares_small_work, _core.set_streaming).
`make test-exhaustive` also tries arrays that are so large that they take them by themselves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cases import CASES, of_every
from cases.case import Arguments, Case, Results, Setting, check
from witnesses import Array, columns, padded, spoil

import npu_quant
from npu_quant import _core

LAST_LEVEL = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
CACHE = int(LAST_LEVEL.read_text().rstrip("K\n")) << 10 if LAST_LEVEL.exists() else 32 << 20
LARGE_OUTPUT = 4 << 20  # whose memory is kept for the next call (csrc/core/memory.h)
OF_THREADS = [case for case in CASES if case.threads]
OF_LARGE = [case for case in CASES if case.large]

pytestmark = pytest.mark.usefixtures("threads")


@pytest.fixture
def prefetch() -> Iterator[Iterator[str]]:
    """Go through the ways of asking for rows to come, over and over."""
    chosen = _core.prefetch()
    yield itertools.cycle(["l1", "l2"])
    _core.set_prefetch(chosen)


def check_threads(case: Case, setting: Setting, rng: np.random.Generator) -> None:
    a = case.tried(rng, setting)[0]
    expected = case.expected(a)
    for n in (1, 2, 3, 16):
        npu_quant.set_num_threads(n)
        check(case, a, expected, where=f"{n} threads")


@of_every("threads")
@pytest.mark.usefixtures("shared")
def test_any_number_of_threads(case: Case, setting: Setting, rng: np.random.Generator) -> None:
    check_threads(case, setting, rng)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", OF_THREADS, ids=lambda case: case.name)
def test_any_number_of_threads_on_large_arrays(case: Case, rng: np.random.Generator) -> None:
    (m, *others), options = case.threads[0]
    check_threads(case, ((20 * m, *others), options), rng)


def repeated(
    case: Case, setting: Setting, rng: np.random.Generator, size: int
) -> tuple[Arguments, tuple[Array, ...]]:
    """Return a setting's arguments and results, twice or until they are of that size together."""
    a = case.tried(rng, setting)[0]
    expected = case.expected(a)
    once = sum(array.nbytes for array in (*expected, *(a[name] for name in case.rows)))
    times = max(2, math.ceil(size / once))
    join = np.stack if case.stacks else np.concatenate
    a |= {name: join([a[name]] * times) for name in case.rows}
    return a, tuple(join([e] * times) for e in expected)


def check_alignments(
    case: Case, a: Arguments, expected: tuple[Array, ...], prefetch: Iterator[str]
) -> None:
    """Compare results that lie at every alignment, all of them and then each alone."""
    npu_quant.set_num_threads(3)
    memory = [np.empty(e.nbytes + 64, np.uint8) for e in expected]
    item = max(e.itemsize for e in expected)
    out: Results = ()
    for offset in [0, *sorted({0, 1, 2, 4, 16, 64 - item, 63})]:
        assert _core.set_prefetch(next(prefetch))
        out = tuple(
            m[offset : offset + e.nbytes].view(e.dtype).reshape(e.shape)
            for m, e in zip(memory, expected, strict=True)
        )
        check(case, a, expected, out, f"at {offset}")
    for i in range(len(out)) if len(out) > 1 else ():
        one = tuple(o if j == i else None for j, o in enumerate(out))
        check(case, a, expected, one, f"{i} alone")


@of_every("large")
@pytest.mark.usefixtures("streamed")
def test_streamed_results(
    case: Case, setting: Setting, rng: np.random.Generator, prefetch: Iterator[str]
) -> None:
    check_alignments(case, *repeated(case, setting, rng, 0), prefetch)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", OF_LARGE, ids=lambda case: case.name)
def test_results_past_the_cache(
    case: Case, rng: np.random.Generator, prefetch: Iterator[str]
) -> None:
    """They are streamed by themselves."""
    check_alignments(case, *repeated(case, case.large[0], rng, int(1.5 * CACHE)), prefetch)


def check_rows(case: Case, a: Arguments) -> None:
    """Compare results whose rows share cache lines, which are streamed a line at a time; rows with gaps."""
    expected = case.expected(a)
    check(case, a, expected, tuple(columns(e, 24) for e in expected), "columns")
    check(case, a, expected, tuple(map(padded, expected)), "padded rows")


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("case", OF_LARGE, ids=lambda case: case.name)
def test_streamed_rows(case: Case, rng: np.random.Generator) -> None:
    (_, n), options = case.large[0]
    check_rows(case, case.tried(rng, ((131, n), options))[0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", OF_LARGE, ids=lambda case: case.name)
def test_rows_past_the_cache(case: Case, rng: np.random.Generator) -> None:
    (_, n), options = case.large[0]
    a = case.tried(rng, ((1, n), options))[0]
    size = sum(array.nbytes for array in (*case.expected(a), *(a[name] for name in case.rows)))
    check_rows(case, case.tried(rng, ((CACHE // size + 100, n), options))[0])


@pytest.mark.parametrize("case", OF_LARGE, ids=lambda case: case.name)
def test_large_results_are_fresh(case: Case, rng: np.random.Generator) -> None:
    """A large result must not share memory with one that is still in use."""
    a, expected = repeated(case, case.large[0], rng, 10 * LARGE_OUTPUT)
    assert max(e.nbytes for e in expected) >= LARGE_OUTPUT
    first, *others = [case.run(a) for _ in range(3)]
    for result, e in zip(first, expected, strict=True):
        spoil(result, e)
    for other in others:
        case.same(other, expected)
        assert not any(np.shares_memory(r, o) for r in first for o in other)
