"""What codes may have become: each change is tried on all of an output, and on the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ..elements import Elements, Float64, Floats, Small, Whole
from .look import FEW, FEW_FLOATS, LEFT, Guess, Look, is_varied
from .moves import dropped_bits, elsewhere, layouts, orders, repeats

Guesses = Callable[[Look], Iterator[Guess]]

_SLACK = 1e-6
"""Of factors, relative."""


def number(value: float, own: Elements, digits: int = 6) -> str:
    """Write a number of a format: integers in full."""
    if own.carrier.kind == "b":
        return str(bool(value)) + (f" (byte {value:.0f})" if value > 1 else "")
    if own.name == "float8_e8m0":
        return f"byte {np.log2(value) + 127:.0f}"
    if not isinstance(own, Whole):
        return f"{value:.{digits}g}".replace("nan", "NaN")
    return f"{value:.0f}"


# Each element by itself.


def signs(look: Look) -> Iterator[Guess]:
    """Take the other sign, or none."""
    own, where, (_, golden) = look.part.own, look.part.where, look.part.values
    if own.limits[0] < 0:
        yield Guess(f"the sign is flipped {where}", _rounded(-golden, own))
        yield Guess(f"the sign is lost {where}", _rounded(np.abs(golden), own))
    if own.carrier.kind == "b":
        yield Guess(f"True and False are exchanged {where}", 1 - golden)


def first_bit(look: Look) -> Iterator[Guess]:
    """Flip the first bit of whole numbers: signed ones for those that begin with 0."""
    own, (low, high) = look.part.own, look.part.own.limits
    if isinstance(own, Whole) and high - low in (15, 255):
        half = (high - low + 1) / 2
        values = (look.part.values[1] - low + half) % (2 * half) + low
        yield Guess(f"{half:.0f} is added {look.part.where}, modulo {2 * half:.0f}", values)


def bits(look: Look) -> Iterator[Guess]:
    """Set, clear or flip the same bits of all elements."""
    found = _flipped(look)
    if found is None:
        return
    mask, text = found
    own, where, golden = look.part.own, look.part.where, look.part.codes[1]
    raw = np.ascontiguousarray(golden).view(mask.dtype)
    are = "are" if text.startswith("bits") else "is"
    for what, made in (
        ("stuck at 1", raw | mask),
        ("stuck at 0", raw & ~mask),
        ("flipped", raw ^ mask),
    ):
        yield Guess(f"{text} {are} {what} {where}", own.values(made.view(golden.dtype)))


def flipped_here_and_there(look: Look) -> Iterator[Guess]:
    """Flip the same bits of those elements that are wrong, wherever these are."""
    found = _flipped(look)
    if found is not None:
        mask, text = found
        own, golden = look.part.own, look.part.codes[1]
        made = (np.ascontiguousarray(golden).view(mask.dtype) ^ mask).view(golden.dtype)
        are = "are" if text.startswith("bits") else "is"
        values = own.values(made)
        yield Guess(f"{text} {are} flipped in what differs", values, look.wrong)


def _flipped(look: Look) -> tuple[NDArray[Any], str] | None:
    """Return by which bits most wrong elements differ, and which these are in words."""
    own, wrong = look.part.own, look.wrong
    if own.carrier.kind == "b" or not look.is_enough:
        return None
    unsigned = f"u{own.carrier.itemsize}"
    actual, golden = (np.ascontiguousarray(c[wrong]).view(unsigned) for c in look.part.codes)
    dropped = dropped_bits(own)  # floats may have other last bits
    flipped = (actual ^ golden) >> dropped << dropped
    masks, counts = np.unique(flipped, return_counts=True)
    mask, most = masks[counts.argmax()], counts.max()
    own_codes = golden[flipped == mask]
    _, of_each = np.unique(own_codes, return_counts=True)
    # Ties that go away from even codes flip the last bit, too, but never that of an odd one.
    if mask == 1 and len(set((own_codes & 1).tolist())) == 1:
        return None
    # If most were one code, they would be one code instead of another.
    if (
        not mask
        or (len(actual) - most) * LEFT > len(actual)
        or 2 * of_each.max() > most
        or len(of_each) < FEW
    ):
        return None
    width = 4 if own.name[:6] in ("int4", "float4") else 8 * own.carrier.itemsize
    which = [i for i in range(width) if int(mask) >> i & 1]
    if not which:  # of what is no code
        return None
    noun = f"bits {', '.join(map(str, which))}" if len(which) > 1 else f"bit {which[0]}"
    return mask, f"{noun} (0x{int(mask) & ((1 << width) - 1):x})"


def subnormals(look: Look) -> Iterator[Guess]:
    """Take 0 for subnormals."""
    own, (_, golden) = look.part.own, look.part.values
    if isinstance(own, (Small, Floats)):
        tiny = _least_normal(own)
        values = np.where(np.abs(golden) < tiny, 0, golden)
        yield Guess(f"subnormals, below {tiny:g}, are 0 {look.part.where}", values)


def _least_normal(own: Elements) -> float:
    named = {"hifloat8": 2.0**-15, "float4_e2m1": 1.0, "float4_e1m2": 1.0, "float8_e8m0": 0.0}
    if own.name in named:
        return named[own.name]
    return float(ml_dtypes.finfo(own.carrier).smallest_normal)  # type: ignore[no-untyped-call]


def other_bytes(look: Look) -> Iterator[Guess]:
    """Take the bytes of each element in the other order."""
    own, (_, golden) = look.part.own, look.part.codes
    if own.carrier.itemsize > 1:
        yield Guess(
            f"the bytes of each value are in the other order {look.part.where}",
            own.values(golden.byteswap()),
        )


def added(look: Look) -> Iterator[Guess]:
    """Add one number."""
    own, (actual, golden) = look.part.own, look.part.values
    more = float(np.median((actual - golden)[look.wrong])) if look.count else 0.0
    # Of few values two runs of one each would do.
    if np.isfinite(more) and more and own.carrier.kind != "b" and is_varied(golden):
        yield Guess(
            f"{number(more, own, 3)} is added {look.part.where}", _rounded(golden + more, own)
        )


def multiplied(look: Look) -> Iterator[Guess]:
    """Multiply floats by one factor; those of few bits by a power of two."""
    own, (actual, golden) = look.part.own, look.part.values
    some = look.wrong & (golden != 0) & np.isfinite(actual)
    if isinstance(own, Whole) or not np.any(some):
        return
    factor = float(np.median((actual / golden)[some]))
    if isinstance(own, Small):
        factor = float(np.copysign(2.0 ** np.rint(np.log2(abs(factor))), factor)) if factor else 0
    # One so near 1 would be written as 1.
    if np.isfinite(factor) and factor and abs(factor - 1) > _SLACK:
        values = golden * factor if isinstance(own, Floats) else _rounded(golden * factor, own)
        text = f"a factor of {factor:.6g} ({100 * (factor - 1):+.3g} %) {look.part.where}"
        yield Guess(text, values)


def clipped(look: Look) -> Iterator[Guess]:
    """Let the range end earlier."""
    own, (actual, golden) = look.part.own, look.part.values
    low, high = (
        f(actual[np.isfinite(actual)], initial=i) for f, i in ((np.min, np.inf), (np.max, -np.inf))
    )
    if own.carrier.kind != "b" and low < high and is_varied(actual):
        ends = f"{number(low, own)} and {number(high, own)}"
        yield Guess(f"values are cut off at {ends} {look.part.where}", np.clip(golden, low, high))


def _rounded(values: Float64, own: Elements) -> Float64:
    return own.values(own.nearest(values))


# Before rounding.


def scaled(look: Look) -> Iterator[Guess]:
    """Multiply numbers before rounding by one factor: the scale's, where it is x / scale."""
    part, model = look.part, look.model
    own, (actual, golden) = part.own, part.codes
    if isinstance(own, Floats) or own.carrier.kind == "b" or not is_varied(golden, FEW_FLOATS):
        return
    value, where = look.before_rounding, part.where
    low, high = own.ties(golden) if value is None else (value, value)
    found = factors_of(low, high, actual, own)
    if found is None:
        return
    factor = sum(found) / 2
    text = f"a factor of about {factor:.3g} {where}, before rounding"
    is_scale = model is not None and "scale" in model.kinds and model.has_scale_per_row
    if is_scale and value is not None:
        percent = f"{100 * (1 / factor - 1):+.2g} %"
        text = f"the scale of {part.name or 'every row'} is wrong by {percent}"
        text += ": one factor gives its codes"
    # All codes between the ties are what the factor gives, as it was found by them.
    yield Guess(text, part.values[0], has_many=value is not None)


