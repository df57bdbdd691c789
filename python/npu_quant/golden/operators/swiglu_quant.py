"""npu_swiglu_quant: a gated linear unit, by offsets or by multipliers of rows."""

from __future__ import annotations

from dataclasses import replace

from . import dynamic_quant, glu, steps
from .formula import Other, always
from .glu_quant import ENDS, GluQuant, form, of_rows, values

BY_MULTIPLIERS = {
    "values": values("smooth_scales"),
    "scale": of_rows(
        (
            dynamic_quant.scale_step("", "127 / amax"),
            dynamic_quant.scale_step("scale 1 / (amax/127)", "1 / (amax / 127)", "scripts"),
            dynamic_quant.scale_step("scale 127 * (1/amax)", "127 * (1 / amax)", "scripts"),
            *steps.in_16_bits(
                "{short} scale",
                "{long}(127 / amax)",
                steps.NARROW_SCALES,
                lambda stored: lambda amax, most: stored(most / amax),
            ),
        )
    ),
    "bound": (dynamic_quant.BOUND,),
    "reported": of_rows(
        (
            dynamic_quant.REPORTED[0],
            Other(
                "scale is amax / 127",
                "amax / 127",
                lambda scale, amax, model: amax / model.most,
                "the scale of npu_dynamic_quant, by which codes are multiplied",
            ),
        )
    ),
    "quotient": of_rows(
        (
            replace(steps.MULTIPLIED, source="", applies=always, benign=True, attribute=""),
            steps.quotient_step("x / (1/scale)", "{x} / (1 / {scale})", "scripts"),
            steps.quotient_step("x / (amax/127)", "{x} / (amax / 127)", "npu_dynamic_quant"),
            *dynamic_quant.QUOTIENTS[4:],
        )
    ),
}


class SwigluQuant(GluQuant):
    """npu_swiglu_quant."""

    form = form(glu.SLOTS | BY_MULTIPLIERS | ENDS)
