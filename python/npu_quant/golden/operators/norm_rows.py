"""Rows and their norm, the source of the models that quantize one; its formulas are in norm.py."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .model import ANY, PART, Array, Exact, Flat, Float32, Float64, Model, Part, ranges
from .norm import root_of, roundings_of_mean

__all__ = ["NormModel", "NormPart", "at_columns"]


class NormPart(Part):
    """Some rows; a row is what gamma covers."""

    def __init__(self, model: NormModel, first: int, last: int) -> None:
        super().__init__(model, tuple(model.span(i, first, last) for i in range(len(model.kinds))))
        self.rows = (first, last)

    @property
    def s(self) -> Float32:
        """What is normed, float32."""
        return self.once("s", lambda: self.model.sums(*self.rows))

    @property
    def x(self) -> Array:
        """The same in the dtype of the inputs."""
        return self.once("x", lambda: self.s.astype(self.model.dtype))


class NormModel(Model):
    """The norm of an input, or of the sum of two, by rows."""

    terms: tuple[str, ...] = ("x",)
    """The arguments that are added up."""
    codes_dtype = "dst_type"
    """The argument that names the format of the codes, where there is one."""

    def read_norm(self) -> None:
        """Read the arguments of the norm, and the format."""
        inputs = self.inputs
        first, gamma = inputs[self.terms[0]], inputs["gamma"]
        self.read_format(inputs.get(self.codes_dtype))
        self.dtype: np.dtype[Any] = first.dtype
        self.n = int(gamma.size)
        self.n_float = np.float32(self.n)
        self.row_count = first.size // self.n if self.n else math.prod(first.shape[:-1])
        self._terms = tuple(Flat(inputs[name]) for name in self.terms)
        self._shape = first.shape
        self.gamma: Float32 = gamma.reshape(-1).astype(np.float32)
        self.beta = self.over_gamma("beta")
        with np.errstate(over="ignore"):
            self.epsilon = np.float32(inputs["epsilon"])

    def allowed_for(self, output: int) -> float:
        """Return k, which grows with the row; x is a sum, rounded to float32 once."""
        if self.outputs[output] in ("x", "x_out"):
            return 1.0
        return super().allowed_for(output) + roundings_of_mean(self.n)

    def most_steps(self, output: int) -> float:
        """Return any number of rstd and scales, which the roundings of a row move by up to k."""
        is_of_row = self.kinds[output] != "codes" and self.outputs[output] not in ("x", "x_out")
        return ANY if is_of_row else super().most_steps(output)

    def over_gamma(self, name: str) -> Float32 | None:
        """Return a parameter as one number, or as one for each element of a row."""
        given = self.inputs[name]
        if given is None:
            return None
        flat: Float32 = given.astype(np.float32).reshape(-1)
        if flat.size in (1, self.n):
            return flat
        return np.tile(flat, self.n // flat.size)

    def sums(self, first: int, last: int) -> Float32:
        """Return rows [first, last) of what is normed, in float32."""
        begin, end = first * self.n, last * self.n
        with np.errstate(all="ignore"):
            total = reduce(np.add, (term.floats(begin, end) for term in self._terms))
        return total.reshape(last - first, self.n)

    def _terms_at(self, index: NDArray[np.int64], dtype: Any) -> tuple[Array, ...]:
        return tuple(term.take(index).astype(dtype) for term in self._terms)

    def _sums_at(self, index: NDArray[np.int64]) -> Float64:
        """Return some elements of what is normed, rounded to float32."""
        return reduce(np.add, self._terms_at(index, np.float32)).astype(np.float64)

    def span(self, output: int, first: int, last: int) -> tuple[int, int]:
        """Return which elements of an output rows [first, last) have: all, one each, or its one."""
        golden = self.golden()[output]
        assert golden is not None
        if golden.shape == self._shape:
            return first * self.n, last * self.n
        is_one = golden.ndim == 0 and len(self._shape) > 1
        return (int(first > 0), 1) if is_one else (first, last)

    def parts(self, size: int | None = None) -> list[Part]:
        """Split along the rows."""
        step = max(1, (size or PART) // max(1, self.n))
        every = list(ranges(self.row_count, step)) or [(0, 0)]
        return [self.part(*rows) for rows in every]

    def part(self, first: int, last: int) -> Part:
        """Return some rows."""
        return NormPart(self, first, last)

    def exact_sums(self, index: NDArray[np.int64]) -> Exact:
        """Return the sums of some elements before they are rounded."""
        terms = self._terms_at(index, np.float64)
        return reduce(np.add, terms), terms

    def exact_t(self, index: NDArray[np.int64]) -> tuple[Float64, list[Float64]]:
        """Compute t of some elements from the float32 sums, and what it is the sum of."""
        row, column = np.divmod(index, max(1, self.n))
        s, formula, beta = self._sums_at(index), self.reference, at_columns(self.beta, column)
        product = formula["product"].function(s, self.exact_roots(row), self.gamma[column])
        t = formula["end"].function(product, beta, np.float64)
        return t, [some for some in (product, beta) if some is not None]

    def exact_roots(self, row: NDArray[np.int64]) -> Float64:
        """Return the roots of these rows in float64."""
        rows, inverse = np.unique(row, return_inverse=True)
        result = np.empty(len(rows))
        offsets = np.arange(self.n)
        n, epsilon = np.float64(self.n), np.float64(self.epsilon)
        for begin, end in ranges(len(rows), max(1, PART // max(1, self.n))):
            s = self._sums_at(rows[begin:end, None] * self.n + offsets)
            result[begin:end] = root_of(self.reference, Part(self), s, n, epsilon)
        return result[inverse]


def at_columns(values: Float32 | None, column: NDArray[np.int64]) -> Float64 | None:
    """Return a parameter at these columns, in float64."""
    if values is None:
        return None
    wide = values.astype(np.float64)
    return wide if wide.size == 1 else wide[column]