def factors_of(
    low: Float64, high: Float64, codes: NDArray[Any], own: Elements
) -> tuple[float, float] | None:
    """Return the factors f for which round(value * f) gives the codes; None if none does.

    Args:
        low: the least that each number before rounding by the golden scale may have been.
        high: the greatest, likewise.
        codes: the actual codes. Saturated ones bound f from one side only.
        own: their format.
    """
    near_zero = np.where(low > 0, low, -high)
    usable = (near_zero > own.least_tie) & np.isfinite(near_zero)
    if np.count_nonzero(usable) < FEW:
        return None
    low, high, q = low[usable], high[usable], own.values(codes[usable])
    inside = (q > own.limits[0]) & (q < own.limits[1])
    is_positive = low > 0
    if np.any((np.sign(q) != np.where(is_positive, 1, -1)) & (q != 0)) or not np.any(inside):
        return None
    below, above = own.ties(codes[usable])
    farthest = np.where(is_positive, high, -low)
    near = np.where(is_positive, below, -above) / farthest * (1 - _SLACK)
    far = np.where(is_positive, above, -below) / near_zero[usable] * (1 + _SLACK)
    least, most = float(near.max()), float(far.min())
    # A factor of 1 would say nothing is wrong, one that may be 0 nothing at all.
    return (least, most) if 0 < least <= most and not least <= 1 <= most else None


