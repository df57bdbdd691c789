"""The model of npu_add_rms_norm_dynamic_quant; its formulas are in norm_dynamic_quant.py."""

from __future__ import annotations

from . import norm_dynamic_quant
from .norm_dynamic_quant import NormDynamicQuant
from .norm_rows import Sums


class AddRmsNormDynamicQuant(NormDynamicQuant):
    """npu_add_rms_norm_dynamic_quant: a sum, its norm, and codes of that for two branches."""

    form = norm_dynamic_quant.form(2, (Sums(),))
    terms = ("x1", "x2")
    codes_dtype = "y_dtype"
    smooths = ("smooth_scale1", "smooth_scale2")

    def wanted(self) -> tuple[bool, ...]:
        """Tell which outputs of codes there are."""
        mask = self.inputs["output_mask"]
        both = all(factors is not None for factors in self.factors_by_output)
        return (True, both) if mask is None else tuple(mask)
