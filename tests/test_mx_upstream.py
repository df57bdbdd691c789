"""What upstream's kernels and goldens of MX do otherwise: just that, and just there.

Each formula is theirs in a few lines of NumPy, as documents and sources have it; ours are the
operators' own results.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import npu_quant
from npu_quant import formats
from npu_quant.ops import dynamic_block_mx_quant, grouped_dynamic_block_quant

Array = NDArray[Any]
F32, BF16 = np.float32, ml_dtypes.bfloat16
E4M3, E2M1 = "float8_e4m3fn", "float4_e2m1"
EMAX = {E4M3: 8, "float8_e5m2": 15, E2M1: 2, "float4_e1m2": 0}


def blocks_of_every_size(dtype: Any = F32) -> Array:
    """Return rows of two blocks, each row of another power of two, down to subnormal numbers."""
    x = np.random.default_rng(2).uniform(0.5, 1, (270, 64)) * 2.0 ** np.arange(-149, 121)[:, None]
    x[:, ::3] *= -1
    with np.errstate(all="ignore"):
        return np.asarray(x.astype(F32).astype(dtype))


def amax_of(x: Array) -> Array:
    return np.abs(x.astype(np.float64)).reshape(len(x), -1, 32).max(-1)


def own(x: Array, name: str = E2M1, **more: Any) -> tuple[Array, Array]:
    """Return the codes as an element each, in bytes, and a byte for each block."""
    y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name, **more)
    codes = formats.unpack_fp4(y) if name[5] == "4" else y.view(np.uint8)
    return codes, mxscale.reshape(len(x), -1)


def of_blocks(flags: Array) -> Array:
    return np.repeat(flags, 32, axis=1)


@pytest.mark.parametrize("name", EMAX)
def test_the_kernel_has_zeros_where_a_byte_is_0(name: str) -> None:
    """In place of the codes of x * 2^127."""
    x = np.abs(blocks_of_every_size())
    y, b = own(x, name)
    amax = amax_of(x)
    assert (b == np.maximum(np.floor(np.log2(amax)) - EMAX[name] + 127, 0)).all()
    kernel = np.where(of_blocks(b == 0), 0, y)
    apart = (kernel != y).reshape(len(x), 2, 32).any(-1)
    is_lost = (b == 0) & (amax * 2.0**127 > formats.info(name).least_step / 2)
    assert (apart == is_lost).all()
    assert 0 < apart.sum() < apart.size


@pytest.mark.parametrize(("end", "part"), [(6, 1.5), (7, 1.75)])
def test_the_kernel_cuts_amax_to_bfloat16_in_scale_alg_2(end: float, part: float) -> None:
    """float32's lower half is dropped: a hair above 1.5 or 1.75 * 2^k is not rounded up."""
    exact = part * 2.0 ** np.arange(-60, 60)
    inside = exact * (1 + 2.0**-8)  # less than a step of bfloat16
    beyond = exact * (1 + 2.0**-7) * (1 + 2.0**-20)
    for amax, differs in ((exact, False), (inside, True), (beyond, False)):
        x = np.zeros((len(amax), 64), F32)
        x[:, 5] = amax
        b = own(x, scale_alg=2, dst_type_max=float(end))[1][:, 0]
        cut = (x[:, 5].view(np.uint32) & np.uint32(0xFFFF0000)).view(F32).astype(np.float64)
        kernel = np.ceil(np.log2(cut / end)) + 127
        assert ((b != kernel) == differs).all()
        assert (b - kernel == differs).all()


@pytest.mark.parametrize(("end", "part"), [(0, 1.5), (6, 1.5), (7, 1.75)])
def test_the_kernel_rounds_float16_amax_to_bfloat16_in_scale_alg_2(end: float, part: float) -> None:
    """To nearest: of all amax only a hair above 1.5 or 1.75 * 2^k, up to the tie, is another."""
    amax = np.arange(1, 0x7C00, dtype=np.uint16).view(np.float16)
    x = np.zeros((len(amax), 64), np.float16)
    x[:, 7] = amax
    b = own(x, scale_alg=2, dst_type_max=float(end))[1][:, 0]
    mantissa, exponent = np.frexp(amax.astype(np.float64))
    assert (b == exponent - 1 - 2 + 127 + (2 * mantissa > part)).all()
    rounded = amax.astype(F32).astype(BF16).astype(np.float64)
    kernel = np.ceil(np.log2(rounded / (end or 6))) + 127
    hair = 2 * mantissa - part
    assert ((b != kernel) == ((hair > 0) & (hair <= 2.0**-8))).all()
    assert (b - kernel <= 1).all()
    assert (b != kernel).sum() > 100


