"""What the search for the formula of some outputs finds, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from .._shown import NoTruth
from .results import VariantMatch


@dataclass(frozen=True, repr=False)
class VariantResult(VariantMatch):
    """A formula, and how many elements of its outputs differ from the actual outputs."""

    estimated: bool = False
    """Whether it was counted in a sample of rows, and multiplied up: it is not 0 then."""

    @property
    def kind(self) -> str:
        """What a table says of it: "benign" or "other"."""
        return "benign" if self.benign else "other"


@dataclass(frozen=True)
class ExplanationData(NoTruth):
    """Every named formula of an operator against its actual outputs."""

    _ask = "ask for .matches, the formulas that give exactly the outputs"
    op: str
    outputs: dict[str, int]
    """The outputs that were given, by name: how many elements they have."""
    ranked: tuple[VariantResult, ...]
    """The nearest first; at the same number the reference, then benign ones. Estimates are last."""
    titles: tuple[str, ...] = ()
    """The same with dtype and shape, for the first line of its text."""

    @property
    def matches(self) -> tuple[VariantResult, ...]:
        """The formulas that give exactly the actual outputs."""
        return tuple(result for result in self.ranked if result.total == 0)
