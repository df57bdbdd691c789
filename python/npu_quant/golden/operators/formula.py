"""Formulas with names: each is a choice of steps, one for every slot of its operator's form.

A step works on whatever floats it is given. On float32 arrays a formula is what an NPU's or a
script's outputs may follow to the bit; on float64 ones, and without the step that rounds, it gives
the number by which a tie is judged.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray

from ..elements import Elements

Formed = Callable[[Any], "NDArray[Any] | None"]
"""From a part of the work to that range of an output; None where it does not fit the output."""

Glance = Callable[[Any, "Callable[[int], NDArray[Any] | None]"], bool]
"""From a part, and its actual elements by output, to whether a formula can have made them."""

Test = Callable[[Any], bool]
"""A question about a model: an operator with its inputs."""

_OF_MOST: dict[str, Callable[[float, bool], float]] = {
    "127": lambda most, even: most,
    "255": lambda most, even: 2 * most + even,
    "128": lambda most, even: most + 1,
    "256": lambda most, even: 2 * most + 2,
    "127.5": lambda most, even: most + 0.5,
}
"""What the numbers of int8 are in other formats: the range of whole numbers has one more."""
_LINES, _COLUMNS = 40, 100  # of a table at a prompt
OF_INT8 = re.compile(r"(?<![\w.])(127\.5|127|128|255|256)(?![\w.])")


def always(model: Any) -> bool:
    """Apply to whatever inputs."""
    return True


@dataclass(frozen=True, repr=False)
class Variant:
    """A named formula for all outputs of an operator."""

    name: str
    benign: bool
    """Whether it is the same formula over the real numbers: another order of operations or of a
    sum, another rule for ties, a device's profile. Other variants compute something else."""
    summary: str
    """The formula, in a line."""
    source: str
    """Where it is met."""
    formulas: tuple[Formed, ...]
    """One for each output."""
    applies: Test = always
    """Whether it means anything for a model with these inputs."""
    benign_if: Test | None = None
    """For what depends on the inputs: whether it is benign with these."""
    benign_when: str = ""
    """The same in words."""
    glance: Glance | None = None
    """For what needs all of the inputs before it can compute any: a test that does not."""
    steps: tuple[str, ...] = ()
    """The steps in which it differs from the reference, where it is made of such."""
    roundings: float = 0
    """How many ulp the roundings of its steps add up to, before the one to a code."""
    profile: str | None = None
    """The arithmetic profile (`numerics`) whose formula it is."""

    def __repr__(self) -> str:
        return f"<Variant {self.name!r}: {self.summary}>"

    def of(self, model: Any) -> Variant:
        """Return the variant as it is with a model's inputs, in the words of its format."""
        own = self
        if self.benign_if is not None:
            own = dataclasses.replace(self, benign=self.benign_if(model), benign_if=None)
        if model.most == 127 and model.format.is_even:
            return own
        return own.in_words(model.most, model.format)

    def in_words(self, most: Any, own: Elements) -> Variant:
        """Return the variant with what stands for int8 in its words as it is in another format."""
        name, summary = (
            OF_INT8.sub(lambda found: f"{_OF_MOST[found[0]](most, own.is_even):.9g}", text)
            for text in (self.name, self.summary)
        )
        if not own.is_even:
            summary = summary.replace("rint(", f"{own.name or own.carrier.name}(")
        return dataclasses.replace(self, name=name, summary=summary)


class Variants(list[Variant]):
    """The variants of an operator, which a prompt shows as a table."""

    def __repr__(self) -> str:
        shown = self if len(self) < _LINES else self[: _LINES - 2]
        rows = [(v.name, "benign" if v.benign else "other", v.summary) for v in shown]
        return _table(f"{len(self)} formulas", rows, len(self) - len(shown))


class VariantsByOperator(dict[str, Variants]):
    """The variants of all operators, of which a prompt shows the numbers."""

    def __repr__(self) -> str:
        return _table(
            f"{len(self)} operators", [(op, f"{len(v)} formulas") for op, v in self.items()]
        )


