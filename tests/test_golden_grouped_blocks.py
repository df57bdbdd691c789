"""Golden comparison of npu_grouped_dynamic_block_quant.

The formulas are in plain NumPy here; none is imported.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import npu_quant
from npu_quant.golden import Comparison, compare, explain

Array = NDArray[Any]
F32 = np.float32
E4M3 = ml_dtypes.float8_e4m3fn
OP = "npu_grouped_dynamic_block_quant"
TALL = {"row_block_size": 128}
ENDS = np.array([70, 70, 200, 300], np.int32)
"""Of blocks of 128 rows: 300 // 128 + 4 rows of scales, of which 4 have blocks."""
BLOCKS = [(0, 70), (), (70, 198), (198, 200), (200, 300), ()]


@pytest.fixture
def x(rng: np.random.Generator) -> Array:
    return (rng.standard_normal((300, 200)) * np.exp(rng.standard_normal((300, 200)))).astype(F32)


def quantized(x: Array, bound: float = np.inf, factor: float = 1) -> tuple[Array, Array]:
    """Return codes of blocks of 128 x 128 and scales, 77 where there is no block."""
    y, scales = np.zeros(x.shape, E4M3), np.full((len(BLOCKS), 2), 77, F32)
    for row, block in enumerate(BLOCKS):
        for column in (0, 1) if block else ():
            at = slice(*block), slice(128 * column, 128 * (column + 1))
            scale = np.minimum(np.abs(x[at]).max() / F32(448), F32(bound))
            q = x[at] / scale * F32(factor)
            y[at], scales[row, column] = np.clip(q, -448, 448).astype(E4M3), scale
    return y, scales


def compared(actual: Any, x: Array, ends: Array = ENDS, **more: Any) -> Comparison:
    inputs = {"x": x, "group_list": ends, "dst_type": E4M3, "row_block_size": 128} | more
    return compare(actual, op=OP, inputs=inputs)


def test_scales_of_no_block_are_not_compared(x: Array) -> None:
    """As the device leaves them as they were in memory."""
    actual = quantized(x)
    assert compared(actual, x).rung == "identical"
    assert explain(actual, OP, {"x": x, "group_list": ENDS, "dst_type": E4M3} | TALL).matches
    actual[1][3, 1] *= F32(1.5)
    comparison = compared(actual, x)
    assert comparison.decisive.name == "scale"
    assert comparison.output("scale").metrics.mismatches == 1


def test_a_bound_and_an_infinity_beyond_it(x: Array) -> None:
    assert compared(quantized(x, bound=1 / 64), x, min_scale=64.0).rung == "identical"
    x[220, 3] = np.inf
    y, scales = quantized(x, bound=1 / 64)
    y[200:, :128], scales[4, 0] = np.copysign(F32(0), x[200:, :128]).astype(E4M3), np.inf
    y[220, 3] = 0
    comparison = compared((y, scales), x, min_scale=64.0)
    assert [v.name for v in comparison.variants] == ["inf beyond min_scale"]
    assert not comparison.passed


def test_another_formula_is_named(x: Array) -> None:
    y, scales = quantized(x)
    for row in (0, 2, 3, 4):
        for column in (0, 1):
            own = x[slice(*BLOCKS[row]), 128 * column : 128 * (column + 1)]
            scales[row, column] = F32(448) / np.abs(own).max()
    comparison = compared((y, scales), x)
    assert "scale is 448 / amax" in [v.name for v in comparison.variants]


def test_an_order_of_operations_is_a_tie_and_a_percent_is_not(x: Array) -> None:
    actual = quantized(x, factor=1 + 2.0**-23)
    assert compared(actual, x).rung in ("tie", "identical")
    assert compared(quantized(x, factor=1.01), x).rung == "different"


def test_blocks_that_do_not_begin_anew(x: Array) -> None:
    across = npu_quant.npu_dynamic_block_quant(x, dst_type=E4M3, col_block_size=128, **TALL).y
    scales = npu_quant.npu_grouped_dynamic_block_quant(x, ENDS, dst_type=E4M3, **TALL).scale
    comparison = compared((across, scales), x)
    assert comparison.rung == "different"
    assert comparison.output("scale").rung == "identical"


@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 4), (0, 3, 4), (3, 0)])
def test_nothing_to_quantize(shape: tuple[int, ...]) -> None:
    x, ends = np.zeros(shape, F32), np.full(2, shape[-2], np.int32)
    y, scale = npu_quant.npu_grouped_dynamic_block_quant(x, ends, dst_type=E4M3)
    assert compare((y.copy(), scale.copy()), op=OP, inputs=[x, ends]).passed == (y.size > 0)


def test_a_group_of_rows_divided_by_another_scale(x: Array) -> None:
    """Codes that follow from a wrong scale are told apart from wrong codes."""
    y, scales = quantized(x)
    scales[2] *= 2
    for column in (0, 1):
        at = slice(70, 198), slice(128 * column, 128 * (column + 1))
        y[at] = (x[at] / scales[2, column]).astype(E4M3)
    comparison = compared((y, scales), x)
    assert comparison.output("y").follows_scale
    assert comparison.output("scale").metrics.mismatches == 2
