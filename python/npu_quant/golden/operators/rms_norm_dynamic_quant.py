"""The model of npu_rms_norm_dynamic_quant, and its formulas, which are in norm_dynamic_quant.py."""

from __future__ import annotations

from . import norm, norm_dynamic_quant
from .norm_dynamic_quant import NormDynamicQuant


class RmsNormDynamicQuant(NormDynamicQuant):
    """npu_rms_norm_dynamic_quant: a norm over the last axis, and its codes."""


FORM = norm_dynamic_quant.FORM
REFERENCE = norm_dynamic_quant.REFERENCE
VARIANTS = tuple(
    norm.of_x(row)
    for row in norm_dynamic_quant.variants(FORM)
    if norm.ROUNDED.name not in row.steps
)
