"""Operators' inputs without elements: they are compared and explained as any others are."""

from __future__ import annotations

import numpy as np
import pytest
from test_golden_models import every_call

import npu_quant
from npu_quant.golden import compare, explain
from npu_quant.golden.operators import operators


@pytest.mark.parametrize("shape", [(0, 40), (6, 0), (0, 0)])
@pytest.mark.parametrize(
    "op",
    [op for op in operators() if op != "npu_convert_weight_to_int4pack"],  # which takes none
)
def test_no_elements(op: str, shape: tuple[int, int], rng: np.random.Generator) -> None:
    inputs = every_call(rng, *shape)[op]
    own = getattr(npu_quant, op)(**inputs)
    outputs = own if isinstance(own, tuple) else (own,)
    found = explain(outputs, op, inputs)
    assert found.matches[0].name == found.ranked[0].name == "reference"
    assert all(sum(r.differing.values()) == r.total for r in found.ranked)
    assert "reference" in str(found)
    comparison = compare(tuple(a.copy() for a in outputs), op=op, inputs=inputs)
    assert (comparison.rung, len(comparison.outputs)) == ("identical", len(outputs))
    assert "identical" in str(comparison)
