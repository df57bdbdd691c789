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

    def test_the_documents_example(self) -> None:
        """Of aclnnDynamicMxQuantV3: a bound that is less than the amax."""
        x = np.array([0, 8, 64, 512], ml_dtypes.bfloat16)
        y, mxscale = npu_dynamic_mx_quant(x, dst_type=E4M3, scale_alg=1, max_low_bound=0.5)
        assert y.view(np.uint8).tolist() == [0, 72, 96, 120]
        assert mxscale.tolist() == [[128, 0]]

    def test_zeros_with_a_bound_have_its_byte(self, dtype: np.dtype) -> None:
        x = np.array([[0.0, -0.0], [2, 0]], dtype)
        y, mxscale = npu_dynamic_mx_quant(x, dst_type=E4M3, scale_alg=1, max_low_bound=1.0)
        assert mxscale.tolist() == [[[119, 0]], [[120, 0]]]
        assert y.view(np.uint8).tolist() == [[0, 0x80], [0x78, 0]]

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


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(RULES))
def test_formula_is_that_of_a_loop(data: st.DataObject, rule: Rule) -> None:
    x = data.draw(arrays((1, 4), is_even="float4" in rule.dst_type))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    bound = (
        data.draw(st.sampled_from([0.0, 0.7, 1e-50, 1e-41, 448.5])) if rule.scale_alg == 1 else 0.0
    )
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
