"""The text of a comparison: short, facts first, and what it is not."""

from __future__ import annotations

import dataclasses
import html
import json
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from as_line import as_line
from numpy.typing import NDArray

import npu_quant
from npu_quant.golden import Comparison, VariantMatch, compare
from npu_quant.golden.report import words
from npu_quant.golden.sources import ArraySource, crc32
from npu_quant.testing import GoldenMismatch, assert_golden

Array = NDArray[Any]
F32 = np.float32


@pytest.fixture(scope="module")
def x() -> Array:
    return np.random.default_rng(3).standard_normal((256, 1024)).astype(np.float16)


def of(x: Array, actual: Any, **more: Any) -> Comparison:
    return compare(actual, op="npu_dynamic_quant", inputs={"input": x}, **more)


def wrong_scale(x: Array, row: int = 7) -> tuple[Array, Array]:
    y, scale = (a.copy() for a in npu_quant.npu_dynamic_quant(x))
    scale[row] *= F32(0.996)
    y[row] = np.clip(np.rint(x[row].astype(F32) / scale[row]), -128, 127)
    return y, scale


def reciprocal(x: Array) -> tuple[Array, Array]:
    scale = npu_quant.npu_dynamic_quant(x).scale.copy()
    v = x.astype(F32) * (F32(1) / scale)[:, None]
    return np.clip(np.rint(v), -128, 127).astype(np.int8), scale


