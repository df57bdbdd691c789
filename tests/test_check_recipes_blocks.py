"""Every recipe of int4 and MXFP8, and of FP8 sources, is named from lines made by its table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from checkpoints.arithmetic import nibbles, scale_bias
from checkpoints.models import make
from checkpoints.modules import of_blocks, source
from checkpoints.runs import quantized_pair
from checkpoints.spoiling import put as spoil
from checkpoints.spoiling import replace
from checkpoints.tensor_files import BFLOAT16, FLOAT8, Array

from npu_quant.checkpoint import check, quantize
from npu_quant.checkpoint.recipes import Weight
from npu_quant.checkpoint.weights import Rule

EXPERT = "model.layers.0.mlp.experts.1.up_proj"
DENSE = "model.layers.0.mlp.gate_proj"
LATENT = "model.layers.0.self_attn.o_proj"
MX = ["npu_quant-mx-up", "npu_quant-mx-floor", "msmodelslim-mx", "compressed-tensors-mx"]
LEAST = np.float32(2.0**-23)
E4M3 = np.arange(127, dtype=np.uint8).view(FLOAT8).astype(np.float32)
"""0 to 448, all that e4m3 has."""


def rounded(x: Array, d: Any) -> Array:
    return np.asarray(np.asarray(x, np.float32).astype(d).astype(np.float32))


def int4(name: str, w: Array, d: Any) -> tuple[Array, Array]:
    """Return codes and scales; zero rows have the scale 1, or msmodelslim's least."""
    s = np.abs(w).max(axis=1, keepdims=True) / np.float32(7)
    if name == "msmodelslim-4":
        s = np.maximum(rounded(s, d), LEAST)
        return np.clip(np.rint(rounded(w / s, d)), -8, 7).astype(np.int8), s
    s[s == 0] = 1
    return np.clip(np.rint(w / s), -7, 7).astype(np.int8), s


def exponents(name: str, amax: Array, d: Any) -> Array:
    half, above = np.frexp(amax)
    m, e = 2 * half, above - 1
    if name == "msmodelslim-mx":
        log2 = np.log2(np.where(amax == 0, 2.0**-126, amax.astype(np.float64)))
        return np.maximum(np.floor(rounded(log2, d)) - 8, -127).astype(int)
    is_up = {"npu_quant-mx-up": m > 1.75, "compressed-tensors-mx": m >= 1.75}
    power = e - 8 + is_up.get(name, np.zeros(m.shape, bool))
    return np.where(amax == 0, 0, np.maximum(power, -127))


def away(x: Array) -> Array:
    """Return the nearest of e4m3, half away from zero, and no -0.0."""
    between = (E4M3[1:] + E4M3[:-1]) / 2
    size = E4M3[np.searchsorted(between, np.abs(x), side="right")]
    return np.where(x < 0, -size, size)


def mx(name: str, w: Array, d: Any) -> tuple[Array, Array]:
    columns = range(0, w.shape[1], 32)
    amax = np.stack([np.abs(w[:, c : c + 32]).max(axis=1) for c in columns], axis=1)
    power = exponents(name, amax, d)
    wide = np.repeat(power, 32, axis=1)[:, : w.shape[1]]
    y = np.clip(w.astype(np.float64) * 2.0**-wide, -448, 448).astype(np.float32)
    if name == "compressed-tensors-mx":
        y = rounded(y, d)
    y = away(y) if name == "msmodelslim-mx" else y
    return y.astype(FLOAT8), (power + 127).astype(np.uint8)


def int8(name: str, w: Array, d: Any) -> tuple[Array, Array]:
    amax = np.abs(w).max(axis=1, keepdims=True)
    if name == "searched":
        s = np.where(amax == 0, 1, amax / np.float32(140)).astype(np.float32)
        return np.clip(np.rint(w / s), -128, 127).astype(np.int8), s
    s = rounded(amax / np.float32(127 if name == "msmodelslim" else 127.5), d)
    least = LEAST if name == "msmodelslim" else ml_dtypes.finfo(d).eps
    s = np.maximum(s, least) if name == "msmodelslim" else np.where(s == 0, np.float32(least), s)
    return np.clip(np.rint(rounded(w / s, d)), -128, 127).astype(np.int8), s


