"""Fake quantization, per tensor and per channel: values moved to a grid, and a mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..elements import largest
from ..results import TieTest
from . import elements, steps
from .arithmetic import Floats, as_it_is, to_float16
from .elements import ElementModel, ElementPart
from .formula import Form, Formula, Variant
from .model import Array, Exact, Float32, Float64

KERNELS = "hicann/ops-nn quant/fake_quant_affine_cachemask/op_kernel"
INT32 = (-(2.0**31), 2.0**31 - 1)


class FakeQuantize(ElementModel):
    """Values moved to the grid of a scale and a zero point, and a mask of those in the range."""

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        zero_point = np.asarray(inputs["zero_point"])
        self.read(inputs["self"], inputs["scale"], zero_point, int(inputs.get("axis", -1)))
        self.has_float_zero_points = zero_point.dtype.kind not in "iu"
        self.low, self.high = int(inputs["quant_min"]), int(inputs["quant_max"])
        self.is_on = bool(np.all(np.asarray(inputs.get("fake_quant_enabled", 1)) >= 1))

    @property
    def reference(self) -> Formula:
        """The formula of its codes: float zero points are added before rounding."""
        return resolved(REFERENCE, self)

    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Return x / scale + zero_point, and NaN where it is switched off."""
        value, terms = super().exact(output, index, scale)
        return value if self.is_on else np.full_like(value, np.nan), terms

    def grid(self, output: int, index: NDArray[np.int64]) -> Any:
        """Return what the elements' codes stand for; of a mask where its range ends."""
        return Ends(self) if self.kinds[output] == "mask" else Grid(self, index)


class Ends:
    """Where the range of a mask ends."""

    def __init__(self, model: FakeQuantize) -> None:
        self._ends = (model.low - 0.5, model.high + 0.5)

    def tie(self, value: Float64, actual: Array, golden: Array, *terms: Float64) -> TieTest:
        """Compare numbers with the end that is nearer."""
        low, high = self._ends
        tie = np.where(np.abs(value - low) < np.abs(value - high), low, high)
        steps = np.where(np.isnan(value), np.inf, 1.0)
        return TieTest(value, tie, largest(tie, *terms), steps)


class Grid:
    """What each code stands for, at some elements."""

    def __init__(self, model: FakeQuantize, index: NDArray[np.int64]) -> None:
        assert model.zero_point is not None
        self._model = model
        self._scale = model.scale.at(index)
        self._zero_point = model.zero_point.at(index)
        self._sign = np.where(self._scale < 0, np.float32(-1), np.float32(1))

    def tie(self, value: Float64, actual: Array, golden: Array, *terms: Float64) -> TieTest:
        """Find the codes of outputs, and compare numbers with the tie between them."""
        low, high = self._model.low, self._model.high
        near = np.clip(np.nan_to_num(np.rint(value), nan=low), low, high)
        expected = self.code(golden, near)
        found = self.code(actual, np.nan_to_num(expected))
        tie = (expected + found) / 2
        apart = np.nan_to_num(np.abs(found - expected), nan=np.inf)
        return TieTest(value, tie, largest(tie, *terms), apart)

    def values(self, codes: Float64) -> Array:
        """Return what codes stand for, in the output's dtype."""
        return on_grid(
            codes, self._zero_point, self._scale, self._model.has_float_zero_points
        ).astype(self._model.dtype)

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
        wide = (codes - zero_point.astype(np.float64)) * scale.astype(np.float64)
        return wide.astype(np.float32)
    return (codes.astype(np.float32) - zero_point) * scale


# How its formulas are put together.

ZERO = replace(steps.AFTER, name="")
"""The reference's: after rounding, but before it if zero points are floats."""
BEFORE_FLOATS = replace(
    steps.BEFORE,
    function=lambda *some: steps.BEFORE.function(*some) + np.float32(0),  # no -0
)
BEFORE_INTEGERS = replace(
    steps.BEFORE,
    applies=lambda m: m.is_on and not m.has_float_zero_points and steps.has_zero_points(m),
)
AFTER_FLOATS = replace(
    steps.AFTER_INSTEAD,
    applies=lambda m: m.is_on and m.has_float_zero_points and steps.has_zero_points(m),
)
ZEROS = (ZERO, BEFORE_INTEGERS, AFTER_FLOATS)


