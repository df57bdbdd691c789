"""npu_grouped_matmul_swiglu_quant_v2: as the first version, of int4 by int4 and of MX, too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ... import _products
from ..elements import Elements, elements_of, largest
from . import glu, glu_quant, groups, products, steps
from . import grouped_matmul_swiglu_quant as first_version
from .arithmetic import Floats
from .block_rows import NOT_FINITE, in_blocks, in_pairs, mx_of, out_of_blocks
from .blocks import factor_of
from .codes import Codes
from .exponents import RULES
from .formula import Before, Form, Formula, Step, only_if
from .glu_quant import Scales, operands
from .grouped_matmul_swiglu_quant import BY_ROWS, OF_SUMS, ExpertModel, ExpertPart
from .model import Array, Flat
from .products import AS_COUNTS, AS_ENDS, AS_TOLD, FIRST_FOR_ALL, ORDERS, Product
from .tiles import as_given

DOCUMENT = "cann/ops-transformer gmm/grouped_matmul_swiglu_quant_v2/docs"
BLOCK = 32


def is_mx(model: Any) -> bool:
    """Tell whether results are codes of blocks."""
    return bool(model.is_mx)


def is_of_rows(model: Any) -> bool:
    """Tell whether rows have scales."""
    return not is_mx(model)


def rule(step: Step) -> Step:
    """Return a rule of MX, that this operator has no argument for."""
    source = DOCUMENT if step.name == "scale nearest" else step.source
    return replace(step, source=source, attribute="")


NAMES = ["floor of float32 log2", "scale rceil", "scale ceil", "scale even", "scale nearest"]
EXPONENTS = (
    replace(RULES[0], text="floor(log2(amax)) - 8"),
    *(rule(step) for step in RULES if step.name in [*NAMES, "emax ignored"]),
)
UNSATURATED = replace(
    groups.UNSATURATED,
    applies=lambda model: is_mx(model) or groups.UNSATURATED.applies(model),
)
SLOTS = (
    OF_SUMS
    | {"order": ORDERS, "groups": (AS_TOLD, AS_COUNTS, AS_ENDS, FIRST_FOR_ALL)}
    | glu.SLOTS
    | {slot: only_if(is_of_rows, own) for slot, own in BY_ROWS.items()}
    | {"values": glu_quant.values("smooth_scale"), "exponent": only_if(is_mx, EXPONENTS)}
    | groups.ENDS
    | {"clamp": (steps.CLAMP, steps.CLAMP_SYMMETRIC, UNSATURATED)}
)


def in_words(words: str) -> str:
    """Return what the first version says in the words of this one."""
    return words.replace("bias", "weight_assist_matrix")


def text(formula: Formula) -> str:
    """Return how scale, y, o and c come about; of MX the exponent E."""
    own = first_version.text(formula)
    name = formula["exponent"]
    return f"{own}; of MX E = {name.text.replace('emax', '8')}" if name.name else own


def scaled(formula: Formula, part: ExpertPart) -> tuple[Floats, Array]:
    """Return the numbers of a part's blocks that become codes, and the bytes of the blocks."""

    def make() -> tuple[Floats, Array]:
        o = part.branch(formula).numbers(as_given)
        return mx_of(in_blocks(o, BLOCK), formula["exponent"].function, part.model)

    own = (formula[slot] for slot in ("exponent", *part.model.unit_slots))
    return part.once(("scaled", *own), make)


