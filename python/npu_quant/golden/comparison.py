"""What a comparison found, as plain data: of each array, and of all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import verdict
from .metrics import Metrics
from .sources import Source, crc32

if TYPE_CHECKING:
    from .operators import Model


@dataclass(frozen=True)
class Ties:
    """How far the differing codes lie from a rounding tie, in ulp of float32."""

    allowed: float
    """k: what the roundings of the formula can explain (docs/golden.md)."""
    within: int
    """Differing codes that are one step apart and within k ulp of the tie between them."""
    farthest: float
    """The greatest distance of all of them; NaN where it has none (x is NaN, scale is 0)."""
    farthest_index: int | None
    """Where, counted in C order."""
    farthest_value: float
    """The number before rounding, there."""


@dataclass(frozen=True)
class Concentration:
    """A row, column, block or period that holds differences beyond what chance would put there."""

    kind: str
    """"row", "column", "block" (128 elements of a row, counted row by row), "rows" or "columns" (a
    range of them), "period" (of the column's number)."""
    places: tuple[int, ...]
    """Their numbers, at most 8; of a range the first and the last; (period, residue)."""
    held: int
    """Differences in these places."""
    of: int
    """Differences in all."""
    log10_odds: float
    """log10 of (a bound of) the probability that chance does it."""


@dataclass(frozen=True)
class Where:
    """Where the differences lie."""

    first: int
    """The first one, counted in C order."""
    worst: int
    """The one of the greatest difference, or the farthest from a tie where that is known."""
    rows: int
    """How many rows have any (a row is what the last axis holds); at least so many, of more than
    4,194,304 rows. Columns likewise, of more than 65,536."""
    of_rows: int
    columns: int
    of_columns: int
    concentrations: tuple[Concentration, ...] = ()
    row_counts: Any = field(default=None, repr=False)
    """Differences per row, or per `row_bucket` rows: an int64 array."""
    column_counts: Any = field(default=None, repr=False)
    row_bucket: int = 1
    column_bucket: int = 1


@dataclass(frozen=True)
class Element:
    """One differing element."""

    index: tuple[int, ...]
    actual: float
    golden: float
    before_rounding: float | None
    """The golden's number before rounding, where it is known."""
    ulp_from_tie: float | None


@dataclass(frozen=True)
class VariantMatch:
    """A named formula that gives the actual outputs, byte for byte."""

    name: str
    benign: bool
    summary: str
    source: str


@dataclass(frozen=True)
class Tolerance:
    """What was asked for, and what it met."""

    text: str
    """Such as "atol=1", "preset cann"."""
    passed: bool
    margin: float
    """The greatest error as a fraction of what is allowed; beyond 1 it fails. NaN: not known."""
    power: dict[str, bool] = field(default_factory=dict)
    """Whether it would also accept "all zeros", "shuffled rows", "scale +1 % on one row"."""


@dataclass(frozen=True)
class OutputComparison:
    """The comparison of one array."""

    name: str
    """The operator's name of it, such as "y"; "" where there is only one and no operator."""
    dtype: np.dtype
    """The golden's, and `shape` too; the actual ones where the golden lacks this output."""
    shape: tuple[int, ...]
    rung: str
    variant_accepted: bool = False
    """Of the rung variant: whether the formula is benign, or was named."""
    problem: str | None = None
    """That dtypes or shapes differ, or one side lacks it: then nothing else was compared."""
    metrics: Metrics | None = None
    ties: Ties | None = None
    where: Where | None = None
    dequantized: Metrics | None = None
    """Of codes times scales, actual by actual, golden by golden."""
    tolerance: Tolerance | None = None
    presets: dict[str, bool] = field(default_factory=dict)
    """What the other tools' acceptance rules say of it."""
    follows_scale: bool | None = None
    """Whether these codes are what the actual scale gives; None where it is the golden's, or there
    is none."""
    notes: tuple[str, ...] = ()
    """What else there is to say, a sentence each."""
    actual: Source | None = field(default=None, repr=False, compare=False)
    golden: Source | None = field(default=None, repr=False, compare=False)

    @property
    def passed(self) -> bool:
        """Whether the rung is acceptable; `different` is not, nor is another function's variant."""
        return verdict.passes(self.rung, self.variant_accepted)

    @property
    def margin(self) -> float:
        """How much of what is allowed was used: 0 for none, 1 for all, inf for what fails.

        NaN for an accepted variant, of which nothing is measured.
        """
        return verdict.margin_of(self)

    def crc32(self) -> tuple[int, int]:
        """Return the CRC-32 of the actual and of the golden bytes, which msprobe prints."""
        assert self.actual is not None
        assert self.golden is not None
        return crc32(self.actual), crc32(self.golden)

    @property
    def title(self) -> str:
        """Name, dtype and shape."""
        return f"{self.name} {self.dtype.name} {self.shape}".lstrip()


@dataclass(frozen=True, repr=False)
class Comparison:
    """What :func:`npu_quant.golden.compare` returns: the rung, and everything that led to it.

    ``str()`` is the report, at most 12 lines; a notebook shows tables and pictures.
    """

    op: str | None
    """The operator that computed the golden, or None."""
    outputs: tuple[OutputComparison, ...]
    """One per array that either side has and none says None of, in the operator's order."""
    actual_name: str = "array"
    golden_name: str = "array"
    """Where the arrays came from, such as a file's name or "computed"."""
    variants: tuple[VariantMatch, ...] = ()
    """The named formulas that give all of the actual outputs, byte for byte."""
    accepted_variant: str | None = None
    """The one of them that passes: the one that was named, or a benign one."""
    formulas: int = 0
    """How many named formulas were tried."""
    rerun: str = ""
    """A command that does it again, where there is one."""
    not_compared: tuple[str, ...] = ()
    """The outputs that one side has and the other says None of."""
    model: Model | None = field(default=None, repr=False, compare=False)

    @property
    def rung(self) -> str:
        """The decisive output's: identical, tie, variant, tolerated or different."""
        return self.decisive.rung

    @property
    def passed(self) -> bool:
        """Whether every output passes."""
        return self.decisive.passed

    @property
    def decisive(self) -> OutputComparison:
        """The first of the worst outputs, scales before what follows from them.

        An output that fails is worse than any that passes, whatever their rungs.
        """
        return verdict.decisive_of(self.outputs)

    @property
    def margin(self) -> float:
        """The greatest margin of the outputs, of those that are known; inf if one fails."""
        return verdict.greatest_margin(self.outputs)

    @property
    def missing(self) -> tuple[str, ...]:
        """The outputs that the golden has and actual has not."""
        return tuple(o.name for o in self.outputs if o.actual is None and o.golden is not None)

    @property
    def extra(self) -> tuple[str, ...]:
        """The outputs that actual has and the golden has not."""
        return tuple(o.name for o in self.outputs if o.golden is None and o.actual is not None)

    @property
    def where(self) -> Where | None:
        """Where the differences of the decisive output lie; None where there are none."""
        return self.decisive.where

    def worst(self, k: int = 10, output: str | None = None) -> list[Element]:
        """Return the k worst elements of an output, the worst first.

        Worst is farthest from a rounding tie where that is known, else of the greatest difference.

        Args:
            k: how many.
            output: its name; None means the decisive one.
        """
        from .worst import worst_elements

        chosen = self.decisive if output is None else self.output(output)
        return worst_elements(self, chosen, k)

    def output(self, name: str) -> OutputComparison:
        """Return an output by its name."""
        for one in self.outputs:
            if one.name == name:
                return one
        raise KeyError(f"{name!r}, compared: {', '.join(o.name for o in self.outputs)}")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON takes, with a schema_version."""
        from .serialize import comparison_to_dict

        return comparison_to_dict(self)

    def __repr__(self) -> str:
        op = f"{self.op} " if self.op else ""
        return f"<Comparison {op}{', '.join(o.title for o in self.outputs)}: {self.rung}>"

    def __str__(self) -> str:
        from .report import report

        return report(self)

    def _repr_html_(self) -> str:
        from .html import comparison_to_html

        return comparison_to_html(self)

    def plot(self, output: str | None = None) -> Any:
        """Draw the step histogram and the map of differences with matplotlib; return the figure."""
        from .plot import plot_comparison

        return plot_comparison(self, self.decisive if output is None else self.output(output))