def special(w: Array) -> Array:
    """Put in blocks just below a power of two, at m = 1.75 and just above, and zeros."""
    w = w.copy()
    below = np.float32(1 - 2.0**-8)
    w[8:24] = np.clip(w[8:24], -1, 1)
    w[8:16, 3] = below * np.float32(2) ** np.arange(0, 8)
    w[16:24, 35] = np.float32(1.75) * np.float32(2) ** np.arange(1, 9)
    w[24:28, 66] = np.float32(1.7578125 * 64)
    w[28:32, 32:64] = 0
    w[32:40, 32:64] = -0.0
    w[40:44] = 0
    w[44:56, 64:] = np.float32(2.0**-4) * (1 + np.arange(12)[:, None] / 16)  # halves of steps
    w[44:56, 64:68] = 1
    return w


def put(out: Path, module: str, q: Array, s: Array) -> None:
    for part, a in (("weight", q), ("weight_scale", s)):
        replace(out, f"{module}.{part}", lambda _, a=a: a)


def checked(out: Path, model: Path, module: str, recipe: str) -> None:
    """Check that a module has a recipe, that all of it fits, and that nothing is found."""
    report = check(out, model, 1)
    layer = next(x for x in report.layers if x.name == module)
    assert (layer.recipe, layer.codes_different) == (recipe, 0)
    assert (layer.scales_different == 0) == (recipe != "searched")
    assert [f for f in report.findings if f.severity == "error"] == []


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("name", MX)
def test_mx(name: str, dtype: str, tmp_path: Path) -> None:
    """Rows of 200 columns: the last block has 8."""
    model = make(tmp_path / "source", "llama", hidden=200, inner=256, dtype=dtype)
    replace(model, f"{DENSE}.weight", lambda a: special(a.astype(np.float32)).astype(a.dtype))
    w = source(model)[f"{DENSE}.weight"]
    quantize(model, tmp_path / "out", "W8A8_MXFP8", workers=1)
    put(tmp_path / "out", DENSE, *mx(name, w.astype(np.float32), w.dtype))
    checked(tmp_path / "out", model, DENSE, name)


def test_mx_of_a_formula_that_nobody_cites(tmp_path: Path) -> None:
    """Codes that are cut off: they are not the nearest by the scales that are there."""
    model, out = quantized_pair(tmp_path, "W8A8_MXFP8", hidden=200, inner=256)
    w = source(model)[f"{DENSE}.weight"].astype(np.float32)
    _, s = mx("npu_quant-mx-floor", w, BFLOAT16)
    wide = np.repeat(s.astype(int) - 127, 32, axis=1)[:, : w.shape[1]]
    y = w.astype(np.float64) * 2.0**-wide
    cut = E4M3[np.searchsorted(E4M3, np.minimum(np.abs(y), 448), side="right") - 1]
    put(out, DENSE, np.copysign(cut, w).astype(FLOAT8), s)
    checked(out, model, DENSE, "truncation")


@pytest.mark.parametrize(
    ("scheme", "part", "value"),
    [
        ("W8A8_DYNAMIC", "weight_scale", np.nan),
        ("W8A8_DYNAMIC", "weight_scale", np.inf),
        ("W8A8_DYNAMIC", "weight_scale", -np.inf),
        ("W8A8_DYNAMIC", "weight_scale", 3e38),
        ("W8A8_DYNAMIC", "weight_scale", 0),
        ("W8A8_MXFP8", "weight_scale", 255),
        ("W8A8_MXFP8", "weight_scale", 254),
        ("W8A8_MXFP8", "weight", np.nan),
    ],
)
def test_numbers_that_are_not_finite_are_reported(
    scheme: str, part: str, value: float, tmp_path: Path
) -> None:
    """Beside the original too, in a report that is JSON."""
    model, out = quantized_pair(tmp_path, scheme)
    spoil(out, f"{DENSE}.{part}", (11, 0), value)
    for original in (None, model):
        report = check(out, original, 1)
        is_known = original is None and value in (3e38, 254)
        assert report.passed == is_known
        json.dumps(report.to_dict(), allow_nan=False)
        assert str(report)


