"""What a module says of its names: those that completion shows, and those that are not there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence


def dir_of(module: str, *more: str) -> Callable[[], list[str]]:
    """Return a module's ``__dir__``, which leaves out what the module is made of.

    Args:
        module: its name.
        more: names it has beside those of its ``__all__``; where it has no ``__all__``, beside what
            is written in it.
    """

    def names() -> list[str]:
        own = vars(sys.modules[module])
        written = (name for name, thing in own.items() if _is_written(thing, name, module))
        return sorted({*(own.get("__all__") or written), *more})

    return names


def _is_written(thing: object, name: str, module: str) -> bool:
    return getattr(thing, "__module__", None) == module and not name.startswith("_")


def missing(name: str, known: Sequence[str]) -> AttributeError:
    """Return what to raise for a name that npu_quant has not.

    Args:
        name: the one that was asked for.
        known: those that there are.
    """
    import difflib

    from .torch_npu.upstream import OPERATORS

    text = f"module 'npu_quant' has no attribute {name!r}"
    near = [] if name.startswith("_") else difflib.get_close_matches(name, known, 1, 0.75)
    if name in OPERATORS:
        text += ": it is an operator of torch_npu that is not here (README, Not here)."
    elif near:
        text += f"; did you mean {near[0]}?"
    return AttributeError(text, name=name)
