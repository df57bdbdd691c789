"""The goals, and whether a run meets them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .calls import Call
from .cases import Record
from .operators import Operator

# What counts as beyond the caches, as far beyond them, and as in L2: bytes read and written.
BEYOND_CACHES = 32 << 20
IN_MEMORY = 400 << 20
PLACES_IN_MEMORY = ("aligned", "numpy")  # those that the goals of memory are about
IN_CACHE = (64 << 10, 400_000)

TOLERANCE = 0.05  # what "never slower" leaves to noise
# Goals of calls by kind, and the most that they may take of the other's time; the operator says it
# where there is None.
OF_CALLS = {
    "overhead": ("1x16, of np.add(out=)", None),
    "C": ("1x16 in C, both phases, of np.add(out=)", 4.0),
    "fresh": ("fresh outputs, of out=", 1.3),
    "short rows": ("not slower than NumPy, short rows", 1 + TOLERANCE),
    "transposed out": ("transposed out=, of a contiguous one", 2.0),
}
SCALES = 1.05  # the copy's gain by threads, beyond the caches, that makes one be expected


@dataclass(frozen=True)
class Goal:
    """A goal, and what was seen of it."""

    goal: str
    where: str
    wanted: str
    seen: float
    met: bool | None
    """None where the run cannot tell; then `note` says why."""
    note: str = ""


def judge(
    operators: Mapping[str, Operator], records: Sequence[Record], calls: Sequence[Call]
) -> list[Goal]:
    """All goals that a run says something about."""
    one_thread = [r for r in records if r.threads == 1]
    goals = [
        *_of_copy(operators, one_thread),
        *_of_calls(operators, calls),
    ]
    for name in operators:
        own = [r for r in records if r.operator == name]
        for peer in ("torch", "torch.compile", "onnxruntime"):
            goals += _never_slower(_over_peer(own, peer))
        goals += _never_slower(_over_one_thread(own))
    return goals


def _of_copy(operators: Mapping[str, Operator], records: Iterable[Record]) -> Iterator[Goal]:
    for r in records:
        operator = operators[r.operator]
        if r.bytes >= IN_MEMORY and r.arrays in PLACES_IN_MEMORY:
            yield from _at_least("of the copy, in memory", r, "copy", operator.of_copy_in_memory)
        elif IN_CACHE[0] <= r.bytes <= IN_CACHE[1]:
            yield from _at_least("of the copy, in L2", r, "copy", operator.of_copy_in_cache)
            yield from _at_least("of eager torch, in L2", r, "torch", operator.of_torch_in_cache)


def _at_least(goal: str, record: Record, of: str, wanted: Mapping[str, float]) -> Iterator[Goal]:
    if record.dtype in wanted and of in record.ratios:
        least, seen = wanted[record.dtype], record.ratios[of].median
        yield Goal(goal, _place(record), f">= {least:.2f}", seen, seen >= least)


def _of_calls(operators: Mapping[str, Operator], calls: Sequence[Call]) -> Iterator[Goal]:
    for c in (c for c in calls if c.kind in OF_CALLS):
        goal, most = OF_CALLS[c.kind]
        most = most or operators[c.operator].most_overhead
        seen = c.ratio.median
        yield Goal(goal, _place(c), f"<= {most:.2f}", seen, seen <= most)


def _over_peer(records: Iterable[Record], peer: str) -> Iterator[Goal]:
    for r in records:
        if peer in r.ratios:
            yield _within_tolerance(f"not slower than {peer}", r, r.ratios[peer].median)


def _over_one_thread(records: Iterable[Record]) -> Iterator[Goal]:
    """Judged where the copy scales: some machines have memory for one thread only."""
    for r in records:
        if not r.speedup:
            continue
        goal = _within_tolerance("not slower than one thread", r, r.speedup["op"].median)
        of_copy = r.speedup["copy"].median
        if of_copy < (SCALES if r.bytes >= BEYOND_CACHES else 1 - TOLERANCE):
            goal = replace(goal, met=None, note=f"copy: {of_copy:.2f}")
        yield goal


def _within_tolerance(goal: str, record: Record, seen: float) -> Goal:
    least = 1 - TOLERANCE
    return Goal(goal, _place(record), f">= {least:.2f}", seen, seen >= least)


def _never_slower(goals: Iterable[Goal]) -> list[Goal]:
    """The cases that are slower, judged or not, and the slowest one that is judged."""
    in_order = sorted(goals, key=lambda goal: goal.seen)
    slower = [goal for goal in in_order if goal.seen < 1 - TOLERANCE]
    judged = [goal for goal in in_order if goal.met is not None]
    return slower if any(goal.met is False for goal in slower) else slower + judged[:1]


def _place(of: Record | Call) -> str:
    threads = f" {of.threads}T" if isinstance(of, Record) and of.threads > 1 else ""
    return f"{of.operator.removeprefix('npu_')} {of.dtype} {of.size} {of.arrays}{threads}"
