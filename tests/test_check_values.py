"""Where a check says that numbers are bad: the place of the first, in tensors of every dtype."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checkpoints.expected import expect
from checkpoints.faults import O
from checkpoints.models import make
from checkpoints.spoiling import replace, retype

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
