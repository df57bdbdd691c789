"""Every fault of a quantized checkpoint is found by its rule, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkpoints.fault_table import FAULTS
from checkpoints.faults import good
from checkpoints.spoiling import add, edit_json, remove, tensor

from npu_quant.checkpoint import CheckpointError, check


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_rule(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    folder = good(tmp_path, fault)
    original = tmp_path / "source" if fault.needs_original else None
    assert check(folder, original, 1).findings == []
    fault.spoil(folder)
    if fault.status == 2:
        with pytest.raises(CheckpointError, match=fault.rule.replace("-", " ")):
            check(folder, original, 1)
        return
    found = check(folder, original, 1).findings
    ours = [f for f in found if f.rule == fault.rule]
    assert any(fault.name in f.name and f.severity == fault.severity for f in ours), found
    assert {f.rule for f in found} <= {fault.rule, *fault.also}, found


@pytest.mark.parametrize("architecture", ["BertModel", "BertForMaskedLM"])
def test_a_model_without_a_head_need_not_ignore_it(architecture: str, tmp_path: Path) -> None:
    fault = FAULTS["no tied head is ignored, compressed"]
    folder = good(tmp_path, fault)
    fault.spoil(folder)
    edit_json(folder / "config.json", lambda c: c.update(architectures=[architecture]))
    assert check(folder, None, 1).findings == []


@pytest.mark.parametrize("pattern", ["re:lm_head", "re:.*head", "lm_head"])
def test_a_head_is_ignored_by_a_pattern(pattern: str, tmp_path: Path) -> None:
    fault = FAULTS["no head is ignored, compressed"]
    folder = good(tmp_path, fault)
    config = folder / "config.json"
    edit_json(config, lambda c: c["quantization_config"].update(ignore=[pattern]))
    assert check(folder, None, 1).findings == []


def test_a_head_below_a_prefix_needs_no_other_key(tmp_path: Path) -> None:
    folder = good(tmp_path, FAULTS["no version"])
    head = "language_model.lm_head.weight"
    add(folder, {head: tensor(folder, "lm_head.weight")})
    remove(folder, "lm_head[.]weight")
    assert check(folder, None, 1).findings == []
