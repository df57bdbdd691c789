"""Results where nothing draws them: as a short repr, and as the plain data that JSON takes."""

from __future__ import annotations

import dataclasses
import math
import reprlib
from collections.abc import Callable, Collection
from itertools import islice
from typing import Any, TypeVar

from ._text import LONGEST, clean

T = TypeVar("T")

MOST = 300
"""How many characters a repr has, about."""
_MOST_NAMES = 3

_OF_FIELDS = reprlib.Repr()
_OF_FIELDS.maxstring = _OF_FIELDS.maxother = _OF_FIELDS.maxlong = LONGEST
_OF_FIELDS.maxlist = _OF_FIELDS.maxtuple = _OF_FIELDS.maxdict = 4


class ShortRepr:
    """A dataclass whose repr has its fields, each cut, as far as they fit."""

    def __repr__(self) -> str:
        shown, left = list[str](), MOST
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if not field.repr:
                continue
            text = f"{field.name}={_OF_FIELDS.repr(getattr(self, field.name))}"
            left -= len(text)
            if left < 0:
                shown.append("...")
                break
            shown.append(text)
        return f"{type(self).__name__}({', '.join(shown)})"


class Judged:
    """A verdict, which is true if it passed: ``assert compare(a, b)`` fails where it did not."""

    def __bool__(self) -> bool:
        return bool(self.passed)  # type: ignore[attr-defined]


class NoTruth:
    """A result without a truth value: an assertion of it would hold whatever it says."""

    _ask = ""
    """What to ask for instead."""

    def __bool__(self) -> bool:
        raise TypeError(f"{type(self).__name__} is neither true nor false: {self._ask}.")


def some_of(
    things: Collection[T],
    most: int = _MOST_NAMES,
    shown: Callable[[T], str] = lambda thing: clean(str(thing)),
) -> str:
    """Return the first of some things, by default each cut, and how many more there are."""
    text = ", ".join(map(shown, islice(things, most)))
    more = len(things) - most
    return f"{text} and {more:,} more" if more > 0 else text


def plain(value: Any) -> Any:
    """Return a value as JSON has it: NaN and infinities as strings, dataclasses as objects."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f.name for f in dataclasses.fields(value) if f.repr]
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, dict):
        return {_key(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def _key(key: Any) -> str:
    return " vs ".join(key) if isinstance(key, tuple) else str(key)
