"""npu_swiglu by hand, by scalars, and by numbers that are hard to round."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.swiglu import arguments, sprinkled
from witnesses import assert_same_but_nan

from npu_quant import _glu, npu_swiglu
from npu_quant.ops.swiglu import reference

F16, F32 = np.float16, np.float32
NAN, INF = np.nan, np.inf
EXACT = Context(prec=40)


def scalar_exp(x: Any) -> Any:
    """Round the exponential of 40 digits."""
    if not np.isfinite(x) or abs(x) > 200:
        return F32(x if np.isnan(x) else INF if x > 0 else 0)
    return F32(float(Decimal(float(x)).exp(EXACT)))


def scalar_swish(a: Any, alpha: Any = None) -> Any:
    """Compute the swish of one number."""
    with np.errstate(all="ignore"):
        exponent = F32(a) if alpha is None else F32(F32(alpha) * F32(a))
        return F32(F32(a) / F32(F32(1) + scalar_exp(F32(-exponent))))


def bits_of(*pairs: tuple[float, float], dtype: Any = F32) -> list[str]:
    """Return the patterns of y of some a and b."""
    y = npu_swiglu(np.array(pairs, dtype))[:, 0]
    return [f"{int(e):0{2 * y.itemsize}X}" for e in y.view(f"u{y.itemsize}")]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or the vectors of the documents."""

    def test_swish(self) -> None:
        gates = [(a, 1.0) for a in (1, -1, 88, -88, INF)]
        assert bits_of(*gates) == ["3F3B26A8", "BE89B2B1", "42B00000", "83354DDC", "7F800000"]

    def test_exp(self) -> None:
        """The last four lie next to a tie of float32."""
        hard = [0x377EFF81, 0xB3000000, 0xBBF0EDF1, 0xC16912CD]
        x = np.append(F32([1, -1, 88.72283, -103.97]), np.array(hard, np.uint32).view(F32))
        found = _glu.exp(x).view(np.uint32)
        expected = [0x402DF854, 0x3EBC5AB2, 0x7F7FFF84, 0x00000001]
        assert found.tolist() == [*expected, 0x3F800080, 0x3F800000, 0x3F7E1FE9, 0x34FD331B]

    def test_the_first_half_is_activated(self) -> None:
        assert npu_swiglu(F32([[20, 30, 2, 3]])).tolist() == [[40, 90]]

    def test_an_axis(self) -> None:
        x = F32([[20, 30], [2, 3]])
        for dim in (0, -2):
            assert npu_swiglu(x, dim).tolist() == [[40, 90]]
        assert npu_swiglu(x, 1).shape == (2, 1)

    def test_zeros(self) -> None:
        assert bits_of((0, 3), (-0.0, 3), (0, -3), (3, -0.0)) == [
            *["00000000", "80000000"],
            *["80000000"] * 2,
        ]

    def test_infinite_gate(self) -> None:
        assert bits_of((INF, 2), (INF, -2)) == ["7F800000", "FF800000"]
        assert np.isnan(npu_swiglu(F32([INF, 0]))).all()

    def test_not_a_number(self) -> None:
        pairs = [(-INF, 1), (-INF, 0), (NAN, 1), (1, NAN), (-200, NAN)]
        assert np.isnan(npu_swiglu(F32(pairs))).all()

    def test_infinite_factor(self) -> None:
        assert bits_of((1, INF), (-1, INF), (1, -INF)) == ["7F800000", "FF800000", "FF800000"]
        assert np.isnan(npu_swiglu(F32([[0, INF], [-104, INF]]))).all()

    def test_exp_overflows(self) -> None:
        """Just above 88.72283 1 + exp is infinite, and so is swish -0."""
        assert bits_of((-104, 1), (-104, -1), (-3e38, 7)) == ["80000000", "00000000", "80000000"]
        assert bits_of((-88.72284, 1)) == ["80000000"]
        assert bits_of((-88.72283, 1))[0] != "80000000"

    def test_underflow(self) -> None:
        """20 exp(-20) is .69 steps of float16's subnormal numbers, 24 exp(-24) .0152 of them."""
        assert bits_of((-20, 1), (-24, 1), (-24, -1), dtype=F16) == ["8001", "8000", "0000"]
        assert bits_of((64, 2.0**-149)) == ["00000040"]

    def test_overflow(self) -> None:
        """65504 is the largest float16: 65502 rounds to it, 65520 to infinity."""
        assert bits_of((1213, 54), (1365, 48), (1365, -48), dtype=F16) == ["7BFF", "7C00", "FC00"]
        assert bits_of((3e38, 3)) == ["7F800000"]

    def test_ties_to_even(self) -> None:
        """From 17 on a / (1 + exp(-a)) is a; 2049 and 2051 lie between float16, 257 bfloat16."""
        assert bits_of((683, 3), (293, 7), dtype=F16) == ["6800", "6802"]
        assert npu_swiglu(np.array([[129, 2.0], [37, 7.0]], ml_dtypes.bfloat16)).tolist() == [
            [258],
            [260],
        ]

    def test_no_elements(self) -> None:
        assert npu_swiglu(np.ones((3, 0), F32)).shape == (3, 0)
        assert npu_swiglu(np.ones((0, 4), F16)).shape == (0, 2)


@pytest.mark.parametrize("n", [1, 9, 100])
def test_reference_against_scalars(rng: np.random.Generator, dtype: Any, n: int) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    a = sprinkled(rng, arguments(rng, (6, 2 * n), dtype))
    x = a["self"]
    with np.errstate(all="ignore"):
        rows = [[F32(scalar_swish(row[i]) * F32(row[n + i])) for i in range(n)] for row in x]
        expected = np.array(rows, F32).astype(dtype)
    assert_same_but_nan((reference(**a),), (expected,))


@pytest.mark.usefixtures("target")
def test_halves_and_signs(rng: np.random.Generator, dtype: Any) -> None:
    """A factor that changes its sign changes that of y; a power of two scales it."""
    a = rng.uniform(-9, 9, (5, 70)).astype(dtype)
    b = rng.uniform(1, 2, (5, 70)).astype(dtype)
    y = npu_swiglu(np.concatenate([a, b], axis=1))
    np.testing.assert_array_equal(npu_swiglu(np.concatenate([a, -b], axis=1)), -y)
    np.testing.assert_array_equal(npu_swiglu(np.concatenate([a, b * 2], axis=1)), y * 2)
