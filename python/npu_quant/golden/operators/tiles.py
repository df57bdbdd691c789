"""Numbers in groups that are tiles of matrices: rows, columns, blocks or all of them; the models.

A group has a scale of its own, which comes from its greatest magnitude, or from its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import steps
from .arithmetic import Floats
from .formula import Formula
from .model import PART, Array, Exact, Flat, Float32, Float64, Model, Part, ranges
from .steps import Operands


class Groups:
    """Numbers to be quantized in groups, and the greatest and the least of each group.

    The numbers are of shape (rows, groups across, columns of a group), the last group of a row
    filled up with zeros; extremes have a shape that broadcasts over it.
    """

    def __init__(
        self,
        v: Float32,
        extreme: Callable[[str], Float32],
        reported: Callable[[str], Float32 | None] | None = None,
    ) -> None:
        self.v = v
        self._extreme, self._reported = extreme, reported
        self._made: dict[str, Float32] = {}

    def extreme(self, which: str) -> Float32:
        """Return the "amax", "hi", "lo" or "range" of each group."""
        if which not in self._made:
            self._made[which] = self._extreme(which)
        return self._made[which]

    def reported(self, which: str) -> Float32 | None:
        """Return them in the order of the scale output; None where that has another shape."""
        return self.extreme(which).reshape(-1) if self._reported is None else self._reported(which)


_EXTREMES = {"amax": (np.maximum, 0), "hi": (np.maximum, -np.inf), "lo": (np.minimum, np.inf)}


def extreme_of(v: Float32, which: str) -> Float32:
    """Return an extreme, or the "range", of numbers along the last axis, which is kept."""
    if which == "range":
        return np.asarray(extreme_of(v, "hi") - extreme_of(v, "lo"))
    function, initial = _EXTREMES[which]
    v = np.abs(v) if which == "amax" else v
    return np.asarray(function.reduce(v, axis=-1, initial=np.float32(initial), keepdims=True))


class Tiling:
    """Groups that are tiles of matrices, and their extremes."""

    def __init__(self, model: GroupedModel, tall: int, height: int, width: int) -> None:
        self._model, self._tall = model, max(1, tall)
        self._height = max(1, min(height, self._tall))
        self.width = max(1, width)
        """Columns of a tile."""
        self.across = -(-model.columns // self.width) if width else 1
        """Tiles beside each other."""
        self._down = -(-self._tall // self._height)
        self.rows = -(-model.row_count // self._tall) * self._down
        """Rows of tiles."""
        self._all: dict[tuple[str, Numbers], Float32] = {}

    @property
    def is_low(self) -> bool:
        """Whether every tile is a part of a row."""
        return self._height == 1

    def row_of(self, row: Any) -> Any:
        """Return which row of tiles rows belong to."""
        matrix, place = np.divmod(row, self._tall)
        return matrix * self._down + place // self._height

    def begun_before(self, row: int) -> int:
        """Return how many rows of tiles begin before a row."""
        matrix, place = divmod(row, self._tall)
        return matrix * self._down + -(-place // self._height)

    def begun(self, first: int, last: int) -> tuple[int, int]:
        """Return which rows of tiles begin in rows [first, last), be they empty."""
        end = self.rows if last == self._model.row_count else self.begun_before(last)
        return self.begun_before(first), end

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the same as tiles."""
        begin, end = self.begun(first, last)
        return begin * self.across, end * self.across

    def there(self, scales: Array, first: int, last: int) -> Array:
        """Return scales of the tiles that begin in rows [first, last), 0 for empty tiles."""
        return scales

    def of_rows(self, extremes: Float32, first: int, last: int) -> Float32:
        """Return extremes of rows [first, last), each a row of tiles, as those of its tiles."""
        return extremes.reshape(-1)

    def tiled(self, v: Float32) -> Float32:
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
        result = np.full((self.rows, self.across), initial, np.float32)
        with np.errstate(all="ignore"):
            for first, last in ranges(model.row_count, max(1, PART // max(1, model.columns))):
                own = extreme_of(self.tiled(numbers(model, first, last)), which)[..., 0]
                tile = self.row_of(np.arange(first, last))
                begins = np.flatnonzero(np.diff(tile, prepend=-1))
                some = function.reduceat(own, begins, axis=0)
                result[tile[begins]] = function(result[tile[begins]], some)
        return result

    def groups(self, part: GroupedPart, numbers: Numbers, of: Numbers) -> Groups:
        """Return the groups that a part's rows belong to, and extremes of what is left of them."""
        v = self.tiled(part.numbers(numbers))
        if self.is_low:
            basis = v if of is numbers else self.tiled(part.numbers(of))
            own = Groups(
                v,
                lambda which: extreme_of(basis, which),
                lambda which: self.of_rows(own.extreme(which), *part.rows),
            )
            return own
        tile = self.row_of(np.arange(*part.rows))
        tile = tile[:1] if len(tile) and tile[0] == tile[-1] else tile
        begun = slice(*self.span(*part.rows))
        return Groups(
            v,
            lambda which: self.every(which, of)[tile][..., None],
            lambda which: self.every(which, of).reshape(-1)[begun],
        )


class GroupedPart(Part):
    """Some rows of the input."""

    model: GroupedModel

    def __init__(self, model: GroupedModel, first: int, last: int) -> None:
        own = model.tiling.span(first, last)
        codes = (first * model.columns, last * model.columns)
        super().__init__(model, tuple(codes if kind == "codes" else own for kind in model.kinds))
        self.rows = (first, last)

    def numbers(self, numbers: Numbers) -> Float32:
        """Return numbers of its rows, made once."""
        return self.once(("rows", numbers), lambda: numbers(self.model, *self.rows))

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
        count = self.rows[1] - self.rows[0]
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
        self.columns = x.shape[-1]
        self.tall = max((1, *x.shape[-2:-1]))
        """Rows of a matrix of the last two axes."""
        self.row_count = math.prod(x.shape[:-1])
        self._flat = Flat(x)
        self._tilings: dict[tuple[int, int, int], Tiling] = {}
        is_block = mode == "block"
        self.tiling = self.blocks(height, width) if is_block else self.tiles(mode)
        self.reach = np.float32(2) * self.most + np.float32(self.format.is_even)
        """What the range of a group becomes: R."""
        self.goal = self.most if self.size == "amax" else self.reach
        self.has_scale_per_row = self.tiling.is_low and self.size == "amax"

    def blocks(self, height: int, width: int) -> Tiling:
        """Return the groups that are blocks."""
        return Tiling(self, self.tall, height, width)

    def tiles(self, mode: str) -> Tiling:
        """Return the groups of a mode."""
        shape = {
            "pertoken": (self.tall, 1, self.columns),
            "pertensor": (self.row_count, self.row_count, self.columns),
            "perchannel": (self.tall, self.tall, 1),
        }[mode]
        if shape not in self._tilings:
            self._tilings[shape] = Tiling(self, *shape)
        return self._tilings[shape]

    def inputs_of_rows(self, first: int, last: int) -> Float32:
        """Return rows [first, last) of the input, widened."""
        n = self.columns
        return self._flat.floats(first * n, last * n).reshape(last - first, n)

    def factors(self, row: NDArray[np.int64], column: NDArray[np.int64]) -> Float32:
        """Return the smooth_scales of some elements."""
        assert self.smooth is not None
        if self.mode == "perchannel":
            return np.asarray(self.smooth[row % self.tall])
        if self.ends is None:
            return np.asarray(self.smooth[column])
        expert = np.searchsorted(self.ends, row, side="right")
        return np.asarray(self.smooth[expert, column])

    def factors_of_rows(self, first: int, last: int) -> Float32:
        """Return those of rows [first, last), to be broadcast over them."""
        return self.factors(np.arange(first, last)[:, None], np.arange(self.columns))

    def rows(self, first: int, last: int) -> Float32:
        """Return the numbers that are quantized, of rows [first, last)."""
        return self.smoothed(self.inputs_of_rows(first, last), first, last)

    def smoothed(self, v: Float32, first: int, last: int) -> Float32:
        """Return rows [first, last) times their factors, in float32."""
        with np.errstate(all="ignore"):
            return v if self.smooth is None else v * self.factors_of_rows(first, last)

    def parts(self, size: int | None = None) -> list[Part]:
        """Split along the rows."""
        step = max(1, (size or PART) // max(1, self.columns))
        every = list(ranges(self.row_count, step)) or [(0, 0)] * bool(self.tiling.rows)
        return [GroupedPart(self, *rows) for rows in every]

    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Divide by the golden scales; for the scales themselves, divide amax."""
        if self.kinds[output] == "scale":
            exact = scale_of(self.reference, self, self.wide(self.size, index))
            return exact, (exact,)
        v, group = self.at(index)
        wide = Operands(v, self.scales_of(group, scale))
        return steps.before_rounding(self.reference, Part(self), wide)[1], ()

    def at(self, index: NDArray[np.int64]) -> tuple[Float64, NDArray[np.int64]]:
        """Return some of the numbers that are quantized, and which groups they are in."""
        row, column = np.divmod(index, max(1, self.columns))
        v = self._flat.take(index).astype(np.float32)
        with np.errstate(all="ignore"):
            v = v if self.smooth is None else v * self.factors(row, column)
        tiling = self.tiling
        return v.astype(np.float64), tiling.row_of(row) * tiling.across + column // tiling.width

    def scales_of(self, group: NDArray[np.int64], scale: Array | None = None) -> Float64:
        """Return the scales of some groups: the golden ones, or those of another output."""
        chosen = self.golden()[self.kinds.index("scale")] if scale is None else scale
        assert chosen is not None
        wide: Float64 = chosen.reshape(-1)[group].astype(np.float64)
        return wide

    def wide(self, which: str, group: NDArray[np.int64]) -> Float64:
        """Return the extremes of some groups."""
        wide: Float64 = self.tiling.every(which, as_given).reshape(-1)[group].astype(np.float64)
        return wide

    def matrices(self, first: int, last: int) -> list[int]:
        """Return where matrices of the last two axes begin in rows [first, last), and 0."""
        return [0, *(row - first for row in range(first + 1, last) if row % self.tall == 0)]


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
