"""A case per operator, a module per family: what test_formula.py and its siblings drive."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import exhaustive
import pytest

from cases.case import Arguments, Case, Kinds, Trial, word

MODULES = [importlib.import_module(f"cases.{m.name}") for m in pkgutil.iter_modules(__path__)]
CASES: list[Case] = [case for module in MODULES for case in getattr(module, "CASES", [])]

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def in_memory(case: Case) -> Kinds:
    """Return the kinds that are tried in memory of every layout."""
    return case.kinds if case.in_memory is None or exhaustive.IS_ASKED_FOR else case.in_memory


every_kind = pytest.mark.parametrize(
    ("case", "kind"),
    [pytest.param(c, k, id=f"{c.name}-{name}") for c in CASES for name, k in in_memory(c).items()],
)


def formulas(case: Case) -> Iterator[tuple[str, Arguments, Trial]]:
    """Yield the name, the options of a kind and the trial of each of a case's formulas."""
    for name, trial in case.formulas.items():
        tried, kinds = trial if isinstance(trial, tuple) else (trial, case.kinds)
        yield from ((f"{case.name}-{name}-{word}", kind, tried) for word, kind in kinds.items())


every_formula = pytest.mark.parametrize(
    ("case", "kind", "trial"),
    [pytest.param(c, k, trial, id=name) for c in CASES for name, k, trial in formulas(c)],
)


def of_every(group: str) -> Any:
    """Parametrize a test by case and setting, of a group whose settings are complete."""
    pairs = [(case, setting) for case in CASES for setting in getattr(case, group)]
    names = [
        "-".join([case.name, "x".join(map(str, shape)), *map(word, options.values())])
        for case, (shape, options) in pairs
    ]
    return pytest.mark.parametrize(("case", "setting"), pairs, ids=names)
