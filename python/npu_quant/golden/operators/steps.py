"""The steps that formulas of several operators share: quotients, formats, zero points, roundings.

Every operation is one IEEE operation per element, on float32 or float64, as NumPy's are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..elements import half_away, largest
from .arithmetic import (
    Floats,
    as_it_is,
    compiled,
    fused,
    half_even,
    half_up,
    hybrid,
    roundings,
    to_bfloat16,
    to_float16,
)
from .formula import OF_INT8, Before, Formula, Other, Step, Test, always
from .model import Array, P, Part

MISTAKE = "by mistake"
NARROW_SCALES = "scales kept in the dtype of a 16-bit model"


@dataclass(frozen=True, eq=False)
class Operands:
    """What is quantized, and by what."""

    x: Floats
    scale: Floats
    zero_point: Floats | None = None
    """None: there is none."""
    amax: Floats | None = None
    """What the scale was made of, where it was not given."""
    most: Any = None
    """What the amax is to become: MAX."""
    least: Any = 0
    """No multiplier made of amax is below it."""
    divides: bool = True
    """Whether the scale divides: the operations are reversed otherwise."""
    terms: tuple[Floats, ...] = ()
    """What x is the sum of, where it is one: of a wide part."""


@dataclass(frozen=True, eq=False)
class Quotient:
    """A quotient of operands, in the format it is kept in."""

    x: Floats
    w: Floats
    kept: Callable[[Floats], Floats]
    value: Floats
    is_product: bool
    """Whether x is multiplied by w, which a fused multiply-add can do."""


def in_16_bits(
    name: str,
    text: str,
    source: str,
    function: Callable[[Callable[[Floats], Floats]], Any],
    applies: Test = always,
) -> tuple[Step, Step]:
    """Return a step for float16 and one for bfloat16.

    Words may have the format's {short} and {long} names, and how torch casts to it: {cast}.
    `function` gives that of the step for the rounding to the format.
    """

    def step(stored: Callable[[Floats], Floats], **own: str) -> Step:
        words = name.format(**own), text.format(**own), source.format(**own)
        return Other(*words[:2], function(stored), words[2], applies)

    return (
        step(to_float16, short="fp16", long="float16", cast="half"),
        step(to_bfloat16, short="bf16", long="bfloat16", cast="bfloat16"),
    )


def of_format(text: str) -> str:
    """Return a formula's text with the numbers that depend on the format by their names."""
    return OF_INT8.sub(lambda found: _NAMES[found[0]], text)


_NAMES = {
    "127": "most",
    "127.5": "(most + 0.5)",
    "128": "(most + 1)",
    "255": "reach",
    "256": "(reach + 1)",
}

# What a formula needs of a model.


def is_float32(model: Any) -> bool:
    """Tell whether rounding the input to 16 bits would change it."""
    return bool(model.dtype == np.float32)


def is_narrow(model: Any) -> bool:
    """Tell whether the inputs have 16 bits."""
    return not is_float32(model)


def divides(model: Any) -> bool:
    """Tell whether the scale is divided by."""
    return bool(model.div_mode)


def multiplies(model: Any) -> bool:
    """Tell whether the scale is multiplied by: div_mode=False."""
    return not model.div_mode


def has_zero_points(model: Any) -> bool:
    """Tell whether there are zero points other than 0."""
    return any(bool(np.any(z != 0)) for z in model.all_zero_points())


def has_integral_zero_points(model: Any) -> bool:
    """Tell whether rounding before or after the zero point is added is all the same."""
    return all(bool(np.all(z == np.rint(z))) for z in model.all_zero_points())


def has_even_steps(model: Any) -> bool:
    """Tell whether the codes are whole numbers."""
    return bool(model.format.is_even)


def is_small_float(model: Any) -> bool:
    """Tell whether the codes are floats of 8 bits."""
    return not has_even_steps(model)


def ties_to_even(model: Any) -> bool:
    """Tell whether the codes' own rule for ties is to the even one."""
    return not model.format.ties_away


def ties_away(model: Any) -> bool:
    """Tell whether the codes' own rule for ties is away from zero, as that of hifloat8."""
    return bool(model.format.ties_away)


# The quotient: of x and an operand that is made of the scale or amax.


def quotient_step(
    name: str, text: str, source: str = "", applies: Test = always, **more: Any
) -> Step:
    """Return a step that does as its text says: {x}, * or /, and what stands beside it."""
    operation, beside = text.removeprefix("{x} ").split(" ", 1)
    made = compiled(of_format(beside.format(scale="scale")), "scale", "amax", "most")

    def operand(o: Operands) -> Floats:
        own = made(o.scale, o.amax, o.most)
        return own if o.amax is None or "amax" not in beside else np.maximum(own, o.least)

    function = {"*": np.multiply, "/": np.divide}[operation]
    most = roundings(text)
    return Step(name, text, function, source, applies, operand=operand, roundings=most, **more)


