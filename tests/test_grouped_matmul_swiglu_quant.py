"""npu_grouped_matmul_swiglu_quant by hand, by scalars, and beside the operators it is made of."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from cases.grouped_matmul_swiglu_quant import CODES, arguments, carriers, packed, sprinkled
from test_swiglu import scalar_swish
from test_swiglu_quant import scalar_codes
from witnesses import Array, assert_same_bits

from npu_quant import npu_dequant_swiglu_quant, npu_grouped_matmul_swiglu_quant
from npu_quant.ops.grouped_matmul_swiglu_quant import reference

F32 = np.float32
INF = np.inf


def of_one(
    x: Any, weight: Any, weight_scale: Any = None, x_scale: Any = None, **more: Any
) -> tuple[list[list[int]], list[float]]:
    """Quantize the products of all rows with one matrix."""
    x, weight = np.array(x, np.int8), np.asarray(weight)
    n = weight.shape[1] * (8 if more and weight.shape[0] == x.shape[1] else 1)
    scale = np.ones(n, F32) if weight_scale is None else np.asarray(weight_scale)
    rows = np.ones(len(x), F32) if x_scale is None else F32(x_scale)
    found = npu_grouped_matmul_swiglu_quant(
        x, weight[None], np.array([len(x)]), scale[None], rows, **more
    )
    assert found.offset == 0
    return found.y.tolist(), found.scale.tolist()


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand: from 17 on swish(a) is a."""

    X: Array = np.array([[1, 2], [-3, 4], [5, 6]], np.int8)
    WEIGHT: Array = np.array([[[5, -6], [8, 9]], [[1, 2], [3, 4]]], np.int8)

    def test_experts(self) -> None:
        """Of the sums [[21, 12], [17, 54], [23, 34]]."""
        a = (F32([[0.1, 0.1]] * 2), F32([1, 1, 0.5]))
        y, scale, offset = npu_grouped_matmul_swiglu_quant(
            self.X, self.WEIGHT, np.array([2, 3]), *a
        )
        assert y.tolist() == [[127]] * 3
        assert scale.view(np.uint32).tolist() == [0x3C90D0F6, 0x3D7A5710, 0x3C3F8E7A]
        assert (offset.shape, offset.dtype, offset.tolist()) == ((), F32, 0)

    def test_behind_the_last_expert(self) -> None:
        a = (F32([[1, 1]] * 2), F32([1, 1, np.nan]))
        y, scale, _ = npu_grouped_matmul_swiglu_quant(self.X, self.WEIGHT, np.array([1, 2]), *a)
        assert (y[2].tolist(), scale[2].tolist()) == ([0], 0)
        y, scale, _ = npu_grouped_matmul_swiglu_quant(self.X, self.WEIGHT, np.array([0, 0]), *a)
        assert (y.tolist(), scale.tolist()) == ([[0]] * 3, [0] * 3)

    def test_the_first_half_is_the_gate(self) -> None:
        """32 and 64 times 2 and -1: 64 and -64."""
        weight = np.array([[32, 64, 2, -1]], np.int8)
        assert of_one([[1]], weight) == ([[127, -127]], [F32(64) / F32(127)])
        assert of_one([[-1]], weight)[1][0] < 1e-10  # swish(-32) is next to nothing

    def test_scales_of_rows_come_first(self) -> None:
        """4 * 1e38 is infinite whatever comes then: 40 if the column's scale came first."""
        weight = np.array([[4, 4]], np.int8)
        assert of_one([[1]], weight, F32([1e-37, 1e-37]), [1e38]) == ([[0]], [INF])

    def test_sums_wrap(self) -> None:
        """2^17 * 2^14 is 2^31, which is -2^31: the gate's 128 is positive."""
        x = np.full((1, 2**17), -128, np.int8)
        weight = np.zeros((2**17, 2), np.int8)
        weight[0, 0], weight[:, 1] = -1, -128
        assert of_one(x, weight)[0] == [[-127]]

    def test_int4(self) -> None:
        """Sums [8, 4, 0, -8, 1, 2, 0, 15]; gates 4 * that + bias are 32; all is doubled."""
        rows = np.array([[7, 4, 0, -8, 1, 2, 0, 7], [-1, 0, 0, 0, 0, 0, 0, -8]], np.int8)
        scale, bias = F32([4] * 4 + [1] * 4), F32([0, 16, 32, 64] + [0] * 4)
        expected = [[8, 17, 0, 127]], [F32(1920) / F32(127)]  # of 128, 256, 0 and 1920
        assert of_one([[9, 7]], packed(rows, -1), scale, [2], bias=bias[None]) == expected
        below = np.zeros((8, 8), np.int8)
        below[:2] = rows
        x = [[9, 7, 1, 1, 1, 1, 1, 1]]
        assert of_one(x, packed(below, -2), scale, [2], bias=bias[None]) == expected

    def test_groups_along_k(self) -> None:
        """1 * 4 * 8 + -1 * -4 * 2 is 40 for the gate; 1 * 2 * 1 + -1 * 3 * 4 is -10."""
        rows = np.array([[4] * 4 + [2] * 4, [-4] * 4 + [3] * 4], np.int8)
        scale = F32([[8] * 4 + [1] * 4, [2] * 4 + [4] * 4])
        bias = np.zeros((1, 8), F32)
        expected = [[-127] * 4], [F32(400) / F32(127)]
        assert of_one([[9, 7]], packed(rows, -1), scale, bias=bias) == expected
        words = carriers(np.random.default_rng(1), scale)
        assert of_one([[9, 7]], packed(rows, -1), words, bias=bias) == expected

    def test_no_rows_columns_or_depth(self) -> None:
        ends, ones = np.array([0]), np.ones((1, 4), F32)
        none = np.zeros((1, 3, 4), np.int8)
        found = npu_grouped_matmul_swiglu_quant(none[0, :0, :3], none, ends, ones, ones[0, :0])
        assert (found.y.shape, found.scale.shape) == ((0, 2), (0,))
        x = np.ones((2, 3), np.int8)
        a: Any = (np.array([2]), ones[:, :0], np.ones(2, F32))
        found = npu_grouped_matmul_swiglu_quant(x, none[:, :, :0], *a)
        assert (found.y.shape, found.scale.tolist()) == ((2, 0), [0, 0])
        assert of_one(np.ones((2, 0)), none[0, :0]) == ([[0, 0]] * 2, [0, 0])


