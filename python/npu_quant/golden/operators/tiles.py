"""Numbers in groups that are tiles of matrices: rows, columns, blocks or all of them; the models.

A group has a scale of its own, which comes from its greatest magnitude, or from its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import Floats
from .edges import Edges, edges_of
from .formula import Formula
from .model import Array, Flat, Float32, Model, Part


class Groups:
    """Numbers to be quantized in groups, and the greatest and the least of each group.

    The numbers are of shape (rows, groups across, columns of a group), the last group of a row
    filled up with zeros; extremes have a shape that broadcasts over it.
    """

    def __init__(
        self,
        v: Floats,
        extreme: Callable[[str], Floats],
        in_order: Callable[[Floats], Floats | None],
    ) -> None:
        self.v, self.in_order = v, in_order
        """`in_order` gives what groups have as the scale output has it; None: it does not fit."""
        self._extreme = extreme
        self._made: dict[str, Floats] = {}

    def extreme(self, which: str) -> Floats:
        """Return the "amax", "hi", "lo" or "range" of each group."""
        if which not in self._made:
            self._made[which] = self._extreme(which)
        return self._made[which]

    def reported(self, which: str) -> Floats | None:
        """Return them in the order of the scale output; None where that has another shape."""
        return self.in_order(self.extreme(which))


_EXTREMES = {"amax": (np.maximum, 0), "hi": (np.maximum, -np.inf), "lo": (np.minimum, np.inf)}


def extreme_of(v: Floats, which: str) -> Floats:
    """Return an extreme, or the "range", of numbers along the last axis, which is kept."""
    if which == "range":
        return np.asarray(extreme_of(v, "hi") - extreme_of(v, "lo"))
    function, initial = _EXTREMES[which]
    v = np.abs(v) if which == "amax" else v
    return np.asarray(function.reduce(v, axis=-1, initial=v.dtype.type(initial), keepdims=True))


class Tiling:
    """Groups that are tiles of matrices, and their extremes.

    A row of tiles covers the rows from one edge to the next: none where both are the same.
    """

    def __init__(self, model: GroupedModel, edges: Edges, width: int) -> None:
        self._model, self.edges = model, edges
        self.width = max(1, width)
        """Columns of a tile."""
        self.across = -(-model.columns // self.width) if width else 1
        """Tiles beside each other."""
        self.is_low = bool(np.all(np.diff(edges) <= 1))
        """Whether every tile is a part of a row."""
        self._all: dict[tuple[str, Numbers], Float32] = {}

    @property
    def count(self) -> int:
        """How many rows of tiles there are."""
        return len(self.edges) - 1

    def row_of(self, row: Any) -> Any:
        """Return which row of tiles rows belong to."""
        return np.searchsorted(self.edges, row, side="right") - 1

    def begun(self, first: int, last: int) -> tuple[int, int]:
        """Return which rows of tiles begin in rows [first, last), be they empty."""
        begin, end = np.searchsorted(self.edges[:-1], (first, last))
        return int(begin), self.count if last == self._model.row_count else int(end)

    def tiled(self, v: Floats) -> Floats:
        """Return rows in pieces of the tiles' width."""
        missing = self.across * self.width - v.shape[-1]
        v = np.pad(v, ((0, 0), (0, missing))) if missing else v
        return v.reshape(len(v), self.across, self.width)

    def every(self, which: str, numbers: Numbers) -> Float32:
        """Return an extreme of all tiles, row of tiles by row of tiles."""
        if which == "range":
            return self.every("hi", numbers) - self.every("lo", numbers)
        if (which, numbers) not in self._all:
            self._all[which, numbers] = self._find(which, numbers)
        return self._all[which, numbers]

    def _find(self, which: str, numbers: Numbers) -> Float32:
        model, (function, initial) = self._model, _EXTREMES[which]
        result = np.full((self.count, self.across), initial, np.float32)
        with np.errstate(all="ignore"):
            for part in model.parts():
                rows = np.arange(*part.range)
                own = extreme_of(self.tiled(numbers(model, *part.range)), which)[..., 0]
                tile = self.row_of(rows)
                begins = np.flatnonzero(np.diff(tile, prepend=-1))
                some = function.reduceat(own, begins, axis=0)
                result[tile[begins]] = function(result[tile[begins]], some)
        return result

    def spread(self, of_tiles: Array, first: int, last: int) -> Array:
        """Return what rows of tiles have for rows [first, last), to be broadcast over groups."""
        tile = self.row_of(np.arange(first, last))
        tile = tile[:1] if len(tile) and tile[0] == tile[-1] else tile
        return np.asarray(of_tiles.reshape(self.count, self.across)[tile][..., None])

    def groups(self, part: GroupedPart, numbers: Numbers, of: Numbers) -> Groups:
        """Return the groups that a part's rows belong to, and extremes of what is left of them."""
        v = self.tiled(part.numbers(numbers))

        def extreme(which: str) -> Floats:
            if self.is_low:
                return extreme_of(v if of is numbers else self.tiled(part.numbers(of)), which)
            return self.spread(self.every(which, of), *part.range).astype(part.floats)

        return Groups(v, extreme, partial(self.begun_in, part))

    def begun_in(self, part: GroupedPart, of_groups: Floats) -> Floats:
        """Return what the groups of a part's rows have for the tiles that begin there."""
        first, last = part.range
        there, rows = part.once(("begun", self), lambda: self._first_rows(first, last))
        of_rows = np.broadcast_to(of_groups[..., 0], (last - first, self.across))
        result = np.zeros((len(there), self.across), of_groups.dtype)
        result[there] = of_rows[rows]
        return result.reshape(-1)

    def _first_rows(self, first: int, last: int) -> tuple[Array, Array]:
        """Return which rows of tiles that begin there have rows, and in which each of these begins.

        Rows are counted from the first.
        """
        begin, end = self.begun(first, last)
        there = np.diff(self.edges[begin : end + 1]) > 0
        return there, self.edges[begin:end][there] - first


