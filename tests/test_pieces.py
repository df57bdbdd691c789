"""Every operator where its loops change: short rows, the ends of pieces, rows that share cache lines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from cases import every_kind
from cases.case import Arguments, Case, check, settings
from exhaustive import every
from witnesses import Array, columns, padded

import npu_quant

# Around the lanes of a vector and a tile, on each target; rows that several pieces share.
SHORT = [(1100 // n + 3, n) for n in (1, 2, 3, 5, 16, 31, 32, 33, 63)]
# Around a piece of rows together and of one row; and around the buffers of 32 KiB.
ENDS = [(9, n) for n in (511, 512, 513, 575, 577, 2047, 2048, 2049, 2111, 2113)]
ENDS += [(2, n) for n in (8191, 8193, 16385)]
# Rows of which 64 bytes go together: a part of them, all, and a part at the end.
TRANSPOSED = [(70, 131), (64, 64), (129, 700)]
# Strips of 256 bytes across and, where a row need not be seen at once, of 4096 elements.
TRANSPOSED += [(259, 70), (66, 4161)]


MANY = 12_000  # elements


def every_other(value: Array) -> Array:
    memory = np.zeros([2 * n + 1 for n in value.shape], value.dtype)
    view = memory[tuple(slice(1, None, 2) for _ in value.shape)]
    view[...] = value
    return view


LAYOUTS = {
    "rows": np.copy,
    "padded rows": padded,
    "every other": every_other,
    "columns": lambda value: columns(value, 0),
    "columns within a line": lambda value: columns(value, 24),
    "unaligned columns": lambda value: columns(value, 1),
    "columns backwards": lambda value: columns(value, 40, -1),
}


def check_layouts(case: Case, a: Arguments, given: Sequence[str], wanted: Sequence[str]) -> None:
    """Compare results for arguments in each layout; other results lie as the next layouts say.

    Of large arrays `make test` tries a layout of the arguments with some of the results' only.
    """
    expected = case.expected(a)
    size = a[case.rows[0]].size
    apart = every(len(given)) if size > MANY else 1
    laid_out = {way: a | {name: LAYOUTS[way](a[name]) for name in case.rows} for way in given}
    for i, way in enumerate(wanted):
        ways = [way, *(wanted[(i + 1 + nth) % len(wanted)] for nth in range(len(expected) - 1))]
        of_axes = [
            LAYOUTS[w] if np.ndim(e) else np.copy for w, e in zip(ways, expected, strict=True)
        ]
        out = tuple(lay(e) for lay, e in zip(of_axes, expected, strict=True))
        for of_rows, b in list(laid_out.items())[(i + size) % apart :: apart]:
            if all(map(case.takes, (*out, *(b[name] for name in case.rows)))):
                check(case, b, expected, out, f"{of_rows} to {', '.join(ways)}")


@every_kind
def test_short_rows(case: Case, kind: Arguments, rng: np.random.Generator) -> None:
    for setting in settings(*SHORT, **case.guards):
        a = case.tried(rng, setting, **kind)[-1]
        expected = case.expected(a)
        check(case, a, expected)
        check_layouts(case, a, ["padded rows", "every other", "columns"], list(LAYOUTS)[:4])
        for chosen in itertools.product((True, False), repeat=len(expected)):
            if any(chosen) and not case.in_c and case.fields:
                out = tuple(
                    np.copy(e) if c else None for c, e in zip(chosen, expected, strict=True)
                )
                check(case, a, expected, out, f"{chosen}")


@every_kind
def test_ends_of_pieces(case: Case, kind: Arguments, rng: np.random.Generator) -> None:
    ends = [(rows, n) for rows, n in ENDS if n <= case.most_columns]
    for setting in settings(*ends, **case.guards):
        a = case.tried(rng, setting, **kind)[-1]
        check_layouts(case, a, ["rows", "every other"], ["rows", "every other"])


@every_kind
def test_rows_that_share_lines(case: Case, kind: Arguments, rng: np.random.Generator) -> None:
    for setting in settings(*TRANSPOSED, **case.guards):
        a = case.tried(rng, setting, **kind)[-1]
        check_layouts(case, a, ["rows", "columns", "columns backwards"], list(LAYOUTS))


def test_strips_of_less_than_a_line(rng: np.random.Generator) -> None:
    """Rows so long that 16 MiB hold two of them."""
    x = rng.standard_normal((5, 6 << 20), np.float32).astype(np.float16)
    expected = npu_quant.npu_dynamic_quant(x)
    out = (columns(np.zeros_like(expected.y), 24), np.zeros_like(expected.scale))
    npu_quant.npu_dynamic_quant(x, out=out)
    for array, wanted in zip(out, expected, strict=True):
        np.testing.assert_array_equal(array, wanted)