@pytest.mark.parametrize("end", [8.5, 11.75])
def test_the_kernel_has_byte_0_up_to_twice_the_bound_of_other_ends(end: float) -> None:
    """Between D * 2^-127 and D * 2^-126, neither included, it is 0 there and 1 here."""
    least = F32(end * 2.0**-127)
    amax = np.array([least, np.nextafter(least, F32(1)), least * F32(1.5)], F32)
    amax = np.append(amax, [np.nextafter(2 * least, F32(0)), 2 * least, 3 * least]).astype(F32)
    x = np.zeros((6, 64), F32)
    x[:, 1] = amax
    b = own(x, scale_alg=2, dst_type_max=end)[1][:, 0]
    wide = amax.astype(np.float64)
    kernel = np.where(wide < 2.0**-126 * end, 0, np.ceil(np.log2(wide / end)) + 127)
    assert kernel.tolist() == [0, 0, 0, 0, 1, 2]
    assert b.tolist() == [0, 1, 1, 1, 1, 2]


def test_the_kernel_has_byte_0_for_zeros_below_a_bound() -> None:
    x = np.zeros((2, 64), BF16)
    x[1] = 0.25
    b = own(x, E4M3, scale_alg=1, max_low_bound=0.5)[1]
    documented = np.ceil(np.log2(np.maximum(amax_of(x), 0.5) / 448)) + 127
    kernel = np.where(amax_of(x) == 0, 0, documented)
    assert (b == documented).all()
    assert ((b != kernel) == (amax_of(x) == 0)).all()


def test_kernels_multiply_bfloat16_in_bfloat16() -> None:
    """Products below 2^-126 lose bits; all others are the same."""
    x = np.zeros((60, 64), BF16)
    x[:, 0] = 2.0**100
    x[:, 1] = -(1 + 1 / 128) * 2.0 ** np.arange(-74, -14)  # floor tells -0 from less
    y, b = own(x, "float4_e2m1", round_mode="floor")
    wide = x.astype(np.float64) * 2.0 ** (127 - b[:, :1].astype(np.float64))
    product, narrow = wide.astype(F32), wide.astype(F32).astype(BF16).astype(F32)
    assert ((product != narrow) <= (np.abs(wide) < 2.0**-126)).all()
    assert (product != narrow).any()
    assert (y[:, 1] == np.where(product[:, 1] == 0, 8, 9)).all()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_the_kernel_of_anti_mx_quant_saturates(name: str) -> None:
    codes = np.tile(np.array([448, -448, 1, 0], ml_dtypes.float8_e4m3fn), (255, 1))
    mxscale = np.stack([np.arange(255), np.zeros(255)], -1).astype(np.uint8)[:, None]
    y = npu_quant.npu_anti_mx_quant(codes, mxscale, dst_type=name)
    greatest = F32(ml_dtypes.finfo(name).max)
    with np.errstate(over="ignore"):
        value = codes.astype(np.float64) * 2.0 ** (np.arange(255.0)[:, None] - 127)
        kernel = np.clip(value, -greatest, greatest).astype(name)
    apart = y != kernel
    assert apart.any()
    assert (apart == np.isinf(y)).all()
    assert (np.sign(y[apart].astype(F32)) == np.sign(value[apart])).all()


def test_the_golden_divides_in_float64() -> None:
    """With floor a negative quotient that float32 has none of is below 0: code 9, and 8 here."""
    x = np.zeros((40, 64), F32)
    x[:, 0] = 2.0**100
    x[:, 1] = -(2.0 ** np.arange(-71, -31))
    y, b = own(x, round_mode="floor")
    quotient = x[:, 1].astype(np.float64) / 2.0 ** (b[:, 0].astype(np.float64) - 127)
    golden = np.where(quotient < 0, 9, 8)
    assert (golden == 9).all()
    assert ((y[:, 1] == 8) == (quotient >= -(2.0**-150))).all()
    assert (y[:, 1] == 8).any()
    assert (y[:, 1] == 9).any()


