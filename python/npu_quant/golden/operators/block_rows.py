"""Rows in blocks: what the models share whose rows are made of the input, and then have scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arithmetic import Floats
from .blocks import bytes_of, factor_of
from .model import Array, Flat, Float32, Model, Part

BIAS, NOT_FINITE = 127, 255
"""Of E8M0: byte b stands for 2^(b - BIAS), NOT_FINITE for NaN."""


class RowPart(Part):
    """Some rows."""

    def __init__(self, model: RowModel, first: int, last: int) -> None:
        spans = tuple((first * n, last * n) for n in model.per_row)
        super().__init__(model, spans, first, last)

    def read(self, flat: Flat, n: int) -> Floats:
        """Return its rows of an array that has n elements in each."""
        first, last = self.range
        rows = flat.floats(first * n, last * n).reshape(last - first, n)
        return rows.astype(self.floats, copy=False)

    def given(self, output: int) -> Array | None:
        """Return its rows of the scale output that codes go by, where that is given."""
        if self.scale is None:
            return None
        rows = self.scale.reshape(-1)[slice(*self.spans[output])]
        return rows.reshape(self.range[1] - self.range[0], self.model.per_row[output])


class RowModel(Model):
    """Codes of rows, and scales of their blocks."""

    has_scale_per_row = False
    per_row: tuple[int, ...]
    """How many elements of each output belong to a row."""
    row_count: int

    def whole(self) -> list[Part]:
        """Return all rows."""
        return [RowPart(self, 0, self.row_count)]


def in_blocks(v: Floats, size: int) -> Floats:
    """Return rows in blocks, the last one filled up with zeros."""
    rows, n = v.shape
    padded = np.pad(v, ((0, 0), (0, -n % size)))
    return padded.reshape(rows, -(-n // size), size)


def out_of_blocks(v: Any, n: int) -> Any:
    """Return the first n elements of each row of blocks."""
    return v.reshape(len(v), v.shape[1] * v.shape[2])[:, :n]


def in_pairs(b: Array) -> Array:
    """Return the bytes of rows with the one of no block that makes them even."""
    return np.pad(b, ((0, 0), (0, b.shape[1] % 2))).astype(np.uint8)


def mx_of(v: Floats, rule: Callable[..., Floats], model: Any) -> tuple[Floats, Array]:
    """Return numbers of blocks over their power of two, which a rule finds, and its bytes.

    Of a block that is not finite they are 0.
    """
    with np.errstate(all="ignore"):
        amax = np.abs(v).max(axis=2, initial=0)
        b = bytes_of(rule(amax, model), amax)
        made = v * factor_of(b)[..., None]
    return np.where(b[..., None] == NOT_FINITE, v.dtype.type(0), made), b


def power_of(exponent: Floats) -> Float32:
    """Return powers of two."""
    return np.asarray(np.ldexp(np.float32(1), exponent.astype(np.int32)), np.float32)


def log2_of(scale: Floats) -> Floats:
    """Return the least exponents whose powers are not less than scales, exactly."""
    fraction, exponent = np.frexp(scale)
    return np.asarray(exponent - (fraction == 0.5), scale.dtype)
