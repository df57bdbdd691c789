"""What the models of operators share that quantize a norm by given scales; see norm.py."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import steps
from .model import Array, Exact, Float32, Part
from .norm_rows import NormModel, at_columns
from .steps import Operands


class NormQuant(NormModel):
    """Codes of a norm, by scales and zero points of its elements."""

    quantizers: tuple[tuple[str, str], ...]
    """The arguments that are scales and zero points, of each output of codes."""

    def prepare(self) -> None:
        """Read the arguments."""
        self.read_norm()
        self.scales = tuple(self.over_gamma(scale) for scale, _ in self.quantizers)
        self.zero_points = tuple(self.over_gamma(zero_point) for _, zero_point in self.quantizers)
        self.div_mode = bool(self.inputs.get("div_mode", True))

    def all_zero_points(self) -> list[Float32]:
        """Return the zero points of all outputs."""
        return [z for z in self.zero_points if z is not None]

    def has_sum(self, output: int) -> bool:
        """Tell whether there is a beta or a zero point."""
        return self.beta is not None or self.zero_points[output] is not None

    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Compute the formula from the float32 sums; for x, the sums."""
        if self.outputs[output] == "rstd":
            rstd = 1 / self.exact_roots(index)
            return rstd, (rstd,)
        if self.kinds[output] != "codes":
            return self.exact_sums(index)
        if self.scales[output] is None:  # y2 is zeros, whatever the inputs
            return np.full(len(index), np.nan), ()
        column = index % max(1, self.n)
        factor = at_columns(self.scales[output], column)
        zero_point = at_columns(self.zero_points[output], column)
        t, added = self.exact_t(index)
        formula, part = self.reference, Part(self)
        q, value = steps.before_rounding(
            formula, part, Operands(t, factor, zero_point, divides=self.div_mode)
        )
        each = [Operands(some, factor, divides=self.div_mode) for some in added]
        terms = [q, *(steps.quotient(formula, part, operands).value for operands in each)]
        return value, (*terms, *([] if zero_point is None else [zero_point]))
