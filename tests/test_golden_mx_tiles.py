"""Golden comparison of npu_dynamic_block_mx_quant.

The formulas are in plain NumPy here; none is imported.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from as_line import as_line
from mx_formulas import F32, Array, fitted, floored

import npu_quant
from npu_quant.golden import Comparison, compare, explain

E4M3 = ml_dtypes.float8_e4m3fn
OP = "npu_dynamic_block_mx_quant"


@pytest.fixture
def x(rng: np.random.Generator) -> Array:
    """Three by five tiles, the last of a row alone in its pair."""
    return (rng.standard_normal((96, 160)) * np.exp(rng.standard_normal((96, 160)))).astype(F32)


def tiled(x: Array, rule: Any = floored, spread: int = 32) -> tuple[Array, Array, Array]:
    """Return codes, and bytes for rows and for columns, of tiles of 32 columns."""
    amax = np.abs(x.astype(np.float64)).reshape(96 // spread, spread, 5, 32).max((1, 3))
    exponent = np.repeat(rule(amax), spread, axis=0)[::32]
    each = np.repeat(np.repeat(exponent, 32, axis=0), 32, axis=1)
    codes = np.clip(x / 2.0**each, -448, 448).astype(E4M3)
    bytes_ = (each + 127).astype(np.uint8)
    of_rows = np.pad(bytes_[:, ::32], ((0, 0), (0, 1))).reshape(96, 3, 2)
    of_columns = np.pad(bytes_[::32], ((0, 1), (0, 0))).reshape(2, 2, 160).transpose(0, 2, 1)
    return codes, of_rows, np.ascontiguousarray(of_columns)


def compared(actual: Any, x: Array, **more: Any) -> Comparison:
    return compare(actual, op=OP, inputs={"input": x, "dst_type": E4M3} | more)


def test_all_by_the_rule_that_was_asked_for(x: Array) -> None:
    assert compared(tiled(x), x).rung == "identical"


def test_another_rule_is_named(x: Array) -> None:
    comparison = compared(tiled(x, fitted), x)
    assert (comparison.rung, comparison.passed) == ("variant", False)
    assert "scale rceil" in [v.name for v in comparison.variants]
    y, scales, _ = tiled(x, fitted)
    found = explain({"y": y, "scale1": scales, "scale2": None}, OP, {"input": x, "dst_type": E4M3})
    assert "scale rceil" in [v.name for v in found.matches]


def test_one_layout_by_another_rule(x: Array) -> None:
    (y, of_rows, of_columns), other = tiled(x), tiled(x, fitted)
    comparison = compared((y, other[1], of_columns), x)
    assert comparison.decisive.name == "scale1"
    assert comparison.output("y").rung == comparison.output("scale2").rung == "identical"
    comparison = compared((other[0], of_rows, other[2]), x)
    assert comparison.decisive.name == "scale2"
    assert comparison.output("y").follows_scale


@pytest.mark.parametrize("given", [(True, False), (False, True), (True, True)])
def test_codes_follow_from_either_layout(x: Array, given: tuple[bool, bool]) -> None:
    """The bytes that they follow from may be those of rows alone, be the others golden or none."""
    (y, *scales), own = tiled(x, fitted), tiled(x)[1:]
    some = [s if is_given else None for s, is_given in zip(scales, given, strict=True)]
    comparison = compared((y, *some), x)
    assert comparison.output("y").follows_scale
    assert "follows from the actual scale" in as_line(comparison)
    mixed = [s if is_given else o for s, o, is_given in zip(scales, own, given, strict=True)]
    output = compared((y, *mixed), x).output("y")
    assert output.follows_scale
    codes, golden = y.astype(np.float64), tiled(x)[0].astype(np.float64)
    power = 2.0 ** (np.repeat(scales[0].reshape(96, 6)[:, :5], 32, axis=1) - 127.0)
    before = 2.0 ** (np.repeat(own[0].reshape(96, 6)[:, :5], 32, axis=1) - 127.0)
    assert output.numbers is not None
    assert output.numbers.mismatches == np.count_nonzero(codes * power != golden * before)


def test_codes_of_one_layout_where_the_other_is_wrong(x: Array) -> None:
    y, of_rows, of_columns = tiled(x, fitted)
    of_columns[0, 3, 1] += 1
    assert compared((y, of_rows, of_columns), x).output("y").follows_scale
    of_rows[40, 1, 1] += 1
    assert compared((y, of_rows, of_columns), x).output("y").follows_scale is False


def test_blocks_of_one_row_are_no_tiles(x: Array) -> None:
    x[33] *= 64
    y, scales = npu_quant.npu_dynamic_mx_quant(x, dst_type=E4M3)
    comparison = compared((y, scales, tiled(x)[2]), x)
    assert (comparison.rung, comparison.variants) == ("different", ())


def test_where_a_byte_is_wrong(x: Array) -> None:
    y, of_rows, of_columns = tiled(x)
    of_rows[40, 1, 1] += 1
    of_columns[1, 70, 0] += 1
    comparison = compared((y, of_rows, of_columns), x)
    assert "row 40, columns 96 to 127" in as_line(comparison)
    assert comparison.output("scale2").metrics.mismatches == 1


def test_subnormal_tiles_of_the_kernel(x: Array) -> None:
    """Where a tile's amax is subnormal, codes are 0; not where that of one column of it is."""
    x[:32, :32], x[32:64, :32], x[32:64, 3] = 2.0**-128, 2.0**-126, 2.0**-127
    inputs = {"dst_type": "float4_e1m2"}
    y, *scales = npu_quant.npu_dynamic_block_mx_quant(x, **inputs)
    assert y[:64, :16].all()
    y[:32, :16] = 0
    found = [v.name for v in compared((y, *scales), x, **inputs).variants]
    assert found[:2] == ["y is 0 where the byte is", "y is 0 where amax is subnormal"]
