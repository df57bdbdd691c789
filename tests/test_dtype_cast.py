"""npu_dtype_cast by hand: every special row of its page."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from witnesses import Array, assert_same_bits

from npu_quant import npu_dtype_cast

E4M3, E5M2, BFLOAT16 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16
SMALL = ["float8_e4m3fn", "float8_e5m2", "hifloat8"]


def cast(x: Any, to: Any) -> Array:
    """Cast a list of float32."""
    return npu_dtype_cast(np.array(x, np.float32), to)


def codes(x: Any, to: Any) -> str:
    return cast(x, to).tobytes().hex(" ")


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 13."""

    def test_the_example(self) -> None:
        y = cast([1, -1.5, 300, 0.1], "hifloat8")
        assert y.tolist() == [8, 140, 96, 82]
        assert npu_dtype_cast(y, np.float32, "hifloat8").tolist() == [1, -1.5, 256, 0.09375]

    def test_beyond_the_greatest_of_a_float(self) -> None:
        y = cast([65504, 65519, 65520, -1e9], np.float16)
        assert y.tolist() == [65504, 65504, np.inf, -np.inf]
        y = cast([3.3961775e38, -3.4e38], BFLOAT16)
        assert y.astype(np.float32).tolist() == [np.inf, -np.inf]

    def test_beyond_the_greatest_code(self) -> None:
        x = [1e9, -1e9, np.inf, -np.inf]
        assert codes(x, 292) == "7e fe 7e fe"
        assert codes(x, 291) == "7b fb 7b fb"
        assert codes(x, 290) == "6e ee 6e ee"
        assert codes(x * 2, 285) == "87 87 87 87"

    @pytest.mark.parametrize("to", SMALL)
    def test_nan_to_codes(self, to: str) -> None:
        assert codes([np.nan, -np.nan], to) == "00 00"

    def test_nan_to_int4(self) -> None:
        assert codes([np.nan] * 4 + [1] * 4, "int4") == "00 00 11 11"

    def test_nan_to_floats(self) -> None:
        x = np.array([np.nan, -np.nan], np.float32)
        for to in (np.float16, BFLOAT16, np.float32):
            assert np.isnan(npu_dtype_cast(x, to).astype(np.float32)).all()

    def test_the_sign_of_a_zero(self) -> None:
        x = [-0.0, -1e-30, 0]
        assert codes(x, E4M3) == codes(x, E5M2) == "80 80 00"
        assert codes(x, "hifloat8") == "00 00 00"
        assert codes(x, np.float16) == "00 80 00 80 00 00"

    def test_codes_of_nan_and_infinity(self) -> None:
        x = np.array([0x6F, 0xEF, 0x80], np.uint8)
        assert npu_dtype_cast(x, "float16", "hifloat8").tolist()[:2] == [np.inf, -np.inf]
        assert np.isnan(npu_dtype_cast(x, "float32", 290)[2])
        y = npu_dtype_cast(np.array([0x7C, 0xFC, 0x7D], np.uint8).view(E5M2), np.float32)
        assert y.tolist()[:2] == [np.inf, -np.inf]
        assert np.isnan(y[2])
        x = np.array([0x7F, 0xFF], np.uint8)
        assert np.isnan(npu_dtype_cast(x.view(E4M3), np.float32)).all()

    def test_one_format_of_codes_to_another(self) -> None:
        x = np.array([0x7E, 0x01, 0x81, 0x38], np.uint8).view(E4M3)  # 448, 2**-9, -2**-9, 1
        assert npu_dtype_cast(x, "hifloat8").tobytes().hex(" ") == "62 72 f2 08"

    def test_int4_there_and_back(self) -> None:
        x = np.arange(-8, 8, dtype=np.float32).reshape(2, 8)
        y = npu_dtype_cast(x, "int4")
        assert y.view(np.uint32).tolist() == [[0xFEDCBA98], [0x76543210]]
        assert_same_bits((npu_dtype_cast(y, np.float32, "int4"),), (x,))
        assert y.view(np.uint8).tolist()[1] == [0x10, 0x32, 0x54, 0x76]  # as torch_npu has it

    def test_float4_there_and_back(self) -> None:
        x = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]
        assert codes(x, "float4_e2m1") == "10 32 54 76 98 ba dc fe"
        assert codes(np.array(x) / 4, 297) == "00 21 32 64 88 a9 ba ec"  # .125, .375 are ties
        y = npu_dtype_cast(np.arange(0x10, 0x100, 0x22, np.uint8), np.float32, 296)
        assert_same_bits((y,), (np.array(x, np.float32),))
        y = npu_dtype_cast(np.uint8([0x21, 0xF7]), np.float16, "float4_e1m2")
        assert y.tolist() == [0.25, 0.5, 1.75, -1.75]

    def test_float4_of_ties_and_of_what_is_beyond(self) -> None:
        x = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 5.1, -0.2, 7, -np.inf, np.nan]
        assert codes(x, 296) == "20 42 64 76 78 0f"

    def test_powers_of_two(self) -> None:
        x = [1, 1.49, 1.5, 3, 2**-127, 1.49 * 2**-127, 1.5 * 2**-127, 1.7e38, 3.4e38, np.inf]
        assert codes(x, 293) == "7f 7f 80 81 00 00 01 fe fe fe"
        assert codes([0, -0.0, 1e-45, -1e-45, -1, -np.inf, np.nan], 293) == "00 00 00 ff ff ff ff"
        b = np.uint8([0, 1, 127, 254, 255])
        for scales in (b, b.view(ml_dtypes.float8_e8m0fnu)):
            y = npu_dtype_cast(scales, np.float32, "float8_e8m0fnu").tolist()
            assert y[:4] == [2.0**-127, 2.0**-126, 1, 2.0**127]
            assert np.isnan(y[4])
            assert codes(npu_dtype_cast(scales, BFLOAT16, 293), 293) == b.tobytes().hex(" ")

    @pytest.mark.parametrize("to", [np.float16, np.float32, *SMALL])
    def test_no_dimensions(self, to: Any) -> None:
        assert cast(np.ones(()), to).shape == ()
