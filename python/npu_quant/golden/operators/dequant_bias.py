"""npu_dequant_bias: int32 sums to values of 16 bits, by two scales and a bias."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..elements import elements_of, largest
from . import steps
from .anti_quant import TORCH, gives_float16
from .arithmetic import Floats, as_it_is, fused, stored_in
from .elements import ElementModel, ElementPart, Spread, dtype_of
from .formula import Before, Form, Formula, Other, Output, Step
from .model import ANY, Array

UPSTREAM = "Ascend/op-plugin test/test_custom_ops/test_npu_dequant_bias.py"
FLOATS = "scripts that convert to floats first"


class Operands(NamedTuple):
    """What a part is made of; a bias is of one kind, the other one 0."""

    x: Array
    weight: Floats
    activation: Floats | None
    integer: Array
    bias: Floats
    to: Any
    """Rounds to the values' dtype."""


def has_activations(model: Any) -> bool:
    """Tell whether there are activation scales."""
    return model.activations is not None


def has_integers(model: Any) -> bool:
    """Tell whether the bias is int32."""
    return model.integers is not None


def has_floats(model: Any) -> bool:
    """Tell whether the bias is a float."""
    return model.bias is not None


def in_floats(o: Operands) -> Floats:
    """Add an integer bias to floats."""
    kind = o.weight.dtype
    return o.x.astype(kind) + o.integer.astype(kind)


def last_product(v: Floats, *scales: Floats | None) -> tuple[Floats, Floats]:
    """Return what is multiplied last: by scales in this order, of which one may be missing."""
    given = [scale for scale in scales if scale is not None]
    for scale in given[:-1]:
        v = v * scale
    return v, given[-1]


def by_one_scale(v: Floats, o: Operands) -> tuple[Floats, Floats]:
    """Multiply the scales first."""
    return v, o.weight if o.activation is None else o.weight * o.activation


SLOTS = {
    "sums": (
        Step("", "(x + int32 bias)", lambda o: (o.x + o.integer).astype(o.weight.dtype)),
        Step(
            "bias added to floats",
            "(float(x) + float(int32 bias))",
            in_floats,
            FLOATS,
            has_integers,
            roundings=3,
        ),
        Other(
            "int32 bias ignored", "x", lambda o: o.x.astype(o.weight.dtype), UPSTREAM, has_integers
        ),
    ),
    "scales": (
        Step(
            "",
            " * weight_scale * activation_scale",
            lambda v, o: last_product(v, o.weight, o.activation),
        ),
        Step(
            "activation_scale first",
            " * activation_scale * weight_scale",
            lambda v, o: last_product(v, o.activation, o.weight),
            "another order of operations",
            has_activations,
        ),
        Step(
            "scales multiplied first",
            " * (weight_scale * activation_scale)",
            by_one_scale,
            "scripts that keep one scale for both",
            has_activations,
            roundings=2,
        ),
        Other(
            "activation_scale ignored",
            " * weight_scale",
            lambda v, o: (v, o.weight),
            UPSTREAM,
            has_activations,
        ),
    ),
    "bias": (
        Step("", " + float bias", lambda a, b, o: a * b + o.bias),
        Step(
            "fused",
            " + float bias, the last product and the sum rounded once",
            lambda a, b, o: fused(a, b, o.bias),
            "fused multiply-add",
            has_floats,
            roundings=1,
        ),
        Other("float bias ignored", "", lambda a, b, o: a * b, UPSTREAM, has_floats),
        Other(
            "product in 16 bits before the bias",
            " in output_dtype + float bias",
            lambda a, b, o: o.to(a * b) + o.bias,
            TORCH,
            has_floats,
        ),
        Other(
            "all in 16 bits after the product",
            " in output_dtype + output_dtype(float bias)",
            lambda a, b, o: o.to(a * b) + o.to(o.bias),
            TORCH,
            has_floats,
        ),
        Other(
            "float bias subtracted",
            " - float bias",
            lambda a, b, o: a * b - o.bias,
            steps.MISTAKE,
            has_floats,
        ),
    ),
    "end": (
        Step("", "", as_it_is),
        Other(
            "saturated",
            ", at most 65504",
            lambda y: np.clip(y, np.float32(-65504), np.float32(65504)),
            "the device's saturation mode",
            gives_float16,
        ),
    ),
}


def operands(part: ElementPart) -> Operands:
    """Return what a part is made of, in its floats."""
    model, index = part.model, np.arange(*part.range)
    columns = model.x.shape[-1]
    nothing = np.zeros(1, np.int32)
    integers = model.integers[index % columns] if has_integers(model) else nothing
    return Operands(
        model.elements.read(*part.range),
        part.read("scale"),
        part.read("activations") if has_activations(model) else None,
        integers,
        part.read("bias") if has_floats(model) else -np.zeros(1, part.floats),
        stored_in(model.values.carrier),
    )


class Values(Output):
    """Values of the elements of a part."""

    def make(self, formula: Formula, part: ElementPart) -> Array:
        """Return them in their dtype."""
        value = self._of(formula, operands(part))
        return np.asarray(value.astype(part.model.values.carrier))

    def before(self, formula: Formula, part: ElementPart) -> Before:
        """Return them in float64, and the largest of themselves and their terms."""
        o = operands(part.wide())
        scale = o.weight if o.activation is None else o.weight * o.activation
        terms = o.x * scale, o.integer * scale, o.bias
        value = self._of(formula, o)
        return value, largest(value, *terms)

    def _of(self, formula: Formula, o: Operands) -> Floats:
        a, b = formula["scales"].function(formula["sums"].function(o), o)
        return formula["end"].function(formula["bias"].function(a, b, o))


class DequantBias(ElementModel):
    """npu_dequant_bias."""

    form = Form(
        SLOTS,
        lambda formula: "y = " + "".join(step.text for step in formula.steps.values()),
        (Values(),),
        "docs/numerics.md 19",
    )

    activations: Spread | None = None
    bias: Spread | None = None
    integers: Array | None = None

    def has_sum(self, output: int) -> bool:
        """Tell whether there is a bias."""
        return self.bias is not None or self.integers is not None

    def most_steps(self, output: int) -> float:
        """Return how many steps rounding explains: any number where a bias may cancel a product."""
        return ANY if self.has_sum(output) else 1

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        self.read(inputs["x"], inputs["weight_scale"], None)
        activation, bias = inputs["activation_scale"], inputs["bias"]
        if activation is not None:
            self.activations = Spread(activation, self.x.shape, 0)
        if bias is not None and bias.dtype == np.int32:
            self.integers = np.asarray(bias)
        elif bias is not None:
            self.bias = Spread(bias, self.x.shape)
        to = inputs["output_dtype"]
        self.values = elements_of(dtype_of("float16" if to is None else to))
