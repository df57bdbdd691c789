"""npu_dynamic_mx_quant by hand, its formula against a loop, and every 16-bit number."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import mx_loops
import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from mx_arrays import RULES, Rule, arrays
from witnesses import Array, assert_same_bits

from npu_quant import npu_dynamic_mx_quant
from npu_quant.ops.dynamic_mx_quant import reference

E4M3, E5M2, E2M1, E1M2 = "float8_e4m3fn", "float8_e5m2", "float4_e2m1", "float4_e1m2"
EIGHT = np.array([[1, -2.5, 0.1, 7, 0.3, -0.7, 3.3, 500]], np.float32)
FIVE = np.array([[1, -2.5, 0.1, 7, 0.3, -0.7, 3.3, -5]], np.float32)
VALUES = {E2M1: [0, 0.5, 1, 1.5, 2, 3, 4, 6], E1M2: [i / 4 for i in range(8)]}


def numbers(y: Array, to: str) -> Array:
    """Return the numbers that codes stand for."""
    if to not in VALUES:
        return y.astype(np.float32)
    values = np.float32([*VALUES[to], *(-float(v) for v in VALUES[to])])
    return values[np.stack([y & 15, y >> 4], -1).reshape(*y.shape[:-1], -1)]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 14."""

    @pytest.mark.parametrize(
        ("x", "to", "alg", "mode", "top", "byte", "expected"),
        [
            (EIGHT, E4M3, 0, "rint", 0, 127, [1, -2.5, 0.1015625, 7, 0.3125, -0.6875, 3.25, 448]),
            (EIGHT, E4M3, 1, "rint", 0, 128, [0.5, -1.25, 0.05078125, 3.5, 0.15625, -0.34375, 1.625, 256]),
            (EIGHT, E5M2, 0, "rint", 0, 120, [128, -320, 12, 896, 40, -96, 448, 57344]),
            (EIGHT, E5M2, 1, "rint", 0, 121, [64, -160, 6, 448, 20, -48, 224, 32768]),
            (FIVE, E2M1, 0, "rint", 0, 127, [1, -2, 0, 6, 0.5, -0.5, 3, -4]),
            (FIVE, E2M1, 0, "round", 0, 127, [1, -3, 0, 6, 0.5, -0.5, 3, -6]),
            (FIVE, E2M1, 0, "floor", 0, 127, [1, -3, 0, 6, 0, -1, 3, -6]),
            (FIVE, E2M1, 2, "rint", 0, 128, [0.5, -1, 0, 4, 0, -0.5, 1.5, -2]),
            (FIVE, E2M1, 2, "rint", 6, 128, [0.5, -1, 0, 4, 0, -0.5, 1.5, -2]),
            (FIVE, E2M1, 2, "rint", 7, 127, [1, -2, 0, 6, 0.5, -0.5, 3, -4]),
            (FIVE, E1M2, 0, "rint", 0, 129, [0.25, -0.5, 0, 1.75, 0, -0.25, 0.75, -1.25]),
        ],
    )  # fmt: skip
    def test_eight_numbers(
        self, x: Array, to: str, alg: int, mode: str, top: float, byte: int, expected: list[float]
    ) -> None:
        y, mxscale = npu_dynamic_mx_quant(x, **Rule(to, mode, alg, top)._asdict())
        assert mxscale.tolist() == [[[byte, 0]]]
        assert numbers(y, to).tolist() == [expected]

    def test_the_documents_example(self) -> None:
        """Of aclnnDynamicMxQuantV3: a bound that is less than the amax."""
        x = np.array([0, 8, 64, 512], ml_dtypes.bfloat16)
        y, mxscale = npu_dynamic_mx_quant(x, dst_type=E4M3, scale_alg=1, max_low_bound=0.5)
        assert y.view(np.uint8).tolist() == [0, 72, 96, 120]
        assert mxscale.tolist() == [[128, 0]]

    @pytest.mark.parametrize(
        ("to", "alg", "expected"),
        [
            (E4M3, 0, [119, 127, 127, 134]),
            (E5M2, 0, [112, 120, 120, 127]),
            (E2M1, 0, [125, 133, 133, 140]),
            (E1M2, 0, [127, 135, 135, 142]),
            (E4M3, 1, [119, 127, 128, 134]),
            (E5M2, 1, [112, 120, 121, 127]),
        ],
    )
    def test_bytes(self, to: str, alg: int, expected: list[int]) -> None:
        x = np.array([[1, 0], [448, 0], [449, 0], [57344, 0]], np.float32)
        assert npu_dynamic_mx_quant(x, dst_type=to, scale_alg=alg).mxscale[:, 0, 0].tolist() == expected  # fmt: skip

    @pytest.mark.parametrize(
        ("top", "expected"),
        [(6, [125, 125, 126, 126, 126, 128]), (7, [125, 125, 125, 125, 126, 127])],
    )
    def test_bytes_next_to_the_greatest(self, top: float, expected: list[int]) -> None:
        above = [np.nextafter(np.float32(v), np.float32(2)) for v in (1.5, 1.75)]
        x = np.float32([[v, 0] for v in (1, 1.5, above[0], 1.75, above[1], 7)])
        mxscale = npu_dynamic_mx_quant(x, scale_alg=2, dst_type_max=top).mxscale
        assert mxscale[:, 0, 0].tolist() == expected

    @pytest.mark.parametrize("to", [E4M3, E5M2])
    def test_a_byte_of_0_is_computed(self, to: str) -> None:
        x = np.float32([[2.0**-120, 2.0**-123]])
        y, mxscale = npu_dynamic_mx_quant(x, dst_type=to)
        assert (y.astype(float).tolist(), mxscale.tolist()) == ([[128, 16]], [[[0, 0]]])
        tiny = npu_dynamic_mx_quant(np.float32([[2.0**-140, -(2.0**-149)]]), dst_type=E4M3)
        assert tiny.y.view(np.uint8).tolist() == [[0, 0x80]]
        assert not tiny.mxscale.any()

    def test_a_product_below_the_least_number_is_minus_0(self) -> None:
        """2^-100 * 2^-125: floor leaves it."""
        x = np.float32([[2.0**127, -(2.0**-100)]])
        y, mxscale = npu_dynamic_mx_quant(x, round_mode="floor")
        assert (y.tolist(), mxscale.tolist()) == ([[0x86]], [[[252, 0]]])

    def test_the_greatest_byte(self) -> None:
        """127 of 2^127: its power is multiplied as the subnormal 2^-127."""
        x = np.float32([[np.finfo(np.float32).max, 2.0**126]])
        y, mxscale = npu_dynamic_mx_quant(x, dst_type=E1M2)
        assert (y.tolist(), mxscale.tolist()) == ([[0x27]], [[[254, 0]]])

    def test_zeros_keep_their_signs(self, dtype: np.dtype) -> None:
        x = np.array([[0.0, -0.0] * 20], dtype)
        for to, both in ((E4M3, [0, 0x80] * 20), (E2M1, [0x80] * 20)):
            y, mxscale = npu_dynamic_mx_quant(x, dst_type=to)
            assert (y.view(np.uint8).tolist(), mxscale.tolist()) == ([both], [[[0, 0]]])

    def test_zeros_with_a_bound_have_its_byte(self, dtype: np.dtype) -> None:
        x = np.array([[0.0, -0.0], [2, 0]], dtype)
        y, mxscale = npu_dynamic_mx_quant(x, dst_type=E4M3, scale_alg=1, max_low_bound=1.0)
        assert mxscale.tolist() == [[[119, 0]], [[120, 0]]]
        assert y.view(np.uint8).tolist() == [[0, 0x80], [0x78, 0]]

    @pytest.mark.parametrize("axis", [-1, 0])
    @pytest.mark.parametrize("to", [E4M3, E5M2, E2M1, E1M2])
    def test_what_is_not_finite(self, dtype: np.dtype, to: str, axis: int) -> None:
        """Its block is +0, the finite and the negative ones too; its neighbours are as ever."""
        finite = np.full((4, 32 * 40), -2, dtype)
        bad = np.zeros((4, 40), bool)
        bad[1, 3] = bad[2, 39] = True
        elements, scales = np.repeat(bad, 32, axis=1), bad.reshape(4, 20, 2)
        if axis == 0:
            finite, elements, scales = finite.T.copy(), elements.T, scales.transpose(1, 0, 2)
        expected = npu_dynamic_mx_quant(finite, axis=axis, dst_type=to)
        for special in (np.nan, -np.nan, np.inf, -np.inf):
            x = finite.copy()
            for place in ((1, 32 * 3 + 5), (2, 32 * 39)):
                x[place if axis == -1 else place[::-1]] = special
            y, mxscale = npu_dynamic_mx_quant(x, axis=axis, dst_type=to)
            assert_same_bits((mxscale,), (np.where(scales, np.uint8(255), expected.mxscale),))
            values = np.where(elements, np.float32(0), numbers(expected.y, to))
            assert_same_bits((numbers(y, to),), (values,))

    def test_what_rounds_to_0_keeps_its_sign(self) -> None:
        x = np.float32([[1, -(2.0**-30), 2.0**-30, -1]])
        assert npu_dynamic_mx_quant(x, dst_type=E4M3).y.view(np.uint8)[0, 1:3].tolist() == [0x80, 0]
        assert npu_dynamic_mx_quant(x).y.tolist() == [[0x86, 0xE0]]

    def test_the_greatest_of_a_block_may_saturate(self) -> None:
        x = np.float32([[511.9, -511.9], [7.99, -7.99]])
        assert npu_dynamic_mx_quant(x[:1], dst_type=E4M3).y.astype(float).tolist() == [[448, -448]]
        assert numbers(npu_dynamic_mx_quant(x[1:]).y, E2M1).tolist() == [[6, -6]]
        top = npu_dynamic_mx_quant(x[1:], scale_alg=2, dst_type_max=8)
        assert (numbers(top.y, E2M1).tolist(), top.mxscale[0, 0, 0]) == ([[6, -6]], 127)

    @pytest.mark.parametrize(
        ("shape", "axis", "of_scales"),
        [
            ((7,), 0, (1, 2)),
            ((33,), -1, (1, 2)),
            ((65,), -1, (2, 2)),
            ((3, 200), -1, (3, 4, 2)),
            ((200, 3), 0, (4, 3, 2)),
            ((2, 96, 5), -2, (2, 2, 5, 2)),
            ((3, 0), -1, (3, 0, 2)),
            ((0, 3), 0, (0, 3, 2)),
            ((0, 70), 1, (0, 2, 2)),
            ((2, 1, 1, 3, 1, 64, 2), 5, (2, 1, 1, 3, 1, 1, 2, 2)),
        ],
    )
    def test_shapes(self, shape: tuple[int, ...], axis: int, of_scales: tuple[int, ...]) -> None:
        """A block that is not there has the byte 0."""
        y, mxscale = npu_dynamic_mx_quant(np.ones(shape, np.float16), axis=axis, dst_type=E4M3)
        assert (y.shape, mxscale.shape, mxscale.dtype) == (shape, of_scales, np.uint8)
        blocks = -(-shape[axis] // 32)
        there = np.arange(2 * -(-blocks // 2)).reshape(-1, 2) < blocks
        rows = np.moveaxis(mxscale, axis % len(shape), -2)
        assert (rows == np.where(there, 119, 0)).all()

    def test_blocks_do_not_mix(self, dtype: np.dtype) -> None:
        """Each has the byte of its own largest element, in every place of every size."""
        for size in (32, 64, 96, 160, 1024):
            n = 7 * size + 5
            for axis in (-1, 0):
                x = np.ones((3, n), dtype)
                for b in range(8):
                    x[1, b * size + b * 7 % min(size, n - b * size)] = -(2.0 ** (b + 1))
                x = x if axis == -1 else np.ascontiguousarray(x.T)
                y, mxscale = npu_dynamic_mx_quant(x, axis=axis, dst_type=E5M2, block_size=size)
                rows = mxscale if axis == -1 else mxscale.transpose(1, 0, 2)
                assert rows.reshape(3, -1)[0].tolist() == [112] * 8
                assert rows.reshape(3, -1)[1].tolist() == list(range(113, 121))
                codes = y.astype(float) if axis == -1 else y.astype(float).T
                assert (codes[1].min(), codes[1, :size].max()) == (-32768, 16384)

    def test_float4_halves_the_last_axis_along_any_axis(self) -> None:
        x = np.float32([[1, -2, 4, 6]] * 40)
        y, mxscale = npu_dynamic_mx_quant(x, axis=0)
        assert (y.shape, mxscale.shape) == ((40, 2), (1, 4, 2))
        assert numbers(y, E2M1)[0].tolist() == [4, -4, 4, 6]
        assert mxscale[0].tolist() == [[125, 125], [126, 126], [127, 127], [127, 127]]

    def test_none_is_0(self) -> None:
        x = np.float32([[1, 2]])
        y, mxscale = npu_dynamic_mx_quant(x, scale_alg=None, dst_type_max=None)
        assert_same_bits((y, mxscale), npu_dynamic_mx_quant(x))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(RULES))
def test_formula_is_that_of_a_loop(data: st.DataObject, rule: Rule) -> None:
    x = data.draw(arrays((1, 4), is_even="float4" in rule.dst_type))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    bound = data.draw(st.sampled_from([0.0, 0.7, 1e-41])) if rule.scale_alg == 1 else 0.0
    block = 32 if rule.scale_alg == 2 else data.draw(st.sampled_from([32, 64, 96]))
    found = reference(x, axis=axis, block_size=block, max_low_bound=bound, **rule._asdict())
    format, mode, *end = rule
    assert_same_bits(found, mx_loops.along(x, axis, format, mode, *end, bound, block=block))


def every(dtype: np.dtype) -> Array:
    return np.arange(1 << 16, dtype=np.uint16).view(dtype)


def same(x: Array, **options: Any) -> None:
    assert_same_bits(npu_dynamic_mx_quant(x, **options), reference(x, **options))


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("sixteen", DTYPES[:2], ids=lambda d: d.name)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: "-".join(map(str, rule)))
class TestEvery16BitNumber:
    """As a block's greatest, and as an element of blocks with several greatest ones."""

    def test_alone(self, sixteen: np.dtype, rule: Rule) -> None:
        same(np.stack([every(sixteen), np.zeros(1 << 16, sixteen)], 1), **rule._asdict())

    def test_among_others(self, sixteen: np.dtype, rule: Rule) -> None:
        for greatest in (1.0, 1.75, 448.0, 65504.0, 6e-8, 2.0**127, 2.0**-120):
            with np.errstate(over="ignore"):
                x = np.full((2048, 64), greatest).astype(sixteen)
            x[:, 1:33] = every(sixteen).reshape(2048, 32)
            same(x, axis=0, **rule._asdict())
            same(x, **rule._asdict())


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: "-".join(map(str, rule)))
def test_float32_at_the_edges_of_every_binade(rule: Rule) -> None:
    """The greatest: next to powers of 2 and to what the bytes change at; elements: next to ties."""
    exponents = np.arange(1 << 8, dtype=np.uint32)[:, None] << 23
    tops = np.float32([1, 1.5, 1.75, 1.0625, *(v / 8 for v in range(8, 16)), 1.75 - 2**-24])
    fractions = (tops.view(np.uint32) & 0x7FFFFF)[None]
    bits = (exponents + fractions)[..., None] + np.arange(-2, 3, dtype=np.int64)
    amax = np.unique(np.clip(bits, 0, 0x7FFFFFFF)).astype(np.uint32).view(np.float32)
    same(np.stack([amax, -amax], 1), **rule._asdict())
    ties = np.unique(np.arange(-4097, 4098) / 512 * 2.0 ** np.arange(-12, 7)[:, None])
    ties = ties.astype(np.float32)
    near = np.concatenate([ties, *(np.nextafter(ties, np.float32(to)) for to in (-1e9, 1e9))])
    near = near[: near.size // 62 * 62].reshape(-1, 31)
    for greatest in (448, 6):
        same(np.insert(near, 0, greatest, axis=1), **rule._asdict())


def test_max_low_bound_is_the_least_amax(rng: np.random.Generator) -> None:
    """Next to where the byte changes, subnormal, and rounded to float32 first."""
    x = np.asarray(rng.standard_normal((64, 40)) * 2.0 ** rng.integers(-20, 9, (64, 1)), np.float32)
    for bound in (448.0, np.nextafter(np.float32(448), np.float32(500)), 1e-50, 1e-40, 3e38, 0.1):
        for to in (E4M3, E5M2):
            same(x, dst_type=to, scale_alg=1, max_low_bound=float(bound))
            same(x, dst_type=to, scale_alg=1, max_low_bound=float(bound), block_size=64, axis=0)
