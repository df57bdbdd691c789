"""Fake quantization, per tensor and per channel: values moved to a grid, and a mask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..elements import largest
from ..tie_results import TieTest
from . import elements, steps
from .arithmetic import Floats
from .elements import ElementModel, ElementPart
from .formula import Before, Cited, Form, Formula, Made, Other, Step, none_of
from .model import Array, Float32, Float64


class Ends:
    """Where the range of a mask ends."""

    def __init__(self, model: Any) -> None:
        self._ends = (model.low - 0.5, model.high + 0.5)

    def tie(self, value: Float64, actual: Array, golden: Array, *terms: Float64) -> TieTest:
        """Compare numbers with the end that is nearer."""
        low, high = self._ends
        tie = np.where(np.abs(value - low) < np.abs(value - high), low, high)
        steps = np.where(np.isnan(value), np.inf, 1.0)
        return TieTest(value, tie, largest(tie, *terms), steps)


class Grid:
    """What each code stands for, at some elements."""

    def __init__(self, model: Any, index: NDArray[np.int64]) -> None:
        assert model.zero_point is not None
        self._model = model
        self._index = index
        self.limits = (model.low, model.high)
        """The least and the greatest code."""
        self._scale = model.scale.at(index)
        self.zero_point: Float32 = model.zero_point.at(index)
        self._sign = np.where(self._scale < 0, np.float32(-1), np.float32(1))

    def tie(self, value: Float64, actual: Array, golden: Array, *terms: Float64) -> TieTest:
        """Find the codes of outputs, and compare numbers with the tie between them."""
        near = np.clip(np.nan_to_num(np.rint(value), nan=self.limits[0]), *self.limits)
        expected = self.code(golden, near, self.limits)
        found = self.code(actual, np.nan_to_num(expected), self.limits)
        tie = (expected + found) / 2
        apart = np.nan_to_num(np.abs(found - expected), nan=np.inf)
        return TieTest(value, tie, largest(tie, *terms), apart)

    def values(self, codes: Float64) -> Array:
        """Return what codes stand for, in the output's dtype."""
        return on_grid(
            codes, self.zero_point, self._scale, self._model.has_float_zero_points
        ).astype(self._model.dtype)

    def _rising(self, values: Array) -> Float32:
        return np.asarray(values.astype(np.float32) * self._sign)

    def code(self, values: Array, near: Float64, limits: tuple[int, int]) -> Float64:
        """Return the codes that stand for these values, the nearest of several; NaN for none.

        A value of few bits can be that of many codes, which lie together: a search for both ends.

        Args:
            values: some of the output's.
            near: which codes of several to choose.
            limits: the least and the greatest code that one may have.
        """
        with np.errstate(all="ignore"):
            is_near = (self.values(near) == values) & (near >= limits[0]) & (near <= limits[1])
        code, far = np.array(near, np.float64), ~is_near
        if far.any():
            others = Grid(self._model, self._index[far])
            code[far] = others._searched(values[far], near[far], limits)
        return code

    def _searched(self, values: Array, near: Float64, limits: tuple[int, int]) -> Float64:
        """Return the same of elements that are not near."""
        wanted = self._rising(values)
        low = self._first(lambda codes: self._rising(self.values(codes)) >= wanted, limits)
        beyond = self._first(lambda codes: self._rising(self.values(codes)) > wanted, limits)
        code = np.minimum(np.maximum(near, low), beyond - 1)
        with np.errstate(all="ignore"):
            stands = self.values(code) == values
        return np.where(stands, code, np.nan)

    def _first(
        self, reached: Callable[[Float64], NDArray[np.bool_]], limits: tuple[int, int]
    ) -> Float64:
        """Return the first codes for which it is so, one beyond the greatest if for none."""
        size, (least, most) = np.broadcast_shapes(self._scale.shape, self.zero_point.shape), limits
        low, high = np.full(size, float(least)), np.full(size, float(most + 1))
        with np.errstate(all="ignore"):
            for _ in range((most - least + 1).bit_length()):
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
ZEROS = (
    ZERO,
    replace(
        steps.BEFORE,
        applies=lambda m: not m.has_float_zero_points and steps.has_zero_points(m),
    ),
    replace(
        steps.AFTER_INSTEAD,
        applies=lambda m: m.has_float_zero_points and steps.has_zero_points(m),
    ),
)


def resolved(formula: Formula, model: Any) -> Formula:
    """Return a formula with the step that adds zero points of the model's kind."""
    if formula["zero"] is ZERO and model.has_float_zero_points:
        return formula.but(zero=BEFORE_FLOATS)
    return formula


def codes(formula: Formula, part: ElementPart) -> Floats:
    """Return the codes before they are clamped."""
    return steps.rounded(resolved(formula, part.model), part, part.operands(formula))


def output(formula: Formula, part: ElementPart) -> Array:
    """Return the output; NaN counts as below the range, but for devices."""
    model, device = part.model, formula["device"].function
    if not model.is_on:
        return np.asarray(model.elements.read(*part.range))
    low, in_float64 = np.float32(formula["clamp"].function(model.low)), model.has_float_zero_points
    if device is None:
        q = part.call(formula["beyond"].function, codes(formula, part), low)
        c = part.call(clamped, q, low, np.float32(model.high))
    else:
        c, in_float64 = device(part).clamped, in_float64 and not device(part).in_float32
    return part.call(_output, part, c, part.operands(formula).scale, in_float64)


class Fake(Made):
    """An output that follows from codes."""

    def before(self, formula: Formula, part: ElementPart) -> Before | None:
        """Return the numbers that are rounded to codes; those of devices are not known."""
        begin, end = part.range
        if not part.model.is_on:
            return none_of(end - begin)
        if formula["device"].function is not None:
            return None
        own = resolved(formula, part.model)
        part = steps.part_before(own, part)
        return steps.before_rounding(own, part, part.operands(own))


