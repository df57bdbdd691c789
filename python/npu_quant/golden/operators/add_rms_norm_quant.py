"""The model of npu_add_rms_norm_quant; its formulas are in norm.py."""

from __future__ import annotations

from . import norm
from .norm_quant import NormQuant


class AddRmsNormQuant(NormQuant):
    """npu_add_rms_norm_quant: a sum, its norm over the last axes, and codes of that."""

    form = norm.FORM
    terms = ("x1", "x2")
    quantizers = (("scales1", "zero_points1"), ("scales2", "zero_points2"))
