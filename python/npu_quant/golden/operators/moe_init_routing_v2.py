"""npu_moe_init_routing_v2: rows that are moved, and codes of them by given scales or their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...ops import npu_moe_init_routing_v2
from ..elements import Elements, elements_of
from . import steps
from .arithmetic import Floats, as_it_is, half_up
from .formula import Before, Cited, Form, Formula, Made, Other, Output, Step, none_of
from .model import Array, Model, Part, unpacked
from .plain import output

KERNELS = "hicann/ops-transformer moe/moe_init_routing_v3/op_kernel"
GOLDEN = "Ascend/op-plugin test/test_custom_ops/test_npu_moe_init_routing_v2.py: its golden"


def is_static(model: Any) -> bool:
    """Tell whether rows are quantized by a scale that is given."""
    return bool(model.mode == 0)


def is_dynamic(model: Any) -> bool:
    """Tell whether each row is quantized by its own scale."""
    return bool(model.mode > 0)


def is_smoothed(model: Any) -> bool:
    """Tell whether rows have factors before their scale is found."""
    return is_dynamic(model) and model.smooth is not None


def in_float16(x: Floats, scale: Any, offset: Any) -> Floats:
    """Round product and sum to float16."""
    half = np.float16
    return (x.astype(half) * half(scale) + half(offset)).astype(x.dtype)


def kept_in_float16(q: Floats) -> Floats:
    """Cut float32 to float16, as a conversion towards zero does."""
    near = q.astype(np.float16)
    is_beyond = np.abs(near.astype(np.float64)) > np.abs(q)
    return np.where(is_beyond, np.nextafter(near, np.float16(0)), near).astype(q.dtype)


def rounded(name: str, text: str, function: Any, source: str) -> Step:
    """Return another rounding: benign, as it is of ties alone."""
    return Step(name, text, function, source, lambda model: model.mode >= 0)


CUT = Other("quotient cut to fp16", "float16({q}), cut", kept_in_float16, KERNELS, is_dynamic)
AWAY = rounded("half away", "round half away from zero", steps.HALF_AWAY.function, KERNELS)
SLOTS = {
    "smooth": (
        Step("", "x * scale", lambda x, factors: x * factors),
        Other("scale ignored", "x", lambda x, factors: x, steps.MISTAKE, is_smoothed),
    ),
    "quantized": (
        Step("", "t", lambda x, t: t),
        Other(
            "x divided", "x", lambda x, t: x, "the document, which prints x / scale", is_smoothed
        ),
    ),
    "scale": (
        Step("", "amax / 127", lambda amax, most: amax / most, roundings=1),
        Step(
            "amax * (1/127)",
            "amax * (1 / 127)",
            lambda amax, most: amax * (np.float32(1) / most),
            KERNELS,
            is_dynamic,
            roundings=2,
        ),
    ),
    "quotient": (
        Step("", "{t} / s", lambda t, s: t / s),
        Step(
            "x * (1/scale)",
            "{t} * (1 / s)",
            lambda t, s: t * (1 / s),
            "scripts",
            is_dynamic,
            roundings=2,
        ),
    ),
    "kept": (Step("", "{q}", as_it_is), CUT),
    "given": (
        Step("", "x * scale + offset", lambda x, scale, offset: x * scale + offset),
        Other(
            "fp16 product and sum",
            "float16(float16(x * scale) + offset)",
            in_float16,
            GOLDEN,
            is_static,
        ),
        Other(
            "offset ignored",
            "x * scale",
            lambda x, scale, offset: x * scale,
            steps.MISTAKE,
            is_static,
        ),
    ),
    "round": (
        steps.HALF_EVEN,
        AWAY,
        rounded("half up", "round half up", half_up, "scripts"),
        replace(rounded("truncation", "trunc", np.trunc, "a cast without rounding"), benign=False),
    ),
}


class RoutedPart(Part):
    """All of the slots."""

    def quotients(self, formula: Formula) -> Floats:
        """Return what is rounded to codes, a row for each slot."""
        model = self.model
        x = model.x.astype(self.floats)
        if is_static(model):
            given = (p.astype(self.floats).reshape(()) for p in (model.scale, model.offset))
            return np.where(model.is_filled, formula["given"].function(x, *given), 0)
        t = self.smoothed(formula, x)
        s = self.scales(formula) if self.scale is None else self.scale.reshape(-1)
        over = formula["quantized"].function(x, t)
        q = formula["quotient"].function(over, s.astype(self.floats)[:, None])
        return formula["kept"].function(q)

    def smoothed(self, formula: Formula, x: Floats) -> Floats:
        """Return rows with their factors."""
        smooth = self.model.smooth
        return x if smooth is None else formula["smooth"].function(x, smooth.astype(x.dtype))

    def scales(self, formula: Formula) -> Floats:
        """Return the scale of each slot."""
        t = self.smoothed(formula, self.model.x.astype(self.floats))
        amax = np.abs(t).max(axis=1, initial=0)
        return formula["scale"].function(amax, self.model.most.astype(self.floats))


class RoutedCodes(Output):
    """Codes of the slots; or rows as they are, of which no formula makes others."""

    def make(self, formula: Formula, part: RoutedPart) -> Array:
        """Return the elements."""
        model = part.model
        if model.mode < 0:
            return np.asarray(model.golden()[0]).reshape(-1)
        q = formula["round"].function(part.quotients(formula))
        return np.asarray(model.format.codes(q)).reshape(-1)

    def before(self, formula: Formula, part: RoutedPart) -> Before:
        """Return the numbers that are rounded, and of sums the largest of their terms."""
        model, wide = part.model, part.wide()
        if model.mode < 0:
            return none_of(model.x.size)
        wide.scale = part.scale
        q = wide.quotients(formula)
        terms = (
            np.maximum(np.abs(q), np.abs(model.offset)) if is_static(model) else np.zeros_like(q)
        )
        return q.reshape(-1), terms.reshape(-1)


def scales(formula: Formula, part: RoutedPart) -> Array:
    """Return the scales of the slots."""
    golden = np.asarray(part.model.golden()[3])
    return part.scales(formula) if is_dynamic(part.model) else golden.reshape(-1)


def text(formula: Formula) -> str:
    """Return how codes come about: by own scales, and by given ones."""
    t = formula["quantized"].text.replace("t", formula["smooth"].text)
    q = formula["kept"].text.format(q=formula["quotient"].text.format(t=t))
    word = formula["round"].text
    return f"y = {word}({q}), s = {formula['scale'].text}; or {word}({formula['given'].text})"


class InitRouting(Model):
    """npu_moe_init_routing_v2."""

    form = Form(
        SLOTS,
        text,
        (RoutedCodes(), output(1), output(2), Made(scales)),
        "docs/numerics.md 22",
        (
            Cited(
                "ascend910b",
                {"kept": replace(CUT, benign=True), "round": AWAY},
                KERNELS,
                is_dynamic,
            ),
        ),
    )
    has_scale_per_row = False

    def prepare(self) -> None:
        """Have rows moved as they are, and read what goes with each."""
        inputs, self.mode = self.inputs, self.inputs["quant_mode"]
        plain = {"quant_mode": -1, "scale": None, "offset": None, "x_dtype": None}
        plain |= {"expert_tokens_num_type": 1, "expert_tokens_num_flag": True}
        x, _, counts, _ = npu_moe_init_routing_v2(**{**inputs, **plain})
        self.read_format("int4" if self.mode == 13 else "int8")
        self.x = x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
        self.scale, self.offset = inputs["scale"], inputs["offset"]
        group, filled = self._groups(counts, x.shape)
        self.is_filled = filled[:, None]
        self.smooth: Array | None = None
        if self.mode > 0 and self.scale is not None:
            self.smooth = self.scale[group if len(self.scale) > 1 else np.zeros_like(group)]

    def _groups(self, counts: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Return the group of each slot, and whether a row goes there."""
        if len(shape) == 3:
            place, group = np.arange(len(self.x)) % shape[1], np.arange(len(self.x)) // shape[1]
            return group, place < counts[group]
        slots = np.arange(len(self.x))
        group = np.searchsorted(np.cumsum(counts), slots, side="right")
        return np.minimum(group, len(counts) - 1), slots < counts.sum()

    def elements_of(self, output: int) -> Elements:
        """Return what the elements of an output stand for: of rows as they are, x's."""
        return elements_of(self.x.dtype) if self._is_moved(output) else super().elements_of(output)

    def as_elements(self, output: int, array: Array) -> Array:
        """Return an output as an array of elements: of two int4 to a byte each its own."""
        if self._is_moved(output):
            return array
        is_packed = self.mode == 13 and output == 0 and array.dtype == np.uint8
        return unpacked_pairs(array) if is_packed else super().as_elements(output, array)

    def _is_moved(self, output: int) -> bool:
        return output == 0 and self.mode < 0

    def allowed_for(self, output: int) -> float:
        """Return k: a reciprocal, two products and the golden scale; or a product and a sum."""
        return 4.0 if is_dynamic(self) else 2.0

    def most_steps(self, output: int) -> float:
        """Return that rounding explains no difference of places, counts and rows as they are."""
        return super().most_steps(output) if self.mode >= 0 and output in (0, 3) else 0

    def whole(self) -> list[Part]:
        """Return all slots, as rows go anywhere."""
        sizes: list[Any] = [0 if array is None else array.size for array in self.golden()]
        return [RoutedPart(self, tuple((0, size) for size in sizes), 0, 0)]


def unpacked_pairs(array: Array) -> Array:
    """Return the int4 of bytes, the one in the low half first."""
    low, high = (array << 4).view(np.int8) >> 4, array.view(np.int8) >> 4
    return unpacked(
        np.stack([low, high], axis=-1).reshape(*array.shape[:-1], -1 if array.size else 0)
    )
