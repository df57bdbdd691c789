"""npu_trans_quant_param by hand: every special row of its page, and each bit on its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from witnesses import Array

from npu_quant import npu_trans_quant_param
from npu_quant.golden import compare
from npu_quant.ops.trans_quant_param import reference

F32 = np.float32
BIT_46 = 0x400000000000


def param(scale: Any, offset: Any = None, round_mode: int = 0) -> list[int]:
    """Return the results for lists of numbers."""
    given = None if offset is None else np.array(offset, F32)
    y = npu_trans_quant_param(np.array(scale, F32), given, round_mode)
    assert y.dtype == np.int64
    return y.tolist()


def of_bits(*bits: int, round_mode: int) -> list[int]:
    """Return the low 32 bits of the results for patterns of float32."""
    y = npu_trans_quant_param(np.array(bits, np.uint32).view(F32), None, round_mode)
    assert (y >> 32 == BIT_46 >> 32).all()
    return (y & 0xFFFFFFFF).tolist()


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 16."""

    def test_the_example(self) -> None:
        assert param([1.1, -0.3]) == [0x40003F8CC000, 0x4000BE998000]
        assert param([1.1, -0.3], round_mode=1) == [0x40003F8CC000, 0x4000BE99A000]
        assert param([1.1], [-3.5]) == [0x7F803F8CC000]  # -4, the even one, is 0x1FC

    def test_ties_of_the_scale_go_to_even(self) -> None:
        tied = 0x3F801000, 0x3F803000, 0x3F801001, 0x3F802FFF
        assert of_bits(*tied, round_mode=1) == [0x3F800000, 0x3F804000, 0x3F802000, 0x3F802000]
        assert of_bits(*tied, round_mode=0) == [0x3F800000, 0x3F802000, 0x3F800000, 0x3F802000]

    def test_the_sign_is_bit_31(self) -> None:
        assert param([-1.0, -0.0]) == [0x4000BF800000, 0x400080000000]
        assert param([-1.0, -0.0], round_mode=1) == [0x4000BF800000, 0x400080000000]

    def test_subnormal_scales(self) -> None:
        assert param([1e-40], round_mode=1) == [BIT_46]
        assert of_bits(0x007FFFFF, 0x807FFFFF, 1, round_mode=1) == [0, 0x80000000, 0]
        assert of_bits(0x007FFFFF, 0x807FFFFF, 1, round_mode=0) == [0x007FE000, 0x807FE000, 0]

    def test_a_carry_raises_the_exponent(self) -> None:
        assert of_bits(0x3FFFFFFF, 0x007FF000, round_mode=1) == [0x40000000, 0]
        assert of_bits(0x7F7FFFFF, 0xFF7FF000, round_mode=1) == [0x7F800000, 0xFF800000]

    def test_infinite_scales(self) -> None:
        for mode in (0, 1):
            assert of_bits(0x7F800000, 0xFF800000, round_mode=mode) == [0x7F800000, 0xFF800000]

    def test_nan_in_scale(self) -> None:
        nan = 0x7FC00001, 0xFFFFFFFF, 0x7F800001, 0x7F803000
        for mode in (0, 1):
            kept = of_bits(*nan, round_mode=mode)
            assert kept == [0x7FC00000, 0xFFFFE000, 0x7F800000, 0x7F802000]

    def test_the_ends_of_offset(self) -> None:
        offsets = [255, 255.5, 1e9, np.inf, -256, -257, -1e9, -np.inf]
        high = [y >> 37 & 0x1FF for y in param([1.0] * 8, offsets)]
        assert high == [0xFF] * 4 + [0x100] * 4

    def test_ties_of_offset_go_to_even(self) -> None:
        offsets = [0.5, 1.5, 2.5, -0.5, -1.5, 254.5, -255.5]
        high = [y >> 37 & 0x1FF for y in param([1.0] * 7, offsets)]
        assert high == [0, 2, 2, 0, 0x1FE, 254, 0x100]

    def test_nan_in_offset(self) -> None:
        assert param([1.1, 1.1], [np.nan, -np.nan]) == [0x40003F8CC000] * 2

    def test_one_scale_takes_the_length_of_offset(self) -> None:
        assert param([1.0], [1, 2, 3]) == [BIT_46 + (n << 37) + 0x3F800000 for n in (1, 2, 3)]
        assert param([1.0, 2.0], [1]) == [BIT_46 + (1 << 37) + f for f in (0x3F800000, 0x40000000)]
        assert param([[1.0, 2.0]], [1, 2])[0][1] == BIT_46 + (2 << 37) + 0x40000000
        assert param([1.0, 2.0], [[1, 2]])[1] == BIT_46 + (2 << 37) + 0x40000000

    def test_empty(self) -> None:
        assert param([]) == param([1.0], []) == []
        assert npu_trans_quant_param(np.zeros((3, 0), F32)).shape == (3, 0)