@pytest.mark.usefixtures("target")
def test_codes_of_the_operators_it_is_made_of(rng: np.random.Generator) -> None:
    """Sums of rows by their expert, which npu_dequant_swiglu_quant makes codes.

    Scales of rows are powers of two: when they are multiplied by does not matter.
    """
    a = arguments(rng, (50, 70), n=140, experts=3, behind=True)
    a["x_scale"] = F32(2.0 ** rng.integers(-3, 3, 50))
    counts = np.diff(a["group_list"], prepend=0)
    expert = np.repeat(np.arange(3), counts)
    sums = np.zeros((50, 140), np.int32)
    for row, e in enumerate(expert):
        sums[row] = a["x"][row].astype(np.int32) @ a["weight"][e].astype(np.int32)
    expected = npu_dequant_swiglu_quant(
        sums,
        weight_scale=a["weight_scale"],
        activation_scale=a["x_scale"],
        group_index=counts,
        activate_left=True,
        quant_mode=1,
    )
    assert_same_bits(npu_grouped_matmul_swiglu_quant(**a)[:2], expected)


def scalar_row(a: dict[str, Any], row: int, expert: int, matrix: Array) -> list[Any]:
    """Compute c of a row."""
    scale, of_row = a["weight_scale"][expert], a["x_scale"][row]
    x, values = a["x"][row].tolist(), []
    for n in range(matrix.shape[1]):
        column = matrix[:, n].tolist()
        if a["bias"] is None:
            acc = sum(p * q for p, q in zip(x, column, strict=True))
            values.append(F32(acc) * of_row * scale[n])
            continue
        total, factors = F32(0), scale if scale.ndim == 2 else scale[None]
        size = len(x) // len(factors)
        for j, factor in enumerate(factors):
            own = range(j * size, (j + 1) * size)
            total += F32(sum((x[k] - 8) * column[k] for k in own)) * factor[n]
        values.append((total + a["bias"][expert, n]) * of_row)
    return values


def numbers_in(words: Array, k: int) -> Array:
    """Return the int4 in a matrix of words: the lowest nibble is the first one."""
    turned = words if len(words) == k else words.T
    nibbles = turned.astype(np.int64)[..., None] >> np.arange(0, 32, 4) & 15
    found = (((nibbles ^ 8) - 8) & -1).reshape(len(turned), -1)
    return found if len(words) == k else found.T


@pytest.mark.parametrize(("codes", "groups"), [("int8", 0), *itertools.product(CODES[1:], (0, 4))])
def test_reference_against_scalars(rng: np.random.Generator, codes: str, groups: int) -> None:
    """The reference itself, against a loop that shares nothing with it."""
    a = sprinkled(rng, arguments(rng, (9, 24), codes, n=16, groups=groups, experts=3, behind=True))
    found = reference(**a)
    counts = np.diff(a["group_list"], prepend=0)
    experts = np.repeat(np.arange(3), counts).tolist()
    for row in range(9):
        y, scale = [0] * 8, F32(0)
        if row < len(experts):
            matrix = a["weight"][experts[row]]
            with np.errstate(all="ignore"):
                whole = matrix if codes == "int8" else numbers_in(matrix, 24)
                c = scalar_row(a, row, experts[row], whole)
                o = [scalar_swish(p) * q for p, q in zip(c[:8], c[8:], strict=True)]
                scale = F32(np.nan) if any(np.isnan(o)) else max(abs(v) for v in o) / F32(127)
                y, _ = scalar_codes([v / scale for v in o], 0, 127)
        assert found.y[row].tolist() == y
        np.testing.assert_array_equal(found.scale[row], scale)
