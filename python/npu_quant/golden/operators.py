"""The operators that goldens can be computed by, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ParamError
from .models import _MODELS

_PREFIXES = ("npu_quant.", "torch_npu.", "torch.ops.npu.", "torch.")


def name_of(op: str | Callable[..., Any]) -> str:
    """Return the name of an operator that is given as such, or as a function.

    Raises:
        ParamError: there is none of that name.
    """
    name = op if isinstance(op, str) else getattr(op, "__name__", repr(op))
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    if name not in _MODELS:
        raise ParamError(f"op is {name!r}, expected one of {', '.join(_MODELS)}.")
    return name


def outputs_of(op: str | Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of an operator's outputs, in its order."""
    outputs: tuple[str, ...] = _MODELS[name_of(op)].outputs
    return outputs