def clamped(q: Floats, low: Floats, high: Floats) -> Floats:
    """Return codes in the range; NaN counts as below."""
    return np.where(np.isnan(q), low, np.clip(q, low, high))


def _output(part: ElementPart, c: Float32, scale: Float32, in_float64: bool) -> Array:
    values = on_grid(c, part.read("zero_point"), scale, in_float64)
    return np.asarray(values.astype(part.model.dtype))


def mask(formula: Formula, part: ElementPart) -> Array:
    """Return the mask."""
    model, device = part.model, formula["device"].function
    if not model.is_on:
        return np.ones(part.range[1] - part.range[0], np.bool_)
    low, high = formula["clamp"].function(model.low), model.high
    if device is None:
        return part.call(formula["mask"].function, codes(formula, part), low, high)
    kept = device(part).kept
    return np.asarray(within(kept(device(part).compared), kept(low), kept(high)))


def within(q: Floats, low: Any, high: Any) -> NDArray[np.bool_]:
    """Tell which codes are in the range."""
    return np.asarray((low <= q) & (q <= high))


# The devices' formulas: docs/numerics.md 4.


class Device(NamedTuple):
    """What a device makes of a part."""

    compared: Floats
    """What is compared with the range."""
    clamped: Floats
    """What is clamped to it; 0 for NaN."""
    kept: Callable[[Any], Any] = np.float32
    """What the mask is compared in."""
    in_float32: bool = False
    """Whether codes are multiplied in float32 whatever the zero points."""


def to_int32(t: Float32) -> Floats:
    """Convert to int32 with saturation, ties to even, and back; NaN is 0."""
    whole = np.nan_to_num(np.rint(t), posinf=np.inf, neginf=-np.inf)
    return np.asarray(np.clip(whole, -(2.0**31), 2.0**31 - 1), np.float32)


def ascend910b(part: ElementPart) -> Device:
    """Convert to int32 before the zero point is added, and after it; a half mask in half."""
    model, z = part.model, part.read("zero_point")
    t = part.read("elements") * (np.float32(1) / part.read("scale"))
    t = to_int32(t + z) if model.has_float_zero_points else to_int32(t) + z
    c = t if model.has_float_zero_points else to_int32(t)
    c = np.clip(c, np.float32(model.low), np.float32(model.high))
    c = np.where(np.isnan(part.read("elements")), np.float32(0), c)  # in the range or not
    return Device(t, c, np.float16 if model.dtype == np.float16 else np.float32, True)


def ascend950(part: ElementPart) -> Device:
    """Divide, add, round once; NaN is 0."""
    q = np.rint(part.read("elements") / part.read("scale") + part.read("zero_point"))
    q = np.where(np.isnan(q), np.float32(0), q)
    return Device(q, np.clip(q, np.float32(part.model.low), np.float32(part.model.high)))


KERNELS = "hicann/ops-nn quant/fake_quant_affine_cachemask/op_kernel"
CITED = (
    Cited(
        "ascend910b",
        {
            "device": Step(
                "ascend910b",
                "rint(x * (1 / scale)) + zero_point in int32, NaN is 0; mask of float16 in float16",
                ascend910b,
            )
        },
        f"{KERNELS}/fake_quant_affine_cachemask_fp32.h:99-145",
    ),
    Cited(
        "ascend950",
        {"device": Step("ascend950", "rint(x / scale + zero_point), NaN is 0", ascend950)},
        f"{KERNELS}/arch35",
    ),
)


SLOTS = elements.slots((steps.RECIPROCAL, steps.DIVIDED, steps.MULTIPLIED), ZEROS)
SLOTS |= {
    "clamp": (
        steps.CLAMP,
        Other(
            "narrow range",
            ", from quant_min + 1",
            lambda low: low + 1,
            "symmetric quantization of weights",
        ),
    ),
    "nan": (steps.NAN_0,),  # below the range, whatever it is
    "device": (Step("", "", None),),  # type: ignore[arg-type]
    "beyond": (
        Step("", "", lambda q, low: q),
        Other(
            "beyond int64 is quant_min",
            "; from 2 ** 63 on, and inf: quant_min",
            lambda q, low: np.where(np.abs(q) < np.float32(2.0**63), q, low),
            "torch 2.13 per channel on x86",
        ),
    ),
    "mask": (
        Step("", "", within),
        Other(
            "mask without the ends",
            ", mask = quant_min < q < quant_max",
            lambda q, low, high: np.asarray((low < q) & (q < high)),
            steps.MISTAKE,
            lambda model: "mask" in model.outputs,
        ),
    ),
}


def text(formula: Formula) -> str:
    """Return how codes come about."""
    own = formula["device"].text or elements.text(formula)
    return f"q = {own}{formula['beyond'].text}{formula['mask'].text}"


class FakeQuantize(ElementModel):
    """Values moved to the grid of a scale and a zero point, and a mask of those in the range."""

    form = Form(
        SLOTS,
        text,
        (Fake(output), Fake(mask)),
        "docs/numerics.md 6",
        CITED,
        applies=lambda model: model.is_on,
    )

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
        return resolved(self.form.reference, self)

    def grid(self, output: int, index: NDArray[np.int64]) -> Any:
        """Return what the elements' codes stand for; of a mask where its range ends."""
        return self.codes_behind(output, index) or Ends(self)

    def codes_behind(self, output: int, index: NDArray[np.int64]) -> Grid | None:
        """Return what the elements' codes stand for; None of a mask."""
        return None if self.kinds[output] == "mask" else Grid(self, index)
