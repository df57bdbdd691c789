"""npu_swiglu_quant by hand, by scalars, and beside npu_swiglu."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.swiglu_quant import EACH, NONE, ONE, arguments, sprinkled
from test_swiglu import scalar_swish
from witnesses import assert_same_bits

from npu_quant import npu_swiglu, npu_swiglu_quant
from npu_quant.ops.swiglu_quant import reference

F32 = np.float32
NAN, INF = np.nan, np.inf
TINY = 2.0**-149


def of(*rows: list[float], **more: Any) -> tuple[list[list[int]], list[float]]:
    """Quantize rows of o: from 17 on swish(a) is a."""
    o = np.array(rows, F32)
    x = np.concatenate([np.full_like(o, 32), o / 32], axis=1)
    y, scale = npu_swiglu_quant(x, activate_left=True, **more)
    return y.tolist(), scale.tolist()


def dynamic(*rows: list[float], **more: Any) -> tuple[list[list[int]], list[float]]:
    return of(*rows, quant_mode=1, **more)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or the vectors of the documents."""

    def test_multipliers(self) -> None:
        y, scale = npu_swiglu_quant(F32([[1, 2, 0, -3]]), activate_left=True, quant_mode=1)
        assert y.tolist() == [[0, -127]]
        assert scale.view(np.uint32).tolist() == [0x41C04007]

    def test_offsets(self) -> None:
        """The first sum is .5, a tie."""
        smooth, offsets = F32([[1, 1]]), F32([[0.5, 60]])
        x = F32([[1, 2, 0, -3]])
        y, scale = npu_swiglu_quant(x, activate_left=True, smooth_scales=smooth, offsets=offsets)
        assert (y.tolist(), scale.tolist()) == ([[0, 55]], [0])

    def test_the_second_half_is_activated_by_default(self) -> None:
        x = F32([[2, 3, 20, 30]])
        assert npu_swiglu_quant(x).y.tolist() == [[40, 90]]
        assert npu_swiglu_quant(x, activate_left=True).y.tolist() != [[40, 90]]

    def test_the_scale_multiplies(self) -> None:
        assert dynamic([64, -32, 1]) == ([[127, -64, 2]], [127 / 64])

    def test_ties_to_even(self) -> None:
        assert dynamic([127, -2.5, 0.5, 1.5]) == ([[127, -2, 0, 2]], [1])
        assert of([2.5, 3.5, -0.5, 300]) == ([[2, 4, 0, 127]], [0])

    def test_int4_lies_in_halves_of_bytes(self) -> None:
        """The first code is the low half: 7 and -8, 2 and -1."""
        assert of([7.5, -9, 2.5, -1], dst_type="int4")[0] == [[0x87 - 256, 0xF2 - 256]]
        assert dynamic([14, -3], dst_type=16) == ([[0xE7 - 256]], [0.5])

    def test_ends_of_groups(self) -> None:
        """The second group has no rows; the last row is behind the third."""
        rows, ends = ([2.0, 4.0],) * 4, np.array([1, 1, 3], np.int32)
        smooth, offsets = F32([10, 100, 3]), F32([1, 1, -1])
        more: dict[str, Any] = {"smooth_scales": smooth, "offsets": offsets}
        expected = [[21, 41], [5, 11], [5, 11], [2, 4]]
        assert of(*rows, group_index=ends, **more)[0] == expected
        counts = np.array([1, 0, 2], np.int32)
        assert of(*rows, group_index=counts, group_list_type=1, **more)[0] == expected
        each = {name: np.repeat(p[:, None], 2, axis=1) for name, p in more.items()}
        assert of(*rows, group_index=ends, **each)[0] == expected

    def test_behind_the_last_group(self) -> None:
        no = np.array([0], np.int32)
        assert dynamic([64, 1], smooth_scales=F32([9]), group_index=no) == ([[127, 2]], [127 / 64])

    def test_row_all_zero(self) -> None:
        assert dynamic([0, -0.0]) == ([[0, 0]], [INF])

    def test_nan(self) -> None:
        y, scale = npu_swiglu_quant(F32([[NAN, 20, 1, 1], [-NAN, 20, 1, 1]]), quant_mode=1)
        assert y.tolist() == [[0, 0]] * 2
        assert scale.view(np.uint32).tolist() == [0x7FC00000] * 2
        assert of([NAN, 1]) == ([[0, 1]], [0])

    def test_infinity(self) -> None:
        assert dynamic([INF, 1]) == dynamic([-INF, 1]) == ([[0, 0]], [0])
        assert of([INF, -INF]) == ([[127, -128]], [0])

    def test_multiplier_overflows(self) -> None:
        assert dynamic([TINY * 64, 0, -TINY * 32]) == ([[127, 0, -128]], [INF])

    def test_no_elements(self) -> None:
        y, scale = npu_swiglu_quant(np.ones((2, 0), F32), quant_mode=1)
        assert (y.shape, scale.tolist()) == ((2, 0), [INF, INF])
        y, scale = npu_swiglu_quant(np.ones((0, 4), F32))
        assert (y.shape, scale.shape) == ((0, 2), (0,))


@pytest.mark.usefixtures("target")
def test_codes_of_npu_swiglu(rng: np.random.Generator) -> None:
    """Of float32 o is npu_swiglu's result."""
    x = rng.uniform(-9, 9, (9, 140)).astype(F32)
    o = npu_swiglu(x)
    y, scale = npu_swiglu_quant(x, activate_left=True, quant_mode=1)
    expected = F32(127) / np.abs(o).max(axis=1)
    assert_same_bits((scale, y), (expected, np.rint(o * expected[:, None]).astype(np.int8)))
    assert (npu_swiglu_quant(x, activate_left=True).y == np.clip(np.rint(o), -128, 127)).all()


def scalar_codes(o: list[Any], mode: int, most: int) -> tuple[list[int], Any]:
    """Quantize one row."""
    scale = F32(0)
    if mode == 1:
        scale = F32(NAN) if any(np.isnan(o)) else F32(most) / max(abs(e) for e in o)
        o = [e * scale for e in o]
    return [0 if np.isnan(e) else round(max(-most - 1, min(most, float(e)))) for e in o], scale


@pytest.mark.parametrize(("form", "groups"), [(NONE, 0), (ONE, 3), (EACH, 3)])
@pytest.mark.parametrize("mode", [0, 1])
def test_reference_against_scalars(
    rng: np.random.Generator, dtype: Any, form: str, groups: int, mode: int
) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    a = sprinkled(
        rng, arguments(rng, (7, 18), dtype, form=form, groups=groups, mode=mode, listed=1)
    )
    found, n = reference(**a), 9
    counts = [7] if groups == 0 else a["group_index"].tolist()
    group_of = [g for g, count in enumerate(counts) for _ in range(count)]
    for row in range(7):
        with np.errstate(all="ignore"):
            o = [
                scalar_swish(v) * F32(w)
                for v, w in zip(a["x"][row, :n], a["x"][row, n:], strict=True)
            ]
            for name, step in (("smooth_scales", np.multiply), ("offsets", np.add)):
                if a[name] is not None and row < len(group_of):
                    own = np.broadcast_to(a[name][group_of[row]], n)
                    o = [step(e, p) for e, p in zip(o, own, strict=True)]
            y, scale = scalar_codes(o, mode, 127)
        assert found.y[row].tolist() == y
        np.testing.assert_array_equal(found.scale[row], scale)
