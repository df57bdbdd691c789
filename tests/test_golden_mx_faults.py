"""Golden comparison of npu_dynamic_mx_quant: bytes next to a threshold, and faults with a name."""

from __future__ import annotations

import numpy as np
import pytest
from as_line import as_line
from mx_formulas import (
    F32,
    FORMATS,
    ROWS,
    N,
    compared,
    numbers,
    quantized,
    told,
    up_to,
)

import npu_quant


@pytest.fixture(params=FORMATS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestThresholds:
    """An amax next to a power of two, where another order of operations gives another byte."""

    def test_floor_of_float32_log2_is_benign(self, name: str) -> None:
        x = np.full((ROWS, N), 0.75, F32)
        x[::2, 5] = np.nextafter(F32(2.0**40), F32(0))
        a = np.abs(x).reshape(ROWS, -1, 32).max(-1)
        exponent = np.floor(np.log2(a)).astype(np.float64) - FORMATS[name][0]
        assert np.mean(exponent != told(x, name)) > 0.05
        actual = quantized(x, name, exponent)
        comparison = compared(actual, x, name)
        assert comparison.output("mxscale").rung == "variant"
        assert (comparison.passed, comparison.accepted_variant) == (True, "floor of float32 log2")
        actual[1][1, 0, 0] += 1  # of a block that is next to nothing
        assert compared(actual, x, name).rung == "different"

    @pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
    def test_ceil_of_float32_log2_is_benign(self, name: str) -> None:
        top = FORMATS[name][2]
        x = np.full((ROWS, N), 0.75, F32)
        x[::2, 5] = np.nextafter(F32(top * 2.0**40), F32(np.inf))
        a = np.abs(x).reshape(ROWS, -1, 32).max(-1)
        exponent = np.ceil(np.log2(a / F32(top))).astype(np.float64)
        right = up_to(a.astype(np.float64), top)
        assert np.mean(exponent != right) > 0.05
        actual = quantized(x, name, exponent)
        comparison = compared(actual, x, name, scale_alg=1)
        assert (comparison.passed, comparison.accepted_variant) == (True, "ceil of float32 log2")
        assert compared(quantized(x, name, right), x, name, scale_alg=1).rung == "identical"

    def test_one_step_of_a_byte_is_never_a_tie(self, name: str) -> None:
        x = numbers()
        for row, step in ((3, 1), (60, -1)):
            exponent = told(x, name)
            exponent[row, 5] += step
            comparison = compared(quantized(x, name, exponent), x, name)
            assert comparison.rung == "different"
            assert comparison.decisive.name == "mxscale"
            assert comparison.output("y").follows_scale
            text = as_line(comparison)
            assert "1 of 768 scales differs, by up to 1 step (rounding explains 0)" in text
            place = f"block 5 of row {row}, columns 160 to 191"
            assert f"[{row}, 2, 1] ({place}) actual" in text
            assert "follows from the actual scale" in text


class TestFaults:
    def test_a_row_that_was_never_written(self, name: str) -> None:
        x = numbers()
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name)
        y[40] = np.zeros(1, y.dtype)
        text = as_line(compared((y, mxscale), x, name))
        assert "row 40 is 0 everywhere: was it ever written?" in text

    def test_a_block_that_was_never_written(self, name: str) -> None:
        x = numbers()
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name)
        each = x.shape[1] // y.shape[1]
        y[80, 160 // each : 192 // each] = np.zeros(1, y.dtype)
        text = as_line(compared((y, mxscale), x, name))
        assert "row 80 columns 160-191 is 0 everywhere: was it ever written?" in text
        assert "only in row 80 columns 160-191 (" in text

    def test_blocks_that_are_shifted(self, name: str) -> None:
        x = numbers()
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name)
        each = x.shape[1] // y.shape[1]
        y[70] = np.roll(y[70], 32 // each)
        text = as_line(compared((y, mxscale), x, name))
        assert "only in row 70" in text
        assert "row 70 is shifted right by 32 columns" in text

    @pytest.mark.parametrize("name", ["float4_e2m1", "float4_e1m2"])
    def test_the_high_nibble_first(self, name: str) -> None:
        x = numbers()
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name)
        comparison = compared(((y << 4 | y >> 4).astype(np.uint8), mxscale), x, name)
        assert comparison.variants[0].name == "high nibble first"
        assert not comparison.passed

    def test_bytes_that_are_not_side_by_side(self, name: str) -> None:
        x = numbers()
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name, axis=0)
        rows = mxscale.transpose(0, 2, 1).reshape(-1, N)  # a row for each block of 32 rows
        wrong = rows.reshape(mxscale.shape)
        comparison = compared((y, wrong), x, name, axis=0)
        assert comparison.variants[0].name == "bytes in rows"
        assert comparison.output("y").rung == "identical"

    def test_bytes_without_their_bias(self, name: str) -> None:
        x = numbers()
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name)
        comparison = compared((y, mxscale - np.uint8(127)), x, name)
        assert comparison.variants[0].name == "bytes without a bias"
        assert not comparison.passed

    def test_blocks_of_zeros_and_tiny_ones(self, name: str) -> None:
        x = numbers(F32)
        x[5], x[6] = 0, 2.0**-140
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name)
        other = mxscale.copy()
        other[5] = 127
        found = compared((y, other), x, name).variants[0].name
        assert found == "1 for blocks of zeros"
        other = y.copy()
        other[6] = np.zeros(1, y.dtype)
        if other.tobytes() != y.tobytes():  # 2^-13 is 0 in some
            found = compared((other, mxscale), x, name).variants[0].name
            assert found == "y is 0 where the byte is"

    def test_infinities_that_are_left_out_of_amax(self, name: str) -> None:
        x = numbers(F32)
        x[7, 40] = np.inf
        finite = np.where(np.isfinite(x), x, F32(0))
        y, mxscale = npu_quant.npu_dynamic_mx_quant(finite, dst_type=name)
        top = {"float8_e4m3fn": 0x7E, "float8_e5m2": 0x7B}.get(name)
        if top is None:
            y[7, 20] = y[7, 20] & 0xF0 | 7
        else:
            y.view(np.uint8)[7, 40] = top
        comparison = compared((y, mxscale), x, name)
        assert comparison.variants[0].name == "finite elements only"
        assert not comparison.passed


