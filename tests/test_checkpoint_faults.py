"""The faults that checkpoints are tried on: each breaks a folder as it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import ascend_reader
from checkpoints.fault_table import FAULTS
from checkpoints.faults import Fault, O, good
from checkpoints.models import make
from checkpoints.source_faults import SOURCE_FAULTS
from checkpoints.spoiling import as_static

RULES = {
    "config", "not-quantized", "unfinished", "missing-shard", "truncated", "header", "index", "stray-weights",
    "stray-index", "irregular", "checksum", "two-formats", "missing-key", "prefix", "missing-tensor", "unknown-type", "meta", "mixed-group",
    "forbidden-type", "dtype", "shape", "alignment", "stacked-experts", "scale", "offset", "scale-precision", "fp16",
    "static", "scale-bias", "quant-bias", "description", "leftover", "nonfinite", "ignore", "pattern", "codes", "float-changed", "missing-layer", "extra-tensor", "missing-file", "config-changed",
}  # fmt: skip


def listed(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b""
        for p in folder.rglob("*")
    }


def equal(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> bool:
    return ours.keys() == theirs.keys() and all(
        np.array_equal(ours[name], theirs[name]) for name in ours
    )


def test_every_rule_has_a_fault() -> None:
    assert {fault.rule for fault in FAULTS.values()} == RULES


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one(name: str, tmp_path: Path) -> None:
    """It changes the folder; what is an error keeps a consumer from reading the same weights."""
    fault: Fault = FAULTS[name]
    folder = good(tmp_path, fault)
    before = listed(folder)
    weights = ascend_reader.load(folder) if fault.format == "ascend" else {}
    fault.spoil(folder)
    assert listed(folder) != before
    if fault.format == "ascend" and fault.severity == "error":
        assert noticed(folder, weights) == fault.is_noticed


def noticed(folder: Path, weights: dict[str, Any]) -> bool:
    try:
        with np.errstate(invalid="ignore"):  # infinity times zero
            return not equal(ascend_reader.load(folder), weights)
    except (KeyError, ValueError, OSError):
        return True


def test_a_static_module_is_read(tmp_path: Path) -> None:
    """What the faults of W8A8 begin with is none itself."""
    folder = good(tmp_path, FAULTS["one code"])
    before = ascend_reader.load(folder)
    as_static(folder, O)
    assert equal(ascend_reader.load(folder), before)


@pytest.mark.parametrize("name", SOURCE_FAULTS)
def test_a_fault_of_a_source_is_one(name: str, tmp_path: Path) -> None:
    fault = SOURCE_FAULTS[name]
    folder = make(tmp_path / "source", fault.family)
    before = listed(folder)
    fault.spoil(folder)
    assert listed(folder) != before
