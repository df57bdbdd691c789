"""explain: the formula that an output was made by, or nearly."""

from __future__ import annotations

import itertools
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_wrongs import F32, codes
from test_golden_named import has
from test_golden_variants import DYNAMIC, SIXTEEN, dynamic, few_bits

import npu_quant
from npu_quant import DTypeError, ParamError
from npu_quant.golden.api import explain
from npu_quant.golden.judge import ranking
from npu_quant.golden.operators import model, model_of

OP = "npu_dynamic_quant"


@pytest.fixture(scope="module", params=SIXTEEN)
def x(request: pytest.FixtureRequest) -> Any:
    return few_bits(7, (272, 192), request.param)[16:]  # without whole halves, which truncate alike


SIX = ["x * (1/scale)", "x * (127/amax)", "x * ((1/amax) * 127)", "fp16 quotient"]
SIX += ["bf16 scale", "scale amax * (1/127), x * (127/amax)"]


class TestNaming:
    @pytest.mark.parametrize("name", SIX)
    def test_from_y_alone(self, name: str, x: Any) -> None:
        y, scale = dynamic(name, x.astype(F32))
        both = explain((y, scale), OP, {"input": x})
        assert name in [match.name for match in both.matches]
        assert both.ranked[0].total == 0
        alone = explain(y, OP, {"input": x})
        assert has([match.name for match in alone.matches], name)
        same = [dynamic(n, x.astype(F32))[0] for n in DYNAMIC if n == alone.matches[0].name]
        assert all((y == other).all() for other in same)

    def test_counts_of_every_output(self, x: Any) -> None:
        reference, scale = npu_quant.npu_dynamic_quant(x)
        y, _ = dynamic("x * (127/amax)", x.astype(F32))
        results = {r.name: r for r in explain((y, scale), OP, {"input": x}).ranked}
        expected = int(np.count_nonzero(y != reference))
        assert expected > 0
        assert results["reference"].left == {"y": expected}
        assert results["reference"].total == expected
        s1 = dynamic("scale amax * (1/127), x * (127/amax)", x.astype(F32))[1]
        both = {r.name: r for r in explain((y, s1), OP, {"input": x}).ranked}
        assert both["scale amax * (1/127), x * (127/amax)"].left == {}
        wrong = int(np.count_nonzero(s1 != scale))
        assert both["x * (127/amax)"].left == {"scale": wrong}
        assert both["x * (127/amax)"].at_ties == {"scale": wrong}

    def test_the_measured_counts_of_golden_md(self) -> None:
        """4096 x 1024 normal numbers: 311 to 387, 43,106, 149,774 and half of all, by the seed."""
        x = np.random.default_rng(0).standard_normal((4096, 1024)).astype(np.float16)
        found = {
            r.name: r.total
            for r in explain(npu_quant.npu_dynamic_quant(x), OP, {"input": x}).ranked
        }
        assert 200 < found["x * (1/scale)"] < 500
        assert 200 < found["half away"] < 500
        assert 40_000 < found["fp16 quotient"] < 46_000
        assert 145_000 < found["bf16 scale"] - 4096 < 155_000
        assert found["truncation"] == pytest.approx(x.size / 2, rel=0.02)

    def test_nothing_matches_a_changed_byte(self, x: Any) -> None:
        y, scale = dynamic("x * (127/amax)", x.astype(F32))
        assert explain((y, scale), OP, {"input": x}).matches
        y[150, 3] ^= 1
        changed = explain((y, scale), OP, {"input": x})
        assert changed.matches == ()
        assert changed.ranked[0].name == "x * (127/amax)"
        assert changed.ranked[0].total == 1

    def test_threads_do_not_matter(self, x: Any, threads: None) -> None:
        y, _ = dynamic("x * (1/scale)", x.astype(F32))
        results = []
        for n in (1, 3):
            npu_quant.set_num_threads(n)
            results.append(explain(y, OP, {"input": x}))
        assert results[0] == results[1]


