"""A case per operator, a module per family: what test_formula.py and its siblings drive."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

from cases.case import Case

MODULES = [importlib.import_module(f"cases.{m.name}") for m in pkgutil.iter_modules(__path__)]
CASES: list[Case] = [case for module in MODULES for case in getattr(module, "CASES", [])]

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_kind = pytest.mark.parametrize(
    ("case", "kind"),
    [pytest.param(c, k, id=f"{c.name}-{name}") for c in CASES for name, k in c.kinds.items()],
)
every_formula = pytest.mark.parametrize(
    ("case", "kind", "trial"),
    [
        pytest.param(case, kind, trial, id=f"{case.name}-{trial.__name__}-{name}")
        for case in CASES
        for trial, kinds in case.formulas
        for name, kind in kinds.items()
    ],
)


def of_every(group: str) -> Any:
    """Parametrize a test by case and setting, of a group that is complete in itself."""
    return pytest.mark.parametrize(
        ("case", "setting"),
        [
            pytest.param(case, setting, id="-".join(map(str, [case.name, *words(setting)])))
            for case in CASES
            for setting in getattr(case, group)
        ],
    )


def words(setting: Any) -> list[str]:
    """Name a setting by its shape and options."""
    shape, options = setting
    return ["x".join(map(str, shape)), *(str(value) for value in options.values())]
