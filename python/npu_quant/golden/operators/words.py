"""What operators share that round nothing: their results are bits, of which none may differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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

    def parts(self, size: int | None = None) -> list[Part]:
        """Split along the elements."""
        golden = self.golden()[0]
        assert golden is not None
        return [Part(self, (some,)) for some in ranges(golden.size, size or PART)]
