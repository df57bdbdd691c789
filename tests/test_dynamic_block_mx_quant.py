"""npu_dynamic_block_mx_quant by hand, its formula against a loop."""

from __future__ import annotations

import mx_loops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mx_arrays import RULES, Rule, arrays
from witnesses import assert_same_bits

from npu_quant import npu_anti_mx_quant, npu_dynamic_block_mx_quant
from npu_quant.ops.dynamic_block_mx_quant import reference

# scale_alg 1 does not exist here, and of dst_type_max only 6 and 7.
OWN_RULES = [r for r in RULES if r.scale_alg != 1 and r.dst_type_max in (0, 6, 7)]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Stated by documents, or worked by hand."""

    def test_tiles_and_both_layouts(self) -> None:
        x = np.ones((33, 34), np.float16)
        x[32, 0] = 64
        y, scale1, scale2 = npu_dynamic_block_mx_quant(x, dst_type="float8_e4m3fn")
        assert (scale1.shape, scale2.shape) == ((33, 1, 2), (1, 34, 2))
        assert (scale1[:32] == [[119, 119]]).all()
        assert scale1[32].tolist() == [[125, 119]]
        assert (scale2[0, :32] == [119, 125]).all()
        assert (scale2[0, 32:] == [119, 119]).all()
        assert [y[0, 0], y[32, 0], y[32, 1], y[32, 32]] == [256, 256, 4, 256]

    def test_lanes_of_no_tile(self) -> None:
        """Into memory that held something else: 3 tiles across, one down."""
        x = np.full((2, 66), 6, np.float16)
        shapes = [(2, 33), (2, 2, 2), (1, 66, 2)]
        out = tuple(np.full(shape, 9, np.uint8) for shape in shapes)
        _, scale1, scale2 = npu_dynamic_block_mx_quant(x, out=out)
        assert scale1.tolist() == [[[127, 127], [127, 0]]] * 2
        assert scale2.tolist() == [[[127, 0]] * 66]

    def test_the_way_back_along_either_axis(self, rng: np.random.Generator) -> None:
        x = rng.standard_normal((70, 100)).astype(np.float32)
        y, scale1, scale2 = npu_dynamic_block_mx_quant(x, dst_type="float8_e5m2")
        options = {"dst_type": 6, "src_type": "float8_e5m2"}
        rows = npu_anti_mx_quant(y, scale1, axis=-1, **options)
        assert_same_bits((rows,), (npu_anti_mx_quant(y, scale2, axis=-2, **options),))
        assert np.abs(rows - x).max() <= 0.25 * np.abs(x).max()


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(OWN_RULES))
def test_against_a_loop(data: st.DataObject, rule: Rule) -> None:
    format, mode, alg, end = rule
    x = data.draw(arrays((2, 3), is_even="float4" in format))
    found = reference(x, round_mode=mode, dst_type=format, scale_alg=alg, dst_type_max=end)
    assert_same_bits(found, mx_loops.tiles(x, format, mode, alg, end))
