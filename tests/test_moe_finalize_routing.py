"""npu_moe_finalize_routing by hand, by scalars, and beside npu_moe_token_unpermute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.case import check
from cases.moe_finalize_routing import CASES, MODES, arguments
from witnesses import assert_same_bits

from npu_quant import npu_moe_finalize_routing, npu_moe_token_unpermute
from npu_quant.ops.moe_finalize_routing import reference

F16, F32 = np.float16, np.float32
NAN, INF = np.nan, np.inf
ROWS = F16([[1, 2], [3, 4], [5, 6], [7, 8]])
BIAS = F16([[0.5, 0], [0, 1]])
SCALES = F16([[1, 0.5], [2, 1]])
EXPERTS = np.array([[0, 1], [1, 1]], np.int32)


def final(
    rows: Any = ROWS,
    source: Any = (0, 2, 3, 1),
    skips: Any = (None, None),
    bias: Any = None,
    scales: Any = SCALES,
    **more: Any,
) -> list[list[float]]:
    experts = None if bias is None else EXPERTS
    at = np.array(source, np.int32)
    y: list[list[float]] = npu_moe_finalize_routing(
        rows, *skips, bias, scales, at, experts, **more
    ).tolist()
    return y


def one(*terms: float, **more: Any) -> Any:
    """Return the sum of rows of one element."""
    rows = np.array([terms], F32).T
    return final(rows, range(len(terms)), scales=np.ones((1, len(terms)), F32), **more)[0][0]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand."""

    def test_all_first_terms_come_first(self) -> None:
        """Token 0 has rows 0 and 3, token 1 rows 2 and 1."""
        assert final(bias=BIAS) == [[1.5 + 3.5, 2 + 4.5], [10 + 3, 14 + 5]]

    def test_terms_of_a_token_come_together(self) -> None:
        assert final(source=(0, 3, 2, 1), bias=BIAS, drop_pad_mode=2) == final(bias=BIAS)
        assert final(drop_pad_mode=2) == [[1 + 2.5, 2 + 3], [14 + 3, 16 + 4]]

    def test_skips(self) -> None:
        skip = F16([[10, 20], [30, 40]])
        plain = np.array(final())
        assert final(skips=(skip, None)) == final(skips=(None, skip)) == (plain + skip).tolist()
        assert final(skips=(skip, skip)) == (plain + 2 * skip).tolist()

    def test_without_scales(self) -> None:
        assert final(scales=None, source=(0, 2), k=None) == [[1, 2], [5, 6]]
        assert final(scales=None, k=2, bias=BIAS) == [[1.5 + 7, 2 + 9], [5 + 3, 7 + 5]]

    def test_none_of_the_slots(self) -> None:
        """Of a row that is not there the bias counts."""
        rows = ROWS.reshape(2, 2, 2)
        for mode, source in ((1, (0, -1, -1, 1)), (3, (0, -1, -1, 1))):
            more = {"drop_pad_mode": mode, "bias": BIAS}
            first = [1.5 + 0, 2 + 0.5]
            assert final(rows, source, **more) == [first, [0 + 3, 2 + 5]]
        assert np.isnan(final(rows, (-1, -1), scales=F32([[NAN, 1]]), drop_pad_mode=1)).all()

    def test_nan(self) -> None:
        assert np.isnan(one(INF, -INF))
        assert (
            np.isnan(final(scales=F16([[INF, 0], [0, 0]]), source=(0, 1, 2, 3))[0]).tolist()
            == [False] * 2
        )
        assert np.isnan(final(ROWS * 0, scales=F16([[INF, 1], [1, 1]]))[0]).all()

    def test_zeros(self) -> None:
        assert str(one(-0.0)) == str(one(1, -1)) == "0.0"
        skip = np.array([[-0.0]], F32)
        assert str(one(-0.0, skips=(skip, None))) == "-0.0"

    def test_beyond_the_range(self) -> None:
        assert final(F16([[60000], [60000]]), (0, 1), scales=F16([[1, 1]])) == [[INF]]

    def test_the_order_of_terms(self) -> None:
        """2^24 + 1 is 2^24; skip2 is added before any term."""
        assert (one(2.0**24, 1, -(2.0**24)), one(2.0**24, -(2.0**24), 1)) == (0, 1)
        skips = F32([[2.0**24]]), F32([[1]])
        assert one(-(2.0**24), skips=skips) == 0

    def test_the_bias_comes_before_the_scale(self) -> None:
        """2^24 + 1 is 2^24; times 2, no 2^25 + 2."""
        rows, bias = F32([[2.0**24]]), F32([[0], [1]])
        args = (rows, None, None, bias, F32([[2]]), np.zeros(1, np.int32), EXPERTS[1:, :1])
        assert npu_moe_finalize_routing(*args).tolist() == [[2.0**25]]

    def test_nothing(self) -> None:
        none = np.zeros(0, np.int32)
        assert final(source=none, scales=SCALES[:0]) == []
        assert final(source=none, scales=SCALES[:, :0]) == [[0, 0]] * 2
        skip = F16([[1, 2], [3, 4]])
        assert final(source=none, scales=SCALES[:, :0], skips=(skip, None)) == skip.tolist()


def test_an_index_that_is_no_row_leaves_out_alone() -> None:
    out = np.zeros((2, 2), F16)
    with pytest.raises(ValueError, match=r"expanded_src_to_dst_row\[3\] is 4, expected 0 to 3"):
        final(source=(0, 1, 2, 4), out=out)
    assert not out.any()


@pytest.mark.usefixtures("target")
def test_sums_of_npu_moe_token_unpermute(rng: np.random.Generator) -> None:
    """A token's rows one after the other, without anything else."""
    a = arguments(rng, (30, 130), np.dtype(F16), mode=2, skips="none", biased=False)
    places = a["expanded_src_to_dst_row"]
    y = npu_moe_token_unpermute(a["expanded_permuted_rows"], places, a["scales"])
    assert_same_bits((npu_moe_finalize_routing(**a),), (y,))


@pytest.mark.usefixtures("streamed", "threads")
def test_streamed_rows(rng: np.random.Generator) -> None:
    for n in (1, 64, 130, 5000):
        check(CASES[0], arguments(rng, (20, n), np.dtype(F16), mode=1))


@pytest.mark.parametrize("mode", MODES)
def test_reference_against_scalars(rng: np.random.Generator, mode: int) -> None:
    """The reference itself, by one number after the other."""
    a = arguments(rng, (5, 3), np.dtype(F16), mode=mode, k=4)
    rows, source = a["expanded_permuted_rows"].reshape(-1, 3), a["expanded_src_to_dst_row"]
    found = reference(**a)
    for i in range(5):
        for c in range(3):
            t = F32(a["skip1"][i, c]) + F32(a["skip2"][i, c])
            for k in range(4):
                at = source[i * 4 + k if mode > 1 else k * 5 + i]
                v = F32(0 if at < 0 else rows[at, c])
                v += F32(a["bias"][a["export_for_source_row"][i, k], c])
                t = F32(t + F32(a["scales"][i, k] * v))
            assert found[i, c] == F16(t)
