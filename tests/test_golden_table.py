"""What rounding explains and what it does not: harmless formulas and planted bugs.

The formulas are written here in plain NumPy, float32 operation by operation; none is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import npu_quant
from npu_quant.golden import Comparison, compare

Array = NDArray[Any]
F32 = np.float32
ROWS, N = 512, 1024
SIXTEEN = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


def sat8(v: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(v), 0, np.clip(np.rint(v), -128, 127)).astype(np.int8)


def half_away(v: Array) -> Array:
    away = np.copysign(np.floor(np.abs(v.astype(np.float64)) + 0.5), v)
    return np.clip(away, -128, 127).astype(np.int8)


@pytest.fixture(scope="module", params=SIXTEEN, ids=lambda d: d.name)
def x(request: pytest.FixtureRequest) -> Array:
    rng = np.random.default_rng(7)
    return rng.standard_normal((ROWS, N)).astype(request.param)


class Rows:
    """The terms of dynamic quantization."""

    def __init__(self, x: Array) -> None:
        self.v = x.astype(F32)
        self.amax = np.abs(self.v).max(axis=-1)
        self.scale = self.amax / F32(127)

    def compare(self, y: Array, scale: Array | None, x: Array, **more: Any) -> Comparison:
        return compare((y, scale), op="npu_dynamic_quant", inputs={"input": x}, **more)


def column(a: Array) -> Array:
    return a[:, None]


HARMLESS: dict[str, Callable[[Rows], Array]] = {
    "x * (1/s)": lambda r: sat8(r.v * column(F32(1) / r.scale)),
    "x * (127/A)": lambda r: sat8(r.v * column(F32(127) / r.amax)),
    "x * ((1/A) * 127)": lambda r: sat8(r.v * column(F32(1) / r.amax * F32(127))),
    "half away": lambda r: half_away(r.v / column(r.scale)),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_another_order_of_operations_is_a_tie(x: Array, name: str) -> None:
    rows = Rows(x)
    comparison = rows.compare(HARMLESS[name](rows), rows.scale, x)
    y = comparison.output("y")
    assert (comparison.rung, y.rung, comparison.output("scale").rung) == ("tie", "tie", "identical")
    assert y.metrics is not None
    assert y.ties is not None
    # Of 2^19 codes, as 311 to 387 (fp16) and 1083 to 1459 (bf16) of 2^22.
    assert 15 < y.metrics.mismatches < 300
    assert y.ties.farthest < 1
    assert comparison.variants
    assert all(v.benign for v in comparison.variants)


@pytest.mark.parametrize(
    "scale_of",
    [lambda a: a * (F32(1) / F32(127)), lambda a: F32(1) / (F32(127) / a)],
    ids=["A * (1/127)", "1 / (127/A)"],
)
def test_another_way_to_the_scale_is_a_tie_in_both(x: Array, scale_of: Any) -> None:
    rows = Rows(x)
    scale = scale_of(rows.amax)
    assert 0.01 < np.mean(scale != rows.scale) < 0.5
    comparison = rows.compare(sat8(rows.v / column(scale)), scale, x)
    assert {o.name: o.rung for o in comparison.outputs} == {"y": "tie", "scale": "tie"}
    ties = comparison.output("y").ties
    assert ties is not None
    assert ties.farthest < 1
    assert comparison.variants  # the report names the joint formula
    assert "identical to:" in str(comparison)


def test_a_quotient_in_float16_is_a_variant_that_is_not_benign(x: Array) -> None:
    rows = Rows(x)
    y = sat8((rows.v / column(rows.scale)).astype(np.float16).astype(F32))
    comparison = rows.compare(y, rows.scale, x)
    y_ties = comparison.output("y").ties
    assert (comparison.rung, comparison.passed) == ("variant", False)
    assert y_ties is not None
    assert 4000 < y_ties.farthest < 4200
    assert [v.benign for v in comparison.variants] == [False] * len(comparison.variants)
    name = comparison.variants[0].name
    assert rows.compare(y, rows.scale, x, variant=name).passed


def test_a_scale_in_bfloat16_is_a_variant_that_is_not_benign(x: Array) -> None:
    rows = Rows(x)
    scale = rows.scale.astype(ml_dtypes.bfloat16).astype(F32)
    comparison = rows.compare(sat8(rows.v / column(scale)), scale, x)
    assert (comparison.rung, comparison.passed) == ("variant", False)
    assert {o.name: o.rung for o in comparison.outputs} == {"y": "variant", "scale": "variant"}
    ties = comparison.output("y").ties
    assert ties is not None
    assert ties.farthest > 20_000


def test_truncation_is_a_variant_that_is_not_benign(x: Array) -> None:
    rows = Rows(x)
    comparison = rows.compare(np.trunc(rows.v / column(rows.scale)).astype(np.int8), rows.scale, x)
    y = comparison.output("y")
    assert (comparison.rung, comparison.passed) == ("variant", False)
    assert y.metrics is not None
    assert y.ties is not None
    assert 0.45 < y.metrics.mismatches / y.metrics.count < 0.55
    assert y.ties.farthest > 8e6


def one_row(rows: Rows, factor: float, row: int = 7) -> tuple[Array, Array]:
    scale = rows.scale.copy()
    scale[row] = F32(float(scale[row]) * factor)
    return sat8(rows.v / column(scale)), scale


class TestOneRowsScale:
    def test_one_ulp_off_is_a_tie(self, x: Array) -> None:
        rows = Rows(x)
        scale = rows.scale.copy()
        scale[7] = np.nextafter(scale[7], F32(9))
        comparison = rows.compare(sat8(rows.v / column(scale)), scale, x)
        assert comparison.rung == "tie"
        assert comparison.output("scale").rung == "tie"

    def test_2_to_the_minus_20_off_is_different_by_the_scale_alone(self, x: Array) -> None:
        rows = Rows(x)
        y, scale = one_row(rows, 1 + 2**-20)
        comparison = rows.compare(y, scale, x)
        assert comparison.rung == "different"
        assert comparison.output("scale").rung == "different"
        assert comparison.output("y").rung in ("identical", "tie")
        metrics = comparison.output("scale").metrics
        assert metrics is not None
        assert 8 <= metrics.max_steps <= 16

    def test_without_the_scale_it_cannot_be_seen_and_the_report_says_so(self, x: Array) -> None:
        rows = Rows(x)
        y, _ = one_row(rows, 1 + 2**-20)
        comparison = rows.compare(y, None, x)
        assert comparison.rung in ("identical", "tie")
        assert "power:" in str(comparison)

    @pytest.mark.parametrize("factor", [1 + 2**-12, 0.99, 1.05])
    def test_more_is_different_and_the_row_is_named(self, x: Array, factor: float) -> None:
        rows = Rows(x)
        y, scale = one_row(rows, factor)
        for given in (scale, None):
            comparison = rows.compare(y, given, x)
            found = comparison.output("y")
            assert found.rung == "different"
            assert found.ties is not None
            assert found.ties.farthest > 1000
        assert "scale" in str(rows.compare(y, scale, x)).splitlines()[0]
        if factor in (0.99, 1.05):
            text = str(comparison)
            assert "only in row 7" in text
            assert f"the scale of row 7 is wrong by {100 * (factor - 1):+.2g} %" in text

    def test_the_codes_follow_from_the_scale_they_were_given(self, x: Array) -> None:
        rows = Rows(x)
        y, scale = one_row(rows, 0.99)
        comparison = rows.compare(y, scale, x)
        assert comparison.decisive.name == "scale"
        assert comparison.output("y").follows_scale
        assert "follows from the scale it was given" in str(comparison)
        other = y.copy()
        other[7, 3] += 2
        assert rows.compare(other, scale, x).output("y").follows_scale is False


def test_a_shifted_block_is_different_and_named(x: Array) -> None:
    rows = Rows(x)
    y = sat8(rows.v / column(rows.scale))
    shifted = y.copy()
    shifted[3, 256:384] = np.roll(y[3, 256:384], 1)
    comparison = rows.compare(shifted, rows.scale, x)
    text = str(comparison)
    assert comparison.rung == "different"
    assert "only in row 3 columns 256-383" in text
    assert "shifted right by 1 column" in text


def test_one_code_on_the_wrong_side_of_a_tie_is_different() -> None:
    x = np.full((1, 4), 127, np.float16)
    x[0, 1] = 42.5  # scale 1, before rounding 42.5: golden 42
    inputs = {"input": x}
    y = npu_quant.npu_dynamic_quant(x).y.copy()
    assert y[0, 1] == 42
    y[0, 1] = 41  # the tie between 41 and 42 is 41.5, one away: 2^18 ulp of 32 to 64
    comparison = compare(y, op="npu_dynamic_quant", inputs=inputs)
    ties = comparison.output("y").ties
    assert comparison.rung == "different"
    assert ties is not None
    assert ties.farthest == 2**18
    y[0, 1] = 43
    assert compare(y, op="npu_dynamic_quant", inputs=inputs).rung == "tie"


def test_scales_of_another_axis_are_different(x: Array) -> None:
    rows = Rows(x)
    by_column = np.abs(rows.v).max(axis=0) / F32(127)
    y = sat8(rows.v / by_column)
    comparison = rows.compare(y, by_column[:ROWS], x)
    assert comparison.rung == "different"
    found = comparison.output("y").metrics
    assert found is not None
    assert found.mismatches > 0.5 * y.size
