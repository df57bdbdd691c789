"""The model of npu_add_rms_norm_quant; its formulas are in norm.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import steps
from .model import PART, Array, Exact, Flat, Float32, Float64, Model, Part, ranges
from .norm import REFERENCE, VARIANTS, root_of, roundings_of_mean
from .steps import Operands

__all__ = ["REFERENCE", "VARIANTS", "AddRmsNormQuant"]


class NormPart(Part):
    """Some rows; a row is what gamma covers."""

    def __init__(self, model: AddRmsNormQuant, first: int, last: int) -> None:
        n = model.n
        super().__init__(model, ((first * n, last * n),) * 3)
        self.rows = (first, last)

    @property
    def s(self) -> Float32:
        """The sums, float32."""
        return self.once("s", lambda: self.model.sums(*self.rows))

    @property
    def x(self) -> Array:
        """The sums in the dtype of the inputs."""
        return self.once("x", lambda: self.s.astype(self.model.dtype))


class AddRmsNormQuant(Model):
    """npu_add_rms_norm_quant: a sum, its norm over the last axes, and codes of that."""

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        self.read_format(inputs["dst_type"])
        x1, gamma = inputs["x1"], inputs["gamma"]
        self.dtype: np.dtype[Any] = x1.dtype
        self.n = int(gamma.size)
        self.n_float = np.float32(self.n)
        self.row_count = x1.size // self.n if self.n else 0
        self._terms = (Flat(x1), Flat(inputs["x2"]))
        self.gamma: Float32 = gamma.reshape(-1).astype(np.float32)
        self.beta = self._over_gamma("beta")
        self.scales = (self._over_gamma("scales1"), self._over_gamma("scales2"))
        self.zero_points = (self._over_gamma("zero_points1"), self._over_gamma("zero_points2"))
        with np.errstate(over="ignore"):
            self.epsilon = np.float32(inputs["epsilon"])
        self.div_mode = bool(inputs["div_mode"])

    def all_zero_points(self) -> list[Float32]:
        """Return the zero points of both outputs."""
        return [z for z in self.zero_points if z is not None]

    def allowed_for(self, output: int) -> float:
        """Return k, which grows with the row; x is a sum, rounded to float32 once."""
        if self.kinds[output] != "codes":
            return 1.0
        return super().allowed_for(output) + roundings_of_mean(self.n)

    def has_sum(self, output: int) -> bool:
        """Tell whether there is a beta or a zero point."""
        return self.beta is not None or self.zero_points[output] is not None

    def _over_gamma(self, name: str) -> Float32 | None:
        """Return a parameter as one number, or as one for each element of a row."""
        given = self.inputs[name]
        if given is None:
            return None
        flat: Float32 = given.astype(np.float32).reshape(-1)
        if flat.size in (1, self.n):
            return flat
        return np.tile(flat, self.n // flat.size)

    def sums(self, first: int, last: int) -> Float32:
        """Return rows [first, last) of x1 + x2, in float32."""
        begin, end = first * self.n, last * self.n
        with np.errstate(all="ignore"):
            a, b = (term.floats(begin, end) for term in self._terms)
            return (a + b).reshape(last - first, self.n)

    def _sums_at(self, index: NDArray[np.int64]) -> Float64:
        """Return x1 + x2 of some elements, rounded to float32."""
        a, b = (term.take(index).astype(np.float32) for term in self._terms)
        return (a + b).astype(np.float64)

    def parts(self) -> list[Part]:
        """Split along the rows."""
        step = max(1, PART // max(1, self.n))
        return [NormPart(self, *rows) for rows in ranges(self.row_count, step)]

    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Compute the formula from the float32 sums; for x, the sums."""
        if self.kinds[output] != "codes":
            a, b = (term.take(index).astype(np.float64) for term in self._terms)
            return a + b, (a, b)
        if self.scales[output] is None:  # y2 is zeros, whatever the inputs
            return np.full(len(index), np.nan), ()
        row, column = np.divmod(index, self.n)
        own = (self.scales[output], self.zero_points[output], self.beta)
        factor, zero_point, beta = (_at(values, column) for values in own)
        s, formula, part = self._sums_at(index), self.reference, Part(self)
        product = formula["product"].function(s, self._roots(row), self.gamma[column])
        t = formula["end"].function(product, beta, np.float64)
        q, value = steps.before_rounding(
            formula, part, Operands(t, factor, zero_point, divides=self.div_mode)
        )
        added = [some for some in (product, beta) if some is not None]
        each = [Operands(some, factor, divides=self.div_mode) for some in added]
        terms = [q, *(steps.quotient(formula, part, operands).value for operands in each)]
        return value, (*terms, *([] if zero_point is None else [zero_point]))

    def _roots(self, row: NDArray[np.int64]) -> Float64:
        """Return the roots of these rows in float64."""
        rows, inverse = np.unique(row, return_inverse=True)
        result = np.empty(len(rows))
        offsets = np.arange(self.n)
        n, epsilon = np.float64(self.n), np.float64(self.epsilon)
        for begin, end in ranges(len(rows), max(1, PART // self.n)):
            s = self._sums_at(rows[begin:end, None] * self.n + offsets)
            result[begin:end] = root_of(self.reference, Part(self), s, n, epsilon)
        return result[inverse]


def _at(values: Float32 | None, column: NDArray[np.int64]) -> Float64 | None:
    """Return a parameter at these columns, in float64."""
    if values is None:
        return None
    wide = values.astype(np.float64)
    return wide if wide.size == 1 else wide[column]
