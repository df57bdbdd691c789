"""The models of fake quantization, per tensor and per channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results import TieTest
from .elements import ElementModel, Float32, Float64, Spread
from .model import Array, largest


class FakeQuantize(ElementModel):
    """Values moved to the grid of a scale and a zero point, and a mask of those in the range."""

    outputs: tuple[str, ...] = ("output", "mask")
    kinds: tuple[str, ...] = ("values", "mask")

    def __init__(
        self, function: Callable[..., Any], inputs: Mapping[str, Any], numerics: str | None
    ) -> None:
        super().__init__(function, inputs, numerics, inputs["self"])
        axis, shape = int(inputs.get("axis", -1)), self.x.shape
        with np.errstate(all="ignore"):
            self.scale = Spread(inputs["scale"], shape, axis)
        zero_point = np.asarray(inputs["zero_point"])
        self.zero_point = Spread(zero_point, shape, axis)
        self.has_float_zero_points = zero_point.dtype.kind not in "iu"
        self.low, self.high = int(inputs["quant_min"]), int(inputs["quant_max"])
        self.is_on = bool(np.all(np.asarray(inputs.get("fake_quant_enabled", 1)) >= 1))

    def before_rounding(
        self,
        output: int,
        index: NDArray[np.int64],
        actual: Array,
        golden: Array,
        scale: Array | None = None,
    ) -> TieTest:
        """Compute x / scale + zero_point in float64, and find the codes of the outputs."""
        if not self.is_on:
            nothing = np.full(len(index), np.nan)
            return TieTest(nothing, nothing, nothing, np.full(len(index), np.inf))
        quotient, zero_point = self.terms(index)
        with np.errstate(all="ignore"):
            value = quotient + zero_point
        if output == 1:
            ends = (self.low - 0.5, self.high + 0.5)
            tie = np.where(np.abs(value - ends[0]) < np.abs(value - ends[1]), *ends)
            return TieTest(value, tie, largest(tie, quotient, zero_point), np.ones(len(index)))
        grid = Grid(self, index)
        near = np.clip(np.nan_to_num(np.rint(value), nan=self.low), self.low, self.high)
        expected = grid.code(golden, near)
        found = grid.code(actual, np.nan_to_num(expected))
        tie = (expected + found) / 2
        steps = np.nan_to_num(np.abs(found - expected), nan=np.inf)
        return TieTest(value, tie, largest(tie, quotient, zero_point), steps)


class Grid:
    """What each code stands for, at some elements."""

    def __init__(self, model: FakeQuantize, index: NDArray[np.int64]) -> None:
        self._model = model
        self._scale = model.scale.at(index)
        self._zero_point = model.zero_point.at(index)
        self._sign = np.where(self._scale < 0, np.float32(-1), np.float32(1))

    def values(self, codes: Float64) -> Array:
        """Return what codes stand for, in the output's dtype."""
        return on_grid(
            codes, self._zero_point, self._scale, self._model.has_float_zero_points
        ).astype(self._model.x.dtype)

    def _rising(self, values: Array) -> Float32:
        return np.asarray(values.astype(np.float32) * self._sign)

    def code(self, values: Array, near: Float64) -> Float64:
        """Return the codes that stand for these values, the nearest of several; NaN for none.

        A value of few bits can be that of many codes, which lie together: a search for both ends.
        """
        wanted = self._rising(values)
        low = self._first(lambda codes: self._rising(self.values(codes)) >= wanted)
        beyond = self._first(lambda codes: self._rising(self.values(codes)) > wanted)
        code = np.minimum(np.maximum(near, low), beyond - 1)
        with np.errstate(all="ignore"):
            stands = self.values(code) == values
        return np.where(stands, code, np.nan)

    def _first(self, reached: Callable[[Float64], NDArray[np.bool_]]) -> Float64:
        """Return the first codes for which it is so, quant_max + 1 if for none."""
        size = np.broadcast_shapes(self._scale.shape, self._zero_point.shape)
        low = np.full(size, float(self._model.low))
        high = np.full(size, float(self._model.high + 1))
        with np.errstate(all="ignore"):
            for _ in range((self._model.high - self._model.low + 1).bit_length()):
                middle = np.floor((low + high) / 2)
                there = reached(middle) & (middle < high)
                low, high = (
                    np.where(there, low, np.minimum(middle + 1, high)),
                    np.where(there, middle, high),
                )
        return high


def on_grid(codes: Array, zero_point: Float32, scale: Float32, in_float64: bool) -> Float32:
    """Return what clamped codes stand for, in float32 (docs/numerics.md 6)."""
    if in_float64:
        return ((codes - zero_point.astype(np.float64)) * scale.astype(np.float64)).astype(
            np.float32
        )
    return (codes.astype(np.float32) - zero_point) * scale


class FakeQuantizeOnly(FakeQuantize):
    """The forms without a mask."""

    outputs = ("output",)
    kinds = ("values",)
