"""Where a check says that numbers are bad: the place of the first, in tensors of every dtype."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from checkpoints.expected import expect
from checkpoints.faults import O, Q
from checkpoints.models import make
from checkpoints.spoiling import as_static, replace, retype
from checkpoints.tensor_files import Array

from npu_quant.checkpoint import check, check_values


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "bfloat16", "float32"])
def test_the_first_bad_offset(dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted in numbers, also where it is not in the first band; in a type with any dtype."""
    source = make(tmp_path / "source", "llama")
    folder = expect(source, "W8A8_DYNAMIC").write(tmp_path / "quantized")
    retype(folder, f"{O}[.].*", "W4A16")
    replace(folder, f"{O}.weight_offset", lambda a: (np.indices(a.shape)[0] == 50).astype(dtype))
    monkeypatch.setattr(check_values, "BAND_BYTES", 64)
    (found,) = [f for f in check(folder, None, 1).findings if f.rule == "offset"]
    assert found.text.startswith("1 offsets are not zero")
    assert found.text.endswith("the first is number 50")


def test_scales_of_integers(tmp_path: Path) -> None:
    """Of a type with any dtype: one of them is 0."""
    source = make(tmp_path / "source", "llama")
    folder = expect(source, "W8A8_DYNAMIC").write(tmp_path / "quantized")
    replace(folder, f"{O}.weight_scale", lambda a: np.arange(len(a), dtype=np.uint16)[:, None])
    retype(folder, f"{O}[.].*", "W4A16")
    found = [(f.rule, f.name) for f in check(folder, None, 1).findings]
    assert ("scale", f"{O}.weight_scale") in found


@pytest.mark.parametrize("change", [np.ravel, np.transpose, lambda a: a.astype(np.uint16)])
def test_static_scales_that_cannot_be_compared(
    change: Callable[[Array], Array], tmp_path: Path
) -> None:
    """W8A8 keeps weight_scale in no shape or dtype that consumers read: its codes are let be."""
    source = make(tmp_path / "source", "llama")
    folder = expect(source, "W8A8_DYNAMIC").write(tmp_path / "quantized")
    as_static(folder, O)
    replace(folder, f"{O}.weight_scale", change)
    layers = {layer.name: layer for layer in check(folder, source, 1).layers}
    assert layers[O].recipe is None
    assert layers[Q].recipe == "npu_quant-P-127"
