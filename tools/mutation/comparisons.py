"""Every comparison of the modules that decide, flipped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .mutant import ROOT, Mutant

FOLDER = "python/npu_quant"
# The modules, and words in the names of their tests.
VERDICTS = "golden_verdict golden_outputs golden_structure golden_dtypes golden_report"
MODULES = {
    "golden/elements": "golden_models_formats golden_formats golden_dtypes",
    "golden/judge/verdict": f"{VERDICTS} golden_asymmetric",
    "golden/judge/outputs": (
        f"{VERDICTS} golden_refusal golden_where golden_snapshot golden_formats golden_causes "
        "golden_mx golden_html"
    ),
    "golden/judge/rounding": f"{VERDICTS} golden_formats golden_asymmetric",
    "golden/judge/request": f"{VERDICTS} golden_tolerance",
    "golden/judge/tolerance": "golden_tolerance golden_verdict folders",
    "golden/judge/refusal": "golden_refusal",
    "golden/judge/power": "golden_refusal",
    "golden/judge/causes": "golden_causes golden_planted golden_mx",
    "golden/judge/look": "golden_causes golden_planted",
    "golden/judge/changes": "golden_causes golden_planted",
    "golden/judge/moves": "golden_causes golden_planted",
    "golden/judge/calls": "golden_causes golden_planted",
    "golden/judge/search": "golden_search golden_explain golden_variants golden_named",
    "golden/judge/trial": "golden_search golden_explain golden_variants golden_named",
    "golden/judge/ranking": "golden_search golden_explain golden_variants",
    "golden/report/why": "golden_report golden_html golden_outputs folders",
    "golden/folders/by_operator": "folders",
    "golden/folders/carried": "folders",
    "golden/folders/comparison": "folders",
    "golden/folders/rows": "folders",
    "checkpoint/plan": "checkpoint_expected checkpoint_refusals checkpoint_nested checkpoint",
    "checkpoint/matrices": "checkpoint_matrices checkpoint_quantize check",
    "checkpoint/weights": "checkpoint_arithmetic checkpoint_expected checkpoint check_originals",
    "checkpoint/making": "checkpoint",
    "checkpoint/record": "checkpoint_sources checkpoint_done checkpoint_refusals",
    "checkpoint/resuming": "checkpoint_sources checkpoint_done checkpoint_pieces checkpoint_resume",
    "checkpoint/run": "checkpoint_pieces checkpoint_resume checkpoint_workers",
    "checkpoint/checking": "check_good check_sums check_faults",
    "checkpoint/check_files": "check_files check_faults check_hostile check_good",
    "checkpoint/check_tensors": "check_shapes check_faults check_good check_hostile",
    "checkpoint/check_values": "check_values check_faults check_good",
    "checkpoint/check_layers": "check_recipes check_originals check_faults check_values",
    "checkpoint/recipes": "check_recipes check_originals",
    "checkpoint/originals": "check_originals check_faults check_recipes check_good check_files",
    "checkpoint/sums": "check_sums checkpoint_done",
}
FLIPS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
# Mutants that no test can tell, by module and the mutated line, and why.
EQUIVALENT: dict[tuple[str, str], str] = {
    ("golden/elements", "np.abs(ordered)[high] >= np.abs(ordered)[low]"): "0 lies between x and -x",
    ("golden/elements", "theirs >= ours"): "where they are several steps apart, they are not equal",
    ("golden/elements", "ends[0] < 0"): "no format begins at 0",
    ("golden/elements", "self.carrier.itemsize >= 2"): "float32 holds 16 bits as float64 does",
    ("golden/elements", "ordinals <= 0"): "-0 is 0",
    (
        "golden/judge/tolerance",
        "m.metrics.max_abs >= atol",
    ): "at equality none is beyond it either way",
    (
        "golden/judge/outputs",
        "o.metrics is None",
    ): "where formulas are tried first is speed",
    ("golden/judge/causes", "size_of(golden) >= _MOST_SCALES"): "how many are looked at is speed",
    ("golden/judge/causes", "o.kind != 'scale'"): "which calls are made in vain is speed",
    ("golden/judge/causes", "look.part.index > begin"): "an element less is looked at",
    ("golden/judge/changes", "own.carrier.itemsize >= 1"): "a byte has no other order",
    ("golden/judge/changes", "abs(more) > 0.01"): "where it begins to be said was chosen",
    ("golden/judge/moves", "down >= 0"): "0 is told apart before",
    ("golden/judge/moves", "right >= 0"): "0 is told apart before",
    ("golden/judge/moves", "size >= _MOST_SEARCHED"): "how much is searched is speed",
    ("golden/judge/calls", "p <= width < columns"): "zeros alone give what is named before",
    ("checkpoint/check_values", "values >= 0"): "0 is read as 0 in every dtype",
}


def mutants() -> Iterator[Mutant]:
    """Yield a mutant for each comparison and each operator that it can become."""
    for module, tests in MODULES.items():
        file = f"{FOLDER}/{module}.py"
        tree = ast.parse((ROOT / file).read_text())
        for node in ast.walk(tree):
            if not isinstance(node, ast.Compare):
                continue
            for i, operator in enumerate(node.ops):
                for flipped in FLIPS[type(operator)]:
                    node.ops[i] = flipped()
                    line = ast.unparse(node)
                    yield Mutant(
                        f"comparison in {module}.py:{node.lineno}: {line}",
                        file,
                        ast.unparse(tree),
                        tests,
                        goes_on=False,
                        equivalent=EQUIVALENT.get((module, line), ""),
                    )
                    node.ops[i] = operator
