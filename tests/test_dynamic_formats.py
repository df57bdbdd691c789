"""The symmetric dynamic quantizers in every format, by hand; of rows that are blocks, too."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from test_small_formats import TIES
from witnesses import assert_same_bits, normal, with_specials

from npu_quant import npu_dynamic_block_quant, npu_dynamic_quant

FORMATS = ["int8", "int4", "float8_e4m3fn", "float8_e5m2", "hifloat8"]
ROW = [0, 1, -2, 4, -0.0, 0.5, 3, -4]


def rounding(to: str) -> str:
    """Return the round_mode that belongs to a format."""
    return "round" if to == "hifloat8" else "rint"


def hexes(codes: NDArray[np.generic]) -> str:
    """Return bytes, or the words of int4, as they are written by hand."""
    if codes.dtype == np.int32:
        return " ".join(f"{word:08X}" for word in codes.view(np.uint32).ravel())
    return " ".join(f"{byte:02X}" for byte in codes.view(np.uint8).ravel())


def of_row(x: NDArray[np.generic], to: str, greatest: float = 0.0) -> tuple[str, int]:
    """Return the codes of one row, and its scale's bits; a row of one block gives the same."""
    y, scale = npu_dynamic_quant(x[None], dst_type=to, dst_type_max=greatest)
    by_block = npu_dynamic_block_quant(
        x[None], dst_type=to, dst_type_max=greatest, round_mode=rounding(to)
    )
    assert_same_bits(by_block, (y, scale[:, None]))
    return hexes(y), int(scale.view(np.uint32)[0])


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand from the formats' definitions (docs/numerics.md)."""

    @pytest.mark.parametrize(
        ("to", "codes", "scale"),
        [
            ("int8", "00 20 C0 7F 00 10 5F 81", 0x3D010204),  # -63.5 is a tie: to even
            ("int4", "95107D20", 0x3F124925),  # 4 / 7 is rounded up: -2 / scale is above -3.5
            ("float8_e4m3fn", "00 6E F6 7E 80 66 7A FE", 0x3C124925),
            ("float8_e5m2", "00 73 F7 7B 80 6F 79 FB", 0x38924925),
            ("hifloat8", "00 6A EC 6E 00 68 6D EE", 0x39000000),
        ],
    )
    def test_row(self, to: str, codes: str, scale: int) -> None:
        assert of_row(np.array(ROW, np.float16), to) == (codes, scale)
        assert of_row(np.array(ROW, np.float32), to) == (codes, scale)

    @pytest.mark.parametrize("to", TIES)
    def test_ties_at_scale_1(self, to: str) -> None:
        """Also among values that keep away from the ends of a vector."""
        row, text = TIES[to]
        each = np.dtype(np.int32 if to == "int4" else np.uint8)
        codes = hexes(np.frombuffer(bytes.fromhex(text), each))
        for dtype in (np.float16, np.float32):
            x = np.array(row, dtype)
            assert of_row(x, to) == (codes, 0x3F800000)
            long = np.concatenate([x] * 16)
            assert of_row(long[: len(long) // 128 * 128], to)[0].startswith(codes)

    def test_greatest_code_of_hifloat8(self) -> None:
        """It sets the scale; codes go on to 32768."""
        codes, scale = of_row(np.array([30, 1, -2, 4], np.float16), "hifloat8", 15)
        assert (codes, scale) == ("2F 18 88 10", 0x40000000)
        y, _ = npu_dynamic_block_quant(
            np.array([[40000]], np.float32),
            dst_type="hifloat8",
            round_mode="round",
            dst_type_max=15,
            min_scale=2,
        )
        assert hexes(y) == "6E"

    def test_infinities(self) -> None:
        x = np.array([[1, -2, np.inf, -0.0]], np.float16)
        y, scale = npu_dynamic_quant(x, dst_type="float8_e4m3fn")
        assert (hexes(y), scale.tolist()) == ("00 80 00 80", [np.inf])
        y, scale = npu_dynamic_quant(
            np.array([[1, -np.inf, -2, 0]], np.float16), dst_type="float8_e5m2"
        )
        assert (hexes(y), scale.tolist()) == ("00 00 80 00", [np.inf])
        y, scale = npu_dynamic_block_quant(x, dst_type="float8_e4m3fn", min_scale=0.5)
        assert (hexes(y), scale.tolist()) == ("30 B8 7E 80", [[2]])

    @pytest.mark.parametrize(
        ("to", "codes"),
        [
            ("int8", "00 00 00 00 00 7F 00 80"),
            ("int4", "80700000"),
            ("float8_e4m3fn", "00 00 00 00 00 7E 00 FE"),
            ("float8_e5m2", "00 00 00 00 00 7B 00 FB"),
            ("hifloat8", "00 00 00 00 00 6E 00 EE"),
        ],
    )
    def test_groups_without_a_scale(self, to: str, codes: str) -> None:
        """Of zeros and of NaN all codes are 0; where amax / greatest underflows, others saturate."""
        zeros = np.array([0, -0.0] * 4, np.float32)
        assert set(of_row(zeros, to)[0]) <= {"0", " "}
        assert of_row(zeros, to)[1] == 0
        nan = np.array([np.nan, -0.0, np.inf, 1, -1, 2, 3, 4], np.float32)
        assert set(of_row(nan, to)[0]) <= {"0", " "}
        assert of_row(nan, to)[1] == 0x7FC00000
        tiny = np.finfo(np.float32).smallest_subnormal * np.array([0, -0.0] * 4, np.float32)
        tiny[5], tiny[7] = 1e-45, -1e-45
        assert of_row(tiny, to) == (codes, 0)


@hypothesis_settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(DTYPES),
    st.sampled_from(FORMATS),
    st.integers(1, 5),
    st.integers(1, 32),
)
def test_a_row_is_a_block(seed: int, dtype: np.dtype, to: str, rows: int, eighths: int) -> None:
    """Rows of up to 256 elements, with whatever is out of the ordinary."""
    x = with_specials(np.random.default_rng(seed), normal(np.random.default_rng(seed), (rows, 8 * eighths), dtype))  # fmt: skip
    y, scale = npu_dynamic_quant(x, dst_type=to)
    by_block = npu_dynamic_block_quant(x, dst_type=to, col_block_size=256, round_mode=rounding(to))
    assert_same_bits((y, scale[:, None]), by_block)


@pytest.mark.parametrize("to", FORMATS)
def test_factors_multiply_first(to: str, rng: np.random.Generator) -> None:
    """Powers of two are exact factors, in rows of any length and layout."""
    for n in (8, 24, 72, 5000):
        x = normal(rng, (9, n), np.dtype(np.float16))
        factors = np.exp2(rng.integers(-2, 3, n)).astype(np.float16)
        expected = npu_dynamic_quant(x.astype(np.float32) * factors, dst_type=to)
        assert_same_bits(npu_dynamic_quant(x, smooth_scales=factors, dst_type=to), expected)
        columns = np.asfortranarray(x)
        assert_same_bits(npu_dynamic_quant(columns, smooth_scales=factors, dst_type=to), expected)
