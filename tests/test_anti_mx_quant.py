"""npu_anti_mx_quant by hand; its formula against a loop; and results that no cache holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import mx_loops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mx_arrays import SEEDS
from witnesses import Array, assert_same_but_nan

from npu_quant import npu_anti_mx_quant, npu_dynamic_mx_quant, npu_grouped_dynamic_mx_quant
from npu_quant.ops.anti_mx_quant import reference

E4M3 = ml_dtypes.float8_e4m3fn


def hexadecimal(text: str, dtype: Any = np.uint8) -> Array:
    return np.frombuffer(bytes.fromhex(text), dtype)


def expression(operator: Callable[..., Any], begin: str) -> str:
    """Return what an operator's help has in code, by its first letters, in one line."""
    help = " ".join((operator.__doc__ or "").split())
    return str(re.findall(rf"``({re.escape(begin)}.*?)``", help)[-1])


def check(y: Array, dtype: Any, *expected: float) -> None:
    assert_same_but_nan((y,), (np.array(expected, np.float32).astype(dtype),))


@pytest.mark.usefixtures("target")
class TestVectors:
    """Stated by documents, or worked by hand."""

    def test_float8(self) -> None:
        x = hexadecimal("38 7E 81 7F", E4M3)
        y = npu_anti_mx_quant(x, np.array([[128, 0]], np.uint8), dst_type="float32")
        check(y, np.float32, 2, 896, -(2.0**-8), np.nan)

    def test_beyond_float16(self) -> None:
        x = hexadecimal("38 7E 81 7F", E4M3)
        y = npu_anti_mx_quant(x, np.array([[136, 0]], np.uint8), dst_type=5)
        check(y, np.float16, 512, np.inf, -1, np.nan)

    def test_float4(self) -> None:
        x, mxscale = hexadecimal("21 F7"), np.array([[126, 0]], np.uint8)
        for scale in (mxscale, mxscale.view(ml_dtypes.float8_e8m0fnu)):
            y = npu_anti_mx_quant(x, scale, dst_type=6, src_type=296)
            check(y, np.float32, 0.25, 0.5, 3, -3)

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
    def test_the_byte_of_nan(self, dtype: Any) -> None:
        """Zero codes, too; the other block is not touched."""
        y = npu_anti_mx_quant(np.zeros(40, E4M3), np.array([[255, 127]], np.uint8), dst_type=dtype)
        assert np.isnan(y[:32].astype(np.float32)).all()
        check(y[32:], dtype, *[0] * 8)

    def test_codes_that_are_not_finite(self) -> None:
        x = hexadecimal("7C FC 7F 80", ml_dtypes.float8_e5m2)
        y = npu_anti_mx_quant(x, np.array([[0, 0]], np.uint8), dst_type=283, src_type=291)
        check(y, ml_dtypes.bfloat16, np.inf, -np.inf, np.nan, -0.0)

    def test_the_ends_of_float32(self) -> None:
        x = hexadecimal("7B 01", ml_dtypes.float8_e5m2)
        low, high = (
            npu_anti_mx_quant(x, np.array([[b, 9]], np.uint8), dst_type=256, src_type=23)
            for b in (0, 254)
        )
        check(low, np.float32, 57344 * 2.0**-127, 2.0**-143)
        check(high, np.float32, np.inf, 2.0**111)

    def test_float16_has_subnormals_and_ties(self) -> None:
        """1.125 * 2^-22 is 4.5 of its least steps, and 1.375 * 2^-22 is 5.5."""
        x = np.array([1.125, 1.375, -1.125, 0.0625], E4M3)
        y = npu_anti_mx_quant(x, np.array([[105, 0]], np.uint8), dst_type=257)
        check(y, np.float16, 4 * 2.0**-24, 6 * 2.0**-24, -4 * 2.0**-24, 0)

    def test_another_axis(self) -> None:
        x = np.ones((70, 2), E4M3)
        mxscale = np.arange(120, 128, dtype=np.uint8).reshape(2, 2, 2)
        y = npu_anti_mx_quant(x, mxscale, axis=0, dst_type=15)
        assert y.dtype == ml_dtypes.bfloat16
        bytes_of_rows = [(0, [120, 122]), (31, [120, 122]), (32, [121, 123]), (64, [124, 126])]
        for row, b in bytes_of_rows:
            assert y[row].astype(float).tolist() == [2.0 ** (e - 127) for e in b]

    def test_none_is_what_torch_npu_takes_it_for(self) -> None:
        x, mxscale = (
            hexadecimal("21 F7").reshape(2, 1),
            np.array([[[127, 0]], [[128, 0]]], np.uint8),
        )
        y = npu_anti_mx_quant(x, mxscale, axis=None, dst_type=None, src_type=None)
        assert y.shape == (2, 2)
        check(y.reshape(-1), ml_dtypes.bfloat16, 0.5, 1, 12, -12)


