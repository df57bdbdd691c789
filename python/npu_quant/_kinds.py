"""Arguments of a wrong kind: refused by name before anything is done, without contents."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from ._text import clean

Progress = Callable[[int, int], None]
"""What is called as ``progress(done, total)``, now and then."""


def told(value: Any) -> str:
    """Return an argument in a message: a word or a number itself, of anything else its kind."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an int of {value.bit_length()} bits"
    if value is None or isinstance(value, (bool, int, float, str)):
        return clean(repr(value[:200] if isinstance(value, str) else value))
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {clean(kind)}"


def wrong(who: str, name: str, value: Any, expected: str) -> TypeError:
    """Return the error of an argument of a wrong kind."""
    return TypeError(f"{who}: {name} is {told(value)}, expected {expected}.")


def check(who: str, name: str, value: Any, kinds: Any, expected: str) -> None:
    """Raise TypeError unless an argument is of one of some kinds."""
    if not isinstance(value, kinds):
        raise wrong(who, name, value, expected)


def check_callable(who: str, name: str, value: Any) -> None:
    """Raise TypeError unless an argument is None or can be called."""
    if value is not None and not callable(value):
        raise wrong(who, name, value, "a function of (done, total), or None")


def whole(who: str, name: str, value: Any, expected: str = "an int") -> int:
    """Return a whole number, Python's or NumPy's, as an int; raise TypeError of anything else."""
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise wrong(who, name, value, expected)
