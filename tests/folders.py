"""What the tests of compare_folders share: two folders, and arrays in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from npu_quant.golden import FolderComparison

A = np.arange(12, dtype=np.int8).reshape(3, 4)
B = np.linspace(-1, 1, 6, dtype=np.float32)


def save(side: Path, **arrays: Any) -> None:
    """Save arrays; of a name "a__b" in the folder a."""
    for name, array in arrays.items():
        path = side / f"{name.replace('__', '/')}.npy"
        path.parent.mkdir(exist_ok=True)
        np.save(path, array)


def save_here(**arrays: Any) -> None:
    """Save arrays in the current folder."""
    save(Path(), **arrays)


def names(comparison: FolderComparison) -> list[str]:
    return [row.name for row in comparison.rows]


def changed(array: np.ndarray) -> np.ndarray:
    """Return an array of which the first element is one more."""
    result = array.copy()
    result.reshape(-1)[0] += 1
    return result
