"""Gated linear units: their steps, and npu_swiglu."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..elements import largest
from . import steps
from .arithmetic import Floats
from .elements import ElementPart
from .formula import Before, Form, Formula, Other, Output, Step
from .model import ANY, Array, Flat, Model, Part

SWISH = "a / (1 + exp(-a))"


def exp(x: Floats) -> Floats:
    """Return the exponential of float64 in the floats that are given: correctly rounded."""
    return np.exp(x.astype(np.float64)).astype(x.dtype)


def in_float64(a: Floats, exponent: Floats) -> Floats:
    """Compute swish in float64, and round it once."""
    wide = a.astype(np.float64) / (1 + np.exp(-exponent.astype(np.float64)))
    return wide.astype(a.dtype)


def quick(a: Floats, exponent: Floats) -> Floats:
    """Approximate the GELU."""
    return a / (1 + exp(-(a.dtype.type(1.702) * exponent)))


def is_plain(model: Any) -> bool:
    """Tell whether the swish has no factor of its own."""
    return not model.swiglu_mode


HALVES = (
    Step("", "", lambda a, b: (a, b)),
    Other(
        "other half activated",
        ", the halves exchanged",
        lambda a, b: (b, a),
        "activate_left, whose default differs between bindings; silu_and_mul",
    ),
)
# torch's silu and the devices' exp are up to 3 ulp off; 1 + exp and the quotient round once more.
SWISHES = (
    Step("", SWISH, lambda a, e: a / (1 + exp(-e)), roundings=5),
    Step(
        "a * sigmoid(a)",
        "a * (1 / (1 + exp(-a)))",
        lambda a, e: a * (1 / (1 + exp(-e))),
        "scripts: x * torch.sigmoid(x)",
        roundings=6,
    ),
    Step(
        "exp of float32",
        f"{SWISH}, exp in float32",
        lambda a, e: a / (1 + np.exp(-e)),
        "NumPy, torch.nn.functional.silu, the device: exp is not correctly rounded",
    ),
    Step("swish of float64", f"{SWISH} in float64", in_float64, "NumPy scripts in float64"),
    Other(
        "swish of 1.702 * a",
        "a / (1 + exp(-1.702 * a))",
        quick,
        "quick GELU; swiglu_mode 1 and 2",
        is_plain,
    ),
    Other("gate of sigmoid", "1 / (1 + exp(-a))", lambda a, e: 1 / (1 + exp(-e)), "plain GLU"),
)
KEPT_SWISH = steps.in_16_bits(
    "swish and o in {short}",
    "{long}({long}(swish) * b)",
    "torch's silu(a) * b in the dtype of a 16-bit model",
    lambda stored: lambda s, b: stored(stored(s) * b),
)
PRODUCTS = (
    Step("", "swish * b", np.multiply, roundings=1),
    *steps.in_16_bits(
        "o in {short}",
        "{long}(swish * b)",
        "torch_npu.npu_swiglu in the dtype of a 16-bit model, quantized by another operator",
        lambda stored: lambda s, b: stored(s * b),
    ),
    *KEPT_SWISH,
)
SLOTS = {"half": HALVES, "swish": SWISHES, "product": PRODUCTS}


def product(formula: Formula, a: Floats, exponent: Floats, b: Floats) -> Floats:
    """Return the swish of a, as large as its exponent says, times b."""
    return formula["product"].function(formula["swish"].function(a, exponent), b)


def text(formula: Formula) -> str:
    """Return how o comes about."""
    swish, half = formula["swish"].text, formula["half"].text
    return f"{formula['product'].text}, swish = {swish}{half}"


class Values(Output):
    """Results in the dtype of the input."""

    def make(self, formula: Formula, part: ElementPart) -> Array:
        """Return those of a part."""
        return np.asarray(self._of(formula, part).astype(part.model.dtype))

    def before(self, formula: Formula, part: ElementPart) -> Before:
        """Return them in float64; their own ulp is their measure."""
        value = self._of(formula, part.wide())
        return value, largest(value)

    def _of(self, formula: Formula, part: ElementPart) -> Floats:
        a, b = formula["half"].function(part.read("first"), part.read("second"))
        return product(formula, a, a, b)


class Swiglu(Model):
    """npu_swiglu."""

    form = Form(
        SLOTS | {"product": (PRODUCTS[0], *KEPT_SWISH)},
        lambda formula: f"y = {text(formula)}",
        (Values(),),
        "docs/numerics.md 17",
    )
    has_scale_per_row = False
    swiglu_mode = 0

    def prepare(self) -> None:
        """Read the arguments."""
        given = self.inputs["self"]
        self.dtype = given.dtype
        self.first, self.second = map(Flat, np.split(given, 2, self.inputs["dim"]))

    def most_steps(self, output: int) -> float:
        """Return any number: of float32 y up to k."""
        return ANY

    def whole(self) -> list[Part]:
        """Return all elements."""
        return [ElementPart(self, 0, self.first.size)]  # type: ignore[arg-type]
