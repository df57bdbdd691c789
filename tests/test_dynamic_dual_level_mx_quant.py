"""npu_dynamic_dual_level_mx_quant by hand, by exact numbers, and beside npu_dynamic_mx_quant."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mx_loops
import numpy as np
import pytest
from cases.case import BFLOAT16, FLOAT16
from cases.dynamic_dual_level_mx_quant import ROUND_MODES, arguments, sprinkled
from mx_loops import FLOATS, rounded
from witnesses import Array, assert_same_bits

import npu_quant
from npu_quant import _codes, npu_dynamic_dual_level_mx_quant, npu_dynamic_mx_quant
from npu_quant.ops.dynamic_dual_level_mx_quant import reference

F32 = np.float32
NAN, INF = np.nan, np.inf
OF_DTYPES = pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16])


def of(row: list[float], dtype: Any = FLOAT16, **more: Any) -> tuple[Any, Any, Any]:
    """Quantize a row: what codes stand for, the float32 of groups, the bytes of blocks."""
    y, scale, b = npu_dynamic_dual_level_mx_quant(np.array(row, dtype), **more)
    return _codes.decode(y, "float4_e2m1").tolist(), scale.tolist(), b.ravel().tolist()


def patterns(scale: Array) -> list[str]:
    return [f"{int(word):08X}" for word in scale.view(np.uint32).ravel()]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand; the first is the document's."""

    def test_eights(self) -> None:
        """8 / 6, rounded, makes 6 of 8."""
        y, scale, b = npu_dynamic_dual_level_mx_quant(np.full((1, 512), 8, BFLOAT16))
        assert (y == 0x77).all()
        assert patterns(scale) == ["3FAAAAAB"]
        assert b.tolist() == [[[127, 127]] * 8]

    def test_two_levels(self) -> None:
        """Of 96, -40, 1.5 and 48 over 16: 6, -2.5, 3 / 32 and 3."""
        assert of([96, -40, 1.5, 48]) == ([6, -2, 0, 3], [16], [127, 0])

    def test_round_modes(self) -> None:
        row = [96, -40, -1.5, 48]
        assert of(row, round_mode="round") == ([6, -3, 0, 3], [16], [127, 0])
        assert of(row, round_mode="floor") == ([6, -3, -0.5, 3], [16], [127, 0])

    def test_blocks_have_bytes_of_their_own(self) -> None:
        """The second block is 1 / 4 of the first, the third is 0."""
        y, scale, b = of([96.0] * 32 + [24.0] * 32 + [0, -0.0])
        assert (y, scale, b) == ([6] * 64 + [0, -0.0], [16], [127, 125, 0, 0])
        assert math.copysign(1, y[-1]) == -1

    def test_groups_have_scales_of_their_own(self) -> None:
        y, scale, b = of([96.0] * 512 + [-6, 1])
        assert (y, scale, b) == ([6] * 512 + [-6, 1], [16, 1], [127] * 17 + [0])

    def test_what_is_divided_is_rounded_to_the_dtype(self) -> None:
        """7 / (17 / 6) is 2.4706; in bfloat16 2.46875, in float16 2.470703125: neither a tie.

        4.25 / (17 / 6) is 1.5, and 3.53125 / (17 / 6) is 1.2463, which is 1.25 of bfloat16, a tie.
        """
        row = [17, 7, 4.25, 3.53125]
        assert of(row, BFLOAT16)[0] == [6, 2, 1.5, 1]
        assert of([17, 3.5625], BFLOAT16, round_mode="round")[0] == [6, 1.5]
        assert of([17, 3.5390625], FLOAT16, round_mode="round")[0] == [6, 1]

    def test_group_all_zero(self) -> None:
        y, scale, b = of([0, -0.0])
        assert (y, scale, b) == ([0, 0], [0], [0, 0])
        assert [math.copysign(1, v) for v in y] == [1, -1]

    def test_nan(self) -> None:
        row = np.full(1026, -6, FLOAT16)
        row[700] = NAN
        y, scale, b = npu_dynamic_dual_level_mx_quant(row)
        assert patterns(scale) == ["3F800000", "7FC00000", "3F800000"]
        assert b.ravel().tolist() == [127] * 16 + [255] * 16 + [127, 0]
        assert (y[:256] == 0xFF).all()
        assert not y[256:512].any()

    def test_infinity(self) -> None:
        """Finite ones over infinity are zeros."""
        row = np.full(64, -6, FLOAT16)
        row[40] = -INF
        y, scale, b = npu_dynamic_dual_level_mx_quant(row)
        assert (scale.tolist(), b.tolist()) == ([INF], [[0, 255]])
        assert (y[:16] == 0x88).all()
        assert not y[16:].any()

    def test_subnormal_numbers(self) -> None:
        """2^-133 / 6, of bfloat16's least, is 2.67 * 2^-136: 2^-149 makes 10923 of it."""
        y, scale, b = of([2.0**-133, -(2.0**-133)], BFLOAT16)
        assert (y, b) == ([6, -6], [127, 0])
        assert scale == [10923 * 2.0**-149]

    def test_no_elements(self) -> None:
        for shape in ((2, 0), (0, 4)):
            y, scale, b = npu_dynamic_dual_level_mx_quant(np.ones(shape, FLOAT16))
            n = -(-shape[1] // 512)
            assert (y.shape, scale.shape, b.shape) == (
                (shape[0], shape[1] // 2),
                (shape[0], n),
                (shape[0], n, 2),
            )


def exact(row: Array, mode: str) -> tuple[list[int], list[float], list[int]]:
    """Quantize a row in exact numbers."""
    codes, scales, found = [], [], []
    for first in range(0, len(row), 512):
        group = [float(v) for v in row[first : first + 512]]
        amax = max((abs(v) for v in group), key=lambda a: INF if math.isnan(a) else a)
        amax = NAN if any(map(math.isnan, group)) else amax
        scale = amax if not math.isfinite(amax) else rounded(Fraction(amax) / 6, False, "float32")
        scales.append(scale)
        t = [divided(v, scale, row.dtype.name) for v in group]
        for block in range(0, len(t), 32):
            b, own = mx_loops.block_of(t[block : block + 32], "float4_e2m1", mode, 0)
            codes += own
            found.append(b)
    return codes, scales, found


def divided(v: float, scale: float, dtype: str) -> float:
    """Divide in float32, and round to a dtype."""
    if scale == 0:
        return v
    if math.isnan(scale) or not math.isfinite(v):
        return NAN
    if math.isinf(scale):
        return math.copysign(0, v)
    is_negative = math.copysign(1, v) < 0
    quotient = rounded(Fraction(v) / Fraction(scale), is_negative, "float32")
    assert FLOATS[dtype].top > abs(quotient)
    return rounded(Fraction(quotient), is_negative, dtype)


@OF_DTYPES
@pytest.mark.parametrize("mode", ROUND_MODES)
def test_reference_against_exact_numbers(rng: np.random.Generator, dtype: Any, mode: str) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    for a in (arguments(rng, (3, 1100), dtype, mode), arguments(rng, (2, 70), dtype, mode)):
        for given in (a, sprinkled(rng, a)):
            y, scale, b = reference(**given)
            for row in range(len(y)):
                codes, scales, found = exact(given["input"][row], mode)
                assert _codes.unpacked(y[row]).tolist() == codes
                np.testing.assert_array_equal(scale[row], np.array(scales, F32))
                assert b[row].ravel()[: len(found)].tolist() == found


@OF_DTYPES
@pytest.mark.usefixtures("target")
def test_codes_of_npu_dynamic_mx_quant(rng: np.random.Generator, dtype: Any) -> None:
    """Where groups are divided by 1, it is that operator."""
    x = rng.uniform(-6, 6, (7, 1024)).astype(dtype)
    x[:, ::512] = 6
    y, scale, b = npu_dynamic_dual_level_mx_quant(x)
    assert (scale == 1).all()
    assert_same_bits((y, b), npu_dynamic_mx_quant(x))


@OF_DTYPES
def test_the_way_back(rng: np.random.Generator, dtype: Any) -> None:
    """Within a step, of 1 / 3 at most, of what blocks end at."""
    x = rng.standard_normal((7, 1000)).astype(dtype)
    y, scale, b = npu_dynamic_dual_level_mx_quant(x)
    codes = npu_quant.npu_anti_mx_quant(y, b, dst_type="float32", src_type="float4_e2m1")
    back = codes * np.repeat(scale, 512, axis=-1)[:, :1000]
    blocks = np.abs(np.pad(x.astype(F32), ((0, 0), (0, 24)))).reshape(7, 32, 32).max(axis=-1)
    assert (np.abs(back - x) <= np.repeat(blocks, 32, axis=-1)[:, :1000] / 3).all()
