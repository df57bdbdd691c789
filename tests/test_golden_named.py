"""Each formula of golden_wrongs is named, whatever else is; it passes if benign, or by its name.

`make test` spoils one output of each row, of each operator every one with some row.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import exhaustive
import golden_wrongs
import numpy as np
import pytest
from golden_wrongs import Outputs, Wrong

from npu_quant.golden import compare
from npu_quant.golden.judge.search import explanations
from npu_quant.golden.operators import Model, Variant, model_of
from npu_quant.golden.operators.formula import named
from npu_quant.golden.results import VariantMatch
from npu_quant.testing import GoldenMismatch, assert_golden


def matching(model: Model, actual: Outputs) -> list[VariantMatch]:
    """Return the formulas that give outputs byte for byte."""
    return [match for match in explanations(model, actual, up_to_ties=True) if not match.left]


def names_of(model: Model, actual: Outputs) -> list[str]:
    return [match.name for match in matching(model, actual)]


def has(names: list[str], name: str) -> bool:
    """Tell whether a formula is among some, or one that takes only those of its steps that matter."""
    steps = set(name.split(", "))
    return any(found == "reference" or set(found.split(", ")) <= steps for found in names)


def listed(model: Model) -> list[Variant]:
    """Return the formulas that have rows of their own, and mean something for a model."""
    return [formula.variant(model) for formula in model.form.listed(model)]


def spoiled(actual: Outputs, output: int, at: int = -1) -> Outputs:
    """Return the outputs with one byte changed in one: the first or the last."""
    wrong = [None if a is None else np.array(a) for a in actual]
    wrong[output].reshape(-1).view(np.uint8)[at] ^= 1
    return tuple(wrong)


def last_byte(model: Model, output: int, array: Any) -> int | None:
    """Return the last byte of an output that is compared; None where all of it is undefined."""
    region = model.undefined(output)
    if region is None:
        return -1
    there = np.flatnonzero(~region.flat)
    return (int(there[-1]) + 1) * (array.nbytes // region.flat.size) - 1 if len(there) else None


def left_out() -> set[int]:
    """Return which rows `make test` leaves out.

    Those of bfloat16, which float16 has, too; and of the others of one formula every second, by
    turns the first or the next.
    """
    rows, formulas = [*golden_wrongs.every()], dict[tuple[str, str], list[int]]()
    of_bfloat16 = {i for i, wrong in enumerate(rows) if wrong.words.startswith("bfloat16")}
    for i, wrong in enumerate(rows):
        if i not in of_bfloat16:
            formulas.setdefault((wrong.op, wrong.name), []).append(i)
    several = [own for own in formulas.values() if len(own) > 1]
    return of_bfloat16 | {i for turn, own in enumerate(several) for i in own[turn % 2 :: 2]}


def tried() -> list[Any]:
    """Return all rows with their numbers among those of an operator."""
    rows, counts, exhaustive_ones = [], Counter[str](), left_out()
    for i, wrong in enumerate(golden_wrongs.every()):
        marks = [pytest.mark.exhaustive] if i in exhaustive_ones else []
        rows.append(pytest.param(wrong, counts[wrong.op], marks=marks, id=str(wrong)))
        counts[wrong.op] += not marks
    return rows


@pytest.mark.parametrize(("wrong", "number"), tried())
def test_named(wrong: Wrong, number: int) -> None:
    inputs, actual = wrong.make()
    model = model_of(wrong.op, inputs)
    found = matching(model, actual)
    matches = {match.name: match.benign for match in found}
    is_unwritten = any(match.unwritten for match in found)  # what is there says nothing
    formula = named(model.form, wrong.name, model)
    name = wrong.name if formula is None else formula.variant(model).name
    assert not (wrong.is_told_apart and "reference" in matches)
    if name in matches:
        assert matches[name] == wrong.benign
    else:  # not all of its steps matter
        own = [benign for found, benign in matches.items() if has([found], wrong.name)]
        if wrong.is_told_apart:
            assert "reference" in matches or wrong.benign in own
        else:  # another formula that is tried first may give the same
            assert wrong.benign in matches.values()
    assert [*matches.values()] == sorted(matches.values(), reverse=True)  # benign ones first
    given = [i for i, output in enumerate(actual) if output is not None]
    step = exhaustive.every(len(given))
    for i in given[number % step :: step]:
        last = 0 if is_unwritten else last_byte(model, i, actual[i])
        assert last is None or wrong.name not in names_of(model, spoiled(actual, i, last))
    if len(given) > 1:
        alone = names_of(model, (actual[0], *[None] * (len(actual) - 1)))
        assert has(alone, name) or (alone and not wrong.is_told_apart)
    asked = {"op": wrong.op, "inputs": inputs}
    assert compare(actual, **asked, variant=wrong.name).passed
    if any(matches.values()):
        rung = assert_golden(actual, **asked).rung
        if wrong.benign and "zero point before rounding" not in wrong.name:
            assert rung in ("identical", "tie")  # an odd zero point moves ties: a benign variant
    else:
        with pytest.raises(GoldenMismatch, match="DIFFERENT"):
            assert_golden(actual, **asked)
