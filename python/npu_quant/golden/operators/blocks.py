"""Numbers in blocks along an axis, each with a power of two of its own: the model and its parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ... import _codes
from ..elements import Elements, Rounding, Small, elements_of
from ..tie_results import TieTest
from .arithmetic import Floats
from .edges import Edges, edges_of
from .model import Array, Flat, Float32, Float64, Model, Part
from .scale_grid import Grid, ScaleGrid

BIAS, NOT_FINITE = 127, 255
"""Of E8M0: byte b stands for 2^(b - BIAS), NOT_FINITE for NaN."""


@dataclass(frozen=True, eq=False)
class Directed(Small):
    """Small floats to which numbers are rounded in a direction, with no ties."""

    direction: Rounding = np.floor
    """Of whole numbers: down, up or towards zero."""

    def ties(self, codes: Array) -> tuple[Float64, Float64]:
        """Return from where to where numbers are rounded to some elements."""
        values, (below, above) = self.values(codes), self.neighbours(codes)
        over, under = np.where(values >= 0, 0.5, -0.5), np.where(values <= 0, -0.5, 0.5)
        low = np.where(self.direction(under) > under, below, values)
        high = np.where(self.direction(over) < over, above, values)
        low = np.where(values == self.limits[0], -np.inf, low)
        return low, np.where(values == self.limits[1], np.inf, high)

    def tie(self, value: Float64, actual: Array, golden: Array, *terms: Float64) -> TieTest:
        """Return the test of numbers against where elements begin; no rounding explains these."""
        test, (low, high) = super().tie(value, actual, golden, *terms), self.ties(actual)
        ours, theirs = self.values(actual), self.values(golden)
        border = np.where(theirs > ours, high, low)
        apart = ours != theirs
        test.tie[apart] = np.where(border == value, np.nan, border)[apart]
        return test


@dataclass(frozen=True, eq=False)
class Blocks:
    """How numbers lie in blocks along an axis, and in pairs of these, one after the other."""

    block: int
    """Numbers of a block."""
    inner: int
    """Numbers that lie beside each other behind the axis: a row."""
    edges: Edges
    """Of the pairs."""
    is_last: bool = False
    """Whether the axis is the last one."""

    @classmethod
    def along(cls, shape: tuple[int, ...], axis: int, block: int) -> Blocks:
        """Return the blocks of an axis."""
        axis %= len(shape)
        ends = shape[axis] * np.arange(1, math.prod(shape[:axis]) + 1)
        edges = edges_of(ends, 2 * block)
        return cls(block, math.prod(shape[axis + 1 :]), edges, axis == len(shape) - 1)

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.edges) - 1

    def bytes_at(self, index: NDArray[np.int64], *, is_in_rows: bool = False) -> NDArray[np.int64]:
        """Return the places of the bytes of some numbers: those of a pair lie side by side.

        Args:
            index: which numbers, counted in C order.
            is_in_rows: look where they were if bytes lay block by block.
        """
        row, column = np.divmod(index, self.inner)
        pair = np.searchsorted(self.edges, row, side="right") - 1
        lane = (row - self.edges[pair]) // self.block
        if is_in_rows:
            return np.asarray((2 * pair + lane) * self.inner + column)
        return np.asarray(2 * (pair * self.inner + column) + lane)

    def spans(self, first: int, last: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return which numbers and which bytes some pairs have."""
        begin, end = (int(self.edges[pair]) * self.inner for pair in (first, last))
        return (begin, end), (2 * first * self.inner, 2 * last * self.inner)


class BlockPart(Part):
    """Some pairs of blocks, each across all that lies behind the axis."""

    model: BlockModel

    def __init__(self, model: BlockModel, number: int, first: int, last: int) -> None:
        super().__init__(model, model.spans(number, first, last), first, last)
        self.number = number
        """Which of the model's blocks they are."""
        blocks = model.blocks[number]
        self.unit = 2 * blocks.block * blocks.inner
        self._shape = (last - first, 2, blocks.block, blocks.inner)

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        """How many numbers each pair has, of one column."""
        first, last = self.range
        return np.diff(self.model.blocks[self.number].edges[first : last + 1])[:, None]

    @cached_property
    def _exists(self) -> NDArray[np.bool_]:
        """Which numbers of pairs there are, of one column."""
        return np.asarray(np.arange(2 * self._shape[2]) < self._rows)

    def between(self, begin: int, end: int) -> Part:
        """Return some of its pairs."""
        return type(self)(self.model, self.number, begin, end)

    def numbers(self) -> Float32:
        """Return its numbers of shape (pairs, 2, numbers of a block, inner), with 0 for others."""
        numbers: Float32 = self.once("numbers", self._read)
        return numbers

    def _read(self) -> Float32:
        v = self.model.elements.floats(*self.spans[2 * self.number])
        if self._exists.all():
            return v.reshape(self._shape)
        padded = np.zeros((self._exists.size, self._shape[-1]), np.float32)
        padded[self._exists.reshape(-1)] = v.reshape(self._exists.sum(), self._shape[-1])
        return padded.reshape(self._shape)

    def flat(self, grouped: Array, inner: int | None = None) -> Array:
        """Return numbers as elements of the output, without what filled them up.

        Args:
            grouped: in C order as `numbers`.
            inner: how many a row has, unless as many as there.
        """
        if self._exists.all():
            return grouped.reshape(-1)
        rows = grouped.reshape(self._exists.size, self._shape[-1] if inner is None else inner)
        return np.asarray(rows[self._exists.reshape(-1)]).reshape(-1)

    def there(self, scales: Array) -> Array:
        """Return bytes of shape (pairs, 2, inner), 0 for a block that is not there."""
        has_block = np.arange(2) * self._shape[2] < self._rows
        return np.asarray(np.where(has_block[..., None], scales, np.uint8(0)))

    def laid(self, output: int, scales: Array) -> Array:
        """Return bytes as an output has them, in pairs: of shape (any, 2, any)."""
        return scales


