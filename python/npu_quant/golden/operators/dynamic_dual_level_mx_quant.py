"""npu_dynamic_dual_level_mx_quant: float4 by two levels of scales."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from ... import _codes
from ..elements import Elements, elements_of
from . import dynamic_quant, mx
from .arithmetic import Floats, as_it_is
from .block_rows import NOT_FINITE, RowModel, RowPart, in_blocks, in_pairs, mx_of, out_of_blocks
from .blocks import Directed
from .exponents import RULES
from .formula import Before, Form, Formula, Other, Output, Step
from .model import Array, Flat, Float32

GROUP, BLOCK = 512, 32

SCALES = (
    dynamic_quant.AMAX_OVER_127,
    replace(dynamic_quant.TIMES_INVERSE, source="scripts"),
    replace(dynamic_quant.INVERSE, source="scripts"),
    Other("scale 1", "1", lambda amax, most: np.ones_like(amax), "npu_dynamic_mx_quant"),
)
QUOTIENTS = (
    Step("", "x / scale", lambda x, scale: x / scale, roundings=1),
    Step(
        "x * (1/scale)",
        "x * (1 / scale)",
        lambda x, scale: x * (1 / scale),
        "scripts",
        roundings=2,
    ),
)
KEPT = (
    Step("", " in x's dtype", lambda t, model: t.astype(model.dtype).astype(np.float32)),
    Other("t in float32", "", lambda t, model: np.asarray(t, np.float32), "scripts"),
)


RULES_OF_MX = ["floor of float32 log2", "scale rceil", "scale ceil", "scale even"]
RULES_OF_MX += ["scale nearest", "emax ignored"]
EXPONENTS = (
    replace(RULES[0], text="floor(log2(amax)) - 2"),
    *(replace(rule, attribute="") for rule in RULES if rule.name in RULES_OF_MX),
)


def divided(formula: Formula, part: RowPart) -> tuple[Floats, Float32]:
    """Return the scales of a part's groups, and what its numbers are over these."""

    def make() -> tuple[Floats, Float32]:
        model = part.model
        x = in_blocks(part.read(model.rows_of_x, model.columns), GROUP)
        scale = part.given(1)
        with np.errstate(all="ignore"):
            if scale is None:
                amax = np.abs(x).max(axis=2, initial=0)
                scale = formula["scale"].function(amax, model.most)
            by = np.where(scale == 0, scale.dtype.type(1), scale)[..., None].astype(part.floats)
            t = formula["kept"].function(formula["quotient"].function(x, by), model)
        return scale, out_of_blocks(t, model.columns)

    return part.once(("t", *(formula[slot] for slot in ("scale", "quotient", "kept"))), make)


def scaled(formula: Formula, part: RowPart) -> tuple[Float32, Array]:
    """Return what becomes codes in blocks, and the bytes of these."""
    t = in_blocks(divided(formula, part)[1], BLOCK)
    return mx_of(t, formula["exponent"].function, part.model)


class DualCodes(Output):
    """The codes of blocks, unpacked."""

    def make(self, formula: Formula, part: RowPart) -> Array:
        """Return those of a part."""
        own, model = part.model.format, part.model
        to_whole = formula["round"].function(model)
        codes = own.codes(own.rounding(to_whole)(scaled(formula, part)[0]), own.limits[0])
        flat = out_of_blocks(codes, model.columns).reshape(-1)
        return np.asarray(formula["order"].function(flat))

    def before(self, formula: Formula, part: RowPart) -> Before:
        """Return what is rounded, by the scale of the group that is given: 16 bits are kept."""
        products, b = scaled(formula, part.wide())
        value = np.where(b[..., None] == NOT_FINITE, np.float32(np.nan), products)
        wide = out_of_blocks(value, part.model.columns).reshape(-1).astype(np.float64)
        return wide, np.abs(wide)


class GroupScales(Output):
    """The scale of each group."""

    def make(self, formula: Formula, part: RowPart) -> Array:
        """Return those of a part."""
        return np.asarray(divided(formula, part)[0]).reshape(-1)

    def before(self, formula: Formula, part: RowPart) -> Before:
        """Return them in float64."""
        made = self.make(formula, part.wide()).astype(np.float64)
        return made, np.abs(made)


class BlockBytes(Output):
    """The byte of each block."""

    def make(self, formula: Formula, part: RowPart) -> Array:
        """Return those of a part."""
        return in_pairs(scaled(formula, part)[1]).reshape(-1)


def text(formula: Formula) -> str:
    """Return how the scales and y come about."""
    t = f"t = ({formula['quotient'].text}){formula['kept'].text}"
    y = f"y = {formula['round'].text}(t / 2^E){formula['order'].text}"
    e = formula["exponent"].text.replace("amax", "max |t|").replace("emax", "2")
    return f"scale = {formula['scale'].text}, {t}, E = {e}, {y}"


class DynamicDualLevelMxQuant(RowModel):
    """npu_dynamic_dual_level_mx_quant."""

    form = Form(
        {
            "scale": SCALES,
            "quotient": QUOTIENTS,
            "kept": KEPT,
            "exponent": EXPONENTS,
            "round": (mx.AS_TOLD, *mx.ROUNDINGS),
            "order": (Step("", "", as_it_is), mx.HIGH_FIRST),
        },
        text,
        (DualCodes(), GroupScales(), BlockBytes()),
        "docs/numerics.md 23",
    )
    is_packed, alg, emax, half_step = True, 0, 2.0, 0.25

    def prepare(self) -> None:
        """Read the arguments."""
        self.x = x = self.inputs["input"]
        self.read_format("float4_e2m1")
        self.dtype, self.rows_of_x = x.dtype, Flat(x)
        self.columns, self.row_count = x.shape[-1], int(np.prod(x.shape[:-1]))
        self.unit, self.greatest = self.columns, self.most
        self.round_mode = self.inputs["round_mode"]
        if self.round_mode == "floor":
            own = {f.name: getattr(self.format, f.name) for f in fields(self.format)}
            self.format = Directed(**own)
        groups, pairs = (-(-self.columns // size) for size in (GROUP, 2 * BLOCK))
        self.per_row = (self.columns, groups, 2 * pairs)

    def elements_of(self, output: int) -> Elements:
        """Return what the elements of an output stand for."""
        names: dict[int, Any] = {1: np.float32, 2: "float8_e8m0"}
        return elements_of(names[output]) if output in names else self.format

    def as_elements(self, output: int, array: Array) -> Array:
        """Return an output as an array of elements: two float4 are packed in a byte."""
        is_bytes = array.dtype.itemsize == 1 and array.ndim > 0
        if output == 2:
            return array.view(np.uint8) if is_bytes else array
        if output == 1 or not is_bytes or array.shape == self.x.shape:
            return array
        return _codes.unpacked(array)
