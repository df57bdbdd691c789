"""npu_swiglu_group_quant by hand, by scalars, and beside npu_swiglu."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mx_loops
import numpy as np
import pytest
from cases.case import BFLOAT16, FLOAT16
from cases.swiglu_group_quant import FEWER, FORMATS, MORE, arguments, sprinkled
from test_swiglu import scalar_swish
from witnesses import assert_same_bits

from npu_quant import npu_swiglu, npu_swiglu_group_quant
from npu_quant.ops.swiglu_group_quant import reference

F32 = np.float32
NAN, INF = np.nan, np.inf
E5M2, E4M3 = FORMATS


def of(*rows: list[float], dtype: Any = np.float16, **more: Any) -> tuple[Any, Any]:
    """Quantize rows of o: from 17 on swish(a) is a."""
    o = np.array(rows, dtype)
    x = np.concatenate([np.full_like(o, 32), o / dtype(32)], axis=1)
    y, scale, _ = npu_swiglu_group_quant(x, **{"dst_type": E4M3} | more)
    return y.astype(F32).tolist(), scale.tolist()


def mx(*rows: list[float], **more: Any) -> tuple[Any, Any]:
    return of(*rows, quant_mode=1, round_scale=True, **more)


def pattern(scale: float) -> str:
    return f"{int(F32(scale).view(np.uint32)):08X}"


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand."""

    def test_a_block(self) -> None:
        """336 is a tie between 320 and 352."""
        assert of([448, -224, 336, 0.5]) == ([[448, -224, 320, 0.5]], [[1]])
        assert of([40, -224], dst_type=E5M2) == ([[10240, -57344]], [[2.0**-8]])

    def test_the_scale_is_a_quotient(self) -> None:
        """3 / 448, where 3 * fl(1 / 448) has another last bit; 1 * fl(448 / 3) is 149.3."""
        y, scale = of([3, 1])
        assert (y, pattern(scale[0][0])) == ([[448, 144]], "3BDB6DB7")

    def test_powers_of_two(self) -> None:
        """3 / 448 lies between 2^-8 and 2^-7, 7 / 448 is 2^-6."""
        assert of([3, 1], round_scale=True) == ([[384, 128]], [[2.0**-7]])
        assert of([7, 1], round_scale=True) == ([[448, 64]], [[2.0**-6]])

    def test_blocks_of_128(self) -> None:
        y, scale = of([448.0] + [1.0] * 127 + [896, -2])
        assert scale == [[1, 2]]
        assert y == [[448, *[1] * 127, 448, -1]]

    def test_block_all_zero(self) -> None:
        y, scale = of([0, -0.0])
        assert (np.signbit(y).tolist(), pattern(scale[0][0])) == ([[False, True]], "346FACAD")
        _, scale = of([0, 0], dst_type=E5M2)
        assert pattern(scale[0][0]) == "30EFACAD"

    def test_less_than_the_least_amax(self) -> None:
        """2^-14 * 448 / 1e-4 is 273.4."""
        y, scale = of([2.0**-14])
        assert (y, pattern(scale[0][0])) == ([[288]], "346FACAD")

    def test_nan(self) -> None:
        assert of([NAN, 448, 1]) == ([[0, 448, 1]], [[1]])
        assert mx([NAN, -448, 1]) == ([[0, 0, 0]], [[[255, 0]]])

    def test_infinity(self) -> None:
        assert of([INF, -INF, 224]) == ([[448, -448, 448]], [[0.5]])
        assert mx([-INF, -448, 1]) == ([[0, 0, 0]], [[[255, 0]]])
        assert not np.signbit(mx([INF, -448])[0]).any()

    def test_mx(self) -> None:
        """512 / 448 is more than 1."""
        assert mx([448, -1, 0]) == ([[448, -1, 0]], [[[127, 0]]])
        assert mx([512, -1, 0]) == ([[256, -0.5, 0]], [[[128, 0]]])
        assert mx([57344, 16], dst_type=E5M2) == ([[57344, 16]], [[[127, 0]]])

    def test_mx_of_zeros(self) -> None:
        """1e-4 / 448 is between 2^-23 and 2^-22, 1e-4 / 57344 between 2^-30 and 2^-29."""
        assert mx([0, 0]) == ([[0, 0]], [[[105, 0]]])
        assert mx([0, 0], dst_type=E5M2) == ([[0, 0]], [[[98, 0]]])

    def test_mx_of_several_blocks(self) -> None:
        y, scale = mx([448.0] * 32 + [896.0] * 32 + [1.75])
        assert (y, scale) == ([[448] * 65], [[[127, 128], [119, 0]]])

    def test_limits(self) -> None:
        """Of the gate above alone."""
        x = np.array([[32, 32, 32, -30, 30, 5]], np.float16)
        for limit, o in ((20, [-400, 400, 100]), (0, [-960, 960, 160]), (-1.0, [-960, 960, 160])):
            found = npu_swiglu_group_quant(x, clamp_limit=limit, output_origin=True)
            assert found.origin.tolist() == [o]
        x = np.array([[-18, -2]], np.float16)
        found = npu_swiglu_group_quant(x, clamp_limit=1, output_origin=True)
        assert found.origin == np.float16(scalar_swish(-18) * F32(-1))

    def test_limits_keep_nan_and_the_sign_of_zero(self) -> None:
        x = np.array([[NAN, 32, 32, 1, NAN, -0.0]], np.float16)
        origin = npu_swiglu_group_quant(x, clamp_limit=40, output_origin=True).origin[0]
        assert np.isnan(origin[:2]).all()
        assert origin[2] == 0
        assert np.signbit(origin[2])

    def test_weights(self) -> None:
        weight = F32([2, -0.5])
        assert of([224, 1], [896, 4], weight=weight) == ([[448, 2], [-448, -2]], [[1], [1]])

    def test_rows_behind_the_groups(self) -> None:
        rows, counts = ([448.0, -1.0],) * 3, np.array([1, 0, 1])
        assert of(*rows, group_index=counts) == ([[448, -1]] * 2 + [[0, 0]], [[1], [1], [0]])
        y, scale = mx(*rows, group_index=counts)
        assert (y[2], scale) == ([0, 0], [[[127, 0]], [[127, 0]], [[0, 0]]])

    def test_groups_of_more_rows_than_there_are(self) -> None:
        rows = ([448.0, -1.0],) * 3
        for counts in ([9], [1, 2**62, 2**62, 5]):
            assert of(*rows, group_index=np.array(counts)) == of(*rows)

    def test_origin(self) -> None:
        """fl(swish(1) * 3) is 400C5CFE."""
        for dtype, expected in ((FLOAT16, 0x4063), (BFLOAT16, 0x400C)):
            found = npu_swiglu_group_quant(np.array([[1, 3]], dtype), output_origin=True)
            assert found.origin.dtype == dtype
            assert found.origin.view(np.uint16).tolist() == [[expected]]
        assert npu_swiglu_group_quant(np.ones((2, 4), BFLOAT16)).origin.shape == (0,)

    def test_no_elements(self) -> None:
        for shape in ((2, 0), (0, 4)):
            half = (shape[0], shape[1] // 2)
            found = npu_swiglu_group_quant(np.ones(shape, FLOAT16), output_origin=True)
            assert [r.shape for r in found] == [half, (shape[0], half[1] // 2), half]
            found = npu_swiglu_group_quant(
                np.ones(shape, FLOAT16), quant_mode=1, round_scale=True, group_index=np.array([1])
            )
            assert found.scale.shape == (shape[0], half[1] // 2, 2)


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("mode", [0, 1])
def test_the_origin_is_npu_swiglu(rng: np.random.Generator, mode: int) -> None:
    x = rng.uniform(-9, 9, (9, 140)).astype(BFLOAT16)
    how: dict[str, Any] = {"quant_mode": mode, "round_scale": True}
    found = npu_swiglu_group_quant(x, output_origin=True, **how)
    assert_same_bits((found.origin,), (npu_swiglu(x),))
    assert_same_bits(found[:2], npu_swiglu_group_quant(x, **how)[:2])


def scalar_block(o: list[Any], format: str, rounds: bool) -> tuple[list[int], Any]:
    """Quantize one block of 128."""
    top = F32(mx_loops.CODES[format].top)
    amax = max([F32(1e-4), *(abs(e) for e in o if math.isfinite(e))])
    scale, inverse = amax / top, top / amax
    if rounds:
        scale = F32(2) ** F32(math.ceil(math.log2(scale)))
        inverse = F32(1) / scale
    codes = []
    for e in o:
        q = e * inverse
        if math.isnan(q):
            codes.append(0)
            continue
        v = Fraction(float(np.clip(q, -top, top)))
        codes.append(mx_loops.code_of(v, bool(np.signbit(q)), format, "rint"))
    return codes, scale


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("groups", [None, FEWER, MORE])
@pytest.mark.parametrize(("mode", "rounds"), [(0, False), (0, True), (1, True)])
def test_reference_against_scalars(
    rng: np.random.Generator, to: str, groups: str | None, mode: int, rounds: bool
) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    how: dict[str, Any] = {"mode": mode, "rounds": rounds, "groups": groups, "limit": 3.0}
    a = sprinkled(rng, arguments(rng, (6, 276), FLOAT16, to=to, weighted=True, **how))
    found, n, size = reference(**a), 138, 32 if mode else 128
    computed = 6 if groups is None else min(6, sum(a["group_index"].tolist()))
    for row in range(6):
        codes, scales = [], []
        with np.errstate(all="ignore"):
            gates, factors = (F32(part) for part in np.split(a["x"][row], 2))
            o = [
                scalar_swish(v if np.isnan(v) else min(v, F32(3)))
                * (w if np.isnan(w) else max(min(w, F32(3)), F32(-3)))
                * a["weight"][row]
                for v, w in zip(gates, factors, strict=True)
            ]
            for first in range(0, n, size):
                block = o[first : first + size]
                if mode == 1:
                    b, own = mx_loops.block_of([float(e) for e in block], to, "rint", 1, 0, 1e-4)
                else:
                    own, b = scalar_block(block, to, rounds)
                codes += own
                scales.append(b)
        if row >= computed:
            codes, scales = [0] * n, [0] * len(scales)
        assert found.y[row].view(np.uint8).tolist() == codes
        assert found.scale[row].ravel()[: len(scales)].tolist() == scales
