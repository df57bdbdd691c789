"""Codes of int4, float8 and hifloat8 by hand: what npu_quantize and others give, and the way back."""

from __future__ import annotations

import zlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from witnesses import Array, assert_same_but_nan

from npu_quant import _codes, npu_add_rms_norm_quant, npu_anti_quant, npu_dtype_cast, npu_quantize

E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
ONE = np.ones(1, np.float32)
# What a zero point of 0 and none make of -0 is the last of each.
VALUES = [1, -1.5, 0.3, 448, -500, 1e-4, -1e-4, -0.0]
VECTORS = {
    "float8_e4m3fn": ("38 bc 2a 7e fe 00 80 80", "38 bc 2a 7e fe 00 80 00"),
    "float8_e5m2": ("3c be 35 5f e0 07 87 80", "3c be 35 5f e0 07 87 00"),
    "hifloat8": ("08 8c 32 62 e2 7d fd 00", "08 8c 32 62 e2 7d fd 00"),
}
# Ties and ends, at scale 1.
TIES = {
    "float8_e4m3fn": (
        [448, 336, 240, 17, -18, 1.0625, -1e-3, 2**-10, -(2**-10), 3 * 2**-10, 0, -0.0],
        "7e 7a 77 58 d9 38 81 00 80 02 00 80",
    ),
    "float8_e5m2": (
        [57344, 1.125, 1.375, -1.375, -1e-6, 2**-17, 3 * 2**-17, 5],
        "7b 3c 3e be 80 00 02 45",
    ),
    "hifloat8": (
        [32768, 1.0625, 1.1875, 7.75, 18, -240, 2**-23, -(2**-24), -(2**-23)],
        "6e 09 0a 28 41 e0 01 00 81",
    ),
    "int4": ([7, 3.5, -3.5, 0.5, -0.5, 1.5, 2.5, -7], "47 0c 20 92"),
}
CHECKSUMS = {
    "float8_e4m3fn": (0x022BEF13, 0x7AE2B0C5),
    "float8_e5m2": (0x25C6ABA9, 0x99292C69),
    "hifloat8": (0x49B66694, 0xDFA6C0C4),
    "int4": (0xBD9621A8, 0xF142E972),
}
# Of bfloat16, a code a byte.
FLOAT4_CHECKSUMS = {"float4_e2m1": 0x198B253C, "float4_e1m2": 0xCF467FA0}
GREATEST = {"float8_e4m3fn": "7e", "float8_e5m2": "7b", "hifloat8": "6e"}


def codes(x: Any, format: str, zero_points: Array | None = None, **others: Any) -> str:
    """Quantize a list of float32 by a scale of 1, or another."""
    scale = others.pop("scale", ONE)
    y = npu_quantize(np.array(x, np.float32), scale, zero_points, format, 0, **others)
    return y.tobytes().hex(" ")


@pytest.mark.usefixtures("target")
class TestQuantize:
    @pytest.mark.parametrize("format", VECTORS)
    @pytest.mark.parametrize("div_mode", [True, False])
    def test_values_and_the_sign_of_a_zero(self, format: str, div_mode: bool) -> None:
        without, with_zero = VECTORS[format]
        assert codes(VALUES, format, div_mode=div_mode) == without
        assert codes(VALUES, format, np.zeros(1, np.int32), div_mode=div_mode) == with_zero
        assert codes(VALUES, format, -np.zeros(1, np.float32), div_mode=div_mode) == without

    @pytest.mark.parametrize("format", TIES)
    def test_ties_and_ends(self, format: str) -> None:
        x, expected = TIES[format]
        assert (
            codes(x, format) == npu_dtype_cast(np.float32(x), format).tobytes().hex(" ") == expected
        )

    @pytest.mark.parametrize(("format", "greatest"), GREATEST.items())
    def test_out_of_range_and_nan(self, format: str, greatest: str) -> None:
        least = f"{int(greatest, 16) + 128:02x}"
        assert codes([np.inf, 3e38, -np.inf, np.nan, -np.nan], format) == (
            f"{greatest} {greatest} {least} 00 00"
        )

    @pytest.mark.parametrize("format", VECTORS)
    def test_zero_and_infinite_scales(self, format: str) -> None:
        """By 0: a 0 becomes NaN, and 00; by infinity, the zero keeps its sign where it has one."""
        end = GREATEST[format]
        minus = "00" if format == "hifloat8" else "80"
        assert codes([1, -0.0, 0], format, scale=ONE * 0) == f"{end} 00 00"
        assert codes([1, -2, np.inf, -0.0], format, scale=ONE * np.inf) == f"00 {minus} 00 {minus}"

    def test_int4_is_packed_from_the_low_nibble_on(self) -> None:
        x = np.array([[np.inf, -np.inf, np.nan, 8, -9, 0, 7.49, -8.5]], np.float32)
        y = npu_quantize(x, ONE, None, 285)
        assert y.dtype == np.int32
        assert y.view(np.uint32).tolist() == [[0x87087087]]

    def test_int4_of_several_axes(self) -> None:
        x = np.arange(64, dtype=np.float32).reshape(2, 2, 16) % 16 - 8
        y = npu_quantize(x, ONE, None, "int4")
        assert y.shape == (2, 2, 2)
        assert y.view(np.uint32).reshape(-1, 2).tolist() == [[0xFEDCBA98, 0x76543210]] * 4

    def test_int4_by_scales_of_the_codes_own_axis(self) -> None:
        x, scales = np.full((2, 8), 6, np.float32), np.arange(1, 9, dtype=np.float32)
        zeros = np.array([0, 0, 0, 0, 0, 0, 0, -8], np.int32)
        y = npu_quantize(x, scales, zeros, "int4")
        assert y.view(np.uint32).tolist() == [[0x91112236]] * 2
        rows = npu_quantize(x, scales[:2], None, "int4", 0)
        assert rows.view(np.uint32).tolist() == [[0x66666666], [0x33333333]]

    @pytest.mark.parametrize("format", CHECKSUMS)
    def test_every_16_bit_pattern(self, format: str) -> None:
        patterns = np.arange(1 << 16, dtype=np.uint16)
        for dtype, checksum in zip(
            (ml_dtypes.bfloat16, np.float16), CHECKSUMS[format], strict=True
        ):
            y = npu_quantize(patterns.view(dtype), ONE, None, format, 0)
            assert zlib.crc32(y.tobytes()) == checksum


