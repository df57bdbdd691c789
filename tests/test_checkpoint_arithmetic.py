"""The arithmetic that checkpoints are judged by: vectors by hand, and exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from checkpoints import arithmetic
from checkpoints.models import numbers
from checkpoints.tensor_files import BFLOAT16, FLOAT8, Array

# Of a dtype: digits of its significand, exponent of its least subnormal.
FORMATS = {
    np.dtype(np.float32): (24, -149),
    BFLOAT16: (8, -133),
    np.dtype(np.float16): (11, -24),
    FLOAT8: (4, -9),
}
HALF = np.dtype(np.float16)
SINGLE = np.dtype(np.float32)


def floats(*rows: list[float]) -> Array:
    return np.array(rows, np.float32)


def nearest(x: Fraction, dtype: Any) -> Fraction:
    """Return the nearest number of a dtype, of two the even one; none is too large."""
    digits, least = FORMATS[np.dtype(dtype)]
    e = max(least, x.numerator.bit_length() - x.denominator.bit_length() - digits)
    while abs(x) >= Fraction(2) ** (e + digits):
        e += 1
    step = Fraction(2) ** e
    return round(x / step) * step


def exact(a: Array) -> list[list[Fraction]]:
    return [[Fraction(float(v)) for v in row] for row in a]


class TestInt8:
    def test_by_hand(self) -> None:
        """3 / 127 is 193.5118 / 8192: 194 / 8192 in bfloat16, 1548 / 65536 in float16."""
        w = floats([3, -1.5, 0.5], [0, -0.0, 0])
        q, s = arithmetic.int8(w, BFLOAT16)
        assert s.tolist() == [[194 / 8192], [1]]
        assert q.tolist() == [[127, -63, 21], [0, 0, 0]]
        q, s = arithmetic.int8(w, HALF)
        assert s.tolist() == [[1548 / 65536], [1]]
        assert q.tolist() == [[127, -64, 21], [0, 0, 0]]
        assert (q.dtype, s.dtype) == (np.int8, np.float32)

    def test_a_scale_that_would_be_zero(self) -> None:
        least = 2.0**-133
        q, s = arithmetic.int8(floats([least, -least, 0]), BFLOAT16)
        assert s.tolist() == [[least]]
        assert q.tolist() == [[1, -1, 0]]

    def test_a_scale_that_is_rounded_down_far_is_clipped(self) -> None:
        """190 / 127 of the least number is 1.496: 1, and 190 is more than a code holds."""
        least = 2.0**-133
        q, s = arithmetic.int8(floats([190 * least, -190 * least]), BFLOAT16)
        assert s.tolist() == [[least]]
        assert q.tolist() == [[127, -127]]


class TestInt4:
    def test_by_hand(self) -> None:
        w = floats([7, -3.5, 2.5, 1.5], [0, 0, 0, 0])
        q, s = arithmetic.int4(w, SINGLE)
        assert s.tolist() == [[1], [1]]
        assert q.tolist() == [[7, -4, 2, 2], [0, 0, 0, 0]]

    def test_its_scale_is_rounded_where_the_format_says_so(self) -> None:
        """3 / 7 is 219.43 / 512."""
        assert arithmetic.int4(floats([3, 1]), BFLOAT16)[1].tolist() == [[219 / 512]]
        assert arithmetic.int4(floats([3, 1]), SINGLE)[1].tolist() == [[np.float32(3 / 7)]]

    def test_an_even_row_is_in_the_low_half_of_a_byte(self) -> None:
        q = np.array([[1, -2], [-3, 7]], np.int8)
        packed = arithmetic.nibbles(q)
        assert packed.dtype == np.int8
        assert packed.view(np.uint8).tolist() == [[0xD1, 0x7E]]
        assert arithmetic.halves(packed).tolist() == q.tolist()

    def test_the_bias_of_scales(self) -> None:
        q = np.array([[1, -2, 3, 4], [-7, 7, 0, 0]], np.int8)
        s = floats([0.5], [2])
        assert arithmetic.scale_bias(q, s, 1).tolist() == [[24], [0]]
        assert arithmetic.scale_bias(q, s, 2).tolist() == [[-4, 28], [0, 0]]


class TestMx:
    @pytest.mark.parametrize(
        ("amax", "rule", "scale", "code"),
        [
            (1.75, "up", 119, 0x7E),  # 448
            (float(np.nextafter(np.float32(1.75), 2, dtype=np.float32)), "up", 120, 0x76),  # 224
            (float(np.nextafter(np.float32(1.75), 2, dtype=np.float32)), "floor", 119, 0x7E),
            (1.99, "floor", 119, 0x7E),
            (1.0, "up", 119, 0x78),  # 256
            (-2.0, "up", 120, 0xF8),
            (0.0, "up", 127, 0x00),
            (-0.0, "floor", 127, 0x80),
            (2.0**-149, "up", 0, 0x00),
            (2.0**-120, "up", 0, 0x70),  # the scale is 2^-127, the code 2^7
            (3.3e38, "up", 247, 0x78),  # 248.3 * 2^120, between 240 and 256
        ],
    )
    def test_a_block(self, amax: float, rule: str, scale: int, code: int) -> None:
        w = np.zeros((1, 32), np.float32)
        w[0, 5] = amax
        q, s = arithmetic.mxfp8(w, rule)
        assert s.tolist() == [[scale]]
        assert q.view(np.uint8)[0, 5] == code

    def test_ties_go_to_even_and_the_last_block_is_short(self) -> None:
        w = np.zeros((2, 34), np.float32)
        w[0, :4] = [1, 17 / 256, 19 / 256, -0.0]
        w[1, 33] = 4
        q, s = arithmetic.mxfp8(w, "up")
        assert q.shape == (2, 34)
        assert q[0, :4].tolist() == [256, 16, 20, 0]
        assert q.view(np.uint8)[0, 3] == 0x80
        assert s.tolist() == [[119, 127], [127, 121]]


@pytest.fixture(scope="module", params=["bfloat16", "float16", "float32"])
def weight(request: pytest.FixtureRequest) -> Array:
    dtype = np.dtype(request.param)
    made = numbers(np.random.default_rng(5), "x", (12, 80), dtype)
    made[5, :4] = [ml_dtypes.finfo(dtype).smallest_normal, 0.5, 100, -60]
    return arithmetic.widened(made)


@pytest.mark.parametrize("p", [BFLOAT16, HALF], ids=str)
@pytest.mark.parametrize("most", [127, 7])
def test_integers_are_the_nearest_of_exact_fractions(weight: Array, p: Any, most: int) -> None:
    q, s = (arithmetic.int8 if most == 127 else arithmetic.int4)(weight, p)
    for row, codes, scale in zip(exact(weight), q.tolist(), s[:, 0].tolist(), strict=True):
        amax = max(map(abs, row))
        least = Fraction(2) ** FORMATS[p][1]
        expected = nearest(nearest(amax / most, SINGLE), p) or (least if amax else Fraction(1))
        assert Fraction(scale) == expected
        found = [round(nearest(w / expected, SINGLE)) for w in row]
        assert codes == [min(max(code, -most), most) for code in found]


@pytest.mark.parametrize("rule", ["up", "floor"])
def test_mx_is_the_nearest_of_exact_fractions(weight: Array, rule: str) -> None:
    """Up: the least power with amax <= 448 * 2^E. Floor: the greatest with 2^8 * 2^E <= amax."""
    q, s = arithmetic.mxfp8(weight, rule)
    ends = [*range(0, weight.shape[1], 32), weight.shape[1]]
    for row, codes, scale in zip(exact(weight), q.astype(float).tolist(), s.tolist(), strict=True):
        assert len(scale) == ceil(len(row) / 32)
        for (begin, end), u in zip(pairwise(ends), scale, strict=True):
            block = row[begin:end]
            amax = max(map(abs, block))
            power = 0 if amax == 0 else -127
            while amax > 448 * Fraction(2) ** power and rule == "up":
                power += 1
            while amax >= 512 * Fraction(2) ** power and rule == "floor":
                power += 1
            assert u == power + 127
            found = [nearest(w / Fraction(2) ** power, FLOAT8) for w in block]
            assert codes[begin:end] == [min(max(c, -448), 448) for c in found]


def test_the_bias_of_scales_is_rounded_once(rng: np.random.Generator) -> None:
    q, s = arithmetic.int4(rng.standard_normal((8, 48), np.float32), SINGLE)
    for runs in (1, 16):
        for row, scale, bias in zip(
            q.tolist(), s[:, 0], arithmetic.scale_bias(q, s, runs), strict=True
        ):
            k = len(row) // runs
            sums = [8 * sum(row[i * k : i * k + k]) for i in range(runs)]
            expected = [nearest(t * Fraction(float(scale)), SINGLE) for t in sums]
            assert bias.tolist() == expected
