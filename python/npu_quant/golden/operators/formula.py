"""Formulas as paths through slots: an operator's form has some, and a formula takes a step in each.

A step works on whatever floats it is given. On float32 arrays a formula is what an NPU's or a
script's outputs may follow to the bit; on float64 ones, and without the step that rounds, it gives
the number by which a tie is judged. Which formula made some outputs is searched among all paths
(judge/search.py); names are those of steps, but for formulas that people cite.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..elements import Elements

Test = Callable[[Any], bool]
"""A question about a model: an operator with its inputs."""
Before = tuple["NDArray[np.float64]", "NDArray[np.float64]"]
"""Numbers before they are rounded to an output's elements, and the largest of their terms."""

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
    """A formula for all outputs of an operator, in words."""

    name: str
    benign: bool
    """Whether it is the same formula over the real numbers: another order of operations or of a
    sum, another rule for ties, a device's profile. Other variants compute something else."""
    summary: str
    """The formula, in a line."""
    source: str
    """Where it is met."""
    benign_when: str = ""
    """For what depends on the inputs: with which it is benign."""
    attribute: str = ""
    """The operator's own arguments that ask for it, such as "scale_alg=1"."""

    def __repr__(self) -> str:
        return f"<Variant {self.name!r}: {self.summary}>"

    def in_words(self, most: Any, own: Elements) -> Variant:
        """Return it with what stands for int8 in its words as it is in another format."""
        if most == 127 and own.is_even:
            return self
        name, summary = (in_format(text, most, own) for text in (self.name, self.summary))
        if not own.is_even:
            summary = summary.replace("rint(", f"{own.name or own.carrier.name}(")
        return dataclasses.replace(self, name=name, summary=summary)


def in_format(text: str, most: Any, own: Elements) -> str:
    """Return words with the numbers of int8 as they are in another format."""
    return OF_INT8.sub(lambda found: f"{_OF_MOST[found[0]](most, own.is_even):.9g}", text)


class Variants(list[Variant]):
    """The formulas of an operator, which a prompt shows as a table."""

    def __repr__(self) -> str:
        shown = self if len(self) < _LINES else self[: _LINES - 2]
        room = _COLUMNS - max((len(v.name) for v in shown), default=0) - len("  benign  ")
        first = shown[0].summary if shown else ""
        rows = [
            (v.name, "benign" if v.benign else "other", _from_difference(v.summary, first, room))
            for v in shown
        ]
        return _table(f"{len(self)} formulas", rows, len(self) - len(shown))


class VariantsByOperator(dict[str, Variants]):
    """The formulas of all operators, of which a prompt shows the numbers."""

    def __repr__(self) -> str:
        return _table(
            f"{len(self)} operators", [(op, f"{len(v)} formulas") for op, v in self.items()]
        )


def _from_difference(text: str, first: str, room: int) -> str:
    """Return a formula, without what it begins with as the first one does if there is no room."""
    apart = (i for i, (a, b) in enumerate(zip(text, first, strict=False)) if a != b)
    same = next(apart, min(len(text), len(first)))
    if len(text) <= room or text == first or same < room // 2:
        return text
    return f"…{text[text.rfind(' ', 0, same) :]}"


def _table(head: str, rows: Sequence[tuple[str, ...]], more: int = 0) -> str:
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
    """Not shown where it is the reference's."""
    text: str
    function: Callable[..., Any]
    source: str = ""
    applies: Test = always
    """Whether it means anything for a model."""
    benign_if: Test | None = None
    """Whether a benign one is so with a model's inputs; None: always."""
    benign_when: str = ""
    operand: Callable[[Any], Any] | None = None
    """Of a quotient: what stands beside the number, from the scale or amax."""
    roundings: float = 0
    """How many times it rounds, each by at most 1 ulp of the largest term."""
    benign: bool = True
    attribute: str = ""
    """The operator's own argument that asks for it."""

    def is_benign(self, model: Any) -> bool:
        """Tell whether it is the same over the real numbers, with a model's inputs."""
        return self.benign and (self.benign_if is None or self.benign_if(model))


Other = partial(Step, benign=False)
"""A step by which a formula computes something else than the reference."""


