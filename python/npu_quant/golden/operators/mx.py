"""The formulas of MX: a power of two for each block, found by one of many rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..elements import half_away
from . import steps
from .arithmetic import as_it_is, to_bfloat16
from .blocks import NOT_FINITE, BlockPart, bytes_of, factor_of
from .exponents import RULES, is_packed
from .formula import Before, Form, Formula, Other, Output, Step
from .model import Array, Float32

KERNELS = "hicann/ops-nn quant/dynamic_mx_quant/op_kernel"


def is_float8(model: Any) -> bool:
    """Tell whether codes are float8, whose ties are rounded to even as a rule."""
    return not model.is_packed


def is_bounded(model: Any) -> bool:
    """Tell whether there is a max_low_bound."""
    return bool(model.least > 0)


# The amax of blocks.


def greatest_of(v: Float32, model: Any) -> Float32:
    """Return max |v|, of the tile where blocks are parts of tiles; NaN where there is one."""
    return np.asarray(model.of_tiles(np.abs(v).max(axis=2, initial=0)))


def amax_of(v: Float32, model: Any) -> Float32:
    """Return the same, at least max_low_bound."""
    return np.asarray(np.maximum(greatest_of(v, model), model.least))


def finite_amax(v: Float32, model: Any) -> Float32:
    """Return max |v| of what is finite."""
    return amax_of(np.where(np.isfinite(v), v, np.float32(0)), model)


def cut_to_bfloat16(v: Float32) -> Float32:
    """Drop the lower half of float32."""
    bits = np.ascontiguousarray(v).view(np.uint32) & np.uint32(0xFFFF0000)
    return np.asarray(bits.view(np.float32))


AMAX = Step("", "", amax_of)
FINITE_ONLY = Other(
    "finite elements only", "max |x| of the finite x", finite_amax, "scripts that mask NaN and inf"
)
NEAREST_AMAX = Other(
    "bf16 amax",
    "bfloat16(max |x|)",
    lambda v, model: to_bfloat16(amax_of(v, model)),
    f"{KERNELS}, scale_alg 2 of float16",
)
CUT_AMAX = Other(
    "bf16 amax cut off",
    "max |x|, the lower half of its bits dropped",
    lambda v, model: cut_to_bfloat16(amax_of(v, model)),
    f"{KERNELS}, scale_alg 2 of float32",
)
UNBOUNDED = Other(
    "max_low_bound ignored",
    "max |x| without max_low_bound",
    greatest_of,
    steps.MISTAKE,
    is_bounded,
)

# How the bytes lie, and how numbers are multiplied.

SIDE_BY_SIDE = Step("", "", lambda scales: scales.transpose(0, 2, 1))
IN_ROWS = Other(
    "bytes in rows",
    ", bytes block by block",
    as_it_is,
    "mxscale of another axis that was not interleaved",
    lambda model: any(blocks.inner > 1 for blocks in model.blocks),
)
WITHOUT_BIAS = Other(
    "bytes without a bias",
    ", bytes hold E",
    lambda scales: (scales - np.uint8(127)).transpose(0, 2, 1),
    "exponents in int8",
)


def product_of(v: Float32, scales: Array, model: Any) -> Float32:
    """Return v / 2^E, and 0 where a block is not finite."""
    with np.errstate(all="ignore"):
        own = v * factor_of(scales)[:, :, None]
    return np.where(scales[:, :, None] == NOT_FINITE, np.float32(0), own)


def not_of_subnormals(v: Float32, scales: Array, model: Any) -> Float32:
    """Return the product, and 0 where the greatest number of a block is subnormal."""
    is_tiny = greatest_of(v, model)[:, :, None] < np.finfo(np.float32).tiny
    return np.where(is_tiny, np.float32(0), product_of(v, scales, model))


def exact_product(v: Float32, scales: Array, model: Any) -> Float32:
    """Return the same without underflow: what is not 0 stays so."""
    own = product_of(v, scales, model)
    is_lost = (own == 0) & (v != 0) & (scales[:, :, None] != NOT_FINITE)
    return np.where(is_lost, np.copysign(np.float32(1e-45), v), own)


def not_of_byte_0(v: Float32, scales: Array, model: Any) -> Float32:
    """Return the product, and 0 where the byte is 0."""
    return np.where(scales[:, :, None] == 0, np.float32(0), product_of(v, scales, model))


PRODUCT = Step("", "x / 2^E", product_of)
WIDE_PRODUCT = Step(
    "float64 products",
    "float64(x / 2^E)",
    exact_product,
    "hicann/ops-nn quant/dynamic_mx_quant/tests: its golden",
)
NARROW_PRODUCTS = steps.in_16_bits(
    "{short} products",
    "{long}(x / 2^E)",
    f"{KERNELS}, of {{long}}; compressed-tensors",
    lambda stored: lambda v, scales, model: stored(product_of(v, scales, model)),
)
BYTE_0 = Other(
    "y is 0 where the byte is", "(x / 2^E, 0 where the byte is 0)", not_of_byte_0, KERNELS
)
SUBNORMAL = Other(
    "y is 0 where amax is subnormal",
    "(x / 2^E, 0 where amax is subnormal)",
    not_of_subnormals,
    "hicann/ops-nn quant/dynamic_mx_quant_with_dual_axis, dynamic_block_mx_quant, "
    "grouped_dynamic_mx_quant: op_kernel",
)

# How products become codes.

MODES = {"rint": np.rint, "round": half_away, "floor": np.floor}


def mode_step(mode: str, text: str, **more: Any) -> Step:
    """Return the step that rounds by a mode which was not asked for."""
    return Step(
        f"round_mode {mode}",
        text,
        lambda model: MODES[mode],
        f'round_mode "{mode}"',
        lambda model: model.round_mode != mode,
        attribute=f'round_mode="{mode}"',
        **more,
    )


def plain(step: Step, source: str) -> Step:
    """Return a rounding as a step of this form."""
    return replace(step, function=lambda model: step.function, source=source)


AS_TOLD = Step("", "round", lambda model: MODES[model.round_mode])
_TIES: dict[str, Any] = {"benign_if": is_float8, "benign_when": "codes are float8"}
ROUNDINGS = (
    mode_step("rint", "ties to even", **_TIES),
    mode_step("round", "ties away from zero", **_TIES),
    mode_step("floor", "floor", benign=False),
    plain(steps.TRUNCATION, "CAST_TRUNC of the device"),
    plain(steps.CEILING, steps.CEILING.source),
)
LOW_FIRST = Step("", "", as_it_is)
HIGH_FIRST = Other(
    "high nibble first",
    ", the first code in the high nibble",
    lambda y: y.reshape(-1, 2)[:, ::-1].reshape(-1),
    "another order of float4 in a byte",
    is_packed,
)


# What a formula makes of a part.


def scaled(formula: Formula, part: BlockPart) -> tuple[Float32, Array]:
    """Return the numbers of a part, and the bytes of its blocks."""
    model = part.model

    def make() -> tuple[Float32, Array]:
        v = part.call(formula["values"].function, part.numbers())
        with np.errstate(all="ignore"):
            amax = part.call(formula["amax"].function, v, model)
            exponent = formula["exponent"].function(amax, model)
        return v, part.same(part.there(bytes_of(exponent, amax)))

    return part.once(("scaled", *(formula[s] for s in ("values", "amax", "exponent"))), make)


class MxOutput(Output):
    """Codes or bytes of a part: none, where it is of other blocks."""

    def __init__(self, number: int) -> None:
        self._number = number

    def make(self, formula: Formula, part: BlockPart) -> Array | None:
        """Return what a part has of the output."""
        model, number = part.model, self._number
        if number >= len(model.outputs):
            return None
        if model.number_of(number) != part.number:
            return np.zeros(0, model.elements_of(number).carrier)
        is_scale = model.kinds[number] == "scale"
        return mxscale(formula, part, number) if is_scale else y(formula, part)

    def before(self, formula: Formula, part: BlockPart) -> Before | None:
        """Return the products of codes, which are exact; NaN in blocks that are not finite."""
        model, number = part.model, self._number
        if model.kinds[number] == "scale":
            return None
        if model.number_of(number) != part.number:
            return np.zeros(0), np.zeros(0)
        if part.scale is None:
            is_finite = scaled(formula, part)[1][:, :, None] != NOT_FINITE
            products = np.where(is_finite, products_of(formula, part), np.float32(np.nan))
            products = part.flat(products)
        else:
            byte = model.bytes_for(number, np.arange(*part.spans[number]), part.scale)
            own = part.flat(part.numbers()) * factor_of(byte)
            products = np.where(byte == NOT_FINITE, np.float32(np.nan), own)
        wide = np.asarray(formula["order"].function(products), np.float64)
        return wide, np.abs(wide)


def products_of(formula: Formula, part: BlockPart) -> Float32:
    """Return the numbers that are rounded to the codes of a part."""
    return part.call(formula["product"].function, *scaled(formula, part), part.model)


def y(formula: Formula, part: BlockPart) -> Array:
    """Return the codes of a part."""
    own = part.model.format
    products = products_of(formula, part)
    to_whole = formula["round"].function(part.model)
    low = formula["clamp"].function(own.limits[0])
    return part.call(_codes_of, part, products, to_whole, low, formula["order"].function)


def _codes_of(part: BlockPart, products: Float32, to_whole: Any, low: float, order: Any) -> Array:
    own = part.model.format
    with np.errstate(all="ignore"):
        codes = own.codes(own.rounding(to_whole)(products), low)
    return np.asarray(order(part.flat(codes)))


def mxscale(formula: Formula, part: BlockPart, number: int) -> Array:
    """Return the bytes of a part, for an output."""
    scales = part.call(part.laid, number, scaled(formula, part)[1])
    return part.call(_flat, formula["lie"].function, scales)


def _flat(lie: Any, scales: Array) -> Array:
    return np.ascontiguousarray(lie(scales)).reshape(-1)


def text(formula: Formula) -> str:
    """Return how E and y come about."""
    scale = f"E = {formula['exponent'].text}{formula['lie'].text}"
    x, amax = formula["values"].text, formula["amax"].text
    product = formula["product"].text.replace("x", x, 1)
    y = f"y = {formula['round'].text}({product}){formula['clamp'].text}{formula['order'].text}"
    return f"{scale}, {y}" + (f", amax = {amax}" if amax else "")


FORM = Form(
    {
        "values": (
            Step("", "x", as_it_is),
            *steps.in_16_bits(
                "input as {short}", "{long}(x)", "x.{cast}()", as_it_is, steps.is_float32
            ),
        ),
        "amax": (AMAX, FINITE_ONLY, NEAREST_AMAX, CUT_AMAX, UNBOUNDED),
        "exponent": RULES,
        "lie": (SIDE_BY_SIDE, IN_ROWS, WITHOUT_BIAS),
        "product": (PRODUCT, WIDE_PRODUCT, *NARROW_PRODUCTS, BYTE_0, SUBNORMAL),
        "round": (AS_TOLD, *ROUNDINGS),
        "clamp": (steps.CLAMP, steps.UNSATURATED),
        "order": (LOW_FIRST, HIGH_FIRST),
    },
    text,
    tuple(MxOutput(number) for number in range(4)),  # codes and bytes, perhaps twice
    "docs/numerics.md 14",
)