class CodesOfEither(Codes):
    """Codes of rows, or of MX."""

    def make(self, formula: Formula, part: ExpertPart) -> Array:
        """Return the codes of a part."""
        model = part.model
        if not is_mx(model):
            return super().make(formula, part)
        own, low = model.format, formula["clamp"].function(model.format.limits[0])
        with np.errstate(all="ignore"):
            kept = formula["kept"].function(scaled(formula, part)[0])
            codes = own.codes(own.rounding(formula["round"].function)(kept), low)
        return np.asarray(out_of_blocks(codes, model.columns)).reshape(-1)

    def before(self, formula: Formula, part: ExpertPart) -> Before:
        """Return the numbers before they are rounded: of MX by the bytes that are handed over."""
        model = part.model
        if not is_mx(model):
            return super().before(formula, part)
        o, size = glu_quant.gated(formula, part.wide())
        if part.scale is None:
            b = scaled(formula, part)[1]
        else:
            rows = part.scale.reshape(model.row_count, model.scales_per_row)[slice(*part.range)]
            b = rows[:, : -(-model.columns // BLOCK)]
        factor = np.where(b == NOT_FINITE, np.nan, factor_of(b)).astype(np.float64)
        every = np.repeat(factor, BLOCK, 1)[:, : model.columns]
        terms = o if size is None else largest(o, size)
        return (o * every).reshape(-1), np.abs(terms * every).reshape(-1)


class ScalesOfEither(Scales):
    """The scales of rows, or bytes of MX."""

    def make(self, formula: Formula, part: Any) -> Array | None:
        """Return those of a part."""
        if not is_mx(part.model):
            return super().make(formula, part)
        return in_pairs(scaled(formula, part)[1]).reshape(-1)

    def before(self, formula: Formula, part: Any) -> Before | None:
        """Return them in float64; bytes are no rounded numbers."""
        return None if is_mx(part.model) else super().before(formula, part)


class GroupedMatmulSwigluQuantV2(ExpertModel):
    """npu_grouped_matmul_swiglu_quant_v2."""

    form = Form(
        SLOTS,
        text,
        (CodesOfEither(operands), ScalesOfEither()),
        "docs/numerics.md 24",
        words=in_words,
    )
    factors = "smooth_scale"
    # Of the exponents of float8_e4m3fn.
    alg, emax, half_step, is_packed = 0, 8.0, 1 / 16, False

    def prepare(self) -> None:
        """Read the arguments, and which rows each expert has."""
        inputs = self.inputs
        scale, smooth = inputs["weight_scale"][0], inputs["smooth_scale"]
        self.is_mx = scale.dtype.itemsize == 1
        self.read_experts(inputs["weight"][0], scale, inputs["group_list_type"] or 0)
        self.read_format("float8_e4m3fn" if self.is_mx else None)
        self.greatest = self.most
        n = scale.shape[-2 if self.is_mx else -1]
        self.group(np.broadcast_to(np.int8(0), (self.row_count, n // 2)), "pertoken")
        self.given = {} if self.is_mx or self.in_groups else {"weight_scale": self.scales}
        if self.in_groups:
            self.given["bias"] = inputs["weight_assist_matrix"][0]
        if smooth is not None:
            self.smooth = self.given["smooth_scale"] = smooth.reshape(len(smooth), -1)
        self.of_rows = Flat(np.ones(self.row_count, np.float32))
        if self.is_mx:
            self.has_scale_per_row, self.is_float_sum = False, True
            self.scales_per_row = 2 * -(-self.columns // (2 * BLOCK))
        else:
            self.of_rows = Flat(inputs["x_scale"])
        self.take(AS_TOLD)

    def product(self, e: int, rows: slice) -> Product:
        """Return the rows of an expert, times its matrix."""
        if not self.is_mx:
            return super().product(e, rows)
        x = self.inputs["x"][rows]

        def right() -> Array:
            return products.numbers_in(self.weight[e])

        own = self.inputs["x_scale"][rows], self.inputs["weight_scale"][0][e]
        return products.of_mx(x, products.numbers_in, right, *_products.powers_of_two(*own))

    def allowed_for(self, output: int) -> float:
        """Return k: bytes are no rounded numbers."""
        return 0.0 if self.is_mx and output == 1 else super().allowed_for(output)

    def elements_of(self, output: int) -> Elements:
        """Return what the elements of an output stand for."""
        if self.is_mx and self.kinds[output] == "scale":
            return elements_of("float8_e8m0")
        return super().elements_of(output)

    def as_elements(self, output: int, array: Array) -> Array:
        """Return an output as an array of elements: bytes may be float8_e8m0fnu."""
        is_bytes = self.is_mx and output == 1 and array.dtype.itemsize == 1
        return super().as_elements(output, array.view(np.uint8) if is_bytes else array)
