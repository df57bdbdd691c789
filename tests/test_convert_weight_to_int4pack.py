"""npu_convert_weight_to_int4pack by hand: every special row of its page, every pattern, the way back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from witnesses import Array

from npu_quant import formats, npu_convert_weight_to_int4pack
from npu_quant.golden import compare
from npu_quant.ops.convert_weight_to_int4pack import reference

F32 = np.float32
E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]


def codes(weight: Any, dtype: Any = F32) -> str:
    """Return the codes of one row as digits, the first one first."""
    row = np.array(weight, dtype)
    row = np.concatenate((row, np.zeros(-len(row) % 8, dtype)))
    y = npu_convert_weight_to_int4pack(row[None])
    assert y.dtype == dtype
    return "".join(f"{word:08x}"[::-1] for word in y.view(np.uint32)[0])[: len(weight)]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 16."""

    def test_the_example(self) -> None:
        y = npu_convert_weight_to_int4pack(np.arange(-8, 8, dtype=np.int32).reshape(2, 8))
        assert y.view(np.uint32).tolist() == [[0xFEDCBA98], [0x76543210]]
        y = npu_convert_weight_to_int4pack(F32([[0, 0.5, 1, 1.5, 2, 3, -4, -6]]))
        assert y.view(np.uint32).tolist() == [[0xFE543210]]

    def test_every_number_of_float4(self) -> None:
        assert codes(E2M1) == "0123456789abcdef"

    def test_int32_beyond_the_range(self) -> None:
        beyond = [8, 15, 16, -9, 1000, 2**31 - 1, -(2**31), -(2**31) + 5]
        assert codes(beyond, np.int32) == "8f078f05"

    def test_minus_zero(self) -> None:
        assert codes([-0.0, 0.0]) == "80"

    def test_between_the_numbers(self) -> None:
        assert codes([1.1, 1.4999, 7.99, -7.5, 0.7, -1.75]) == "227f1b"
        assert codes([0.75, 0.49, 8, 0.25, -8, -0.3, 1e9, -1e-9]) == "00000000"

    def test_not_finite(self) -> None:
        assert codes([np.inf, -np.inf, np.nan, -np.nan]) == "0000"
        every = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(F32)
        assert codes(every) == "00"

    def test_subnormals(self) -> None:
        assert codes([1e-45, -1e-45, 2**-128, -(2**-128), 2**-127, -(2**-127)]) == "080800"

    def test_inner_k_tiles_has_no_effect(self) -> None:
        weight = np.arange(-8, 8, dtype=np.int32).reshape(1, 2, 8)
        for tiles in (0, 1, -5, 2**40):
            y = npu_convert_weight_to_int4pack(weight, tiles)
            assert y.view(np.uint32).tolist() == [[[0xFEDCBA98], [0x76543210]]]


def test_every_first_half_of_a_float() -> None:
    """The last 22 bits do not count; a number of ml_dtypes has the code that it has there."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    exact = {int(F32(v).view(np.uint32)): code for code, v in enumerate(E2M1)}
    expected = [exact.get(int(u) & 0xFFC00000, 0) for u in upper]
    for lower in (0, 0xFFFF):
        weight = (upper | np.uint32(lower)).view(F32).reshape(16, -1)
        y = npu_convert_weight_to_int4pack(weight)
        assert np.array_equal(y.view(np.uint32), reference(weight).view(np.uint32))
        found = formats.unpack_fp4(y.view(np.uint8)).reshape(-1)
        assert found.tolist() == expected
    theirs = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(F32)
    assert codes(theirs) == "0123456789abcdef"


def test_the_formula_against_a_loop(rng: np.random.Generator) -> None:
    weight = rng.integers(-(2**31), 2**31, (3, 5, 16)).astype(np.int32)
    y = reference(weight)
    for place in np.ndindex(y.shape):
        eight = weight[place[:-1]][8 * place[-1] : 8 * place[-1] + 8]
        word = sum(int(code) % 16 * 16**k for k, code in enumerate(eight))
        assert int(y.view(np.uint32)[place]) == word


@pytest.mark.parametrize("axis", [-1, -2, 0, 1])
def test_unpack_int4_is_the_way_back(axis: int, rng: np.random.Generator) -> None:
    """Along whichever axis it was packed: that of a transposed weight is another."""
    weight = rng.integers(-8, 8, (16, 24)).astype(np.int32)
    moved: Array = np.moveaxis(weight, axis, -1)
    words = np.moveaxis(npu_convert_weight_to_int4pack(moved), -1, axis)
    codes = formats.unpack_int4(words, axis)
    assert (codes.dtype, codes.shape) == (np.int8, weight.shape)
    assert np.array_equal(codes, weight)


@pytest.mark.parametrize("dtype", [np.int32, F32])
def test_words_are_compared_code_by_code(dtype: Any, rng: np.random.Generator) -> None:
    """Nothing is rounded: a code that is one off, and a zero of the other sign, are different."""
    asked: dict[str, Any] = {"op": "npu_convert_weight_to_int4pack"}
    weight = rng.choice(np.array([0, 1, 2, 3, 4], dtype), (6, 80))
    asked["inputs"] = {"weight": weight}
    y = npu_convert_weight_to_int4pack(weight)
    same = compare(y.copy(), **asked)
    assert (same.rung, same.decisive.shape) == ("identical", (6, 80))
    for bit in (0, 3):
        wrong = y.copy()
        wrong.view(np.uint32)[4, 7] ^= 1 << 4 * 5 + bit
        comparison = compare(wrong, **asked)
        assert comparison.rung == "different"
        assert (comparison.decisive.metrics.mismatches, comparison.where.first) == (1, 4 * 80 + 61)
    swapped = y.view(np.uint8)
    swapped = (swapped << 4 | swapped >> 4).view(dtype)
    comparison = compare(swapped, **asked)
    assert (comparison.passed, comparison.variants[0].name) == (False, "high nibble first")
