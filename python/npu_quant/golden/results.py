"""What a comparison reads, measures and finds, as plain data: nothing here decides or draws."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._kinds import told
from .._shown import Judged, NoTruth, ShortRepr, plain, some_of
from .tie_results import Ties

Rung: TypeAlias = Literal["identical", "tie", "variant", "tolerated", "different"]
"""What a comparison may come to, the best first (docs/golden.md 1)."""


@dataclass(frozen=True, repr=False)
class Concentration(ShortRepr):
    """A row, column, block or period that holds more differences than chance would put there."""

    kind: str
    """"row", "column", "block" (128 elements of a row, counted row by row), "rows" or "columns" (a
    range of them), "period" (of the column's number), "row period"."""
    places: tuple[int, ...]
    """Their numbers, at most 8; of a range the first and the last; (period, residue)."""
    held: int
    """Differences in these places."""
    of: int
    """Differences in all, of those that are counted (`Where.counts`)."""
    log10_odds: float
    """log10 of (a bound of) the probability that chance does it."""
    named: str = ""
    """These places in words: blocks by those of their columns that differ, in 32s; MX bytes by rows
    and columns of the input and by blocks."""


@dataclass(frozen=True, repr=False)
class Where(ShortRepr):
    """Where the differences lie: the fields cover all of them, a concentration only its own."""

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
    counts: str = ""
    """Which differences the concentrations count: "unexplained", those that rounding does not
    explain; "far", of two arrays alone, those that are more than one step off; "" all."""
    worst_place: str = ""
    """Of an MX byte: which block of the input it is for."""
    axes: tuple[str, str] = ("row", "column")
    """What a row and a column are: of MX bytes one is the input's and the other a block."""
    worst_values: tuple[Any, Any] = field(default=(0, 0), repr=False, compare=False)
    """Actual and golden of the worst, as Python numbers."""
    row_counts: Any = field(default=None, repr=False, compare=False)
    """Differences per row, or per `row_bucket` rows: an int64 array."""
    column_counts: Any = field(default=None, repr=False, compare=False)
    row_bucket: int = 1
    column_bucket: int = 1


@dataclass(frozen=True, repr=False)
class Element(ShortRepr):
    """One differing element."""

    index: tuple[int, ...]
    actual: float
    golden: float
    before_rounding: float | None
    """The golden's number before rounding, where it is known."""
    ulp_from_tie: float | None


@dataclass(frozen=True, repr=False)
class Map(ShortRepr):
    """Differences per cell: some rows by some columns (a row is what the last axis holds)."""

    counts: NDArray[np.int64]
    """Two-dimensional."""
    row_step: int
    """How many rows a cell has, a power of two; the last cell may have fewer."""
    column_step: int
    rows: int
    columns: int


@dataclass(frozen=True, repr=False)
class Seen(ShortRepr):
    """What reports show of single differences, kept while they were compared."""

    worst: tuple[Element, ...] = ()
    """At most 100, the worst first."""
    map: Map | None = None
    """None of more than 1,048,576 differences."""
    distances: dict[str, int] | None = None
    """Differing codes by how many ulp they lie from a tie, where that is known."""


@dataclass(frozen=True, repr=False)
class VariantMatch(ShortRepr):
    """A formula that gives the actual outputs: byte for byte, or all but some elements."""

    name: str
    benign: bool
    """Whether it is the same formula over the real numbers."""
    summary: str
    """The formula, in a line."""
    source: str
    """Where it is met."""
    left: dict[str, int] = field(default_factory=dict)
    """Elements that it does not give, by output; one of which it gives all is not here."""
    at_ties: dict[str, int] = field(default_factory=dict)
    """How many of these lie at a tie of the formula's own: another order of its operations may have
    rounded them to the other side."""
    attribute: str = ""
    """The operator's arguments that ask for it, such as "scale_alg=1"; "" where none does."""
    unwritten: int = 0
    """Rows that are of a group, but of none by the formula: whatever is there, it is not its."""

    @property
    def total(self) -> int:
        """How many elements of all outputs it does not give."""
        return sum(self.left.values())

    @property
    def explains(self) -> bool:
        """Whether it gives every element except those at its ties."""
        return self.left == self.at_ties


@dataclass(frozen=True, repr=False)
class Tolerance(NoTruth, ShortRepr):
    """The tolerance that was asked for, and how much of it was used."""

    _ask = "ask for .passed, or whether it is None"
    text: str
    """Such as "atol=1", "preset cann"."""
    passed: bool
    margin: float
    """The greatest error as a fraction of what is allowed; beyond 1 it fails. NaN: not known."""
    power: dict[str, bool] = field(default_factory=dict)
    """Whether it would also accept "all zeros", "shuffled rows", "scale +1 % on one row"."""


class BlindSpot(NamedTuple):
    """How wrong a row's scale can be without its codes showing it beyond rounding."""

    median: float
    """Of the rows that were tried, as a fraction of the scale."""
    greatest: float


@dataclass(frozen=True, repr=False)
class Metrics(ShortRepr):
    """Differences of two arrays of one dtype and shape, actual minus golden.

    Sums are in float64 over the pairs that are both finite, in an order that neither the CPU nor
    the number of threads nor the size of the blocks changes (csrc/kernels/compare/compare.h). NaN
    equals NaN wherever both have it; -0 differs from 0 by zero steps. What float64 cannot hold
    (squares of float64 beyond 1e154 or below 1e-145) is inf or NaN.
    """

    count: int
    mismatches: int
    """Elements whose bytes differ, but for two NaN."""
    first: int | None
    """The first of them, counted in C order."""
    worst: int | None
    """The first of the greatest absolute difference; that of NaN or an infinity is the greatest."""
    finite: int
    """Pairs that are both finite: means are over these, and 0 where there are none."""
    steps: dict[str, int]
    """Finite pairs by steps between neighbouring values (codes, floats of the dtype): STEP_BINS."""
    max_steps: int
    mean_steps: float
    """Of absolute steps, over all finite pairs: ULP error for floats."""
    over_one_step: int
    bias: float
    """Mean signed difference."""
    step_bias: float
    """Mean signed step."""
    max_abs: float
    mean_abs: float
    max_rel: float
    """Of |actual - golden| / (|golden| + 1e-7): MARE; its mean is MERE."""
    mean_rel: float
    over_relative: dict[float, int]
    """Elements whose relative difference exceeds each of RELATIVE_LIMITS."""
    rmse: float
    cosine: float
    """1 where both are all zero, 0 where one is."""
    sqnr_db: float
    """20 log10(|golden| / |golden - actual|); inf where nothing differs."""
    psnr_db: float
    """20 log10(the greatest finite |golden| / rmse); inf where nothing differs."""
    saturated_actual: int
    """Elements at the greatest or least (finite) value of the dtype, or at minus the greatest,
    where symmetric codes end. 0 for bool."""
    saturated_golden: int
    sign_flips: int
    rounded_to_zero: int
    """Golden is not zero, actual is."""
    zero_signs: int
    """0 against -0."""
    nonfinite: dict[tuple[str, str], int]
    """Pairs of (actual, golden) that differ in kind: "finite", "NaN", "inf", "-inf"."""
    actual_range: tuple[float, float]
    """Least and greatest finite value; (NaN, NaN) where there is none."""
    golden_range: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: non-finite numbers become their names."""
        data: dict[str, Any] = plain(self)
        return data


@dataclass(frozen=True, repr=False)
class LeftOut(ShortRepr):
    """What an operator leaves undefined of an output with these inputs: it is not compared."""

    rows: str
    """Such as "rows 5 to 7"; "" for all of the output. `why`: what they are, as "of no group"."""
    why: str


@dataclass(frozen=True, repr=False)
class OutputComparison(Judged, ShortRepr):
    """The comparison of one array."""

    name: str
    """The operator's name of it, such as "y"; "" where there is only one and no operator."""
    dtype: np.dtype
    """The golden's, and `shape` too; the actual ones where the golden lacks this output. Where the
    dtypes differ, the one that both were read as."""
    shape: tuple[int, ...]
    rung: Rung
    kind: str = ""
    """What the operator gives by it: "codes", "scale", "offset", "values" or "mask"."""
    format: str = ""
    """What elements stand for, where the dtype does not say it: "hifloat8", "int4"."""
    variant_accepted: bool = False
    """Of the rung variant: whether the formula is benign, or was named."""
    problem: str | None = None
    """That dtypes or shapes differ, or one side lacks it. Then nothing else was compared, unless
    both could be read as one dtype without a loss."""
    rung_of_values: Rung | None = None
    """Of two dtypes that were read as one: the rung that the values stand on in it."""
    metrics: Metrics | None = None
    ties: Ties | None = None
    where: Where | None = None
    tolerance: Tolerance | None = None
    presets: dict[str, bool] = field(default_factory=dict)
    """What the other tools' acceptance rules say of it."""
    follows_scale: bool | None = None
    """Whether these codes are what the actual scale gives; None where it is the golden's, or there
    is none."""
    numbers: Metrics | None = None
    """Of MX codes that differ as their scales do: what both stand for, y * 2^(mxscale - 127)."""
    notes: tuple[str, ...] = ()
    """What else there is to say, a sentence each."""
    causes: tuple[str, ...] = ()
    """What the differences look like, such as "the scale of row 17 is wrong by +3.1 %"."""
    passed: bool = False
    """Whether the rung is acceptable; `different` is not, nor is another function's variant."""
    margin: float = math.nan
    """How much of what is allowed was used: 0 for none, 1 for all, inf for what fails. NaN for an
    accepted variant, of which nothing is measured."""
    only_in: str = ""
    """The side that has it, "actual" or "golden"; "" where both have."""
    same: bool = False
    """Whether actual and golden are the same memory or the same array of the same file."""
    left_out: LeftOut | None = None
    """What the operator leaves undefined of it; None where all is compared."""
    rows_compared: int | None = None
    """How many of its rows are compared, 0 where it is wholly undefined; None: all."""
    constant: bool = False
    """Of one that passes: whether the golden has no two different values."""
    seen: Seen = field(default=Seen(), repr=False, compare=False)

    @property
    def type_name(self) -> str:
        """The name of what elements stand for: the format's, else the dtype's."""
        return self.format or self.dtype.name

    @property
    def title(self) -> str:
        """Name, type and shape."""
        return f"{self.name} {self.type_name} {self.shape}".lstrip()


@dataclass(frozen=True, repr=False)
class ComparisonData(Judged):
    """What was found about all outputs."""

    op: str | None
    """The operator that computed the golden, or None."""
    outputs: tuple[OutputComparison, ...]
    """One per array that either side has and none says None of, in the operator's order."""
    decisive: OutputComparison
    """The first of the worst outputs, scales before what follows from them.

    An output that fails is worse than any that passes, whatever their rungs.
    """
    margin: float
    """The greatest margin of the outputs, of those that are known; inf if one fails."""
    actual_name: str = "array"
    golden_name: str = "array"
    """Where the arrays came from, such as a file's name or "computed"."""
    variants: tuple[VariantMatch, ...] = ()
    """The formulas that give all of the actual outputs, byte for byte; else up to ties of their
    own; else the one that gives all but few of what differs."""
    accepted_variant: str | None = None
    """The one of them that passes: the one that was named, or a benign one."""
    least_left: float = 1.0
    """Which share of what no rounding explains the nearest formula leaves, in a sample."""
    formulas: int = 0
    """How many steps of formulas were tried, alone and together; 0 where there is no operator."""
    rerun: str = ""
    """A command that does it again, where there is one."""
    not_compared: tuple[str, ...] = ()
    """The outputs that one side has and the other says None of."""
    blind_spot: BlindSpot | None = None
    """Where codes pass whose scale was not compared: how wrong that could be."""
    refusal: str | None = None
    """Why it passes and could only pass, for which assert_golden refuses it; None if it could have
    failed, or did."""

    @property
    def computed(self) -> bool:
        """Whether the operator computed the golden from inputs."""
        return self.formulas > 0

    @property
    def rung(self) -> Rung:
        """The decisive output's."""
        return self.decisive.rung

    @property
    def passed(self) -> bool:
        """Whether every output passes."""
        return self.decisive.passed

    @property
    def missing(self) -> tuple[str, ...]:
        """The outputs that the golden has and actual has not."""
        return tuple(o.name for o in self.outputs if o.only_in == "golden")

    @property
    def extra(self) -> tuple[str, ...]:
        """The outputs that actual has and the golden has not."""
        return tuple(o.name for o in self.outputs if o.only_in == "actual")

    @property
    def where(self) -> Where | None:
        """Where the differences of the decisive output lie; None where there are none."""
        return self.decisive.where

    def output(self, name: str) -> OutputComparison:
        """Return an output by its name."""
        for one in self.outputs:
            if isinstance(name, str) and one.name == name:
                return one
        raise KeyError(f"{told(name)}, compared: {some_of([o.name for o in self.outputs])}")
