"""Every comparison of the modules that decide, flipped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .mutant import ROOT, Mutant

FOLDER = "python/npu_quant/golden/judge"
# The modules, and words in the names of their tests.
VERDICTS = "golden_verdict golden_outputs golden_structure"
MODULES = {
    "verdict": VERDICTS,
    "outputs": f"{VERDICTS} golden_refusal golden_where golden_report golden_table",
    "rounding": f"{VERDICTS} golden_report golden_table",
    "request": f"{VERDICTS} golden_tolerance",
    "tolerance": "golden_tolerance",
    "refusal": "golden_refusal",
    "power": "golden_refusal",
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
    ("tolerance", "m.metrics.max_abs >= atol"): "at equality no element is beyond it either way",
    ("outputs", "o.metrics is None"): "it says where formulas are tried first, which is speed",
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
