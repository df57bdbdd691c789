"""What counts as the original's: dtypes of FLOAT tensors, and how many rows a recipe may miss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from checkpoints import tensor_files
from checkpoints.faults import Q
from checkpoints.models import make
from checkpoints.modules import groups
from checkpoints.runs import expected_pair
from checkpoints.spoiling import replace
from checkpoints.tensor_files import Array, Tensors
from test_check_recipes import made

from npu_quant.checkpoint import CheckedLayer, check, check_layers, matrices, originals, quantize
from npu_quant.checkpoint.check_layers import Compared, Count
from npu_quant.checkpoint.weights import Error


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


def test_a_float_of_another_shape(tmp_path: Path) -> None:
    """Which the config's sizes do not tell: it is the original that does, and says which."""
    source, folder = expected_pair(tmp_path)
    replace(folder, "model[.]norm[.]weight", lambda a: a[:-1])
    (found,) = [f for f in check(folder, source, 1).findings if f.name == "model.norm.weight"]
    text = "is BF16 (71,), but the original is BF16 (72,): consumers compute another model"
    assert (found.rule, found.text) == ("float-changed", text)


def flipped(rows: int) -> Callable[[Array], Array]:
    def change(a: Array) -> Array:
        a[10 : 10 + rows, 5] ^= 1
        return a

    return change


@pytest.mark.parametrize("band", [8, matrices.BAND_BYTES])
@pytest.mark.parametrize(
    ("rows", "recipe"), [(0, "npu_quant-P-127"), (2, "npu_quant-P-127"), (3, "other")]
)
def test_how_many_rows_a_recipe_may_miss(
    rows: int, recipe: str, band: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2, of fewer than 300; what else differs is no recipe's. A band of 8 bytes has 2 rows."""
    monkeypatch.setattr(matrices, "BAND_BYTES", band)
    source, folder = expected_pair(tmp_path)
    replace(folder, f"{Q}.weight", flipped(rows))
    report = check(folder, source, 1)
    layer = next(x for x in report.layers if x.name == Q)
    assert layer.recipe == recipe
    assert [f.name for f in report.findings] == [Q] * (rows > 0)


def test_a_band_without_a_scale_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no more rows than a recipe may miss, whose codes are counted there, too."""
    monkeypatch.setattr(matrices, "BAND_BYTES", 8)
    source, folder = expected_pair(tmp_path)
    twice = np.isin(np.arange(72), [10, 11])[:, None] + 1
    replace(folder, f"{Q}.weight", flipped(1))
    replace(folder, f"{Q}.weight_scale", lambda a: (a * twice).astype(a.dtype))
    layer = next(x for x in check(folder, source, 1).layers if x.name == Q)
    found = layer.recipe, layer.codes_different, layer.scales_different
    assert found == ("npu_quant-P-127", 1, 2)


def test_zeros_have_no_ratio_of_scale_and_amax(tmp_path: Path) -> None:
    source, folder = make(tmp_path / "source", "llama", shards=1), tmp_path / "out"
    name = f"{Q}.weight"
    tensor_files.change(source / "model.safetensors", lambda t: t.update({name: t[name] * 0}))
    quantize(source, folder, "W8A8_DYNAMIC", workers=1)
    replace(folder, name, flipped(3))
    report = check(folder, source, 1)
    layer = next(x for x in report.layers if x.name == Q)
    assert (layer.recipe, layer.scale_ratio, layer.cosine) == ("other", None, None)
    assert [f.text for f in report.findings] == [
        "3 codes differ from the original divided by the stored scales, "
        "the first at [10, 5]: outputs are wrong there"
    ]


@pytest.mark.parametrize(("row", "first"), [(0, (0, 0)), (5, (5, 0))])
def test_where_a_module_is_not_the_original_s(
    row: int, first: tuple[int, int], tmp_path: Path
) -> None:
    """At its beginning, where each code is right by scales that are far too small."""
    source, folder = expected_pair(tmp_path)
    weights = {p.name: p.array for group in groups(source) for p in group}
    w = weights[f"{Q}.weight"].astype(np.float32)
    if row:
        replace(folder, f"{Q}.weight", lambda a: np.r_[a[:row], -a[row:]])
    else:
        s = np.full((len(w), 1), 2.0**-20, np.float32)
        replace(folder, f"{Q}.weight", lambda a: np.rint(w / s).clip(-128, 127).astype(np.int8))
        replace(folder, f"{Q}.weight_scale", lambda a: s)
    report = check(folder, source, 1)
    layer = next(x for x in report.layers if x.name == Q)
    assert (layer.recipe, layer.first) == ("transformed", first)
    assert [f.name for f in report.findings if f.rule == "codes"] == [Q]


def test_a_formula_has_to_be_found_in_each_piece() -> None:
    """Those of the first piece may be many: in it the search saw nothing that tells them apart."""
    total = Compared()
    for names in (["a", "b"], ["b", "c"], ["a", "b"]):
        total.add(Compared({name: Count(1) for name in names}, rows=8))
    assert total.counts == {"b": Count(3)}
    assert total.rows == 24


@pytest.mark.parametrize(("error", "recipe"), [(0.2, "other"), (0.21, "transformed")])
def test_what_correlates_below_0_9_is_transformed(error: float, recipe: str) -> None:
    """The cosine is 1 - error / 2: the squares of both weights add up to 1."""
    counts = {check_layers.SEARCHED: Count(3), "npu_quant-P-127": Count(3)}
    layer = CheckedLayer(Q, "W8A8_DYNAMIC", (72, 72))
    originals._fill(layer, Compared(counts, Error(np.array([1, error, 0, 0, 1]))))
    assert layer.recipe == recipe


@pytest.mark.parametrize("rows", [2, 3])
def test_codes_of_subnormals_end_at_minus_127(rows: int, tmp_path: Path) -> None:
    """By a scale of 2 steps the least of a row of up to 255 steps is -127.5: -128, if not for this."""
    source, folder = make(tmp_path / "source", "llama", shards=1), tmp_path / "out"

    def change(tensors: Tensors) -> None:
        w = tensors[f"{Q}.weight"]
        steps = np.where(np.arange(w.size).reshape(w.shape) % 2, 255, -255)
        tensors[f"{Q}.weight"] = (steps * 2.0**-133).astype(w.dtype)

    tensor_files.change(source / "model.safetensors", change)
    quantize(source, folder, "W8A8_DYNAMIC", workers=1)
    replace(folder, f"{Q}.weight", flipped(rows))
    layer = next(x for x in check(folder, source, 1).layers if x.name == Q)
    assert (layer.codes_different, layer.first) == (rows, (10, 5))


@pytest.mark.parametrize(("rows", "recipe"), [(0, "searched"), (2, "searched"), (3, "other")])
def test_how_many_rows_a_search_may_miss(rows: int, recipe: str, tmp_path: Path) -> None:
    source, folder = expected_pair(tmp_path)
    weights = {p.name: p.array for group in groups(source) for p in group}
    q, s = made("searched", weights[f"{Q}.weight"].astype(np.float32))
    replace(folder, f"{Q}.weight", lambda a: flipped(rows)(q.copy()))
    replace(folder, f"{Q}.weight_scale", lambda a: s)
    layer = next(x for x in check(folder, source, 1).layers if x.name == Q)
    assert (layer.recipe, layer.codes_different) == (recipe, rows)
