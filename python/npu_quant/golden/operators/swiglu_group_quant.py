"""npu_swiglu_group_quant: a gated linear unit, and codes of blocks of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..elements import Elements, elements_of, largest
from . import dynamic_quant, glu, steps
from .arithmetic import Floats
from .block_rows import (
    BIAS,
    NOT_FINITE,
    RowModel,
    RowPart,
    in_blocks,
    in_pairs,
    log2_of,
    out_of_blocks,
    power_of,
)
from .dequant_swiglu_quant import limited
from .formula import Before, Form, Formula, Other, Output, Step
from .model import ANY, Array, Flat

UPSTREAM = "hicann/ops-nn activation/swiglu_group_quant"
GOLDEN = f"{UPSTREAM}/tests: its golden"


def is_mx(model: Any) -> bool:
    """Tell whether scales are bytes."""
    return bool(model.is_mx)


def is_limited(model: Any) -> bool:
    """Tell whether there is a clamp_limit."""
    return bool(model.limit > 0)


LIMITS = (
    Step("", "", lambda a, b, limit: limited(a, b, limit) if limit > 0 else (a, b)),
    Other(
        "without limits", ", without clamp_limit", lambda a, b, limit: (a, b), "scripts", is_limited
    ),
    Other(
        "limits that are not above 0",
        ", by a clamp_limit of 0 or less",
        limited,
        f"{GOLDEN}, unless it is -1; Ascend/op-plugin, unless it is 0",
        lambda model: not is_limited(model),
    ),
)
WEIGHTS = (
    Step("", "", lambda o, weight: o if weight is None else o * weight),
    Other(
        "weight ignored",
        " without weight",
        lambda o, weight: o,
        steps.MISTAKE,
        lambda model: model.weight is not None,
    ),
)


def greatest(o: Floats, model: Any) -> Floats:
    """Return max |o| of blocks: with scales that are floats, of what is finite."""
    magnitudes = np.abs(o)
    if not is_mx(model):
        magnitudes = np.where(np.isfinite(o), magnitudes, magnitudes.dtype.type(0))
    return np.asarray(magnitudes.max(axis=2, initial=0))


AMAX = (
    Step("", "max(|o|, 1e-4)", lambda o, model: np.maximum(greatest(o, model), np.float32(1e-4))),
    Other("amax without 1e-4", "max |o|", greatest, "npu_dynamic_block_quant"),
)


def power_step(name: str, text: str, function: Any, source: str, **more: Any) -> Step:
    """Return a step that makes another number of a scale."""
    return Other(name, text, function, source, **more)


def as_told(scale: Floats, model: Any) -> Floats:
    """Return scales as round_scale has them."""
    return power_of(log2_of(scale)) if model.rounds else scale


POWERS = (
    Step("", "", as_told),
    power_step(
        "scale rounded down",
        ", rounded down to a power of 2",
        lambda scale, model: power_of(np.floor(np.log2(scale))),
        "npu_dynamic_mx_quant with scale_alg 0",
        applies=lambda model: model.rounds,
    ),
    power_step(
        "scale as it is",
        ", as it is",
        lambda scale, model: scale,
        "round_scale=False",
        applies=lambda model: model.rounds and not is_mx(model),
        attribute="round_scale=False",
    ),
    power_step(
        "scale rounded up",
        ", rounded up to a power of 2",
        lambda scale, model: power_of(log2_of(scale)),
        "round_scale=True",
        applies=lambda model: not model.rounds,
        attribute="round_scale=True",
    ),
)
QUOTIENTS = (
    Step(
        "",
        "o * (127 / amax)",
        lambda o, scale, amax, model: o * (1 / scale if model.rounds else model.most / amax),
        roundings=2,
    ),
    Step(
        "o / scale", "o / scale", lambda o, scale, amax, model: o / scale, "npu_dynamic_block_quant"
    ),
    Step(
        "o * (1/scale)",
        "o * (1 / scale)",
        lambda o, scale, amax, model: o * (1 / scale),
        "vLLM's and DeepSeek's kernels of blocks",
        roundings=2,
    ),
)


def values(formula: Formula, part: RowPart) -> Floats:
    """Return o of a part; 0 behind the groups."""

    def make() -> Floats:
        model = part.model
        x = part.read(model.rows_of_x, 2 * model.columns)
        halves = x[:, : model.columns], x[:, model.columns :]
        a, b = formula["half"].function(*halves)
        a, b = formula["limit"].function(a, b, part.floats(model.limit))
        weight = None if model.weight is None else part.read(model.weight, 1)
        o = formula["weight"].function(glu.product(formula, a, a, b), weight)
        is_there = np.arange(*part.range)[:, None] < model.computed
        return np.where(is_there, o, o.dtype.type(0))

    own = (formula[slot] for slot in ("half", "limit", "swish", "product", "weight"))
    return part.once(("o", *own), make)


def scaled(formula: Formula, part: RowPart) -> tuple[Floats, Floats, Floats]:
    """Return o of a part in blocks, their scales, and their amax."""
    model = part.model
    o = in_blocks(values(formula, part), model.size)
    with np.errstate(all="ignore"):
        amax = formula["amax"].function(o, model)
        scale = formula["scale"].function(amax, model.most)
        return o, formula["power"].function(scale, model), amax


class GroupCodes(Output):
    """The codes of blocks."""

    def make(self, formula: Formula, part: RowPart) -> Array:
        """Return those of a part."""
        own, model = part.model.format, part.model
        o, scale, amax = scaled(formula, part)
        q = formula["quotient"].function(o, scale[..., None], amax[..., None], model)
        q = np.where(np.isfinite(amax)[..., None], q, q.dtype.type(0))
        low = formula["clamp"].function(own.limits[0])
        codes = own.codes(own.rounding(formula["round"].function)(q), low)
        return np.asarray(out_of_blocks(codes, model.columns)).reshape(-1)

    def before(self, formula: Formula, part: RowPart) -> Before:
        """Return o over the scale that is given, in float64."""
        model, wide = part.model, part.wide()
        o = in_blocks(values(formula, wide), model.size)
        given = part.given(1)
        if given is None:
            _, scale, amax = scaled(formula, part)
            scale = np.where(np.isfinite(amax), scale, np.float32(np.nan))
        else:
            scale = model.scales_of(given[:, : o.shape[1]])
        value = out_of_blocks(o / scale[..., None].astype(np.float64), model.columns).reshape(-1)
        return value, np.abs(value)


class GroupScales(Output):
    """The scales of blocks, or their bytes."""

    def make(self, formula: Formula, part: RowPart) -> Array:
        """Return those of a part; 0 behind the groups."""
        model = part.model
        _, scale, amax = scaled(formula, part)
        is_there = np.arange(*part.range)[:, None] < model.computed
        if not is_mx(model):
            return np.asarray(np.where(is_there, scale, scale.dtype.type(0))).reshape(-1)
        b = np.where(np.isfinite(amax), log2_of(np.nan_to_num(scale)) + BIAS, NOT_FINITE)
        return in_pairs(np.where(is_there, b, 0)).reshape(-1)

    def before(self, formula: Formula, part: RowPart) -> Before | None:
        """Return float scales in float64."""
        if is_mx(part.model) or part.model.rounds:
            return None
        made = self.make(formula, part.wide())
        return made, np.abs(made)


class Origins(Output):
    """What is quantized, in the dtype of the input, where it is wanted."""

    def make(self, formula: Formula, part: RowPart) -> Array:
        """Return that of a part."""
        is_wanted = part.model.per_row[2] > 0
        o: Array = values(formula, part).astype(part.model.dtype).reshape(-1)
        return o if is_wanted else o[:0]

    def before(self, formula: Formula, part: RowPart) -> Before:
        """Return it in float64; its own ulp is its measure."""
        o = values(formula, part.wide()).reshape(-1)[: part.spans[2][1] - part.spans[2][0]]
        return o, largest(o)


def text(formula: Formula) -> str:
    """Return how scale, y and o come about."""
    o = f"{glu.text(formula)}{formula['weight'].text}{formula['limit'].text}"
    scale = formula["scale"].text + formula["power"].text
    y = f"{formula['round'].text}({formula['quotient'].text}){formula['clamp'].text}"
    return f"scale = {scale}, y = {y}, amax = {formula['amax'].text}, o = {o}"


class SwigluGroupQuant(RowModel):
    """npu_swiglu_group_quant."""

    form = Form(
        {"limit": LIMITS}
        | glu.SLOTS
        | {
            "weight": WEIGHTS,
            "amax": AMAX,
            "scale": (
                dynamic_quant.AMAX_OVER_127,
                replace(dynamic_quant.TIMES_INVERSE, source=GOLDEN),
                replace(dynamic_quant.INVERSE, source="scripts"),
            ),
            "power": POWERS,
            "quotient": QUOTIENTS,
            "round": (steps.HALF_EVEN, steps.HALF_AWAY, steps.TRUNCATION),
            "clamp": (steps.CLAMP, steps.UNSATURATED),
        },
        text,
        (GroupCodes(), GroupScales(), Origins()),
        "docs/numerics.md 23",
    )
    scales_have_ties = True
    swiglu_mode = 0

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        x, weight, counts = (inputs[name] for name in ("x", "weight", "group_index"))
        self.read_format(inputs["dst_type"])
        self.dtype, self.rows_of_x = x.dtype, Flat(x)
        self.columns, self.row_count = x.shape[-1] // 2, int(np.prod(x.shape[:-1]))
        self.unit = self.columns
        self.weight = None if weight is None else Flat(weight)
        self.computed = self.row_count if counts is None else sum(counts.tolist())
        self.is_mx, self.rounds = inputs["quant_mode"] == 1, inputs["round_scale"]
        self.size = 32 if self.is_mx else 128
        with np.errstate(over="ignore"):
            self.limit = np.float32(inputs["clamp_limit"])
        blocks = -(-self.columns // self.size)
        origin = self.columns if inputs["output_origin"] else 0
        self.per_row = (self.columns, blocks + blocks % 2 if self.is_mx else blocks, origin)

    def allowed_for(self, output: int) -> float:
        """Return k: weights round once more."""
        return super().allowed_for(output) + (self.weight is not None)

    def most_steps(self, output: int) -> float:
        """Return any number of scales and values, which the roundings of o move by up to k."""
        return super().most_steps(output) if self.kinds[output] == "codes" else ANY

    def elements_of(self, output: int) -> Elements:
        """Return what the elements of an output stand for."""
        if self.is_mx and self.kinds[output] == "scale":
            return elements_of("float8_e8m0")
        return super().elements_of(output)

    def as_elements(self, output: int, array: Array) -> Array:
        """Return an output as an array of elements: bytes may be float8_e8m0fnu."""
        if self.is_mx and self.kinds[output] == "scale" and array.dtype.itemsize == 1:
            return array.view(np.uint8)
        return super().as_elements(output, array)

    def scales_of(self, given: Array) -> Floats:
        """Return what scales stand for: bytes may be NaN."""
        if not self.is_mx:
            return given
        scale = power_of(given.astype(np.float32) - BIAS)
        return np.where(given == NOT_FINITE, np.float32(np.nan), scale)
