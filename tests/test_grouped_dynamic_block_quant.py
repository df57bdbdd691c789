"""npu_grouped_dynamic_block_quant by hand, its formula against a loop, and many groups."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import mx_loops
import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from mx_arrays import SEEDS, ends, numbers
from witnesses import Array, assert_same_bits

from npu_quant import npu_dynamic_block_quant, npu_grouped_dynamic_block_quant
from npu_quant.ops.grouped_dynamic_block_quant import reference

E4M3, E5M2 = 292, 291


def groups(*at: int) -> Array:
    return np.array(at, np.int32)


def row(*x: float) -> Array:
    return np.array([x], np.float32)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Stated by documents, or worked by hand."""

    def test_zeros(self) -> None:
        y, scale = npu_grouped_dynamic_block_quant(np.zeros((1, 2), np.float16), groups(1))
        assert (y.dtype.name, y.shape) == ("float8_e5m2", (1, 2))
        assert not y.view(np.uint8).any()
        assert_same_bits((scale,), (np.zeros((2, 1), np.float32),))

    def test_row_with_a_tie(self) -> None:
        y, scale = npu_grouped_dynamic_block_quant(
            np.float16([[1, -2, 4, 3]]), groups(1), dst_type=E4M3
        )
        assert scale.view(np.uint32).tolist() == [[0x3C124925], [0]]
        assert y.astype(np.float32).tolist() == [[112, -224, 448, 320]]

    def test_blocks_begin_anew_in_each_group(self) -> None:
        """Rows 0 to 129 in two blocks, one row, none, and two rows."""
        x = np.ones((133, 130), np.float16)
        x[129, 129], x[130, 0], x[131, 0], x[132, 0] = 2, 4, 8, 16
        at = groups(130, 131, 131, 133)
        y, scale = npu_grouped_dynamic_block_quant(x, at, dst_type=E4M3, row_block_size=128)
        amax = [[1, 1], [1, 2], [4, 1], [0, 0], [16, 1]]
        assert_same_bits((scale,), (np.array(amax, np.float32) / np.float32(448),))
        codes = [y[129, 129], y[129, 128], y[130, 1], y[132, 0], y[131, 0], y[131, 129]]
        assert [float(code) for code in codes] == [448, 224, 112, 448, 224, 448]

    def test_batches_have_the_same_groups(self) -> None:
        x = np.array([[[1], [2]], [[4], [8]]], np.float32)
        y, scale = npu_grouped_dynamic_block_quant(x, groups(1, 2))
        amax = np.array([[[1], [0], [2], [0]], [[4], [0], [8], [0]]], np.float32)
        assert_same_bits((scale,), (amax / np.float32(57344),))
        assert (y.astype(np.float32) == 57344).all()

    def test_nan(self) -> None:
        y, scale = npu_grouped_dynamic_block_quant(row(1, np.nan, -np.inf, -1), groups(1))
        assert scale.view(np.uint32).tolist() == [[0x7FC00000], [0]]
        assert y.view(np.uint8).tolist() == [[0, 0, 0, 0]]

    def test_infinity(self) -> None:
        y, scale = npu_grouped_dynamic_block_quant(row(1, -1, np.inf, -np.inf), groups(1))
        assert scale.tolist() == [[np.inf], [0]]
        assert y.view(np.uint8).tolist() == [[0, 0x80, 0, 0]]

    def test_infinity_with_a_bound(self) -> None:
        y, scale = npu_grouped_dynamic_block_quant(
            row(1, -1, np.inf, -np.inf), groups(1), min_scale=2
        )
        assert scale.tolist() == [[0.5], [0]]
        assert y.astype(np.float32).tolist() == [[2, -2, 57344, -57344]]

    def test_scale_that_underflows(self) -> None:
        y, scale = npu_grouped_dynamic_block_quant(
            row(1e-45, -1e-45, 0, -0.0), groups(1), dst_type=E4M3
        )
        assert scale.tolist() == [[0], [0]]
        assert y.view(np.uint8).tolist() == [[0x7E, 0xFE, 0, 0]]

    def test_hifloat8(self) -> None:
        """Ties away from zero, another greatest value, and codes that end at 32768 all the same."""
        x = row(15, 1.0625, -1.0625, 0.0, -1e-9)
        y, scale = npu_grouped_dynamic_block_quant(
            x, groups(1), dst_type=290, round_mode="round", dst_type_max=15
        )
        assert scale.tolist() == [[1], [0]]
        assert y.tolist() == [[0x2F, 0x09, 0x89, 0, 0]]
        y, scale = npu_grouped_dynamic_block_quant(x, groups(1), dst_type=290, round_mode="round")
        assert scale.view(np.uint32).tolist() == [[0x39F00000], [0]]  # 15 * 2^-15
        assert (y[0, 0], y[0, 3]) == (0x6E, 0)

    def test_scale_that_overflows(self) -> None:
        options = {"dst_type": 290, "round_mode": "round", "dst_type_max": 0.5}
        y, scale = npu_grouped_dynamic_block_quant(row(3e38, -1, 0), groups(1), **options)
        assert (y.tolist(), scale.tolist()) == ([[0, 0, 0]], [[np.inf], [0]])

    def test_scale_that_is_subnormal(self) -> None:
        """3 * 2^-149 / 448 is 0, 2^-132 / 448 is 2^-140 and 2 / 7 of it: 293 steps of 2^-149."""
        x = row(2.0**-132, -(2.0**-133), 2.0**-149)
        y, scale = npu_grouped_dynamic_block_quant(x, groups(1), dst_type=E4M3)
        assert scale.view(np.uint32).tolist() == [[293], [0]]
        assert y.astype(np.float32).tolist() == [[448, -224, 2.0**-8]]

    def test_negative_zero(self) -> None:
        x = row(448, -0.0, -(2.0**-20))
        assert npu_grouped_dynamic_block_quant(x, groups(1), dst_type=E4M3).y.view(
            np.uint8
        ).tolist() == [[0x7E, 0x80, 0x80]]
        y = npu_grouped_dynamic_block_quant(x, groups(1), dst_type=290, round_mode="round").y
        assert y.tolist()[0][1] == 0

    def test_rows_of_no_block_and_empty_groups(self) -> None:
        """Into memory that held something else."""
        x, y = np.full((3, 2), 448, np.float32), np.zeros((3, 2), ml_dtypes.float8_e4m3fn)
        out = y, np.full((7, 1), 9, np.float32)
        scale = npu_grouped_dynamic_block_quant(x, groups(0, 1, 1, 3), dst_type=E4M3, out=out).scale
        assert scale[:, 0].tolist() == [0, 1, 0, 0, 1, 1, 0]
        assert (y == 448).all()

    @pytest.mark.parametrize("shape", [(0, 4), (4, 0), (2, 0, 4), (0, 2, 4)])
    def test_empty(self, shape: tuple[int, ...]) -> None:
        y, scale = npu_grouped_dynamic_block_quant(
            np.zeros(shape, np.float32), groups(shape[-2]), row_block_size=128
        )
        assert y.shape == shape
        assert_same_bits((scale,), (np.zeros((*shape[:-2], 1, (shape[-1] + 127) // 128), "f4"),))


def divided(x: float, scale: float) -> float:
    """Return the float32 quotient, by the exact one."""
    if not math.isfinite(x) or not math.isfinite(scale) or scale == 0:
        with np.errstate(all="ignore"):
            return float(np.float64(x) / np.float64(scale))  # 0, infinite or NaN: the same as exact
    return mx_loops.rounded(Fraction(x) / Fraction(scale), math.copysign(1, x) < 0, "float32")


def code_of(q: float, format: str) -> int:
    if math.isnan(q):
        return 0
    top = mx_loops.CODES[format].top
    v = Fraction(q) if math.isfinite(q) else top * int(math.copysign(1, q))
    return mx_loops.code_of(v, math.copysign(1, q) < 0, format, "rint")


def loop(
    x: Array, at: list[int], format: str, rows: int, columns: int, min_scale: float
) -> tuple[Array, Array]:
    *batches, m, n = x.shape
    codes = np.zeros(x.shape, np.uint8)
    scales = np.zeros((*batches, m // rows + len(at), (n + columns - 1) // columns), np.float32)
    bound = divided(1, float(mx_loops.float32(min_scale))) if min_scale else math.inf
    for head in np.ndindex(*batches):
        start = 0
        for j, end in enumerate(at):
            for (r, down), (c, across) in (
                (d, a)
                for d in mx_loops.chunks(end - start, rows)
                for a in mx_loops.chunks(n, columns)
            ):
                places = [(*head, start + i, k) for i in down for k in across]
                xs = [float(x[place]) for place in places]
                has_nan = any(map(math.isnan, xs))
                amax = math.nan if has_nan else max(map(abs, xs))
                scale = divided(amax, float(mx_loops.CODES[format].top))
                scale = bound if scale > bound else scale
                scales[(*head, start // rows + j + r, c)] = scale
                for place, value in zip(places, xs, strict=True):
                    codes[place] = code_of(divided(value, scale), format)
            start = end
    return mx_loops.held(codes, format), scales


@settings(max_examples=40, deadline=None)
@given(
    st.data(),
    SEEDS,
    st.sampled_from(DTYPES),
    st.sampled_from(["float8_e4m3fn", "float8_e5m2"]),
    st.sampled_from([1, 128]),
    st.sampled_from([64, 128]),
    st.sampled_from([0.0, 1e-3, 3.0, 1e30]),
)
def test_against_a_loop(
    data: st.DataObject,
    seed: int,
    dtype: np.dtype,
    format: str,
    rows: int,
    columns: int,
    min_scale: float,
) -> None:
    sizes = st.sampled_from([(4, 200), (0, 3), (3, 0), (2, 3, 70), (140, 3), (300, 2), (2, 150, 2)])
    shape = data.draw(sizes)
    x, at = numbers(seed, shape, dtype), ends(data.draw, shape[-2])
    found = reference(
        x,
        groups(*at),
        min_scale=min_scale,
        dst_type=format,
        row_block_size=rows,
        col_block_size=columns,
    )
    assert_same_bits(found, loop(x, at, format, rows, columns, min_scale))


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("block", [(1, 128), (128, 64), (512, 192)])
def test_each_group_is_a_call_of_its_own(block: tuple[int, int], rng: np.random.Generator) -> None:
    """Of more groups than rows, in memory that held something else."""
    batches, m, n = 2, 1100, 200
    options = {"dst_type": E4M3, "row_block_size": block[0], "col_block_size": block[1]}
    x = np.asarray(rng.standard_normal((batches, m, n)), np.float16)
    for g in (1, 3, 40, 1300):
        at = np.sort(np.append(rng.integers(0, m + 1, g - 1), m)).astype(np.int32)
        y = np.full((batches, m, n), 9, np.uint8).view(ml_dtypes.float8_e4m3fn)
        scale = np.full((batches, m // block[0] + g, -(-n // block[1])), 9, np.float32)
        npu_grouped_dynamic_block_quant(x, at, **options, out=(y, scale))
        is_written = np.zeros(scale.shape[1], bool)
        start = 0
        for j, end in enumerate(at.tolist()):
            codes, scales = npu_dynamic_block_quant(x[:, start:end], **options)
            first = start // block[0] + j
            lines = slice(first, first + scales.shape[1])
            assert_same_bits((y[:, start:end], scale[:, lines]), (codes, scales))
            is_written[lines] = True
            start = end
        assert not scale[:, ~is_written].any()
