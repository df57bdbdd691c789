"""What operators with given scales share: elements with their channels' scales and zero points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results import TieTest
from .model import PART, Array, Flat, Model, Part, code_tie, ranges

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]


class Spread:
    """A parameter of one element, or of one per place on an axis, spread over an array."""

    def __init__(self, values: Any, shape: tuple[int, ...], axis: int = -1) -> None:
        self.values: Float32 = np.asarray(values).astype(np.float32).reshape(-1)
        self._inner = int(np.prod(shape[axis % len(shape) + 1 :])) if shape else 1

    def at(self, index: NDArray[np.int64]) -> Float32:
        """Return its values at these elements of the array, one for all if there is only one."""
        if self.values.size == 1:
            return self.values
        if self._inner != 1:
            index = index // self._inner
        return self.values[index % self.values.size]

    def read(self, begin: int, end: int) -> Float32:
        """Return its values at elements [begin, end)."""
        if self.values.size == 1:
            return self.values
        return self.at(np.arange(begin, end))


class ElementPart(Part):
    """Some elements, counted in C order."""

    def __init__(self, model: ElementModel, begin: int, end: int) -> None:
        super().__init__(((begin, end),) * len(model.outputs))
        self.model: Any = model
        self.range = (begin, end)

    @property
    def x(self) -> Float32:
        """The elements, widened."""
        return self.once("x", lambda: self.model.elements.floats(*self.range))

    @property
    def scale(self) -> Float32:
        """Their scales, or the only one."""
        return self.once("scale", lambda: self.model.scale.read(*self.range))

    @property
    def zero_point(self) -> Float32:
        """Their zero points, or the only one; 0 where none are given."""
        return self.once("zero point", lambda: self.model.zero_point.read(*self.range))


class ElementModel(Model):
    """An operator that treats each element by itself."""

    allowed_because = (
        "up to 3 roundings (reciprocal of the scale, product, sum with the zero point) and 1 of a "
        "scale that arrived as a reciprocal: each at most 1 ulp of the largest term"
    )

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Mapping[str, Any],
        numerics: str | None,
        x: Any,
    ) -> None:
        super().__init__(function, inputs, numerics)
        self.golden()  # which refuses what is no valid input
        self.x = np.asarray(x)
        self.elements = Flat(self.x)
        self.scale: Spread
        self.zero_point = Spread(0, self.x.shape)
        self.has_zero_point = True

    def parts(self) -> list[Part]:
        """Split along the elements."""
        return [ElementPart(self, *some) for some in ranges(self.x.size, PART)]

    def terms(self, index: NDArray[np.int64]) -> tuple[Float64, Float64]:
        """Return x / scale and the zero point of these elements, in float64."""
        with np.errstate(all="ignore"):
            quotient = self.elements.take(index).astype(np.float64) / self.scale.at(index)
        return quotient, np.broadcast_to(self.zero_point.at(index), index.shape).astype(np.float64)

    def before_rounding(
        self,
        output: int,
        index: NDArray[np.int64],
        actual: Array,
        golden: Array,
        scale: Array | None = None,
    ) -> TieTest:
        """Compute x / scale + zero_point in float64, of codes."""
        quotient, zero_point = self.terms(index)
        with np.errstate(all="ignore"):
            return code_tie(quotient + zero_point, actual, golden, quotient, zero_point)

    def has_integral_zero_points(self) -> bool:
        """Tell whether rounding before or after the zero point is added is all the same."""
        values = self.zero_point.values
        return bool(np.all(values == np.rint(values)))

    def has_zero_points(self) -> bool:
        """Tell whether there are zero points other than 0."""
        return bool(np.any(self.zero_point.values != 0))