_REVERSED: dict[Any, Any] = {np.divide: np.multiply, np.multiply: np.divide}

DIVIDED = quotient_step("x / scale", "{x} / {scale}")
RECIPROCAL = quotient_step(
    "x * (1/scale)",
    "{x} * (1 / {scale})",
    "torch.quantize_per_tensor, torch.quantize_per_channel",
    divides,
)
MULTIPLIED = quotient_step(
    "x * scale",
    "{x} * {scale}",
    "aclnnAscendQuant's scale, which multiplies; div_mode=False",
    divides,
    benign=False,
    attribute="div_mode=False",
)

# What the quotient is kept in.

KEPT = Step("", "", as_it_is)
FLOAT16 = Other(
    "fp16 quotient",
    "float16",
    to_float16,
    "the casts float32 -> float16 -> int8 that NPU kernels chain",
)
BFLOAT16 = Other(
    "bf16 quotient", "bfloat16", to_bfloat16, "quotients in the dtype of a bfloat16 input"
)

# Where the zero point comes in.


def zero_step(name: str, text: str, source: str = "", applies: Test = always, **more: Any) -> Step:
    """Return a step that does as its text says: of a Quotient, zero_point, and what rounds."""
    own = text.format(round="rounding", quotient="q.value")
    function = compiled(own, "q", "zero_point", "rounding")
    return Step(name, text, function, source, applies, **more)


BEFORE = zero_step(
    "zero point before rounding",
    "{round}({quotient} + zero_point)",
    "aclnnQuantize; torch.quantize_per_channel",
    roundings=1,
)
AFTER = zero_step(
    "zero point after rounding",
    "{round}({quotient}) + zero_point",
    "PyTorch's documentation of quantize_val; torch's fake quantization",
)
FUSED = Step(
    "fused",
    "{round}({quotient} + zero_point), product and sum rounded once",
    lambda q, zero_point, rounding: rounding(
        fused(q.x, q.w, zero_point) if q.is_product else q.value + zero_point
    ),
    "torch.quantize_per_tensor on x86; fused multiply-add",
    has_zero_points,
)
# Beside a reference that has the other one.
BEFORE_INSTEAD = replace(BEFORE, applies=has_zero_points)
AFTER_INSTEAD = replace(
    AFTER,
    applies=lambda model: has_even_steps(model) and has_zero_points(model),
    benign_if=has_integral_zero_points,
    benign_when="zero points are whole numbers",
)
SUBTRACTED, IGNORED = (
    zero_step(f"zero point {what}", text, MISTAKE, has_zero_points, benign=False)
    for what, text in (
        ("subtracted", "{round}({quotient} - zero_point)"),
        ("ignored", "{round}({quotient})"),
    )
)
NO_ZERO = zero_step("", IGNORED.text)
KEPT_SUM = Other(
    "so is the sum",
    "{round}({quotient} + zero_point), the sum in 16 bits too",
    lambda q, zero_point, rounding: rounding(q.kept(q.value + zero_point)),
    "all in the dtype of a 16-bit input",
    has_zero_points,
)

# How numbers become codes.

TIES_SOURCE = "std::round; AscendQuant on 310P; pypto-lib #279, tt-metal #56525, oneflow #5038"
HALF_EVEN = Step("", "rint", np.rint)
HALF_AWAY = Step("half away", "round half away from zero", half_away, TIES_SOURCE, ties_to_even)
TO_EVEN = Step("half even", "round half to even", half_even, "torch's floats of 8 bits", ties_away)
HALF_UP = Step("half up", "round half up", half_up, "the usual way to write it in C")
TRUNCATION = Other(
    "truncation", "trunc", np.trunc, "a plain cast to int8; onnxruntime #25045, sglang-jax #1598"
)
FLOOR = Other("floor", "floor", np.floor, "CAST_FLOOR of the device")
CEILING = Other("ceil", "ceil", np.ceil, "CAST_CEIL of the device")
HYBRID = Other(
    "hybrid",
    "hybrid",
    hybrid,
    "CAST_HYBRID of the 950: a fraction of the dropped bits is compared with the last ones",
    ties_away,
)
UNROUNDED = Step("", "", as_it_is)
"""Of the number by which a tie is judged."""

