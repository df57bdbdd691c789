"""Operators without a page of their own: their golden is computed, no other formula is known."""

from __future__ import annotations

from typing import Any

from .formula import Form, Formula, Made
from .model import Array, Part
from .words import WordModel

MOST = 8
"""How many outputs an operator may have."""


def output(number: int) -> Made:
    """Return an output that is the operator's own."""

    def golden(formula: Formula, part: Part) -> Array:
        made: Array = part.model.golden()[number]
        return made.reshape(-1)

    return Made(golden)


class PlainModel(WordModel):
    """What an operator gives, of which no rounding explains any other."""

    form = Form({}, lambda formula: "as its help says", tuple(map(output, range(MOST))), "its help")
    has_scale_per_row = False

    def prepare(self) -> None:
        """Read nothing."""

    def whole(self) -> list[Part]:
        """Return all of it, which is no part of anything."""
        sizes: list[Any] = [0 if array is None else array.size for array in self.golden()]
        return [Part(self, tuple((0, size) for size in sizes), 0, 0)]
