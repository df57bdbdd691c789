"""The steps that formulas of dynamic quantization share: which numbers, in which groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from . import steps
from .arithmetic import Floats
from .edges import zero_where_none
from .formula import Formula, Other, Step, Test
from .model import Array, Float32
from .steps import Operands
from .tiles import GroupedModel, GroupedPart, Groups, as_given, scale_of


def is_smoothed(model: GroupedModel) -> bool:
    """Tell whether smooth_scales are given."""
    return model.smooth is not None


def is_unbounded(model: GroupedModel) -> bool:
    """Tell whether there is no min_scale."""
    return not model.min_scale > 0


def is_infinite(model: GroupedModel) -> bool:
    """Tell whether some of the input is not finite, as the scales show that have no bound."""
    x = model.golden()[model.kinds.index("scale")] if is_unbounded(model) else model.x
    assert x is not None
    return not bool(np.all(np.isfinite(x)))


# Which numbers, in which groups.


def per_tensor(part: GroupedPart) -> Groups:
    """Group everything into one; every group of the operator has its scale."""
    groups = part.model.tiles("pertensor").groups(part, as_given, as_given)
    begin, end = part.spans[1]
    # Scales there are without rows, too: 0.
    return Groups(groups.v, groups.extreme, lambda one: np.resize(one[:1], end - begin))


def per_column(part: GroupedPart) -> Groups:
    """Group along the axis before the last; the scales only fit if both have the same length."""
    model, rows = part.model, np.arange(*part.range)
    groups = model.tiles("perchannel").groups(part, as_given, as_given)

    def diagonal(of_columns: Floats) -> Floats | None:
        fits = model.mode == "pertoken" and model.tall == model.columns
        every = np.broadcast_to(of_columns[..., 0], (len(rows), model.columns))
        return every[rows - rows[:1], rows % model.tall] if fits else None

    return Groups(groups.v, groups.extreme, diagonal)


def per_row(part: GroupedPart) -> Groups:
    """Group each row; every block of it has its scale, and other modes have none that fits."""
    model, own = part.model, part.model.tiling
    groups = model.tiles("pertoken").groups(part, as_given, as_given)
    fits = model.mode == "block" and own.is_low
    return Groups(
        groups.v, groups.extreme, lambda of_rows: own.begun_in(part, of_rows) if fits else None
    )


def finite_only(model: GroupedModel, first: int, last: int) -> Float32:
    """Return the numbers that are quantized, and 0 for those that are not finite."""
    v = model.rows(first, last)
    return np.where(np.isfinite(v), v, np.float32(0))


def is_mode(*modes: str) -> Test:
    """Return whether a group is, by the operator, one of these."""
    return lambda model: model.mode in modes


def rounded_input(stored: Callable[[Float32], Float32]) -> Callable[[GroupedPart], Groups]:
    """Return the groups of an input that is rounded first."""

    def numbers(model: GroupedModel, first: int, last: int) -> Float32:
        return model.smoothed(stored(model.inputs_of_rows(first, last)), first, last)

    return lambda part: part.groups(numbers)


def unsmoothed(model: GroupedModel, first: int, last: int) -> Float32:
    """Leave smooth_scales out."""
    return model.inputs_of_rows(first, last)


def divided_by_smooth(model: GroupedModel, first: int, last: int) -> Float32:
    """Use smooth_scales the other way round."""
    return model.inputs_of_rows(first, last) / model.factors_of_rows(first, last)


AS_GIVEN = Step("", "", lambda part: part.groups())
PER_TENSOR = Other(
    "per tensor",
    "max |x| of all rows",
    per_tensor,
    "quant_mode pertensor",
    is_mode("pertoken", "perchannel", "block"),
    attribute='quant_mode="pertensor"',
)
PER_COLUMN = Other(
    "per column",
    "max |x| along the axis before the last",
    per_column,
    "swapped axes",
    is_mode("pertoken", "pertensor"),
    attribute='quant_mode="perchannel"',
)
PER_TOKEN = Other(
    "per token",
    "max |x| of the row",
    per_row,
    "quant_mode pertoken",
    is_mode("pertensor", "perchannel"),
    attribute='quant_mode="pertoken"',
)
FINITE_ONLY = Other(
    "finite elements only",
    "max |x| of the finite x",
    lambda part: part.groups(of=finite_only),
    "hicann/ops-nn quant/dynamic_block_quant/tests/assets/golden.py:112-115",
    is_infinite,
)
UNSATURATED = replace(
    steps.UNSATURATED,
    applies=lambda model: (
        steps.is_small_float(model) and (not is_unbounded(model) or is_infinite(model))
    ),
)
ENDS = steps.ENDS | {"clamp": (steps.CLAMP, steps.CLAMP_SYMMETRIC, UNSATURATED)}
"""The last slots of codes that are quantized in groups."""
INPUTS = steps.in_16_bits(
    "input as {short}", "max |{long}(x)|", "x.{cast}()", rounded_input, steps.is_float32
)
SMOOTH_IGNORED = Other(
    "smooth_scales ignored",
    "max |input|, x = input",
    lambda part: part.groups(unsmoothed),
    steps.MISTAKE,
    is_smoothed,
)
SMOOTH_DIVIDES = Other(
    "divided by smooth_scales",
    "max |x|, x = input / smooth_scales",
    lambda part: part.groups(divided_by_smooth),
    "SmoothQuant's factors, whose activations are divided",
    is_smoothed,
)

# What a formula makes of a part. Its slots: values, scale, bound, reported, and those of codes.


def groups_of(formula: Formula, part: GroupedPart) -> Groups:
    """Return the groups that a formula quantizes."""
    groups: Groups = part.call(formula["values"].function, part)
    return groups


def operands(formula: Formula, part: GroupedPart) -> Operands:
    """Return the numbers of a part in groups, and the scale of each group.

    Of a wide part they are float64, but by scales as they are handed over: in float32.
    """

    def make() -> Operands:
        groups, model = groups_of(formula, part), part.model
        size, offset = groups.extreme(model.size), None
        if part.scale is not None:
            scale = model.tiling.spread(part.scale, *part.range)
        elif part.narrow is not None:
            scale = operands(formula, part.narrow).scale
        else:
            scale = scale_of(formula, model, size)
        scale = part.same(scale.astype(part.floats, copy=False))
        terms: tuple[Floats, ...] = ()
        if "offset" in model.made_of:
            hi = groups.extreme("hi")
            offset = part.same(formula["offset"].function(hi, scale, model.most))
            terms = () if part.narrow is None else (hi, groups.v - hi)
        return Operands(groups.v, scale, offset, size, model.goal, model.min_scale, terms=terms)

    return part.once(("operands", *(formula[slot] for slot in part.model.made_of)), make)


def scales(formula: Formula, part: GroupedPart) -> Array | None:
    """Return the scales of the tiles that begin in a part, or what is handed over instead.

    Tiles without rows have 0.
    """

    def make() -> Array | None:
        size = groups_of(formula, part).reported(part.model.size)
        if size is None:
            return None
        scale, tiling = scale_of(formula, part.model, size), part.model.tiling
        other = formula["reported"].function(scale, size, part.model)
        begin, end = tiling.begun(*part.range)
        own = other.reshape(end - begin, tiling.across)
        edges = tiling.edges[begin : end + 1]
        return np.asarray(part.same(zero_where_none(own, edges, 0).reshape(-1)))

    own = (formula[slot] for slot in ("values", "scale", "bound", "reported"))
    return part.once(("scales", *own), make)


def text(formula: Formula, x: str = "x") -> str:
    """Return how scale and y come about, in words for the numbers."""
    scale = formula["bound"].text.format(scale=formula["scale"].text)
    other, amax = formula["reported"].text.format(scale=scale), formula["values"].text
    y = steps.codes_text(formula, x, "scale" if other == scale else f"({scale})")
    return f"scale = {other}, y = {y}" + (f", amax = {amax}" if amax else "")