def resolved(formula: Formula, model: FakeQuantize) -> Formula:
    """Return a formula with the step that adds zero points of the model's kind."""
    if formula["zero"] is ZERO and model.has_float_zero_points:
        return formula.but(zero=BEFORE_FLOATS)
    return formula


def codes(formula: Formula, part: ElementPart) -> Floats:
    """Return the codes before they are clamped."""
    return steps.rounded(resolved(formula, part.model), part, part.operands(formula))


def dequantized(part: ElementPart, c: Float32, scale: Float32, wide: bool | None = None) -> Array:
    """Return what clamped codes stand for."""
    model = part.model
    in_float64 = model.has_float_zero_points if wide is None else wide
    values = on_grid(c, part.read("zero_point"), scale, in_float64)
    return np.asarray(values.astype(model.dtype))


def output(formula: Formula, part: ElementPart) -> Array:
    """Return the output; NaN counts as below the range."""
    if not part.model.is_on:
        return np.asarray(part.model.elements.read(*part.range))
    low = np.float32(formula["clamp"].function(part.model.low))
    return part.call(_output, part, codes(formula, part), low, part.operands(formula).scale)


def _output(part: ElementPart, q: Float32, low: Any, scale: Float32) -> Array:
    c = np.where(np.isnan(q), low, np.clip(q, low, np.float32(part.model.high)))
    return dequantized(part, c, scale)


def mask(formula: Formula, part: ElementPart) -> Array:
    """Return the mask."""
    if not part.model.is_on:
        return np.ones(part.range[1] - part.range[0], np.bool_)
    low = formula["clamp"].function(part.model.low)
    return part.call(_mask, codes(formula, part), low, part.model.high)


def _mask(q: Float32, low: int, high: int) -> Array:
    return np.asarray((low <= q) & (q <= high))


FORM = Form(
    {"values": elements.VALUES, "scale": elements.SCALE, "quotient": steps.RECIPROCAL}
    | steps.ENDS
    | {"zero": ZERO},
    lambda formula: f"q = {elements.text(formula)}",
    (output, mask),
)
REFERENCE = FORM.formula()


# The devices' formulas: docs/numerics.md 4.


def to_int32(t: Float32) -> Floats:
    """Convert to int32 with saturation, ties to even, and back; NaN is 0."""
    whole = np.nan_to_num(np.rint(t), posinf=np.inf, neginf=-np.inf)
    return np.asarray(np.clip(whole, *INT32), np.float32)


def device(part: ElementPart) -> tuple[Float32, Float32]:
    """Return what is compared with the range, and what is clamped."""
    t, z = part.read("elements") * (np.float32(1) / part.read("scale")), part.read("zero_point")
    if part.model.has_float_zero_points:
        t = to_int32(t + z)
        return t, t
    t = to_int32(t) + z
    return t, to_int32(t)


def device_output(part: ElementPart) -> Array:
    """Return the output; NaN stands for code 0, and the product is float32."""
    c = np.clip(part.call(device, part)[1], np.float32(part.model.low), np.float32(part.model.high))
    c = np.where(np.isnan(part.read("elements")), np.float32(0), c)
    return dequantized(part, c, part.read("scale"), wide=False)


def device_mask(part: ElementPart) -> Array:
    """Return the mask; of float16 it is compared in float16."""
    model = part.model
    kept = to_float16 if model.dtype == np.float16 else as_it_is
    t, low, high = kept(part.call(device, part)[0]), np.float32(model.low), np.float32(model.high)
    return np.asarray((t >= kept(low)) & (t <= kept(high)))


def new_device(part: ElementPart) -> Floats:
    """Return the codes of the 950 before they are clamped; NaN is 0."""
    q = np.rint(part.read("elements") / part.read("scale") + part.read("zero_point"))
    return np.where(np.isnan(q), np.float32(0), q)


