"""The order that was meant, where files are in another one: told by their dtypes and shapes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Source
from ..files import FileError, FileSource
from ..files.common import File
from ..golden.api import Sides
from ..golden.judge import verdict
from ..golden.operators import operator_of, outputs_of
from .files import ABSENT, RAW, Opener, listed
from .order import Order, filled
from .outputs import split
from .roles import Roles, opener_of

_File = FileSource | int
"""An array that says its dtype and shape; of a file without a header how many bytes it has."""


def refused(order: Order, arguments: Namespace) -> Order | None:
    """Return an order in which the operator takes the inputs and gives what the others look like.

    Nothing is read but headers, and inputs of a few integers: others are ones all over.

    Args:
        order: one whose inputs the operator does not take.
        arguments: of the command line.
    """
    files: dict[str, _File] = {}
    opener = opener_of(arguments, order)
    with suppress(FileError):
        for word in {*order.actual, *order.inputs.values()} - {ABSENT}:
            files[word] = _opened(word, opener)
        for other in _orders(order):
            if _is_taken(other, files, arguments.numerics):
                return other
    return None


def exchanged(order: Order, roles: Roles, sides: Sides) -> Order | None:
    """Return an order in which what differs would not, as far as dtypes and shapes tell.

    Args:
        order: one whose inputs the operator takes.
        roles: its files.
        sides: its arrays, of which the golden ones are computed.
    """
    if all(verdict.problem_of(actual, golden) is None for _, actual, golden in sides.pairs):
        return _with_exchanged_input(order, roles, sides)
    names = outputs_of(order.op)
    given = [(w, sides.actual[n]) for n, w in zip(names, order.actual, strict=False) if w != ABSENT]
    for some in permutations(names, len(given)):
        if all(_is_like(a, sides.golden.get(n)) for n, (_, a) in zip(some, given, strict=True)):
            words = {name: word for name, (word, _) in zip(some, given, strict=True)}
            return replace(order, actual=tuple(filled(words, names)))
    return None


def _with_exchanged_input(order: Order, roles: Roles, sides: Sides) -> Order | None:
    """Return the order with output and input exchanged, if the operator makes the one of the other.

    Both look alike then, and what it makes of its own output is that output once more.
    """
    arrays = operator_of(order.op).arrays
    if len(arrays) != 1 or len(order.actual) != 1 or arrays[0] not in order.inputs:
        return None
    (name,), (output, *_) = arrays, outputs_of(order.op)
    inputs, actual, golden = roles.inputs or {}, sides.actual[output], sides.golden[output]
    if actual is None or golden is None or not _is_same(golden.array(), inputs[name]):
        return None
    with suppress(ValueError, TypeError):
        made = operator_of(order.op).function(**{**inputs, name: actual.array()})
        first = made[0] if isinstance(made, tuple) else made
        if _is_same(np.asarray(first), inputs[name]):
            word = order.inputs[name]
            return replace(order, actual=(word,), inputs=order.inputs | {name: order.actual[0]})
    return None


def _opened(word: str, opener: Opener) -> _File:
    """Open a file, or measure one that does not say what it has."""
    path, _ = split(word)
    if listed(path)[:1] == [("", RAW, listed(path)[0][2])] and opener.dtype is None:
        return File(path).size
    return opener.open(word)


def _orders(order: Order) -> Iterator[Order]:
    """Yield the same files in other orders: the first ones as the inputs, then a few exchanged."""
    names, inputs = outputs_of(order.op), [*order.inputs]
    required = [name for name in operator_of(order.op).arrays if name in order.inputs]
    words = [*order.actual, *(order.inputs[name] for name in required)]
    if required:
        first = order.inputs | dict(zip(required, words, strict=False))
        yield replace(order, actual=tuple(words[len(required) :]), inputs=first)
    words = [*order.actual, *[ABSENT] * (len(names) - len(order.actual)), *order.inputs.values()]
    most = 3 if len(words) < 5 else 2
    for other in dict.fromkeys(permutations(words)):
        moved = sum(one != was for one, was in zip(other, words, strict=True))
        given = {n: word for n, word in zip(names, other, strict=False) if word != ABSENT}
        if given and 0 < moved <= most:
            own = dict(zip(inputs, other[len(names) :], strict=True))
            yield replace(order, actual=tuple(filled(given, names)), inputs=own)


def _is_taken(order: Order, files: Mapping[str, _File], numerics: str | None) -> bool:
    """Say whether an operator takes the inputs, and gives arrays like the actual ones."""
    inputs: dict[str, Any] = {}
    for name, word in order.inputs.items():
        file = files.get(word)
        if isinstance(file, int):
            return False
        inputs[name] = None if file is None else _stand_in(file)
    with suppress(ValueError, TypeError):
        made = operator_of(order.op).function(**inputs, **order.attributes, numerics=numerics)
        made = made if isinstance(made, tuple) else (made,)
        given = zip(order.actual, made, strict=False)
        return all(word == ABSENT or _fits(files[word], np.asarray(g)) for word, g in given)
    return False


def _stand_in(source: FileSource) -> NDArray[Any]:
    """Return an array of a file's dtype and shape that takes no memory."""
    if source.dtype.kind in "iu" and len(source.shape) < 2:  # where groups end, zero points
        return source.array()
    return np.broadcast_to(np.ones((), source.dtype), source.shape)


def _fits(file: _File, golden: NDArray[Any]) -> bool:
    if isinstance(file, int):
        return file == golden.nbytes
    return (file.dtype, file.shape) == (golden.dtype, golden.shape)


def _is_like(actual: Source | None, golden: Source | None) -> bool:
    if actual is None or golden is None:
        return False
    return (actual.dtype, actual.shape) == (golden.dtype, golden.shape)


def _is_same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Say whether two arrays have the same bytes."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    return one.tobytes() == other.tobytes()
