"""The arithmetic of formulas: roundings, and what a formula's text says, computed.

Every operation is one IEEE operation per element, on float32 or float64, as NumPy's are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Floats = Any
"""A float32 or float64 array: what NumPy's annotations make of arithmetic on one."""

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?")
_NAMES = {"number": np.float32, "max": np.maximum, "sqrt": np.sqrt, "rint": np.rint}


def compiled(text: str, *names: str) -> Callable[..., Floats]:
    """Return the function that a formula's text is: what is printed is what is computed.

    Args:
        text: such as "amax * (1/127)"; its numbers are float32.
        names: those in it, in the order of the function's arguments.
    """
    body = _NUMBER.sub(lambda number: f"number({number[0]})", text)
    function: Callable[..., Floats] = eval(f"lambda {', '.join(names)}: {body}", _NAMES)
    return function


def roundings(text: str) -> int:
    """Return how many times a formula's text rounds."""
    return len(re.findall(r"[-+*/]|sqrt", _NUMBER.sub("", text)))


def as_it_is(q: Floats) -> Floats:
    """Keep all of it."""
    return q


def half_even(q: Floats) -> Floats:
    """Round to nearest, ties to even, whatever rule a format has of its own."""
    return np.rint(q)


def half_up(q: Floats) -> Floats:
    """Add a half, and round down."""
    return np.floor(q + np.float32(0.5))


def stored_in(dtype: Any) -> Callable[[Floats], Floats]:
    """Return the rounding to a dtype of 16 bits."""
    return lambda q: q.astype(dtype).astype(q.dtype)


to_float16 = stored_in(np.float16)
to_bfloat16 = stored_in(ml_dtypes.bfloat16)


def hybrid(q: Floats) -> Floats:
    """Round float32 to hifloat8 where its exponent is 4 or more, of either sign, as the 950 does.

    The 14 upper of the bits that are dropped are a fraction, the 14 lowest of all a threshold.
    """
    q = np.ascontiguousarray(q, np.float32)
    bits = q.view(np.uint32)
    exponent = (bits >> 23 & 0xFF).astype(np.int32) - 127
    size = np.abs(exponent)
    dropped = (20 + (size > 3) + (size > 7) + (size > 15)).astype(np.uint32)
    mask = (np.uint32(1) << dropped) - np.uint32(1)
    # Below the least number its whole significand is dropped.
    fraction = np.where(exponent == -23, bits & mask | 1 << 23, bits & mask)
    fraction >>= np.where(exponent == -23, 10, dropped - 14).astype(np.uint32)
    is_up = fraction >= bits & 0x3FFF
    rounded = ((bits & ~mask) + (is_up << dropped).astype(np.uint32)).view(np.float32)
    least = np.copysign(np.where(is_up, np.float32(2.0**-22), np.float32(0)), q)
    rounded = np.where(exponent == -23, least, np.where(exponent < -23, q * 0, rounded))
    return np.where((size < 4) | (exponent > 15), q, rounded)


def fused(x: Floats, w: Floats, zero_point: Floats) -> Floats:
    """Return x * w + zero_point, rounded to float32 once.

    The product is exact in float64, the sum is rounded to odd there: so the last rounding, to
    float32, sees on which side of a tie it lies.
    """
    product = x.astype(np.float64) * w
    addend = zero_point.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    inexact = np.isfinite(total) & np.isfinite(error) & (error != 0)
    even = (total.view(np.int64) & 1) == 0
    toward = np.where((error > 0) == (total > 0), 1, -1)
    odd = (total.view(np.int64) + np.where(inexact & even, toward, 0)).view(np.float64)
    return odd.astype(np.float32)
