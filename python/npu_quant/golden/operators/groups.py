"""What npu_dynamic_quant and npu_dynamic_block_quant share.

Both divide groups of elements by a scale that comes from the group's greatest magnitude. A group is
a row in one, and a block of a row in the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats import whole
from . import steps
from .arithmetic import Floats
from .formula import Formula, Glance, Other, Step
from .model import PART, Array, Exact, Flat, Float32, Model, Part, ranges
from .steps import Operands


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

    model: GroupedModel

    def __init__(self, model: GroupedModel, first: int, last: int) -> None:
        n, per_row = model.columns, model.groups_per_row
        super().__init__(model, ((first * n, last * n), (first * per_row, last * per_row)))
        self.rows = (first, last)

    def groups(self) -> Groups:
        """Return the numbers that are quantized."""
        return self.once("groups", lambda: self.grouped(self.model.rows(*self.rows)))

    def grouped(self, v: Float32) -> Groups:
        """Return rows cut into groups; the last group of a row is filled up with zeros."""
        model = self.model
        padded = model.groups_per_row * model.width
        if padded != model.columns:
            wide = np.zeros((len(v), padded), np.float32)
            wide[:, : model.columns] = v
            v = wide
        return Groups(v.reshape(len(v) * model.groups_per_row, model.width))

    def flat(self, grouped: Array) -> Array:
        """Return groups as elements of the output, without what filled them up."""
        model = self.model
        rows = grouped.reshape(self.rows[1] - self.rows[0], model.groups_per_row * model.width)
        return rows[:, : model.columns].reshape(-1)


class GroupedModel(Model):
    """int8 codes, and one float32 scale per group."""

    min_scale: np.float32 = np.float32(0)
    smooth: Float32 | None = None
    format = whole(np.int8)

    def read(self, x: Array, width: int | None) -> None:
        """Take the input; a group has so many elements, None: a row of them."""
        self.x, self.dtype = x, x.dtype
        self.columns = x.shape[-1]
        self.tall = max(1, x.shape[-2])
        """Rows of a matrix of the last two axes."""
        self.row_count = int(np.prod(x.shape[:-1], dtype=np.int64))
        self.width = self.columns if width is None else width
        """Elements of a group."""
        self.groups_per_row = 1 if width is None else -(-self.columns // width)
        self._flat = Flat(x)

    def inputs_of_rows(self, first: int, last: int) -> Float32:
        """Return rows [first, last) of the input, widened."""
        n = self.columns
        return self._flat.floats(first * n, last * n).reshape(last - first, n)

    def smoothed(self, v: Float32, column: Any = slice(None)) -> Float32:
        """Return numbers of some columns times their factors, in float32."""
        with np.errstate(all="ignore"):
            return v if self.smooth is None else v * self.smooth[column]

    def rows(self, first: int, last: int) -> Float32:
        """Return the numbers that are quantized, of rows [first, last)."""
        return self.smoothed(self.inputs_of_rows(first, last))

    def parts(self) -> list[Part]:
        """Split along the rows."""
        step = max(1, PART // max(1, self.columns))
        return [GroupedPart(self, *rows) for rows in ranges(self.row_count, step)]

    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Divide by the golden scales; for the scales themselves, divide amax."""
        if self.kinds[output] == "scale":
            exact = scale_of(self.reference, self, self._amax(index))
            return exact, (exact,)
        row, column = np.divmod(index, max(1, self.columns))
        group = row * self.groups_per_row + column // max(1, self.width)
        v = self.smoothed(self._flat.take(index).astype(np.float32), column)
        chosen = self.golden()[self.kinds.index("scale")] if scale is None else scale
        assert chosen is not None
        wide = Operands(v.astype(np.float64), chosen.reshape(-1)[group].astype(np.float64))
        return steps.before_rounding(self.reference, Part(self), wide)[1], ()

    def _amax(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the greatest magnitudes of some groups."""
        result = np.empty(len(index))
        offsets = np.arange(self.width)
        for begin, end in ranges(len(index), max(1, PART // max(1, self.width))):
            row, block = np.divmod(index[begin:end], self.groups_per_row)
            column = block[:, None] * self.width + offsets
            missing = column >= self.columns
            column[missing] = 0
            v = self._flat.take(row[:, None] * self.columns + column).astype(np.float32)
            v = self.smoothed(v, column)
            v[missing] = 0
            result[begin:end] = np.abs(v).max(axis=-1, initial=0)
        return result

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


def is_smoothed(model: GroupedModel) -> bool:
    """Tell whether smooth_scales are given."""
    return model.smooth is not None


def is_unbounded(model: GroupedModel) -> bool:
    """Tell whether there is no min_scale."""
    return not model.min_scale > 0


# Which numbers, in which groups.


def per_tensor(part: GroupedPart) -> Groups:
    """Group everything into one."""
    v, amax = part.groups().v, part.model.column_amax().max(initial=0)
    return Groups(v, np.full((1, 1), amax, np.float32), np.full(len(v), amax, np.float32))


def per_column(part: GroupedPart) -> Groups:
    """Group along the axis before the last; the scales only fit if both have the same length."""
    model, amax = part.model, part.model.column_amax()
    matrix = np.arange(*part.rows) // model.tall
    same = len(matrix) == 0 or matrix[0] == matrix[-1]
    each = amax[matrix[:1]] if same else amax[matrix]
    fits = model.tall == model.columns
    return Groups(part.groups().v, each, amax.reshape(-1)[slice(*part.rows)] if fits else None)


def one_amax(matrices: bool) -> Glance:
    """Return whether one amax for all, or for each column of a matrix, can have made some codes.

    A code c of v says that 127 |v| / amax lies in |c| - 0.5 to |c| + 0.5, but for roundings: all
    elements must leave some amax. So no other part of the input needs to be read.
    """

    def glance(part: GroupedPart, actual: Callable[[int], Array | None]) -> bool:
        y, model = actual(0), part.model
        if y is None or y.size == 0 or not is_unbounded(model):
            return True
        rows = part.rows[1] - part.rows[0]
        v = np.abs(part.groups().v).reshape(rows, -1)[:, : model.columns]
        code = np.abs(y.astype(np.float32)).reshape(v.shape)
        v = np.where(v < 1e-30, np.float32(0), v)  # whose scales may be 0, and codes anything
        code = np.where(v == 0, np.float32(0), code)
        half = np.float32(0.501)
        begins = model.matrices(*part.rows) if matrices else [0]
        least = np.fmax.reduceat(np.float32(127) * v / (code + half), begins, axis=0)
        most = np.fmin.reduceat(np.float32(127) * v / np.maximum(code - half, 0), begins, axis=0)
        if not matrices:
            least, most = np.fmax.reduce(least, axis=1), np.fmin.reduce(most, axis=1)
        return not bool(np.any(least > most))

    return glance


def rounded_input(stored: Callable[[Float32], Float32]) -> Callable[[GroupedPart], Groups]:
    """Return the groups of an input that is rounded first."""
    return lambda part: part.grouped(
        part.model.smoothed(stored(part.model.inputs_of_rows(*part.rows)))
    )


def divided_by_smooth(part: GroupedPart) -> Groups:
    """Use smooth_scales the other way round."""
    v, smooth = part.model.inputs_of_rows(*part.rows), part.model.smooth
    return part.grouped(v if smooth is None else v / smooth)


AS_GIVEN = Step("", "", lambda part: part.groups())
PER_TENSOR = Other(
    "per tensor",
    "max |x| of all rows",
    per_tensor,
    "quant_mode pertensor",
    glance=one_amax(matrices=False),
)
PER_COLUMN = Other(
    "per column",
    "max |x| along the axis before the last",
    per_column,
    "swapped axes",
    glance=one_amax(matrices=True),
)
INPUTS = steps.in_16_bits(
    "input as {short}", "max |{long}(x)|", "x.{cast}()", rounded_input, steps.is_float32
)
SMOOTH_IGNORED = Other(
    "smooth_scales ignored",
    "max |input|, x = input",
    lambda part: part.grouped(part.model.inputs_of_rows(*part.rows)),
    steps.MISTAKE,
    is_smoothed,
)
SMOOTH_DIVIDES = Other(
    "divided by smooth_scales",
    "max |x|, x = input / smooth_scales",
    divided_by_smooth,
    "SmoothQuant's factors, whose activations are divided",
    is_smoothed,
)

# What a formula makes of a part. Its slots: values, scale, bound, reported, and those of codes.


def scale_of(formula: Formula, model: GroupedModel, amax: Floats) -> Floats:
    """Return the scales of groups."""
    with np.errstate(all="ignore"):
        scale = formula["scale"].function(amax)
        return formula["bound"].function(scale, model.min_scale)


def bounded(scale: Floats, min_scale: np.float32) -> Floats:
    """Return scales, none above 1 / min_scale."""
    if not min_scale > 0:
        return scale
    bound = np.float32(1) / min_scale.astype(scale.dtype)
    return np.where(scale > bound, bound, scale)


def _groups(formula: Formula, part: GroupedPart) -> Groups:
    groups: Groups = part.call(formula["values"].function, part)
    return groups


def y(formula: Formula, part: GroupedPart) -> Array:
    """Return the codes of a part."""

    def operands() -> Operands:
        groups, model = _groups(formula, part), part.model
        scale = part.same(scale_of(formula, model, groups.amax))
        return Operands(groups.v, scale, amax=groups.amax, least=model.min_scale)

    own = part.once(tuple(formula[s] for s in ("values", "scale", "bound")), operands)
    return part.call(part.flat, steps.codes(formula, part, own))


def scales(formula: Formula, part: GroupedPart) -> Array | None:
    """Return the scales of a part, or what is handed over instead."""
    amax = _groups(formula, part).reported
    if amax is None:
        return None
    scale = scale_of(formula, part.model, amax)
    other: Array = formula["reported"].function(scale, amax, part.model.min_scale)
    return np.asarray(part.same(other))


def text(formula: Formula) -> str:
    """Return how scale and y come about."""
    scale = formula["bound"].text.format(scale=formula["scale"].text)
    other, amax = formula["reported"].text.format(scale=scale), formula["values"].text
    y = steps.codes_text(formula, scale="scale" if other == scale else f"({scale})")
    return f"scale = {other}, y = {y}" + (f", amax = {amax}" if amax else "")
