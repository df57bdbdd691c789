"""The model of npu_rms_norm_dynamic_quant; its formulas are in norm_dynamic_quant.py, of x."""

from __future__ import annotations

from . import norm, norm_dynamic_quant
from .norm_dynamic_quant import NormDynamicQuant


class RmsNormDynamicQuant(NormDynamicQuant):
    """npu_rms_norm_dynamic_quant: a norm over the last axis, and its codes."""

    form = norm_dynamic_quant.form(
        1, (), slots=norm_dynamic_quant.SLOTS | norm.OF_X, words=norm.of_x
    )
