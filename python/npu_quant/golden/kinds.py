"""Arguments of a wrong kind: refused by name before anything is compared, without contents."""

from __future__ import annotations

from operator import index
from typing import Any

from .shown import cut


def told(value: Any) -> str:
    """Return an argument in a message: a word or a number itself, of anything else its kind."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an int of {value.bit_length()} bits"
    if isinstance(value, (bool, int, float, str)):
        return cut(repr(value[:200] if isinstance(value, str) else value))
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {cut(kind)}"


def wrong(who: str, name: str, value: Any, expected: str) -> TypeError:
    """Return the error of an argument of a wrong kind."""
    return TypeError(f"{who}: {name} is {told(value)}, expected {expected}.")


def check(who: str, name: str, value: Any, kinds: Any, expected: str) -> None:
    """Raise TypeError unless an argument is None or of one of some kinds."""
    if value is not None and not isinstance(value, kinds):
        raise wrong(who, name, value, expected)


def check_callable(who: str, name: str, value: Any) -> None:
    """Raise TypeError unless an argument is None or can be called."""
    if value is not None and not callable(value):
        raise wrong(who, name, value, "a function of two ints")


def whole(who: str, name: str, value: Any) -> int:
    """Return a whole number as an int; raise TypeError of anything else."""
    try:
        return index(value)
    except TypeError:
        raise wrong(who, name, value, "an int") from None
