"""The model of npu_rms_norm_quant and its second version; their formulas are norm.py's, of x."""

from __future__ import annotations

from functools import partial

from . import norm
from .codes import Codes
from .formula import Cited, Rounded
from .norm_quant import NormQuant


class RmsNormQuant(NormQuant):
    """npu_rms_norm_quant, npu_rms_norm_quant_v2: a norm over the last axis, and its codes."""

    form = norm.FORM.with_words(
        norm.of_x,
        slots={**norm.FORM.slots, **norm.OF_X, "end": (*norm.ENDS, norm.T_IN_HALF)},
        outputs=(Codes(partial(norm.operands, which=0)), Rounded(norm.rstd)),
        cited=(Cited("ascend910b", {"end": norm.T_IN_HALF}, norm.T_IN_HALF.source),),
    )
    codes_dtype = "dst_dtype"
    quantizers = (("scale", "offset"),)
