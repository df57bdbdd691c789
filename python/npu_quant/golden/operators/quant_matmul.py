"""npu_quant_matmul: sums of products of codes, dequantized as npu_dequant_bias does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import _products
from ...ops import quant_matmul as page
from ..elements import elements_of, largest
from . import dequant_bias, float_sums, products, steps
from .arithmetic import stored_in
from .dequant_bias import Operands, has_activations, has_floats, has_integers
from .elements import ElementModel, ElementPart, dtype_of
from .formula import Before, Form, Formula, Other, Output, Step, only_if
from .model import ANY, Array, Flat
from .products import Product

V3 = "hicann/ops-nn matmul/quant_batch_matmul_v3"


def is_value(model: Any) -> bool:
    """Tell whether sums are scaled."""
    return bool(model.values.carrier != np.int32)


def has_offsets(model: Any) -> bool:
    """Tell whether something is added to int8 results, which is not 0."""
    return model.offsets is not None and bool(model.offsets.read(0, model.offsets.size).any())


def has_own_scales(model: Any) -> bool:
    """Tell whether sums are scaled by their columns' scales."""
    return is_value(model) and bool(model.has_own_scales)


def cut_to_19_bits(scale: Any) -> Any:
    """Return scales as npu_trans_quant_param keeps them."""
    bits = scale.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    return bits.view(np.float32).astype(scale.dtype)


def rounded_apart(v: Any, offset: Any) -> Any:
    """Add whole numbers of 9 bits."""
    both = (np.clip(np.rint(part), -256, 255) for part in (v, offset))
    return sum(both)


of_values = partial(only_if, is_value)
"""Steps of npu_dequant_bias, in order, as they apply to results that are scaled."""
SUMS = dequant_bias.SLOTS["sums"]
SLOTS = {
    "order": products.ORDERS,
    "sums": (*of_values(SUMS[:2]), SUMS[2]),
    "scale": (
        Step("", "", lambda scale: scale),
        Other(
            "scale cut to 19 bits",
            " (scale & 0xFFFFE000)",
            cut_to_19_bits,
            f"{V3}, by npu_trans_quant_param",
            has_own_scales,
        ),
        Other("scale ignored", " (1 for all)", np.ones_like, steps.MISTAKE, has_own_scales),
    ),
    "scales": of_values(
        (
            *dequant_bias.SLOTS["scales"],
            Other(
                "value in 16 bits before pertoken_scale",
                " * weight_scale in output_dtype * activation_scale",
                lambda v, o: (o.to(v * o.weight), o.activation),
                "two operators, the first without a pertoken_scale",
                has_activations,
            ),
        )
    ),
    "bias": of_values(dequant_bias.SLOTS["bias"]),
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
    "end": of_values(dequant_bias.SLOTS["end"]),
}


