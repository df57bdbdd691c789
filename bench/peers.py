"""Who else does the work: the NumPy formula, and torch where it is installed."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

# NumPy and eager torch make arrays of every intermediate result: gigabytes and seconds at the
# largest size. From this many elements on they do a part of the rows.
MOST_ELEMENTS = 1 << 22


def find_torch() -> ModuleType | None:
    """Where it is installed; without gradients, which the formulas have no use for."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    torch.set_grad_enabled(False)
    return torch


def tensor_of(torch: ModuleType, array: NDArray[Any]) -> Any:
    """The same memory as a tensor; torch does not know ml_dtypes' bfloat16."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def compiled(torch: ModuleType, formula: Any) -> Any:
    """The formula through torch.compile, in the form that is fastest: for this very shape.

    reset() first: a function that was compiled for eight shapes would silently run eagerly. One
    compiling thread, or its worker processes would start up beside what is measured.
    """
    config: Any = importlib.import_module("torch._inductor.config")
    config.compile_threads = 1
    torch._dynamo.reset()
    warnings.filterwarnings("ignore", module="torch")
    return torch.compile(formula, dynamic=False, fullgraph=True)


def part(rows: int, n: int) -> int:
    """How many of the rows a slow peer does."""
    return min(rows, max(1, MOST_ELEMENTS // n))
