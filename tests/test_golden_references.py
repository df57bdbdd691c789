"""Of every operator the formula called reference is the operator, whatever it is given.

`make test` tries each kind of arguments with a third of the options, each option with some kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import exhaustive
import numpy as np
import pytest
from cases import CASES, in_memory
from cases.case import DTYPES, Arguments, Case, Setting

from npu_quant.golden import compare, explain
from npu_quant.golden.operators import model_of, operator_of, operators

COMPARED = [case for case in CASES if case.operator.__name__ in operators()]


def kinds(case: Case) -> Iterator[tuple[str, Arguments]]:
    """Yield a case's kinds, with each dtype that it takes."""
    taken = {kind.get("dtype") for kind in case.kinds.values()}
    for name, kind in in_memory(case).items():
        yield name, kind
        for dtype in (d for d in DTYPES if "dtype" in kind and d in taken):
            yield f"{name}-{dtype}", kind | {"dtype": dtype}


def tried() -> list[Any]:
    """Return each case with its kinds, and which of its settings each of them is tried with."""
    found = []
    for case in COMPARED:
        own = {str(kind): (name, kind) for name, kind in kinds(case)}
        step = min(exhaustive.every(3), len(own))
        for i, (name, kind) in enumerate(own.values()):
            some = slice(i % step, None, step)
            found.append(pytest.param(case, kind, some, id=f"{case.name}-{name}"))
    return found


def small_ones(case: Case) -> Iterator[Setting]:
    """Yield the largest small array with each of the options of layouts and of formulas of formats."""
    formulas = [
        case.formulas.get(name, []) for name in ("formats", "groups", "experts", "greatest")
    ]
    settings = [*case.layouts, *case.outs]
    settings += [setting for trial in formulas if isinstance(trial, list) for setting in trial]
    small = [(shape, options) for shape, options in settings if math.prod(shape) < 1 << 14]
    by_size = sorted(small, key=lambda setting: math.prod(setting[0]))
    yield from {str(options): (shape, options) for shape, options in by_size}.values()


def empty_ones(case: Case) -> Iterator[Setting]:
    """Yield arrays without elements: any axis may be the empty one."""
    shape, options = case.layouts[0]
    for axis in range(len(shape) if case.may_be_empty else 0):
        yield (*shape[:axis], 0, *shape[axis + 1 :]), options


@pytest.mark.parametrize(("case", "kind", "some"), tried())
def test_reference(case: Case, kind: Arguments, some: slice, rng: np.random.Generator) -> None:
    """Its bytes are the operator's, specials among them, and it is ranked before all others."""
    op = case.operator.__name__
    settings = [*small_ones(case), *empty_ones(case)]
    for setting in settings[some] or settings[:1]:
        a = case.tried(rng, setting, **kind)[-1]
        outputs, given = case.run(a), case.given(a)
        model = model_of(op, given)
        assert len(model.outputs) == len(model.kinds) == len(model.golden()) == len(outputs)
        assert set(operator_of(op).arrays) <= {n for n in a if isinstance(a[n], np.ndarray)}
        found = explain(outputs, op, given)
        assert found.matches[0].name == found.ranked[0].name == "reference"
        assert found.ranked[0].total == 0
        assert all(sum(r.left.values()) == r.total for r in found.ranked)
        assert "reference" in str(found)
        copies = tuple(output.copy() for output in outputs)
        comparison = compare(copies, op=op, inputs=given)
        assert (comparison.rung, len(comparison.outputs)) == ("identical", len(outputs))
        assert "identical" in str(comparison)


def test_every_operator() -> None:
    assert {case.operator.__name__ for case in COMPARED} == set(operators())
