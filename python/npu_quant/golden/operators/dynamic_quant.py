"""npu_dynamic_quant, and the steps of its formulas, which npu_dynamic_block_quant has too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from . import groups, steps
from .formula import Form, Formula, Other, Step, Variant
from .groups import GroupedModel, GroupedPart
from .model import Array, Float32
from .steps import ONE, Floats

MAX = np.float32(127)
KERNELS = "hicann/ops-nn quant/dynamic_quant/op_kernel"
GOLDEN_PY = "hicann/ops-nn quant/dynamic_quant/tests/assets/golden.py:91"


class DynamicQuant(GroupedModel):
    """npu_dynamic_quant."""

    def prepare(self) -> None:
        """Read the arguments."""
        self.read(self.inputs["input"], None)
        smooth = self.inputs["smooth_scales"]
        self.smooth = None if smooth is None else smooth.astype(np.float32)


# How amax becomes the scale. None is more than 1 ulp from another that is benign.


def scale_step(name: str, text: str, function: Callable[[Floats], Floats], source: str) -> Step:
    """Return another order of operations for the scale."""
    return Step(name, text, function, source, roundings=1)


AMAX_OVER_127 = scale_step("", "amax / 127", lambda amax: amax / MAX, "")
TIMES_INVERSE = scale_step(
    "scale amax * (1/127)", "amax * (1/127)", lambda amax: amax * (ONE / MAX), GOLDEN_PY
)
INVERSE = scale_step(
    "scale 1 / (127/amax)",
    "1 / (127 / amax)",
    lambda amax: ONE / (MAX / amax),
    f"{KERNELS}/dynamic_quant.h:165-170",
)
INVERSE_TWICE = scale_step(
    "scale 1 / ((1/amax) * 127)",
    "1 / ((1 / amax) * 127)",
    lambda amax: ONE / ((ONE / amax) * MAX),
    "the reciprocal of block quantization's multiplier",
)
FLOAT16_SCALE, BFLOAT16_SCALE = (
    Other(
        f"{short} scale",
        f"{name}(amax / 127)",
        lambda amax, stored=stored: stored(amax / MAX),
        steps.NARROW_SCALES,
    )
    for short, name, stored in (
        ("fp16", "float16", steps.to_float16),
        ("bf16", "bfloat16", steps.to_bfloat16),
    )
)
OVER_128 = Other("scale amax / 128", "amax / 128", lambda amax: amax / np.float32(128))
OVER_127_5 = Other(
    "scale amax / 127.5",
    "amax / 127.5",
    lambda amax: amax / np.float32(127.5),
    "ranges of 255 steps, as torch.ao's observers have them for symmetric qint8",
)
SCALES = (AMAX_OVER_127, TIMES_INVERSE, INVERSE)


def with_epsilon(text: str) -> Iterator[Step]:
    """List the ways to keep a scale from becoming zero."""
    eps = np.float32(text)
    ways: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
        f"amax at least {text}": (f"max(amax, {text}) / 127", lambda a: np.maximum(a, eps) / MAX),
        f"scale at least {text}": (f"max(amax / 127, {text})", lambda a: np.maximum(a / MAX, eps)),
        f"amax + {text}": (f"(amax + {text}) / 127", lambda a: (a + eps) / MAX),
        f"scale + {text}": (f"amax / 127 + {text}", lambda a: a / MAX + eps),
    }
    for name, (formula, function) in ways.items():
        source = "guards against a scale of 0 in scripts and frameworks"
        yield Other(name, formula, function, source)


EPSILONS = ("1e-12", "1e-10", "1e-8", "1e-7", "1e-6", "1e-5")

BOUND = Step("", "{scale}", groups.bounded)

# What is handed over as the scale.

REPORTED = Step("", "{scale}", lambda scale, amax, least: scale)
MULTIPLIER = Other(
    "scale is 127 / amax",
    "127 / amax",
    lambda scale, amax, least: np.maximum(MAX / amax, least),
    "the multiplier returned for the scale",
)
NARROW_REPORTED = tuple(
    Other(
        f"{short} scale, y by the float32 one",
        f"{name}({{scale}})",
        lambda scale, amax, least, stored=stored: stored(scale),
        "scales stored in the dtype of a 16-bit model",
    )
    for short, name, stored in (
        ("fp16", "float16", steps.to_float16),
        ("bf16", "bfloat16", steps.to_bfloat16),
    )
)

# How a quotient is made.

RECIPROCAL = replace(
    steps.RECIPROCAL, source="the ATK executor of hicann/ops-nn quant/dynamic_quant"
)
BY_127_OVER_AMAX = Step(
    "x * (127/amax)",
    "{x} * (127 / amax)",
    np.multiply,
    f"{KERNELS} and Ascend/op-plugin test_npu_dynamic_block_quant.py",
    operand=lambda o: np.maximum(MAX / o.amax, o.least),
    roundings=2,
)
BY_INVERSE_AMAX = Step(
    "x * ((1/amax) * 127)",
    "{x} * ((1 / amax) * 127)",
    np.multiply,
    "hicann/ops-nn quant/dynamic_block_quant/op_kernel/dynamic_block_quant.h:347-349",
    operand=lambda o: np.maximum((ONE / o.amax) * MAX, o.least),
    roundings=3,
)
TIMES_127_FIRST = Step(
    "x * 127 / amax",
    "{x} * 127 / amax",
    steps.multiplied_and_divided,
    "scripts",
    groups.is_unbounded,
    operand=lambda o: o.amax,
    roundings=2,
)
TIMES_127_LAST = replace(
    TIMES_127_FIRST,
    name="x / amax * 127",
    text="{x} / amax * 127",
    function=steps.divided_and_multiplied,
)
QUOTIENTS = (steps.DIVIDED, RECIPROCAL, BY_127_OVER_AMAX, BY_INVERSE_AMAX)
UNBOUNDED = (TIMES_127_FIRST, TIMES_127_LAST)

# The formulas.

FORM = Form(
    {
        "values": groups.AS_GIVEN,
        "scale": AMAX_OVER_127,
        "bound": BOUND,
        "reported": REPORTED,
        "quotient": steps.DIVIDED,
    }
    | steps.ENDS,
    groups.text,
    (groups.y, groups.scales),
)
REFERENCE = FORM.formula()
S1 = FORM.formula(scale=TIMES_INVERSE, quotient=BY_127_OVER_AMAX)
S2 = FORM.formula(scale=INVERSE, quotient=BY_127_OVER_AMAX)
ASCEND950 = FORM.formula(scale=TIMES_INVERSE)


def formulas() -> Iterator[Formula]:
    """Every order of operations with every rule for ties; then what is another formula."""
    form, two = FORM.formula, (steps.DIVIDED, RECIPROCAL)
    for rounding, scale, quotient in product((steps.HALF_EVEN, steps.HALF_AWAY), SCALES, QUOTIENTS):
        yield form(scale=scale, quotient=quotient, round=rounding)
    yield form(scale=INVERSE_TWICE, quotient=BY_INVERSE_AMAX)
    for rounding, scale, quotient in product(
        (steps.HALF_EVEN, steps.HALF_AWAY), SCALES[:2], UNBOUNDED
    ):
        yield form(scale=scale, quotient=quotient, round=rounding)
    for scale, quotient in product(SCALES[:2], QUOTIENTS):
        yield form(scale=scale, quotient=quotient, round=steps.HALF_UP)
    for rounding, scale, quotient in product(steps.OTHER_ROUNDINGS, SCALES, QUOTIENTS):
        yield form(scale=scale, quotient=quotient, round=rounding)
    for kept, scale, quotient in product((steps.FLOAT16, steps.BFLOAT16), SCALES, QUOTIENTS):
        yield form(scale=scale, quotient=quotient, kept=kept)
    for (scale, kept), quotient in product(
        ((FLOAT16_SCALE, steps.FLOAT16), (BFLOAT16_SCALE, steps.BFLOAT16)), two
    ):
        yield form(scale=scale, quotient=quotient)
        yield form(scale=scale, quotient=quotient, kept=kept)
    for scale, quotient in product((OVER_128, OVER_127_5), two):
        yield form(scale=scale, quotient=quotient)
    for eps in EPSILONS:
        for scale in with_epsilon(eps):
            yield form(scale=scale)
    yield form(clamp=steps.CLAMP_SYMMETRIC)


def with_values(multiplier: Step, *values: Step) -> Iterator[Formula]:
    """What quantizes other numbers, by either quotient."""
    for some, quotient in product(values, (steps.DIVIDED, multiplier)):
        yield FORM.formula(values=some, quotient=quotient)


def in_groups(*values: Step) -> Iterator[Formula]:
    """What quantizes in other groups."""
    for some, scale in product(values, (AMAX_OVER_127, TIMES_INVERSE)):
        yield FORM.formula(values=some, scale=scale)
        yield FORM.formula(values=some, scale=scale, quotient=BY_127_OVER_AMAX)


def asymmetric_scale(part: GroupedPart) -> Float32:
    """Return max((max - min) / 255, 1e-12)."""
    v = part.groups().v
    wide = v.max(axis=-1, initial=-np.inf) - v.min(axis=-1, initial=np.inf)
    return np.asarray(np.maximum(wide / np.float32(255), np.float32(1e-12)))


def asymmetric_y(part: GroupedPart) -> Array:
    """Return the codes around an offset of 127 - max / scale."""
    v, scale = part.groups().v, asymmetric_scale(part)
    offset = MAX - v.max(axis=-1, initial=-np.inf) / scale
    q = v * (ONE / scale)[:, None] + offset[:, None]
    return part.flat(part.model.format.codes(np.rint(q)))


VARIANTS: tuple[Variant, ...] = (
    REFERENCE.row(source="docs/numerics.md 2"),
    S1.row(
        "ascend910b (S1)",
        f"{KERNELS}: single_row.h:147, multi_row.h:236, db.h:321",
        profile="ascend910b",
    ),
    S2.row(
        "ascend910b (S2)",
        f"{KERNELS}: dynamic_quant.h:165, large_shape_opt.h:78, moe.h:198",
        profile="ascend910b",
    ),
    ASCEND950.row(
        "ascend950",
        f"{KERNELS}/arch35/dynamic_quant_regbase_full_load.h:259-272",
        profile="ascend950",
    ),
    *FORM.rows(formulas(), (S1, S2, ASCEND950)),
    Variant(
        "asymmetric",
        False,
        "scale = max((max - min) / 255, 1e-12), y = rint(x * (1/scale) + (127 - max / scale))",
        f"{KERNELS}/dynamic_quant_base.h:189-198, npu_dynamic_quant_asymmetric",
        (asymmetric_y, asymmetric_scale),
    ),
    FORM.formula(reported=MULTIPLIER).row(),
    FORM.formula(reported=MULTIPLIER, quotient=BY_127_OVER_AMAX).row(source=MULTIPLIER.source),
    *FORM.rows(FORM.formula(reported=step) for step in NARROW_REPORTED),
    *FORM.rows(in_groups(groups.PER_COLUMN, groups.PER_TENSOR)),
    *FORM.rows(
        with_values(
            BY_127_OVER_AMAX,
            groups.INPUT_FLOAT16,
            groups.INPUT_BFLOAT16,
            groups.SMOOTH_IGNORED,
            groups.SMOOTH_DIVIDES,
        )
    ),
)
