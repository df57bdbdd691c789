"""Names of torch_npu's that npu_quant has nothing for: they are there, and say so when called."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

import torch

from . import upstream


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name} belongs to torch_npu and is not in npu_quant. Set one of your own: {name} = ..."
    )


class Missing:
    """Stands for a function of torch_npu's, so that it can be named, imported and patched."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Say that it is not here."""
        _refuse(self._name)

    def __repr__(self) -> str:
        return f"<{self._name}, which npu_quant has not>"

    def __getattr__(self, name: str) -> Any:
        """Return what stands for a part of it, such as an operator's overload ``default``."""
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in_for(f"{self._name}.{name}")


def stand_in_for(name: str) -> Any:
    """Return what stands for a name: a class, which may be derived from, or a function."""
    word = name.rpartition(".")[2]
    if not word[:1].isupper():
        return Missing(name)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        _refuse(name)

    return type(word, (), {"__init__": __init__, "__module__": name.rpartition(".")[0]})


class MissingModule(ModuleType):
    """Stands for a module of torch_npu's."""

    def __getattr__(self, name: str) -> Any:
        """Return what stands for a name in it."""
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in_for(f"{self.__name__}.{name}")


class _Namespace(type(torch.ops.npu)):  # type: ignore[misc]
    """``torch.ops.npu``, with upstream's names besides the operators that are defined."""

    __module__ = type(torch.ops.npu).__module__  # operators are found there, by their names

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)  # also what others define, later
        except AttributeError:
            if name not in upstream.OPERATORS:
                raise
        return _operators.setdefault(name, Missing(f"torch_npu.{name}"))


_operators: dict[str, Any] = {}


def name_operators() -> None:
    """Have ``torch.ops.npu`` know the names."""
    torch.ops.npu.__class__ = _Namespace
