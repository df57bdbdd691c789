"""npu_dynamic_quant, and the steps of its formulas, which npu_dynamic_block_quant has too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ... import ops
from . import groups, steps
from .arithmetic import Floats, compiled, roundings
from .codes import Codes
from .formula import Form, Other, Rounded, Step
from .tiles import GroupedModel, bounded

KERNELS = "hicann/ops-nn quant/dynamic_quant/op_kernel"
GOLDEN_PY = "hicann/ops-nn quant/dynamic_quant/tests/assets/golden.py:91"


def replaces_0(epsilon: np.float32) -> Callable[[Floats, np.float32], Floats]:
    """Return the bound of scales that has a number in place of 0."""
    return lambda scale, least: np.where(scale == 0, epsilon, bounded(scale, least))


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
RANGES = (
    scale_step("scale amax / 128", "amax / 128", applies=steps.has_even_steps, benign=False),
    scale_step(
        "scale amax / 127.5",
        "amax / 127.5",
        "ranges of 255 steps, as torch.ao's observers have them for symmetric qint8",
        applies=steps.has_even_steps,
        benign=False,
    ),
)
EPSILONS = tuple(
    scale_step(
        name.format(epsilon),
        text.format(epsilon),
        "guards against a scale of 0 in scripts and frameworks",
        benign=False,
    )
    for epsilon in ("1e-12", "1e-10", "1e-8", "1e-7", "1e-6", "1e-5")
    for name, text in (
        ("amax at least {}", "max(amax, {}) / 127"),
        ("scale at least {}", "max(amax / 127, {})"),
        ("amax + {}", "(amax + {}) / 127"),
        ("scale + {}", "amax / 127 + {}"),
    )
)
SCALES = (AMAX_OVER_127, TIMES_INVERSE, INVERSE, INVERSE_TWICE, *NARROW_SCALES, *RANGES, *EPSILONS)

BOUND = Step("", "{scale}", bounded)

# What weights' quantizers have beside: scales are of the dtype of a 16-bit weight.

NARROW_127_5 = steps.in_16_bits(
    "{short} scale amax / 127.5",
    "{long}(amax / 127.5)",
    "compressed-tensors, llm-compressor: symmetric ranges of 255 steps",
    lambda stored: lambda amax, most: stored(amax / (most + np.float32(0.5))),
    steps.has_even_steps,
)
AT_LEAST = Other(
    "scale at least 2^-23",
    "max({scale}, 2^-23)",
    lambda scale, least: np.maximum(bounded(scale, least), np.float32(2.0**-23)),
    "msmodelslim",
)
EPSILON_FOR_0 = tuple(
    Other(
        f"{short} epsilon for 0",
        f"({{scale}}, or {long}'s epsilon for 0)",
        replaces_0(np.float32(epsilon)),
        "compressed-tensors, llm-compressor",
    )
    for short, long, epsilon in (("fp16", "float16", 2.0**-10), ("bf16", "bfloat16", 2.0**-7))
)

# What is handed over as the scale.

MULTIPLIER = Other(
    "scale is 127 / amax",
    "127 / amax",
    lambda scale, amax, model: np.maximum(model.most / amax, model.min_scale),
    "the multiplier returned for the scale",
)
REPORTED = (
    Step("", "{scale}", lambda scale, amax, model: scale),
    MULTIPLIER,
    *steps.in_16_bits(
        "{short} scale, y by the float32 one",
        "{long}({{scale}})",
        "scales stored in the dtype of a 16-bit model",
        lambda stored: lambda scale, amax, model: stored(scale),
    ),
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


QUOTIENTS = (
    steps.DIVIDED,
    RECIPROCAL,
    BY_127_OVER_AMAX,
    BY_INVERSE_AMAX,
    with_127("x * 127 / amax"),
    with_127("x / amax * 127"),
)

# The formulas.

SLOTS = {
    "values": (
        groups.AS_GIVEN,
        groups.FINITE_ONLY,
        groups.PER_COLUMN,
        groups.PER_TENSOR,
        groups.PER_TOKEN,
        *groups.INPUTS,
        groups.SMOOTH_IGNORED,
        groups.SMOOTH_DIVIDES,
    ),
    "scale": SCALES,
    "bound": (BOUND,),
    "reported": REPORTED,
    "quotient": QUOTIENTS,
} | groups.ENDS
OF_WEIGHTS = {"scale": (*SCALES, *NARROW_127_5), "bound": (BOUND, AT_LEAST, *EPSILON_FOR_0)}


class DynamicQuant(GroupedModel):
    """npu_dynamic_quant."""

    form = Form(
        SLOTS | OF_WEIGHTS,
        groups.text,
        (Codes(groups.operands), Rounded(groups.scales)),
        "docs/numerics.md 2",
        siblings={"asymmetric": ops.npu_dynamic_quant_asymmetric},
    )

    def prepare(self) -> None:
        """Read the arguments."""
        self.read(self.inputs["input"], self.inputs["quant_mode"])
        smooth, self.ends = self.inputs["smooth_scales"], self.inputs["group_index"]
        self.smooth = None if smooth is None else smooth.astype(np.float32)
