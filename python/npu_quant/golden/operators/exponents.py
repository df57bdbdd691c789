"""How the amax of a block becomes the exponent E of its power of two: rules with names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import steps
from .arithmetic import Floats
from .formula import Other, Step

TORCHAO = "torchao mx_formats, ScaleCalculationMode"
MODELSLIM = "msmodelslim mx_quantization.py"

Rule = Callable[[Floats, Any], Floats]
"""From the amax of blocks and a model to their exponents."""


def is_floored(model: Any) -> bool:
    """Tell whether the exponent is that of amax, less emax."""
    return bool(model.alg == 0)


def is_fitted(model: Any) -> bool:
    """Tell whether the exponent is the least by which amax fits."""
    return bool(model.alg != 0)


def is_packed(model: Any) -> bool:
    """Tell whether codes are float4, whose rounding is an attribute."""
    return bool(model.is_packed)


def floor_log2(amax: Floats) -> Floats:
    """Return the exponents of numbers, exactly; that of 0 is -inf."""
    return np.where(amax == 0, -np.inf, np.frexp(amax)[1] - 1.0)


def least_power(amax: Floats, greatest: Any) -> Floats:
    """Return the least E with amax <= greatest * 2^E, exactly; of 0 -inf."""
    part, exponent = np.frexp(np.float32(greatest))
    carry = np.frexp(amax)[0] > part
    return floor_log2(amax) + 1 - exponent + carry


def told(amax: Floats, model: Any) -> Floats:
    """Return E by scale_alg."""
    if is_floored(model):
        return floor_log2(amax) - model.emax
    return least_power(amax, model.greatest)


def other_rule(name: str, text: str, source: str, rule: Rule, **more: Any) -> Step:
    """Return a rule that gives another exponent."""
    return Other(name, text, rule, source, **more)


def even(amax: Floats, model: Any) -> Floats:
    """Round amax to the codes' significant bits, halves up, and drop the fraction."""
    part = 2 * np.frexp(amax)[0]
    return floor_log2(amax) + (part >= 2 - model.half_step) - model.emax


RULES = (
    Step("", "that of scale_alg", told),
    Step(
        "floor of float32 log2",
        "floor(float32(log2(amax))) - emax",
        lambda amax, model: np.floor(np.log2(amax)) - model.emax,
        "OCP MX in scripts: torch.floor(torch.log2(amax))",
        is_floored,
    ),
    Step(
        "ceil of float32 log2",
        "ceil(float32(log2(amax / top)))",
        lambda amax, model: np.ceil(np.log2(amax / model.greatest)),
        f"{TORCHAO}.RCEIL without CUDA",
        is_fitted,
    ),
    other_rule(
        "scale floor",
        "floor(log2(amax)) - emax",
        f"scale_alg 0; OCP MX; {TORCHAO}.FLOOR",
        lambda amax, model: floor_log2(amax) - model.emax,
        applies=is_fitted,
        attribute="scale_alg=0",
    ),
    other_rule(
        "scale rceil",
        "ceil(log2(amax / top))",
        f"scale_alg 1; cuBLAS; {TORCHAO}.RCEIL",
        lambda amax, model: least_power(amax, model.most),
        applies=lambda model: is_floored(model) or model.greatest != model.most,
        attribute="scale_alg=1",
    ),
    other_rule(
        "scale rceil of float32 log2",
        "ceil(float32(log2(amax / top)))",
        f"{TORCHAO}.RCEIL without CUDA",
        lambda amax, model: np.ceil(np.log2(amax / model.most)),
        applies=lambda model: is_floored(model) or model.greatest != model.most,
    ),
    other_rule(
        "scale ceil",
        "ceil(log2(amax)) - emax",
        f"{TORCHAO}.CEIL",
        lambda amax, model: least_power(amax, 1) - model.emax,
    ),
    other_rule(
        "scale even",
        "floor(log2(amax rounded to the codes' bits, halves up)) - emax",
        f"{TORCHAO}.EVEN; AMD Quark",
        even,
    ),
    other_rule(
        "scale nearest",
        "rint(log2(amax)) - emax",
        "FBGEMM RoundingMode.nearest",
        lambda amax, model: np.rint(np.log2(amax)) - model.emax,
    ),
    other_rule(
        "scale from 1.75 on up",
        "floor(log2(amax + amax / 7)) - emax",
        "compressed-tensors mxfp_utils.py, which has float4's two bits for float8, too",
        lambda amax, model: (
            floor_log2(amax) + (2 * np.frexp(amax)[0] >= np.float32(1.75)) - model.emax
        ),
        applies=lambda model: model.half_step != 0.25,
    ),
    *steps.in_16_bits(
        "scale floor of {short} log2",
        "floor({long}(log2(amax))) - emax",
        f"{MODELSLIM}, float8",
        lambda stored: lambda amax, model: np.floor(stored(np.log2(amax))) - model.emax,
    ),
    other_rule(
        "scale floor of amax * 8/7",
        "floor(log2(amax * 8/7 + 9.6e-7)) - emax",
        f"{MODELSLIM}, float4",
        lambda amax, model: (
            np.floor(np.log2(amax * np.float32(8 / 7) + np.float32(9.6e-7))) - model.emax
        ),
        applies=is_packed,
    ),
    other_rule(
        "scale rceil of amax / 7",
        "ceil(log2(amax / 7))",
        "scale_alg 2, dst_type_max 7",
        lambda amax, model: least_power(amax, 7),
        applies=lambda model: model.emax == 2 and (is_floored(model) or model.greatest != 7),
        attribute="scale_alg=2, dst_type_max=7",
    ),
    other_rule(
        "emax ignored",
        "floor(log2(amax))",
        steps.MISTAKE,
        lambda amax, model: floor_log2(amax),
        applies=lambda model: model.emax != 0,
    ),
    other_rule(
        "one more",
        "that of scale_alg + 1",
        "the exponent of frexp, by mistake",
        lambda amax, model: told(amax, model) + 1,
    ),
    other_rule(
        "one less",
        "that of scale_alg - 1",
        "emax of another format, by mistake",
        lambda amax, model: told(amax, model) - 1,
    ),
    other_rule(
        "1 for blocks of zeros",
        "that of scale_alg, 0 for blocks of zeros",
        "frameworks whose blocks of zeros have a scale of 1",
        lambda amax, model: np.where(amax == 0, 0, told(amax, model)),
    ),
)
