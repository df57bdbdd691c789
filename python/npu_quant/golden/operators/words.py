"""What operators share that round nothing: their results are bits, of which none may differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .formula import Test, Variant, always
from .model import PART, Array, Exact, Flat, Model, Part, ranges


class WordModel(Model):
    """An operator whose output has an element for each of `elements`, and only bits of it."""

    elements: Flat

    def most_steps(self, output: int) -> float:
        """Return that rounding explains no difference."""
        return 0

    def exact(self, output: int, index: NDArray[np.int64], scale: Array | None = None) -> Exact:
        """Return what the golden elements stand for."""
        golden = self.golden()[output]
        assert golden is not None
        value = self.elements_of(output).values(golden.reshape(-1)[index])
        return value, (value,)

    def parts(self) -> list[Part]:
        """Split along the elements."""
        golden = self.golden()[0]
        assert golden is not None
        return [Part(self, (some,)) for some in ranges(golden.size, PART)]


def row(
    name: str,
    text: str,
    source: str,
    function: Callable[[Any, int, int], Array],
    applies: Test = always,
) -> Variant:
    """Return a variant whose elements ``[begin, end)`` a function makes of a model."""

    def elements(part: Part) -> Array:
        return function(part.model, *part.spans[0])

    return Variant(name, name == "reference", f"y = {text}", source, (elements,), applies)
