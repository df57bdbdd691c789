"""Every operator on much data: on any number of threads, into memory that no cache holds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cases import CASES, of_every
from cases.case import Case, Setting, check
from witnesses import columns, padded, spoil

import npu_quant
from npu_quant import _core

LAST_LEVEL = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
CACHE = int(LAST_LEVEL.read_text().rstrip("K\n")) << 10 if LAST_LEVEL.exists() else 32 << 20


@of_every("threads")
@pytest.mark.usefixtures("threads")
def test_any_number_of_threads(case: Case, setting: Setting, rng: np.random.Generator) -> None:
    a = case.tried(rng, setting)[0]
    expected = case.expected(a)
    for n in (1, 2, 3, 16):
        npu_quant.set_num_threads(n)
        check(case, a, expected, where=f"{n} threads")


@pytest.fixture
def prefetch() -> Iterator[Iterator[str]]:
    """Go through the ways of asking for rows to come, over and over."""
    chosen = _core.prefetch()
    yield itertools.cycle(["l1", "l2"])
    _core.set_prefetch(chosen)


@of_every("large")
@pytest.mark.usefixtures("threads")
def test_results_past_the_cache(
    case: Case, setting: Setting, rng: np.random.Generator, prefetch: Iterator[str]
) -> None:
    """Large enough for streaming stores, with all results at every alignment, then each alone."""
    npu_quant.set_num_threads(3)
    a = case.tried(rng, setting)[0]
    expected = case.expected(a)
    size = sum(array.nbytes for array in (*expected, *(a[name] for name in case.rows)))
    times = math.ceil(1.5 * CACHE / size)
    a |= {name: np.tile(a[name], (times, 1, 1)) for name in case.rows}
    expected = tuple(np.tile(e, (times,) + (1,) * e.ndim) for e in expected)
    memory = [np.empty(e.nbytes + 64, np.uint8) for e in expected]
    item = max(e.itemsize for e in expected)
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


@pytest.mark.parametrize("case", [c for c in CASES if c.large], ids=lambda case: case.name)
def test_rows_past_the_cache(case: Case, rng: np.random.Generator) -> None:
    """Results whose rows share cache lines, which are streamed a line at a time; rows with gaps."""
    (_, n), options = case.large[0]
    a = case.tried(rng, ((1, n), options))[0]
    size = sum(array.nbytes for array in (*case.expected(a), *(a[name] for name in case.rows)))
    a = case.tried(rng, ((CACHE // size + 100, n), options))[0]
    expected = case.expected(a)
    check(case, a, expected, tuple(columns(e, 24) for e in expected), "columns")
    check(case, a, expected, tuple(map(padded, expected)), "padded rows")


@pytest.mark.parametrize("case", [c for c in CASES if c.threads], ids=lambda case: case.name)
def test_large_results_are_fresh(case: Case, rng: np.random.Generator) -> None:
    """A large result must not share memory with one that is still in use."""
    shape, options = case.threads[0]
    a = case.tried(rng, (shape, options))[0]
    expected = case.expected(a)
    first, *others = [case.run(a) for _ in range(3)]
    for result, e in zip(first, expected, strict=True):
        spoil(result, e)
    for other in others:
        case.same(other, expected)
        assert not any(np.shares_memory(r, o) for r in first for o in other)
