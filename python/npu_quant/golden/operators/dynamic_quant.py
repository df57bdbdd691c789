"""The model of npu_dynamic_quant, and what it shares with npu_dynamic_block_quant.

Both divide groups of elements by a scale that comes from the group's greatest magnitude. A group is
a row here, and a block of a row there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results import TieTest
from .model import PART, Array, Flat, Model, Part, code_tie, ranges, value_tie

Float32 = NDArray[np.float32]


class Groups:
    """Numbers to be quantized in groups, one group a row, and the greatest magnitude of each."""

    def __init__(
        self, v: Float32, amax: Float32 | None = None, reported: Float32 | None = None
    ) -> None:
        self.v = v
        own = np.abs(v).max(axis=-1, initial=0) if amax is None else None
        self.amax: Float32 = own[:, None] if own is not None else np.asarray(amax)
        """Of a shape that broadcasts over v's."""
        self.reported = own if own is not None else reported
        """The same in the order of the scale output; None where that has another shape."""


class GroupedPart(Part):
    """Some rows of the input."""

    def __init__(self, model: GroupedModel, first: int, last: int) -> None:
        n, per_row = model.columns, model.groups_per_row
        super().__init__(((first * n, last * n), (first * per_row, last * per_row)))
        self.model = model
        self.rows = (first, last)

    def groups(self) -> Groups:
        """Return the numbers that are quantized."""
        return self.once("groups", lambda: Groups(self.grouped(self.model.rows(*self.rows))))

    def grouped(self, v: Float32) -> Float32:
        """Return rows cut into groups; the last group of a row is filled up with zeros."""
        model = self.model
        padded = model.groups_per_row * model.width
        if padded != model.columns:
            wide = np.zeros((len(v), padded), np.float32)
            wide[:, : model.columns] = v
            v = wide
        return v.reshape(len(v) * model.groups_per_row, model.width)

    def flat(self, grouped: Array) -> Array:
        """Return groups as elements of the output, without what filled them up."""
        model = self.model
        rows = grouped.reshape(self.rows[1] - self.rows[0], model.groups_per_row * model.width)
        return rows[:, : model.columns].reshape(-1)


class GroupedModel(Model):
    """int8 codes, and one float32 scale per group."""

    outputs = ("y", "scale")
    kinds = ("codes", "scale")
    allowed_because = (
        "1 for the rounding of the golden scale, and up to 3 roundings of another order of "
        "operations, such as x * ((1/amax) * 127): each at most 1 ulp"
    )
    min_scale: np.float32 = np.float32(0)
    smooth: Float32 | None = None

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Mapping[str, Any],
        numerics: str | None,
        x: Array,
        width: int | None,
    ) -> None:
        super().__init__(function, inputs, numerics)
        self.golden()  # which refuses what is no valid input
        self.x = x
        self.columns = x.shape[-1]
        self.tall = max(1, x.shape[-2])
        """Rows of a matrix of the last two axes."""
        self.row_count = int(np.prod(x.shape[:-1], dtype=np.int64))
        self.width = self.columns if width is None else width
        """Elements of a group."""
        self.groups_per_row = 1 if width is None else -(-self.columns // width)
        self._flat = Flat(x)

    def inputs_of_rows(self, first: int, last: int) -> Array:
        """Return rows [first, last) of the input, of its dtype."""
        n = self.columns
        return self._flat.read(first * n, last * n).reshape(last - first, n)

    def rows(self, first: int, last: int) -> Float32:
        """Return the numbers that are quantized, of rows [first, last)."""
        v = self.inputs_of_rows(first, last).astype(np.float32)
        with np.errstate(all="ignore"):
            return v if self.smooth is None else v * self.smooth

    def bounded(self, scale: Float32) -> Float32:
        """Return scales, none above 1 / min_scale."""
        if not self.min_scale > 0:
            return scale
        bound = np.float32(1) / self.min_scale
        return np.where(scale > bound, bound, scale)

    def bounded_below(self, multiplier: Float32) -> Float32:
        """Return multipliers, none below min_scale: the same bound, as the device has it."""
        return np.maximum(multiplier, self.min_scale) if self.min_scale > 0 else multiplier

    def parts(self) -> list[Part]:
        """Split along the rows."""
        step = max(1, PART // max(1, self.columns))
        return [GroupedPart(self, *rows) for rows in ranges(self.row_count, step)]

    def before_rounding(
        self,
        output: int,
        index: NDArray[np.int64],
        actual: Array,
        golden: Array,
        scale: Array | None = None,
    ) -> TieTest:
        """Divide by the golden scales in float64; for the scales themselves, divide amax by 127."""
        if output == 1:
            exact = self._exact_scales(index)
            return value_tie(exact, actual, golden, exact)
        row, column = np.divmod(index, max(1, self.columns))
        scales = self._scales(scale)[row * self.groups_per_row + column // max(1, self.width)]
        v = self._flat.take(index).astype(np.float32)
        with np.errstate(all="ignore"):
            if self.smooth is not None:
                v *= self.smooth[column]
            value = v.astype(np.float64) / scales.astype(np.float64)
        return code_tie(value, actual, golden)

    def _scales(self, scale: Array | None) -> Array:
        chosen = self.golden()[1] if scale is None else scale
        assert chosen is not None
        return chosen.reshape(-1)

    def _exact_scales(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scales of some groups in float64."""
        result = np.empty(len(index))
        offsets = np.arange(self.width)
        for begin, end in ranges(len(index), max(1, PART // max(1, self.width))):
            row, block = np.divmod(index[begin:end], self.groups_per_row)
            column = block[:, None] * self.width + offsets
            missing = column >= self.columns
            column[missing] = 0
            v = self._flat.take(row[:, None] * self.columns + column).astype(np.float32)
            if self.smooth is not None:
                with np.errstate(all="ignore"):
                    v *= self.smooth[column]
            v[missing] = 0
            result[begin:end] = np.abs(v).max(axis=-1, initial=0)
        result /= 127
        return np.minimum(result, 1 / float(self.min_scale)) if self.min_scale > 0 else result

    def matrices(self, first: int, last: int) -> list[int]:
        """Return where matrices of the last two axes begin in rows [first, last), and 0."""
        return [0, *(row - first for row in range(first + 1, last) if row % self.tall == 0)]

    def column_amax(self) -> Float32:
        """Return the greatest magnitude of each column of each matrix of the last two axes."""
        if not hasattr(self, "_column_amax"):
            self._column_amax = self._find_column_amax()
        return self._column_amax

    def _find_column_amax(self) -> Float32:
        tall = self.tall
        result = np.zeros((self.row_count // tall, self.columns), np.float32)
        step = max(1, PART // max(1, self.columns))
        if tall < step:
            for first, last in ranges(len(result), max(1, step // tall)):
                v = self.rows(first * tall, last * tall).reshape(last - first, tall, self.columns)
                np.abs(v, out=v).max(axis=1, initial=0, out=result[first:last])
            return result
        for matrix in range(len(result)):
            for first, last in ranges(tall, step):
                v = self.rows(matrix * tall + first, matrix * tall + last)
                np.maximum(result[matrix], np.abs(v, out=v).max(axis=0), out=result[matrix])
        return result


class DynamicQuant(GroupedModel):
    """npu_dynamic_quant."""

    def __init__(
        self, function: Callable[..., Any], inputs: Mapping[str, Any], numerics: str | None
    ) -> None:
        super().__init__(function, inputs, numerics, inputs["input"], None)
        smooth = inputs["smooth_scales"]
        self.smooth = None if smooth is None else smooth.astype(np.float32)