@pytest.mark.parametrize("format", CHECKSUMS)
def test_the_formula_in_numpy(format: str) -> None:
    """What the references share against the same checksums, and its own way back."""
    patterns = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        for dtype, checksum in zip(
            (ml_dtypes.bfloat16, np.float16), CHECKSUMS[format], strict=True
        ):
            y = _codes.encode(patterns.view(dtype).astype(np.float32), format)
            assert zlib.crc32(y.tobytes()) == checksum
    if format == "int4":
        return
    decoded = np.where(np.isnan(_codes.values_of(format)), 0, _codes.values_of(format))
    finite = np.isfinite(_codes.values_of(format))
    y = _codes.encode(decoded.astype(np.float32), format).view(np.uint8)
    assert (y[finite] == np.arange(256)[finite]).all()


@pytest.mark.parametrize(("format", "checksum"), FLOAT4_CHECKSUMS.items())
def test_float4_in_numpy(format: str, checksum: int) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    with np.errstate(invalid="ignore"):
        y = _codes.encode(x, format)
    assert zlib.crc32(_codes.unpacked(y).tobytes()) == checksum


# Spot values of formats' ties, of the middle between two codes, and of what is beyond.
FLOAT4_VECTORS = [
    ("float4_e2m1", "rint", [0.25, 0.26, 0.75, 1.25, 1.75, 2.5, 3.5, 5], "0 1 2 2 4 4 6 6"),
    ("float4_e2m1", "rint", [5.1, -0.2, 7, -9, np.inf, -np.inf, np.nan, -0.0], "7 8 7 f 7 f 0 8"),
    ("float4_e2m1", "round", [0.25, 0.24, 0.75, 1.25, 2.5, -2.5, 5, -0.1], "1 0 2 3 5 d 7 8"),
    (
        "float4_e2m1",
        "round",
        [7, -9, np.inf, -np.inf, np.nan, -np.nan, 0, -0.25],
        "7 f 7 f 0 0 0 9",
    ),
    ("float4_e2m1", "floor", [0.3, -0.3, -3.5, 3.9, 4, -4, 5.9, -4.1], "0 9 e 5 6 e 6 f"),
    (
        "float4_e2m1",
        "floor",
        [7, -9, np.inf, -np.inf, np.nan, -1e-45, -0.0, 1e-45],
        "7 f 7 f 0 9 8 0",
    ),
    ("float4_e1m2", "rint", [0.125, 0.375, 0.625, 0.875, 1.125, 1.7, -0.1, 2], "0 2 2 4 4 7 8 7"),
    ("float4_e1m2", "round", [0.125, 0.375, -0.625, 0.8, 1.8, -1.9, 0.12, 1], "1 2 b 3 7 f 0 4"),
    (
        "float4_e1m2",
        "floor",
        [0.125, -0.125, 0.25, -0.25, 1.8, -1.6, -1.8, 1.74],
        "0 9 1 9 7 f f 6",
    ),
]


@pytest.mark.parametrize(("format", "round_mode", "x", "expected"), FLOAT4_VECTORS)
def test_float4_by_hand(format: str, round_mode: str, x: list[float], expected: str) -> None:
    y = _codes.encode(np.array(x, np.float32), format, round_mode)
    assert " ".join(f"{code:x}" for code in _codes.unpacked(y)) == expected


