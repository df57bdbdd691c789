"""How many rows groups have, and where blocks of rows begin, anew in each group of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Edges = NDArray[np.int64]
"""With which row each block begins; behind the last one, where it ends. Some may be empty."""


def counts_of(group_list: Array, list_type: int) -> Array:
    """Return how many rows the groups of a list have."""
    if list_type == 2:
        return group_list[:, 1]
    return np.diff(group_list, prepend=0) if list_type == 0 else group_list


def edges_of(
    ends: Edges, height: int, firsts: Edges | None = None, count: int | None = None
) -> Edges:
    """Return the edges of blocks, which begin anew in each group of rows.

    Args:
        ends: the row behind each group.
        height: rows of a block.
        firsts: the first block of each group, which may have more of them than rows to fill them.
        count: how many blocks there are.
    """
    if not len(ends):
        return np.zeros(1, np.int64)
    own = -(-np.diff(ends, prepend=0) // height)
    firsts = np.cumsum(own) - own if firsts is None else firsts
    number = np.arange(int(own.sum()) if count is None else count)
    group = np.searchsorted(firsts, number, side="right") - 1
    begins = np.append(0, ends[:-1])[group] + height * (number - firsts[group])
    return np.append(np.minimum(begins, ends[group]), ends[-1])


def grouped_edges(ends: Array, height: int, matrices: int = 1) -> Edges:
    """Return the edges of blocks as the grouped operators lay them out, in each matrix.

    A matrix of m rows and g groups has m // height + g; group j begins with block
    ends[j - 1] // height + j.
    """
    rows, each = ends.astype(np.int64), np.arange(matrices)[:, None]
    count = int(rows[-1]) // height + len(rows)
    firsts = np.append(0, rows[:-1]) // height + np.arange(len(rows))
    all_ends, all_firsts = each * rows[-1] + rows, each * count + firsts
    return edges_of(all_ends.reshape(-1), height, all_firsts.reshape(-1), matrices * count)


def zero_where_none(elements: Array, edges: Edges, axis: int) -> Array:
    """Return what blocks have, with 0 for those that are empty; as it is if they do not fit.

    Args:
        elements: of all blocks, in C order up to `axis`.
        edges: of the blocks.
        axis: the last one that counts blocks.
    """
    is_there, shape = np.diff(edges) > 0, elements.shape
    if int(np.prod(shape[: axis + 1], dtype=np.int64)) != len(is_there):
        return elements
    own = is_there.reshape(shape[: axis + 1] + (1,) * (len(shape) - axis - 1))
    return np.where(own, elements, np.zeros(1, elements.dtype))
