"""Who else does the work: the NumPy formula, torch and ONNX Runtime where they are installed."""

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


def part(rows: int, n: int) -> int:
    """How many of the rows a slow peer does: whole blocks of 128, where they are more."""
    most = max(1, MOST_ELEMENTS // n)
    return min(rows, most // 128 * 128 or most)


def find(name: str) -> ModuleType | None:
    """The module, where it is installed."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    if name == "torch":
        module.set_grad_enabled(False)  # the formulas have no use for them
        warnings.filterwarnings("ignore", module="torch")
        warnings.filterwarnings("ignore", message="torch.quantize_per_tensor.* are deprecated")
    return module


def tensor_of(torch: ModuleType, array: NDArray[Any]) -> Any:
    """The same memory as a tensor.

    torch does not know ml_dtypes' bfloat16, and its compiler makes no vectors of bool.
    """
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    if array.dtype.name.startswith("float8"):
        return torch.from_numpy(array.view(np.uint8)).view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array.view(np.uint8) if array.dtype == bool else array)


def array_of(result: Any) -> NDArray[Any]:
    """The first output that torch returned, quantized tensors as their codes."""
    tensor = result[0] if isinstance(result, tuple) else result
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    codes: NDArray[Any] = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    return codes


def compiled(torch: ModuleType, formula: Any) -> Any:
    """The formula through torch.compile, in the form that is fastest: for this very shape.

    reset() first: a function that was compiled for eight shapes would silently run eagerly. One
    compiling thread, or its worker processes would start up beside what is measured.
    """
    config: Any = importlib.import_module("torch._inductor.config")
    config.compile_threads = 1
    torch._dynamo.reset()
    return torch.compile(formula, dynamic=False, fullgraph=True)
