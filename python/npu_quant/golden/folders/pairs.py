"""Which array of one folder goes with which of another."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import ParamError
from ...files.folder import Entry
from ..folder_results import Alone

_Name = Callable[[Entry], str | None]
# By the whole name first; then .npy goes with .pt, and the only array of a file with a file.
_ROUNDS: tuple[_Name, ...] = (lambda e: e.file, lambda e: e.name, lambda e: e.alone)

# What counts in the names of files: SGLang's dumper writes step=0___rank=0___dump_index=7___name=x,
# msprobe the number of the call before or behind its direction.
_CALLS = r"(?<![^_./-])dump_index=\d+|(?<=\.)\d+(?=\.(?:forward|backward)\.)"
_CALLS += r"|(?<=\.forward\.)\d+(?=\.)|(?<=\.backward\.)\d+(?=\.)"
_PROCESSES = r"|(?<![^_./-])(?:rank|pid)=\d+"
_STEPS = r"|(?<![^_./-])(?:step|forward_pass_id)=\d+"
_COUNTERS = tuple(
    re.compile(pattern) for pattern in (_CALLS, _CALLS + _PROCESSES, _CALLS + _PROCESSES + _STEPS)
)


@dataclass(frozen=True)
class Pair:
    """An array of each side, by the name it has on the actual one."""

    actual: Entry
    golden: Entry


def pairs_of(
    actual: Sequence[Entry], golden: Sequence[Entry]
) -> tuple[list[Pair], list[Entry], list[Entry]]:
    """Return the pairs in the actual side's order, and what is left of either side.

    Raises:
        ParamError: two arrays of a side have the name that one of the other has.
    """
    pairs: dict[int, Pair] = {}
    left = list(actual), list(golden)
    for name in _ROUNDS:
        ours, theirs = (_by_name(side, name) for side in left)
        for key in ours.keys() & theirs.keys():
            _check_single(key, ours[key], theirs[key])
            pair = Pair(ours[key][0], theirs[key][0])
            pairs[id(pair.actual)] = pair
        left = _left(pairs, *left)
    for counter in _COUNTERS:
        one, other = (_uncounted(side, counter) for side in (actual, golden))
        waiting = {id(entry) for side in left for entry in side}
        for key in one.keys() & other.keys():
            if {id(one[key]), id(other[key])} <= waiting:
                pairs[id(one[key])] = Pair(one[key], other[key])
        left = _left(pairs, *left)
    return [pairs[id(e)] for e in actual if id(e) in pairs], *left


def _left(pairs: dict[int, Pair], *sides: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """What is in no pair."""
    taken = {id(e) for pair in pairs.values() for e in (pair.actual, pair.golden)}
    actual, golden = ([e for e in side if id(e) not in taken] for side in sides)
    return actual, golden


def _uncounted(entries: Sequence[Entry], counter: re.Pattern[str]) -> dict[str, Entry]:
    """Arrays by their names without what counts, where there is no other of such a name."""
    found = _by_name(entries, lambda e: counter.sub("", e.alone or e.name))
    return {name: some[0] for name, some in found.items() if len(some) == 1}


def _by_name(entries: Sequence[Entry], name: _Name) -> dict[str, list[Entry]]:
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        key = name(entry)
        if key is not None:
            found[key].append(entry)
    return found


def _check_single(name: str, *sides: list[Entry]) -> None:
    for side in sides:
        if len(side) > 1:
            files = " and ".join(entry.file for entry in side[:3])
            raise ParamError(
                f"{files} have the same name, {name!r}, which the other folder has, "
                "too. Rename one."
            )


def alone_of(entries: Sequence[Entry], others: Sequence[Entry]) -> tuple[Alone, ...]:
    """Return arrays without a partner, with what they may be meant to go with."""
    folded = {entry.name.casefold(): entry.file for entry in others}
    return tuple(
        Alone(
            entry.name,
            entry.file,
            entry.fault
            or (
                f"the other has {folded[entry.name.casefold()]}: upper and lower case differ"
                if entry.name.casefold() in folded
                else ""
            ),
        )
        for entry in entries
    )
