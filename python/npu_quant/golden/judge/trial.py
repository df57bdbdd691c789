"""Formulas against the actual outputs of an operator: what each leaves, and of that the ties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import get_num_threads
from ..measure.differing import differ, distance_from_tie
from ..operators.formula import Formula, Step, Variant
from ..operators.model import Flat, Model, Part
from ..results import VariantMatch
from .verdict import contradict, explains_any, is_tie, steps_of_rounding

Array = NDArray[Any]
Counts = NDArray[np.int64]
"""A number for each output that is given."""

AT_ONCE = 1 << 20
"""Elements of whole outputs that are compared at a time."""
SELDOM = 8
"""Of codes at most one in so many is at a tie: where more differ, none is asked."""


class Actual:
    """The outputs to be explained; None for one that is not known."""

    def __init__(self, model: Model, outputs: Sequence[Array | None]) -> None:
        self.model, self.outputs = model, outputs
        self._flats = [None if a is None else Flat(a) for a in outputs]
        self.given = [i for i, a in enumerate(outputs) if a is not None]
        self.sizes: Counts = np.array([_size(outputs[i]) for i in self.given], np.int64)
        shapes, golden = model.output_shapes(), model.golden()
        self.fits = all(
            a is None or (g is not None and a.dtype == g.dtype and a.shape == shape)
            for a, g, shape in zip(outputs, golden, shapes, strict=False)
        )

    def of(self, part: Part, output: int) -> Array:
        """Return an output's elements of a part."""
        return self.read(output, *part.spans[output])

    def read(self, output: int, begin: int, end: int) -> Array:
        """Return elements [begin, end) of an output."""
        flat = self._flats[output]
        assert flat is not None
        return flat.read(begin, end)

    def differing(self, other: Sequence[Array | None]) -> Counts:
        """Count the elements of each output that other ones have otherwise."""
        pairs = ((self.outputs[i], other[i]) for i in self.given)
        return np.array([difference(a, b) for a, b in pairs], np.int64)

    def is_all_of(self, other: Sequence[Array | None]) -> bool:
        """Tell whether none of them differs, until one does."""
        pairs = ((self.outputs[i], other[i]) for i in self.given)
        return not any(any(_differences(a, b)) for a, b in pairs)


def _size(array: Array | None) -> int:
    return 0 if array is None else array.size


def difference(actual: Array | None, other: Array | None) -> int:
    """Count the elements whose bytes differ, but for two NaN; all of them where none fit."""
    return sum(_differences(actual, other))


def _differences(actual: Array | None, other: Array | None) -> Iterator[int]:
    """Yield the same of AT_ONCE elements after the other."""
    assert actual is not None
    if other is None or other.dtype != actual.dtype or other.size != actual.size:
        yield actual.size
        return
    ours, theirs = Flat(actual), Flat(other)
    for begin in range(0, actual.size, AT_ONCE):
        both = (side.read(begin, begin + AT_ONCE) for side in (ours, theirs))
        yield int(np.count_nonzero(differ(*both)))


