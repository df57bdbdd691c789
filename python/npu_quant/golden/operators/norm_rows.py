"""Rows and their norm, the source of the models that have one; its formulas are in norm.py."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from ..elements import largest
from .arithmetic import Floats
from .formula import Before, Formula, Output
from .model import ANY, Array, Flat, Float32, Model, Part


def roundings_of_mean(n: int) -> float:
    """Return how many ulp of the root the roundings of n squares, their sum and their mean are.

    1 rounding of each square, as many of the sum as a term meets additions (L - 1 in its lane of
    L = ceil(n / 64) elements, 6 between the 64 lanes), 1 of the division, 1 of adding epsilon: L +
    8. All terms are positive, so each is at most 1 ulp of the result; the root halves them.
    """
    return (-(-n // 64) + 8) / 2


class NormPart(Part):
    """Some rows; a row is what gamma covers."""

    def __init__(self, model: NormModel, first: int, last: int) -> None:
        spans = tuple(model.span(i, first, last) for i in range(len(model.kinds)))
        super().__init__(model, spans, first, last)

    @property
    def s(self) -> Floats:
        """What is normed: rounded to float32, also where formulas have float64."""
        return self.once("s", lambda: self.model.sums(*self.range).astype(self.floats, copy=False))

    @property
    def x(self) -> Array:
        """The same in the dtype of the inputs."""
        return self.once("x", lambda: self.s.astype(self.model.dtype))


class Sums(Output):
    """What is normed, in the dtype of the inputs."""

    def make(self, formula: Formula, part: NormPart) -> Array:
        """Return the elements of a part."""
        return part.x.reshape(-1)

    def before(self, formula: Formula, part: NormPart) -> Before:
        """Return the sums in float64, and the largest of their terms."""
        terms = part.model.terms_of(*part.range, np.float64)
        return reduce(np.add, terms).reshape(-1), largest(*terms).reshape(-1)


class NormModel(Model):
    """The norm of an input, or of the sum of two, by rows."""

    part: type[NormPart] = NormPart
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
        self.n = self.unit = int(gamma.size)
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
        given = self.inputs.get(name)
        if given is None:
            return None
        flat: Float32 = given.astype(np.float32).reshape(-1)
        if flat.size in (1, self.n):
            return flat
        return np.tile(flat, self.n // flat.size)

    def terms_of(self, first: int, last: int, floats: Any) -> list[Floats]:
        """Return rows [first, last) of what is added up."""
        begin, end = first * self.n, last * self.n
        terms = (term.floats(begin, end).astype(floats, copy=False) for term in self._terms)
        return [term.reshape(last - first, self.n) for term in terms]

    def sums(self, first: int, last: int) -> Float32:
        """Return rows [first, last) of what is normed, rounded to float32."""
        with np.errstate(all="ignore"):
            return reduce(np.add, self.terms_of(first, last, np.float32))

    def span(self, output: int, first: int, last: int) -> tuple[int, int]:
        """Return which elements of an output rows [first, last) have: all, one each, or its one."""
        golden = self.golden()[output]
        assert golden is not None
        if golden.shape == self._shape:
            return first * self.n, last * self.n
        is_one = golden.ndim == 0 and len(self._shape) > 1
        return (int(first > 0), 1) if is_one else (first, last)

    def whole(self) -> list[Part]:
        """Return all rows."""
        return [self.part(self, 0, self.row_count)]
