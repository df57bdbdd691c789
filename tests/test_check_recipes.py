"""Every recipe of int8 is named from codes and scales that independent lines make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from checkpoints.models import make
from checkpoints.modules import groups
from checkpoints.runs import quantized_pair
from checkpoints.spoiling import replace

from npu_quant.checkpoint import check
from npu_quant.checkpoint.check_layers import Count

B = ml_dtypes.bfloat16


def b(x: Any) -> Any:
    return np.asarray(x, np.float32).astype(B).astype(np.float32)


def made(name: str, w: Any) -> tuple[Any, Any]:
    """Return codes and scales; zero rows have the scale 1."""
    amax = np.abs(w).max(axis=1, keepdims=True)
    by = np.float32(127.5 if name.startswith("compressed") else 127)
    s = amax / by
    if name == "searched":
        s = s * np.float32(0.9)
    elif name != "fp32-127":
        s = b(s)
    s[(amax == 0) | (s == 0)] = 1
    if name == "msmodelslim":
        s = np.maximum(s, np.float32(2.0**-23))
    with np.errstate(all="ignore"):
        q = w * (np.float32(1) / s) if name == "reciprocal" else w / s
    q = b(q) if name in ("msmodelslim", "compressed-tensors") else q
    return np.nan_to_num(np.clip(np.rint(q), -128, 127)).astype(np.int8), s.astype(np.float32)


NAMES = "fp32-127 msmodelslim compressed-tensors compressed-tensors-fp32 reciprocal searched"


MODULE = "model.layers.0.mlp.gate_proj"


def pair_with_weight(tmp_path: Path) -> tuple[Path, Path, Any]:
    """Return a model, its result, and the weight of MODULE."""
    source, out = quantized_pair(tmp_path, hidden=256, inner=512)
    weights = {p.name: p.array for group in groups(source) for p in group}
    return source, out, weights[f"{MODULE}.weight"].astype(np.float32)


def checked(source: Path, out: Path, q: Any, s: Any) -> tuple[Any, Any]:
    """Return the report of a result whose MODULE has these codes and scales, and its row."""
    replace(out, f"{MODULE}.weight", lambda a: q)
    replace(out, f"{MODULE}.weight_scale", lambda a: s)
    report = check(out, source, 1)
    return report, next(x for x in report.layers if x.name == MODULE)


@pytest.mark.parametrize("name", NAMES.split())
def test_a_recipe_is_named(name: str, tmp_path: Path) -> None:
    source, out, w = pair_with_weight(tmp_path)
    _, layer = checked(source, out, *made(name, w))
    assert layer.recipe == name


def test_a_formula_that_nobody_cites_is_searched(tmp_path: Path) -> None:
    source, out, w = pair_with_weight(tmp_path)
    _, s = made("fp32-127", w)
    _, layer = checked(source, out, np.trunc(w / s).astype(np.int8), s)
    assert (layer.recipe, layer.codes_different, layer.scales_different) == ("truncation", 0, 0)


def test_what_fits_no_recipe_says_what_it_counts(tmp_path: Path) -> None:
    """Codes by the scales that are there, of which each is off; scales from the nearest recipe."""
    source, out, w = pair_with_weight(tmp_path)
    q, s = made("searched", w)
    q[5:25, 3] ^= 1
    report, layer = checked(source, out, q, s)
    assert (layer.recipe, layer.codes_different) == ("other", 20)
    rows = np.abs(w).max(axis=1) > 0
    assert layer.scales_different == rows.sum()
    ratios = s[rows, 0] / np.abs(w).max(axis=1)[rows]
    assert layer.scale_ratio == (ratios.min(), ratios.max())
    text = next(f.text for f in report.findings if f.name == MODULE)
    assert text.startswith(
        "20 codes differ from the original divided by the stored scales (scale /"
    )
    assert "the first at [5, 3]" in text
    assert " scales differ" not in text


def test_the_ratio_of_searched_scales_is_printed(tmp_path: Path) -> None:
    source, out = quantized_pair(tmp_path)
    weights = {p.name: p.array for group in groups(source) for p in group}
    for name in [n for n in weights if n.endswith("_proj.weight")]:
        w = weights[name].astype(np.float32)
        s = np.abs(w).max(axis=1, keepdims=True) / np.float32(128)
        s[s == 0] = 1
        q = np.clip(np.rint(w / s), -128, 127).astype(np.int8)
        replace(out, name.replace(".", "[.]"), lambda a, q=q: q)
        replace(out, f"{name}_scale".replace(".", "[.]"), lambda a, s=s: s)
    report = check(out, source, 1)
    assert report.recipe == {"W8A8_DYNAMIC": "searched"}
    assert "recipe of W8A8_DYNAMIC: searched, scale / amax 0.00781\n" in str(report)


def test_weights_that_were_smoothed_are_transformed(tmp_path: Path) -> None:
    source, out = quantized_pair(tmp_path)
    replace(out, ".*_proj[.]weight", lambda a: a[:, ::-1])
    report = check(out, source, 1)
    assert [(f.severity, f.rule) for f in report.findings] == [("warning", "codes")]
    assert report.recipe == {"W8A8_DYNAMIC": "transformed"}
    assert (report.verdict, report.judged["codes"]) == ("not judged", 0)
    assert report.not_judged.keys() == {layer.name for layer in report.layers}


def test_half_of_the_modules_is_not_most(tmp_path: Path) -> None:
    """Where 7 of 14 do not correlate with the original, each of them is an error."""
    source, out = quantized_pair(tmp_path)
    replace(out, r".*layers\.0\..*_proj[.]weight", lambda a: a[:, ::-1])
    found = check(out, source, 1).findings
    assert [(f.severity, f.rule) for f in found] == [("error", "codes")] * 7


def test_an_original_of_other_shapes(tmp_path: Path) -> None:
    _, out = quantized_pair(tmp_path)
    other = make(tmp_path / "other", "llama", inner=120)
    found = [f for f in check(out, other, 1).findings if f.rule == "shape"]
    names = {
        f"model.layers.{i}.mlp.{n}_proj.weight" for i in (0, 1) for n in ("gate", "up", "down")
    }
    assert {f.name for f in found} == names
    assert found[0].text.endswith(": is it another model?")


@pytest.mark.parametrize("cut", [0, 7, 9, 500, 900])
def test_no_file_is_crashed_on(cut: int, tmp_path: Path) -> None:
    source, out = quantized_pair(tmp_path)
    for path in [p for p in sorted(out.iterdir()) if p.is_file() and p.name.startswith("quant")]:
        data = path.read_bytes()
        path.write_bytes(data[:cut])
        assert not check(out, source, 1).passed
        path.write_bytes(data)
    assert check(out, source, 1).findings == []


def test_the_first_code_is_that_of_the_first_piece() -> None:
    count = Count()
    for piece in (Count(), Count(1, 2, 1, (3, 4)), Count(), Count(1, 1, 0, (9, 0))):
        count.add(piece)
    assert count == Count(2, 3, 1, (3, 4))