class TestReport:
    def test_a_wrong_scale_is_named_before_its_consequences(self, x: Array) -> None:
        comparison = of(x, wrong_scale(x))
        wrong = comparison.output("y").metrics
        assert wrong is not None
        text, n = as_line(comparison), wrong.mismatches
        assert text.startswith("DIFFERENT: the scale of row 7 is wrong by -0.4 %")
        assert f"(y, {n} of {n} differences) npu_dynamic_quant y int8 (256, 1024), scale " in text
        lines = str(comparison).splitlines()
        files = lines.index("  actual=array  golden=computed")
        assert "1 of 256 scales differs" in lines[files + 1]
        assert "[7] actual" in lines[files + 2]
        assert "(-0.4 %)" in lines[files + 2]
        assert text.count("row 7 is wrong") == 1
        assert "not rounding: up to" in text
        assert "rounding explains 4" in text
        assert "only in row 7" in text
        assert "off_by_one" in text
        assert "despite this" in text
        assert "next: " not in text  # the cause is known, and no formula comes near

    def test_a_tie_says_how_near(self, x: Array) -> None:
        lines = str(of(x, reciprocal(x))).splitlines()
        assert re.fullmatch(
            r"OK \(tie\): \d+ of 262,144 codes differ, each within 0\.\d+ ulp of a tie \(y\)",
            lines[0],
        )
        assert lines[1] == "  npu_dynamic_quant y int8 (256, 1024), scale float32 (256,)"
        assert any("each is one step, within 0." in line for line in lines)
        assert any('identical to: "x * (1/scale)"' in line for line in lines)
        assert not any("not rounding" in line for line in lines)

    def test_a_variant_says_how_to_accept_it(self, x: Array) -> None:
        scale = npu_quant.npu_dynamic_quant(x).scale
        y = np.trunc(x.astype(F32) / scale[:, None]).astype(np.int8)
        refused = str(of(x, y))
        assert refused.startswith(
            "DIFFERENT: follows npu_dynamic_quant with truncation, byte for byte\n"
        )
        assert 'if it is meant, pass variant="truncation"' in refused
        accepted = str(of(x, y, variant="truncation"))
        assert accepted.startswith(
            "OK (variant): follows npu_dynamic_quant with truncation, byte for byte\n"
        )
        assert 'accepted: variant "truncation"' in accepted

    def test_a_tolerance_says_what_else_it_takes(self, x: Array) -> None:
        golden = npu_quant.npu_dynamic_quant(x).y
        actual = golden.copy()
        actual[3, 5] += 1 if actual[3, 5] < 0 else -1
        text = as_line(compare(actual, golden, atol=1))
        assert text.startswith(
            "OK (tolerated): 1 of 262,144 codes differs, by 1 times what atol=1, rtol=0 allows int8 "
        )
        assert "atol=1, rtol=0 kept: 1 times what it allows" in text
        assert "scale +1 % on one row: YES" in text
        assert "exceeded: 2 times what it allows" in str(compare(actual, golden, atol=0.5))

    def test_every_kind_has_its_own_words(self) -> None:
        golden = np.array([np.nan, np.inf, -np.inf, 1, 2], F32)

        def changed(at: int, to: float) -> str:
            actual = golden.copy()
            actual[at] = to
            return str(compare(actual, golden))

        assert "-inf where the golden has inf: 1" in changed(1, -np.inf)
        assert "inf where the golden has -inf: 1" in changed(2, np.inf)
        assert "a number where the golden has NaN: 1" in changed(0, 5)
        assert "NaN where the golden has a number: 1" in changed(3, np.nan)
        assert "where the golden" not in changed(3, 5)

    def test_finite_pairs_are_not_praised_where_none_differs(self) -> None:
        golden = np.array([np.inf, 1, 2], F32)
        assert "cosine" not in str(compare(-golden * [1, -1, -1], golden))
        assert "cosine" in str(compare(-golden, golden))

    def test_the_ends_of_the_range_and_signs(self) -> None:
        golden = np.array([127, -127, 5, -6, 7, 8], np.int8)
        actual = np.array([127, 127, -5, 6, 0, 8], np.int8)
        text = str(compare(actual, golden))
        assert "signs flipped: 3 · became 0: 1" in text
        assert "range's ends" not in text  # two on each side
        inside = golden.copy()
        inside[0] = 126
        assert "at the range's ends: actual 1, golden 2" in str(compare(inside, golden))
        assert "signs" not in str(compare(inside, golden))

    @pytest.mark.parametrize("many", [1, 2, 8])
    def test_at_most_twelve_facts(self, x: Array, many: int) -> None:
        y, scale = wrong_scale(x)
        y[9:, 3::8] += 1
        scale[100:] *= F32(2)
        assert of(x, (y, scale), atol=1)._repr_html_().count("<li>") == 11
        arrays = [x.astype(F32) for _ in range(many)]
        wrong = [a * F32(1.01) for a in arrays]
        wrong[0][3, 3] = np.nan
        assert compare(tuple(wrong), tuple(arrays), atol=1)._repr_html_().count("<li>") <= 11

    def test_lines_fit_a_terminal(self, x: Array) -> None:
        for comparison in (of(x, wrong_scale(x)), of(x, reciprocal(x)), of(x, reciprocal(x)[0])):
            assert max(map(len, str(comparison).splitlines())) <= 76

    def test_lines_are_broken_between_words(self, x: Array) -> None:
        report = str(of(x, wrong_scale(x)))
        whole = of(x, wrong_scale(x))._repr_html_()
        words = set(
            re.sub("<[^>]*>", " ", html.unescape(whole)).replace("DIFFERENT", "DIFFERENT:").split()
        )
        assert set(report.split()) <= words

    def test_without_an_operator_it_says_what_would_tell_more(self, x: Array) -> None:
        y, _ = wrong_scale(x)
        text = str(compare(y, npu_quant.npu_dynamic_quant(x).y))
        assert "rounding" not in text.splitlines()[1]
        assert "give op= and inputs=" in text

    def test_without_an_operator_what_may_be_rounding_is_not_accused(self, x: Array) -> None:
        (y, scale), (actual, _) = npu_quant.npu_dynamic_quant(x), reciprocal(x)
        up = np.nextafter(scale, F32(1))
        for one, other in ((actual, y), ((actual, up), (y, scale)), (up, scale)):
            text = str(compare(one, other))
            assert text.startswith("DIFFERENT: may be rounding: each is one step (")
            assert "give op= and inputs= to learn whether it is rounding" in text
            assert "despite" not in text

    @pytest.mark.parametrize("fault", ["a row", "many", "two steps", "a column", "NaN"])
    def test_what_is_no_rounding_is(self, x: Array, fault: str) -> None:
        golden = npu_quant.npu_dynamic_quant(x).y.clip(-120, 120)
        actual = golden.copy()
        if fault == "a row":
            actual = wrong_scale(x)[0].clip(-120, 120)
            assert np.abs(actual.astype(int) - golden).max() == 1
        elif fault == "many":
            actual[:, ::50] += 1
        elif fault == "two steps":
            actual[3, 3] += 2
        elif fault == "a column":
            actual[::2, 5] += 1
        else:
            golden = golden.astype(F32)
            actual = golden.copy()
            actual[3, 3] = np.nan
        text = str(compare(actual, golden))
        assert "may be rounding" not in text
        assert ("also:" in text) == (fault != "NaN")

    def test_a_pattern_is_shown_of_what_may_be_rounding(self) -> None:
        golden = np.random.default_rng(4).standard_normal((256, 512)).astype(F32)
        actual = golden.copy()
        actual[5] = np.nextafter(actual[5], F32(9))
        text = str(compare(actual, golden))
        assert "DIFFERENT: may be rounding: each is one step (512 of 512 differences)" in text
        assert "\n  only in row 5 (512 of 512; by chance" in text
        text = as_line(compare(np.nextafter(golden, F32(9)), golden))
        assert "may be rounding: each is one step, and they form no pattern" in text

    def test_the_sign_of_zeros_is_no_step(self) -> None:
        golden = np.random.default_rng(5).standard_normal((256, 512)).astype(F32).clip(0)
        text = str(compare(np.where(golden > 0, golden, F32(-0.0)), golden))
        assert "may be rounding" not in text
        assert f"sign of zero: {np.count_nonzero(golden == 0):,}" in text

    def test_a_cosine_beyond_float64_is_no_number(self) -> None:
        golden = np.arange(1, 4) * 1e304
        assert "cosine NaN" in str(compare(np.zeros(3), golden))

    @pytest.mark.filterwarnings("error")
    def test_signaling_nan_bring_no_warning(self) -> None:
        golden = np.ones((64, 16), np.float16)
        golden.view(np.uint16)[:, 3] = 0x7C01
        actual = golden.copy()
        actual[0, 0] = 5
        assert "off_by_one exceeded" in str(compare(actual, golden, preset="off_by_one"))

    def test_bfloat16_and_scalars(self) -> None:
        golden = np.ones((2, 3), ml_dtypes.bfloat16)
        actual = golden.copy()
        actual[1, 2] = 2
        assert "bfloat16 (2, 3)" in str(compare(actual, golden))
        assert "[1, 2]" in str(compare(actual, golden))
        assert str(compare(1.0, 1.5)).startswith(
            "DIFFERENT: actual 1, golden 1.5 (-33.3 %) (1 of 1 value)\n"
        )

    def test_the_exception_starts_with_its_name_and_keeps_the_comparison(self, x: Array) -> None:
        with pytest.raises(GoldenMismatch) as caught:
            assert_golden(wrong_scale(x), op="npu_dynamic_quant", inputs={"input": x})
        assert str(caught.value).startswith("DIFFERENT: the scale of row 7")
        assert isinstance(caught.value, AssertionError)
        assert caught.value.comparison.rung == "different"