X1, X2 = np.float16([[1, 2, 3, 4]]), np.float16([[0.5, -1, 0.25, 1]])
GAMMA, SCALES = np.float16([1, 0.5, 2, 1.5]), np.float32([0.1, 0.05, 0.1, 0.02])
ZERO_POINTS = np.array([0, 3, -5, 10], np.int32)


@pytest.mark.usefixtures("target")
class TestAddRmsNormQuant:
    """5, 6, 16 and what is beyond int8."""

    @pytest.mark.parametrize(
        ("format", "expected"),
        [
            ("float8_e4m3fn", "4a 4c 58 70"),
            ("float8_e5m2", "45 46 4c 58"),
            ("hifloat8", "22 24 40 4c"),
        ],
    )
    def test_both_outputs(self, format: str, expected: str) -> None:
        a = X1, X2, GAMMA, SCALES, ZERO_POINTS
        result = npu_add_rms_norm_quant(*a, dst_type=format)
        assert result.y1.tobytes().hex(" ") == expected
        assert not result.y2.view(np.uint8).any()
        both = npu_add_rms_norm_quant(*a, scales2=SCALES, zero_points2=ZERO_POINTS, dst_type=format)
        assert both.y2.tobytes().hex(" ") == expected
        assert both.y1.dtype == both.y2.dtype == result.y1.dtype

    @pytest.mark.parametrize("rows", [1, 3])  # several short rows are done together
    def test_int4(self, rows: int) -> None:
        x1, x2 = (np.tile(x, (rows, 2)) for x in (X1, X2))
        a = x1, x2, *(np.tile(a, 2) for a in (GAMMA, SCALES, ZERO_POINTS))
        y1, y2, x = npu_add_rms_norm_quant(*a, dst_type="int4")
        assert y1.tolist() == [[0x77657765]] * rows
        assert y2.tolist() == [[0]] * rows
        assert x.shape == (rows, 8)

    def test_int4_over_several_axes(self) -> None:
        x = np.arange(16, dtype=np.float32).reshape(2, 8) - 4
        gamma, scale = np.ones((2, 8), np.float32), np.float32([1 / np.sqrt((x * x).mean())])
        out = (np.zeros((1, 2, 2), np.int32)[..., ::2], None, None)
        npu_add_rms_norm_quant(x[None], 0 * x[None], gamma, scale, None, dst_type="int4", out=out)
        assert out[0].view(np.uint32).tolist() == [[[0x3210FEDC], [0x77777654]]]


@pytest.mark.usefixtures("target")
class TestAntiQuant:
    def test_int4(self) -> None:
        x = np.array([0x76543210, 0xFEDCBA98], np.uint32).view(np.int32)
        y = npu_anti_quant(x, np.float32([0.5]), offset=ONE, src_dtype="int4")
        assert y.tolist() == [i / 2 for i in range(1, 9)] + [i / 2 for i in range(-7, 1)]

    def test_int4_by_scales_of_the_codes_own_axes(self) -> None:
        x = np.full((3, 1), 0x11111111, np.int32)
        columns = npu_anti_quant(x, np.arange(8, dtype=np.float32))
        assert columns.tolist() == [list(range(8))] * 3
        rows = npu_anti_quant(x, np.arange(3, dtype=np.float32))
        assert rows.tolist() == [[i] * 8 for i in range(3)]

    @pytest.mark.parametrize(
        ("dtype", "x", "expected"),
        [
            (np.uint8, "08 6e 80 6f ef 01", [1, 32768, np.nan, np.inf, -np.inf, 2**-22]),
            (E4M3, "7e 80 7f ff 01 b8", [448, -0.0, np.nan, np.nan, 2**-9, -1]),
            (E5M2, "7b 7c fc 7d fe 01 80", [57344, np.inf, -np.inf, np.nan, np.nan, 2**-16, -0.0]),
        ],
    )
    @pytest.mark.parametrize("to", [np.float16, ml_dtypes.bfloat16])
    def test_floats(self, dtype: Any, x: str, expected: list[float], to: Any) -> None:
        y = npu_anti_quant(np.frombuffer(bytes.fromhex(x), dtype), ONE, dst_dtype=to)
        assert_same_but_nan((y,), (np.array(expected, np.float32).astype(to),))

    @pytest.mark.parametrize("dtype", [np.uint8, E4M3, E5M2])
    def test_every_code(self, dtype: Any) -> None:
        x = np.arange(256, dtype=np.uint8).view(dtype)
        exact = _codes.values_of("hifloat8" if dtype is np.uint8 else np.dtype(dtype).name)
        y = npu_anti_quant(x, ONE, dst_dtype="bfloat16").astype(np.float32)
        assert np.array_equal(y, exact, equal_nan=True)
