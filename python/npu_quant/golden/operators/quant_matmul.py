"""npu_quant_matmul: sums of products of codes, dequantized as npu_dequant_bias does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ... import _products
from ...ops import quant_matmul as page
from ..elements import elements_of, largest
from . import dequant_bias, steps
from .arithmetic import stored_in
from .dequant_bias import Operands, has_activations, has_floats, has_integers
from .elements import ElementModel, ElementPart, dtype_of
from .formula import Before, Form, Formula, Other, Output, Step
from .model import ANY, Array, Flat

V3 = "hicann/ops-nn matmul/quant_batch_matmul_v3"
V4 = "hicann/ops-nn matmul/quant_batch_matmul_v4"


def is_float_sum(model: Any) -> bool:
    """Tell whether products of small floats are added up."""
    return bool(model.is_float_sum)


def is_value(model: Any) -> bool:
    """Tell whether sums are scaled."""
    return bool(model.values.carrier != np.int32)


def has_offsets(model: Any) -> bool:
    """Tell whether something is added to int8 results, which is not 0."""
    return model.offsets is not None and bool(model.offsets.read(0, model.offsets.size).any())


def in_order(model: Any) -> Array:
    """Add products up in float32, one k after another."""
    a, b = model.factors()
    total = np.zeros((1, 1), np.float32)
    for k in range(a.shape[-1]):
        total = total + (a[..., k : k + 1] * b[..., k : k + 1, :]).astype(np.float32)
    return np.asarray(np.broadcast_to(total, model.x.shape))


def all_at_once(model: Any) -> Array:
    """Add products up in float64, and round the sum."""
    a, b = model.factors()
    return np.asarray((a @ b).astype(np.float32))


def cut_to_19_bits(scale: Any) -> Any:
    """Return scales as npu_trans_quant_param keeps them."""
    bits = scale.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    return bits.view(np.float32).astype(scale.dtype)


def rounded_apart(v: Any, offset: Any) -> Any:
    """Add whole numbers of 9 bits."""
    both = (np.clip(np.rint(part), -256, 255) for part in (v, offset))
    return sum(both)


def of_integers(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return steps of npu_dequant_bias, in order, as they apply to results that are scaled."""

    def restricted(step: Step) -> Step:
        return replace(step, applies=lambda model: is_value(model) and step.applies(model))

    return (steps[0], *(restricted(step) for step in steps[1:]))


SUMS = dequant_bias.SLOTS["sums"]
SLOTS = {
    "order": (
        Step("", "", lambda model: model.x),
        Step("one k after another", " one k after another", in_order, V4, is_float_sum),
        Step("rounded once", " in float64", all_at_once, "torch.mm of float64", is_float_sum),
    ),
    "sums": (*of_integers(SUMS[:2]), SUMS[2]),
    "scale": (
        Step("", "", lambda scale: scale),
        Other(
            "scale cut to 19 bits",
            " (scale & 0xFFFFE000)",
            cut_to_19_bits,
            f"{V3}, by npu_trans_quant_param",
            lambda model: is_value(model) and model.has_own_scales,
        ),
    ),
    "scales": of_integers(dequant_bias.SLOTS["scales"]),
    "bias": of_integers(dequant_bias.SLOTS["bias"]),
    "offset": (
        Step("", " + offset", lambda v, offset: v + offset, roundings=1),
        Other(
            "product and offset rounded apart",
            " rounded + offset rounded",
            rounded_apart,
            f"{V3}/tests, its golden",
            has_offsets,
        ),
        Other("offset ignored", "", lambda v, offset: v, steps.MISTAKE, has_offsets),
    ),
    "end": of_integers(dequant_bias.SLOTS["end"]),
}


def operands(formula: Formula, part: ElementPart) -> Operands:
    """Return what a part is made of, in its floats."""
    model, is_wide = part.model, part.floats is np.float64
    is_exact = is_wide and is_float_sum(model)
    sums = model.sums_by(_in_float64 if is_exact else formula["order"].function)
    scale = formula["scale"].function(part.read("scale"))
    nothing = np.zeros(1, np.int32)
    return Operands(
        sums.read(*part.range),
        scale if is_value(model) else (np.zeros(1) if is_wide else nothing),
        part.read("activations") if has_activations(model) else None,
        model.integers.read(*part.range) if has_integers(model) else nothing,
        part.read("bias") if has_floats(model) else -np.zeros(1, part.floats),
        stored_in(model.values.carrier),
    )


class Results(Output):
    """Values, codes or sums of the elements of a part."""

    def make(self, formula: Formula, part: ElementPart) -> Array:
        """Return them in their dtype."""
        value = self._of(formula, operands(formula, part), part)
        if part.model.values.carrier != np.int8:
            return np.asarray(value.astype(part.model.values.carrier))
        whole = np.where(np.isnan(value), 0, np.clip(np.rint(value), -128, 127))
        return np.asarray(whole.astype(np.int8))

    def before(self, formula: Formula, part: ElementPart) -> Before:
        """Return them in float64, and the largest of themselves and their terms."""
        wide = part.wide()
        o = operands(formula, wide)
        value = self._of(formula, o, wide)
        if not is_value(part.model):
            return value.astype(np.float64), np.abs(value).astype(np.float64)
        scale = o.weight if o.activation is None else o.weight * o.activation
        sums = part.model.sums_by(_sizes).read(*part.range) if is_float_sum(part.model) else o.x
        terms = [sums * scale, o.integer * scale, o.bias]
        if part.model.offsets is not None:
            terms.append(wide.read("offsets"))
        return value, largest(value, *terms)

    def _of(self, formula: Formula, o: Operands, part: ElementPart) -> Any:
        sums = formula["sums"].function(o)
        if not is_value(part.model):
            return sums
        value = formula["bias"].function(*formula["scales"].function(sums, o), o)
        if part.model.offsets is not None:
            value = formula["offset"].function(value, part.read("offsets"))
        return formula["end"].function(value)


