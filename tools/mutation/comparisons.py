"""Every comparison of the modules that decide, flipped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .mutant import ROOT, Mutant

FOLDER = "python/npu_quant/golden"
# The modules, and words in the names of their tests.
VERDICTS = "golden_verdict golden_outputs golden_structure"
MODULES = {
    "formats": "golden_models_formats golden_formats",
    "judge/verdict": f"{VERDICTS} golden_asymmetric",
    "judge/outputs": (
        f"{VERDICTS} golden_refusal golden_where golden_report golden_snapshot golden_formats"
    ),
    "judge/rounding": f"{VERDICTS} golden_report golden_formats golden_asymmetric",
    "judge/request": f"{VERDICTS} golden_tolerance",
    "judge/tolerance": "golden_tolerance",
    "judge/refusal": "golden_refusal",
    "judge/power": "golden_refusal",
    "folders/by_operator": "folders",
    "folders/carried": "folders",
    "folders/comparison": "folders",
    "folders/rows": "folders",
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
    ("formats", "np.abs(ordered)[high] >= np.abs(ordered)[low]"): "0 lies between x and -x",
    ("formats", "theirs >= ours"): "where they are several steps apart, they are not equal",
    ("formats", "ends[0] < 0"): "no format begins at 0",
    ("formats", "self.carrier.itemsize >= 2"): "float32 holds 16 bits as float64 does",
    ("formats", "ordinals <= 0"): "-0 is 0",
    (
        "judge/tolerance",
        "m.metrics.max_abs >= atol",
    ): "at equality none is beyond it either way",
    (
        "judge/outputs",
        "o.metrics is None",
    ): "where formulas are tried first is speed",
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