CLAMP = Step("", "", lambda low: low)
CLAMP_SYMMETRIC = Other(
    "clamp -127",
    ", least code left out",
    lambda low: low + 1,
    "scripts; hicann/ops-nn dynamic_block_quant_data_910b/gen_data.py",
    has_even_steps,
)
UNSATURATED = Other(
    "no saturation",
    ", infinity or NaN beyond the greatest",
    lambda low: -np.inf,
    "torch's and ml_dtypes' casts to floats of 8 bits",
    is_small_float,
)
NAN_0, NAN_LEAST, NAN_GREATEST = (
    Step(f"NaN is {what}", "", function, source, has_even_steps)
    for what, function, source in (
        ("0", lambda low, high: 0, "npu_quantize"),
        ("the least code", lambda low, high: low, "torch.quantize_per_channel on x86"),
        ("the greatest code", lambda low, high: high, "torch.quantize_per_tensor on x86"),
    )
)

ENDS = {
    "kept": (KEPT, FLOAT16, BFLOAT16, HYBRID),
    "zero": (NO_ZERO,),
    "round": (HALF_EVEN, HALF_AWAY, TO_EVEN, HALF_UP, TRUNCATION, FLOOR, CEILING),
    "clamp": (CLAMP, CLAMP_SYMMETRIC, UNSATURATED),
    "nan": (NAN_0, NAN_LEAST, NAN_GREATEST),
}
"""The last slots of a form of codes, after its quotient."""


def codes_text(formula: Formula, x: str = "x", scale: str = "scale") -> str:
    """Return how codes come about, in words for x and the scale."""
    text = formula["quotient"].text.format(x=x, scale=scale)
    kept = formula["kept"].text
    text = f"{kept}({text})" if kept else text
    text = formula["zero"].text.format(round=formula["round"].text, quotient=text)
    return text + formula["clamp"].text


def quotient(formula: Formula, part: Part, o: Operands) -> Quotient:
    """Return a formula's quotient, made once for all that have the same."""
    step = formula["quotient"]
    if step.operand is None:
        return part.call(_quotient_of_all, step.function, formula["kept"].function, o)
    combine = step.function if o.divides else _REVERSED[step.function]
    w = part.same(part.call(step.operand, o))
    return part.call(_quotient, combine, formula["kept"].function, o.x, w)


def _quotient(combine: Any, kept: Any, x: Floats, w: Floats) -> Quotient:
    return Quotient(x, w, kept, kept(combine(x, w)), combine is np.multiply)


def _quotient_of_all(function: Any, kept: Any, o: Operands) -> Quotient:
    return Quotient(o.x, o.scale, kept, kept(function(o.x, o.amax, o.most)), is_product=False)


def rounded(formula: Formula, part: Part, o: Operands) -> Floats:
    """Return the codes before they are clamped, or what is rounded to them; made once."""
    zero, rounding = formula["zero"].function, formula["round"].function
    return part.call(_rounded, zero, rounding, quotient(formula, part, o), o.zero_point)


def _rounded(zero: Any, rounding: Any, q: Quotient, zero_point: Floats | None) -> Floats:
    return rounding(q.value) if zero_point is None else zero(q, zero_point, rounding)


def codes(formula: Formula, part: Part, o: Operands) -> Array:
    """Return a formula's codes, made once."""
    own = part.model.format
    low = formula["clamp"].function(own.limits[0])
    nan = formula["nan"].function(low, own.limits[1])
    zero, rounding = formula["zero"].function, own.rounding(formula["round"].function)
    q = quotient(formula, part, o)
    return part.call(_codes, zero, rounding, q, o.zero_point, own, low, nan)


def _codes(zero: Any, rounding: Any, q: Quotient, z: Any, own: Any, low: int, nan: int) -> Array:
    return np.asarray(own.codes(_rounded(zero, rounding, q, z), low, nan))


def before_rounding(formula: Formula, part: Part, o: Operands) -> Before:
    """Return the numbers that are rounded to codes, or would be, and the largest of their terms.

    A quotient that nothing is added to has no terms.
    """
    zero = BEFORE if formula["zero"] is FUSED else formula["zero"]
    exact = formula.but(round=UNROUNDED, zero=zero)
    value = np.asarray(rounded(exact, part, o), np.float64)
    every = [replace(o, x=term, zero_point=None) for term in (o.x, *o.terms)]
    terms = [quotient(exact, part, own).value for own in every] if has_sum(o) else [np.float64(0)]
    added = () if o.zero_point is None else (o.zero_point,)
    magnitude = np.broadcast_to(largest(*terms, *added), value.shape)
    return value, np.asarray(magnitude, np.float64)


def part_before(formula: Formula, part: P) -> P:
    """Return the part in whose numbers a quotient is taken before it is rounded to a code.

    What is kept in 16 bits is so as float32 has it; else the quotient is that of float64.
    """
    return part.wide() if formula["kept"] is KEPT else part


def has_sum(o: Operands) -> bool:
    """Tell whether something is added to a quotient, or is what it is the quotient of."""
    return o.zero_point is not None or bool(o.terms)
