"""What a comparison of two folders finds, row by row, as plain data: as results.py is of one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .._face import either
from .._kinds import told
from .._shown import Judged, NoTruth, ShortRepr
from .results import ComparisonData, Metrics, Rung


@dataclass(frozen=True, repr=False)
class FolderRow(NoTruth, ShortRepr):
    """An array that both folders have."""

    _ask = "ask for .passed, or whether it is None"
    name: str
    """Its path in the folder without the suffix; of a file with keys with ``::key``."""
    actual: str
    """The file it comes from, likewise with ``::key``."""
    golden: str
    call: str = ""
    """The call whose output it is, where that is known, with its folder."""
    op: str | None = None
    """The operator that judged it; None where the two arrays were compared alone."""
    dtype: str = ""
    """The golden's, and `shape` too; empty where it cannot be read."""
    shape: tuple[int, ...] = ()
    rung: Rung = "different"
    passed: bool = False
    metrics: Metrics | None = None
    """Of the two arrays; of a row with `op`, of actual and what it computes. None where they cannot
    be compared."""
    margin: float = math.inf
    """How much of what is allowed was used, as in a comparison."""
    found: str = ""
    """What the verdict stands on, in a line: a cause, a formula, a place, or numbers."""
    problem: str | None = None
    """Why the two could not be compared, or prove nothing though they agree."""
    notes: tuple[str, ...] = ()
    """What else there is to say, a sentence each."""
    proves: bool = True
    """Whether its passing says anything: not of empty arrays, nor of one value everywhere."""
    report: str = ""
    """The comparison's text, where it does not pass."""
    comparison: ComparisonData | None = field(default=None, repr=False, compare=False)
    """All that was found, of the first 100 rows that do not pass by themselves."""

    @property
    def count(self) -> int:
        """How many elements were compared."""
        return 0 if self.metrics is None else self.metrics.count

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return 0 if self.metrics is None else self.metrics.mismatches

    @property
    def worst(self) -> float:
        """The greatest absolute difference; inf where NaN or an infinity is on one side only."""
        if self.metrics is None:
            return math.nan
        return math.inf if self.metrics.nonfinite else self.metrics.max_abs


@dataclass(frozen=True, repr=False)
class Alone(ShortRepr):
    """An array that only one folder has."""

    name: str
    file: str
    note: str = ""
    """What it may go with, or why it cannot be read."""


@dataclass(frozen=True, repr=False)
class FolderComparisonData(Judged):
    """What was found about all arrays of two folders."""

    actual_name: str
    golden_name: str
    rows: tuple[FolderRow, ...]
    """The pairs, in the order in which they were computed, as far as that is known."""
    only_actual: tuple[Alone, ...] = ()
    """The arrays that the golden folder lacks: each fails the comparison."""
    only_golden: tuple[Alone, ...] = ()
    passed_over: tuple[str, ...] = ()
    """The files that are none of arrays, and what else was not looked at."""
    origin: str = ""
    """Of the first row that differs: whether what went into its operator agrees."""

    @property
    def failing(self) -> tuple[FolderRow, ...]:
        """The rows that do not pass."""
        return tuple(row for row in self.rows if not row.passed)

    @property
    def first(self) -> FolderRow | None:
        """The first row that does not pass; None where all do."""
        return next((row for row in self.rows if not row.passed), None)

    @property
    def passed(self) -> bool:
        """Whether every row passes and every array has a partner."""
        return not (self.failing or self.only_actual or self.only_golden)

    @property
    def refusal(self) -> str | None:
        """Why it proves nothing that all pass; None if it proves something, or does not pass."""
        if not self.passed or any(row.proves for row in self.rows):
            return None
        return (
            "every golden is empty or the same value everywhere, so that any order of elements "
            "would pass. Compare data that vary, or say "
            f"{either('allow_constant=True', '--allow-constant')}."
        )

    def row(self, name: str) -> FolderRow:
        """Return a row by its name."""
        for one in self.rows:
            if one.name == name:
                return one
        raise KeyError(
            f"{told(name)} is not one of the {len(self.rows)} arrays that both folders have"
        )
