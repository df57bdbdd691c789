"""Which formula made some outputs: a search among all paths through an operator's slots.

A small sample of the outputs is compared with the reference, the formulas that people cite, and all
that differ from the reference in one step. The few that come nearest are varied in one more step,
as long as that brings any nearer (a beam search). What explains the sample is tried on all: byte
for byte, or up to ties of the formula's own, where another order of operations may have rounded to
the other side. Profiles of devices and other operators are no paths: they are called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measure.differing import differ
from ..operators.formula import Formula, named
from ..operators.model import Flat, Model
from ..results import VariantMatch
from .profiles import PROFILES, called_exactly
from .trial import AT_ONCE, Actual, Array, Counts, Trial, Work, counted, exact_everywhere
from .verdict import MOST_LEFT

WIDTH = 4
"""How many formulas are varied at a time."""
DEEPEST = 6
"""How many steps a formula may differ in from those that are tried first."""
ROUNDS = 3
"""How often a sample is enlarged by places where the best formula differs."""
KNOWN = 32
"""How many of the nearest formulas are tried in an enlarged sample, too."""
PIECE = 1 << 12
"""About how many elements a part of the sample has."""
SOME = 1 << 6
"""Differing elements that tell whether a formula comes nearer at all."""
NOTHING = 1e-300
"""A share that is less than that of any element."""
ENOUGH = 1 << 8
"""Differing elements in a sample that tell formulas apart."""
PIECES = (4, 32)
"""Parts of a sample: at least, and at most where differences are few."""
MOST_TRIED = 16
"""Formulas that explain the sample, which are tried on all."""


class Search:
    """Formulas against a sample of the actual outputs of an operator."""

    def __init__(self, model: Model, actual: Actual) -> None:
        self.model, self.actual = model, actual
        self._pieces = model.parts(PIECE)
        self._works: dict[int, Work] = {}
        self.tried: dict[Any, tuple[Formula, Counts]] = {}
        self._seen: set[Any] = set()
        """The keys of those that need not be tried once more."""
        self.near: list[Formula] = []
        """Those that explain most of the sample up to ties, the fewest steps first."""
        self._choose(None)
        form = model.form
        self._steps = form.steps_for(model)
        self._go_on([form.reference], list(form.listed(model)))

    def _choose(self, formula: Formula | None) -> None:
        """Take small parts into the sample: some where most differs from a formula, some others.

        None stands for the golden.
        """
        counts = self._shares(formula)
        order, few = np.argsort(-counts.sum(axis=0), kind="stable"), PIECES[0]
        sizes = self.actual.sizes[:, None]
        while few < PIECES[1] and (counts * sizes)[:, order[:few]].sum() < ENOUGH:
            few *= 2
        spread = np.linspace(0, len(order) - 1, few // 2).astype(int) if len(order) else order
        for i in (*order[: few - few // 2].tolist(), *spread.tolist()):
            self._works.setdefault(i, Work(self._pieces[i], self.actual))
        works = self._works.values()
        given = self.actual.given
        self.sampled: Counts = np.array([sum(w.elements[i].size for w in works) for i in given])
        """How many elements of each output are in the sample."""

    def _shares(self, formula: Formula | None) -> NDArray[np.float64]:
        """Return the share of each output's elements that differ and are in each piece.

        Args:
            formula: what they differ from; None: the golden.
        """
        given = self.actual.given
        shares = np.zeros((len(given), len(self._pieces)))
        ends = [np.array([piece.spans[i][1] for piece in self._pieces]) for i in given]
        for i, begin, made in self._made(formula):
            at, actual = given.index(i), self.actual.read(i, begin, begin + made.size)
            if actual.dtype == made.dtype and actual.size == made.size:
                places = np.flatnonzero(differ(actual, made)) + begin
                first, last = np.searchsorted(ends[at], [begin, begin + made.size])
                counts = np.searchsorted(places, ends[at][first : last + 1])
                shares[at, first : last + 1] += np.diff(counts, prepend=0)
        return np.asarray(shares / np.maximum(self.actual.sizes, 1)[:, None])

    def _made(self, formula: Formula | None) -> Iterator[tuple[int, int, Array]]:
        """Yield pieces of what a formula, or the golden, has of each output: begin, elements."""
        model, given = self.model, self.actual.given
        if formula is None:
            golden = [(i, Flat(g)) for i, g in enumerate(model.golden()) if g is not None]
            for i, flat in (each for each in golden if each[0] in given):
                for begin in range(0, flat.size, AT_ONCE):
                    yield i, begin, flat.read(begin, begin + AT_ONCE)
            return
        for part in model.parts():
            for i in given:
                made = model.form.outputs[i].make(formula, part)
                if made is not None:
                    yield i, part.spans[i][0], made
            part.forget()

    def differing(self, formula: Formula) -> Counts:
        """Count the elements of the sample that a formula has otherwise, by output."""
        if formula.key not in self.tried:
            counts = np.zeros(len(self.actual.given), np.int64)
            for work in self._works.values():
                counts += work.differing(formula)
            self.tried[formula.key] = formula, counts
        return self.tried[formula.key][1]

    def score(self, formula: Formula) -> float:
        """Return the share of elements that a formula has otherwise, of all outputs alike."""
        return float((self.differing(formula) / np.maximum(self.sampled, 1)).sum())

    def unexplained(self, formula: Formula) -> int:
        """Count the elements of the sample that a formula has otherwise, and not by a tie."""
        ties = sum(int(work.at_ties(formula).sum()) for work in self._works.values())
        return int(self.differing(formula).sum()) - ties

    @property
    def best(self) -> Formula:
        """The formula that comes nearest, of the fewest steps."""
        formulas = (formula for formula, _ in self.tried.values())
        return min(formulas, key=lambda f: (self.score(f), len(f.own)))

    def again(self) -> bool:
        """Look where the best formula differs, too; tell whether that brought any nearer."""
        best = self.best
        known = sorted((formula for formula, _ in self.tried.values()), key=self.score)[:KNOWN]
        self._choose(best)
        self.tried, self.near, self._seen = {}, [], set()
        self._go_on([self.model.form.reference, best], [*known, *self._varied([best])])
        return self.best.key != best.key

    def _varied(self, formulas: Sequence[Formula]) -> list[Formula]:
        """Return formulas that differ in one step from some."""
        paths = (f.but(**{slot: step}) for f in formulas for slot, step in self._steps)
        return list({path.key: path for path in paths}.values())

    def pairs(self) -> None:
        """Try two steps together of those that change anything, of which none alone is nearer."""
        reference = self.model.form.reference
        first = next(iter(self._works.values()), None)
        if first is None:
            return
        moving = [(slot, step) for slot, step in self._steps if first.tells(slot, step)]
        paths = (
            reference.but(**{slot: step, other: more})
            for (slot, step), (other, more) in combinations(moving, 2)
            if slot != other
        )
        self._go_on([self.best], list(paths))

    def _go_on(self, starts: Sequence[Formula], level: Sequence[Formula]) -> None:
        """Vary the formulas of a level as long as that brings any nearer than those before."""
        best = min(starts, key=self.score)
        self._note(starts)
        for _ in range(DEEPEST):
            better = self._nearer([f for f in level if f.key not in self._seen], best)
            self._note(better)
            if not better or self.score(better[0]) == 0:
                return
            best, level = better[0], self._varied(better)

    def _nearer(self, formulas: Sequence[Formula], than: Formula) -> list[Formula]:
        """Return the few formulas that come nearest, if they come nearer than one.

        Where that one differs most, they come nearer, too: only there all of them are tried. Where
        it leaves nothing, those that leave nothing either are kept in mind.
        """
        self._seen.update(formula.key for formula in formulas)
        works, least = self._most_differing(than), self.score(than)
        there = self._share_in(works, than) or NOTHING
        some = [f for f in formulas if self._share_in(works, f, there) < there]
        return sorted((f for f in some if self.score(f) < least), key=self.score)[:WIDTH]

    def _most_differing(self, formula: Formula) -> list[Work]:
        """Return the parts of the sample where a formula differs most: with most, or SOME of it."""
        works = sorted(self._works.values(), key=lambda w: -self._share_in([w], formula))
        counts = np.cumsum([work.differing(formula).sum() for work in works])
        return works[: 1 + int(np.searchsorted(counts, min(SOME, sum(counts[-1:]) // 2 + 1)))]

    def _share_in(self, works: Sequence[Work], formula: Formula, enough: float = np.inf) -> float:
        """Return what parts of the sample have of a formula's score, or what is enough of it."""
        sizes: list[int] = np.maximum(self.sampled, 1).tolist()
        share = 0.0
        for work in works:
            for output, size in zip(self.actual.given, sizes, strict=True):
                share += work.differing_of(formula, output) / size
                if share >= enough:
                    return share
        return share

    def _note(self, formulas: Sequence[Formula]) -> None:
        """Keep what explains most of the sample up to ties."""
        for formula in formulas:
            most, left = self.differing(self.model.form.reference), self.unexplained(formula)
            if left == 0 or (formula.own and left * MOST_LEFT <= int(most.sum())):
                self.near.append(formula)

    def exact(self) -> list[Formula]:
        """Return what gives all of the sample: each of its steps matters, or it is cited."""
        found = {key: f for key, (f, counts) in self.tried.items() if not counts.any()}
        cited = self.model.form.cited_for()
        chosen = [f for key, f in found.items() if key in cited or not _has_less(f, found)]
        chosen.sort(key=lambda formula: (not formula.is_benign(self.model), len(formula.own)))
        return chosen[:MOST_TRIED]


