"""npu_convert_weight_to_int4pack: codes of 4 bits, eight to a word, compared code by code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _codes
from ..._codes import int4_of
from ..elements import elements_of
from . import steps
from .formula import Form, Made, Other, Step
from .model import Array, Flat, unpacked
from .words import WordModel


def codes(model: Any, begin: int, end: int) -> Array:
    """Return the low 4 bits of integers, or the codes of the numbers by the floats' first bits."""
    weight = model.elements.read(begin, end)
    if model.is_integer:
        return int4_of(weight.astype(np.uint8), packed=False)
    kept = (weight.view(np.uint32) & 0xFFC00000).view(np.float32)
    found, numbers = nearest(kept)
    return np.where(numbers == kept, found, 0).astype(np.uint8)


def nearest(numbers: Array) -> tuple[Array, Array]:
    """Return the nearest codes of float4_e2m1, and their values."""
    even = np.concatenate((numbers, np.zeros(numbers.size % 2, np.float32)))
    found = _codes.unpacked(_codes.encode(even, "float4_e2m1"))[: numbers.size]
    return found, _codes.values_of("float4_e2m1")[found]


def in_order(*order: int) -> Any:
    """Return the codes of eights in another order."""

    def function(model: Any, begin: int, end: int) -> Array:
        return codes(model, begin, end).reshape(-1, 8)[:, order].reshape(-1)

    return function


def with_bias(model: Any, begin: int, end: int) -> Array:
    """Return codes of which 8 is 0."""
    return np.asarray((codes(model, begin, end) ^ 8) << 4) >> 4


def saturated(model: Any, begin: int, end: int) -> Array:
    """Return the codes nearest to the elements."""
    weight = model.elements.read(begin, end)
    if model.is_integer:
        return np.asarray(np.clip(weight, -8, 7), np.int8)
    with np.errstate(all="ignore"):
        return nearest(weight)[0]


def without_minus_zero(model: Any, begin: int, end: int) -> Array:
    """Return codes with 0 for -0."""
    found = codes(model, begin, end)
    return np.where(found == 8, 0, found).astype(np.uint8)


def is_integer(model: Any) -> bool:
    """Tell whether the codes are int4."""
    return bool(model.is_integer)


def is_float(model: Any) -> bool:
    """Tell whether the codes are float4."""
    return not model.is_integer


WORDS = (
    Step("", "the codes, the first in the lowest nibble", codes),
    Other(
        "high nibble first",
        "the codes, the first of two in the high nibble",
        in_order(1, 0, 3, 2, 5, 4, 7, 6),
        "another order of nibbles in a byte",
    ),
    Other(
        "first code highest",
        "the codes, the first in the highest nibble",
        in_order(7, 6, 5, 4, 3, 2, 1, 0),
        "another order of nibbles in a word",
    ),
    Other(
        "codes 0, 2, 4, 6, 1, 3, 5, 7",
        "the codes in the order 0, 2, 4, 6, 1, 3, 5, 7",
        in_order(0, 2, 4, 6, 1, 3, 5, 7),
        "AutoAWQ's order",
    ),
    Other("8 is 0", "code + 8", with_bias, "GPTQ's and compressed-tensors' codes", is_integer),
    Other("saturated", "the nearest codes", saturated, "scripts that round first"),
    Other("-0 is 0", "the codes, 0 for -0", without_minus_zero, steps.MISTAKE, is_float),
)


class ConvertWeightToInt4pack(WordModel):
    """npu_convert_weight_to_int4pack."""

    form = Form(
        {"codes": WORDS},
        lambda formula: f"y = {formula['codes'].text}",
        (Made(lambda formula, part: formula["codes"].function(part.model, *part.spans[0])),),
        "docs/numerics.md 16",
    )

    has_scale_per_row = False

    def prepare(self) -> None:
        """Read the arguments."""
        weight = self.inputs["weight"]
        self.elements = Flat(weight)
        self.is_integer = weight.dtype == np.int32
        self.format = elements_of("int4" if self.is_integer else "float4_e2m1")

    def as_elements(self, output: int, array: Array) -> Array:
        """Return the codes of words: of float4 a byte each."""
        if self.is_integer:
            return unpacked(array)
        return _codes.unpacked(array) if array.itemsize == 4 and array.ndim > 0 else array