def in_words(words: str) -> str:
    """Return what npu_dequant_bias says, in the words of products; float8 has its bias early."""
    own = {"weight_scale": "scale", "activation_scale": "pertoken_scale"}
    for theirs, ours in (own | {"int32 bias": "bias of sums"}).items():
        words = words.replace(theirs, ours)
    return words


def text(formula: Formula) -> str:
    """Return the formula in a line."""
    words = {slot: step.text for slot, step in formula.steps.items()}
    sums = words["sums"].replace("x", "sum", 1)
    scales = words["scales"].replace("weight_scale", f"scale{words['scale']}")
    rest = "".join(words[slot] for slot in ("bias", "offset", "end"))
    order = words["order"] and f", sum = x1 @ x2{words['order']}"
    return f"y = {sums}{scales}{rest}{order}"


class QuantMatmul(ElementModel):
    """npu_quant_matmul."""

    form = Form(SLOTS, text, (Results(),), "docs/numerics.md 20", words=in_words)

    activations: Flat | None = None
    integers: Flat | None = None
    bias: Flat | None = None
    offsets: Flat | None = None

    def has_sum(self, output: int) -> bool:
        """Tell whether something is added to sums."""
        return self.bias is not None or self.integers is not None or self.offsets is not None

    def most_steps(self, output: int) -> float:
        """Return how many steps rounding explains: any number where terms may cancel."""
        return ANY if self.has_sum(output) or self.is_float_sum or self.in_groups else 1

    def allowed_for(self, output: int) -> float:
        """Return k, to which every product of small floats may add a rounding, of half an ulp."""
        products = self.depth + -(-self.depth // 32) + 1 if self.is_float_sum else 0
        return self.form.allowed + products / 2

    def factors(self) -> tuple[Array, Array]:
        """Return what the codes of both matrices stand for, times the powers of two of MX."""
        return self._factors

    def sums_by(self, order: Callable[[Any], Array]) -> Flat:
        """Return the sums of an order."""
        if order not in self._sums:
            self._sums[order] = Flat(order(self))
        return self._sums[order]

    def prepare(self) -> None:
        """Read the arguments, and add products up."""
        given = self.inputs
        to = given["output_dtype"]
        self.values = elements_of(dtype_of("int8" if to is None else to))
        self.is_float_sum = given["x1"].dtype not in (np.int8, np.int32)
        scale = given["scale"]
        self.in_groups = not self.is_float_sum and scale.ndim == 2
        self.has_own_scales = scale.ndim == 1
        self._sums: dict[Any, Flat] = {}
        names = {n: given[n] for n in ("x1_dtype", "x2_dtype")}
        a, b = _products.factors(given["x1"], given["x2"], **names)
        self.depth = a.shape[-1]
        self._take_sums(a, b, names)
        shape = self.x.shape
        one = np.ones(1, np.float32)
        own = page.scales_of(scale) if self.has_own_scales else one
        self.read(self.x, one, None)
        self.scale = self._spread(own, shape)
        self._take_rest(shape)

    def _take_sums(self, a: Array, b: Array, names: Any) -> None:
        given, scale = self.inputs, self.inputs["scale"]
        self._factors = a, b
        with np.errstate(all="ignore"):
            if self.in_groups:
                is_shifted = given["x1"].dtype == np.int8
                offset = None if is_shifted else given["offset"]
                self.x = _products.group_sums(a - 8 * is_shifted, b, page.scales_of(scale), offset)
                self.x = self.x + given["offset"] if is_shifted else self.x
            elif not self.is_float_sum:
                self.x = _products.whole_sums(a, b)
            else:
                rows = given["pertoken_scale"]
                self.x = page.float_sums(given["x1"], given["x2"], scale, rows, **names)
                if not self.has_own_scales:
                    self._factors = _times_powers(a, b, *_products.powers_of_two(rows, scale))

    def _take_rest(self, shape: tuple[int, ...]) -> None:
        rows, bias, offset = (self.inputs[n] for n in ("pertoken_scale", "bias", "offset"))
        if rows is not None and (self.has_own_scales or self.in_groups):
            self.activations = self._spread(np.asarray(rows).reshape(-1, 1), shape)
        if bias is not None and (
            bias.dtype == np.int32 or (self.has_own_scales and self.is_float_sum)
        ):
            self.integers = self._spread(np.asarray(bias), shape)
        elif bias is not None:
            self.bias = self._spread(np.asarray(bias).astype(np.float32), shape)
        if self.values.carrier == np.int8:
            self.offsets = self._spread(page.offsets_of(self.inputs["scale"], offset), shape)

    def _spread(self, values: Any, shape: tuple[int, ...]) -> Any:
        return Flat(np.broadcast_to(values, shape))


def _in_float64(model: QuantMatmul) -> Array:
    a, b = model.factors()
    return np.asarray(a @ b)


def _sizes(model: QuantMatmul) -> Array:
    """Add up how large the products are: no partial sum is larger."""
    a, b = model.factors()
    return np.asarray(np.abs(a) @ np.abs(b))


def _times_powers(a: Array, b: Array, rows: Array, columns: Array) -> tuple[Array, Array]:
    depth = a.shape[-1]
    of_a = np.repeat(rows, 32, axis=-1)[..., :depth]
    return a * of_a, b * np.repeat(columns, 32, axis=-2)[..., :depth, :]