def by_bits(scale: int, offset: float | None, round_mode: int) -> int:
    """Return the result of one pattern, by integers alone: the carry out of 13 bits by division."""
    sign, field, mantissa = scale >> 31, scale >> 23 & 255, scale & 0x7FFFFF
    whole, rest = divmod(field << 23 | mantissa, 8192)
    if round_mode == 1 and field == 0:
        whole = 0
    elif round_mode == 1 and field < 255:
        whole += rest > 4096 or (rest == 4096 and whole % 2 == 1)
    own = 0 if offset is None or offset != offset else round(max(-256, min(255, offset)))
    return sign * 2**31 + whole * 8192 + own % 512 * 2**37 + 2**46


@pytest.mark.parametrize("round_mode", [0, 1])
def test_every_upper_half_and_every_edge_of_the_lower(round_mode: int) -> None:
    """Each sign, exponent and kept bit, with what decides a rounding; operator and formula."""
    lower = np.array(
        [0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF, 0x2000, 0x3000, 0x7000, 0xF001], np.uint32
    )
    bits: Array = (np.arange(0, 1 << 16, dtype=np.uint32)[:, None] << 16) + lower
    scale = bits.view(F32)
    y = npu_trans_quant_param(scale, None, round_mode)
    assert np.array_equal(y, reference(scale, None, round_mode))
    for at in range(0, bits.size, 97):
        assert y.flat[at] == by_bits(int(bits.flat[at]), None, round_mode)


def test_the_formula_against_integers(rng: np.random.Generator) -> None:
    bits = rng.integers(0, 1 << 32, 2000, np.uint32)
    offset = (rng.standard_normal(2000) * 200).astype(F32)
    offset[::2] = np.rint(offset[::2]) + F32(0.5)
    for mode in (0, 1):
        expected = [by_bits(int(b), float(o), mode) for b, o in zip(bits, offset, strict=True)]
        assert reference(bits.view(F32), offset, mode).tolist() == expected
        assert npu_trans_quant_param(bits.view(F32), offset, mode).tolist() == expected


def test_what_the_words_hold(rng: np.random.Generator) -> None:
    """The low half is a float near the scale, bits 37 to 45 the offset; all else is bit 46."""
    scale = np.exp2(rng.uniform(-126, 127, 5000)).astype(F32) * rng.choice([-1, 1], 5000).astype(
        F32
    )
    offset = rng.integers(-256, 256, 5000).astype(F32)
    for mode, most in ((0, 2.0**-10), (1, 2.0**-11)):
        y = npu_trans_quant_param(scale, offset, mode)
        held = (y & 0xFFFFFFFF).astype(np.uint32).view(F32)
        assert (np.abs(held.astype(float) - scale) <= most * np.abs(scale)).all()
        assert ((((y >> 37 & 0x1FF) ^ 0x100) - 0x100) == offset).all()
        assert (y & ~np.int64(0x3FE0FFFFE000) == BIT_46).all()


def test_words_are_compared_bit_by_bit(rng: np.random.Generator) -> None:
    """Nothing is rounded: a scale that is one off in 19 bits is different, and named."""
    scale = F32(rng.uniform(0.001, 3, 300))
    asked: dict[str, Any] = {"op": "npu_trans_quant_param", "inputs": {"scale": scale}}
    y = npu_trans_quant_param(scale)
    assert compare(y.copy(), **asked).rung == "identical"
    comparison = compare(npu_trans_quant_param(scale, None, 1), **asked)
    assert (comparison.passed, comparison.variants[0].name) == (False, "scale rounded")
    for bit in (13, 37, 46, 0):
        wrong = y.copy()
        wrong[7] ^= np.int64(1) << bit
        comparison = compare(wrong, **asked)
        assert comparison.rung == "different"
        assert (comparison.decisive.metrics.mismatches, comparison.where.first) == (1, 7)
