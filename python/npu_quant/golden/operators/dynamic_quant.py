"""npu_dynamic_quant, and the steps of its formulas, which npu_dynamic_block_quant has too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from . import groups, steps
from .arithmetic import compiled, roundings
from .formula import Form, Formula, Other, Step, Variant
from .model import Array, Float32
from .tiles import GroupedModel, GroupedPart, bounded

KERNELS = "hicann/ops-nn quant/dynamic_quant/op_kernel"
GOLDEN_PY = "hicann/ops-nn quant/dynamic_quant/tests/assets/golden.py:91"


class DynamicQuant(GroupedModel):
    """npu_dynamic_quant."""

    def prepare(self) -> None:
        """Read the arguments."""
        self.read(self.inputs["input"], self.inputs["quant_mode"])
        smooth, self.ends = self.inputs["smooth_scales"], self.inputs["group_index"]
        self.smooth = None if smooth is None else smooth.astype(np.float32)


# How amax becomes the scale. None is more than 1 ulp from another that is benign.


def scale_step(name: str, text: str, source: str = "", **more: Any) -> Step:
    """Return a step that does as its text says."""
    function = compiled(steps.of_format(text), "amax", "most")
    return Step(name, text, function, source, roundings=1, **more)


AMAX_OVER_127 = scale_step("", "amax / 127")
TIMES_INVERSE = scale_step("scale amax * (1/127)", "amax * (1/127)", GOLDEN_PY)
INVERSE = scale_step(
    "scale 1 / (127/amax)", "1 / (127 / amax)", f"{KERNELS}/dynamic_quant.h:165-170"
)
INVERSE_TWICE = scale_step(
    "scale 1 / ((1/amax) * 127)",
    "1 / ((1 / amax) * 127)",
    "the reciprocal of block quantization's multiplier",
)
NARROW_SCALES = steps.in_16_bits(
    "{short} scale",
    "{long}(amax / 127)",
    steps.NARROW_SCALES,
    lambda stored: lambda amax, most: stored(amax / most),
)
OVER_128 = scale_step("scale amax / 128", "amax / 128", applies=steps.has_even_steps, benign=False)
OVER_127_5 = scale_step(
    "scale amax / 127.5",
    "amax / 127.5",
    "ranges of 255 steps, as torch.ao's observers have them for symmetric qint8",
    applies=steps.has_even_steps,
    benign=False,
)
SCALES = (AMAX_OVER_127, TIMES_INVERSE, INVERSE)


def with_epsilon(text: str) -> Iterator[Step]:
    """List the ways to keep a scale from becoming zero."""
    for name, formula in {
        f"amax at least {text}": f"max(amax, {text}) / 127",
        f"scale at least {text}": f"max(amax / 127, {text})",
        f"amax + {text}": f"(amax + {text}) / 127",
        f"scale + {text}": f"amax / 127 + {text}",
    }.items():
        source = "guards against a scale of 0 in scripts and frameworks"
        yield scale_step(name, formula, source, benign=False)


EPSILONS = ("1e-12", "1e-10", "1e-8", "1e-7", "1e-6", "1e-5")

BOUND = Step("", "{scale}", bounded)

# What is handed over as the scale.

REPORTED = Step("", "{scale}", lambda scale, amax, model: scale)
MULTIPLIER = Other(
    "scale is 127 / amax",
    "127 / amax",
    lambda scale, amax, model: np.maximum(model.most / amax, model.min_scale),
    "the multiplier returned for the scale",
)
NARROW_REPORTED = steps.in_16_bits(
    "{short} scale, y by the float32 one",
    "{long}({{scale}})",
    "scales stored in the dtype of a 16-bit model",
    lambda stored: lambda scale, amax, model: stored(scale),
)

# How a quotient is made.

RECIPROCAL = replace(
    steps.RECIPROCAL, source="the ATK executor of hicann/ops-nn quant/dynamic_quant"
)
BY_127_OVER_AMAX = steps.quotient_step(
    "x * (127/amax)",
    "{x} * (127 / amax)",
    f"{KERNELS} and Ascend/op-plugin test_npu_dynamic_block_quant.py",
)
BY_INVERSE_AMAX = steps.quotient_step(
    "x * ((1/amax) * 127)",
    "{x} * ((1 / amax) * 127)",
    "hicann/ops-nn quant/dynamic_block_quant/op_kernel/dynamic_block_quant.h:347-349",
)


def with_127(text: str) -> Step:
    """Return a step that multiplies by 127 and divides by amax."""
    return Step(
        text,
        text.replace("x", "{x}", 1),
        compiled(steps.of_format(text), "x", "amax", "most"),
        "scripts",
        groups.is_unbounded,
        roundings=roundings(text),
    )


QUOTIENTS = (steps.DIVIDED, RECIPROCAL, BY_127_OVER_AMAX, BY_INVERSE_AMAX)
UNBOUNDED = (with_127("x * 127 / amax"), with_127("x / amax * 127"))

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
    ties = (steps.HALF_EVEN, steps.HALF_AWAY, steps.TO_EVEN)
    for rounding, scale, quotient in product(ties, SCALES, QUOTIENTS):
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
    narrow = zip(NARROW_SCALES, (steps.FLOAT16, steps.BFLOAT16), strict=True)
    for (scale, kept), quotient in product(narrow, two):
        yield form(scale=scale, quotient=quotient)
        yield form(scale=scale, quotient=quotient, kept=kept)
    for scale, quotient in product((OVER_128, OVER_127_5), two):
        yield form(scale=scale, quotient=quotient)
    for eps in EPSILONS:
        for scale in with_epsilon(eps):
            yield form(scale=scale)
    yield form(clamp=steps.CLAMP_SYMMETRIC)
    for quotient in QUOTIENTS:
        yield form(quotient=quotient, clamp=groups.UNSATURATED)
        yield form(quotient=quotient, kept=steps.HYBRID)
        yield form(quotient=quotient, values=groups.FINITE_ONLY)


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
    hi, lo = (np.asarray(part.groups().reported(which)) for which in ("hi", "lo"))
    return np.asarray(np.maximum((hi - lo) / part.model.reach, np.float32(1e-12)))


def asymmetric_y(part: GroupedPart) -> Array:
    """Return the codes around an offset of 127 - max / scale."""
    model, groups = part.model, part.groups()
    hi, lo = (groups.extreme(which) for which in ("hi", "lo"))
    scale = np.maximum((hi - lo) / model.reach, np.float32(1e-12))
    q = groups.v * (1 / scale) + (model.most - hi / scale)
    return part.flat(model.format.codes(model.format.rounding(np.rint)(q)))


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
    *FORM.rows(in_groups(groups.PER_COLUMN, groups.PER_TENSOR, groups.PER_TOKEN)),
    *FORM.rows(
        with_values(
            BY_127_OVER_AMAX,
            *groups.INPUTS,
            groups.SMOOTH_IGNORED,
            groups.SMOOTH_DIVIDES,
        )
    ),
)
