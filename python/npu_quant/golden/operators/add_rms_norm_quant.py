"""The model of npu_add_rms_norm_quant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results import TieTest
from .elements import Float32, Float64
from .model import PART, Array, Flat, Model, Part, code_tie, largest, ranges, value_tie


class NormPart(Part):
    """Some rows; a row is what gamma covers."""

    def __init__(self, model: AddRmsNormQuant, first: int, last: int) -> None:
        n = model.n
        super().__init__(((first * n, last * n),) * 3)
        self.model = model
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

    outputs = ("y1", "y2", "x")
    kinds = ("codes", "codes", "values")

    def __init__(
        self, function: Callable[..., Any], inputs: Mapping[str, Any], numerics: str | None
    ) -> None:
        super().__init__(function, inputs, numerics)
        self.golden()  # which refuses what is no valid input
        x1, gamma = inputs["x1"], inputs["gamma"]
        self.dtype: np.dtype[Any] = x1.dtype
        self.n = int(gamma.size)
        self.row_count = x1.size // self.n if self.n else 0
        self._terms = (Flat(x1), Flat(inputs["x2"]))
        self.gamma: Float32 = gamma.reshape(-1).astype(np.float32)
        self.beta = self._over_gamma("beta")
        self.scales = (self._over_gamma("scales1"), self._over_gamma("scales2"))
        self.zero_points = (self._over_gamma("zero_points1"), self._over_gamma("zero_points2"))
        with np.errstate(over="ignore"):
            self.epsilon = np.float32(inputs["epsilon"])
        self.div_mode = bool(inputs["div_mode"])
        self._bound()

    def _bound(self) -> None:
        """Derive k for the codes.

        The mean of squares: 1 rounding of each square, as many of the sum as a term meets additions
        (L - 1 in its lane of L = ceil(n / 64) elements, 6 between the 64 lanes), 1 of the division,
        1 of adding epsilon: L + 8. All terms are positive, so each is at most 1 ulp of the result.
        The root halves a relative error; then 1 rounding each of the root, the reciprocal, the
        products with rstd and gamma, the sum with beta, the reciprocal of the scale, the product
        with it, and the sum with the zero point: 8.
        """
        depth = -(-self.n // 64)
        self.allowed = 8 + (depth + 8) / 2
        self.allowed_because = (
            f"L + 8 roundings of the mean square, L = ceil({self.n} / 64) = {depth} additions in a "
            "lane, halved by the root, and 8 after it: each at most 1 ulp of the largest term"
        )

    def allowed_for(self, output: int) -> float:
        """Return k; x is a sum, rounded to float32 once."""
        return 1.0 if output == 2 else self.allowed

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

    def parts(self) -> list[Part]:
        """Split along the rows."""
        step = max(1, PART // max(1, self.n))
        return [NormPart(self, *rows) for rows in ranges(self.row_count, step)]

    def before_rounding(
        self,
        output: int,
        index: NDArray[np.int64],
        actual: Array,
        golden: Array,
        scale: Array | None = None,
    ) -> TieTest:
        """Compute the formula in float64 from the float32 sums; for x, the sums in float64."""
        with np.errstate(all="ignore"):
            if output == 2:
                a, b = (term.take(index).astype(np.float64) for term in self._terms)
                return value_tie(a + b, actual, golden, a, b)
            value, terms = self._codes(output, index)
            return code_tie(value, actual, golden, *terms)

    def _codes(self, output: int, index: NDArray[np.int64]) -> tuple[Float64, tuple[Float64, ...]]:
        """Return the numbers before rounding, and the terms that were added up to them."""
        scales, zero_points = self.scales[output], self.zero_points[output]
        if scales is None:  # y2 is zeros, whatever the inputs
            nothing = np.full(len(index), np.nan)
            return nothing, ()
        row, column = np.divmod(index, self.n)
        a, b = (term.take(index).astype(np.float32) for term in self._terms)
        product = (a + b).astype(np.float64) * self._rstd(row) * self.gamma[column]
        beta = 0.0 if self.beta is None else self.beta[column].astype(np.float64)
        factor = _at(scales, column)
        factor = 1 / factor if self.div_mode else factor
        zero_point = 0.0 * product if zero_points is None else _at(zero_points, column)
        scaled = (product + beta) * factor
        terms = (largest(scaled, product * factor, beta * factor), zero_point)
        return scaled + zero_point, terms

    def _rstd(self, row: NDArray[np.int64]) -> Float64:
        """Return 1 / sqrt(mean square + epsilon) of these rows in float64."""
        rows, inverse = np.unique(row, return_inverse=True)
        result = np.empty(len(rows))
        offsets = np.arange(self.n)
        for begin, end in ranges(len(rows), max(1, PART // self.n)):
            index = rows[begin:end, None] * self.n + offsets
            a, b = (term.take(index).astype(np.float32) for term in self._terms)
            square = np.square((a + b).astype(np.float64))
            result[begin:end] = 1 / np.sqrt(square.mean(axis=-1) + np.float64(self.epsilon))
        return result[inverse]


def _at(values: Float32, column: NDArray[np.int64]) -> Float64:
    """Return a parameter at these columns, in float64."""
    wide = values.astype(np.float64)
    return wide if wide.size == 1 else wide[column]
