"""Several outputs: the comparison passes where each of them does, whatever their rungs."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Say
from numpy.typing import NDArray

from npu_quant import npu_dynamic_quant
from npu_quant.golden import Comparison, VariantMatch, compare
from npu_quant.golden.judge import verdict
from npu_quant.golden.results import OutputComparison, Ties, Tolerance
from npu_quant.pytest_plugin.records import record_of
from npu_quant.testing import GoldenMismatch, assert_golden

Array = NDArray[Any]
OP = "npu_dynamic_quant"
KINDS = ("identical", "tie", "accepted", "tolerated", "rejected", "different")
"""How an output can stand, best first: a variant is accepted or rejected."""
PASSING = KINDS[:4]
RUNG = {"accepted": "variant", "rejected": "variant"}
MARGIN = {"identical": 0.0, "tie": 0.25, "accepted": math.nan, "tolerated": 0.5}


def output(name: str, kind: str) -> OutputComparison:
    found = OutputComparison(
        name,
        np.dtype(np.int8),
        (4,),
        RUNG.get(kind, kind),
        kind=name,
        variant_accepted=kind == "accepted",
        ties=Ties(4.0, 1, 1.0, 0, 0.5) if kind == "tie" else None,
        tolerance=Tolerance("atol=2", True, 0.5) if kind == "tolerated" else None,
    )
    return verdict.concluded(found)


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def comparison_of(kinds: tuple[str, ...], names: tuple[str, ...] = ("a", "b")) -> Comparison:
    outputs = tuple(map(output, names, kinds))
    return Comparison(
        None,
        outputs,
        verdict.decisive_of(outputs),
        verdict.greatest_margin(outputs),
        variants=(VariantMatch("f", "accepted" in kinds, "", ""),),
        accepted_variant="f" if "accepted" in kinds else None,
    )


class TestEveryPairOfRungs:
    @pytest.mark.parametrize(("first", "second"), list(itertools.product(KINDS, KINDS)))
    @pytest.mark.parametrize("names", [("a", "b"), ("a", "scale"), ("scale", "b")])
    def test_the_worse_decides(self, first: str, second: str, names: tuple[str, str]) -> None:
        kinds = (first, second)
        comparison = comparison_of(kinds, names)
        worse = max(kinds, key=KINDS.index)
        assert comparison.rung == RUNG.get(worse, worse)
        assert comparison.passed == (first in PASSING and second in PASSING)
        assert [o.passed for o in comparison.outputs] == [kind in PASSING for kind in kinds]

        margins = [MARGIN.get(kind, math.inf) for kind in kinds]
        assert all(same(o.margin, m) for o, m in zip(comparison.outputs, margins, strict=True))
        known = [m for m in margins if not math.isnan(m)]
        assert same(comparison.margin, max(known, default=math.nan))

        decisive = "scale" if first == second and "scale" in names else names[kinds.index(worse)]
        assert comparison.decisive.name == decisive

    @pytest.mark.parametrize(("first", "second"), list(itertools.product(KINDS, KINDS)))
    def test_all_faces_agree(self, first: str, second: str) -> None:
        kinds = (first, second)
        comparison = comparison_of(kinds)
        passing = [kind in PASSING for kind in kinds]
        data = json.loads(json.dumps(comparison.to_dict()))
        assert data["passed"] == all(passing)
        assert [o["passed"] for o in data["outputs"]] == passing
        assert [o["margin"] == "inf" for o in data["outputs"]] == [not p for p in passing]
        assert (data["margin"] == "inf") == (not all(passing))

        record = record_of("", comparison)
        assert record["passed"] == all(passing)
        assert [o["passed"] for o in record["outputs"]] == passing
        margins = [o["margin"] for o in record["outputs"]]
        assert [m == math.inf for m in margins] == [not p for p in passing]

        assert str(comparison).startswith("OK" if all(passing) else "DIFFERENT")
        badge = f"OK ({comparison.rung})" if all(passing) else "DIFFERENT"
        assert f">{badge}</span>" in comparison._repr_html_()

    def test_the_worst_of_many_are_shown(self) -> None:
        """A notebook lists 20 outputs; a rejected variant is worse than what was tolerated."""
        kinds = ("tolerated",) * 30 + ("rejected",)
        html = comparison_of(kinds, (*(f"fine{i}" for i in range(30)), "wrong"))._repr_html_()
        assert "wrong" in html
        assert "11 more outputs, none worse" in html

    def test_nothing_passes_that_has_no_output(self) -> None:
        with pytest.raises(ValueError, match="empty"):
            verdict.decisive_of(())


# One row: amax 127, so that scale is exactly 1 and x is the number before rounding.
X = np.array([[127, 0.5, 1.5, -2.5, 3.25, 8.75, -20.75]], np.float32)
Y, SCALE = npu_dynamic_quant(X)
TRUNCATED = np.trunc(X).astype(np.int8)
# 3.25 is within 3 ulp of no tie, and no formula gives 7 or a scale of 1.001.
Y_OF = {"identical": Y, "tie": np.where(X == 0.5, 1, Y), "different": np.where(X == 3.25, 7, Y)}
SCALE_OF = {
    "identical": SCALE,
    "tie": np.nextafter(SCALE, np.float32(2)),
    "different": SCALE + np.float32(0.001),
}
ATOL = {"y": 4.0, "scale": 0.01}


def variant_of(x: Array) -> tuple[Array, Array]:
    """Return what amax / 128 for amax / 127 gives."""
    scale = np.abs(x).max(axis=1).astype(np.float32) / np.float32(128)
    return np.clip(np.rint(x / scale[:, None]), -128, 127).astype(np.int8), scale


def seen(comparison: Comparison) -> tuple[list[str], str, bool]:
    return [o.rung for o in comparison.outputs], comparison.rung, comparison.passed


class TestOfAnOperator:
    @pytest.mark.parametrize("y", [*Y_OF, "tolerated"])
    @pytest.mark.parametrize("scale", [*SCALE_OF, "tolerated"])
    def test_pairs_without_variants(self, y: str, scale: str) -> None:
        kinds = {"y": y, "scale": scale}
        arrays = [of.get(k, of["different"]) for of, k in ((Y_OF, y), (SCALE_OF, scale))]
        atol = {name: ATOL[name] for name, kind in kinds.items() if kind == "tolerated"}
        comparison = compare(
            tuple(a.astype(g.dtype) for a, g in zip(arrays, (Y, SCALE), strict=True)),
            op=OP,
            inputs={"input": X},
            atol=atol,
        )
        worse = max(kinds.values(), key=KINDS.index)
        assert seen(comparison) == ([y, scale], worse, "different" not in kinds.values())
        assert (comparison.margin == math.inf) == (not comparison.passed)

    @pytest.mark.parametrize(
        ("more", "rungs", "rung", "passed"),
        [
            ({}, ["variant", "variant"], "variant", False),
            ({"atol": {"y": 2}}, ["tolerated", "variant"], "variant", False),
            ({"atol": {"scale": 0.5}}, ["variant", "tolerated"], "variant", False),
            ({"atol": {"y": 2, "scale": 0.5}}, ["tolerated", "tolerated"], "tolerated", True),
            ({"variant": "NAME"}, ["variant", "variant"], "variant", True),
            ({"variant": "NAME", "atol": {"y": 2}}, ["variant", "variant"], "variant", True),
        ],
    )
    def test_a_tolerance_does_not_hide_another_outputs_formula(
        self, more: dict[str, Any], rungs: list[str], rung: str, passed: bool
    ) -> None:
        x = np.random.default_rng(7).standard_normal((64, 256)).astype(np.float16)
        plain = compare(variant_of(x.astype(np.float32)), op=OP, inputs={"input": x})
        assert not any(v.benign for v in plain.variants)
        if "variant" in more:
            more = {**more, "variant": plain.variants[0].name}
        asked = {"op": OP, "inputs": {"input": x}, **more}
        comparison = compare(variant_of(x.astype(np.float32)), **asked)
        assert seen(comparison) == (rungs, rung, passed)
        assert (comparison.margin == math.inf) == (not passed)
        if not passed:
            with pytest.raises(GoldenMismatch, match="not the operator's function"):
                assert_golden(variant_of(x.astype(np.float32)), **asked)

    def test_a_formula_beside_an_output_that_is_right(self) -> None:
        comparison = compare((TRUNCATED, SCALE), op=OP, inputs={"input": X})
        assert seen(comparison) == (["variant", "identical"], "variant", False)
        assert [o.margin for o in comparison.outputs] == [math.inf, 0]
        named = compare((TRUNCATED, SCALE), op=OP, inputs={"input": X}, variant="truncation")
        assert seen(named) == (["variant", "identical"], "variant", True)
        assert math.isnan(named.output("y").margin)
        assert named.margin == 0


def test_named_tuples_name_their_outputs() -> None:
    result = npu_dynamic_quant(np.ones((2, 8), np.float16))
    golden = result._replace(scale=result.scale * 2)
    comparison = compare(result, golden)
    assert [(o.name, o.passed) for o in comparison.outputs] == [("y", True), ("scale", False)]
    assert [o.name for o in compare(tuple(result), golden).outputs] == ["y", "scale"]
    assert [o.name for o in compare((*result, *result), golden[:2]).outputs] == ["0", "1", "2", "3"]


def test_the_command_line(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(7).standard_normal((64, 256)).astype(np.float16)
    y, scale = variant_of(x.astype(np.float32))
    for name, array in (("x", x), ("y", y), ("scale", scale)):
        np.save(f"{name}.npy", array)
    words = ("compare", "y.npy", "scale.npy", "x.npy", "--op", OP)
    assert say(*words)[0] == 1
    assert say(*words, "--atol", "y=1")[0] == 1
    status, out, _ = say(*words, "--atol", "y=1", "--json", "-")
    data = json.loads(out)
    found = data["rung"], data["passed"], data["margin"]
    assert (status, found) == (1, ("variant", False, "inf"))