class BlockModel(Model):
    """Codes, and one E8M0 byte per block of an axis; perhaps the same along another axis."""

    part = BlockPart
    has_scale_per_row = False
    has_numbers = True

    def read(self, x: Array, *blocks: Blocks) -> None:
        """Take the input, and how it lies in blocks, for each pair of outputs."""
        self.x, self.dtype, self.blocks = x, x.dtype, blocks
        self.elements = Flat(x)
        self.read_format(self.inputs["dst_type"])
        self.is_packed = bool(self.format.name)
        self.round_mode = self.inputs["round_mode"]
        if self.round_mode == "floor":
            own = {f.name: getattr(self.format, f.name) for f in fields(self.format)}
            self.format = Directed(**own)

    def number_of(self, output: int) -> int:
        """Return by which of its blocks an output is."""
        return output // 2

    def of_tiles(self, amax: Float32) -> Float32:
        """Return what blocks are scaled by, of shape (pairs, 2, inner), by their own amax."""
        return amax

    def elements_of(self, output: int) -> Elements:
        """Return what the elements of an output stand for."""
        return elements_of("float8_e8m0") if self.kinds[output] == "scale" else self.format

    def as_elements(self, output: int, array: Array) -> Array:
        """Return an output as an array of elements: two float4 are packed in a byte."""
        if self.kinds[output] == "scale" or (self.is_packed and array.dtype.name[:6] == "float4"):
            return array.view(np.uint8) if array.dtype.itemsize == 1 else array
        if not self.is_packed or array.dtype != np.uint8 or array.shape == self.x.shape:
            return super().as_elements(output, array)
        return _codes.unpacked(array) if array.ndim else array

    def place_of(self, output: int, index: int) -> str:
        """Say for which block of the input a byte is."""
        blocks, columns = self.blocks[self.number_of(output)], max(1, self.x.shape[-1])
        (pair, column), lane = divmod(index // 2, blocks.inner), index % 2
        begin = int(blocks.edges[pair]) + lane * blocks.block
        end = min(begin + blocks.block, int(blocks.edges[pair + 1]))
        if self.kinds[output] != "scale" or begin >= end:
            return "" if self.kinds[output] != "scale" else "no block"
        if blocks.inner == 1 < columns:
            row, first = divmod(begin, columns)
            last = first + end - begin - 1
            return f"block {first // blocks.block} of row {row}, columns {first} to {last}"
        if blocks.inner == columns:
            return f"rows {begin} to {end - 1} of column {column}"
        first, last = (
            [int(i) for i in np.unravel_index(row * blocks.inner + column, self.x.shape)]
            for row in (begin, end - 1)
        )
        return f"{first} to {last}"

    def scale_grid(self, output: int) -> Grid | None:
        """Return how bytes are named by the input's rows and columns."""
        if self.kinds[output] != "scale":
            return None
        blocks, shape = self.blocks[self.number_of(output)], self.x.shape
        if blocks.is_last:
            return ScaleGrid(shape, blocks.block)
        return ScaleGrid(shape, blocks.block, blocks.edges, blocks.inner // max(1, shape[-1]))

    def spans(self, number: int, first: int, last: int) -> tuple[tuple[int, int], ...]:
        """Return the spans of a part that has some pairs of one of the blocks."""
        every = [
            blocks.spans(*((first, last) if n == number else (blocks.pairs * (n < number),) * 2))
            for n, blocks in enumerate(self.blocks)
        ]
        return tuple(span for both in every for span in both)

    def whole(self) -> list[Part]:
        """Return all pairs of blocks."""
        return [self.part(self, n, 0, blocks.pairs) for n, blocks in enumerate(self.blocks)]

    def bytes_for(self, output: int, index: NDArray[np.int64], scale: Array) -> Array:
        """Return the bytes of a scale output that some codes go with."""
        return np.asarray(scale.reshape(-1)[self.blocks[self.number_of(output)].bytes_at(index)])

    def numbers(self, output: int, index: NDArray[np.int64], codes: Array, scale: Array) -> Float64:
        """Return y * 2^(mxscale - 127); NaN in blocks that are not finite."""
        byte = self.bytes_for(output, index, scale)
        return np.where(
            byte == NOT_FINITE, np.nan, np.ldexp(self.format.values(codes), byte.astype(int) - BIAS)
        )


def factor_of(scales: NDArray[np.uint8]) -> Float32:
    """Return what numbers are multiplied by: 2^(BIAS - b), whole float32 down to 2^-127."""
    exponents = BIAS - scales.astype(np.int32)
    return np.asarray(np.ldexp(np.float32(1), exponents), np.float32)


def bytes_of(exponent: Floats, amax: Floats) -> NDArray[np.uint8]:
    """Return the bytes of exponents, the ends for those beyond; NOT_FINITE by their amax."""
    with np.errstate(invalid="ignore"):
        kept = np.clip(np.nan_to_num(exponent) + BIAS, 0, NOT_FINITE - 1)
    return np.where(np.isfinite(amax), kept, NOT_FINITE).astype(np.uint8)
