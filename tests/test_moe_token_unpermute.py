"""npu_moe_token_unpermute by hand, and by scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.case import check
from cases.moe_token_unpermute import CASES, arguments

from npu_quant import npu_moe_token_unpermute
from npu_quant.ops.moe_token_unpermute import reference

F16, F32 = np.float16, np.float32
NAN, INF = np.nan, np.inf


def weighed(rows: list[float], *weights: float, dtype: Any = F16) -> float:
    """Return the sum of rows of one element, weighed."""
    x, probs = np.array([rows], dtype).T, np.array([weights], F32)
    return float(npu_moe_token_unpermute(x, np.arange(len(weights)), probs)[0, 0])


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand."""

    def test_sums(self) -> None:
        rows, probs = F16([[1, 2], [3, 4], [5, 6]]), F32([[0.5, 0.25], [1, 2]])
        y = npu_moe_token_unpermute(rows, np.array([2, 0, 1, 9], np.int32), probs)
        assert y.tolist() == [[2.75, 3.5], [3, 4]]

    def test_beyond_the_last_row(self) -> None:
        """A weight that is no number does not count there."""
        assert weighed([1], 2, NAN) == 2
        y = npu_moe_token_unpermute(F16([[1, 2]]), np.array([1, 0, 7]))
        assert y.tolist() == [[0, 0], [1, 2], [0, 0]]

    def test_nan(self) -> None:
        assert np.isnan(weighed([NAN, 1], 1, 1))
        assert np.isnan(weighed([INF, 1], 0, 1))
        assert np.isnan(weighed([INF, INF], 1, -1))

    def test_copies_are_bits(self) -> None:
        bits = np.array([[0x7E01, 0x8000, 0x0001]], np.uint16)
        y = npu_moe_token_unpermute(bits.view(F16), np.array([0]))
        assert y.view(np.uint16).tolist() == bits.tolist()

    def test_zeros(self) -> None:
        assert str(weighed([-0.0], 1)) == str(weighed([1, -1], 1, 1)) == "0.0"

    def test_beyond_the_range(self) -> None:
        assert weighed([60000, 10000], 1, 1) == INF
        assert weighed([60000, 10000], -1, -1) == -INF

    def test_the_order_of_terms(self) -> None:
        """2^24 + 1 is 2^24, and 2^24 - 2^24 + 1 is 1."""
        big = [2.0**24, 1, -(2.0**24)]
        assert weighed(big, 1, 1, 1, dtype=F32) == 0
        assert weighed([big[0], big[2], 1], 1, 1, 1, dtype=F32) == 1

    def test_products_are_rounded(self) -> None:
        """(1 + 2^-12)^2 is 1 + 2^-11 + 2^-24, of which float32 has no last bit."""
        x = 1 + 2.0**-12
        assert weighed([-1 - 2.0**-11, x], 1, x, dtype=F32) == 0

    def test_sums_are_rounded_once(self) -> None:
        """1 + 2^-11 lies between two float16, and 2^-12 is more than nothing."""
        assert weighed([1, 2.0**-11, 2.0**-12], 1, 1, 1) == 1 + 2.0**-10
        assert weighed([1, 2.0**-11], 1, 1) == 1

    def test_nothing(self) -> None:
        none, rows = np.zeros(0, np.int32), F16([[1, 2]])
        assert npu_moe_token_unpermute(rows, none).shape == (0, 2)
        assert npu_moe_token_unpermute(rows, none, np.zeros((2, 0), F32)).tolist() == [[0, 0]] * 2


@pytest.mark.usefixtures("streamed", "threads")
@pytest.mark.parametrize("weighs", [True, False])
def test_streamed_rows(rng: np.random.Generator, weighs: bool) -> None:
    for n in (1, 64, 130, 5000):
        check(CASES[0], arguments(rng, (20, n), np.dtype(F16), weighs=weighs))


def test_reference_against_scalars(rng: np.random.Generator) -> None:
    """The reference itself, by one number after the other."""
    a = arguments(rng, (5, 3), np.dtype(F16), k=4)
    found, rows, places = reference(**a), a["permuted_tokens"], a["sorted_indices"].tolist()
    for r in range(5):
        for c in range(3):
            t = F32(0)
            for i in range(4):
                if places[r * 4 + i] < len(rows):
                    t = F32(t + F32(F32(rows[places[r * 4 + i], c]) * a["probs"][r, i]))
            assert found[r, c] == F16(t)