def new_device_output(part: ElementPart) -> Array:
    """Return the output of the 950."""
    return _output(part, new_device(part), np.float32(part.model.low), part.read("scale"))


def new_device_mask(part: ElementPart) -> Array:
    """Return the mask of the 950."""
    return _mask(new_device(part), part.model.low, part.model.high)


def overflowing(part: ElementPart) -> Array:
    """Return the output with codes beyond int64 at the low end, as x86 converts them."""
    q, low = codes(REFERENCE, part), np.float32(part.model.low)
    return _output(part, np.where(np.abs(q) < np.float32(2.0**63), q, low), low, part.read("scale"))


def strict_mask(part: ElementPart) -> Array:
    """Return a mask without the ends of the range."""
    q = codes(REFERENCE, part)
    return np.asarray((part.model.low < q) & (q < part.model.high))


def is_on(model: FakeQuantize) -> bool:
    """Tell whether fake quantization is switched on."""
    return model.is_on


def own(
    name: str, summary: str, source: str, output: Any, mask: Any, profile: str | None = None
) -> Variant:
    """Return a row that is not made of steps; profiles are benign."""
    return Variant(
        name, profile is not None, summary, source, (output, mask), is_on, profile=profile
    )


def formulas() -> Iterator[Formula]:
    """Every benign order of operations and rule for ties, then others."""
    pair, form = (steps.RECIPROCAL, steps.DIVIDED), FORM.formula
    for rounding, zero, quotient in product((steps.HALF_EVEN, steps.HALF_AWAY), ZEROS, pair):
        yield form(quotient=quotient, zero=zero, round=rounding)
    yield form(round=steps.HALF_UP)
    yield form(zero=steps.FUSED)
    for rounding, zero, quotient in product(steps.OTHER_ROUNDINGS, ZEROS, pair):
        yield form(quotient=quotient, zero=zero, round=rounding)
    for kept, quotient in product((steps.FLOAT16, steps.BFLOAT16), pair):
        yield form(quotient=quotient, kept=kept)
    for zero in (steps.SUBTRACTED, steps.IGNORED):
        yield form(zero=zero)
    yield form(quotient=steps.MULTIPLIED)
    for values in elements.INPUTS:
        yield form(values=values)


NARROWED = replace(steps.CLAMP, benign=False, function=lambda low: low + 1)
VARIANTS: tuple[Variant, ...] = (
    REFERENCE.row(source="docs/numerics.md 6"),
    own(
        "ascend910b",
        "q = rint(x * (1 / scale)) + zero_point in int32, NaN is 0; mask of float16 in float16",
        f"{KERNELS}/fake_quant_affine_cachemask_fp32.h:99-145",
        device_output,
        device_mask,
        "ascend910b",
    ),
    own(
        "ascend950",
        "q = rint(x / scale + zero_point), NaN is 0",
        f"{KERNELS}/arch35",
        new_device_output,
        new_device_mask,
        "ascend950",
    ),
    *FORM.rows(formulas(), applies=is_on),
    own(
        "beyond int64 is quant_min",
        "q = rint(x * (1 / scale)) + zero_point; from 2 ** 63 on, and inf: quant_min",
        "torch 2.13 per channel on x86",
        overflowing,
        lambda part: mask(REFERENCE, part),
    ),
    FORM.formula(clamp=NARROWED).row(
        "narrow range",
        "symmetric quantization of weights",
        "c = clamp(q, quant_min + 1, quant_max)",
        is_on,
    ),
    own(
        "mask without the ends",
        "mask = quant_min < q < quant_max",
        steps.MISTAKE,
        lambda part: output(REFERENCE, part),
        strict_mask,
    ),
    *(
        FORM.formula(scale=step).row(
            step.name, steps.NARROW_SCALES, f"scale rounded to {step.name[:4]} first", is_on
        )
        for step in elements.NARROW_SCALES
    ),
)