class TestFirstLine:
    """What it says of a difference in y: a cause, else the nearest formula, a place, numbers."""

    @pytest.fixture
    def comparison(self, x: Array) -> Comparison:
        """One in columns 896 to 975, of which no cause is known."""
        y = npu_quant.npu_dynamic_quant(x).y.copy()
        y[:, 896:976] ^= np.random.default_rng(5).choice(np.int8([2, 4]), (256, 80))
        return of(x, y)

    def near(self, comparison: Comparison, **more: Any) -> str:
        match = VariantMatch("x * (1/scale)", True, "", "", **more)
        return as_line(dataclasses.replace(comparison, variants=(match,))).partition(" npu_dyn")[2]

    def test_a_place(self, comparison: Comparison) -> None:
        n = 256 * 80
        assert str(comparison).splitlines()[0] == (
            f"DIFFERENT: only in columns 896 to 975 (y, {n:,} of {n:,} differences)"
        )

    def test_rows_and_columns(self, x: Array) -> None:
        y = npu_quant.npu_dynamic_quant(x).y.copy()
        y[40:56, 992:1008] ^= np.random.default_rng(5).choice(np.int8([2, 4]), (16, 16))
        assert as_line(of(x, y)).startswith(
            "DIFFERENT: only in columns 992 to 1,007 and only in rows 40 to 55 "
            "(y, 256 of 256 differences) "
        )

    def test_a_cause_before_all(self, comparison: Comparison) -> None:
        output = dataclasses.replace(comparison.decisive, causes=("a bit is flipped",))
        match = VariantMatch("another", True, "", "", left={"y": 1}, at_ties={"y": 1})
        found = dataclasses.replace(
            comparison, outputs=(output,), decisive=output, variants=(match,)
        )
        assert str(found).startswith("DIFFERENT: a bit is flipped (y, 20,480 of 20,480 ")

    @pytest.mark.parametrize(
        ("left", "at_ties", "rest"),
        [
            (212, 212, "all but 212 codes, each at a tie"),
            (1, 1, "all but 1 code, each at a tie"),
            (1024, 1000, "all but 1,024 codes, 1,000 of these at a tie"),
            (20000, 20000, "all but 20,000 codes, each at a tie"),
            (0, 0, "byte for byte"),
        ],
    )
    def test_a_formula_before_a_place(
        self, comparison: Comparison, left: int, at_ties: int, rest: str
    ) -> None:
        said = self.near(comparison, left={"y": left, "scale": 9}, at_ties={"y": at_ties})
        assert said.startswith(f"amic_quant with x * (1/scale), {rest} (y) ")

    def test_but_none_that_leaves_more_than_a_twentieth(self, comparison: Comparison) -> None:
        said = self.near(comparison, left={"y": 1025}, at_ties={"y": 1024})
        assert "amic_quant with" not in said

    def test_a_formula_that_an_attribute_chooses(self, comparison: Comparison) -> None:
        said = self.near(comparison, attribute="scale_alg=1", left={"y": 3}, at_ties={"y": 3})
        assert said.startswith("amic_quant with x * (1/scale) (= --attr scale_alg=1), all but 3 ")


