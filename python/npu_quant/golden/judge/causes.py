"""What differences look like: a wrong scale, moved rows, a shifted block, an unwritten result.

A cause is named if it takes away nearly all differences: what it leaves may be ordinary rounding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from ...arrays import Source
from ..elements import elements_of_output
from ..measure.layout import Layout
from ..measure.parts import Index, Part, part_of, some_of, whole
from ..operators import Model
from ..operators.formula import Formula
from ..results import OutputComparison
from ..sides import Paired
from ..sources import ArraySource, size_of
from . import verdict
from .calls import Call, other_calls, source_of
from .changes import CHANGES, flipped_here_and_there, multiplied, number, scaled
from .look import FEW, LEFT, Guess, Look, grid_of
from .moves import layouts, moved_rows, swapped_axes
from .refusal import is_constant

_BESIDE = 16
"""Outputs before and behind one that it may have been taken for."""
_LEAST_UNRELATED, _COSINE = 1 << 12, 0.05
"""A cosine of chance is 3 times smaller, of so many elements."""
_LEAST_THERE = 1 << 9
"""Of a place that is named, of which the cosine may be 3 times that of chance, too."""
_SURE = 200
"""A call that leaves one in so many is the right one; of others the one that leaves least."""
_ALIKE = 0.002
"""Of what a call may leave more than a change of the codes alone, which it is a reason for."""
_SCATTERED = 1000
"""What is wrong everywhere makes one in so many elements differ, at least."""
_FEW_SCALES, _MOST_SCALES = 4, 1 << 18
"""So many wrong scales, of at most so many, are told one by one."""
_STEPS, _WIDTH = 2, 4
"""In how many steps a formula of a place may differ, and how many of one step are varied."""


def with_causes(
    outputs: Sequence[OutputComparison], pairs: Sequence[Paired], model: Model | None
) -> list[OutputComparison]:
    """Return the outputs of a comparison, those that differ with what their differences look like.

    Args:
        outputs: all outputs.
        pairs: the actual and the golden array of each.
        model: what the golden was computed by, if it was.
    """
    main = next(side.shape for side in pairs[0][1:] if side is not None)
    with np.errstate(all="ignore"):
        cases = [
            _Case(output, actual, golden, model, main)
            for output, (_, actual, golden) in zip(outputs, pairs, strict=True)
            if (output.rung_of_values or output.rung) == "different"
            if actual is not None and golden is not None and actual.dtype == golden.dtype
            if size_of(golden)
        ]
        for case in cases:
            case.look_by_itself()
        if model is not None and not all(case.is_settled for case in cases):
            are_right = any(o.kind == "scale" and o.passed for o in outputs)
            for call in other_calls(model, of_scales=not are_right):
                for case in cases:
                    case.look_at(call)
                del call  # its outputs, before the next ones are made
        for case in cases:
            case.look_at_codes(outputs)
            case.look_at_others(pairs)
    found = {case.output.name: case.cause for case in cases if case.cause}
    return [
        dataclasses.replace(o, causes=(found[o.name],)) if o.name in found else o for o in outputs
    ]


class _Case:
    """An output that differs, and what is found of it."""

    def __init__(
        self,
        output: OutputComparison,
        actual: Source,
        golden: Source,
        model: Model | None,
        main: tuple[int, ...],
    ) -> None:
        self.output, self.own = output, elements_of_output(output)
        self.model, self.number = model, -1 if model is None else model.outputs.index(output.name)
        self.cause, self._left = "", np.inf
        self.is_settled = False
        """Whether no other inputs are looked for: the cause is of a place, or explains all."""
        self._given = actual, golden
        self._grid = grid_of(output.name, golden.shape, model, main)
        if self._grid is not None and actual.shape == golden.shape:
            actual, golden = self._grid.arranged(actual), self._grid.arranged(golden)
        self._sides = actual, golden
        self._looks = [self._look(part) for part in self._parts()]
        self._enough = [look for look in self._looks if look.is_enough]

    def _look(self, part: Part) -> Look:
        where = self.output.where
        axes = ("row", "column") if where is None else where.axes
        return Look(part, self.model, self.number, self.output.ties is not None, axes)

    def _parts(self) -> Iterator[Part]:
        where, metrics = self.output.where, self.output.metrics
        if where is None or metrics is None:
            return
        if metrics.mismatches * _SCATTERED >= metrics.count:
            yield whole(*self._sides, self.own)
        part = part_of(where.concentrations, *self._sides, self.own, self._grid)
        if part is not None:
            yield part

    def look_by_itself(self) -> None:
        """Look at the two arrays alone."""
        nothing = "", np.inf, not self._enough
        self.cause, self._left, self.is_settled = next(self._found(), nothing)

    def _found(self) -> Iterator[tuple[str, float, bool]]:
        where, metrics = self.output.where, self.output.metrics
        for look in self._looks:
            if look.part.name or is_constant(self._sides[0]):
                yield from ((text, 0, True) for text in _constant(look))
        if where is None or metrics is None or metrics.mismatches * LEFT >= metrics.count:
            yield from ((text, 0, True) for text in swapped_axes(*self._sides, self.own))
        if where is not None:
            yield from ((text, 0, True) for text in moved_rows(*self._sides, self.own, where))
        for look in self._looks:
            # One factor is told by what is right, too: few that are wrong are enough.
            changes = CHANGES if look.is_enough else (scaled,)
            for guess in (guess for change in changes for guess in change(look)):
                left = look.left(guess)
                if left < np.inf:
                    yield guess.text, left, bool(look.part.name)
        is_moved = self._sides[1] is not self._given[1]
        if is_moved and self._looks and not self._looks[0].part.name:
            look = self._look(whole(*self._given, self.own))
            yield from ((g.text, 0, True) for g in layouts(look) if look.left(g) < np.inf)
        for look in self._enough:
            if look.part.name:
                yield from ((text, 0, True) for text in _formulas(look))
        for look in self._scattered():
            guesses = [g for g in flipped_here_and_there(look) if look.left(g) < np.inf]
            yield from ((guess.text, 0, True) for guess in guesses)

    def _scattered(self) -> Iterator[Look]:
        """Yield a look at some of the rows in which anything is wrong."""
        where = self.output.where
        if where is not None and where.row_bucket == 1 and self._sides[1] is self._given[1]:
            rows = np.flatnonzero(where.row_counts)
            part = dataclasses.replace(whole(*self._sides, self.own), rows=rows[some_of(len(rows))])
            yield self._look(part)

    def look_at(self, call: Call) -> None:
        """Look at what other inputs give, which must leave less than what was found before."""
        if self.is_settled or self.model is None:
            return
        source = source_of(self.model, call, self.number)
        if source is None:
            return
        known = None if self.output.kind == "scale" else call.left_out
        self._look_like(source, call.words, known)

    def _look_like(self, source: Source, words: str, left_out: Index | None = None) -> None:
        arranged = source if self._grid is None else self._grid.arranged(source)
        for look in self._enough:
            values = self.own.values(look.part.of(arranged))
            known = True if left_out is None else ~np.isin(look.part.columns, left_out)
            guess = Guess(f"{words} {look.part.where}".removesuffix(" everywhere"), values, known)
            left = look.left(guess)
            if left < self._left + (_ALIKE if self._left < np.inf else 0):
                self.cause = guess.text
                self._left, self.is_settled = min(left, self._left), left * _SURE <= 1
                return

    def look_at_codes(self, outputs: Sequence[OutputComparison]) -> None:
        """Look at the scales one by one, where the codes that they go with are right."""
        model, golden = self.model, self._given[1]
        if self.cause or model is None or self.output.metrics is None:
            return
        theirs = [
            o
            for o in outputs
            if o.kind == "codes"
            if self.number in model.scale_outputs(model.outputs.index(o.name))
        ]
        are_right = bool(theirs) and all(output.passed for output in theirs)
        if not are_right or size_of(golden) > _MOST_SCALES:
            return
        places = map(np.arange, Layout.of(golden.shape))
        every = self._look(Part(*self._given, self.own, "", *places))
        if not every.count:
            return
        known = [look for look in self._looks if look.part.name and look.count == every.count]
        for look in known or _singled_out(every, model):
            if not np.any(look.part.values[0][look.wrong]):
                self.cause = _written(look, "0")
            for guess in multiplied(look):
                if not look.unlike(guess._replace(known=look.wrong)):
                    self.cause = guess.text

    def look_at_others(self, pairs: Sequence[Paired]) -> None:
        """Look at the other outputs, and at the inputs; say at last what is none of the golden."""
        if self.cause:
            return
        for name, golden in self._others(pairs):
            self._look_like(golden, f"elements are {name}")
        if self.cause:
            return
        for look in self._looks:
            if _is_unrelated(look):
                where = f" {look.part.where}" if look.part.name else ""
                order = f"another input's result, or another order{where}"
                self.cause = f"{order}: cosine {_cosine(look):.2g}"
                return

    def _others(self, pairs: Sequence[Paired]) -> Iterator[tuple[str, Source]]:
        """Yield the goldens of outputs beside it, and the inputs, of its shape and dtype."""
        inputs = {} if self.model is None else self.model.inputs
        arrays = {n: ArraySource(v) for n, v in inputs.items() if isinstance(v, np.ndarray)}
        at = [name for name, *_ in pairs].index(self.output.name)
        beside = [*pairs[max(0, at - _BESIDE) : at], *pairs[at + 1 : at + 1 + _BESIDE]]
        others = [(f"{name}'s", golden) for name, _, golden in beside]
        own = self._given[1]
        for name, golden in [*others, *((f"the input {n}'s", v) for n, v in arrays.items())]:
            if golden is not None and (golden.shape, golden.dtype) == (own.shape, own.dtype):
                yield name, golden


def _constant(look: Look) -> Iterator[str]:
    """Find what was never written, or holds one value."""
    part, flat = look.part, look.part.values[0].reshape(-1)
    if part.name and look.count * LEFT < flat.size:
        return  # nearly all of the place was so before
    if flat.size < FEW or not verdict.is_constant(flat) or not look.count:
        return
    yield _written(look, number(flat[0], part.own))


def _singled_out(look: Look, model: Model) -> Iterator[Look]:
    """Name the few scales that are wrong."""
    part, wrong, shape = look.part, look.wrong, look.part.golden.shape
    places = part.index[wrong].tolist()
    if len(places) > _FEW_SCALES:
        return
    titles = [str([int(i) for i in np.unravel_index(place, shape)]) for place in places]
    for i, place in enumerate(places):
        if words := model.place_of(look.output, place):
            titles[i] += f" ({words})"
    name = f"scale{'s' * (len(titles) > 1)} {' and '.join(titles)}"
    rows, columns = part.rows[wrong.any(axis=1)], part.columns[wrong.any(axis=0)]
    few = dataclasses.replace(part, name=name, rows=rows, columns=columns)
    yield dataclasses.replace(look, part=few)


def _written(look: Look, value: str) -> str:
    """Say that a place holds one value; of 0 ask whether it was ever written."""
    part = look.part
    never = f": {'were they' if part.is_several else 'was it'} ever written?"
    is_zero = not part.codes[0].reshape(-1)[0]
    return f"{part.subject} {value} everywhere{never if is_zero else ''}"


def _formulas(look: Look) -> Iterator[str]:
    """Find a formula that gives the codes of a place: of one other step, else of two."""
    model, output = look.model, look.output
    if model is None:
        return
    places = look.part.index[look.wrong]
    chunk = max(model.parts(), key=lambda c: _held(c.spans[output], places))
    begin, end = chunk.spans[output]
    known = (look.part.index >= begin) & (look.part.index < end)
    rows = np.flatnonzero(known.any(axis=1))
    part = dataclasses.replace(look.part, rows=look.part.rows[rows])
    small = dataclasses.replace(look, part=part)
    at = np.clip(part.index - begin, 0, end - begin - 1)

    def guess(formula: Formula) -> Guess:
        codes = model.form.outputs[output].make(formula, chunk)
        values = np.full(at.shape, np.nan) if codes is None else part.own.values(codes[at])
        return Guess("", values, known[rows])

    formulas, steps = list(model.form.listed(model)), model.form.steps_for(model)
    for _ in range(_STEPS if steps else 0):
        formulas.sort(key=lambda formula: small.unlike(guess(formula)))
        if small.left(guess(formulas[0])) < np.inf:
            yield f'the formula "{formulas[0].variant(model).name}" {look.part.where}'
            break
        formulas = [f.but(**{slot: step}) for f in formulas[:_WIDTH] for slot, step in steps]
    chunk.forget()


def _held(span: tuple[int, int], places: Index) -> int:
    """Count the places in a range."""
    return int(np.count_nonzero((places >= span[0]) & (places < span[1])))


def _cosine(look: Look) -> float:
    actual, golden = look.part.values
    both = np.isfinite(actual) & np.isfinite(golden)
    a, g = actual[both], golden[both]
    length = float(np.sqrt((a * a).sum() * (g * g).sum()))
    return float((a * g).sum()) / length if length else 1.0


def _is_unrelated(look: Look) -> bool:
    """Say whether codes of both signs have nothing to do with the golden's."""
    (actual, golden), count = look.part.values, look.differs.size
    about = np.count_nonzero(look.differs) * 2 >= count
    about &= count >= (_LEAST_THERE if look.part.name else _LEAST_UNRELATED)
    flipped = np.count_nonzero(actual * golden < 0) * 5 >= count
    most = max(_COSINE, 3 / np.sqrt(count)) if look.part.name else _COSINE
    return bool(about and flipped and abs(_cosine(look)) < most)