def test_the_golden_of_block_mx_quant_loses_subnormals() -> None:
    """Elements that are subnormal in bfloat16 become 0 there: floor of a negative one shows it."""
    x = np.zeros((32, 32), BF16)
    x[0] = -(2.0 ** np.arange(-133, -101))
    y, scale, _ = dynamic_block_mx_quant.reference(x, round_mode="floor")
    codes = formats.unpack_fp4(y)[0]
    kept = np.where(np.abs(x[0].astype(np.float64)) < 2.0**-126, 0, x[0].astype(np.float64))
    quotient = kept * 2.0 ** (127 - float(scale[0, 0, 0]))
    assert ((codes != 0) & (quotient == 0) == (np.arange(-133, -101) < -126)).all()


def test_goldens_of_groups_have_bytes_of_1_between_groups() -> None:
    """Pairs of rows of no block hold 127 there, scale 1, and 0 here."""
    x = np.ones((100, 2), BF16)
    groups = np.array([32, 64, 100], np.int32)
    mxscale = npu_quant.npu_grouped_dynamic_mx_quant(x, groups)[1]
    golden = np.full((100 // 64 + 3, 2, 2), 127, np.uint8)
    for j, (begin, end) in enumerate(((0, 32), (32, 64), (64, 100))):
        blocks = -(-(end - begin) // 32)
        golden[begin // 64 + j] = 112, 112 * (blocks > 1)
    assert golden[:, 0].tolist() == [[112, 0], [112, 0], [127, 127], [112, 112]]
    assert ((mxscale != golden) == (golden == 127)).all()
    assert not mxscale[2].any()


def test_block_quant_bounds_the_scale_of_an_infinity() -> None:
    """Kernel and golden give inf; by the document it is min(amax / C, 1 / min_scale)."""
    x = np.array([[np.inf, 1], [3, -4]], np.float16)
    groups = np.array([2], np.int32)
    scale = grouped_dynamic_block_quant.reference(x, groups, min_scale=0.5)[1]
    assert scale[:2, 0].tolist() == [2.0, F32(4) / F32(57344)]


def test_the_golden_of_grouped_block_quant_rounds_to_8_decimals() -> None:
    """A tie that has more decimals is none there: the code below, and the even one here."""
    x = np.array([[57344, 1.375 * 2**-8, 1.125 * 2**-8, 1.375 * 2**-2]], F32)
    y, scale = grouped_dynamic_block_quant.reference(x, np.array([1], np.int32))
    assert scale[0, 0] == 1
    golden = np.round(x.astype(np.float64), 8).astype(F32).astype(ml_dtypes.float8_e5m2)
    assert (y != golden).tolist() == [[False, True, False, False]]
    assert y[0, 1].astype(F32) == 1.5 * 2**-8
    assert golden[0, 1].astype(F32) == 1.25 * 2**-8


def test_the_golden_of_grouped_block_quant_uses_a_scale_up_for_an_empty_group() -> None:
    """Rows behind one are divided by the next row's scale, and the last row by 0; here by theirs."""
    x = np.array([[1, -0.75], [4, 3], [-16, 0.5]], F32) * 57344
    groups = np.array([1, 1, 3], np.int32)
    y, scale = npu_quant.npu_grouped_dynamic_block_quant(x, groups)
    assert scale[:, 0].tolist() == [1, 0, 0, 4, 16, 0]  # the rows' own, where their groups begin
    assert (y == (x / F32([[1], [4], [16]])).astype(ml_dtypes.float8_e5m2)).all()
    with np.errstate(divide="ignore"):
        golden = np.clip(x / F32([[1], [16], [0]]), -57344, 57344).astype(ml_dtypes.float8_e5m2)
    assert (y != golden).tolist() == [[False, False], [True, True], [False, True]]
    assert npu_quant.npu_grouped_dynamic_block_quant(x, groups[[0, 2]])[0].tobytes() == y.tobytes()


def test_dividing_by_1_75_gives_the_byte_of_every_amax() -> None:
    """By the others one amax differs, next above D * 2^-127: from 2 on, where that is normal.

    These are all A below 2^-124; of greater ones A / D is normal, and its mantissa that of A's.
    """
    end = F32(1.75)
    for begin in range(0, 3 << 23, 1 << 22):
        amax = np.arange(begin, begin + (1 << 22), dtype=np.uint32).view(F32)
        part, exponent = np.frexp(amax)
        b = np.where(amax == 0, 0, np.maximum(exponent + 126 + (part > F32(0.875)), 0))
        for s in (amax / end, amax * (F32(1) / end)):
            bits = s.view(np.uint32)
            exponents, mantissa = bits >> 23, bits & 0x7FFFFF
            up = (mantissa > 0) & (exponents > 0) | (mantissa > 0x400000)
            assert (exponents + up == b).all()
