"""The quantizers that a check knows by the names people cite: ours, and formulas of operators."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import formats
from ..golden.judge.search import explanations
from ..golden.operators import Model, model_of
from ..golden.operators.formula import named
from .schemes import GROUP
from .weights import GREATEST, NUMERICS, Rule, codes_by, mx_of, nearest, scales_of

OURS = {
    "int8": ("npu_quant-P-127",),
    "int4": ("npu_quant-7",),
    "mxfp8": ("npu_quant-mx-up", "npu_quant-mx-floor"),
}
"""Those that weights.py carries out."""
THEIRS = {
    "int8": {
        "fp32-127": "reference",
        "msmodelslim": "{D} scale, scale at least 2^-23, {D} quotient",
        "compressed-tensors": "{D} scale amax / 127.5, {D} epsilon for 0, {D} quotient",
        "compressed-tensors-fp32": "{P} scale amax / 127.5",
        "reciprocal": "{P} scale, x * (1/scale)",
    },
    "int4": {"msmodelslim-4": "{D} scale, scale at least 2^-23, {D} quotient"},
    "mxfp8": {
        "msmodelslim-mx": "scale floor of {D} log2, round_mode round",
        "compressed-tensors-mx": "scale from 1.75 on up, {D} products",
    },
}
"""The operators' formulas of others; D is the dtype of the weight, P the params dtype."""
_SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_IN_FLOAT32 = {
    "fp32 scale amax / 127.5": "scale amax / 127.5",
    "scale floor of fp32 log2": "floor of float32 log2",
}
"""What such steps are called in float32; others do nothing there."""
_OPERATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "int8": ("npu_dynamic_quant", {}),
    "int4": ("npu_dynamic_quant", {"dst_type": "torch.quint4x2"}),
    "mxfp8": ("npu_dynamic_mx_quant", {"dst_type": "float8_e4m3fn"}),
}
_PACKED = 8
"""Columns that the operator has in an element of int4."""
_SAMPLED = 16
"""Rows of which a formula is searched."""

Codes = NDArray[Any]
"""int8, or the bytes of float8_e4m3fn without -0."""
Scales = NDArray[Any]
"""float32 of rows, or the exponents of blocks."""


class Weight:
    """Rows of a weight as quantizers may have had them, and what each makes of them."""

    def __init__(self, w: NDArray[Any], codes: str, rule: Rule) -> None:
        self.w, self._codes, self._rule = w, codes, rule
        self.recipes = (*OURS[codes], *THEIRS[codes])
        each = GROUP if codes == "mxfp8" else w.shape[1]
        magnitudes = np.abs(w.astype(np.float32))
        self.amax = np.maximum.reduceat(magnitudes, np.arange(0, w.shape[1], each), axis=1)
        """Of each row, or of each block."""
        self._mx: dict[str, tuple[NDArray[Any], NDArray[np.uint8]]] = {}

    @cached_property
    def _model(self) -> Model:
        op, attributes = _OPERATORS[self._codes]
        missing = -self.w.shape[1] % _PACKED if self._codes == "int4" else 0
        x = np.pad(self.w, ((0, 0), (0, missing))) if missing else self.w
        return model_of(op, {"input": x, **attributes}, NUMERICS)

    def _made_of(self, recipe: str, output: int) -> NDArray[Any]:
        text = THEIRS[self._codes].get(recipe, recipe)
        dtype, params = _SHORT[self.w.dtype.name], _SHORT[self._rule.params]
        steps = text.format(D=dtype, P=params).split(", ")
        steps = [_IN_FLOAT32.get(step, "" if "fp32" in step else step) for step in steps]
        formula = named(self._model.form, ", ".join(filter(None, steps)), self._model)
        assert formula is not None, recipe
        (made,) = formula.made_of(self._model, output)
        assert made is not None
        return made.reshape(len(self.w), -1)

    def _own_mx(self, recipe: str) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        if recipe not in self._mx:
            self._mx[recipe] = mx_of(self.w, recipe.rpartition("-")[2])
        return self._mx[recipe]

    def scales(self, recipe: str) -> Scales:
        """Return the scales that a recipe gives; of rows and blocks of zeros any are right."""
        if self._codes == "mxfp8":
            is_ours = recipe in OURS["mxfp8"]
            stored = self._own_mx(recipe)[1] if is_ours else self._made_of(recipe, 1)
            return exponents_of(stored[:, : self.amax.shape[1]])
        if recipe in OURS[self._codes]:
            return scales_of(self.amax, self._codes, self._rule).astype(np.float32)
        return self._made_of(recipe, 1)

    def codes(self, recipe: str) -> Codes:
        """Return the codes that a recipe gives."""
        if recipe not in OURS[self._codes]:
            made = self._made_of(recipe, 0)[:, : self.w.shape[1]]
            return without_minus_0(made) if self._codes == "mxfp8" else made
        if self._codes == "mxfp8":
            return without_minus_0(self._own_mx(recipe)[0])
        amax, scale = self.amax[:, 0], self.scales(recipe)[:, 0]
        return codes_by(self.w, amax, scale, GREATEST[self._codes])

    def nearest(self, scales: Scales) -> Codes:
        """Return the codes by given scales, whatever made these."""
        if self._codes == "mxfp8":
            wide = np.repeat(-scales, GROUP, axis=1)[:, : self.w.shape[1]]
            values = np.ldexp(self.w.astype(np.float32), wide)
            return without_minus_0(formats.encode(values, "float8_e4m3fn"))
        q, greatest = nearest(self.w, scales[:, 0]), GREATEST[self._codes]
        return np.clip(q, -greatest - 1, greatest)

    def formulas(self, codes: Codes, scales: Scales) -> list[str]:
        """Search the operator's formulas for those that give codes and scales to the bit.

        Rows of zeros, or with blocks of zeros, have any scale: they are left out.
        """
        rows = np.flatnonzero((self.amax > 0).all(axis=1))[:_SAMPLED]
        if not len(rows):
            return []
        model = Weight(self.w[rows], self._codes, self._rule)._model
        y, scale = model.golden()
        given = np.zeros_like(y), np.zeros_like(scale)
        given[0].view(codes.dtype)[:, : codes.shape[1]] = codes[rows]
        stored = (scales[rows] + 127).astype(np.uint8) if self._codes == "mxfp8" else scales[rows]
        given[1].reshape(len(rows), -1)[:, : stored.shape[1]] = stored
        found = [match.name for match in explanations(model, given, up_to_ties=False)]
        return [name for name in found if named(model.form, name, model)]  # no profile of a device


def exponents_of(stored: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the exponents that E8M0 stands for."""
    return stored.astype(np.int32) - 127


def without_minus_0(codes: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of float8_e4m3fn, with 0 for -0."""
    raw = codes.view(np.uint8)
    return np.where(raw == 0x80, np.uint8(0), raw)
