"""What operators with given scales share: elements with their channels' scales and zero points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from . import steps
from .arithmetic import Floats, as_it_is
from .formula import Formula, Step
from .model import Array, Flat, Float32, Model, Part
from .steps import Operands


class Spread:
    """A parameter of one element, or of one per place on an axis, spread over an array."""

    def __init__(self, values: Any, shape: tuple[int, ...], axis: int = -1) -> None:
        with np.errstate(all="ignore"):
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
        return self.values if self.values.size == 1 else self.at(np.arange(begin, end))


class ElementPart(Part):
    """Some elements, counted in C order."""

    def __init__(self, model: ElementModel, begin: int, end: int) -> None:
        super().__init__(model, ((begin, end),) * len(model.outputs), begin, end)

    def read(self, name: str) -> Floats:
        """Return the numbers, scale or zero_point of its elements; of one for all, that one."""
        source = getattr(self.model, name)
        read = source.floats if isinstance(source, Flat) else source.read
        return self.once(name, lambda: read(*self.range).astype(self.floats, copy=False))

    def operands(self, formula: Formula) -> Operands:
        """Return what a formula quantizes, and by what."""
        return self.call(self._operands, formula["values"], formula["scale"])

    def _operands(self, values: Step, scale: Step) -> Operands:
        return Operands(
            values.function(self.read("elements")),
            scale.function(self.read("scale")),
            None if self.model.zero_point is None else self.read("zero_point"),
            divides=self.model.div_mode,
        )


class ElementModel(Model):
    """An operator that treats each element by itself."""

    x: Array
    scale: Spread
    zero_point: Spread | None = None

    def read(self, x: Any, scale: Any, zero_point: Any, axis: int = -1) -> None:
        """Take the numbers, and parameters along an axis of them."""
        self.x = np.asarray(x)
        self.dtype = self.x.dtype
        self.elements = Flat(self.x)
        self.scale = Spread(scale, self.x.shape, axis)
        if zero_point is not None:
            self.zero_point = Spread(zero_point, self.x.shape, axis)

    def all_zero_points(self) -> list[Float32]:
        """Return the zero points."""
        return [] if self.zero_point is None else [self.zero_point.values]

    def has_sum(self, output: int) -> bool:
        """Tell whether there are zero points."""
        return self.zero_point is not None

    def whole(self) -> list[Part]:
        """Return all elements."""
        return [ElementPart(self, 0, self.x.size)]


def dtype_of(given: Any) -> np.dtype[Any]:
    """Return the dtype of NumPy's arrays for one that an operator takes."""
    row = dtypes.resolve(given)
    assert row is not None
    assert row.numpy is not None
    return row.numpy


# The steps of elements: what is quantized, and by which scale.

INPUTS = (
    Step("", "x", as_it_is),
    *steps.in_16_bits("input as {short}", "{long}(x)", "x.{cast}()", as_it_is, steps.is_float32),
)
CASTS = "hicann/ops-nn quant/ascend_quant_v2, which casts scales to x's dtype"
SCALES = (
    Step("", "scale", as_it_is, roundings=1),  # it may come from its reciprocal
    *steps.in_16_bits("{short} scale", "{long}(scale)", CASTS, as_it_is),
)


def text(formula: Formula) -> str:
    """Return how codes come about."""
    return steps.codes_text(formula, formula["values"].text, formula["scale"].text)


def operands(formula: Formula, part: ElementPart) -> Operands:
    """Return what a formula quantizes, and by what."""
    return part.operands(formula)


def slots(quotients: tuple[Step, ...], zeros: tuple[Step, ...]) -> dict[str, tuple[Step, ...]]:
    """Return the slots of codes by given scales.

    Args:
        quotients: the ways to make it, the reference's first.
        zeros: those to add the zero point, likewise.
    """
    own = {"values": INPUTS, "scale": SCALES, "quotient": quotients}
    others = (steps.FUSED, steps.KEPT_SUM, steps.SUBTRACTED, steps.IGNORED)
    return own | steps.ENDS | {"zero": (*zeros, *others)}
