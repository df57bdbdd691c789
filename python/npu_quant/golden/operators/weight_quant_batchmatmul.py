"""npu_weight_quant_batchmatmul: rows times a weight of codes, which become values on the way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import _codes, _products
from ..elements import largest
from . import float_sums, products, steps
from .anti_quant import TORCH
from .arithmetic import Floats, stored_in
from .formula import Before, Form, Formula, Other, Output, Step
from .model import ANY, Array, Flat, Float32, Model, Part

UPSTREAM = "hicann/ops-nn matmul/weight_quant_batch_matmul_v2, device and golden"


def has_offset(model: Any) -> bool:
    """Tell whether something is added to the weight's codes."""
    return model.offset is not None


def has_bias(model: Any) -> bool:
    """Tell whether there is a bias."""
    return model.bias is not None


def gives_codes(model: Any) -> bool:
    """Tell whether the result is quantized."""
    return model.quant_scale is not None


def has_quant_offset(model: Any) -> bool:
    """Tell whether something is added before the result is rounded to codes."""
    return model.quant_offset is not None


Weights = Callable[[Floats, Floats, Floats, Any], Floats]
"""Of the codes' numbers, their scale and offset, and what rounds to x's dtype: the values."""


def weights(name: str, text: str, function: Weights, source: str = "", *applies: Any) -> Step:
    """Return a way to make values of the weight's codes."""
    kind = Other if name else Step
    return kind(name, text, function, source, *applies)


def in_order(x: Floats, w: Floats, chunk: int) -> Floats:
    """Add up products one after another, and the sums of so many of them likewise."""
    total = np.zeros((len(x), w.shape[1]), x.dtype)
    for begin in range(0, len(w), chunk):
        part = np.zeros_like(total)
        for k in range(begin, min(begin + chunk, len(w))):
            part += x[:, k, None] * w[k]
        total = total + part if begin else part
    return total


def at_once(x: Floats, w: Floats) -> Floats:
    """Add up products in float64, rounded once."""
    return np.asarray((x.astype(np.float64) @ w.astype(np.float64)).astype(x.dtype))


SLOTS = {
    "weights": (
        weights("", "(weight + offset) * scale", lambda w, s, o, to: to((w + o) * s)),
        weights(
            "weight + offset in 16 bits",
            "{x}(weight + offset) * scale",
            lambda w, s, o, to: to(to(w + o) * s),
            UPSTREAM,
            has_offset,
        ),
        weights(
            "weights in float32",
            "(weight + offset) * scale, not rounded",
            lambda w, s, o, to: (w + o) * s,
            "scripts in float32",
        ),
        weights(
            "offset subtracted",
            "(weight - offset) * scale",
            lambda w, s, o, to: to((w - o) * s),
            "the zero point of npu_quantize",
            has_offset,
        ),
        weights(
            "offset ignored",
            "weight * scale",
            lambda w, s, o, to: to(w * s),
            steps.MISTAKE,
            has_offset,
        ),
        weights(
            "offset after the scale",
            "weight * scale + offset",
            lambda w, s, o, to: to(w * s + o),
            steps.MISTAKE,
            has_offset,
        ),
    ),
    "sum": (
        Step("", "sums of 128", partial(in_order, chunk=_products.CHUNK)),
        Step("one sum", "one sum", partial(in_order, chunk=1 << 62), "a loop over all of K"),
        Step("sum in float64", "a sum in float64", at_once, "NumPy scripts in float64"),
    ),
    "bias": (
        Step("", " + bias", lambda t, b, to: t + b, roundings=1),
        Other("bias ignored", "", lambda t, b, to: t, steps.MISTAKE, has_bias),
        Other(
            "sum in 16 bits before the bias",
            " in 16 bits + bias",
            lambda t, b, to: to(t) + b,
            TORCH,
            has_bias,
        ),
    ),
    "codes": (
        Step("", " * quant_scale + quant_offset", lambda v, s, o, to: v * s + o, roundings=2),
        Other(
            "value in 16 bits before quant_scale",
            " in 16 bits * quant_scale + quant_offset",
            lambda v, s, o, to: to(v) * s + o,
            "two operators",
            gives_codes,
        ),
        Other(
            "quant_offset ignored",
            " * quant_scale",
            lambda v, s, o, to: v * s,
            steps.MISTAKE,
            has_quant_offset,
        ),
        Other(
            "v / quant_scale",
            " / quant_scale + quant_offset",
            lambda v, s, o, to: v / s + o,
            "npu_quantize, whose scale divides",
            gives_codes,
        ),
    ),
}


def text(formula: Formula) -> str:
    """Return how a result comes about."""
    w, total, bias, codes = (formula[slot].text for slot in SLOTS)
    return f"y = {total} of x * {w.replace('{x}', 'dtype')}{bias}{codes} (if given)"