def operands(formula: Formula, part: ElementPart) -> Operands:
    """Return what a part is made of, in its floats."""
    model, is_wide = part.model, part.floats is np.float64
    order = products.exact if is_wide and model.is_float_sum else formula["order"].function
    scale = formula["scale"].function(part.read("scale"))
    nothing = np.zeros(1, np.int32)
    return Operands(
        model.sums(formula, part, order),
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
        terms = [o.x * scale, o.integer * scale, o.bias]
        if part.model.is_float_sum:
            left = part.model.sums(formula, wide, float_sums.left_by)
            terms.append(float_sums.as_large(left, part.model.allowed_for(0)) * scale)
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
        if "act" in formula.steps:
            value = formula["act"].function(value, part.model, o.to)
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


class ProductModel(ElementModel):
    """Sums of products that are scaled: of each element the parameters of its row and column."""

    scale: Any
    activations: Any = None
    integers: Any = None
    """What is added to sums before they are scaled."""
    bias: Any = None
    offsets: Any = None
    is_float_sum = in_groups = is_shifted = has_own_scales = False
    columns: int

    def has_sum(self, output: int) -> bool:
        """Tell whether something is added to sums."""
        return self.bias is not None or self.integers is not None or self.offsets is not None

    def most_steps(self, output: int) -> float:
        """Return how many steps rounding explains: any number where terms may cancel."""
        return ANY if self.has_sum(output) or self.is_float_sum else 1

    def products(self, formula: Formula) -> Sequence[Product]:
        """Return what is multiplied, one under the other: the same list for the same steps."""
        raise NotImplementedError

    def sums(self, formula: Formula, part: ElementPart, order: Any) -> Array:
        """Return the sums of a part's elements in an order; 0 where there are no products."""
        own, (begin, end) = self.products(formula), part.range

        def make() -> Array:
            first, last = begin // max(1, self.columns), -(-end // max(1, self.columns))
            made = products.sums_of(own, self.columns, order, first, last).reshape(-1)
            return made[begin - first * self.columns :][: end - begin]

        return part.once(("sums", order, id(own)), make)


class QuantMatmul(ProductModel):
    """npu_quant_matmul."""

    form = Form(SLOTS, text, (Results(),), "docs/numerics.md 20", words=in_words)

    def products(self, formula: Formula) -> Sequence[Product]:
        """Return what is multiplied, one under the other."""
        return self._products

    def prepare(self) -> None:
        """Read the arguments."""
        given = self.inputs
        to, scale = given["output_dtype"], given["scale"]
        self.values = elements_of(dtype_of("int8" if to is None else to))
        is_whole = given["x1"].dtype in (np.int8, np.int32)
        self.has_own_scales = scale.ndim == 1
        self.in_groups = is_whole and not self.has_own_scales
        self.is_float_sum = self.in_groups or not is_whole
        names = {n: given[n] for n in ("x1_dtype", "x2_dtype")}
        x1 = given["x1"]
        k = _products.matrix_of(x1[..., :0, :], names["x1_dtype"]).shape[-1]
        b = _products.matrix_of(given["x2"], names["x2_dtype"], k).astype(np.float64)
        self.is_shifted = self.in_groups and x1.dtype == np.int8
        batch = np.broadcast_shapes(x1.shape[:-2], b.shape[:-2])
        self._products = [self._product(*own) for own in self._each(batch, x1, b)]
        self.columns = b.shape[-1]
        shape = (*batch, x1.shape[-2], self.columns)
        one = np.ones(1, np.float32)
        # Nothing is in it but its shape.
        self.read(np.broadcast_to(np.int8(0), shape), one, None)
        own = page.scales_of(scale) if self.has_own_scales else one
        self.scale = self._spread(own, shape)
        self._take_rest(shape)

    def _each(self, batch: tuple[int, ...], *matrices: Array) -> Iterator[list[Array]]:
        """Yield the matrices of each of a batch, and in MX the powers of two of both."""
        if self.is_float_sum and not self.has_own_scales and not self.in_groups:
            given = self.inputs
            matrices += _products.powers_of_two(given["pertoken_scale"], given["scale"])
        every = [np.broadcast_to(m, (*batch, *m.shape[-2:])) for m in matrices]
        yield from ([m[i] for m in every] for i in np.ndindex(*batch))

    def _product(self, x1: Array, b: Array, *powers: Array) -> Product:
        """Return a product of two matrices."""

        def right() -> Array:
            return b

        def numbers(codes: Array) -> Array:
            return products.numbers_in(codes, self.inputs["x1_dtype"]) - 8 * self.is_shifted

        if powers:
            return products.of_mx(x1, numbers, right, *powers)
        if not self.is_float_sum:
            return products.of_integers(x1, numbers, right)
        if not self.in_groups:
            return products.of_blocks(x1, numbers, right)
        offset = None if self.is_shifted else self.inputs["offset"]
        scale = page.scales_of(self.inputs["scale"])
        return products.in_groups(x1, numbers, right, scale, offset)

    def _take_rest(self, shape: tuple[int, ...]) -> None:
        rows, bias, offset = (self.inputs[n] for n in ("pertoken_scale", "bias", "offset"))
        if rows is not None and (self.has_own_scales or self.in_groups):
            self.activations = self._spread(np.asarray(rows).reshape(-1, 1), shape)
        if self.is_shifted:
            self.integers = self._spread(np.asarray(offset), shape)
        elif bias is not None and (
            bias.dtype == np.int32 or (self.has_own_scales and self.is_float_sum)
        ):
            self.integers = self._spread(np.asarray(bias), shape)
        elif bias is not None:
            self.bias = self._spread(np.asarray(bias).astype(np.float32), shape)
        if self.values.carrier == np.int8:
            self.offsets = self._spread(page.offsets_of(self.inputs["scale"], offset), shape)

    def _spread(self, values: Any, shape: tuple[int, ...]) -> Any:
        return Flat(np.broadcast_to(values, shape))
