"""npu_grouped_dynamic_mx_quant by hand, its formula against a loop, and many groups."""

from __future__ import annotations

import mx_loops
import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from mx_arrays import E1M2_GROUPED, RULES, SEEDS, Rule, ends, numbers
from witnesses import Array, assert_same_bits

from npu_quant import npu_dynamic_mx_quant, npu_grouped_dynamic_mx_quant
from npu_quant.ops.grouped_dynamic_mx_quant import reference


def groups(*at: int) -> Array:
    return np.array(at, np.int32)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Stated by documents, or worked by hand."""

    def test_blocks_begin_anew_in_each_group(self) -> None:
        mxscale = npu_grouped_dynamic_mx_quant(
            np.ones((100, 2), np.float32), groups(32, 64, 100)
        ).mxscale
        expected = [[112, 0], [112, 0], [0, 0], [112, 112]]
        assert mxscale.tolist() == [[pair, pair] for pair in expected]

    def test_a_block_ends_with_its_group(self) -> None:
        """Of 3 rows in two groups, the first is without the other's great number."""
        x = np.array([[1], [2], [64]], np.float32)
        y, mxscale = npu_grouped_dynamic_mx_quant(x, groups(1, 3), dst_type="float8_e4m3fn")
        assert mxscale.tolist() == [[[119, 0]], [[125, 0]]]
        assert y.astype(np.float32).tolist() == [[256], [8], [256]]

    def test_empty_groups_and_no_rows(self) -> None:
        x = np.ones((2, 2), np.float32)
        y, mxscale = npu_grouped_dynamic_mx_quant(x, groups(0, 2, 2))
        assert (y == 32768).all()
        assert mxscale[:, 0].tolist() == [[0, 0], [112, 0], [0, 0]]
        y, mxscale = npu_grouped_dynamic_mx_quant(x[:0], groups(0, 0), dst_type="float4_e2m1")
        assert (y.shape, mxscale.shape, mxscale.any()) == ((0, 1), (2, 2, 2), False)
        y, mxscale = npu_grouped_dynamic_mx_quant(x[:, :0], groups(2))
        assert (y.shape, mxscale.shape) == ((2, 0), (1, 0, 2))

    @pytest.mark.parametrize("special", [np.nan, -np.nan, np.inf, -np.inf])
    def test_what_is_not_finite(self, dtype: np.dtype, special: float) -> None:
        """Its block is +0, and no other: not that of the next group, nor of the next column."""
        x = np.full((70, 2), -2, dtype)
        x[40, 1] = special
        y, mxscale = npu_grouped_dynamic_mx_quant(x, groups(50, 70))
        assert mxscale.tolist() == [[[113, 113], [113, 255]], [[113, 0]] * 2, [[0, 0]] * 2]
        expected = np.full((70, 2), -32768.0)
        expected[32:50, 1] = 0
        assert_same_bits((y.astype(float),), (expected,))

    def test_what_is_beyond_top(self) -> None:
        x = np.float32([[1.999, -7.9]])
        for to, top in (("float4_e1m2", 1.75), ("float4_e2m1", 6.0)):
            options = {"dst_type": to, "scale_alg": 2, "dst_type_max": 2 * top}
            y, mxscale = npu_grouped_dynamic_mx_quant(x * (top / 4), groups(1), **options)
            assert (y.tolist(), (mxscale[..., 0] % 255).all()) == ([[0xF7]], True)

    def test_an_end_below_2_counts_among_subnormals(self) -> None:
        """1.75 * 2^-127 fits, what is next above it does not."""
        x = np.array([0x700000, 0x700001], np.uint32).view(np.float32).reshape(1, 2)
        y, mxscale = npu_grouped_dynamic_mx_quant(x, groups(1), dst_type="float4_e1m2", scale_alg=2)
        assert mxscale.tolist() == [[[0, 0], [1, 0]]]
        assert y.tolist() == [[0x47]]  # 1.75, and .875 to even


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(RULES + E1M2_GROUPED), SEEDS, st.sampled_from(DTYPES))
def test_against_a_loop(data: st.DataObject, rule: Rule, seed: int, dtype: np.dtype) -> None:
    format, mode, alg, end = rule
    m, n = data.draw(st.integers(0, 200)), data.draw(st.sampled_from([2, 0, 4]))
    x, at = numbers(seed, (m, n), dtype), ends(data.draw, m)
    found = reference(
        x, groups(*at), round_mode=mode, dst_type=format, scale_alg=alg, dst_type_max=end
    )
    assert_same_bits(found, mx_loops.grouped(x, at, format, mode, alg, end))


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("n", [2, 70, 2048, 4100])
def test_each_group_is_a_call_of_its_own(n: int, rng: np.random.Generator) -> None:
    """Of more groups than rows, in memory that held something else."""
    m = 700
    x = np.asarray(rng.standard_normal((m, n)), np.float16)
    for g in (1, 3, 40, 900):
        at = np.sort(np.append(rng.integers(0, m + 1, g - 1), m)).astype(np.int32)
        out = np.full((m, n), 9, np.uint8).view("float8_e5m2"), np.full((m // 64 + g, n, 2), 9, np.uint8)  # fmt: skip
        y, mxscale = npu_grouped_dynamic_mx_quant(x, at, out=out)
        is_written = np.zeros(len(mxscale), bool)
        start = 0
        for j, end in enumerate(at.tolist()):
            one, pairs = npu_dynamic_mx_quant(x[start:end], axis=0, dst_type="float8_e5m2")
            first = start // 64 + j
            assert_same_bits((y[start:end], mxscale[first : first + len(pairs)]), (one, pairs))
            is_written[first : first + len(pairs)] = True
            start = end
        assert not mxscale[~is_written].any()


@pytest.mark.usefixtures("target")
def test_float32_at_every_edge_of_a_subnormal_block() -> None:
    """To float4_e1m2, whose greatest value is less than 2: bytes 0 and 1."""
    ends = np.array([1.75, 1.875, 2, 2.1, 3.5], np.float32)
    for top in ends.tolist():
        bits = np.ldexp(np.float64(top), 22).astype(np.int64) + np.arange(-3, 4)
        edges = np.concatenate([bits, bits + (1 << 22), np.arange(-3, 4) + (1 << 23), np.arange(7)])
        x = edges.astype(np.uint32).view(np.float32).reshape(1, -1)
        options = {"dst_type": "float4_e1m2", "scale_alg": 2, "dst_type_max": top}
        y, mxscale = npu_grouped_dynamic_mx_quant(x, groups(1), **options)
        assert_same_bits((y, mxscale), mx_loops.grouped(x, [1], "float4_e1m2", "rint", 2, top))
