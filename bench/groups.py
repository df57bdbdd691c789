"""Groups of rows, of 512 each, as operators on experts take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operators import Size

ROWS = 512


def count(rows: int) -> int:
    """Return how many groups there are."""
    return -(-rows // ROWS)


def ends(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    """Return the rows behind groups, as an operator's arguments."""
    return (np.array([*range(ROWS, size.rows, ROWS), size.rows], np.int32),)
