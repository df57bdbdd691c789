"""Every fault of a quantized checkpoint is found by its rule, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkpoints.fault_table import FAULTS
from checkpoints.faults import good

from npu_quant.checkpoint import CheckpointError, check


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_rule(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    folder = good(tmp_path, fault)
    original = tmp_path / "source" if fault.needs_original else None
    assert check(folder, original, 1).findings == []
    fault.spoil(folder)
    if fault.status == 2:
        with pytest.raises(CheckpointError, match=fault.rule):
            check(folder, original, 1)
        return
    found = check(folder, original, 1).findings
    ours = [f for f in found if f.rule == fault.rule]
    assert any(fault.name in f.name and f.severity == fault.severity for f in ours), found
    assert {f.rule for f in found} <= {fault.rule, *fault.also}, found