def _has_less(formula: Formula, found: Mapping[Any, Formula]) -> bool:
    """Tell whether one step less does the same."""
    reference = formula.form.reference
    fewer = (
        formula.but(**{slot: reference[slot]})
        for slot, step in formula.steps.items()
        if step is not reference[slot]
    )
    return any(f.key in found for f in fewer)


def explanations(
    model: Model,
    outputs: Sequence[Array | None],
    name: str | None = None,
    *,
    up_to_ties: bool,
    far_fewer: bool = False,
) -> tuple[VariantMatch, ...]:
    """Return the formulas of `explained`."""
    return explained(model, outputs, name, up_to_ties=up_to_ties, far_fewer=far_fewer).matches


class Explained(NamedTuple):
    """What was found of formulas."""

    matches: tuple[VariantMatch, ...] = ()
    least_left: float = 1.0
    """Which share of what no rounding explains the nearest formula leaves, in a sample."""


@np.errstate(all="ignore")
def explained(
    model: Model,
    outputs: Sequence[Array | None],
    name: str | None = None,
    *,
    up_to_ties: bool,
    far_fewer: bool = False,
) -> Explained:
    """Return what explains outputs: byte for byte; else up to ties; else most of them.

    Args:
        model: the operator with its inputs.
        outputs: its actual outputs in its order, None for one that is not known.
        name: a formula that is tried, too.
        up_to_ties: whether to look for what explains them up to ties, or most of them.
        far_fewer: whether to tell the one of what was tried that leaves far fewer differences.

    Returns:
        Formulas that give every byte, benign ones first and then those of the fewest steps; or the
        best that leaves some. And how near the nearest of all comes.
    """
    actual = Actual(model, outputs)
    if not actual.given or not actual.fits:
        return Explained()
    search = Search(model, actual)
    asked = [] if name is None else [f for f in [named(model.form, name, model)] if f is not None]
    exact = exact_everywhere(actual, [*search.exact(), *asked])
    for _ in range(ROUNDS if up_to_ties else 0):
        if exact or not search.best.own or not search.again():
            break
        exact = exact_everywhere(actual, search.exact())
    if up_to_ties and not exact and not search.near:
        search.pairs()
        exact = exact_everywhere(actual, search.exact())
    found = called_exactly(actual) + exact
    if not found and up_to_ties:
        near = list({f.key: f for f in [*search.near, *asked]}.values())
        found = _nearest(counted(actual, near, model.parts()), actual, model)
    elif not found and far_fewer:
        found = _far_fewer(search)
    # What people cite comes before the steps it is made of.
    cited = {*PROFILES, *(formula.name for formula in model.form.cited)}
    found.sort(key=lambda t: (not t.variant.benign, _steps(t) * (t.variant.name not in cited)))
    names = [model.outputs[i] for i in actual.given]
    most = search.unexplained(model.form.reference)
    least_left = search.unexplained(search.best) / most if most else 1.0
    return Explained(tuple(trial.match(names, model) for trial in found), least_left)