def only_if(test: Test, some: Sequence[Step]) -> tuple[Step, ...]:
    """Return steps, of which others than the first one apply where a test holds, too."""

    def both(step: Step) -> Test:
        return lambda model: test(model) and step.applies(model)

    return (some[0], *(dataclasses.replace(step, applies=both(step)) for step in some[1:]))


def none_of(count: int) -> Before:
    """Return that so many elements are no rounded numbers."""
    return np.full(count, np.nan), np.zeros(count)


class Output:
    """How formulas make an output: of a part of the work its range of it."""

    def make(self, formula: Formula, part: Any) -> NDArray[Any] | None:
        """Return the elements; None where they do not fit the output."""
        raise NotImplementedError

    def before(self, formula: Formula, part: Any) -> Before | None:
        """Return the numbers before they are rounded: NaN for what is none, None if unknown."""
        return None


class Made(Output):
    """An output of which no numbers before rounding are known."""

    def __init__(self, function: Callable[[Formula, Any], NDArray[Any] | None]) -> None:
        self._function = function

    def make(self, formula: Formula, part: Any) -> NDArray[Any] | None:
        """Return the elements; None where they do not fit the output."""
        return self._function(formula, part)


class Rounded(Made):
    """An output of floats, which the same function gives before rounding if it is given float64."""

    def before(self, formula: Formula, part: Any) -> Before | None:
        """Return the numbers of float64; their own ulp is their measure."""
        made = self.make(formula, part.wide())
        return None if made is None else (made, made)


@dataclass(frozen=True)
class Cited:
    """A formula that goes by a name of its own."""

    name: str
    steps: Mapping[str, Step]
    source: str
    applies: Test = always


@dataclass(frozen=True, eq=False)
class Form:
    """How an operator's formulas are put together."""

    slots: Mapping[str, tuple[Step, ...]]
    """The steps of each slot, the reference's first, in the order in which names list them."""
    text: Callable[[Formula], str]
    """How a formula is printed."""
    outputs: tuple[Output, ...]
    source: str
    """Where the reference is defined."""
    cited: tuple[Cited, ...] = ()
    applies: Test = always
    """Whether any formula but the reference means anything for a model."""
    siblings: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Other operators that take the same inputs, by what their formula is called here."""
    words: Callable[[str], str] = str
    """What becomes of words that other operators share."""

    @cached_property
    def reference(self) -> Formula:
        """The operator's own formula."""
        return Formula(self, {slot: steps[0] for slot, steps in self.slots.items()})

    def formula(self, **steps: Step) -> Formula:
        """Return the reference's formula, but for these steps."""
        return self.reference.but(**steps)

    @cached_property
    def allowed(self) -> float:
        """k: how many ulp of float32 from a tie the roundings of any order of operations explain.

        That is the most that roundings add up to in a formula that is benign.
        """
        return sum(
            max(step.roundings for step in steps if step.benign) for steps in self.slots.values()
        )

    def cited_for(self, model: Any = None) -> dict[tuple[Step, ...], Cited]:
        """Return the cited formulas that mean something for a model, or any, by their keys."""
        cited = (c for c in self.cited if model is None or c.applies(model))
        found: dict[tuple[Step, ...], Cited] = {}
        for one in cited:
            found.setdefault(self.formula(**one.steps).key, one)
        return found

    def steps_for(self, model: Any) -> list[tuple[str, Step]]:
        """Return the steps that a model's formulas may take instead of the reference's."""
        if not self.applies(model):
            return []
        return [(slot, step) for slot, step in self.others() if step.applies(model)]

    def others(self) -> Iterator[tuple[str, Step]]:
        """Yield all steps that are not the reference's, with their slots."""
        for slot, steps in self.slots.items():
            yield from ((slot, step) for step in steps[1:])

    def listed(self, model: Any = None) -> Iterator[Formula]:
        """Yield the reference, the cited formulas, and those that differ in one step.

        Args:
            model: whose formulas they are; None: those of any.
        """
        cited, others = self.cited_for(model).values(), self.others()
        paths: list[Mapping[str, Step]] = [{}]
        if model is None or self.applies(model):
            paths += [one.steps for one in cited]
            paths += [{s: step} for s, step in others if model is None or step.applies(model)]
        formulas = (self.formula(**steps) for steps in paths)
        yield from {formula.key: formula for formula in formulas}.values()

    def with_words(self, words: Callable[[str], str], **other: Any) -> Form:
        """Return the form of an operator that calls things otherwise."""
        return dataclasses.replace(self, words=words, **other)


