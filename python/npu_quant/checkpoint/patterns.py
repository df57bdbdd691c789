"""Which of a list of names and patterns fits a module, in time that is bounded.

A pattern is ``re:`` and a regular expression, which consumers give to `re.match`: it fits where a
module's name begins with what it describes. All expressions of a list are one automaton: it reads
a name once, a letter at a time, and knows all places where some expression may stand then. Such a
set of places is a state; what follows a state and a letter is found out once. ::

    re:.*mlp.gate$      0 --.--> 0          after "x.mlp": {0, after m, l and p}
                        0 --m--> 1 --l--> 2 ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .expressions import Anchor, Choice, ExpressionError, Letter, Part, Repeat, Sequence, parsed

MOST_PLACES = 20_000
"""Of all expressions of a list."""
MOST_STEPS = 2_000_000
"""How many places may be looked at to find out what follows a state."""

_FITS, _EITHER, _BEGIN, _END = "fits", "either", "begin", "end"


class Fault(NamedTuple):
    """A pattern that is not tried."""

    severity: str
    """error where consumers stop or hang at it, warning where they may well take it."""
    pattern: str
    text: str


class _Place(NamedTuple):
    """A place in an expression."""

    kind: str | re.Pattern[str]
    """What one letter must fit, or one of the words above."""
    next: list[int]
    number: int = 0


class Patterns:
    """Names and patterns, each with the number of the list that it stands in."""

    def __init__(self, given: Iterable[tuple[str, int]]) -> None:
        self.faults: list[Fault] = []
        self._names: dict[str, int] = {}
        self._places: list[_Place] = []
        self._left = MOST_STEPS
        begin = [self._begin(pattern, number) for pattern, number in dict.fromkeys(given)]
        self._known: dict[frozenset[int], int] = {}
        self._states: list[frozenset[int]] = []
        self._steps: list[dict[str, int]] = []
        self._fitting: list[tuple[int | None, int | None]] = []
        """Of each state: the least number of what fits, and of what fits at the name's end."""
        self._first = self._state([place for place in begin if place is not None], {_BEGIN})

    def first(self, module: str) -> int | None:
        """Return the least number of what fits a module; None where nothing does."""
        numbers = {self._names.get(module)}
        state = self._first
        for letter in module:
            numbers.add(self._fitting[state][0])
            following = self._steps[state].get(letter)
            state = self._step(state, letter) if following is None else following
            if not self._states[state]:
                break
        numbers.update(self._fitting[state])
        return min((n for n in numbers if n is not None), default=None)

    @property
    def gave_up(self) -> bool:
        """Whether too much had to be looked at, so that patterns no longer fit anything."""
        return self._left < 0

    def _begin(self, pattern: str, number: int) -> int | None:
        """Take in a pattern, and return the place where its expression begins."""
        if not pattern.startswith("re:"):
            self._names.setdefault(pattern, number)
            return None
        try:
            fits = self._add(_FITS, [], number)
            return self._built(parsed(pattern.removeprefix("re:")), fits)
        except ExpressionError as error:
            self.faults.append(Fault(error.severity, pattern, error.text))
            return None

    def _add(self, kind: str | re.Pattern[str], next: list[int], number: int = 0) -> int:
        if len(self._places) == MOST_PLACES:
            raise ExpressionError("warning", "is one of too many")
        self._places.append(_Place(kind, next, number))
        return len(self._places) - 1

    def _built(self, part: Part, then: int) -> int:
        """Add a part, after which comes a place, and return its first place."""
        if isinstance(part, Letter):
            return self._add(part.fits, [then])
        if isinstance(part, Anchor):
            return self._add(_END if part.is_end else _BEGIN, [then])
        if isinstance(part, Choice):
            return self._add(_EITHER, [self._built(one, then) for one in part.parts])
        if isinstance(part, Sequence):
            for one in reversed(part.parts):
                then = self._built(one, then)
            return then
        return self._built_repeat(part, then)

    def _built_repeat(self, repeat: Repeat, then: int) -> int:
        after = then
        if repeat.most is None:
            then = self._add(_EITHER, [after])
            self._places[then].next.append(self._built(repeat.part, then))
        for _ in range((repeat.most or repeat.least) - repeat.least):
            then = self._add(_EITHER, [after, self._built(repeat.part, then)])
        for _ in range(repeat.least):
            then = self._built(repeat.part, then)
        return then

    def _state(self, places: Iterable[int], through: set[str]) -> int:
        """Return the state of these places, and of those that no letter parts from them."""
        reached = self._reached(places, {_EITHER, *through})
        state = frozenset(p for p in reached if self._places[p].kind not in (_EITHER, _BEGIN))
        if state not in self._known:
            self._known[state] = len(self._states)
            self._states.append(state)
            self._steps.append({})
            ended = self._reached(state, {_EITHER, _END, *through})
            self._fitting.append((self._least(state), self._least(ended)))
        return self._known[state]

    def _step(self, state: int, letter: str) -> int:
        """Find out which state follows a state and a letter."""
        following: list[int] = []
        for place in self._states[state] if self._left > 0 else ():
            kind, next, _ = self._places[place]
            self._left -= 1
            if not isinstance(kind, str) and kind.match(letter):
                following += next
        number = self._steps[state][letter] = self._state(following, set())
        return number

    def _reached(self, places: Iterable[int], through: set[str]) -> set[int]:
        """Return places, and those that are reached from them by way of some kinds of them."""
        reached: set[int] = set()
        left = [*places]
        while left:
            place = left.pop()
            if place not in reached:
                reached.add(place)
                self._left -= 1
                kind, next, _ = self._places[place]
                left += next if kind in through else []
        return reached

    def _least(self, places: Iterable[int]) -> int | None:
        numbers = (p.number for p in map(self._places.__getitem__, places) if p.kind == _FITS)
        return min(numbers, default=None)
