"""npu_dynamic_mx_quant_with_dual_axis by hand, and its formula against a loop.

`make test` draws a quarter of the arrays for the loop: either axis is npu_dynamic_mx_quant's, which has its own.
"""

from __future__ import annotations

import exhaustive
import mx_loops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mx_arrays import RULES, Rule, arrays
from witnesses import assert_same_bits

from npu_quant import npu_dynamic_mx_quant, npu_dynamic_mx_quant_with_dual_axis
from npu_quant.ops.dynamic_mx_quant_with_dual_axis import reference


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand."""

    def test_each_axis_has_its_own_blocks(self) -> None:
        x = np.ones((40, 34), np.float16)
        x[33, 5] = 64
        y1, mxscale1, y2, mxscale2 = npu_dynamic_mx_quant_with_dual_axis(
            x, dst_type="float8_e4m3fn"
        )
        assert (mxscale1.shape, mxscale2.shape) == ((40, 1, 2), (1, 34, 2))
        assert mxscale1[33].tolist() == [[125, 119]]
        assert (mxscale1[np.arange(40) != 33] == 119).all()
        assert mxscale2[0, 5].tolist() == [119, 125]
        assert (mxscale2[0, np.arange(34) != 5] == 119).all()
        # 2^8 at byte 119, 2^2 at 125; the great one is 2^8 there.
        assert [y1[33, 5], y1[33, 6], y1[33, 33], y1[32, 5]] == [256, 4, 256, 256]
        assert [y2[33, 5], y2[33, 6], y2[32, 5], y2[31, 5]] == [256, 256, 4, 256]

    def test_float4_lies_along_the_last_axis_in_both(self) -> None:
        x = np.array([[1, -2], [3, 6]], np.float32)
        y1, mxscale1, y2, mxscale2 = npu_dynamic_mx_quant_with_dual_axis(x, round_mode="round")
        assert (y1.tolist(), mxscale1.tolist()) == ([[0xE4], [0x75]], [[[126, 0]], [[127, 0]]])
        assert (y2.tolist(), mxscale2.tolist()) == ([[0xC4], [0x77]], [[[126, 0], [127, 0]]])

    def test_a_last_odd_block_has_a_neighbour_of_0(self) -> None:
        """Of 65 rows and 33 columns: 3 blocks and 2."""
        result = npu_dynamic_mx_quant_with_dual_axis(np.ones((65, 34), np.float16))
        assert (result.mxscale1 == [[125, 125]]).all()
        assert result.mxscale2[:, 0].tolist() == [[125, 125], [125, 0]]
        odd = npu_dynamic_mx_quant_with_dual_axis(np.ones((2, 66), np.float16)).mxscale1
        assert odd.tolist() == [[[125, 125], [125, 0]]] * 2

    @pytest.mark.parametrize("wanted", [(0,), (1, 3), (2,), (0, 1), (2, 3), ()])
    def test_what_is_not_wanted(self, wanted: tuple[int, ...]) -> None:
        x = np.arange(80, dtype=np.float32).reshape(2, 40)
        every = npu_dynamic_mx_quant_with_dual_axis(x)
        out = tuple(np.empty_like(e) if i in wanted else None for i, e in enumerate(every))
        some = npu_dynamic_mx_quant_with_dual_axis(x, out=out)
        assert [i for i, array in enumerate(some) if array is not None] == list(wanted)
        assert_same_bits(tuple(some[i] for i in wanted), tuple(every[i] for i in wanted))


@settings(max_examples=40 // exhaustive.every(4), deadline=None)
@given(st.data(), st.sampled_from(RULES))
def test_against_a_loop(data: st.DataObject, rule: Rule) -> None:
    format, mode, alg, end = rule
    x = data.draw(arrays((2, 4), is_even="float4" in format))
    found = reference(x, round_mode=mode, dst_type=format, scale_alg=alg, dst_type_max=end)
    last, other = (mx_loops.along(x, axis, format, mode, alg, end) for axis in (-1, -2))
    assert_same_bits(found, (*last, *other))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: "-".join(map(str, rule)))
def test_it_is_two_calls(rule: Rule, dtype: np.dtype, rng: np.random.Generator) -> None:
    x = np.asarray(
        rng.standard_normal((3, 70, 130)) * 2.0 ** rng.integers(-9, 9, (3, 70, 1)), dtype
    )
    options = rule._asdict()
    one, other = (npu_dynamic_mx_quant(x, axis=axis, **options) for axis in (-1, -2))
    assert_same_bits(npu_dynamic_mx_quant_with_dual_axis(x, **options), (*one, *other))
