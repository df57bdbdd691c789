"""A comparison of folders in words and as plain data: the first that differs, then the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ... import __version__
from ..folder_results import Alone, FolderComparisonData, FolderRow
from ..judge.verdict import RUNGS
from ..shown import plain
from . import words
from .data import SCHEMA_VERSION

_MOST_ROWS, _MOST_ALONE = 8, 8
_ALONE = {"only_actual": "only in actual", "only_golden": "only in the golden"}


def headline(data: FolderComparisonData) -> str:
    """Return the verdict in a line, which names the first that differs."""
    where = f"  actual={data.actual_name}  golden={data.golden_name}"
    if data.passed:
        worst = max((row.rung for row in data.rows), key=RUNGS.index)
        return f"OK ({worst}) {words.counted(len(data.rows), 'array')}: {rungs_text(data)}{where}"
    first = "" if data.first is None else f"first {data.first.name}"
    return f"GoldenMismatch: {faults(data, first)}{where}"


def faults(data: FolderComparisonData, first: str = "") -> str:
    """Return how many arrays differ, with which is the first, and how many have no partner."""
    failing, alone = len(data.failing), len(data.only_actual) + len(data.only_golden)
    differ = "differs" if failing == 1 else "differ"
    parts = [f"{failing} of {words.counted(len(data.rows), 'array')} {differ}"] * bool(failing)
    parts += [first] * bool(first)
    parts += [f"{alone} {'has' if alone == 1 else 'have'} no partner"] * bool(alone)
    return ", ".join(parts)


def rungs_of(data: FolderComparisonData) -> list[tuple[str, int]]:
    """Return how many rows stand on each rung, the best first; those without any are left out."""
    counts = Counter(row.rung for row in data.rows)
    return [(rung, counts[rung]) for rung in RUNGS if counts[rung]]


def rungs_text(data: FolderComparisonData) -> str:
    """Return the same in words."""
    return ", ".join(f"{words.count(count)} {rung}" for rung, count in rungs_of(data))


def found(row: FolderRow) -> str:
    """Return what was found of a row, in a line."""
    if row.problem is not None:
        return row.problem
    if row.differing == 0:
        return f"all of {words.counted(row.count, 'element')}"
    share = words.share(row.differing, row.count)
    differ = "differs" if row.differing == 1 else "differ"
    counts = f"{words.count(row.differing)} of {words.count(row.count)} {differ} ({share})"
    return f"{counts}, by up to {words.number(row.worst)}"


def alone_lines(data: FolderComparisonData) -> list[str]:
    """Return the arrays without a partner, a line for each side that has some."""
    return [
        f"{what}: {_listed(getattr(data, name))}"
        for name, what in _ALONE.items()
        if getattr(data, name)
    ]


def _listed(some: Sequence[Alone]) -> str:
    texts = [f"{one.file} ({one.note})" if one.note else one.file for one in some[:_MOST_ALONE]]
    more = f" and {words.count(len(some) - len(texts))} more" if len(some) > len(texts) else ""
    return ", ".join(texts) + more


def folders_text(data: FolderComparisonData) -> str:
    """Return the report of a comparison of folders."""
    failing = data.failing
    lines = [headline(data)]
    for row in failing[:_MOST_ROWS]:
        title = f"{row.name}  {row.dtype} {row.shape}" if row.dtype else row.name
        lines.append(f"  {title}  {found(row)}")
        lines += [f"    {note}" for note in row.notes]
        if row is failing[0] and data.origin:
            lines.append(f"    {data.origin}")
    if len(failing) > _MOST_ROWS:
        lines.append(f"  and {words.count(len(failing) - _MOST_ROWS)} more")
    lines += [f"  {line}" for line in alone_lines(data)]
    if not data.passed and data.rows:
        lines.append(f"  of {words.counted(len(data.rows), 'array')}: {rungs_text(data)}")
    return "\n".join([*lines, *(f"  {line}" for line in remarks(data))])


def remarks(data: FolderComparisonData) -> list[str]:
    """Return what a verdict does not cover."""
    lines = []
    vain = sum(row.passed and not row.proves for row in data.rows)
    if vain:
        lines.append(f"of one value or empty, which proves little: {words.counted(vain, 'array')}")
    if data.passed_over:
        names = words.names(data.passed_over, 4)
        lines.append(f"passed over, no arrays: {names}")
    return lines


def folders_to_dict(data: FolderComparisonData) -> dict[str, Any]:
    """Return a comparison of folders as plain data that JSON takes."""
    first = data.first
    return {
        "schema_version": SCHEMA_VERSION,
        "npu_quant": __version__,
        "actual": data.actual_name,
        "golden": data.golden_name,
        "passed": data.passed,
        "first": None if first is None else first.name,
        "origin": data.origin,
        "rows": [plain(row) for row in data.rows],
        **{name: plain(getattr(data, name)) for name in _ALONE},
        "passed_over": list(data.passed_over),
    }
