"""npu_dual_level_quant_matmul by hand: every special row of its page, every step's rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.dual_level_quant_matmul import arguments

from npu_quant import npu_dual_level_quant_matmul
from npu_quant.formats import decode
from npu_quant.ops.dual_level_quant_matmul import reference

F32, BF16 = np.float32, ml_dtypes.bfloat16
INF, NAN = np.inf, np.nan
# Codes of float4_e2m1.
ZERO, ONE, TWO, SIX, MINUS_ONE = 0, 2, 4, 7, 10


def product(
    x1: Any,
    x2: Any,
    powers: tuple[Any, Any] = (127, 127),
    upper: tuple[Any, Any] = (1, 1),
    bias: Any = None,
    *,
    to: Any = BF16,
) -> float:
    """Return the product of two rows of codes; powers and upper scales are those of both."""
    codes = [np.array([row], np.uint8) for row in (x1, x2)]
    k = codes[0].shape[1]
    a, b = (row[:, ::2] | row[:, 1::2] << 4 for row in codes)
    blocks, levels = -(-k // 64) * 2, -(-k // 512)
    lower = [np.resize(np.array(p, np.uint8), blocks).reshape(1, -1, 2) for p in powers]
    rows, columns = (np.resize(np.array(s, F32), levels) for s in upper)
    given = None if bias is None else F32([bias])
    y = npu_dual_level_quant_matmul(
        a, b, rows[None], columns[:, None], *lower, bias=given, output_dtype=to
    )
    assert (y.shape, y.dtype) == ((1, 1), to)
    return float(y[0, 0])


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 25."""

    def test_codes_powers_and_scales(self) -> None:
        """(6 * 6 - 1) * 2 * .5 * 3 * 10 + .5, a tie of float16."""
        assert product([SIX, ONE], [SIX, MINUS_ONE], (128, 126), (3, 10), 0.5, to=BF16) == 1048
        y = product([SIX, ONE], [SIX, MINUS_ONE], (128, 126), (3, 10), 0.5, to=np.float16)
        assert y == 1050

    def test_rows_and_columns(self) -> None:
        x = np.array([[ONE, 0], [TWO, 0], [SIX, 0]], np.uint8)
        lower = np.full((3, 1, 2), 127, np.uint8)
        y = npu_dual_level_quant_matmul(
            x[:, :1], x[:2, :1], F32([[1], [1], [10]]), F32([[1, 100]]), lower, lower[:2]
        )
        assert y.tolist() == [[1, 200], [2, 400], [60, 12032]]  # 12000 in bfloat16

    def test_a_group_is_added_after_its_scales(self) -> None:
        """512 ones by themselves, 512 of another group by 2 and 3."""
        assert product([ONE] * 1024, [ONE] * 1024, upper=([1, 2], [1, 3])) == 512 * 7

    def test_the_scale_of_x1_is_first(self) -> None:
        """2**-100 * 2**-75 is below float32, and comes after 2**127."""
        assert product([ONE, 0], [ONE, 0], (127, 127), (2.0**-120, 2.0**-60)) == 0
        assert product([ONE, 0], [ONE, 0], (187, 187), (2.0**-120, 2.0**-60)) == 2.0**-60

    def test_blocks_are_added_one_after_the_other(self) -> None:
        """2**24, and 1, which float32 loses, twice; the other way round they are 2."""
        powers = [139, 127, 127, 127], [139, 127, 127, 127]
        row = [ONE, 0] * 16 + ([ONE] + [0] * 31) * 3
        row[2:32] = [0] * 30
        assert product(row, row, powers, bias=-(2.0**24)) == 0
        assert product(row, row, (powers[0][::-1], powers[1][::-1]), bias=-(2.0**24)) == 4

    def test_a_power_counts_in_full(self) -> None:
        """2**-254 * 2**254, and 2**127 * 2**127 times an upper scale of 0."""
        assert product([ONE, 0], [ONE, 0], (0, 254)) == 1
        assert product([SIX, 0], [SIX, 0], (254, 254)) == INF
        assert product([MINUS_ONE, 0], [SIX, 0], (254, 254)) == -INF
        assert product([ONE, 0], [ONE, 0], (0, 0)) == 0

    def test_a_byte_of_255_is_nan(self) -> None:
        assert np.isnan(product([ZERO, 0], [ZERO, 0], (255, 127)))
        assert np.isnan(product([ONE, 0], [ONE, 0], (127, 255)))

    def test_a_byte_of_no_block_does_not_count(self) -> None:
        assert product([ONE] * 32, [ONE] * 32, ([127, 255], [127, 255])) == 32

    def test_beyond_the_range(self) -> None:
        assert product([SIX, 0], [SIX, 0], (138, 138), to=np.float16) == INF
        assert product([MINUS_ONE, 0], [SIX, 0], (141, 141), to=np.float16) == -INF

    def test_infinite_and_nan(self) -> None:
        assert product([ONE, 0], [MINUS_ONE, 0], upper=(INF, 1)) == -INF
        assert np.isnan(product([ZERO, 0], [ONE, 0], upper=(1, INF)))
        assert np.isnan(product([ONE, 0], [ONE, 0], upper=(NAN, 1)))
        assert np.isnan(product([ONE, 0], [ONE, 0], bias=NAN))

    @pytest.mark.parametrize("k", [2, 30, 34, 514, 1000])
    def test_the_last_block_may_be_shorter(self, k: int) -> None:
        assert product([ONE] * k, [TWO] * k, to=np.float16) == 2 * k

    def test_no_k(self) -> None:
        assert product([], []) == 0
        assert product([], [], bias=-3) == -3

    def test_no_rows(self) -> None:
        x, lower = np.zeros((3, 4), np.uint8), np.zeros((3, 1, 2), np.uint8)
        for m, n in ((0, 3), (3, 0)):
            y = npu_dual_level_quant_matmul(
                x[:m], x[:n], np.ones((m, 1), F32), np.ones((1, n), F32), lower[:m], lower[:n]
            )
            assert y.shape == (m, n)


def test_reference_against_fractions(rng: np.random.Generator) -> None:
    """The reference itself, against exact sums of the blocks that share nothing with it."""
    a = arguments(rng, (3, 270), columns=4)
    y = reference(**a)
    x1, x2 = (decode(a[name], "float4_e2m1") for name in ("x1", "x2"))
    for m in range(3):
        for n in range(4):
            v = F32(0)
            for first in range(0, 540, 512):
                p = F32(0)
                for k in range(first, min(first + 512, 540), 32):
                    products = zip(
                        x1[m, k : k + 32].tolist(), x2[n, k : k + 32].tolist(), strict=True
                    )
                    total = sum((Fraction(f) * Fraction(g) for f, g in products), Fraction())
                    b1, b2 = (
                        int(a[name].reshape(len(x), -1)[row, k // 32])
                        for name, x, row in (("x1_level1_scale", x1, m), ("x2_level1_scale", x2, n))
                    )
                    p += F32(float(total * Fraction(2) ** (b1 + b2 - 254)))
                j = first // 512
                v += p * a["x1_level0_scale"][m, j] * a["x2_level0_scale"][j, n]
            assert y[m, n] == (v + a["bias"][n]).astype(y.dtype)
