"""npu_dequant_swiglu_quant by hand, by scalars, and beside npu_swiglu and npu_dynamic_quant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.dequant_swiglu_quant import BFLOAT16, FLOAT16, FLOAT32, INT32, arguments, sprinkled
from cases.swiglu_quant import EACH, ONE
from test_swiglu import scalar_swish
from test_swiglu_quant import scalar_codes
from witnesses import assert_same_bits

from npu_quant import npu_dequant_swiglu_quant, npu_dynamic_quant, npu_swiglu
from npu_quant.ops.dequant_swiglu_quant import reference

F16, F32 = np.float16, np.float32
NAN, INF = np.nan, np.inf
E2M1 = {"dst_type": "float4_e2m1"}


def of(*rows: list[float], **more: Any) -> tuple[list[list[int]], list[float]]:
    """Quantize rows of o: from 17 on swish(a) is a."""
    o = np.array(rows, F16)
    x = np.concatenate([np.full_like(o, 32), o / 32], axis=1)
    y, scale = npu_dequant_swiglu_quant(x, activate_left=True, **more)
    return y.view(np.uint8 if y.dtype.kind == "V" else y.dtype).tolist(), scale.tolist()


def dynamic(*rows: list[float], **more: Any) -> tuple[list[list[int]], list[float]]:
    return of(*rows, quant_mode=1, **more)


def of_sums(x: Any, **more: Any) -> list[list[int]]:
    """Quantize sums of which the first half is activated, without a scale."""
    more = {"weight_scale": np.ones(len(x[0]), F32), "activate_left": True} | more
    y: list[list[int]] = npu_dequant_swiglu_quant(np.array(x, np.int32), **more).y.tolist()
    return y


def halves(**more: Any) -> list[int]:
    """Return the codes of float4 of four ties."""
    x, offset = np.zeros((1, 8), F16), F32([0.25, -0.25, 2.5, -2.5])
    y = npu_dequant_swiglu_quant(x, quant_offset=offset, **E2M1, **more).y
    return [code for byte in y[0].tolist() for code in (byte % 16, byte // 16)]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or the vectors of the documents."""

    def test_scales_of_rows(self) -> None:
        x, weight_scale = np.array([[10, -20, 5, 40]], np.int32), F32([0.1, 0.1, 0.2, 0.05])
        a: dict[str, Any] = {"weight_scale": weight_scale, "activation_scale": F32([1])}
        a |= {"activate_left": True, "quant_mode": 1}
        y, scale = npu_dequant_swiglu_quant(x, **a)
        assert y.tolist() == [[127, -83]]
        assert scale == np.array(0x3F3B26A8, np.uint32).view(F32) / F32(127)  # about .00575637
        y, scale = npu_dequant_swiglu_quant(x, **a, group_index=np.array([0]))
        assert (y.tolist(), scale.tolist()) == ([[0, 0]], [0])

    def test_sums_wrap_and_round_once(self) -> None:
        """2^31 - 1 + 2 is -2^31 + 1; 2^24 + 1 as a float would be 2^24."""
        bias = np.array([0, 0, 2, -(2**24)], np.int32)
        x = [[20, 20, 2**31 - 1, 2**24 + 1]]
        assert of_sums(x, bias=bias) == [[-128, 20]]
        bias[3] = 0
        scale = F32([1, 1, 1, 2.0**-24])
        assert of_sums(x, bias=bias, weight_scale=scale) == [[-128, 20]]

    def test_scales_of_channels_come_first(self) -> None:
        """2 * 2e38 is infinite whatever comes then: 40 * 20 / 100 if it came first."""
        more = {"weight_scale": F32([1e38, 2e38]), "activation_scale": F32([1e-37])}
        assert of_sums([[2, 2]], quant_scale=F32([100]), **more) == [[127]]

    @pytest.mark.parametrize("bias_dtype", [FLOAT32, FLOAT16, BFLOAT16])
    def test_a_bias_of_floats_comes_last(self, bias_dtype: Any) -> None:
        bias = np.array([10, 0, 0.5, 1], bias_dtype)
        more: dict[str, Any] = {"bias": bias, "activation_scale": F32([2])}
        assert of_sums([[5, 10, 1, 1]], **more) == [[50, 60]]

    def test_groups(self) -> None:
        """The second has no rows, the last row is behind the third."""
        x, counts = [[20, 3]] * 4, np.array([1, 0, 2])
        scales = F32([[1, 1], [9, 9], [1, 2]])
        assert of_sums(x, weight_scale=scales, group_index=counts) == [[60], [120], [120], [0]]
        a: dict[str, Any] = {"quant_scale": F32([2, 1, 8]), "quant_offset": F32([1, 1, -1])}
        a |= {"weight_scale": np.ones((3, 2), F32)}
        assert of_sums(x, group_index=counts, **a) == [[31], [6], [6], [0]]

    def test_behind_the_last_group(self) -> None:
        none = np.array([0])
        for to in ("int8", "float8_e5m2"):
            assert dynamic([9, -9], group_index=none, dst_type=to) == ([[0, 0]], [0])
        assert of([9, -9], group_index=none, quant_offset=F32([-5])) == ([[0, 0]], [0])

    def test_scales_divide_or_multiply(self) -> None:
        assert of([10, -30], quant_scale=F32([4]), quant_offset=F32([1])) == ([[4, -6]], [0])
        assert dynamic([1, -2], quant_scale=F32([127, 5])) == ([[127, -10]], [1])
        assert of([1, -1], quant_scale=F32([0])) == ([[127, -128]], [0])

    def test_even_and_odd_elements(self) -> None:
        """Of 100 and -3 the limit leaves 7, with alpha 4 its swish; of 9 and -9 7 and -7."""
        x = np.array([[100, 9, 7, -9, 7, 1]], F16)
        more: dict[str, Any] = {"glu_alpha": 4.0, "glu_bias": 2.0}
        assert npu_dequant_swiglu_quant(x, swiglu_mode=1, **more).y.tolist() == [[63, -35, 21]]
        left, right = [100, 7, 7], [9, -9, 1]
        for x, is_left in ((left + right, True), (right + left, False)):
            a = {"activate_left": is_left, "swiglu_mode": 2}
            given = np.array([x], F16)
            assert npu_dequant_swiglu_quant(given, **a, **more).y.tolist() == [[63, -35, 21]]

    def test_defaults_of_the_limited_unit(self) -> None:
        """1 / (1 + exp(-1.702)) is .84579, times 100 by the factor 99 and 1."""
        x = np.array([[1, 99]], F16)
        more: dict[str, Any] = {"swiglu_mode": 1, "quant_scale": F32([0.01])}
        assert npu_dequant_swiglu_quant(x, **more).y.tolist() == [[127]]
        assert npu_dequant_swiglu_quant(x, clamp_limit=99.0, **more).y.tolist() == [[127]]
        more["quant_scale"] = F32([1])
        assert npu_dequant_swiglu_quant(x, clamp_limit=99.0, **more).y.tolist() == [[85]]
        assert npu_dequant_swiglu_quant(x, **more).y.tolist() == [[7]]

    def test_roundings_of_float4(self) -> None:
        """.25 lies between the codes 0 and 1, 2.5 between 4 and 5; 8 is -0."""
        assert halves() == halves(round_mode=0) == [0, 8, 4, 12]
        assert halves(round_mode=1) == [1, 9, 5, 13]
        assert halves(round_mode=2) == [0, 9, 4, 13]
        assert halves(round_mode=3) == [1, 8, 5, 12]
        assert halves(round_mode=4) == [0, 8, 4, 12]

    def test_formats(self) -> None:
        """The scale is 1 by the greatest, whose code comes first; then 1 and -1."""
        codes = {
            "float8_e5m2": (57344, [0x7B, 0x3C, 0xBC]),
            "float8_e4m3fn": (448, [0x7E, 0x38, 0xB8]),
        }
        for to, (most, expected) in codes.items():
            assert dynamic([most, 1, -1], dst_type=to)[1] == [1]
            x = np.array([[32] * 3 + [most / 32, 1 / 32, -1 / 32]], F16)
            y = npu_dequant_swiglu_quant(x, activate_left=True, quant_mode=1, dst_type=to).y
            assert y.view(np.uint8).tolist() == [expected]
        assert dynamic([32768, 1, -1], dst_type=290, round_mode=1) == ([[0x6E, 0x08, 0x88]], [1])
        assert dynamic([6, -1, 0.5, 2], **E2M1) == ([[0xA7, 0x41]], [1])
        assert dynamic([1.75, -1, 0.5, 0.25], dst_type="float4_e1m2") == ([[0xC7, 0x12]], [1])

    def test_row_all_zero(self) -> None:
        assert dynamic([0, -0.0]) == ([[0, 0]], [0])

    def test_nan(self) -> None:
        x = np.array([[NAN, 20, 1, 1], [-NAN, 20, 1, 1]], F16)
        for mode in (0, 1, 2):
            y, scale = npu_dequant_swiglu_quant(x, quant_mode=1, swiglu_mode=mode)
            assert y.tolist() == [[0, 0]] * 2
            assert scale.view(np.uint32).tolist() == [0x7FC00000] * 2
        assert of([NAN, 1]) == ([[0, 1]], [0])

    def test_infinity(self) -> None:
        assert dynamic([INF, 1]) == dynamic([-INF, 1]) == ([[0, 0]], [INF])
        assert dynamic([INF, -1], **E2M1) == ([[0x80]], [INF])

    def test_scale_underflows(self) -> None:
        """2^-149 * 64 over 127 is half a step more than nothing, 2^-149 * 63 less."""
        tiny = F32([2.0**-149])
        assert dynamic([63, 0, -1], quant_scale=tiny) == ([[127, 0, -128]], [0])
        assert dynamic([64, 0, -1], quant_scale=tiny) == ([[64, 0, -1]], [2.0**-149])

    def test_no_elements(self) -> None:
        y, scale = npu_dequant_swiglu_quant(np.ones((2, 0), F16), quant_mode=1)
        assert (y.shape, scale.tolist()) == ((2, 0), [0, 0])
        y, scale = npu_dequant_swiglu_quant(np.ones((0, 4), F16))
        assert (y.shape, scale.shape) == ((0, 2), (0,))


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("to", ["int8", "float8_e4m3fn", "float8_e5m2", "hifloat8"])
def test_codes_of_npu_swiglu(rng: np.random.Generator, to: str) -> None:
    """Of sums that are dequantized by powers of two, quantized as npu_dynamic_quant does."""
    x = rng.integers(-600, 600, (9, 140)).astype(np.int32)
    o = npu_swiglu((x / 64).astype(F32))
    a: dict[str, Any] = {"activate_left": True, "quant_mode": 1, "dst_type": to}
    a |= {"weight_scale": np.full(140, 2.0**-6, F32), "round_mode": int(to == "hifloat8")}
    assert_same_bits(npu_dequant_swiglu_quant(x, **a), npu_dynamic_quant(o, dst_type=to))


