"""npu_grouped_dynamic_mx_quant: its reference, by hand and against a loop."""

from __future__ import annotations

import mx_loops
import numpy as np
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from mx_arrays import E1M2_GROUPED, RULES, SEEDS, Rule, ends, numbers
from witnesses import Array, assert_same_bits

from npu_quant.ops.grouped_dynamic_mx_quant import reference


def groups(*at: int) -> Array:
    return np.array(at, np.int32)


class TestVectors:
    """Stated by documents, or worked by hand."""

    def test_zeros(self) -> None:
        y, mxscale = reference(np.zeros((1, 2), np.float32), groups(1))
        assert (y.shape, y.dtype.name) == ((1, 2), "float8_e5m2")
        assert not y.view(np.uint8).any()
        assert_same_bits((mxscale,), (np.zeros((1, 2, 2), np.uint8),))

    def test_blocks_begin_anew_in_each_group(self) -> None:
        mxscale = reference(np.ones((100, 2), np.float32), groups(32, 64, 100)).mxscale
        expected = [[112, 0], [112, 0], [0, 0], [112, 112]]
        assert mxscale.tolist() == [[pair, pair] for pair in expected]

    def test_a_block_ends_with_its_group(self) -> None:
        """Of 3 rows in two groups, the first is without the other's great number."""
        x = np.array([[1], [2], [64]], np.float32)
        y, mxscale = reference(x, groups(1, 3), dst_type="float8_e4m3fn")
        assert mxscale.tolist() == [[[119, 0]], [[125, 0]]]
        assert y.astype(np.float32).tolist() == [[256], [8], [256]]

    def test_empty_groups_and_no_rows(self) -> None:
        x = np.ones((2, 2), np.float32)
        y, mxscale = reference(x, groups(0, 2, 2))
        assert (y == 32768).all()
        assert mxscale[:, 0].tolist() == [[0, 0], [112, 0], [0, 0]]
        y, mxscale = reference(x[:0], groups(0, 0), dst_type="float4_e2m1")
        assert (y.shape, mxscale.shape, mxscale.any()) == ((0, 1), (2, 2, 2), False)
        y, mxscale = reference(x[:, :0], groups(2))
        assert (y.shape, mxscale.shape) == ((2, 0), (1, 0, 2))

    def test_an_end_below_2_counts_among_subnormals(self) -> None:
        """1.75 * 2^-127 fits, what is next above it does not."""
        x = np.array([0x700000, 0x700001], np.uint32).view(np.float32).reshape(1, 2)
        y, mxscale = reference(x, groups(1), dst_type="float4_e1m2", scale_alg=2)
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
