"""What is not an operator: the arithmetic profile, threads, and what this build is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from . import _core

__version__: str = _core.version()


@contextlib.contextmanager
def numerics(name: str) -> Iterator[None]:
    """Make an arithmetic profile the default inside a ``with`` block.

    It holds for this thread or asyncio task (it is a context variable).

    Args:
        name: one of :func:`list_numerics`, or one with parameters,
            ``NAME:KEY=VALUE[,KEY=VALUE...]``, such as ``ascend910b:scale_form=S2``
            (docs/numerics.md 4).

    Raises:
        ParamError: no profile has that name, or it has no such parameter or value.

    Example:
        >>> import npu_quant
        >>> with npu_quant.numerics("reference"):
        ...     npu_quant.info()["numerics"]
        'reference'
    """
    _core.check_numerics(name)
    token = _core.numerics_default.set(name)
    try:
        yield
    finally:
        _core.numerics_default.reset(token)


def list_numerics() -> list[str]:
    """Return the names of the arithmetic profiles this build knows (docs/numerics.md 1).

    Example:
        >>> import npu_quant
        >>> npu_quant.list_numerics()
        ['reference', 'ascend910b', 'ascend950']
    """
    return _core.list_numerics()


def get_num_threads() -> int:
    """Return how many threads an operator may use.

    The initial number is ``NPU_QUANT_NUM_THREADS``, else the first number of ``OMP_NUM_THREADS``,
    else the number of CPUs this process may run on. Small work stays on the caller's thread
    whatever the number.

    Example:
        >>> import npu_quant
        >>> npu_quant.get_num_threads() >= 1
        True
    """
    return _core.get_num_threads()


def set_num_threads(n: int) -> None:
    """Set how many threads an operator may use, the caller's included.

    Results do not depend on it, to the bit. More threads than CPUs are allowed.

    Args:
        n: from 1 to 4096.

    Raises:
        ParamError: ``n`` is out of range.
        TypeError: ``n`` is not an int.

    Example:
        >>> import npu_quant
        >>> before = npu_quant.get_num_threads()
        >>> npu_quant.set_num_threads(1)
        >>> npu_quant.get_num_threads()
        1
        >>> npu_quant.set_num_threads(before)
    """
    _core.set_num_threads(n)


def info() -> dict[str, Any]:
    """Return what the operators run on: the text to paste into a bug report.

    Returns:
        ``version``; ``target``, the instruction set in use, and ``targets``, those that are
        compiled and that this CPU runs (names for ``NPU_QUANT_TARGET``); ``prefetch``, the cache
        that the next rows are fetched into, ``l1`` or ``l2`` (it concerns speed alone);
        ``threads``; ``numerics``, the current default profile; ``compiler``; ``features``, the
        operators this build has.

    Example:
        >>> import npu_quant
        >>> sorted(npu_quant.info())
        ['compiler', 'features', 'numerics', 'prefetch', 'target', 'targets', 'threads', 'version']
    """
    from . import ops

    return {
        "version": __version__,
        "target": _core.target(),
        "targets": _core.targets(),
        "prefetch": _core.prefetch(),
        "threads": get_num_threads(),
        "numerics": _core.numerics_default.get(),
        "compiler": _core.compiler(),
        "features": list(ops.__all__),
    }
