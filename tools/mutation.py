"""Flip every comparison of the modules that decide, one at a time: a test must fail each time.

    python tools/mutation.py                 all of them
    python tools/mutation.py --run MODULE N  the tests, with comparison N of that module flipped

A mutant that changes nothing is listed in EQUIVALENT with the reason.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import importlib.abc
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

TIME_LIMIT = 120
ROOT = Path(__file__).resolve().parent.parent
VERDICTS = [f"tests/test_golden_{name}.py" for name in ("verdict", "outputs", "structure")]
MODULES = {
    "npu_quant.golden.verdict": VERDICTS,
    "npu_quant.golden.compare": [
        *VERDICTS,
        "tests/test_golden_refusal.py",
        "tests/test_golden_where.py",
    ],
    "npu_quant.golden.judge": [
        *VERDICTS,
        "tests/test_golden_report.py",
        "tests/test_golden_table.py",
    ],
    "npu_quant.golden.tolerance": ["tests/test_golden_tolerance.py"],
    "npu_quant.golden.refusal": ["tests/test_golden_refusal.py"],
    "npu_quant.golden.power": ["tests/test_golden_refusal.py"],
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
    ("compare", "o.metrics is None"): "it says where formulas are tried first, which is speed",
}


def mutants(tree: ast.AST) -> Iterator[tuple[ast.Compare, int, type[ast.cmpop]]]:
    """Yield each comparison, which of its operators, and what it is flipped to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for i, operator in enumerate(node.ops):
                for flipped in FLIPS[type(operator)]:
                    yield node, i, flipped


def mutate(source: str, number: int) -> tuple[ast.Module, str]:
    """Return a module with one comparison flipped, and that line as it is now."""
    tree = ast.parse(source)
    node, i, flipped = list(mutants(tree))[number]
    node.ops[i] = flipped()
    return tree, ast.unparse(node)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a module with one comparison flipped."""

    number = 0

    def source_to_code(self, data, path, *, _optimize=-1) -> CodeType:  # type: ignore[no-untyped-def, override]
        """Compile the mutant."""
        tree, _ = mutate(bytes(data).decode(), self.number)
        return compile(tree, path, "exec")

    def get_code(self, fullname: str) -> CodeType:
        """Compile anew: the cached bytecode is the original's."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class Finder(importlib.abc.MetaPathFinder):
    """Finds one module for `Loader`, and leaves the others alone."""

    def __init__(self, module: str, number: int) -> None:
        self.module, self.number = module, number

    def find_spec(self, fullname, path, target=None):  # type: ignore[no-untyped-def]
        """Find the module where it is installed."""
        if fullname != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        loader = Loader(fullname, spec.origin)
        loader.number = self.number
        return importlib.util.spec_from_file_location(fullname, spec.origin, loader=loader)


def run(module: str, number: int) -> int:
    """Run the module's tests on a mutant."""
    import pytest

    sys.meta_path.insert(0, Finder(module, number))
    return int(pytest.main([*MODULES[module], "-x", "-q", "--no-header", "-p", "no:cacheprovider"]))


def survives(module: str, number: int) -> bool:
    """Say whether a mutant passes its tests, in a process of its own."""
    command = [sys.executable, __file__, "--run", module, str(number)]
    # The package's own pytest plugin would import the module before it can be flipped.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        return False  # it hangs, which is seen
    return done.returncode == 0


def source_of(module: str) -> str:
    """Return a module's source, as installed: that is what the tests import."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text()


def main() -> int:
    """Run all mutants; return 1 if one survives that is not listed."""
    jobs = []
    for module in MODULES:
        source = source_of(module)
        for number in range(len(list(mutants(ast.parse(source))))):
            jobs.append((module, number, mutate(source, number)[1]))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        alive = list(pool.map(lambda job: survives(job[0], job[1]), jobs))
    bad = 0
    for (module, _, line), lives in zip(jobs, alive, strict=True):
        reason = EQUIVALENT.get((module.rpartition(".")[2], line))
        if lives and reason is None:
            print(f"SURVIVES {module}: {line}")
            bad += 1
        elif lives:
            print(f"equivalent {module}: {line}: {reason}")
        elif reason is not None:
            print(f"LISTED AS EQUIVALENT, BUT CAUGHT {module}: {line}")
            bad += 1
    print(f"mutation: {len(jobs)} comparisons flipped, {sum(alive)} survived, {bad} to look at")
    return 1 if bad else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", nargs=2, metavar=("MODULE", "N"))
    arguments = parser.parse_args()
    sys.exit(run(arguments.run[0], int(arguments.run[1])) if arguments.run else main())