@dataclass(frozen=True, eq=False)
class Formula:
    """One choice of steps."""

    form: Form = field(repr=False)
    steps: Mapping[str, Step] = field(repr=False)

    def __getitem__(self, slot: str) -> Step:
        """Return the step of a slot."""
        return self.steps[slot]

    @property
    def key(self) -> tuple[Step, ...]:
        """What formulas of a form are told apart by."""
        return tuple(self.steps.values())

    def but(self, **steps: Step) -> Formula:
        """Return the formula with other steps in some slots."""
        return Formula(self.form, {**self.steps, **steps})

    @cached_property
    def own(self) -> tuple[Step, ...]:
        """The steps that the reference has not."""
        pairs = zip(self.steps.values(), self.form.reference.steps.values(), strict=True)
        return tuple(step for step, theirs in pairs if step is not theirs)

    def applies(self, model: Any) -> bool:
        """Tell whether it means anything for a model."""
        own = self.own
        return not own or (self.form.applies(model) and all(s.applies(model) for s in own))

    def is_benign(self, model: Any) -> bool:
        """Tell whether it is the same over the real numbers, with a model's inputs."""
        return all(step.is_benign(model) for step in self.own)

    def made_of(self, model: Any, *outputs: int) -> list[NDArray[Any] | None]:
        """Return some outputs that it makes of a model's inputs, flat: all, if none are named.

        One that does not fit is None.
        """
        numbers = outputs or range(len(model.outputs))
        made: list[list[NDArray[Any] | None]] = [[] for _ in numbers]
        with np.errstate(all="ignore"):
            for part in model.parts():
                for found, output in zip(made, numbers, strict=True):
                    found.append(self.form.outputs[output].make(self, part))
                part.forget()
        known = ([array for array in found if array is not None] for found in made)
        return [
            np.concatenate(own) if len(own) == len(found) else None
            for own, found in zip(known, made, strict=True)
        ]

    def variant(self, model: Any = None) -> Variant:
        """Return it in words: those of int8 without a model, else of the model's format."""
        form, own = self.form, self.own
        cited = form.cited_for(model).get(self.key)
        benign = all(step.benign for step in own)
        sources = dict.fromkeys(step.source for step in own if step.source)
        made = Variant(
            form.words(", ".join(step.name for step in own) or "reference"),
            benign if model is None else self.is_benign(model),
            form.words(form.text(self)),
            "; ".join(sources) or ("another order of operations" if benign else "scripts"),
            next((step.benign_when for step in own if step.benign_when and benign), ""),
            ", ".join(step.attribute for step in own if step.attribute),
        )
        if not own:
            made = dataclasses.replace(made, source=form.source)
        if cited is not None:
            made = dataclasses.replace(made, name=cited.name, source=cited.source)
        return made if model is None else made.in_words(model.most, model.format)


def named(form: Form, name: str, model: Any = None) -> Formula | None:
    """Return the formula that goes by a name; None if none does.

    A name is that of a cited formula, or those of steps with ", " between them, in the words of
    int8 or of a model.
    """

    def words(text: str) -> set[str]:
        own = form.words(text)
        return {own} if model is None else {own, in_format(own, model.most, model.format)}

    applying = form.cited_for(model).values()
    cited = next((cited for cited in applying if name in words(cited.name)), None)
    if cited is not None:
        return form.formula(**cited.steps)
    if name == "reference":
        return form.reference
    others = [(slot, step) for slot, step in form.others() if step.name]

    def rest(text: str, steps: dict[str, Step]) -> dict[str, Step] | None:
        for slot, step in others:
            for own in words(step.name) if slot not in steps else ():
                more = {**steps, slot: step}
                if text == own:
                    return more
                if text.startswith(f"{own}, ") and (found := rest(text[len(own) + 2 :], more)):
                    return found
        return None

    found = rest(name, {})
    return None if found is None else form.formula(**found)