@settings(max_examples=60, deadline=None)
@given(st.data(), SEEDS, st.sampled_from([*mx_loops.CODES]), st.sampled_from([*mx_loops.FLOATS]))
def test_against_a_loop(data: st.DataObject, seed: int, format: str, to: str) -> None:
    rng = np.random.default_rng(seed)
    shape = [data.draw(st.integers(1, 3)) for _ in range(data.draw(st.integers(1, 4)))]
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    shape[axis] = 2 * data.draw(st.integers(0, 75))
    codes = rng.integers(0, 256, shape, np.uint8)
    x = codes if "float4" in format else codes.view(getattr(ml_dtypes, format))
    shape[-1] *= 2 if "float4" in format else 1
    a = axis % len(shape)
    shape[a] = (shape[a] + 63) // 64
    center = data.draw(st.sampled_from([0, 105, 112, 127, 143, 248, 255]))
    nearby = center + rng.integers(-12, 13, (*shape, 2))
    mxscale = np.clip(nearby, 0, 255).astype(np.uint8)
    found = reference(x, mxscale, axis=axis, dst_type=to, src_type=format)
    assert_same_but_nan((found,), (mx_loops.anti(x, mxscale, axis, format, to),))


@pytest.mark.parametrize("width", [1030, 1024])
@pytest.mark.parametrize("offset", [0, 2, 16, 63])
def test_results_past_the_cache(rng: np.random.Generator, offset: int, width: int) -> None:
    """Large enough for streaming stores, at several alignments, the same in each row or not."""
    x = rng.integers(0, 256, (40, 512, width), np.uint8)
    memory = np.empty(x.size * 4 + 64, np.uint8)
    out = memory[offset : offset + x.size * 4].view(np.float16).reshape(40, 512, 2 * width)
    for axis, shape in ((-1, (40, 512, -(-width // 32), 2)), (-2, (40, 8, 2 * width, 2))):
        mxscale = rng.integers(100, 140, shape, np.uint8)
        given = {"axis": axis, "dst_type": np.float16, "src_type": "float4_e2m1"}
        npu_anti_mx_quant(x, mxscale, out=out, **given)
        some = slice(7, 9)
        assert_same_but_nan((out[some],), (reference(x[some], mxscale[some], **given),))


class TestHelp:
    """Its expressions are evaluated as they stand there: how to go back, for one."""

    @pytest.mark.parametrize("dtype", ["V1", np.uint8])
    def test_float8_from_a_file(self, dtype: Any) -> None:
        """As np.save and np.load leave it, and as bytes."""
        x = hexadecimal("38 7E 81", dtype)
        float8 = eval(expression(npu_anti_mx_quant, "x.view"), {"x": x, "ml_dtypes": ml_dtypes})
        y = npu_anti_mx_quant(float8, np.array([[128, 0]], np.uint8), dst_type="float32")
        check(y, np.float32, 2, 896, -(2.0**-8))

    @pytest.mark.parametrize("block_size", [32, 64, 1024])
    @pytest.mark.parametrize("n", [7, 96, 1500])
    def test_blocks_of_any_size(self, block_size: int, n: int) -> None:
        x = np.ldexp(np.float32(1), np.arange(2 * n).reshape(2, n) % 12)
        how: dict[str, Any] = {"dst_type": "float8_e4m3fn", "block_size": block_size}
        y, mxscale = npu_dynamic_mx_quant(x, **how)
        names = {"np": np, "y": y, "mxscale": mxscale, "block_size": block_size, "n": n}
        back = eval(expression(npu_dynamic_mx_quant, "y.astype"), names)
        assert back.tolist() == x.tolist()
        if block_size == 32:
            assert npu_anti_mx_quant(y, mxscale, dst_type=6).tolist() == x.tolist()

    def test_groups(self) -> None:
        x = np.ldexp(np.float32(1), np.arange(-100, 100).reshape(200, 1).repeat(4, axis=1))
        ends = np.array([3, 3, 99, 200], np.int32)
        y, mxscale = npu_grouped_dynamic_mx_quant(x, ends, dst_type="float8_e5m2")
        names = {
            "npu_anti_mx_quant": npu_anti_mx_quant,
            "y": y,
            "mxscale": mxscale,
            "dst_type": 291,
        }
        back = []
        for j, (start, end) in enumerate(zip([0, *ends.tolist()], ends.tolist(), strict=False)):
            names |= {"j": j, "start": start, "end": end}
            for name in ("first", "last"):
                text = expression(npu_grouped_dynamic_mx_quant, f"{name} = ")
                names[name] = eval(text.removeprefix(f"{name} = "), names)
            back += eval(expression(npu_grouped_dynamic_mx_quant, "npu_anti"), names).tolist()
        assert back == x.tolist()