@pytest.mark.parametrize("scheme", ["W8A8_DYNAMIC", "W8A8_MXFP8"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_original_that_is_not_finite(value: float, scheme: str, tmp_path: Path) -> None:
    """Its rows are not judged, whatever their codes and scales are; the others are."""
    model, out = quantized_pair(tmp_path, scheme)
    for row in range(20, 30):
        spoil(model, f"{DENSE}.weight", (row, row), value)
    spoil(out, f"{DENSE}.weight", np.s_[20:30], 3)
    report = check(out, model, 1)
    [finding] = report.findings
    assert finding[:3] == ("warning", "nonfinite", f"{DENSE}.weight")
    assert finding.text.startswith("10 values of the original are NaN or infinite")
    layer = next(x for x in report.layers if x.name == DENSE)
    assert (layer.recipe, layer.codes_different) == (report.recipe[scheme], 0)
    assert 20 < (layer.sqnr_db or 0) < 60
    spoil(out, f"{DENSE}.weight", np.s_[19], 1)
    assert not check(out, model, 1).passed


@pytest.mark.parametrize("name", ["npu_quant-7", "msmodelslim-4"])
def test_int4(name: str, tmp_path: Path) -> None:
    model = make(tmp_path / "source", "qwen3_moe", hidden=256, inner=256)
    replace(model, f"{EXPERT}.weight", lambda a: special(a.astype(np.float32)).astype(a.dtype))
    w = source(model)[f"{EXPERT}.weight"].astype(np.float32)
    quantize(model, tmp_path / "out", "W4A8_DYNAMIC", workers=1)
    q, s = int4(name, w, BFLOAT16)
    put(tmp_path / "out", EXPERT, nibbles(q), s)
    replace(tmp_path / "out", f"{EXPERT}.scale_bias", lambda _: scale_bias(q, s, 1))
    checked(tmp_path / "out", model, EXPERT, name)


def test_int4_of_a_formula_that_nobody_cites(tmp_path: Path) -> None:
    model, out = quantized_pair(tmp_path, "W4A8_DYNAMIC", "qwen3_moe", hidden=256, inner=256)
    w = source(model)[f"{EXPERT}.weight"].astype(np.float32)
    _, s = int4("npu_quant-7", w, BFLOAT16)
    q = np.trunc(w / s).astype(np.int8)
    put(out, EXPERT, nibbles(q), s)
    replace(out, f"{EXPERT}.scale_bias", lambda _: scale_bias(q, s, 1))
    checked(out, model, EXPERT, "truncation")


def test_int4_of_rows_that_do_not_fill_words() -> None:
    """The operator packs 8 columns to an element; these have 13."""
    w = np.random.default_rng(5).standard_normal((6, 13)).astype(BFLOAT16)
    q, s = int4("msmodelslim-4", w.astype(np.float32), BFLOAT16)
    weight = Weight(w, "int4", Rule("ascend", "bfloat16"))
    assert (weight.codes("msmodelslim-4") == q).all()
    assert (weight.scales("msmodelslim-4") == s).all()
    assert "bf16 scale, bf16 quotient" in weight.formulas(q, s)


@pytest.mark.parametrize(
    "name", ["searched", "msmodelslim", "compressed-tensors", "msmodelslim-4", *MX[2:]]
)
def test_fp8_sources_that_went_through_bfloat16(name: str, tmp_path: Path) -> None:
    """The weight is bf16(code * scale_inv), and rounded again where the recipe rounds."""
    is_int4, is_mx = name == "msmodelslim-4", name in MX
    module = "model.layers.1.mlp.experts.1.up_proj" if is_int4 else LATENT
    model = make(tmp_path / "source", "deepseek_v3", hidden=256, inner=256)
    spoil(model, f"{module}.weight", np.s_[:128, ::32], 448)
    # Of the first 128 rows 448 is now below m = 1.75, and 1.75 in bfloat16.
    spoil(model, f"{module}.weight_scale_inv", np.s_[:1], 1 - 2.0**-10)
    scheme = "W4A8_DYNAMIC" if is_int4 else "W8A8_MXFP8" if is_mx else "W8A8_DYNAMIC"
    quantize(model, tmp_path / "out", scheme, workers=1)
    held = source(model)
    w = of_blocks(held[f"{module}.weight"], held[f"{module}.weight_scale_inv"], (128, 128))
    narrow = rounded(w, BFLOAT16)
    assert (narrow != w).any()
    q, s = (int4 if is_int4 else mx if is_mx else int8)(name, narrow, BFLOAT16)
    put(tmp_path / "out", module, nibbles(q) if is_int4 else q, s)
    if is_int4:
        replace(tmp_path / "out", f"{module}.scale_bias", lambda _: scale_bias(q, s, 1))
    checked(tmp_path / "out", model, module, name)
