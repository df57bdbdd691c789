"""What each module was judged by: codes, scales, shapes, or nothing; and what a report makes of it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from checkpoints.faults import K, O, Q, float8
from checkpoints.models import make
from checkpoints.runs import expected_pair
from checkpoints.spoiling import add, describe, edit_json, replace, retype

from npu_quant.checkpoint import CheckReport, check, quantize
from npu_quant.cli import main

ATTENTION = "model.layers.0.self_attn"


def verdict(report: CheckReport) -> tuple[str, bool, int]:
    return report.verdict, report.passed, report.status


def test_with_an_original_codes_are_judged(tmp_path: Path) -> None:
    source, folder = expected_pair(tmp_path)
    report = check(folder, source, 1)
    assert verdict(report) == ("passed", True, 0)
    assert report.judged == {"codes": 14, "scales": 14, "shapes": 14}
    assert {layer.judged for layer in report.layers} == {("codes", "scales", "shapes")}
    assert report.not_judged == {}


def test_without_one_they_are_not_and_that_is_said(tmp_path: Path) -> None:
    _, folder = expected_pair(tmp_path)
    report = check(folder, None, 1)
    assert verdict(report) == ("passed", True, 0)
    assert report.judged == {"codes": 0, "scales": 14, "shapes": 14}
    first, second, *_ = str(report).splitlines()
    assert "judged by scales, shapes" in first
    assert "codes were compared with nothing" in second


@pytest.mark.parametrize(
    "type", ["W4A16", "W8A8_PDMIX", "W8A8_TIMESTEP", "NF4", "W4A4_FLATQUANT_DYNAMIC", "W8A8_SVD"]
)
def test_a_type_without_rules_is_not_judged(
    type: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor does a model with one such module pass: in text, JSON, HTML and the exit status."""
    _, folder = expected_pair(tmp_path)
    retype(folder, re.escape(O) + "[.].*", type)
    report = check(folder, None, 1)
    assert report.findings == []
    assert verdict(report) == ("not judged", False, 3)
    assert [*report.not_judged] == [O]
    assert type in report.not_judged[O]
    assert report.judged == {"codes": 0, "scales": 13, "shapes": 13}
    data = report.to_dict()
    assert (data["verdict"], data["passed"]) == ("not judged", False)
    assert (data["judged"], data["not_judged"]) == (report.judged, report.not_judged)
    assert ">not judged<" in report._repr_html_()
    assert main(["check", str(folder)]) == 3
    assert "not judged: 1 of 14 quantized modules" in capsys.readouterr().out


def test_compressed_weights_have_their_own_shape(tmp_path: Path) -> None:
    """W8A8SC has the bytes of a code in one axis: that is no wrong shape."""
    _, folder = expected_pair(tmp_path)
    replace(folder, re.escape(O) + "[.]weight", np.ravel)
    add(folder, {f"{O}.index": np.zeros(8, np.int8), f"{O}.info": np.zeros(5, np.int64)})
    retype(folder, re.escape(O) + "[.].*", "W8A8SC")
    report = check(folder, None, 1)
    assert (report.findings, report.status) == ([], 3)


def test_an_error_wins(tmp_path: Path) -> None:
    _, folder = expected_pair(tmp_path)
    retype(folder, re.escape(O) + "[.].*", "W4A16")
    replace(folder, re.escape(Q) + "[.]weight_scale", np.zeros_like)
    assert verdict(check(folder, None, 1)) == ("FAILED", False, 1)


@pytest.mark.parametrize("has_original", [False, True])
def test_a_model_of_floats_is_not_judged(has_original: bool, tmp_path: Path) -> None:
    source, out = make(tmp_path / "source", "llama"), tmp_path / "out"
    quantize(source, out, "W8A8_DYNAMIC", exclude="*", workers=1)
    report = check(out, source if has_original else None, 1)
    assert report.findings == []
    assert verdict(report) == ("not judged", False, 3)
    assert str(report).startswith("not judged: no module is quantized")


def test_codes_that_cannot_be_compared_are_not_judged(tmp_path: Path) -> None:
    """FP8 codes of rows are of no recipe here: with an original nobody may take them for compared."""
    source, folder = expected_pair(tmp_path)
    float8(folder)
    assert check(folder, None, 1).verdict == "passed"
    report = check(folder, source, 1)
    assert verdict(report) == ("not judged", False, 3)
    assert [*report.not_judged] == [O]


