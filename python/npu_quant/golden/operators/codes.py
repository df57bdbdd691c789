"""Outputs that are codes: what a formula makes of a part's operands, and the numbers before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .formula import Before, Formula, Output, none_of
from .model import Array
from .steps import Operands, before_rounding, codes, part_before


class Codes(Output):
    """Codes of the operands that a formula has in a part; zeros where there are none."""

    def __init__(self, operands: Callable[[Formula, Any], Operands | None], number: int = 0):
        self._operands, self._number = operands, number

    def make(self, formula: Formula, part: Any) -> Array:
        """Return the codes of a part."""
        own = self._operands(formula, part)
        if own is None:
            begin, end = part.spans[self._number]
            return np.zeros(end - begin, part.model.format.carrier)
        made: Array = part.call(part.flat, codes(formula, part, own))
        return made

    def before(self, formula: Formula, part: Any) -> Before:
        """Return the numbers before they are rounded to the codes of a part."""
        part = part_before(formula, part)
        own = self._operands(formula, part)
        if own is None:
            begin, end = part.spans[self._number]
            return none_of(end - begin)
        value, magnitude = before_rounding(formula, part, own)
        return part.flat(value), part.flat(magnitude)
