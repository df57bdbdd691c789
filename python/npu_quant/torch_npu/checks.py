"""What an operator refuses without its tensors' values, asked of the operator itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

# The operators know it in the place of out: they check, and compute nothing.
_CHECKS = NotImplemented


class _UnknownLengthError(Exception):
    """A length that nothing tells before the operator is run."""


def check(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Let an operator check its arguments, of whose tensors dtypes and lengths are known.

    A length that is a symbol counts as it is in the call that is traced; no guard comes of it.
    Where nothing tells one, the operator judges when it is run.

    Raises:
        NpuQuantError: what the operator raises.
    """
    with _disable_current_modes():
        try:
            plain = [_plain(value) for value in args]
            by_name = {name: _plain(value) for name, value in kwargs.items()}
        except _UnknownLengthError:
            return
        function(*plain, **by_name, out=_CHECKS)


def _plain(value: Any) -> Any:
    """Return a tensor of one element that stands for all of its own, and numbers for symbols."""
    if isinstance(value, (list, tuple)):
        return [*map(_plain, value)]
    if isinstance(value, torch.SymInt):
        return _length(value)
    if not isinstance(value, torch.Tensor):
        return value
    shape = [_length(n) for n in value.shape]
    return torch.empty((), dtype=value.dtype, device="cpu").expand(shape)


def _length(n: Any) -> int:
    """Return a length; of a symbol its hint."""
    if not isinstance(n, torch.SymInt):
        return int(n)
    if not n.node.has_hint():
        raise _UnknownLengthError
    return int(n.node.hint)