def _but_for(made: Array, rows: Array, actual: Array, begin: int, end: int, size: int) -> Array:
    """Return elements [begin, end) of rows of a size, with the actual ones in some of the rows."""
    return np.where(rows[np.arange(begin, end) // size], actual, made)


class Work:
    """A part with its actual elements, to which formulas are compared.

    Formulas of all kinds overflow and divide by 0: who compares many ignores that once for all.
    """

    def __init__(self, part: Part, actual: Actual) -> None:
        self.part, self._actual = part, actual
        # By the array a formula gave, which the second item keeps alive: many give the same one.
        self._counts: dict[tuple[int, int], tuple[int, Array | None]] = {}

    @cached_property
    def elements(self) -> dict[int, Array]:
        """The actual elements, by output."""
        return {i: self._actual.of(self.part, i) for i in self._actual.given}

    def differing(self, formula: Formula) -> Counts:
        """Count the elements of each output that a formula has otherwise."""
        return np.array([self.differing_of(formula, i) for i in self._actual.given], np.int64)

    def differing_of(self, formula: Formula, output: int) -> int:
        """Count the same of one output."""
        made = self._made(formula, output)
        key = (output, id(made))
        if key not in self._counts:
            self._counts[key] = difference(self.elements[output], made), made
        return self._counts[key][0]

    def _made(self, formula: Formula, output: int) -> Array | None:
        made = formula.form.outputs[output].make(formula, self.part)
        model, actual = self.part.model, self.elements[output]
        region = model.undefined(output)
        for rows in (model.unwritten(formula), None if region is None else region.flat):
            fits = made is not None and (made.dtype, made.size) == (actual.dtype, actual.size)
            if rows is not None and fits:
                size = max(1, model.golden()[output].size // len(rows))
                where = *self.part.spans[output], size
                made = self.part.call(_but_for, made, rows, actual, *where)
        return made

    def tells(self, slot: str, step: Step) -> bool:
        """Tell whether a step gives other outputs than the reference's."""
        reference = self.part.model.form.reference
        other = reference.but(**{slot: step})
        pairs = ((self._made(reference, i), self._made(other, i)) for i in self._actual.given)
        return any(a is not None and difference(a, b) for a, b in pairs)

    def at_ties(self, formula: Formula) -> Counts:
        """Count those of them that lie at a tie of the formula's own."""
        return np.array([self._ties(formula, i) for i in self._actual.given], np.int64)

    def _ties(self, formula: Formula, output: int) -> int:
        model, made, actual = self.part.model, self._made(formula, output), self.elements[output]
        if made is None or made.dtype != actual.dtype or made.size != actual.size:
            return 0
        at = np.flatnonzero(differ(actual, made))
        if not len(at) or (model.kinds[output] == "codes" and len(at) * SELDOM > actual.size):
            return 0
        if model.kinds[output] == "scale" and not model.scales_have_ties:
            own = model.elements_of(output)
            steps = own.steps(actual[at], made[at])
            return int(np.count_nonzero(steps <= steps_of_rounding(own, is_scale=True)))
        before = formula.form.outputs[output].before(formula, self.part)
        if before is None:
            return 0
        value, magnitude = before
        allowed, most = model.allowed_for(output), model.most_steps(output)
        ill = np.flatnonzero(explains_any(magnitude, allowed, model.elements_of(output)))
        wrong = ill[contradict(value[ill], magnitude[ill], actual[ill])]
        value, magnitude = value[at], magnitude[at]
        grid = model.grid(output, at + self.part.spans[output][0])
        test = grid.tie(value, actual[at], made[at], magnitude)
        ties = is_tie(test.steps, distance_from_tie(test), allowed, most)
        return int(np.count_nonzero(ties & ~np.isin(at, wrong)))


@dataclass(frozen=True, eq=False)
class Trial:
    """A formula, and how many elements of each output it has otherwise."""

    variant: Variant
    left: Counts
    at_ties: Counts
    formula: Formula | None = None
    """None of what was called."""

    @property
    def unexplained(self) -> int:
        """Elements that are otherwise, and at no tie of the formula's own."""
        return int((self.left - self.at_ties).sum())

    def match(self, outputs: Sequence[str], model: Model) -> VariantMatch:
        """Return it as plain data."""
        v = self.variant
        left, ties = (
            {n: c for n, c in zip(outputs, counts.tolist(), strict=True) if c}
            for counts in (self.left, self.at_ties)
        )
        match = VariantMatch(v.name, v.benign, v.summary, v.source, left, ties, v.attribute)
        rows = None if self.formula is None else model.unwritten(self.formula)
        return match if rows is None else replace(match, unwritten=int(np.count_nonzero(rows)))


def exact_everywhere(actual: Actual, formulas: Sequence[Formula]) -> list[Trial]:
    """Return those of some formulas that give every element of all parts."""
    left = list(formulas)
    for part in actual.model.parts():
        work = Work(part, actual)
        left = [formula for formula in left if not work.differing(formula).any()]
        part.forget()
        if not left:
            break
    none = np.zeros(len(actual.given), np.int64)
    return [Trial(formula.variant(actual.model), none, none, formula) for formula in left]


def counted(
    actual: Actual,
    formulas: Sequence[Formula],
    parts: Sequence[Part],
    advance: Callable[[int], None] = lambda elements: None,
    *,
    ties: bool = True,
) -> list[Trial]:
    """Count in some parts what formulas leave, and what of that lies at their ties.

    Args:
        actual: the outputs.
        formulas: what to count.
        parts: where.
        advance: called with the number of elements of each part that is done.
        ties: whether to count ties, too.
    """
    none = np.zeros((len(formulas), len(actual.given)), np.int64)

    @np.errstate(all="ignore")  # of its own thread
    def of_part(part: Part) -> tuple[Counts, Counts, int]:
        work, left, at_ties = Work(part, actual), none.copy(), none.copy()
        for i, formula in enumerate(formulas):
            left[i] = work.differing(formula)
            at_ties[i] = work.at_ties(formula) if ties else 0
        part.forget()
        return left, at_ties, sum(a.size for a in work.elements.values())

    left, at_ties = none.copy(), none.copy()
    with ThreadPoolExecutor(get_num_threads()) as pool:
        for more, of_these, size in pool.map(of_part, parts):
            left, at_ties = left + more, at_ties + of_these
            advance(size)
    return [Trial(f.variant(actual.model), left[i], at_ties[i], f) for i, f in enumerate(formulas)]
