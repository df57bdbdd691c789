"""Which array of one folder goes with which of another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import ParamError
from ...files.folder import Entry
from ..folder_results import Alone

_Name = Callable[[Entry], str | None]
# By the whole name first; then .npy goes with .pt, and the only array of a file with a file.
_ROUNDS: tuple[_Name, ...] = (lambda e: e.file, lambda e: e.name, lambda e: e.alone)


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
        taken = {id(e) for pair in pairs.values() for e in (pair.actual, pair.golden)}
        left = tuple([e for e in side if id(e) not in taken] for side in left)  # type: ignore[assignment]
    return [pairs[id(e)] for e in actual if id(e) in pairs], *left


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
