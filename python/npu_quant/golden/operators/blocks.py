"""Numbers in blocks along an axis, each with a power of two of its own: the model and its parts."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ... import _codes
from ..formats import Format, Small, format_of
from ..results import TieTest
from .arithmetic import Floats
from .model import PART, Array, Exact, Flat, Float32, Float64, Model, Part, ranges

BIAS, NOT_FINITE = 127, 255
"""Of E8M0: byte b stands for 2^(b - BIAS), NOT_FINITE for NaN."""


@dataclass(frozen=True, eq=False)
class Floored(Small):
    """Small floats to which numbers are rounded down: each begins at its value, with no ties."""

    def ties(self, codes: Array) -> tuple[Float64, Float64]:
        """Return from where to where numbers are rounded to some elements."""
        values, (_, above) = self.values(codes), self.neighbours(codes)
        low = np.where(values == self.limits[0], -np.inf, values)
        return low, np.where(values == self.limits[1], np.inf, above)

    def tie(self, value: Float64, actual: Array, golden: Array, *terms: Float64) -> TieTest:
        """Return the test of numbers against where elements begin; no rounding explains these."""
        test, (low, high) = super().tie(value, actual, golden, *terms), self.ties(actual)
        ours, theirs = self.values(actual), self.values(golden)
        border = np.where(theirs > ours, high, low)
        apart = ours != theirs
        test.tie[apart] = np.where(border == value, np.nan, border)[apart]
        return test


class BlockPart(Part):
    """Some pairs of blocks, each across all that lies behind the axis."""

    model: BlockModel

    def __init__(self, model: BlockModel, first: int, last: int) -> None:
        y = tuple(model.row_of(pair) * model.inner for pair in (first, last))
        scales = (first * model.inner * 2, last * model.inner * 2)
        super().__init__(model, ((y[0], y[1]), scales))
        pair = np.arange(first, last) % max(1, model.pairs)
        self._shape = (last - first, 2, model.block, model.inner)
        self._exists = np.arange(2 * model.block) + 2 * model.block * pair[:, None] < model.length
        self._has_block = np.arange(2) + 2 * pair[:, None] < model.count

    def numbers(self) -> Float32:
        """Return its numbers of shape (pairs, 2, numbers of a block, inner), with 0 for others."""
        numbers: Float32 = self.once("numbers", self._read)
        return numbers

    def _read(self) -> Float32:
        v = self.model.elements.floats(*self.spans[0])
        if self._exists.all():
            return v.reshape(self._shape)
        padded = np.zeros((self._exists.size, self.model.inner), np.float32)
        padded[self._exists.reshape(-1)] = v.reshape(-1, self.model.inner)
        return padded.reshape(self._shape)

    def flat(self, grouped: Array) -> Array:
        """Return numbers as elements of the output, without what filled them up."""
        if self._exists.all():
            return grouped.reshape(-1)
        rows = grouped.reshape(-1, self.model.inner)
        return np.asarray(rows[self._exists.reshape(-1)]).reshape(-1)

    def there(self, scales: Array) -> Array:
        """Return bytes of shape (pairs, 2, inner), 0 for a block that is not there."""
        return np.asarray(np.where(self._has_block[..., None], scales, np.uint8(0)))


class BlockModel(Model):
    """Codes, and one E8M0 byte per block of an axis."""

    has_scale_per_row = False

    def read(self, x: Array, axis: int, block: int) -> None:
        """Take the input, along which axis blocks lie, and how many numbers one has."""
        axis %= x.ndim
        self.x, self.dtype, self.block = x, x.dtype, block
        self.length = x.shape[axis]
        """Numbers along the axis; `inner` of them lie beside each other behind it."""
        self.inner = int(np.prod(x.shape[axis + 1 :], dtype=np.int64))
        self.count = -(-self.length // block)
        self.pairs = -(-self.count // 2)
        self.outer = int(np.prod(x.shape[:axis], dtype=np.int64))
        self.elements = Flat(x)
        self.read_format(self.inputs["dst_type"])
        self.is_packed = bool(self.format.name)
        self.round_mode = self.inputs["round_mode"]
        if self.round_mode == "floor":
            own = {f.name: getattr(self.format, f.name) for f in fields(self.format)}
            self.format = Floored(**own)

    def row_of(self, pair: int) -> int:
        """Return where a pair of blocks begins, in rows of `inner` numbers."""
        before, place = divmod(pair, max(1, self.pairs))
        return int(before * self.length + 2 * place * self.block)

    def format_of(self, output: int) -> Format:
        """Return what the elements of an output stand for."""
        return format_of("float8_e8m0") if self.kinds[output] == "scale" else self.format

    def as_elements(self, output: int, array: Array) -> Array:
        """Return an output as an array of elements: two float4 are packed in a byte."""
        if self.kinds[output] == "scale" or (self.is_packed and array.dtype.name[:6] == "float4"):
            return array.view(np.uint8) if array.dtype.itemsize == 1 else array
        if not self.is_packed or array.dtype != np.uint8 or array.shape == self.x.shape:
            return super().as_elements(output, array)
        return _codes.unpacked(array) if array.ndim else array

    def parts(self) -> list[Part]:
        """Split along the pairs of blocks."""
        step = max(1, PART // max(1, 2 * self.block * self.inner))
        return [BlockPart(self, *pairs) for pairs in ranges(self.outer * self.pairs, step)]

    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Multiply by the golden powers of two, or by those of another output; NaN has none."""
        chosen = self.golden()[self.kinds.index("scale")] if scale is None else scale
        assert chosen is not None
        if self.kinds[output] == "scale":
            return self.format_of(output).values(chosen.reshape(-1)[index]), ()
        row, column = np.divmod(index, self.inner)
        before, row = np.divmod(row, self.length)
        block = row // self.block
        pair = before * self.pairs + block // 2
        byte = chosen.reshape(-1)[(pair * self.inner + column) * 2 + block % 2]
        v = self.elements.take(index).astype(np.float32)
        return np.where(byte == NOT_FINITE, np.nan, v * factor_of(byte)).astype(np.float64), ()


def factor_of(scales: NDArray[np.uint8]) -> Float32:
    """Return what numbers are multiplied by: 2^(BIAS - b), whole float32 down to 2^-127."""
    exponents = BIAS - scales.astype(np.int32)
    return np.asarray(np.ldexp(np.float32(1), exponents), np.float32)


def bytes_of(exponent: Floats, amax: Floats) -> NDArray[np.uint8]:
    """Return the bytes of exponents, the ends for those beyond; NOT_FINITE by their amax."""
    with np.errstate(invalid="ignore"):
        kept = np.clip(np.nan_to_num(exponent) + BIAS, 0, NOT_FINITE - 1)
    return np.where(np.isfinite(amax), kept, NOT_FINITE).astype(np.uint8)
