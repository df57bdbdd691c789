"""Which named formulas give an array, byte for byte, and how much the others differ from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measure.differing import differ
from ..results import VariantMatch
from .formula import Variant
from .model import Flat, Model, Part
from .registry import applicable

Array = NDArray[Any]


class Actual:
    """The outputs to be explained; None for one that is not known."""

    def __init__(self, model: Model, outputs: Sequence[Array | None]) -> None:
        self.flats: list[Flat | None] = [None if a is None else Flat(a) for a in outputs]
        self.given = [i for i, a in enumerate(outputs) if a is not None]
        # Cheap outputs first: a scale that is wrong spares the codes.
        self.order = sorted(self.given, key=lambda i: outputs[i].size)  # type: ignore[union-attr]
        shapes, golden = model.output_shapes(), model.golden()
        self.fits = all(
            a is None or (g is not None and a.dtype == g.dtype and a.shape == shape)
            for a, g, shape in zip(outputs, golden, shapes, strict=False)
        )

    def of(self, part: Part, output: int) -> Array:
        """Return an output's elements of a part."""
        flat = self.flats[output]
        assert flat is not None
        return flat.read(*part.spans[output])


def difference(actual: Array, computed: Array | None) -> int:
    """Count the elements whose bytes differ, but for two NaN; all of them where none were made."""
    if computed is None or computed.dtype != actual.dtype:
        return actual.size
    return int(np.count_nonzero(differ(actual, computed)))


class Work:
    """A part, with the actual elements of it: what each formula is compared with."""

    def __init__(self, part: Part, actual: Actual) -> None:
        self._part = part
        self._actual = actual
        self._elements: dict[int, Array | None] = {}
        # By the array a formula gave, which the second item keeps alive: many give the same one.
        self._counts: dict[tuple[int, int], tuple[int, Array | None]] = {}

    def count(self, variant: Variant, output: int) -> int:
        """Return how many elements of an output a variant has otherwise."""
        with np.errstate(all="ignore"):
            computed = variant.formulas[output](self._part)
        key = (output, id(computed))
        if key not in self._counts:
            elements = self.elements(output)
            assert elements is not None
            self._counts[key] = difference(elements, computed), computed
        return self._counts[key][0]

    def elements(self, output: int) -> Array | None:
        """Return the actual elements of an output, None if it is not known."""
        if output not in self._elements:
            known = output in self._actual.given
            self._elements[output] = self._actual.of(self._part, output) if known else None
        return self._elements[output]

    def equal(self, variant: Variant) -> bool:
        """Tell whether a variant gives exactly the actual outputs of this part."""
        if variant.glance is not None:
            with np.errstate(all="ignore"):
                if not variant.glance(self._part, self.elements):
                    return False
        return all(self.count(variant, output) == 0 for output in self._actual.order)


def matching_variants(
    model: Model, actual: Sequence[Array | None], first_differences: Mapping[int, int] | None = None
) -> tuple[VariantMatch, ...]:
    """Return all variants that give exactly the actual outputs, benign ones first.

    Args:
        model: the operator with its inputs.
        actual: its outputs in its order, None for one that is not known.
        first_differences: by output, a place in it, counted in C order, where actual and golden
            are known to differ. The parts that hold these are looked at first: there most variants
            drop out.
    """
    known = Actual(model, actual)
    if not known.given or not known.fits:
        return ()
    parts = model.parts()
    places = list((first_differences or {}).items())
    parts.sort(key=lambda part: -sum(part.holds(*place) for place in places))
    left = applicable(model)
    for part in parts:
        work = Work(part, known)
        left = [variant for variant in left if work.equal(variant)]
        part.forget()
        if not left:
            break
    left.sort(key=lambda variant: not variant.benign)
    return tuple(VariantMatch(v.name, v.benign, v.summary, v.source) for v in left)