def _table(head: str, rows: Iterable[tuple[str, ...]], more: int = 0) -> str:
    """Return the lines of a table, cut to _COLUMNS."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [head]
    for row in rows:
        text = "  ".join(map(str.ljust, row, widths)).rstrip()
        lines.append(text if len(text) <= _COLUMNS else f"{text[: _COLUMNS - 1]}…")
    return "\n".join(lines + [f"... and {more} more"] * (more > 0))


@dataclass(frozen=True, eq=False)
class Step:
    """A step of a formula: what it is called in names, how it is printed, what it does."""

    name: str
    """Not shown where it is the reference's; empty for what names do not tell."""
    text: str
    function: Callable[..., Any]
    source: str = ""
    applies: Test = always
    """Whether it means anything for a model."""
    benign_if: Test | None = None
    """Whether a benign one is so with a model's inputs; None: always."""
    benign_when: str = ""
    glance: Glance | None = None
    """For what needs all of the inputs: whether it can have made some elements."""
    operand: Callable[[Any], Any] | None = None
    """Of a quotient: what stands beside the number, from the scale or amax."""
    roundings: float = 0
    """How many times it rounds, each by at most 1 ulp of the largest term."""
    benign: bool = True


Other = partial(Step, benign=False)
"""A step by which a formula computes something else than the reference."""


@dataclass(frozen=True, eq=False)
class Form:
    """How an operator's formulas are put together."""

    reference: Mapping[str, Step]
    """The reference's step for each slot, in the order in which names list them."""
    text: Callable[[Formula], str]
    """How a formula is printed."""
    outputs: tuple[Callable[[Formula, Any], NDArray[Any] | None], ...]
    """What a formula makes of a part, by output."""

    def formula(self, **steps: Step) -> Formula:
        """Return the reference's formula, but for these steps."""
        return Formula(self, tuple((self.reference | steps).values()))  # type: ignore[operator]

    def rows(
        self, formulas: Iterable[Formula], known: Iterable[Formula] = (), applies: Test = always
    ) -> Iterator[Variant]:
        """List the formulas by the names of their steps, but for those that have rows already."""
        without = {self.formula(), *known}
        return (formula.row(applies=applies) for formula in formulas if formula not in without)


@dataclass(frozen=True)
class Formula:
    """One choice of steps."""

    form: Form
    steps: tuple[Step, ...]

    def __getitem__(self, slot: str) -> Step:
        """Return the step of a slot."""
        return self.steps[list(self.form.reference).index(slot)]

    def but(self, **steps: Step) -> Formula:
        """Return the formula with other steps in some slots."""
        own = dict(zip(self.form.reference, self.steps, strict=True))
        return Formula(self.form, tuple((own | steps).values()))

    def row(
        self,
        name: str = "",
        source: str = "",
        summary: str = "",
        applies: Test = always,
        profile: str | None = None,
    ) -> Variant:
        """Return the variant, named by the steps that the reference has not, unless told."""
        pairs = zip(self.steps, self.form.reference.values(), strict=True)
        own = [step for step, theirs in pairs if step is not theirs and step.name]
        benign = all(step.benign for step in self.steps)
        tests = [step.applies for step in self.steps if step.applies is not always]
        conditions = [step.benign_if for step in self.steps if step.benign_if is not None]
        found = dict.fromkeys(step.source for step in own if step.source)
        return Variant(
            name or ", ".join(step.name for step in own) or "reference",
            benign,
            summary or self.form.text(self),
            source or "; ".join(found) or ("another order of operations" if benign else "scripts"),
            tuple(partial(output, self) for output in self.form.outputs),
            lambda model: applies(model) and all(test(model) for test in tests),
            (lambda model: all(is_so(model) for is_so in conditions))
            if benign and conditions
            else None,
            next((step.benign_when for step in self.steps if step.benign_when and benign), ""),
            next((step.glance for step in self.steps if step.glance is not None), None),
            tuple(step.name for step in own),
            sum(step.roundings for step in self.steps),
            profile,
        )
