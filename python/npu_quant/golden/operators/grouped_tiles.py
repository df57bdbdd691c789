"""Numbers in blocks of matrices that begin anew in each group of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .edges import Edges, zero_where_none
from .model import Array, Float32
from .tiles import GroupedModel, Tiling


class GroupedTiling(Tiling):
    """Blocks of groups of rows, some of which are empty."""

    def __init__(self, model: GroupedModel, edges: Edges, height: int, width: int) -> None:
        super().__init__(model, model.tall, height, width)
        self.edges, self.rows = edges, len(edges) - 1

    def row_of(self, row: Any) -> Any:
        """Return which row of blocks rows belong to."""
        return np.searchsorted(self.edges, row, side="right") - 1

    def begun_before(self, row: int) -> int:
        """Return how many rows of blocks begin before a row."""
        return int(np.searchsorted(self.edges[:-1], row))

    def there(self, scales: Array, first: int, last: int) -> Array:
        """Return scales of the blocks that begin in rows [first, last), 0 for empty blocks."""
        begin, end = self.begun(first, last)
        own = scales.reshape(end - begin, self.across)
        return zero_where_none(own, self.edges[begin : end + 1], 0).reshape(-1)

    def of_rows(self, extremes: Float32, first: int, last: int) -> Float32:
        """Return extremes of rows [first, last), each a row of blocks, and 0 for empty blocks."""
        begin, end = self.begun(first, last)
        result = np.zeros((end - begin, self.across), np.float32)
        rows = self.row_of(np.arange(first, last)) - begin
        result[rows] = extremes.reshape(last - first, self.across)
        return result.reshape(-1)
