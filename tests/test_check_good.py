"""Nothing is found in what quantize writes, and its recipe is named; workers change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkpoints.models import FAMILIES, make
from checkpoints.runs import quantized_pair

from npu_quant.checkpoint import CheckedLayer, CheckpointError, CheckReport, check, quantize

PAIRS = [
    ("W8A8_DYNAMIC", "ascend", "npu_quant-P-127"),
    ("W8A16", "ascend", "npu_quant-P-127"),
    ("W8A8_MXFP8", "ascend", "npu_quant-mx-up"),
    ("W4A8_DYNAMIC", "ascend", "npu_quant-7"),
    ("W8A8_DYNAMIC", "compressed-tensors", "npu_quant-P-127"),
    ("W4A8_DYNAMIC", "compressed-tensors", "npu_quant-7"),
]
WITH_EXPERTS = {"qwen3_moe", "mixtral", "qwen3_vl_moe", "qwen3_5_moe", "deepseek_v3"}
REFUSED = {("W4A8_DYNAMIC", f): "the model has none" for f in FAMILIES.keys() - WITH_EXPERTS}
REFUSED |= {("W8A16", f): "no experts of W8A16" for f in WITH_EXPERTS}


@pytest.mark.parametrize(("scheme", "format", "recipe"), PAIRS)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_quantize_writes_is_good(
    family: str, scheme: str, format: str, recipe: str, tmp_path: Path
) -> None:
    source, out = make(tmp_path / "source", family), tmp_path / "out"
    if text := REFUSED.get((scheme, family)):
        with pytest.raises(CheckpointError, match=text):
            quantize(source, out, scheme, format=format, workers=1)
        return
    quantize(source, out, scheme, format=format, workers=1)
    one = check(out, source, 1)
    assert one.findings == []
    assert one.passed
    assert one.recipe[scheme] == recipe
    assert str(one).startswith("passed: ")
    assert {layer.codes_different for layer in one.layers} == {0}


def test_linears_that_are_left_float_are_counted(tmp_path: Path) -> None:
    source, out = make(tmp_path / "source", "llama"), tmp_path / "out"
    quantize(source, out, "W8A8_DYNAMIC", exclude="*.layers.0.mlp.*", workers=1)
    assert check(out, None, 1).types == {"W8A8_DYNAMIC": 11, "FLOAT": 3}


def test_workers_change_nothing(tmp_path: Path) -> None:
    source, out = quantized_pair(tmp_path, family="qwen3_moe")
    assert check(out, source, 1).to_dict() == check(out, source, 2).to_dict()
    assert check(out, None, 1).recipe == {"W8A8_DYNAMIC": "npu_quant-P-127"}


def test_text_of_a_large_model() -> None:
    """Counts and the worst layers read as quantize writes them."""
    layers = [CheckedLayer(f"m.{i}", "W8A16", (1, 1), sqnr_db=i, cosine=1) for i in range(9, 0, -1)]
    unknown = CheckedLayer("m.0", "W8A16", (1, 1))
    text = str(CheckReport("m", "ascend", "llama", [], {"W8A16": 1234}, {}, [unknown, *layers]))
    first, *worst = text.splitlines()
    assert first == "passed: 1,234 modules W8A16"
    assert [line.split()[-1] for line in worst] == ["m.1", "m.2", "m.3", "m.4", "m.5"]
