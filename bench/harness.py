"""Alternated timing: every candidate once per round, so that all see the same machine."""

from __future__ import annotations

import random
import statistics
import time
import timeit
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quartiles:
    """The median of the rounds and the quartiles around it."""

    median: float
    q1: float
    q3: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Quartiles:
        """Of at least two values."""
        q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, q1, q3)


@dataclass(frozen=True)
class Candidate:
    """Something to time."""

    key: Hashable
    run: Callable[[int], float]
    """Does the work this many times and returns the seconds it took."""
    prepare: Callable[[], None] = lambda: None
    """Called before each block, untimed: sets the number of threads."""
    scale: float = 1.0
    """What the time is multiplied by, where only a part of the work is done."""
    settle: float = 0.0
    """Seconds of rest after a block, for threads that spin on when their work is done."""


@dataclass(frozen=True)
class Plan:
    """How long to measure."""

    rounds: int
    block_seconds: float
    rows: float = 1.0
    """Which part of the rows of large calls is enough, where only their ratios are of interest."""


class Samples(dict[Hashable, list[float]]):
    """Seconds per call of each candidate, a value per round."""

    def seconds(self, key: Hashable) -> Quartiles:
        """Quartiles over the rounds."""
        return Quartiles.of(self[key])

    def ratio(self, key: Hashable, over: Hashable) -> Quartiles:
        """Quartiles of the per-round ratios: what disturbs a round disturbs both."""
        return Quartiles.of([a / b for a, b in zip(self[key], self[over], strict=True)])


def statement(code: str, names: dict[str, Any]) -> Callable[[int], float]:
    """A Python statement as a Candidate's run: timeit's loop adds no call of its own."""
    return timeit.Timer(code, globals=names).timeit


def measure(candidates: Sequence[Candidate], plan: Plan) -> Samples:
    """Time all candidates alternately, each in blocks of repeated calls, in an order that changes.

    Before a block of several calls a quarter of it runs untimed: small work is measured with warm
    caches and awake threads.
    """
    repeats = {c.key: _repeats(c, plan.block_seconds) for c in candidates}
    samples = Samples({c.key: [] for c in candidates})
    order = list(candidates)
    shuffle = random.Random(0).shuffle
    for _ in range(plan.rounds):
        shuffle(order)
        for c in order:
            count = repeats[c.key]
            c.prepare()
            if count > 1:
                c.run(-(-count // 4))
            samples[c.key].append(c.run(count) / count * c.scale)
            time.sleep(c.settle)
    return samples


def _repeats(candidate: Candidate, block_seconds: float) -> int:
    """How many calls fill a block. The first one does not count: it may compile."""

    def seconds(count: int) -> float:
        trial = candidate.run(count)
        if trial < block_seconds:  # the first calls after a compilation are slow
            trial = min(trial, *(candidate.run(count) for _ in range(3)))
        return trial

    candidate.prepare()
    candidate.run(1)
    count = 1
    while (trial := seconds(count)) < block_seconds / 8:
        count *= 4
    time.sleep(candidate.settle)
    return max(1, round(block_seconds / trial * count))
