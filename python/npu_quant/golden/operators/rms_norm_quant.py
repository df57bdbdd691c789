"""The model of npu_rms_norm_quant and its second version, and their formulas."""

from __future__ import annotations

from dataclasses import replace

from . import norm
from .formula import Formula, Variant
from .norm_quant import NormQuant


class RmsNormQuant(NormQuant):
    """npu_rms_norm_quant, npu_rms_norm_quant_v2: a norm over the last axis, and its codes."""

    codes_dtype = "dst_dtype"
    quantizers = (("scale", "offset"),)


FORM = replace(norm.FORM, outputs=(lambda formula, part: norm.y(formula, part, 0), norm.rstd))
REFERENCE = FORM.formula()
ASCEND910B = FORM.formula(end=norm.T_IN_HALF)
VARIANTS: tuple[Variant, ...] = (
    norm.of_x(REFERENCE.row(source="docs/numerics.md 5")),
    norm.of_x(ASCEND910B.row("ascend910b", norm.T_IN_HALF.source, profile="ascend910b")),
    *(
        norm.of_x(row)
        for row in FORM.rows(
            Formula(FORM, formula.steps)
            for formula in norm.formulas()
            if formula["source"] is norm.SUMS  # there is nothing to be rounded
        )
    ),
)