class TestNumbers:
    """Where codes and scales both differ, they may stand for the same numbers."""

    def test_the_same_numbers_in_other_codes(self) -> None:
        x = numbers(F32)
        x[5], x[6] = 0, -0.0
        x[np.abs(x) < np.abs(x).max(-1, keepdims=True) / 8] = 0  # none is subnormal
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type="float8_e4m3fn")
        halves = (y.astype(F32) / 2).astype(y.dtype)
        actual = halves, np.where(mxscale > 0, mxscale + 1, 0).astype(np.uint8)
        comparison = compared(actual, x, "float8_e4m3fn")
        assert comparison.rung == "different"
        found = comparison.output("y").numbers
        assert (found.mismatches, found.sqnr_db) == (0, np.inf)
        text = as_line(comparison)
        assert "y: the same numbers in other codes: y * 2^(mxscale - 127) is the golden's" in text

    def test_some_are_others(self) -> None:
        x = numbers(F32)
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, axis=0, dst_type="float8_e4m3fn")
        halves, other = y.copy(), mxscale.copy()
        other[0, 7] += 1
        halves[:64, 7] = (y[:64, 7].astype(F32) / 2).astype(y.dtype)
        halves[33, 7] = 0
        assert y[33, 7] != 0
        comparison = compared((halves, other), x, "float8_e4m3fn", axis=0)
        found, ours = comparison.output("y").numbers, halves[:64, 7].astype(np.float64)
        theirs = y[:64, 7].astype(np.float64) / 2
        exponents = np.repeat(other[0, 7].astype(np.float64) - 127, 32)
        assert found.mismatches == np.count_nonzero(ours != theirs)
        assert found.max_abs == np.abs((ours - theirs) * 2.0**exponents).max()
        wrong = found.mismatches
        verb = "differs" if wrong == 1 else "differ"
        assert f"y * 2^(mxscale - 127): {wrong} of 24,576 numbers {verb} · SQNR" in as_line(
            comparison
        )

    def test_of_blocks_that_are_not_finite(self) -> None:
        x = numbers(F32)
        x[3, 40] = np.inf
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x)
        wrong = mxscale.copy()
        wrong[3, 0, 1] = 127
        comparison = compared((y, wrong), x, "float4_e2m1")
        assert comparison.output("y").rung == "identical"
        assert comparison.output("y").numbers is None  # the codes are the golden's
        y = y.copy()
        y[3, 20] = 0x11
        comparison = compared((y, wrong), x, "float4_e2m1")
        assert comparison.output("y").numbers.nonfinite == {("finite", "NaN"): 32}
        assert "32 of 24,576 numbers differ" in as_line(comparison)

    def test_with_the_goldens_scale_there_is_nothing_to_say(self) -> None:
        x = numbers(F32)
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x)
        y = y.copy()
        y[3, 20] ^= 0x11
        assert compared((y, mxscale), x, "float4_e2m1").output("y").numbers is None