# ---- Keys that are settings.

SETTINGS = {
    "FA3": {"fa_quant_type": "FAKQuant", f"{ATTENTION}.quant_type": "INT8"},
    "FA3 of several": {f"{ATTENTION}.quant_type": "QK_FP8_DYNAMIC_V_INT8"},
    "an indexer": {f"{ATTENTION}.indexer.quant_type": "INT8_DYNAMIC"},
    "an indexer's query": {f"{ATTENTION}.indexer.wq_b_weight": "INT8_DYNAMIC"},
    "of the model": {"indexer_quant_type": "INT8_DYNAMIC", "is_rot_used": True, "optional": {}},
    "C8": {"kv_cache_type": "C8", "kv_quant_type": "C8", "reduce_quant_type": "per_channel"},
    "deeper": {"language_model.model.group_size": 0, f"{ATTENTION}.kv_cache_type": "C8"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_have_no_tensors(name: str, tmp_path: Path) -> None:
    _, folder = expected_pair(tmp_path)
    describe(folder, lambda keys: keys.update(SETTINGS[name]))
    assert check(folder, None, 1).findings == []


def test_scales_of_keys_and_values(tmp_path: Path) -> None:
    """They are no tensors of the original's, and must be positive."""
    source, folder = expected_pair(tmp_path)
    rotation = {f"{ATTENTION}.o_proj.heads_rotation": np.eye(4, dtype=np.float32)}
    add(folder, rotation)
    describe(folder, lambda keys: [keys.pop(name) for name in rotation])
    caches = {
        f"{ATTENTION}.fa_k.scale": ("FAQuant", np.ones((2, 1), np.float32)),
        f"{ATTENTION}.fa_k.offset": ("FAQuant", np.zeros((2, 1), np.float32)),
        f"{K}.kv_cache_scale": ("C8", np.ones(36, np.float32)),
        f"{K}.kv_cache_offset": ("C8", np.full(36, -3, np.float32)),
    }
    for key, (type, a) in caches.items():
        add(folder, {key: a}, type)
    assert check(folder, source, 1).findings == []
    replace(
        folder, f".*({'|'.join(map(re.escape, ('fa_k.scale', 'kv_cache_scale')))})", np.zeros_like
    )
    found = [(f.rule, f.name) for f in check(folder, None, 1).findings]
    assert sorted(found) == [
        ("scale", f"{ATTENTION}.fa_k.scale"),
        ("scale", f"{K}.kv_cache_scale"),
    ]


# ---- Linears that stay plain.


@pytest.mark.parametrize(
    ("model_type", "is_read"),
    [("deepseek_v3", False), ("glm4_moe", False), ("longcat_flash", True)],
)
def test_who_reads_a_quantized_eh_proj(model_type: str, is_read: bool, tmp_path: Path) -> None:
    _, folder = expected_pair(tmp_path)
    name = "model.layers.2.eh_proj"
    parts = {"weight": np.ones((8, 16), np.int8), "weight_scale": np.ones((8, 1), np.float32)}
    parts["weight_offset"] = np.zeros((8, 1), np.float32)
    add(folder, {f"{name}.{part}": a for part, a in parts.items()}, "W8A8_DYNAMIC")
    edit_json(folder / "config.json", lambda c: c.update(model_type=model_type))
    found = [(f.rule, f.name) for f in check(folder, None, 1).findings]
    assert found == [] if is_read else found == [("forbidden-type", name)]


def test_a_former_name_is_read(tmp_path: Path) -> None:
    """It is an error for vllm-ascend alone; of several nobody knows which counts."""
    _, folder = expected_pair(tmp_path)
    path = folder / "quant_model_description.json"
    for suffix in ("w8a8", "w8a8_dynamic"):
        (folder / f"quant_model_description_{suffix}.json").write_bytes(path.read_bytes())
    assert check(folder, None, 1).findings == []
    path.unlink()
    assert main(["check", str(folder)]) == 2
    (folder / "quant_model_description_w8a8.json").unlink()
    report = check(folder, None, 1)
    assert [f.rule for f in report.findings] == ["description"]
    assert report.judged["scales"] == 14