class TestRanking:
    def test_nearest_first_the_reference_before_its_equals_benign_before_others(
        self, x: Any
    ) -> None:
        ranked = explain(npu_quant.npu_dynamic_quant(x), OP, {"input": x}).ranked
        assert ranked[0].name == "reference"
        totals = [(not r.explains, r.total) for r in ranked]
        assert totals == sorted(totals)
        for a, b in itertools.pairwise(ranked[1:]):
            assert (not a.explains, a.total) < (not b.explains, b.total) or a.benign >= b.benign

    def test_every_formula_is_ranked_once(self, x: Any) -> None:
        ranked = explain(npu_quant.npu_dynamic_quant(x), OP, {"input": x}).ranked
        assert len(ranked) == len({r.name for r in ranked}) > 50


class TestSample:
    """Of large outputs all formulas are tried on a sample, the nearest on everything."""

    @pytest.fixture
    def few(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let x, of 16 pieces, be large: 4 of them are the sample."""
        monkeypatch.setattr(ranking, "SAMPLED", 3)
        monkeypatch.setattr(model, "PART", 1 << 12)
        monkeypatch.setattr(ranking, "NEAREST", 6)

    def test_what_comes_near_is_counted_on_everything(self, x: Any, few: None) -> None:
        reference, scale = npu_quant.npu_dynamic_quant(x)
        y, _ = dynamic("x * (1/scale)", x.astype(F32))
        results = {r.name: r for r in explain((y, scale), OP, {"input": x}).ranked}
        exact = results["x * (1/scale)"], results["reference"]
        assert [r.total for r in exact] == [0, int(np.count_nonzero(y != reference))]
        assert [r.estimated for r in exact] == [False, False]

    def test_what_does_not_is_estimated(self, x: Any, few: None) -> None:
        actual = npu_quant.npu_dynamic_quant(x)
        found = explain(actual, OP, {"input": x})
        assert all(r.total for r in found.ranked if r.estimated)
        truncation = next(r for r in found.ranked if r.name == "truncation")
        assert truncation.estimated
        assert truncation.total == pytest.approx(x.size / 2, rel=0.02)
        order = [(r.estimated, not r.explains, r.total) for r in found.ranked]
        assert order == sorted(order)

    def test_a_fault_beside_the_sample_lets_no_estimate_come_first(self, x: Any, few: None) -> None:
        """It is in no estimate: these would be less than the number of what is nearest."""
        y, scale = npu_quant.npu_dynamic_quant(x)
        y[-25:] ^= 1
        found = explain((y, scale), OP, {"input": x})
        nearest = found.ranked[0]
        wrong = 25 * x.shape[1]
        assert (nearest.name, nearest.total, nearest.estimated) == ("reference", wrong, False)
        assert "reference" in str(found).split("\n\n")[1].splitlines()[1]

    @pytest.mark.parametrize("row", range(0, 256, 23))
    def test_no_byte_is_overlooked(self, row: int, x: Any, few: None) -> None:
        y, scale = dynamic("x * (127/amax)", x.astype(F32))
        y[row, 3] ^= 1
        changed = explain((y, scale), OP, {"input": x})
        assert changed.matches == ()
        nearest = changed.ranked[0]
        assert (nearest.name, nearest.total, nearest.estimated) == ("x * (127/amax)", 1, False)

    def test_small_ones_are_counted(self, x: Any) -> None:
        found = explain(npu_quant.npu_dynamic_quant(x), OP, {"input": x})
        assert not any(r.estimated for r in found.ranked)


class TestProgress:
    def test_it_ends_with_all(self, x: Any) -> None:
        large = np.tile(x, (8, 2))
        actual = npu_quant.npu_dynamic_quant(large)
        said: list[tuple[int, int]] = []
        explain(actual, OP, {"input": large}, progress=lambda *pair: said.append(pair))
        total = actual.y.size + actual.scale.size
        assert len(said) == len(model_of(OP, large).parts()) > 4
        assert said[-1] == (total, total)
        assert said == sorted(said)
        assert {pair[1] for pair in said} == {total}


class TestArguments:
    def test_an_array_is_the_first_output(self, x: Any) -> None:
        y, scale = npu_quant.npu_dynamic_quant(x)
        assert explain(y, OP, {"input": x}).outputs == {"y": y.size}
        assert explain((None, scale), OP, {"input": x}).outputs == {"scale": scale.size}
        named = explain({"scale": scale}, npu_quant.npu_dynamic_quant, {"input": x})
        assert named.op == OP
        assert named.matches[0].name == "reference"

    def test_none_at_all(self, x: Any) -> None:
        with pytest.raises(ParamError, match="actual has no array"):
            explain((None, None), OP, {"input": x})

    def test_another_dtype(self, x: Any) -> None:
        y = npu_quant.npu_dynamic_quant(x).y
        with pytest.raises(
            DTypeError, match="actual y has dtype float16, npu_dynamic_quant gives int8"
        ):
            explain(y + np.float16(0.5), OP, {"input": x})

    def test_another_shape(self, x: Any) -> None:
        y = npu_quant.npu_dynamic_quant(x).y
        with pytest.raises(ParamError, match=r"actual y has shape \(192, 256\)"):
            explain(y.T, OP, {"input": x})

    def test_unknown_operators_and_inputs(self, x: Any) -> None:
        with pytest.raises(ParamError, match="op is 'npu_foo'"):
            explain(x, "npu_foo", {"input": x})
        with pytest.raises(ParamError, match="needs inputs"):
            explain(x, OP, {})

    @pytest.mark.needs("torch")
    def test_torch_tensors(self) -> None:
        import torch

        x = np.array([[0.3, 1, -2, 4]], np.float16)
        y = torch.tensor([[9, 31, -63, 127]], dtype=torch.int8)
        assert explain(y, OP, {"input": x}).matches[0].name == "truncation"

    @pytest.mark.needs("torch")
    def test_torch_tensors_in_lists(self) -> None:
        import torch

        x = torch.arange(-12, 12, dtype=torch.int8).reshape(6, 4)
        inputs = {"x": [x], "weight": (torch.ones((1, 4, 3), dtype=torch.int8),)}
        inputs |= {"group_list": [6], "group_type": 0, "split_item": 3, "output_dtype": torch.int32}
        y = x.sum(1, dtype=torch.int32)[:, None].repeat(1, 3)
        assert explain(y, "npu_grouped_matmul", inputs).matches[0].name == "reference"


class TestText:
    def test_a_match(self) -> None:
        x = np.array([[0.3, 1, -2, 4], [5, 2.6, 1.2, -3.4]], np.float16)
        y = np.array([[9, 31, -63, 127], [127, 66, 30, -86]], np.int8)
        others = len(explain(y, OP, {"input": x}).matches) - 1
        more = f", and {others} more" if others else ""
        said, table, *_ = str(explain(y, OP, {"input": x})).split("\n\n")
        assert " ".join(said.split()) == (
            "explain npu_dynamic_quant: exactly 'truncation' (other): scale = amax / 127, "
            f"y = trunc(x / scale){more} outputs: y int8 (2, 4)"
        )
        lines = table.splitlines()
        assert lines[0].split() == ["y", "kind", "formula", "(elements", "that", "differ)"]
        assert lines[1].split()[:3] == ["0", "other", "truncation"]
        assert len(lines) <= 10

    def test_no_match(self, x: Any) -> None:
        y, scale = npu_quant.npu_dynamic_quant(x)
        y[7] += 1
        text = str(explain((y, scale), OP, {"input": x}))
        (why, outputs), table, more = (part.splitlines() for part in text.split("\n\n"))
        assert max(len(line) for line in text.splitlines()) <= 80
        assert why.startswith("explain npu_dynamic_quant: none of ")
        assert why.endswith("exactly these outputs")
        assert outputs == "  outputs: y int8 (256, 192), scale float32 (256,)"
        assert len(table) == 10
        assert table[1].split()[:4] == ["192", "0", "benign", "reference"]
        assert more[0].endswith("more: .ranked has all")

    def test_estimates_are_marked(self) -> None:
        from npu_quant.golden.api import Explanation
        from npu_quant.golden.explanation_results import VariantResult

        near = VariantResult("near", True, "a", "b", {"y": 0})
        far = VariantResult("far", False, "a", "b", {"y": 1000}, estimated=True)
        explanation = Explanation("op", {"y": 1000}, (near, far))
        _, *lines = str(explanation).split("\n\n")[1].splitlines()
        assert [line.split()[0] for line in lines] == ["0", "~1,000"]
        assert lines[0].index("benign") == lines[1].index("other")
        assert ">~1,000<" in explanation._repr_html_()

    def test_as_data(self, x: Any) -> None:
        y, scale = npu_quant.npu_dynamic_quant(x)
        explanation = explain((y, scale), OP, {"input": x})
        data = json.loads(json.dumps(explanation.to_dict()))
        assert (data["schema_version"], data["op"]) == (1, OP)
        assert data["outputs"] == {"y": y.size, "scale": scale.size}
        assert data["matches"][0] == "reference"
        assert len(data["ranked"]) == len(explanation.ranked)
        words = {"name", "benign", "summary", "source", "attribute"}
        assert set(data["ranked"][0]) == words | {"left", "at_ties", "unwritten", "estimated"}

    def test_as_html(self, x: Any) -> None:
        smooth = np.ones(192, x.dtype)
        y, scale = npu_quant.npu_dynamic_quant(x)
        text = explain((y, scale), OP, {"input": x, "smooth_scales": smooth})._repr_html_()
        assert text.count("<tr>") == text.count("</tr>") == 25
        assert " more: <code>.ranked</code> has all</p>" in text
        assert "<li>outputs: y int8 (256, 192), scale float32 (256,)</li>" in text
        assert ">reference  (+" in text

    def test_html_is_escaped(self) -> None:
        from npu_quant.golden.api import Explanation
        from npu_quant.golden.explanation_results import VariantResult

        result = VariantResult("a < b & c", True, "<script>", '"', {"y": 1})
        text = Explanation("op", {"y": 1}, (result,))._repr_html_()
        assert "a &lt; b &amp; c" in text
        assert "more" not in text
        one = Explanation("op", {"y": 1}, (VariantResult("a", True, "b", "c", {"y": 0}),))
        assert one._repr_html_().count("exactly &#x27;a&#x27; (benign): b</p>") == 1
        assert "<script>" not in text


class TestPage:
    """docs/golden_variants.md is generated."""

    tool = Path(__file__).resolve().parent.parent / "tools" / "variant_table.py"

    def test_it_is_fresh(self) -> None:
        done = subprocess.run(
            [sys.executable, self.tool, "--check"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def test_a_stale_one_is_renewed(self) -> None:
        tool = runpy.run_path(str(self.tool))
        stale = tool["BEGIN"] + tool["END"]
        assert tool["renewed"](stale) != stale
        assert "| `truncation` | no | scale = amax / 127, y = trunc(x / scale)" in tool["renewed"](
            stale
        )
        assert "| `zero point after rounding` | if zero points are whole" in tool["renewed"](stale)
        assert "`half away, truncation`" not in tool["renewed"](stale)


class TestOtherFamilies:
    def test_a_norm_with_a_sequential_sum(self) -> None:
        rng = np.random.default_rng(3)
        x1, x2 = (rng.standard_normal((512, 2048)).astype(np.float16) for _ in range(2))
        gamma = rng.standard_normal(2048).astype(np.float16)
        s = x1.astype(F32) + x2.astype(F32)
        total = np.cumsum(s * s, axis=1, dtype=F32)[:, -1]
        rstd = F32(1) / np.sqrt(total / F32(2048) + F32(1e-6))
        y1 = codes(s * rstd[:, None] * gamma.astype(F32) / F32(0.02))
        inputs = {"x1": x1, "x2": x2, "gamma": gamma, "scales1": F32([0.02]), "zero_points1": None}
        explanation = explain(y1, "npu_add_rms_norm_quant", inputs)
        # In this few rows other orders of the products give the same codes.
        assert explanation.matches[0].name == "sequential sum"
        assert all(m.name.startswith("sequential sum") for m in explanation.matches if m.benign)

    def test_a_fake_quantization_that_truncates(self) -> None:
        x = np.random.default_rng(1).standard_normal((64, 64)).astype(F32)
        scale = F32(0.1)
        output = (np.clip(np.trunc(x * (1 / scale)), -8, 7) + F32(0)) * scale
        inputs = {"self": x, "scale": 0.1, "zero_point": 0, "quant_min": -8, "quant_max": 7}
        explanation = explain(output, "fake_quantize_per_tensor_affine", inputs)
        assert explanation.matches[0].name == "truncation"
        assert str(explanation).split("\n\n")[1].split()[0] == "output"
