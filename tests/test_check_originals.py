"""What counts as the original's: dtypes of FLOAT tensors, and how many rows a recipe may miss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from checkpoints.faults import Q
from checkpoints.modules import groups
from checkpoints.runs import expected_pair
from checkpoints.spoiling import replace
from checkpoints.tensor_files import Array
from test_check_recipes import made

from npu_quant.checkpoint import check


@pytest.mark.parametrize(
    ("dtype", "rules"),
    [
        ("bfloat16", []),
        ("float32", []),
        ("float16", ["float-changed"]),
        ("int32", ["dtype", "float-changed"]),
    ],
)
def test_dtypes_that_a_float_may_have(dtype: str, rules: list[str], tmp_path: Path) -> None:
    """The original's, the params dtype, and float32: here bfloat16 and float32."""
    source, folder = expected_pair(tmp_path)
    replace(folder, "model[.]norm[.]weight", lambda a: a.astype(dtype))
    found = check(folder, source, 1).findings
    assert [f.rule for f in found if f.name == "model.norm.weight"] == rules


def flipped(rows: int) -> Callable[[Array], Array]:
    def change(a: Array) -> Array:
        a[10 : 10 + rows, 5] ^= 1
        return a

    return change


@pytest.mark.parametrize(
    ("rows", "recipe"), [(0, "npu_quant-P-127"), (2, "npu_quant-P-127"), (3, "other")]
)
def test_how_many_rows_a_recipe_may_miss(rows: int, recipe: str, tmp_path: Path) -> None:
    """2, of fewer than 300; what else differs is no recipe's."""
    source, folder = expected_pair(tmp_path)
    replace(folder, f"{Q}.weight", flipped(rows))
    report = check(folder, source, 1)
    layer = next(x for x in report.layers if x.name == Q)
    assert layer.recipe == recipe
    assert [f.name for f in report.findings] == [Q] * (rows > 0)


@pytest.mark.parametrize(("rows", "recipe"), [(0, "searched"), (2, "searched"), (3, "other")])
def test_how_many_rows_a_search_may_miss(rows: int, recipe: str, tmp_path: Path) -> None:
    source, folder = expected_pair(tmp_path)
    weights = {p.name: p.array for group in groups(source) for p in group}
    q, s = made("searched", weights[f"{Q}.weight"].astype(np.float32))
    replace(folder, f"{Q}.weight", lambda a: flipped(rows)(q.copy()))
    replace(folder, f"{Q}.weight_scale", lambda a: s)
    layer = next(x for x in check(folder, source, 1).layers if x.name == Q)
    assert (layer.recipe, layer.codes_different) == (recipe, rows)
