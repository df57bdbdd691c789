"""The verdict: every decision at its border, and compare()'s rungs on small arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from npu_quant import ParamError
from npu_quant.golden import Comparison, VariantMatch, compare, load, sources
from npu_quant.golden.elements import elements_of
from npu_quant.golden.judge import verdict
from npu_quant.golden.judge.rounding import Rounding, follows_scale
from npu_quant.golden.measure import differing
from npu_quant.golden.results import OutputComparison, Ties, Tolerance
from npu_quant.golden.sources import ArraySource
from npu_quant.golden.tie_results import TieTest

Array = NDArray[Any]
K = 4.0


def ties(within: int, farthest: float = 0.5) -> Ties:
    return Ties(K, within, farthest, 0, 0.5)


@dataclass
class FakeMetrics:
    mismatches: int
    max_steps: int = 0
    nonfinite: Any = None


def output(rung: str, **fields: Any) -> OutputComparison:
    return OutputComparison("y", np.dtype(np.int8), (4,), rung, **fields)


class TestDecisions:
    def test_a_tie_is_one_step_within_k(self) -> None:
        steps = np.array([0.0, 1, 1, 1, 1, 2, 255])
        distance = np.array([0.0, 0, K, np.nextafter(K, 9), np.nan, 0, 0])
        assert verdict.is_tie(steps, distance, K).tolist() == [
            False,
            True,
            True,
            False,
            False,
            False,
            False,
        ]

    def test_codes(self) -> None:
        assert verdict.rung_of_codes(0, None) == "identical"
        assert verdict.rung_of_codes(0, ties(0)) == "identical"
        assert verdict.rung_of_codes(5, ties(5)) == "tie"
        assert verdict.rung_of_codes(5, ties(4)) == "different"
        assert verdict.rung_of_codes(5, None) == "different"
        assert verdict.rung_of_codes(1, None) == "different"

    def test_scales(self) -> None:
        def rung(mismatches: int, steps: int, nonfinite: Any = None, dtype: Any = "f4") -> str:
            metrics: Any = FakeMetrics(mismatches, steps, nonfinite or {})
            return verdict.rung_of_scales(metrics, elements_of(dtype))

        assert rung(0, 0) == "identical"
        assert rung(1, 0) == "tie"  # 0 against -0
        assert rung(1, 1) == "tie"
        assert rung(1, 2) == "different"
        assert rung(1, 1, {("inf", "finite"): 1}) == "different"
        assert rung(1, 1, dtype=ml_dtypes.float8_e8m0fnu) == "different"  # a power of two is exact

    def test_exact_evidence_speaks_against_a_tie(self) -> None:
        def settled(rung: str, n: int, *, named: bool = True, accepted: bool = False) -> str:
            return verdict.settled(rung, n, named=named, accepted=accepted, kept=False)

        n = verdict.EVIDENCE
        assert settled("tie", n) == "variant"
        assert settled("tie", n - 1) == "tie"
        assert settled("tie", n, accepted=True) == "tie"
        assert settled("tie", n, named=False) == "tie"
        assert settled("identical", n) == "identical"

    def test_of_several_variants_the_one_that_was_named_is_accepted(self) -> None:
        a, b = VariantMatch("a", True, "", ""), VariantMatch("b", True, "", "")
        other = VariantMatch("c", False, "", "")
        assert verdict.accepted_of([], None) is None
        assert verdict.accepted_of([other], None) is None
        assert verdict.accepted_of([other], "z") is None
        assert verdict.accepted_of([other], "c") == "c"
        assert verdict.accepted_of([a], None) == verdict.accepted_of([a], "z") == "a"
        assert verdict.accepted_of([a, b, other], None) == "a"
        assert verdict.accepted_of([a, b, other], "z") == "a"
        assert verdict.accepted_of([a, b, other], "b") == "b"
        assert verdict.accepted_of([a, b, other], "c") == "c"

    def test_formulas_and_tolerances_are_tried_in_this_order(self) -> None:
        def settled(rung: str, **more: bool) -> str:
            flags = {"named": False, "accepted": False, "kept": False, **more}
            return verdict.settled(rung, verdict.EVIDENCE, **flags)

        assert settled("different") == "different"
        assert settled("different", kept=True) == "tolerated"
        assert settled("different", named=True) == "variant"
        assert settled("different", named=True, kept=True) == "tolerated"
        assert settled("different", named=True, accepted=True) == "variant"
        assert settled("different", named=True, accepted=True, kept=True) == "variant"
        assert settled("tie", named=True) == "variant"  # exact evidence speaks against it
        assert settled("tie", named=True, kept=True) == "tolerated"
        assert settled("tie", named=True, accepted=True) == "tie"
        assert settled("tie", kept=True) == "tie"
        assert settled("identical", named=True, kept=True) == "identical"

    def test_what_passes(self) -> None:
        passing = {rung for rung in verdict.RUNGS if verdict.passes(rung, False)}
        assert passing == {"identical", "tie", "tolerated"}
        assert verdict.passes("variant", True)
        assert not verdict.passes("different", True)

    def test_margins(self) -> None:
        assert verdict.margin_of(output("identical")) == 0
        assert verdict.margin_of(output("tie", ties=ties(1, 1.0))) == 0.25
        scale = output("tie", metrics=FakeMetrics(1, 1))
        assert verdict.margin_of(scale) == 1
        kept = Tolerance("atol=2", True, 0.5)
        assert verdict.margin_of(output("tolerated", tolerance=kept)) == 0.5
        assert np.isnan(verdict.margin_of(output("tolerated")))
        assert np.isnan(verdict.margin_of(output("variant", variant_accepted=True)))
        assert verdict.margin_of(output("variant", tolerance=kept)) == np.inf
        for tolerance in (None, kept):
            for accepted in (False, True):
                failed = output("different", variant_accepted=accepted, tolerance=tolerance)
                assert verdict.margin_of(failed) == np.inf

    def test_constants(self) -> None:
        assert verdict.is_constant(np.zeros(2))
        assert verdict.is_constant(np.full((2, 3), 7))
        assert verdict.is_constant(np.full(3, np.nan))
        assert not verdict.is_constant(np.array([5.0]))
        assert not verdict.is_constant(np.array([]))
        assert not verdict.is_constant(np.array([1, 1, 2]))
        assert not verdict.is_constant(np.array([np.nan, 1.0]))
        assert not verdict.is_constant(np.array([1.0, np.nan]))


# One row: amax 127, so that scale is exactly 1 and x is the number before rounding.
X = np.array([[127, 0.5, 1.5, -2.5, 3.25, -100]], np.float32)
Y = np.array([[127, 0, 2, -2, 3, -100]], np.int8)
SCALE = np.array([1], np.float32)


def changed(array: Array, at: int, to: Any) -> Array:
    array = array.copy()
    array.reshape(-1)[at] = to
    return array


def of_row(y: Array | None = None, scale: Array | None = None, **more: Any) -> Comparison:
    return compare((y, scale), op="npu_dynamic_quant", inputs={"input": X}, **more)


class Halves:
    """An operator whose numbers before rounding are given, each by its place."""

    op, outputs, kinds, inputs = "halves", ("y",), ("codes",), {}  # type: ignore[var-annotated]

    def __init__(self, values: list[float]) -> None:
        self.values = np.array(values)
        self.elements_of = lambda output: elements_of(np.int8)
        self.most_steps = lambda output: 1

    def allowed_for(self, output: int) -> float:
        return K

    def before_rounding(
        self, output: int, index: Array, actual: Array, golden: Array, scale: Array | None = None
    ) -> TieTest:
        tie = (actual.astype(np.float64) + golden) / 2
        steps = np.abs(actual.astype(np.float64) - golden)
        return TieTest(self.values[index], tie, np.abs(tie), steps)


class TestRounding:
    def test_of_equal_distances_the_first_is_the_farthest(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also where they are not looked at together."""
        golden = np.full(6, 10, np.int8)
        monkeypatch.setattr(differing, "MOST_AT_ONCE", 2)
        sides = ArraySource(golden + np.int8(1)), ArraySource(golden)
        rounding = Rounding(Halves([10.5, 10.25, 10.25, 10.4, 10.25, 10.5]), 0)
        for some in differing.differences(*sides):
            rounding.add(some)
        found = rounding.ties
        assert (found.within, found.farthest, found.farthest_index) == (2, 2.0**18, 1)

    def test_codes_follow_a_scale_up_to_k(self) -> None:
        golden, ulp = np.array([10], np.int8), 2.0**-20  # of float32 between 8 and 16
        sides = ArraySource(golden + np.int8(1)), ArraySource(golden)
        for away, follows in ((0.5 + K * ulp, True), (0.5 + (K + 1) * ulp, False)):
            model = Halves([11 - away])
            assert follows_scale(model, 0, *sides, np.ones(1, np.float32)) is follows

    @pytest.mark.parametrize("place", [0, 1, 2, 3, None])
    def test_codes_that_do_not_differ_are_looked_at_too(
        self, place: int | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Block by block: the golden's codes may not be what the actual scale gives."""
        monkeypatch.setattr(sources, "BLOCK_BYTES", 2)
        golden = np.full(4, 10, np.int8)
        model = Halves([5.0 if i == place else 10.0 for i in range(4)])
        sides = ArraySource(golden.copy()), ArraySource(golden)
        assert follows_scale(model, 0, *sides, np.ones(1, np.float32)) is (place is None)


class TestCompare:
    def test_identical(self) -> None:
        assert of_row(Y, SCALE).rung == "identical"
        assert of_row(Y, SCALE).passed

    def test_tie(self) -> None:
        for at, to in ((1, 1), (2, 1), (3, -3)):
            comparison = of_row(changed(Y, at, to), SCALE)
            assert (comparison.rung, comparison.passed) == ("tie", True)
            assert comparison.output("y").ties == Ties(4.0, 1, 0.0, at, float(X[0, at]))

    def test_one_step_away_from_a_tie_is_different(self) -> None:
        comparison = of_row(changed(Y, 4, 4), SCALE)  # 3.25 -> 4
        assert (comparison.rung, comparison.passed) == ("different", False)

    def test_the_wrong_side_of_a_tie_is_different(self) -> None:
        """0.5 -> -1: one step off golden 0, but the tie between 0 and -1 is -0.5."""
        comparison = of_row(changed(Y, 1, -1), SCALE)
        assert comparison.rung == "different"
        ties = comparison.output("y").ties
        assert ties is not None
        assert ties.farthest == 1.0 / 2.0**-24  # ulp of 0.5 is 2^-24

    def test_two_steps_are_different(self) -> None:
        assert of_row(changed(Y, 1, 2), SCALE).rung == "different"

    @pytest.mark.parametrize(("ulp", "rung"), [(1, "tie"), (-1, "tie"), (2, "different")])
    def test_scales_are_compared_in_ulp(self, ulp: int, rung: str) -> None:
        bits = SCALE.view(np.int32) + ulp
        assert of_row(Y, bits.view(np.float32)).output("scale").rung == rung

    def test_a_row_of_nan_has_no_tie(self) -> None:
        x = changed(X, 0, np.nan)
        inputs = {"input": x}
        zeros = np.zeros((1, 6), np.int8)
        assert compare(zeros, op="npu_dynamic_quant", inputs=inputs).rung == "identical"
        wrong = changed(zeros, 3, 1)
        assert compare(wrong, op="npu_dynamic_quant", inputs=inputs).rung == "different"

    def test_two_arrays_claim_no_tie(self) -> None:
        assert compare(Y, Y.copy()).rung == "identical"
        assert compare(changed(Y, 1, 1), Y).rung == "different"

    def test_nan_equals_nan_and_infinities_have_signs(self) -> None:
        a = np.array([np.nan, np.inf, 1], np.float32)
        assert compare(a, a.copy()).rung == "identical"
        assert compare(a, changed(a, 1, -np.inf), atol=1e9, rtol=9).rung == "different"
        assert compare(a, changed(a, 0, 1), atol=1e9, rtol=9).rung == "different"
        assert compare(changed(a, 0, 1), a, atol=1e9, rtol=9).rung == "different"

    def test_python_numbers_take_the_goldens_dtype(self) -> None:
        inputs = {"scale": 0.1, "zero_point": 3, "value": 1.27, "scalar_type": "qint8"}
        for code, rung in ((16, "identical"), (18, "different"), (300, "different")):
            assert compare(code, op="quantize_val", inputs=inputs).rung == rung
        assert compare(np.int64(16), op="quantize_val", inputs=inputs).outputs[0].problem
        assert compare(300, np.int8(300 - 256)).outputs[0].problem  # where int8 does not hold it
        assert compare(float("nan"), np.float16(np.nan)).rung == "identical"
        for integer in (np.int8(0), np.uint8(0), np.int32(-(2**31)), np.int64(-(2**63))):
            assert compare(float("nan"), integer).outputs[0].problem

    def test_signalling_nan(self) -> None:
        a = np.array([0x7F87, 1, 2], np.uint16).view(ml_dtypes.bfloat16)
        comparison = compare(a, changed(a, 1, 5))
        assert len(comparison.worst()) == 1

    def test_int8_does_not_wrap(self) -> None:
        a, g = np.array([127, 1], np.int8), np.array([-128, 1], np.int8)
        comparison = compare(a, g, atol=254)
        assert comparison.rung == "different"
        assert comparison.outputs[0].metrics is not None
        assert comparison.outputs[0].metrics.max_abs == 255
        assert compare(a, g, atol=255).rung == "tolerated"

    def test_dtypes_and_shapes_come_first(self) -> None:
        a = np.arange(6, dtype=np.int8)
        unsigned = compare(a, a.view(np.uint8))
        assert unsigned.rung == "different"
        assert "dtype differs: actual int8, golden uint8" in str(unsigned)
        swapped = compare(a.astype(">i2"), a.astype(np.int16))
        assert "dtype differs: actual >i2, golden <i2" in str(swapped)
        column = compare(a, a.reshape(6, 1))
        assert column.rung == "different"
        assert "shape differs: actual (6,), golden (6, 1); equal sizes" in str(column)
        assert "equal sizes" not in str(compare(a, a[:3]))

    def test_where_the_arrays_came_from(self, tmp_path: Path) -> None:
        def names(comparison: Comparison) -> tuple[str, str]:
            return comparison.actual_name, comparison.golden_name

        np.save(tmp_path / "a.npy", Y)
        file = load(tmp_path / "a.npy")
        assert names(compare(Y, Y.copy())) == ("array", "array")
        assert names(of_row(Y, SCALE)) == ("array", "computed")
        assert names(compare(file, Y)) == (file.name, "array")
        assert names(compare((), (Y, file))) == ("array", "array")
        assert names(compare((Y, file), {"1": file, "2": Y})) == ("array", file.name)

    def test_the_worst_output_counts(self) -> None:
        assert of_row(changed(Y, 1, 1), SCALE).rung == "tie"
        assert of_row(changed(Y, 1, 1), SCALE * 2).rung == "different"
        assert of_row(changed(Y, 1, 1), SCALE * 2).decisive.name == "scale"
        assert of_row(None, SCALE).rung == "identical"

    def test_tolerated(self) -> None:
        wrong = changed(Y, 4, 5)
        assert of_row(wrong, SCALE, atol={"y": 2}).rung == "tolerated"
        assert of_row(wrong, SCALE, atol={"y": 2}).passed
        assert of_row(wrong, SCALE, atol={"y": 1.9}).rung == "different"
        assert of_row(wrong, SCALE, atol={"scale": 2}).rung == "different"
        assert of_row(changed(Y, 1, 1), SCALE, atol=2).rung == "tie"
        assert of_row(wrong, SCALE, rtol={"y": 1}).rung == "tolerated"
        assert of_row(wrong, SCALE, rtol=0, atol=0).rung == "different"

    def test_variants_pass_if_benign_or_named(self) -> None:
        x = np.array([[127, 3.75, 8.75, -20.75]], np.float32)
        y = np.array([[127, 3, 8, -20]], np.int8)  # truncated
        inputs = {"input": x}
        comparison = compare(y, op="npu_dynamic_quant", inputs=inputs)
        assert (comparison.rung, comparison.passed) == ("variant", False)
        name = comparison.variants[0].name
        named = compare(y, op="npu_dynamic_quant", inputs=inputs, variant=name)
        assert (named.rung, named.passed, named.accepted_variant) == ("variant", True, name)
        assert not compare(y, op="npu_dynamic_quant", inputs=inputs, variant="reference").passed
        tolerated = compare(y, op="npu_dynamic_quant", inputs=inputs, atol=1)
        assert (tolerated.rung, tolerated.passed) == ("tolerated", True)

    def test_a_variant_must_give_all_outputs(self) -> None:
        x = np.array([[127, 3.75, 8.75, -20.75]], np.float32)
        y = np.array([[127, 3, 8, -20]], np.int8)
        wrong = np.array([1.5], np.float32)
        comparison = compare((y, wrong), op="npu_dynamic_quant", inputs={"input": x})
        assert comparison.rung == "different"
        assert comparison.variants == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actual": Y}, "give a golden, or op and inputs"),
        ({"actual": Y, "op": "npu_dynamic_quant"}, "give inputs, from which op computes"),
        ({"actual": Y, "inputs": {"input": X}}, "but no op"),
        ({"actual": Y, "golden": Y, "op": "npu_dynamic_quant", "inputs": {}}, "not both"),
        ({"actual": Y, "op": "npu_foo", "inputs": {}}, "op is 'npu_foo', expected one of npu_"),
        ({"actual": Y, "op": "npu_dynamic_quant", "inputs": {}}, "needs inputs['input']"),
        ({"actual": Y, "op": "npu_dynamic_quant", "inputs": {"x": X}}, "no parameter 'x'"),
        ({"actual": (Y, SCALE, Y), "op": "npu_dynamic_quant", "inputs": {"input": X}}, "3 arrays"),
        ({"actual": {"z": Y}, "op": "npu_dynamic_quant", "inputs": {"input": X}}, "actual has z"),
        ({"actual": (None, None), "op": "npu_dynamic_quant", "inputs": {"input": X}}, "no array"),
        ({"actual": (None, Y), "golden": (Y, None)}, "no array can be compared"),
        ({"actual": (), "golden": ()}, "no array can be compared"),
        ({"actual": (Y, Y), "golden": Y, "names": ["a"]}, "actual has 2 arrays, expected (a)"),
        ({"actual": Y, "golden": {"b": Y}, "names": ["a"]}, "golden has b, expected a"),
        ({"actual": Y, "golden": Y, "preset": "fine"}, "preset is 'fine', known: exact"),
        ({"actual": Y, "golden": Y, "preset": "exact", "atol": 1}, "its own limits"),
        ({"actual": Y, "golden": Y, "preset": "cann"}, "preset cann has no rule for int8"),
        ({"actual": Y, "golden": Y, "atol": -1}, "atol is -1, expected a number of 0 or more"),
        ({"actual": Y, "golden": Y, "rtol": np.inf}, "rtol is inf, expected a number of 0 or more"),
        ({"actual": Y, "golden": Y, "rtol": float("nan")}, "rtol is nan"),
        ({"actual": Y, "golden": Y, "variant": "truncation"}, "variant needs op and inputs"),
        ({"actual": Y, "golden": Y, "numerics": "foo"}, "numerics needs op and inputs"),
        ({"actual": Y, "golden": Y, "atol": "1"}, "atol is '1', expected a number"),
        ({"actual": Y, "golden": Y, "atol": True}, "atol is True, expected a number"),
        ({"actual": Y, "golden": Y, "rtol": {"": False}}, "rtol is False, expected a number"),
        ({"actual": Y, "golden": Y, "rtol": [1]}, "rtol is a list, expected a number"),
        ({"actual": Y, "golden": Y, "preset": 40}, "preset is 40, expected a name"),
        ({"actual": Y, "golden": Y, "atol": {"Y": 1}}, "atol is for 'Y', the outputs are"),
        ({"actual": (Y, Y), "golden": (Y, Y), "names": ["a", "a"]}, "names has a name twice"),
        ({"actual": Y, "golden": Y, "names": "out"}, "names is 'out', expected a sequence"),
        (
            {"actual": Y, "op": "npu_dynamic_quant", "inputs": {"input": X}, "variant": "zzz"},
            "variant is 'zzz', which npu_dynamic_quant does not know",
        ),
        ({"actual": [Y, "y"], "golden": Y}, "actual 1 is a str, expected an array"),
        ({"actual": np.ma.array(Y), "golden": Y}, "masked array"),
        ({"actual": Y.astype(object), "golden": Y}, "dtype object"),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ParamError, TypeError)) as caught:
        compare(**arguments)
    assert message in str(caught.value)