class GroupedPart(Part):
    """Some rows of the input."""

    model: GroupedModel

    def __init__(self, model: GroupedModel, first: int, last: int) -> None:
        tiling = model.tiling
        begin, end = tiling.begun(first, last)
        own = begin * tiling.across, end * tiling.across
        codes = (first * model.columns, last * model.columns)
        spans = tuple(codes if kind == "codes" else own for kind in model.kinds)
        super().__init__(model, spans, first, last)

    def numbers(self, numbers: Numbers) -> Floats:
        """Return numbers of its rows, made once."""
        return self.once(
            ("rows", numbers),
            lambda: numbers(self.model, *self.range).astype(self.floats, copy=False),
        )

    def groups(self, numbers: Numbers | None = None, of: Numbers | None = None) -> Groups:
        """Return the numbers that are quantized, in groups.

        Args:
            numbers: what they are; None: as they are given.
            of: the numbers whose extremes the groups' are; None: the same.
        """
        own = as_given if numbers is None else numbers
        return self.model.tiling.groups(self, own, own if of is None else of)

    def flat(self, grouped: Array) -> Array:
        """Return groups as elements of the output, without what filled them up."""
        count = self.range[1] - self.range[0]
        rows = grouped.reshape(count, grouped.size // max(1, count))
        return rows[:, : self.model.columns].reshape(-1)


class GroupedModel(Model):
    """Codes, and one float32 scale per group."""

    min_scale: np.float32 = np.float32(0)
    smooth: Float32 | None = None
    ends: NDArray[np.int32] | None = None
    """Of the rows of each expert, which has factors of its own."""
    size = "amax"
    """What scales are made of, of each group."""
    made_of: tuple[str, ...] = ("values", "scale", "bound")
    """The slots of a formula that say what is quantized, and by what."""

    def read(self, x: Array, mode: str, height: int = 1, width: int = 0) -> None:
        """Take the format of the codes, the input, and what a group is."""
        self.read_format(self.inputs["dst_type"])
        if self.format.name == "hifloat8" and self.inputs["dst_type_max"]:
            self.most = np.float32(self.inputs["dst_type_max"])
        self.group(x, mode, height, width)

    def group(self, x: Array, mode: str, height: int = 1, width: int = 0) -> None:
        """Take the input, and what a group is.

        Args:
            x: the input.
            mode: "pertoken", "pertensor", "perchannel" or "block".
            height: rows of a block.
            width: columns of a block.
        """
        self.x, self.dtype, self.mode = x, x.dtype, mode
        self.columns = int(x.shape[-1])
        self.tall = max((1, *x.shape[-2:-1]))
        """Rows of a matrix of the last two axes."""
        self.row_count = math.prod(x.shape[:-1])
        self._flat = Flat(x)
        self.unit = self.columns
        self._tilings: dict[str, Tiling] = {}
        self.tiling = self.tiles(mode, height, width)
        self.reach = np.float32(2) * self.most + np.float32(self.format.is_even)
        """What the range of a group becomes: R."""
        self.goal = self.most if self.size == "amax" else self.reach
        self.has_scale_per_row = self.tiling.is_low and self.size == "amax"

    def edges(self, mode: str, height: int = 1) -> Edges:
        """Return with which rows the groups of a mode begin; behind the last one, where it ends."""
        heights = {"pertensor": self.row_count, "perchannel": self.tall, "block": height}
        tall = self.row_count if mode == "pertensor" else self.tall
        ends = np.arange(tall, self.row_count + 1, max(1, tall))
        return edges_of(ends, max(1, min(heights.get(mode, 1), tall)))

    def tiles(self, mode: str, height: int = 1, width: int = 0) -> Tiling:
        """Return the groups of a mode, or blocks."""
        if mode not in self._tilings:
            widths = {"perchannel": 1, "block": width}
            own = Tiling(self, self.edges(mode, height), widths.get(mode, self.columns))
            self._tilings[mode] = own
        return self._tilings[mode]

    def inputs_of_rows(self, first: int, last: int) -> Float32:
        """Return rows [first, last) of the input, widened."""
        n = self.columns
        return self._flat.floats(first * n, last * n).reshape(last - first, n)

    def factors_of_rows(self, first: int, last: int) -> Float32:
        """Return the smooth_scales of rows [first, last), to be broadcast over them."""
        assert self.smooth is not None
        row = np.arange(first, last)
        if self.mode == "perchannel":
            return np.asarray(self.smooth[row % self.tall, None])
        if self.ends is None:
            return self.smooth
        return np.asarray(self.smooth[np.searchsorted(self.ends, row, side="right")])

    def rows(self, first: int, last: int) -> Float32:
        """Return the numbers that are quantized, of rows [first, last)."""
        return self.smoothed(self.inputs_of_rows(first, last), first, last)

    def smoothed(self, v: Float32, first: int, last: int) -> Float32:
        """Return rows [first, last) times their factors, in float32."""
        with np.errstate(all="ignore"):
            return v if self.smooth is None else v * self.factors_of_rows(first, last)

    def whole(self) -> list[Part]:
        """Return all rows."""
        return [GroupedPart(self, 0, self.row_count)]


Numbers = Callable[[GroupedModel, int, int], Float32]
"""Some numbers of rows [first, last), of the whole input's columns."""


def as_given(model: GroupedModel, first: int, last: int) -> Float32:
    """Return the numbers that are quantized."""
    return model.rows(first, last)


def scale_of(formula: Formula, model: GroupedModel, size: Floats) -> Floats:
    """Return the scales of groups, by their amax or range."""
    with np.errstate(all="ignore"):
        scale = formula["scale"].function(size, model.goal)
        return formula["bound"].function(scale, model.min_scale)


def bounded(scale: Floats, min_scale: np.float32) -> Floats:
    """Return scales, none above 1 / min_scale."""
    if not min_scale > 0:
        return scale
    bound = np.float32(1) / min_scale.astype(scale.dtype)
    return np.where(scale > bound, bound, scale)
