"""Actual and golden as a comparison takes them: an array, or a tuple or dict of arrays, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._kinds import told
from .._shown import some_of
from ..arrays import Source
from ..errors import DTypeError, ParamError
from .sources import as_source

Outputs = dict[str, Source | None]
"""By name; None where it says that there is none."""
Paired = tuple[str, Source | None, Source | None]
"""An output's name, its actual and its golden array; None where that side lacks it."""


def are_alike(actual: Source | None, golden: Source | None) -> bool:
    """Say whether two arrays have one dtype and shape, as given or as they were read."""
    if actual is None or golden is None:
        return False
    return actual.dtype == golden.dtype and actual.shape == golden.shape


def checked_names(names: Sequence[str] | None) -> Sequence[str] | None:
    """Return the names of outputs that were given, if they can be that.

    Raises:
        ParamError: they are one string, no strings, or one is there twice.
    """
    if names is None:
        return None
    listed = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else []
    if not listed or any(not isinstance(name, str) for name in listed):
        raise ParamError(f"names is {told(names)}, expected a sequence of strings.")
    if len(set(listed)) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        same = some_of([name for name in listed if name == twice])
        raise ParamError(f"names has a name twice: {same}.")
    return listed


def names_of(*values: Any) -> Sequence[str] | None:
    """Return names for outputs: the fields of named tuples, else their numbers.

    None where a dict has its own.
    """
    if any(isinstance(value, Mapping) for value in values):
        return None
    count = max((len(v) for v in values if isinstance(v, (tuple, list))), default=None)
    fields = [list(v._fields) for v in values if hasattr(v, "_fields") and len(v) == count]
    numbers = [""] if count is None else [str(i) for i in range(count)]
    return fields[-1] if fields else numbers


def completed(actual: Any, names: Sequence[str]) -> Any:
    """Return an array alone as the first of an operator's outputs, the others being None."""
    if isinstance(actual, (Mapping, tuple, list)):
        return actual
    return (actual, *[None] * (len(names) - 1))


def as_outputs(value: Any, names: Sequence[str] | None, what: str) -> Outputs:
    """Return actual or golden as sources by name: those that are there, and what is None.

    Args:
        value: one array, a tuple or list of arrays and Nones, or a dict by name.
        names: the names of the outputs, in order; None means their numbers, or a dict's keys.
        what: "actual" or "golden".

    Raises:
        ParamError: there are more than `names`, or others.
    """
    if isinstance(value, Mapping):
        return _of_mapping(value, names, what)
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    names = names_of(value) if names is None else names
    assert names is not None
    if len(values) > len(names):
        listed = ", ".join(names)
        raise ParamError(f"{what} has {len(values)} arrays, expected ({listed}).")
    return _sources(dict(zip(names, values, strict=False)), what)


def of_numbers(value: Any) -> Any:
    """Return a list of numbers, which may be nested, as an array; anything else as it is."""
    if not isinstance(value, list) or not value or not all(map(_is_of_numbers, value)):
        return value
    try:
        return np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise DTypeError(f"a list of numbers cannot be read as an array: {error}.") from None


def _is_of_numbers(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_of_numbers, value))
    return isinstance(value, (bool, int, float, np.generic))


def _sources(values: Mapping[str, Any], what: str) -> Outputs:
    return {
        name: None if value is None else as_source(value, f"{what} {name}".rstrip())
        for name, value in values.items()
    }


def _of_mapping(value: Mapping[str, Any], names: Sequence[str] | None, what: str) -> Outputs:
    order = list(value) if names is None else list(names)
    unknown = [str(name) for name in value if name not in order]
    if unknown:
        raise ParamError(f"{what} has {', '.join(unknown[:8])}, expected {', '.join(order)}.")
    return _sources({name: value[name] for name in order if name in value}, what)
