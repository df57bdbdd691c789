"""npu_grouped_matmul_swiglu_quant_v2 by hand, by scalars, and beside the first version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.grouped_matmul_swiglu_quant import CODES, arguments, of_second, packed
from test_swiglu import scalar_swish
from witnesses import Array, assert_same_bits

from npu_quant import (
    npu_dynamic_mx_quant,
    npu_grouped_matmul_swiglu_quant,
    npu_grouped_matmul_swiglu_quant_v2,
)
from npu_quant.ops.grouped_matmul_swiglu_quant_v2 import reference

F32 = np.float32
X: Array = np.array([[1, 2], [-3, 4], [5, 6]], np.int8)
WEIGHT: Array = np.array([[[5, -6], [8, 9]], [[1, 2], [3, 4]]], np.int8)
MODES: dict[str, Any] = {"dequant_mode": 2, "quant_mode": 2, "quant_dtype": 292}


def of_blocks(x: Any, weight: Any, byte: int = 127) -> tuple[list[list[int]], list[Any]]:
    """Quantize MX of one expert, by one power of two."""
    codes = [np.array(v, F32).astype("float8_e4m3fn") for v in (x, weight)]
    m, n, pairs = len(codes[0]), codes[1].shape[-1], -(-codes[0].shape[1] // 64)
    scale = np.full((1, pairs, n, 2), 127, np.uint8)
    of_rows = np.full((m, pairs, 2), byte, np.uint8)
    y, found = npu_grouped_matmul_swiglu_quant_v2(
        codes[0], [codes[1][None]], [scale], of_rows, np.array([m]), **MODES
    )
    return y.view(np.uint8).tolist(), found.tolist()


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or beside the first version and npu_dynamic_mx_quant."""

    def test_counts(self) -> None:
        x, weight = X, [WEIGHT]
        a = ([F32([[0.1, 0.1]] * 2)], F32([1, 1, 0.5]), np.array([2, 1]))
        y, scale = npu_grouped_matmul_swiglu_quant_v2(x, weight, *a, group_list_type=1)
        assert y.tolist() == [[127]] * 3
        assert scale.view(np.uint32).tolist() == [0x3C90D0F6, 0x3D7A5710, 0x3C3F8E7A]

    @pytest.mark.parametrize("codes", CODES)
    def test_as_the_first(self, rng: np.random.Generator, codes: str) -> None:
        a = arguments(rng, (9, 40), codes, experts=3, behind=True)
        lists = {name: [a[name]] for name in ("weight", "weight_scale")}
        assist = {"weight_assist_matrix": [a["bias"]]} if codes != "int8" else {}
        rest = {name: a[name] for name in ("x", "x_scale", "group_list")}
        found = npu_grouped_matmul_swiglu_quant_v2(**rest, **lists, **assist)
        assert_same_bits(found, npu_grouped_matmul_swiglu_quant(**a)[:2])

    def test_int4_by_int4(self) -> None:
        """Of [1, -1] and [7, 4, 1, 2], [-1, 0, 0, 0], times 8: gates 64, 32 by 8, 16, factors 1, 4."""
        x = np.zeros((1, 8), np.int8)
        x[0, :2] = 1, -1
        weight = np.zeros((1, 8, 8), np.int8)
        weight[0, 0, [0, 1, 4, 5]] = 7, 4, 1, 2
        weight[0, 1, 0] = -1
        more: dict[str, Any] = {"smooth_scale": F32([[1, 4, 1, 1]])}
        scales = [np.full((1, 8), 8, F32)], F32([1]), np.array([1])
        y, scale = npu_grouped_matmul_swiglu_quant_v2(
            packed(x, -1), [packed(weight, -1)], *scales, **more
        )
        assert (y.tolist(), scale.tolist()) == ([[32, 127, 0, 0]], [F32(2048) / F32(127)])
        more["smooth_scale"] = F32([0.5])
        y, scale = npu_grouped_matmul_swiglu_quant_v2(
            packed(x, -1), [packed(weight, -1)], *scales, **more
        )
        assert (y.tolist(), scale.tolist()) == ([[127, 127, 0, 0]], [F32(256) / F32(127)])

    def test_mx(self) -> None:
        """16 by 4 and -1/8, by powers of 2 and 1/2: 64 * -2 is -128, which is -256 at 2^-1."""
        x = np.array([[16]], np.float32).astype("float8_e4m3fn")
        weight = np.array([[[4, -0.125]]], np.float32).astype("float8_e4m3fn")
        scale, of_row = (
            np.array([[[[126, 0], [126, 0]]]], np.uint8),
            np.array([[[128, 0]]], np.uint8),
        )
        ends = np.array([1])
        y, found = npu_grouped_matmul_swiglu_quant_v2(x, [weight], [scale], of_row, ends, **MODES)
        assert (y.astype(F32).tolist(), found.tolist()) == ([[-256]], [[[126, 0]]])
        y, found = npu_grouped_matmul_swiglu_quant_v2(
            x, [weight], [scale], of_row, ends * 0, **MODES
        )
        assert (y.view(np.uint8).tolist(), found.tolist()) == ([[0]], [[[0, 0]]])

    def test_behind_the_last_expert(self) -> None:
        a = ([F32([[1, 1]] * 2)], F32([1, np.nan, np.inf]), np.array([1, 0]))
        y, scale = npu_grouped_matmul_swiglu_quant_v2(X, [WEIGHT], *a, group_list_type=1)
        assert (y[1:].tolist(), scale[1:].tolist()) == ([[0], [0]], [0, 0])

    def test_nan_and_infinity(self) -> None:
        """Of rows, and of blocks, which have no codes then."""
        a = ([F32([[1, 1]] * 2)], F32([np.nan, np.inf, 1]), np.array([3, 3]))
        y, scale = npu_grouped_matmul_swiglu_quant_v2(X, [WEIGHT], *a)
        assert y[:2].tolist() == [[0], [0]]
        assert scale.view(np.uint32)[:2].tolist() == [0x7FC00000, 0x7F800000]
        assert of_blocks([[1]], [[np.nan, 1]]) == ([[0]], [[[255, 0]]])

    def test_powers_that_are_none(self) -> None:
        assert of_blocks([[1], [2]], [[1, 1]], 255) == ([[0], [0]], [[[255, 0]]] * 2)

    def test_zeros_and_no_columns(self) -> None:
        assert of_blocks([[0]], [[1, 1]]) == ([[0]], [[[0, 0]]])
        assert of_blocks(np.ones((2, 3)), np.ones((3, 0))) == ([[], []], [[], []])
        assert of_blocks(np.ones((2, 0)), np.ones((0, 2))) == ([[0], [0]], [[[0, 0]]] * 2)


def test_unit_of_blocks_by_scalars(rng: np.random.Generator) -> None:
    """Sums of two blocks, which float64 holds, and the unit of these, which is quantized."""
    a = of_second(rng, (5, 40), "mx", n=12, experts=1)
    x, weight = a["x"].astype(float), a["weight"][0].astype(float)
    powers = (
        2.0 ** (a["x_scale"].astype(float) - 127),
        2.0 ** (a["weight_scale"][0].astype(float) - 127),
    )
    o = np.zeros((5, 6), F32)
    for row in range(5):
        c = []
        for n in range(12):
            total = F32(0)
            for j, own in enumerate((slice(0, 32), slice(32, 40))):
                p = float(F32(sum(x[row, own] * weight[own, n])))
                total += F32(p * powers[0][row, 0, j] * powers[1][0, n, j])
            c.append(total)
        o[row] = [scalar_swish(p) * q for p, q in zip(c[:6], c[6:], strict=True)]
    expected = npu_dynamic_mx_quant(o, dst_type="float8_e4m3fn")
    lists = {name: [a[name]] for name in ("weight", "weight_scale")}
    assert_same_bits(reference(**a | lists | {"weight_assist_matrix": None}), expected)