def shifted_before(look: Look) -> Iterator[Guess]:
    """Add one number before rounding."""
    own, value, (actual, _) = look.part.own, look.before_rounding, look.part.codes
    if value is None or not isinstance(own, Whole):
        return
    known = np.isfinite(value)
    low, high = ((tie - value)[known] for tie in own.ties(actual))
    if not low.size:
        return
    # One in a hundred may be a tie of its own.
    least, most = np.quantile(low, 0.99), np.quantile(high, 0.01)
    more = float((least + most) / 2)
    if np.isfinite(more) and abs(more) >= 0.01:
        yield Guess(
            f"about {more:.2g} is added before rounding {look.part.where}",
            _rounded(value + more, own),
        )


def offsets_of_rows(look: Look) -> Iterator[Guess]:
    """Leave out the offset that an operator adds to a row, or take the other sign."""
    value, model, own = look.before_rounding, look.model, look.part.own
    if value is None or model is None or model.kinds[look.output] != "codes":
        return
    for kind, offset in zip(model.kinds, model.golden(), strict=True):
        if kind == "offset" and offset is not None and offset.size == look.part.layout.rows:
            more = offset.reshape(-1)[look.part.rows, None].astype(np.float64)
            for text, times in (("ignored", 1), ("subtracted", 2)):
                values = _rounded(value - times * more, own)
                yield Guess(f"the offset is {text} {look.part.where}", values)


def codes_behind(look: Look) -> Iterator[Guess]:
    """Hand out the codes that values stand for, or let their range end elsewhere."""
    value, model, where = look.before_rounding, look.model, look.part.where
    grid = model and model.codes_behind(look.output, look.part.index)
    if value is None or not grid:
        return
    low, high = grid.limits
    whole = np.rint(value)
    codes = np.clip(whole, low, high)
    yield Guess(f"codes are given instead of values {where}", codes)
    less = f"codes, less the zero points, are given instead of values {where}"
    yield Guess(less, codes - grid.zero_point)
    span = high + 1 - low  # so far beyond the range others are looked for
    actual = grid.code(look.part.codes[0], codes, (low - span, high + span))
    if not is_varied(actual):
        return
    least, most = np.nanmin(actual), np.nanmax(actual)
    # Where the golden's codes end there, too, nothing is cut off.
    ends = low if least == codes.min() else least, high if most == codes.max() else most
    text = f"codes end at {ends[0]:.0f} and {ends[1]:.0f}, not at {low} and {high}, {where}"
    yield Guess(text, look.part.own.values(grid.values(np.clip(whole, *ends))))


def wrapped(look: Look) -> Iterator[Guess]:
    """Leave the lowest bits of what is beyond the range."""
    own, value = look.part.own, look.before_rounding
    if value is None or not isinstance(own, Whole) or own.carrier.kind == "b":
        return
    (low, high), whole = own.limits, np.rint(value)
    text = f"values beyond the range wrap around instead of saturating {look.part.where}"
    yield Guess(text, (whole - low) % (high - low + 1) + low)


CHANGES: tuple[Guesses, ...] = (
    signs,
    first_bit,
    bits,
    subnormals,
    added,
    multiplied,
    scaled,
    shifted_before,
    offsets_of_rows,
    codes_behind,
    wrapped,
    orders,
    elsewhere,
    repeats,
    layouts,
    other_bytes,
    clipped,
)
"""The surest first."""
