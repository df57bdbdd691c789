"""Tolerances and presets, each at its border."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from test_golden_files_tolerance import excess_of

from npu_quant import ParamError
from npu_quant.golden import compare
from npu_quant.golden.judge.tolerance import (
    CHINESE,
    RULES,
    Measured,
    Preset,
    is_about,
    is_kept,
    rule_of,
    verdicts_of_presets,
)
from npu_quant.golden.measure.metrics import measure
from npu_quant.golden.sources import ArraySource

Array = NDArray[Any]
F32 = np.float32


def measured(actual: Array, golden: Array) -> Measured:
    a, g = ArraySource(actual), ArraySource(golden)
    return Measured(measure(a, g)[0], a, g)


def passes(preset: str, actual: Array, golden: Array) -> bool:
    used = rule_of(preset)(measured(actual, golden))
    assert used is not None
    return is_kept(used)


def off(golden: Array, at: int, by: float) -> Array:
    """Return the golden with one element off."""
    actual = golden.copy()
    actual[at] = golden.dtype.type(float(golden[at]) + by)
    return actual


class TestExcess:
    def test_atol_and_rtol_add_up(self) -> None:
        golden = np.array([10.0, -10, 0], F32)
        for at in (0, 1):
            assert excess_of(off(golden, at, 3), golden, 1, 0.2).beyond == 0
            assert excess_of(off(golden, at, 3), golden, 1, 0.2).ratio == 1
            assert excess_of(off(golden, at, 3.5), golden, 1, 0.2).beyond == 1
            assert excess_of(off(golden, at, -3.5), golden, 1, 0.2).beyond == 1
        assert excess_of(off(golden, 2, 1), golden, 1, 0.2).beyond == 0
        assert excess_of(off(golden, 2, 1.5), golden, 1, 0.2).beyond == 1

    def test_no_tolerance_is_equality(self) -> None:
        golden = np.array([1.0, 2], F32)
        assert excess_of(golden, golden.copy(), 0, 0).ratio == 0
        assert excess_of(off(golden, 0, 1e-6), golden, 0, 0).ratio == np.inf

    def test_nan_and_inf(self) -> None:
        golden = np.array([np.nan, np.inf, -np.inf, 1], F32)
        assert excess_of(golden, golden.copy(), 1, 1).beyond == 0
        for at, to in ((0, 1), (1, 1), (1, -np.inf), (1, np.nan), (2, np.inf), (3, np.inf)):
            wrong = golden.copy()
            wrong[at] = to
            found = excess_of(wrong, golden, 1e30, 1)
            assert (found.beyond, found.ratio) == (1, np.inf)
        wrong = golden.copy()
        wrong[3] = np.nan
        assert excess_of(wrong, golden, 1e30, 1).beyond == 1
        # Beside a NaN the others are judged as ever: 3 is what 10 allows.
        golden = np.array([np.nan, 10, 10, 10], F32)
        wrong = np.array([1, 12, 13, 14], F32)
        assert excess_of(wrong, golden, 1, 0.2).beyond == 2

    def test_integers_are_widened(self) -> None:
        a, g = np.array([127], np.int8), np.array([-128], np.int8)
        assert excess_of(a, g, 254, 0).beyond == 1
        assert excess_of(a, g, 255, 0).beyond == 0
        big = np.array([2**62 + 1], np.int64)
        assert excess_of(big, big - 1, 0.5, 0).beyond == 1


GOLDEN = np.arange(1, 2001, dtype=np.int32)
FLOATS = np.linspace(1, 2, 2000).astype(F32)


class TestPresets:
    def test_is_kept(self) -> None:
        assert is_kept(0)
        assert is_kept(1)
        assert not is_kept(float(np.nextafter(1, 2)))
        assert not is_kept(float("nan"))

    def test_exact(self) -> None:
        assert passes("exact", GOLDEN, GOLDEN.copy())
        assert not passes("exact", off(GOLDEN, 5, 1), GOLDEN)

    def test_off_by_one(self) -> None:
        assert passes("off_by_one", off(GOLDEN, 5, -1), GOLDEN)
        assert not passes("off_by_one", off(GOLDEN, 5, 2), GOLDEN)
        assert passes("off_by_one", np.nextafter(FLOATS, F32(9)), FLOATS)
        assert not passes("off_by_one", off(FLOATS, 5, np.inf), FLOATS)

    def test_thousandth(self) -> None:
        """Two of 2000 elements are one in a thousand; three are more."""
        golden = np.full(2000, 1000, np.int32)
        wrong = golden.copy()
        wrong[:2] = 1002
        assert passes("thousandth", wrong, golden)
        wrong[2] = 1002
        assert not passes("thousandth", wrong, golden)
        wrong[2] = 1001  # off by a thousandth (and 1e-10 less), no more
        assert passes("thousandth", wrong, golden)
        assert not passes("thousandth", off(FLOATS, 5, np.inf), FLOATS)

    @pytest.mark.parametrize("beyond", [2, 3])
    def test_thousandth_has_its_chinese_name(self, beyond: int) -> None:
        """Two of 2000 elements are one in a thousand, three are more."""
        golden = np.arange(1000, 3000, dtype=np.float32)
        wrong = golden.copy()
        wrong[:beyond] *= F32(1.01)
        rung = "tolerated" if beyond == 2 else "different"
        assert [compare(wrong, golden, preset=p).rung for p in ("双千分之一", "thousandth")] == [
            rung
        ] * 2
        assert rule_of("双千分之一") is rule_of("thousandth")

    def test_a_chinese_name_is_about_codes_too(self) -> None:
        codes = GOLDEN.astype(np.int8)
        assert is_about("双千分之一", "int8")
        assert compare(codes, codes.copy(), preset="双千分之一").passed

    def test_sqnr(self) -> None:
        golden = np.array([30.0, 40], F32)  # of norm 50
        wrong = np.array([30.0, 40.5], F32)  # 40 dB
        assert passes("sqnr=40", wrong, golden)
        assert not passes("sqnr=40.1", wrong, golden)
        assert passes("sqnr=39", wrong, golden)
        assert not passes("sqnr=1", np.array([np.nan, 40], F32), golden)

    @pytest.mark.parametrize(
        ("dtype", "rtol", "atol", "limit"),
        [
            (np.float16, 2**-9, 2**-9, 0.1),
            (ml_dtypes.bfloat16, 2**-6, 2**-6, 1.0),
            (np.float32, 2**-10, 2**-16, 0.01),
        ],
    )
    def test_cann(self, dtype: Any, rtol: float, atol: float, limit: float) -> None:
        """At most 1 % of the elements beyond atol + rtol |golden|, none beyond the limit."""
        golden = np.full(1000, 0.5, dtype)
        beyond = dtype(0.5 + 4 * (atol + 0.5 * rtol))
        assert float(beyond) - 0.5 < limit
        wrong = golden.copy()
        wrong[:10] = beyond
        assert passes("cann", wrong, golden)
        wrong[10] = beyond
        assert not passes("cann", wrong, golden)
        wrong = golden.copy()
        wrong[0] = dtype(0.5 + 2 * limit)
        assert not passes("cann", wrong, golden)
        wrong[0] = np.nan
        assert not passes("cann", wrong, golden)

    def test_cann_has_an_ulp_limit_too(self) -> None:
        """1024 float32 has an ulp of 2^-13: off by 32 of them is beyond 0.01 and still allowed."""
        golden = np.full(1000, 1 << 20, F32)
        assert passes("cann", off(golden, 0, 32 / 8), golden)
        assert not passes("cann", off(golden, 0, 33 / 8), golden)

    def test_cann_en(self) -> None:
        """Mean relative error below T = 2^-10, greatest below 10 T, for float16."""
        golden = np.full(1024, 1, np.float16)
        assert passes("cann-en", off(golden, 0, 9 / 1024), golden)
        assert not passes("cann-en", off(golden, 0, 11 / 1024), golden)
        assert not passes("cann-en", off(golden, 0, np.inf), golden)
        assert not passes("cann-en", (golden + np.float16(2**-9)).astype(np.float16), golden)
        assert passes("cann-en", golden, golden.copy())

    def test_msprobe(self) -> None:
        golden = np.array([1.0, 0, 0, 0], F32)
        assert passes("msprobe", golden, golden.copy())
        assert passes("msprobe", off(golden, 0, 1), golden)
        assert not passes("msprobe", off(golden, 0, 1.01), golden)
        # cosine 1 / sqrt(1 + t^2): 0.99 at t = 0.1425, 0.9 at 0.4843
        assert passes("msprobe", off(golden, 1, 0.142), golden)
        assert not passes("msprobe", off(golden, 1, 0.143), golden)
        tiny = golden * F32(0.001)
        assert passes("msprobe", off(tiny, 1, 0.143e-3), tiny)
        assert passes("msprobe", off(tiny, 1, 0.484e-3), tiny)
        assert not passes("msprobe", off(tiny, 1, 0.485e-3), tiny)
        assert not passes("msprobe", np.zeros(4, F32), golden)
        for value in (np.nan, np.inf):
            assert not passes("msprobe", off(golden, 3, value), golden)

    @pytest.mark.parametrize(
        ("cosine", "max_abs", "kept"),
        [(0.99, 0.5, True), (0.98, 0.001, True), (0.9, 0.001, True), (0.9, 0.0011, False)],
    )
    def test_msprobe_at_its_borders(self, cosine: float, max_abs: float, kept: bool) -> None:
        m = measured(FLOATS, FLOATS.copy())
        m.metrics = dataclasses.replace(m.metrics, cosine=cosine, max_abs=max_abs)
        assert is_kept(rule_of("msprobe")(m) or 0) == kept

    def test_unknown_ones_are_listed(self) -> None:
        for name in ("fine", "sqnr", "sqnr=", "sqnr=-1", "sqnr=४०"):
            with pytest.raises(
                ParamError, match=r"known: exact, off_by_one, thousandth \(双千分之一\), sqnr=40"
            ):
                rule_of(name)

    def test_those_about_floats_say_nothing_about_codes(self) -> None:
        codes = GOLDEN.astype(np.int8)
        assert set(verdicts_of_presets(measured(codes, codes.copy()))) == {
            "exact",
            "off_by_one",
            "thousandth",
            "sqnr=40",
            "msprobe",
        }
        floats = verdicts_of_presets(measured(FLOATS, FLOATS.copy()))
        assert floats == dict.fromkeys(
            ("exact", "off_by_one", "thousandth", "sqnr=40", "cann", "cann-en", "msprobe"), True
        )

    def test_they_make_a_result_tolerated(self) -> None:
        wrong = off(GOLDEN, 5, 1)
        assert compare(wrong, GOLDEN).rung == "different"
        for preset in ("off_by_one", "msprobe", "sqnr=40"):
            comparison = compare(wrong, GOLDEN, preset=preset)
            assert (comparison.rung, comparison.passed) == ("tolerated", True)
        assert compare(wrong, GOLDEN, preset="exact").rung == "different"


def test_the_least_and_the_greatest_number_are_tolerances() -> None:
    golden = np.zeros(4, F32)
    assert compare(off(golden, 1, 3.0), golden, atol=np.finfo(np.float64).max).passed
    assert not compare(off(golden, 1, 3.0), golden, atol=0, rtol=0).passed


def test_type_checkers_know_every_preset() -> None:
    """Of sqnr some."""
    known = set(get_args(Preset))
    assert {*RULES, *CHINESE} <= known
    for name in known:
        rule_of(name)
