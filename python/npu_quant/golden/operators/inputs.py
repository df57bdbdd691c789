"""The inputs of an operator, by the names of its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from ...errors import ParamError, meant

OURS = ("out", "numerics")
"""The parameters of every operator that are none of its inputs."""


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of an operator that are its inputs, in its order."""
    parameters = inspect.signature(function).parameters.items()
    return MappingProxyType({name: p for name, p in parameters if name not in OURS})


parameters_of: Callable[[Callable[..., Any]], Mapping[str, inspect.Parameter]] = cache(_parameters)


def by_name(function: Callable[..., Any], inputs: Any) -> Mapping[str, Any]:
    """Return inputs by name: those that are named, or one or several in the operator's order.

    Raises:
        ParamError: there are more than the operator takes.
    """
    if isinstance(inputs, Mapping):
        return inputs
    given = inputs if isinstance(inputs, (tuple, list)) else [inputs]
    names = list(parameters_of(function))
    if len(given) > len(names):
        listed = ", ".join(names)
        raise ParamError(f"{function.__name__} takes {listed}; inputs has {len(given)} of them.")
    return dict(zip(names, given, strict=False))


def arguments_of(function: Callable[..., Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return all arguments of a call, with defaults; complain of unknown and missing ones."""
    parameters = parameters_of(function)
    known = f"It takes {', '.join(parameters)}."
    unknown = [str(name) for name in inputs if name not in parameters]
    if unknown:
        complaint = f"{function.__name__} has no parameter {unknown[0]!r} for inputs"
        raise ParamError(complaint + (meant(unknown[0], parameters) or f". {known}"))
    result = {
        name: inputs.get(name, parameter.default)
        for name, parameter in parameters.items()
        if name in inputs or parameter.default is not inspect.Parameter.empty
    }
    missing = [name for name in parameters if name not in result]
    if missing:
        raise ParamError(f"{function.__name__} needs inputs[{missing[0]!r}]. {known}")
    return result
