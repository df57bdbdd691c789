"""npu_anti_mx_quant: codes of MX blocks back to values, by a power of two for each block."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _codes
from ..elements import elements_of
from . import steps
from .arithmetic import Floats, stored_in
from .blocks import BIAS, NOT_FINITE, Blocks
from .elements import ElementModel, ElementPart, dtype_of
from .formula import Before, Form, Formula, Other, Output, Step, Test, always
from .model import Array, Flat, Float32

KERNEL = "hicann/ops-nn quant/anti_mx_quant/op_kernel"


class Numbers(Flat):
    """The numbers that codes stand for."""

    def __init__(self, codes: Array, own: str) -> None:
        super().__init__(codes)
        self._own = elements_of(own if own[:6] == "float4" else codes.dtype)

    def take(self, index: NDArray[np.int64]) -> Float32:
        """Return those at these places."""
        return self._own.values(super().take(index)).astype(np.float32)

    def read(self, begin: int, end: int) -> Float32:
        """Return numbers [begin, end)."""
        return self._own.values(super().read(begin, end)).astype(np.float32)


def powers(b: Array) -> NDArray[np.float64]:
    """Return what bytes stand for."""
    return np.where(b == NOT_FINITE, np.nan, np.ldexp(1.0, b.astype(np.int32) - BIAS))


def is_packed(model: Any) -> bool:
    """Tell whether codes are float4."""
    return bool(model.is_packed)


def is_side_by_side(model: Any) -> bool:
    """Tell whether the bytes of two blocks lie between those of others."""
    return bool(model.blocks.inner > 1)


def gives_16_bits(model: Any) -> bool:
    """Tell whether the values have 16 bits."""
    return bool(model.values.carrier.itemsize == 2)


def bytes_of(part: ElementPart, *, is_in_rows: bool = False) -> Array:
    """Return the byte of each element's block."""
    model: AntiMxQuant = part.model
    return model.bytes.take(model.blocks.bytes_at(np.arange(*part.range), is_in_rows=is_in_rows))


def swapped(part: ElementPart) -> Float32:
    """Return the numbers of the elements, each pair's in the other order."""
    place = np.arange(*part.range) ^ 1
    return np.asarray(part.model.elements.take(place), np.float32)


def product(q: Floats, b: Array, to: Any) -> Floats:
    """Return q * 2^E, float32; 2^128 has none."""
    return (q * powers(b)).astype(np.float32)


def without_subnormals(q: Floats, b: Array, to: Any) -> Floats:
    """Return the product, and 0 below the least normal number of the result."""
    y = product(q, b, to)
    least = {"float16": 2.0**-14}.get(to.carrier.name, 2.0**-126)
    return np.where(np.abs(y) < least, y * 0, y)


def saturated(q: Floats, b: Array, to: Any) -> Floats:
    """Return the product, and the greatest number of the result instead of an infinity."""
    low, high = (np.float32(limit) for limit in to.limits)
    return np.clip(product(q, b, to), low, high)


def other(
    name: str,
    text: str,
    source: str,
    function: Callable[[Floats, Array, Any], Floats],
    applies: Test = always,
) -> Step:
    """Return another function of numbers, their blocks' bytes and the result's format."""
    return Other(name, text, function, source, applies)


PRODUCT = Step("", "x * 2^(b - 127)", product)
SLOTS = {
    "numbers": (
        Step("", "", lambda part: part.read("elements")),
        Other(
            "high nibble first",
            ", the first code in the high nibble",
            swapped,
            "another order of float4 in a byte",
            is_packed,
        ),
    ),
    "bytes": (
        Step("", "", bytes_of),
        Other(
            "bytes in rows",
            ", bytes block by block",
            partial(bytes_of, is_in_rows=True),
            "mxscale of another axis that was not interleaved",
            is_side_by_side,
        ),
    ),
    "product": (
        PRODUCT,
        other(
            "saturated",
            "x * 2^(b - 127), at most the greatest of dst_type",
            KERNEL,
            saturated,
            gives_16_bits,
        ),
        other(
            "subnormals become 0",
            "x * 2^(b - 127), 0 below the normal range of dst_type",
            "arithmetic that flushes to zero",
            without_subnormals,
        ),
        other(
            "scale in 16 bits",
            "x * dst_type(2^(b - 127))",
            steps.NARROW_SCALES,
            lambda q, b, to: q * stored_in(to.carrier)(powers(b).astype(np.float32)),
            gives_16_bits,
        ),
        other(
            "byte 255 is 2^128",
            "x * 2^(b - 127), for b = 255, too",
            "exponents shifted into float32's bits",
            lambda q, b, to: (q * np.ldexp(1.0, b.astype(np.int32) - BIAS)).astype(np.float32),
        ),
        other(
            "byte 0 is 0",
            "x * (b << 23 as float32)",
            "exponents shifted into float32's bits",
            lambda q, b, to: q * (b.astype(np.uint32) << 23).view(np.float32),
        ),
        other(
            "one more",
            "x * 2^(b - 126)",
            "the exponent of frexp, by mistake",
            lambda q, b, to: (q * powers(b) * 2).astype(np.float32),
        ),
        other(
            "one less",
            "x * 2^(b - 128)",
            steps.MISTAKE,
            lambda q, b, to: (q * powers(b) / 2).astype(np.float32),
        ),
        other(
            "x / scale",
            "x / 2^(b - 127)",
            "a scale that is a multiplier",
            lambda q, b, to: (q / powers(b)).astype(np.float32),
        ),
        other("scale ignored", "x", steps.MISTAKE, lambda q, b, to: q),
    ),
}


def operands(formula: Formula, part: ElementPart) -> tuple[Floats, Array]:
    """Return the numbers of a part, and the bytes of their blocks."""
    numbers, own = (part.call(formula[slot].function, part) for slot in ("numbers", "bytes"))
    return numbers, own


class Values(Output):
    """Values of the elements of a part."""

    def make(self, formula: Formula, part: ElementPart) -> Array:
        """Return them in their dtype."""
        own = part.model.values
        made = formula["product"].function(*operands(formula, part), own)
        return np.asarray(made).astype(own.carrier)

    def before(self, formula: Formula, part: ElementPart) -> Before | None:
        """Return x * 2^E in float64; None of other products."""
        if formula["product"] is not PRODUCT:
            return None
        numbers, own = operands(formula, part)
        value = numbers * powers(own)
        return value, np.abs(value)


class AntiMxQuant(ElementModel):
    """npu_anti_mx_quant."""

    form = Form(
        SLOTS,
        lambda formula: (
            f"y = {formula['product'].text}{formula['bytes'].text}{formula['numbers'].text}"
        ),
        (Values(),),
        "docs/numerics.md 15",
    )

    def prepare(self) -> None:
        """Read the arguments."""
        x, mxscale, axis, src_type, dst_type = (
            self.inputs[name] for name in ("x", "mxscale", "axis", "src_type", "dst_type")
        )
        name = _codes.row_of(296 if src_type is None else src_type).name
        self.is_packed = name[:6] == "float4"
        self.x = _codes.unpacked(x) if self.is_packed else x
        self.dtype = self.x.dtype
        self.elements = Numbers(self.x, name)
        self.blocks = Blocks.along(self.x.shape, -1 if axis is None else axis, 32)
        self.bytes = Flat(mxscale.view(np.uint8))
        self.values = elements_of(dtype_of(15 if dst_type is None else dst_type))
