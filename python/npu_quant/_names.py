"""What a module says of its names: those that completion shows."""

from __future__ import annotations

import sys
from collections.abc import Callable


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