def scalar_gated(v: list[Any], mode: int) -> list[Any]:
    """Compute o of one row: its first half, or its even elements, are activated."""
    n = len(v) // 2
    pairs = zip(v[::2], v[1::2], strict=True) if mode == 1 else zip(v[:n], v[n:], strict=True)
    if mode == 0:
        return [scalar_swish(a) * b for a, b in pairs]
    seven = F32(7)
    limited = [
        (seven if a > 7 else a, seven if b > 7 else -seven if b < -7 else b) for a, b in pairs
    ]
    return [scalar_swish(a, 1.702) * F32(b + F32(1)) for a, b in limited]


def scalar_sums(a: dict[str, Any], row: int, group: int) -> list[Any]:
    """Dequantize one row."""
    v = []
    for i, x in enumerate(a["x"][row].tolist()):
        bias = None if a["bias"] is None else a["bias"][group, i]
        if bias is not None and bias.dtype == np.int32:
            x = (x + int(bias) + 2**31) % 2**32 - 2**31
        e = F32(x) * a["weight_scale"][group, i] * a["activation_scale"][row]
        v.append(e if bias is None or bias.dtype == np.int32 else e + F32(bias))
    return v


@pytest.mark.parametrize("swiglu", [0, 1, 2])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("bias", [None, INT32, BFLOAT16])
@pytest.mark.parametrize("form", [ONE, EACH])
def test_reference_against_scalars(
    rng: np.random.Generator, swiglu: int, mode: int, bias: Any, form: str
) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    how: dict[str, Any] = {"form": form, "groups": 3, "bias": bias, "mode": mode, "swiglu": swiglu}
    a = sprinkled(rng, arguments(rng, (7, 18), INT32, **how))
    found = reference(**a)
    group_of = [g for g, count in enumerate(a["group_index"].tolist()) for _ in range(count)]
    for row in range(7):
        y, scale = [0] * 9, F32(0)
        if row < len(group_of):
            g = group_of[row]
            with np.errstate(all="ignore"):
                o = scalar_gated(scalar_sums(a, row, g), swiglu)
                own = np.broadcast_to(a["quant_scale"][g], 9)
                o = [e * p if mode else e / p for e, p in zip(o, own, strict=True)]
                if mode == 0:
                    o = [
                        e + p
                        for e, p in zip(o, np.broadcast_to(a["quant_offset"][g], 9), strict=True)
                    ]
                else:
                    scale = F32(NAN) if any(np.isnan(o)) else max(abs(e) for e in o) / F32(127)
                    o = [e / scale for e in o]
            y, _ = scalar_codes(o, 0, 127)
        assert found.y[row].tolist() == y
        np.testing.assert_array_equal(found.scale[row], scale)