class ProductPart(Part):
    """Some rows of the product."""

    def __init__(self, model: WeightQuantBatchmatmul, first: int, last: int) -> None:
        super().__init__(model, ((first * model.unit, last * model.unit),), first, last)

    @property
    def x(self) -> Floats:
        """The rows of the left factor."""

        def read() -> Floats:
            begin, end = self.range
            rows = self.model.x.floats(begin * self.model.k, end * self.model.k)
            return np.asarray(rows.reshape(end - begin, self.model.k).astype(self.floats))

        return self.once("x", read)

    def weights(self, step: Step) -> Floats:
        """Return the values of the weight, which are the same numbers in wide parts, too."""
        made: Floats = self.model.weights(step)
        return self.once(("w", step), lambda: made.astype(self.floats, copy=False))


class Results(Output):
    """The rows of a product, as values or as codes."""

    def make(self, formula: Formula, part: ProductPart) -> Array:
        """Return them in their dtype."""
        value = self._of(formula, part, formula["sum"].function).reshape(-1)
        if gives_codes(part.model):
            return _codes.encode(value.astype(np.float32), "int8")
        return np.asarray(value.astype(part.model.dtype))

    def before(self, formula: Formula, part: ProductPart) -> Before:
        """Return them in float64, and the sums of their terms' magnitudes."""
        part = part.wide()
        model, weights = part.model, part.weights(formula["weights"])
        total = part.x @ weights
        value = self._of(formula, part, lambda *both: total)
        left = float_sums.left_by(products.of_floats(part.x, lambda: weights))
        terms = largest(total, float_sums.as_large(left, model.allowed_for(0)))
        if has_bias(model):
            terms = terms + np.abs(model.bias)
        if gives_codes(model):
            terms = terms * np.abs(model.quant_scale)
            terms = terms if model.quant_offset is None else terms + np.abs(model.quant_offset)
        return value.reshape(-1), largest(terms, value).reshape(-1)

    def _of(self, formula: Formula, part: ProductPart, add: Callable[..., Floats]) -> Floats:
        model, to = part.model, stored_in(part.model.dtype)
        value = add(part.x, part.weights(formula["weights"]))
        if has_bias(model):
            value = formula["bias"].function(value, model.bias.astype(part.floats), to)
        if not gives_codes(model):
            return value
        scale = model.quant_scale.astype(part.floats)
        nothing = -np.zeros(1, part.floats)
        offset = nothing if model.quant_offset is None else model.quant_offset.astype(part.floats)
        return formula["codes"].function(value, scale, offset, to)


class WeightQuantBatchmatmul(Model):
    """npu_weight_quant_batchmatmul."""

    form = Form(SLOTS, text, (Results(),), "docs/numerics.md 21.1")
    has_scale_per_row = False
    k: int
    bias: Float32 | None = None
    quant_scale: Float32 | None = None
    quant_offset: Float32 | None = None

    def most_steps(self, output: int) -> float:
        """Return any number: terms may cancel each other."""
        return ANY

    def has_sum(self, output: int) -> bool:
        """Tell that terms may cancel each other."""
        return True

    def weights(self, step: Step) -> Float32:
        """Return the values of the weight, of shape (K, N), made once."""
        if step not in self._weights:
            offset: Any = -np.zeros(1, np.float32) if self.offset is None else self.offset
            with np.errstate(all="ignore"):
                made = step.function(self._numbers, self._scale, offset, stored_in(self.dtype))
            self._weights[step] = made
        return self._weights[step]

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        x, weight = inputs["x"], inputs["weight"]
        self.x, self.dtype, self.k = Flat(x), x.dtype, x.shape[-1]
        self._weights: dict[Step, Float32] = {}
        self._numbers = _products.matrix_of(weight, _products.codes_in(weight), self.k)
        self._scale = self._spread("antiquant_scale")
        self.offset = (
            None if inputs["antiquant_offset"] is None else self._spread("antiquant_offset")
        )
        self.unit = self._numbers.shape[1]
        self.row_count = int(np.prod(x.shape[:-1]))
        self.bias, self.quant_scale, self.quant_offset = (
            None if inputs[name] is None else np.asarray(inputs[name]).reshape(-1)
            for name in ("bias", "quant_scale", "quant_offset")
        )
        if self.bias is not None:
            self.bias = self.bias.astype(np.float32)
        if self.quant_scale is not None:
            self.kinds = ("codes",)
            if self.quant_scale.dtype == np.int64:
                self.quant_scale, offset = _products.carried(self.quant_scale)
                self.quant_offset = offset if self.quant_offset is None else self.quant_offset

    def _spread(self, name: str) -> Float32:
        """Return a parameter of the weight's columns, or of its groups of rows, for each row."""
        values = np.asarray(self.inputs[name])
        return _products.spread(values, self.inputs["antiquant_group_size"], self.k)

    def whole(self) -> list[Part]:
        """Return all rows."""
        return [ProductPart(self, 0, self.row_count)]
