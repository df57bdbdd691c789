"""Kinds of faults in each kind of place, word for word: by the operator, and in two arrays alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from planted import Array, Device, Fault, Kind, Outputs
from planted.devices import (
    alone_e4m3,
    alone_hif8,
    alone_int4,
    e4m3,
    hif8,
    int4,
    int8,
    large,
    quantize_square,
    two_batches,
    two_float32,
    two_int8,
    two_scales,
)  # fmt: skip
from planted.faults import (
    both,
    by,
    codes,
    flipped,
    from_columns,
    moved,
    negated,
    numbers,
    plus,
    scales,
    stuck,
    zero,
)
from planted.formats import stale

ROWS, COLUMNS, BLOCK = np.s_[100:228], np.s_[:, 256:384], np.s_[9, 128:256]
IN_ROWS = r"in rows 100 to 227 \("
BY_OPERATOR = (int8, e4m3, hif8, int4)
ALONE = (two_int8, alone_e4m3, alone_hif8, alone_int4)


def swapped(a: Array) -> Array:
    return a[::-1]


def axes_swapped(device: Device) -> Outputs:
    (name, first), *_ = device.outputs.items()
    return {name: np.ascontiguousarray(np.swapaxes(first, -1, -2))}


ZEROED = "{} are 0 everywhere: were they ever written?"
PLACES: dict[str, tuple[Fault, str, str]] = {
    "rows zeroed": (codes(zero, ROWS), "rows 100 to 227", ZEROED),
    "columns zeroed": (codes(zero, COLUMNS), "columns 256 to 383", ZEROED),
    "a row zeroed": (codes(zero, 7), "row 7", "{} is 0 everywhere: was it ever written?"),
    "a block zeroed": (
        codes(zero, BLOCK),
        "row 9 columns 128-255",
        "{} is 0 everywhere: was it ever written?",
    ),
    "a rectangle zeroed": (
        codes(zero, np.s_[100:228, 256:384]),
        "columns 256 to 383",
        ZEROED.format("rows 100 to 227 columns 256-383"),
    ),
    "rows swapped": (
        codes(swapped, np.s_[3:10:6]),
        "rows 3, 9",
        "rows are in wrong places: 3 holds the golden's 9, 9 holds the golden's 3",
    ),
    "signs of rows": (codes(negated, ROWS), "rows 100 to 227", "the sign is flipped in {}"),
    "a row shifted": (codes(moved(1), 5), "row 5", "{} is shifted right by 1 column"),
    "rows shifted": (
        codes(moved(-3), ROWS),
        "rows 100 to 227",
        "{} are shifted left by 3 columns",
    ),
}
BITS_AND_REPEATS = (
    ("bit 6", flipped(0x40, 0.001), "bit 6 (0x40) is flipped in what differs"),
    ("two bits", flipped(0x21, 0.001), "bits 0, 5 (0x21) are flipped in what differs"),
    ("bit 5 stuck", stuck(0x20), "bit 5 (0x20) is stuck at 1 everywhere"),
    ("odd repeat even", from_columns(lambda i: i - i % 2), "odd columns repeat even ones everywhere"),
    ("even repeat odd", from_columns(lambda i: i | 1), "even columns repeat odd ones everywhere"),
    ("8 repeated", from_columns(lambda i: i - i // 8 % 2 * 8), "each second 8 columns repeat the 8 before everywhere"),
    ("8 twice", from_columns(lambda i: i // 16 * 8 + i % 8), "each 8 columns twice everywhere"),
)  # fmt: skip
OTHERS = (
    "rows are in wrong places: 0 holds the golden's {}, 1 holds the golden's {}, "
    "2 holds the golden's {} "
)
EVERYWHERE: dict[str, tuple[Fault, str]] = {
    "all zeroed": (codes(zero), "actual is 0 everywhere: was it ever written?"),
    "all rows moved": (codes(moved(1, 0)), "each row is the golden's row before it"),
    "one row everywhere": (codes(lambda a: a[5:6]), OTHERS.format(5, 5, 5) + "and 252 more"),
    "all columns moved": (codes(moved(3)), "actual is shifted right by 3 columns"),
    "all signs": (codes(negated), "the sign is flipped everywhere"),
}


def exactly(
    make: Callable[[], Device], name: str, fault: Fault, text: str, place: str = ""
) -> Kind:
    """Return a kind of which nothing but a text is said."""
    return Kind(make, name, fault, f"^{re.escape(text)}$", place)


def of_places(make: Callable[[], Device]) -> Iterator[Kind]:
    for name, (fault, place, text) in PLACES.items():
        yield exactly(make, name, fault, text.format(place), rf"in {place} \(")


def of_every(make: Callable[[], Device]) -> Iterator[Kind]:
    """Yield each fault; but no sign is known of bytes, which HiF8 without an operator is."""
    every = [*of_places(make), *(exactly(make, n, f, t) for n, (f, t) in EVERYWHERE.items())]
    yield from (kind for kind in every if make is not alone_hif8 or "sign" not in kind.name)


def of_factors(make: Callable[[], Device]) -> Iterator[Kind]:
    """Yield factors of numbers before rounding, which are those of their scales."""
    for factor in (0.98, 1.004):
        text = f"the scale of {{}} is wrong by {100 * (1 / factor - 1):+.2g} %: one factor gives its codes"
        yield exactly(make, f"factor {factor}", numbers(by(factor)), text.format("every row"))
        some, place = numbers(by(factor), ROWS), "rows 100 to 227"
        yield exactly(make, f"factor {factor} of rows", some, text.format(place), IN_ROWS)


ALL = [kind for make in (*BY_OPERATOR, *ALONE) for kind in of_every(make)]
DEAR = [
    kind
    for j, make in enumerate(BY_OPERATOR[1:])
    for i, kind in enumerate(kind for kind in ALL if kind.device is make)
    if i % 3 != j
]
"""Each of these is tried in int8 and in one other format."""
KINDS = (
    *(kind for kind in ALL if kind not in DEAR),
    *of_places(large),
    *(kind for make in BY_OPERATOR for kind in of_factors(make)),
    exactly(large, "all zeroed", *EVERYWHERE["all zeroed"]),
    exactly(large, "all signs", *EVERYWHERE["all signs"]),
    exactly(large, "all rows moved", codes(moved(1, 0)), "each row is the golden's row before it"),
    *(
        exactly(make, "axes swapped", axes_swapped, "the last two axes are swapped", "shape differs")
        for make in (int8, e4m3, hif8, two_int8, alone_e4m3, alone_hif8, two_batches, large)
    ),
    exactly(quantize_square, "axes swapped", axes_swapped, "the last two axes are swapped"),
    exactly(int8, "3 added", codes(plus(3)), "3 is added everywhere"),
    exactly(two_int8, "3 added", codes(plus(3)), "3 is added everywhere"),
    exactly(two_int8, "3 added in rows", codes(plus(3), ROWS), "3 is added in rows 100 to 227"),
    *(
        exactly(two_int8, f"factor {f}", numbers(by(f)), f"a factor of about {f:g} everywhere, before rounding")
        for f in (0.9, 1.05, 2)
    ),
    exactly(two_int8, "factor of rows", numbers(by(0.9), ROWS), "a factor of about 0.9 in rows 100 to 227, before rounding"),
    exactly(int8, "all scales", scales(by(1.01)), "a factor of 1.01 (+1 %) everywhere", r"\(scale, 256 of 256 scales\)"),
    exactly(two_scales, "all scales", codes(by(1.01)), "a factor of 1.01 (+1 %) everywhere"),
    exactly(int8, "scales of rows", scales(by(0.5), ROWS), "a factor of 0.5 (-50 %) in rows 100 to 227", r"scale: only in rows 100 to 227 \(128 of 128"),
    *(
        Kind(make, "another input's", lambda d, own=own: stale(np.s_[:])(own()), "^another input's result, or another order: cosine ")
        for make, own in ((int8, int8), (e4m3, e4m3), (two_int8, int8), (alone_e4m3, e4m3))
    ),
    exactly(int8, "cut off in rows", codes(lambda a: a.clip(-100, 90), ROWS), "values are cut off at -100 and 90 in rows 100 to 227"),
    *(
        exactly(make, name, codes(change), text)
        for make in (int8, two_int8)
        for name, change, text in BITS_AND_REPEATS
    ),
    exactly(two_float32, "bit 30", codes(flipped(1 << 30, 0.001)), "bit 30 (0x40000000) is flipped in what differs"),
    exactly(e4m3, "bit 4", codes(flipped(0x10, 0.001)), "bit 4 (0x10) is flipped in what differs"),
    exactly(int8, "a lane stuck", codes(stuck(0x40), np.s_[:, 5::16]), "bit 6 (0x40) is stuck at 1 in columns 5, 21, ... (every 16th)", "every 16th"),
    exactly(int8, "bits of rows", codes(flipped(0x10), ROWS), "bit 4 (0x10) is flipped in rows 100 to 227", IN_ROWS),
    exactly(int8, "a lane's own last", codes(moved(1), np.s_[:, 5::16]), "columns 5, 21, ... (every 16th) are shifted right by 16 columns", "every 16th"),
    exactly(int8, "odd rows", codes(lambda a: a[np.arange(256) // 2 * 2]), "in rows 1, 3, ... (every 2nd) each row is the golden's row before it"),
    exactly(int8, "rows twice", codes(lambda a: a[np.arange(256) // 2]), "each row is there 2 times: row i is the golden's row i // 2"),
    exactly(int8, "rows reversed", codes(lambda a: a[::-1]), "rows are in reverse order"),
    exactly(int8, "a row lost", codes(lambda a: a[np.r_[:40, 41:256, 255]]), "in rows 40 to 254 each row is the golden's row after it", "rows 40 to 254"),
    exactly(int8, "scales one row late", scales(moved(1, 0)), "actual is shifted down by 1 row"),
    exactly(int8, "scales 5 rows early", scales(moved(-5, 0)), "actual is shifted up by 5 rows"),
    exactly(int8, "scales reversed", scales(lambda a: a[::-1]), "rows are in reverse order everywhere"),
    exactly(int8, "odd scales", scales(lambda a: a[np.arange(256) // 2 * 2]), "odd rows repeat even ones everywhere"),
    Kind(int8, "rows and scales late", both(codes(moved(1, 0)), scales(moved(1, 0))), "golden's row before it|shifted down by 1 row", r"DIFFERENT: each row is the golden's row before it \(y"),
    exactly(two_float32, "cut off", codes(lambda a: a.clip(-1.5, 1.25)), "values are cut off at -1.5 and 1.25 everywhere"),
    exactly(two_float32, "negated", codes(negated), "the sign is flipped everywhere"),
    exactly(two_float32, "0.5 added", codes(lambda a: a + np.float32(0.5)), "0.5 is added everywhere"),
    exactly(two_float32, "factor", codes(by(3)), "a factor of 3 (+200 %) everywhere"),
    exactly(two_float32, "rows moved", codes(moved(2, 0)), "each row is the golden's row 2 before it"),
    exactly(two_float32, "columns moved", codes(moved(2)), "actual is shifted right by 2 columns"),
    exactly(two_float32, "axes swapped", axes_swapped, "the last two axes are swapped"),
)  # fmt: skip
