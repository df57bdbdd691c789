"""What rounding explains and what it does not: harmless formulas and planted bugs, per format.

The formulas are written here in plain NumPy, float32 operation by operation; none is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from as_line import as_line
from numpy.typing import NDArray

import npu_quant
from npu_quant.golden import Comparison, compare

Array = NDArray[Any]
F32 = np.float32
E4M3, BF16 = ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16
ROWS, N = 128, 512
HIFLOAT8 = np.array(
    [0]
    + [2.0**e for e in range(-22, -15)]
    + [
        2.0**e * (1 + m / 2**bits)
        for e in range(-15, 16)
        for bits in [3 if abs(e) < 4 else 2 if abs(e) < 8 else 1]
        for m in range(2**bits if e < 15 else 1)
    ]
)
"""All numbers of hifloat8 from 0 on, in order."""


def to_hifloat8(v: Array) -> Array:
    """Return the nearest of its numbers, ties away from zero."""
    middles = (HIFLOAT8[1:] + HIFLOAT8[:-1]) / 2
    near = HIFLOAT8[np.searchsorted(middles, np.abs(v).astype(np.float64), "right")]
    return npu_quant.formats.encode(np.copysign(near, v).astype(F32), "hifloat8")


def in_int8(v: Array) -> Array:
    return np.clip(np.rint(v), -128, 127).astype(np.int8)


def packed(v: Array) -> Array:
    """Return whole numbers as int4, 8 to an int32."""
    codes = np.clip(v, -8, 7).astype(np.int64).reshape(*v.shape[:-1], -1, 8) & 15
    return (codes << np.arange(0, 32, 4)).sum(-1).astype(np.uint32).view(np.int32)


class Own(NamedTuple):
    most: float
    encode: Callable[[Array], Array]
    other_ties: Callable[[Array], Array]
    truncated: Callable[[Array], Array]


def away(v: Array) -> Array:
    return np.copysign(np.floor(np.abs(v.astype(np.float64)) + 0.5), v)


def e4m3_in_steps(v: Array, whole: Callable[[Array], Array]) -> Array:
    """Round in units of the last of 4 significant bits, at least 2^-9."""
    _, exponent = np.frexp(v.astype(np.float64))
    step = np.maximum(2.0 ** (exponent - 4), 2.0**-9)
    return np.clip(whole(v / step) * step, -448, 448).astype(E4M3)


def hifloat8_even(v: Array) -> Array:
    """Round ties, of which 17 and 23 thirty-seconds are some, to the even mantissa."""
    lower = np.searchsorted(HIFLOAT8, np.abs(v).astype(np.float64), "right") - 1
    middles = (HIFLOAT8[1:] + HIFLOAT8[:-1]) / 2
    is_tie = np.abs(v) == middles[np.minimum(lower, len(middles) - 1)]
    _, exponent = np.frexp(HIFLOAT8[lower])
    width = np.where(np.abs(exponent - 1) < 4, 3, np.where(np.abs(exponent - 1) < 8, 2, 1))
    is_even = HIFLOAT8[lower] / 2.0 ** (exponent - 1 - width) % 2 == 0
    nudged = np.where(is_tie & is_even, np.copysign(HIFLOAT8[lower], v), v)
    return to_hifloat8(nudged)


def hifloat8_truncated(v: Array) -> Array:
    near = HIFLOAT8[np.searchsorted(HIFLOAT8, np.abs(v).astype(np.float64), "right") - 1]
    return to_hifloat8(np.copysign(near, v))


OWN = {
    "int8": Own(127, in_int8, lambda v: in_int8(away(v)), lambda v: in_int8(np.trunc(v))),
    "int4": Own(
        7, lambda v: packed(np.rint(v)), lambda v: packed(away(v)), lambda v: packed(np.trunc(v))
    ),
    "float8_e4m3fn": Own(
        448,
        lambda v: np.clip(v, -448, 448).astype(E4M3),
        lambda v: e4m3_in_steps(v, away),
        lambda v: e4m3_in_steps(v, np.trunc),
    ),
    "hifloat8": Own(32768, to_hifloat8, hifloat8_even, hifloat8_truncated),
}


class Rows:
    """The terms of dynamic quantization to a format, and its comparison."""

    def __init__(self, name: str, dtype: Any) -> None:
        rng = np.random.default_rng(7)
        self.name, self.own = name, OWN[name]
        self.x = rng.standard_normal((ROWS, N)).astype(dtype)
        # Rows whose quotients are often ties: the greatest by a power of two, in few bits.
        most = {"int8": 127 / 32, "hifloat8": 4.0}.get(name, 7.0)
        step = 64 if name == "int8" else 32
        few = np.rint(self.x[:16].astype(F32) * 64) / step
        self.x[:16] = np.clip(few, -most, most).astype(dtype)
        self.x[:16, 0] = most
        self.inputs = {"input": self.x, "dst_type": name}
        self.v = self.x.astype(F32)
        self.amax = np.abs(self.v).max(axis=-1)
        self.most = F32(self.own.most)
        self.scale = self.amax / self.most
        self.encode = self.own.encode

    def compare(self, y: Array, scale: Array | None, **more: Any) -> Comparison:
        return compare((y, scale), op="npu_dynamic_quant", inputs=self.inputs, **more)


CALLS = {**{name: (name, np.float16) for name in OWN}, "int8 of bfloat16": ("int8", BF16)}


@pytest.fixture(scope="module", params=CALLS)
def rows(request: pytest.FixtureRequest) -> Rows:
    return Rows(*CALLS[request.param])


def column(a: Array) -> Array:
    return a[:, None]


def test_the_formulas_here_are_the_operators(rows: Rows) -> None:
    y, scale = npu_quant.npu_dynamic_quant(rows.x, dst_type=rows.name)
    assert (scale == rows.scale).all()
    assert y.tobytes() == rows.encode(rows.v / column(scale)).tobytes()
    assert rows.compare(y, scale).rung == "identical"


FARTHEST = {  # of 64 to 128 a half ulp, 2^-5 or 2^-2, is 4096 or 32768 ulp of float32
    "fp16 quotient": (4000, 4200),
    "bf16 quotient": (30_000, 33_000),
    "bf16 scale": (20_000, np.inf),
    "truncation": (8e6, np.inf),
}


class TestTable:
    """docs/golden.md 2: each case of int8's table once more."""

    @pytest.mark.parametrize("name", ["x * (1/s)", "x * (MAX/A)", "x * ((1/A) * MAX)", "ties"])
    def test_another_order_or_rule_is_a_tie(self, rows: Rows, name: str) -> None:
        r = rows
        y = {
            "x * (1/s)": lambda: r.encode(r.v * column(1 / r.scale)),
            "x * (MAX/A)": lambda: r.encode(r.v * column(r.most / r.amax)),
            "x * ((1/A) * MAX)": lambda: r.encode(r.v * column(F32(1) / r.amax * r.most)),
            "ties": lambda: r.own.other_ties(r.v / column(r.scale)),
        }[name]()
        comparison = r.compare(y, r.scale)
        found = comparison.output("y")
        assert (comparison.rung, found.rung) == ("tie", "tie")
        assert comparison.variants[0].benign
        if r.name != "hifloat8":  # whose MAX is a power of two: float16 has these scales, too
            assert all(v.benign for v in comparison.variants)
        assert found.ties is None or found.ties.farthest < (1 if name.startswith("x") else 0.5)

    @pytest.mark.parametrize("name", ["A * (1/MAX)", "1 / (MAX/A)"])
    def test_another_way_to_the_scale_is_a_tie_in_both(self, rows: Rows, name: str) -> None:
        most = rows.most
        scale = rows.amax * (1 / most) if name[0] == "A" else 1 / (most / rows.amax)
        comparison = rows.compare(rows.encode(rows.v / column(scale)), scale)
        if rows.name == "hifloat8" and name[0] == "A":
            assert comparison.rung == "identical"
            return
        assert np.mean(scale != rows.scale) > 0.01
        assert comparison.output("scale").rung == "tie"
        assert comparison.output("y").rung in ("identical", "tie")
        assert any(v.benign for v in comparison.variants)  # the report names the joint formula
        assert "identical to:" in as_line(comparison)

    @pytest.mark.parametrize("name", ["fp16 quotient", "bf16 quotient", "bf16 scale", "truncation"])
    def test_another_function_is_a_variant_that_is_not_benign(self, rows: Rows, name: str) -> None:
        scale = rows.scale
        if name == "bf16 scale":
            scale = scale.astype(ml_dtypes.bfloat16).astype(F32)
        q = rows.v / column(scale)
        if "quotient" in name:
            q = q.astype(np.float16 if name[0] == "f" else ml_dtypes.bfloat16).astype(F32)
        y = rows.own.truncated(q) if name == "truncation" else rows.encode(q)
        comparison = rows.compare(y, scale)
        assert (comparison.rung, comparison.passed) == ("variant", False)
        assert name in [v.name for v in comparison.variants]
        assert not any(v.benign for v in comparison.variants)
        assert rows.compare(y, scale, variant=name).passed
        ties = comparison.output("y").ties
        assert ties is not None
        least, most = FARTHEST[name] if rows.name == "int8" else (1000, np.inf)
        assert least < ties.farthest < most
        metrics = comparison.output("y").metrics
        assert metrics is not None
        if (rows.name, name) == ("int8", "truncation"):
            assert 0.45 < metrics.mismatches / metrics.count < 0.55

    def one_row(self, rows: Rows, factor: float) -> tuple[Array, Array]:
        scale = rows.scale.copy()
        scale[70] = F32(float(scale[70]) * factor)
        return rows.encode(rows.v / column(scale)), scale

    def test_one_ulp_of_a_scale_is_a_tie(self, rows: Rows) -> None:
        scale = rows.scale.copy()
        scale[70] = np.nextafter(scale[70], F32(9))
        comparison = rows.compare(rows.encode(rows.v / column(scale)), scale)
        assert (comparison.rung, comparison.output("scale").rung) == ("tie", "tie")

    def test_2_to_the_minus_20_is_different_by_the_scale_alone(self, rows: Rows) -> None:
        y, scale = self.one_row(rows, 1 + 2**-20)
        comparison = rows.compare(y, scale)
        assert comparison.output("scale").rung == "different"
        assert 8 <= comparison.output("scale").metrics.max_steps <= 16  # type: ignore[union-attr]
        assert comparison.output("y").rung in ("identical", "tie")
        alone = rows.compare(y, None)
        assert alone.rung in ("identical", "tie")
        assert "power:" in as_line(alone)

    @pytest.mark.parametrize("factor", [0.98, 1.05])
    def test_more_is_different_and_the_row_is_named(self, rows: Rows, factor: float) -> None:
        y, scale = self.one_row(rows, factor)
        for given in (scale, None):
            found = rows.compare(y, given).output("y")
            assert found.rung == "different"
            assert found.ties is not None
            assert found.ties.farthest > 1000
        comparison = rows.compare(y, scale)
        assert comparison.decisive.name == "scale"
        assert comparison.output("y").follows_scale
        assert "only in row 70" in as_line(comparison)
        percent = "" if rows.name == "hifloat8" else f"{100 * (factor - 1):+.2g} %"  # a coarse one
        assert f"the scale of row 70 is wrong by {percent}" in as_line(comparison)
        y.view(np.uint8)[70, 3] ^= 1
        assert rows.compare(y, scale).output("y").follows_scale is False

    @pytest.mark.parametrize("rows", ["int8", "int8 of bfloat16"], indirect=True)
    def test_2_to_the_minus_12_is_different_in_int8(self, rows: Rows) -> None:
        y, scale = self.one_row(rows, 1 + 2**-12)
        for given in (scale, None):
            found = rows.compare(y, given).output("y")
            assert found.rung == "different"
            assert found.ties is not None
            assert found.ties.farthest > 1000

    def test_a_row_that_was_never_written_is_no_wrong_scale(self, rows: Rows) -> None:
        y = rows.encode(rows.v / column(rows.scale))
        y[70] = np.zeros(1, y.dtype)
        text = as_line(rows.compare(y, rows.scale))
        assert "row 70 is 0 everywhere: was it ever written?" in text
        assert "wrong by" not in text

    def test_a_shifted_block_is_different_and_named(self, rows: Rows) -> None:
        y = rows.encode(rows.v / column(rows.scale))
        each = 8 if rows.name == "int4" else 1
        shifted = y.copy()
        shifted[30, 256 // each : 384 // each] = np.roll(y[30, 256 // each : 384 // each], 1)
        text = as_line(rows.compare(shifted, rows.scale))
        assert text.startswith("DIFFERENT: row 30")
        assert "only in row 30 columns 256-383" in text
        assert f"shifted right by {each} column" in text

    def test_scales_of_another_axis_are_different(self, rows: Rows) -> None:
        by_column = np.abs(rows.v).max(axis=0) / rows.most
        comparison = rows.compare(rows.encode(rows.v / by_column), by_column[:ROWS])
        assert comparison.rung == "different"
        metrics = comparison.output("y").metrics
        assert metrics is not None
        assert metrics.mismatches > metrics.count / 4


# Numbers before rounding; the codes beside a tie's golden one: right, wrong; and how many ulp of
# the tie before the wrong one, 41.5, 1.5, 15.5 or 22, the number is away from it.
ONE_CODE = {
    "int8": (127.0, 42.5, 43, 41, 2**18),
    "int4": (7.0, 2.5, 3, 1, 2**23),
    "float8_e4m3fn": (448.0, 17.0, 0x59, 0x57, 1.5 * 2**20),  # 16 is 58, 18 is 59, 15 is 57
    "hifloat8": (32768.0, 18.0, 0x40, 0x42, 4 * 2**19),  # 20 is 41, 16 is 40, 24 is 42
}


@pytest.mark.parametrize("name", ONE_CODE)
def test_one_code_on_the_wrong_side_of_a_tie_is_different(name: str) -> None:
    most, tie, right, wrong, away_from = ONE_CODE[name]
    x = np.array([[most, tie, 0, 0, 0, 0, 0, 0]], F32)
    y = npu_quant.npu_dynamic_quant(x, dst_type=name).y
    for code, rung, farthest in ((right, "tie", 0), (wrong, "different", away_from)):
        actual = y.copy()
        if name == "int4":
            actual[0, 0] = (actual[0, 0] & ~0xF0) | code << 4
        else:
            actual.view(np.uint8)[0, 1] = code
        inputs = {"input": x, "dst_type": name}
        comparison = compare(actual, op="npu_dynamic_quant", inputs=inputs)
        assert comparison.rung == rung
        ties = comparison.output("y").ties
        assert ties is not None
        assert ties.farthest == farthest
        assert comparison.where is not None
        assert comparison.where.first == 1