class TestData:
    def test_a_comparison_is_plain_data(self, x: Array) -> None:
        for actual in (wrong_scale(x), reciprocal(x), (npu_quant.npu_dynamic_quant(x).y, None)):
            data = of(x, actual).to_dict()
            assert json.loads(json.dumps(data, allow_nan=False)) == data
            assert data["schema_version"] == 1
            assert data["rung"] in ("different", "tie", "identical")
        y = of(x, wrong_scale(x)).to_dict()["outputs"][0]
        assert y["metrics"]["steps"]["0"] == y["metrics"]["count"] - y["metrics"]["mismatches"]
        assert y["where"]["concentrations"][0]["places"] == [7]
        assert y["presets"]["off_by_one"] is True

    def test_what_differs_in_shape_has_no_metrics(self) -> None:
        data = compare(np.zeros(3, np.int8), np.zeros(4, np.int8)).to_dict()
        assert data["outputs"][0]["metrics"] is None
        assert json.dumps(data, allow_nan=False)


def test_words() -> None:
    assert words.count(4194304) == "4,194,304"
    assert [words.number(v) for v in (127.0, 0.02481, 1.5e-7, float("nan"), float("-inf"))] == [
        "127",
        "0.02481",
        "1.5e-07",
        "NaN",
        "-inf",
    ]
    assert words.number(-0.0) == "-0"
    assert [words.distance(v) for v in (0.95, 149328, 8.4e6)] == ["0.95", "149,328", "8.4e+06"]
    assert words.share(339, 4194304) == "0.081 ‰"
    assert words.share(1, 2) == "50 %"
    assert words.index((7, 512)) == "[7, 512]"


def test_the_digest_is_of_the_bytes_in_c_order() -> None:
    """The check value of CRC-32: of "123456789"."""
    golden = np.frombuffer(b"123456789", np.uint8)
    assert crc32(ArraySource(golden)) == 0xCBF43926
    square = np.frombuffer(b"123456789", np.uint8).reshape(3, 3)
    assert crc32(ArraySource(np.asfortranarray(square))) == 0xCBF43926


def test_a_comparison_is_shown_in_a_line(x: Array) -> None:
    comparison = of(x, npu_quant.npu_dynamic_quant(x))
    assert repr(comparison) == (
        "<Comparison npu_dynamic_quant y int8 (256, 1024), scale float32 (256,): identical>"
    )