def _far_fewer(search: Search) -> list[Trial]:
    """Return the formula that leaves one in so many differences, a benign one before others."""
    most = search.score(search.model.form.reference) / MOST_LEFT
    near = [f for f, _ in search.tried.values() if f.own and search.score(f) <= most]
    near = sorted(near, key=lambda f: (search.score(f), len(f.own)))[:WIDTH]
    trials = counted(search.actual, near, search.model.parts())
    of_all = int(search.actual.differing(search.model.golden()).sum())
    fewer = [trial for trial in trials if int(trial.left.sum()) * MOST_LEFT <= of_all]
    return sorted(fewer, key=lambda t: (not t.variant.benign, int(t.left.sum())))[:1]


def _steps(trial: Trial) -> int:
    return 0 if trial.formula is None else len(trial.formula.own)


def _nearest(trials: list[Trial], actual: Actual, model: Model) -> list[Trial]:
    """Return those that explain all up to ties, else the one that leaves least, if little."""
    explaining = [trial for trial in trials if trial.unexplained == 0]
    if explaining:
        return explaining
    best = min(trials, key=lambda trial: trial.unexplained, default=None)
    of_all = int(actual.differing(model.golden()).sum())
    is_near = best is not None and best.unexplained * MOST_LEFT <= of_all
    return [best] if best is not None and is_near else []
