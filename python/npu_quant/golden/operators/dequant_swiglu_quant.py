"""npu_dequant_swiglu_quant: sums dequantized, a gated linear unit, and its codes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..elements import Rounding, largest
from . import dynamic_quant, glu, steps
from .arithmetic import Floats, compiled
from .blocks import Directed
from .formula import Formula, Other, Step, always
from .glu_quant import ENDS, GluPart, GluQuant, form, is_dynamic, of_rows, values
from .model import Flat

KERNELS = "hicann/ops-nn quant/dequant_swiglu_quant/op_kernel"
GOLDEN = "hicann/ops-nn quant/dequant_swiglu_quant/tests: its golden"


def is_sum(model: Any) -> bool:
    """Tell whether the input is dequantized."""
    return bool(model.is_sum)


# What a row of sums stands for.


def dequantizing(text: str, name: str = "", source: str = "scripts", **more: Any) -> Step:
    """Return a step that does as its text says."""
    function = compiled(text, "x", "weight_scale", "activation_scale")
    return Step(name or text, text, function, source, more.pop("applies", is_sum), **more)


DEQUANTIZED = (
    dequantizing("x * weight_scale * activation_scale"),
    dequantizing("x * (weight_scale * activation_scale)"),
    dequantizing("x * activation_scale * weight_scale"),
    dequantizing("x * activation_scale", "weight_scale ignored", steps.MISTAKE, benign=False),
    dequantizing(
        "x * weight_scale",
        "activation_scale ignored",
        steps.MISTAKE,
        benign=False,
        applies=lambda model: "activation_scale" in model.given,
    ),
    *steps.in_16_bits(
        "sums in {short}",
        "{long}(x * weight_scale * activation_scale)",
        "a product that another operator dequantizes to 16 bits",
        lambda stored: lambda x, w, a: stored(x * w * a),
        is_sum,
    ),
)
BIASES = (
    Step("", " + bias", lambda bias: bias),
    Other("bias ignored", "", lambda bias: None, steps.MISTAKE, lambda m: "bias" in m.given),
)

# What is gated, and how far.


def mode_step(mode: int, text: str, source: str = "another default") -> Step:
    """Return the step that takes another swiglu_mode."""
    return Other(
        f"swiglu_mode {mode}",
        text,
        lambda model: mode,
        source,
        lambda model: model.swiglu_mode != mode,
        attribute=f"swiglu_mode={mode}",
    )


MODES = (
    Step("", "", lambda model: model.swiglu_mode),
    mode_step(0, ", of halves without limits", f"{GOLDEN} takes swiglu_mode 2 for 0"),
    mode_step(1, ", of even and odd elements with limits"),
    mode_step(2, ", of halves with limits"),
)


def limited(a: Floats, b: Floats, limit: Any) -> tuple[Floats, Floats]:
    """Limit the gate from above and the factor on both sides; NaN stays."""
    return np.minimum(a, limit), np.maximum(np.minimum(b, limit), -limit)


LIMITS = (
    Step("", "", limited),
    Other(
        "without limits",
        ", without clamp_limit",
        lambda a, b, limit: (a, b),
        "scripts",
        lambda model: bool(model.swiglu_mode),
    ),
)

# How rows become codes.

DIRECTIONS: dict[int, Rounding] = {2: np.floor, 3: np.ceil, 4: np.trunc}
"""By round_mode."""


@dataclass(frozen=True, eq=False)
class AsTold(Directed):
    """Small floats to which the reference rounds in a direction."""

    def rounding(self, to_whole: Rounding) -> Rounding:
        """Return the rounding to this format that is a given one of whole numbers."""
        return super().rounding(self.direction if to_whole is np.rint else to_whole)


def other_rounding(step: Step, mode: int | None = None) -> Step:
    """Return a rounding that round_mode does not ask for."""
    return replace(
        step,
        applies=lambda model: step.applies(model) and model.round_mode != mode,
        benign_if=lambda model: model.round_mode < 2,
        benign_when="round_mode is 0 or 1" if step.benign else "",
    )


IGNORED_MODE = replace(
    steps.TO_EVEN, source=f"round_mode 0; {GOLDEN} takes 1 for 0", applies=always
)
ROUNDINGS = (
    steps.HALF_EVEN,
    other_rounding(IGNORED_MODE, 0),
    other_rounding(steps.HALF_AWAY, 1),
    other_rounding(steps.HALF_UP),
    other_rounding(steps.FLOOR, 2),
    other_rounding(steps.CEILING, 3),
    other_rounding(steps.TRUNCATION, 4),
)
BY_SCALES = {
    "values": values("quant_scale"),
    "scale": of_rows(
        (
            dynamic_quant.SCALES[0],
            replace(dynamic_quant.TIMES_INVERSE, source=KERNELS),
            *dynamic_quant.SCALES[2:],
        )
    ),
    "bound": (dynamic_quant.BOUND,),
    "reported": of_rows(dynamic_quant.REPORTED),
    "quotient": (
        steps.DIVIDED,
        replace(steps.RECIPROCAL, source=f"{KERNELS}, a quant_scale of one element"),
        *of_rows(dynamic_quant.QUOTIENTS[1:4])[1:],
        replace(
            steps.MULTIPLIED,
            source="the factor that quant_scale is with quant_mode 1",
            applies=lambda model: "quant_scale" in model.given and not is_dynamic(model),
            attribute="",
        ),
    ),
}
OF_SUMS = {"dequantized": DEQUANTIZED, "bias": BIASES, "mode": MODES, "limit": LIMITS}


class DequantSwigluQuant(GluQuant):
    """npu_dequant_swiglu_quant."""

    form = form(OF_SUMS | glu.SLOTS | BY_SCALES | ENDS | {"round": ROUNDINGS})
    unit_slots = ("dequantized", "bias", "mode", "limit", *glu.SLOTS)
    factors = "quant_scale"
    given_by = ("quant_scale", "quant_offset")

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        super().prepare()
        self.is_sum = inputs["x"].dtype == np.int32
        self.swiglu_mode, self.round_mode = inputs["swiglu_mode"], inputs["round_mode"] or 0
        numbers = (inputs[name] for name in ("clamp_limit", "glu_alpha", "glu_bias"))
        self.limit, self.alpha, self.glu_bias = map(np.float32, numbers)
        if inputs["activation_scale"] is not None:
            self.activation_scale = Flat(inputs["activation_scale"])
            self.given["activation_scale"] = inputs["activation_scale"]
        if self.round_mode == 1:
            self.format = replace(self.format, ties_away=True)
        elif self.round_mode:
            own = {f.name: getattr(self.format, f.name) for f in fields(self.format)}
            self.format = AsTold(**own, direction=DIRECTIONS[self.round_mode])

    def dequantized(self, formula: Formula, part: GluPart) -> tuple[Floats, Floats]:
        """Return what is gated, and the largest of its terms."""
        if not self.is_sum:
            return super().dequantized(formula, part)
        bias = formula["bias"].function(self.parameter("bias", *part.range))
        x, is_whole = self.read_x(part), bias is not None and bias.dtype == np.int32
        v = (x + bias if is_whole else x).astype(part.floats)
        scale = self.parameter("weight_scale", *part.range)
        of_row = part.floats(1)
        if "activation_scale" in self.given:
            of_row = self.activation_scale.floats(*part.range)[:, None].astype(part.floats)
        v = formula["dequantized"].function(v, scale.astype(part.floats), of_row)
        if bias is None or is_whole:
            return v, v
        added = bias.astype(part.floats)
        return v + added, largest(v, added)

    def without_those_behind(self, o: Floats, first: int, last: int) -> Floats:
        """Return o, and 0 behind the last group."""
        return np.where(np.arange(first, last)[:, None] < self.behind[-1], o, o.dtype.type(0))
