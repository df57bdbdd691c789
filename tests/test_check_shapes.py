"""What is said of tensors whose dtype or shape is not that of their type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.arithmetic import halves
from checkpoints.faults import E, O, Q
from checkpoints.runs import expected_pair
from checkpoints.spoiling import replace, retype
from checkpoints.tensor_files import FLOAT8, Array

from npu_quant.checkpoint import check

INT8: dict[str, Any] = {"scheme": "W8A8_DYNAMIC"}
MX: dict[str, Any] = {"scheme": "W8A8_MXFP8", "kind": "W4A4_MXFP4"}
INT4: dict[str, Any] = {"scheme": "W4A8_DYNAMIC", "family": "qwen3_moe"}
FP4 = "has fp4 codes in e4m3 bytes: twice the size, and vllm-ascend wants U8 [N,K/2]"
# The tensor, what becomes of it, how the model was quantized, what is said; q_proj is [72, 72].
SAID: list[tuple[str, Callable[[Array], Array], dict[str, Any], str, str]] = [
    (f"{Q}.bias", lambda a: a.astype(np.int32), INT8, "dtype", "is I32, a bias is of floats"),
    (f"{Q}.bias", lambda a: a[:, None], INT8, "shape", "has shape (72, 1), a bias has one axis"),
    (f"{Q}.weight_scale", np.ravel, INT8, "shape", "has shape (72,), its weight needs (72, 1): loading fails"),
    (f"{O}.weight", lambda a: a, MX, "dtype", FP4),
    (f"{O}.weight", lambda a: a.view(np.int8), MX, "dtype", "is I8, W4A4_MXFP4 has U8: consumers convert or misread it"),
    (f"{O}.weight_scale", lambda a: a.astype(FLOAT8), MX, "dtype", "is F8_E4M3, W4A4_MXFP4 has U8: consumers convert or misread it"),
    (f"{E}.0.up_proj.weight", halves, INT4, "shape", "has shape (48, 64), W4A8_DYNAMIC has (24, 64): is it unpacked int4? Loading"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "how", "rule", "text"), SAID)
def test_what_is_said(
    name: str,
    change: Callable[[Array], Array],
    how: dict[str, Any],
    rule: str,
    text: str,
    tmp_path: Path,
) -> None:
    _, folder = expected_pair(tmp_path, how["scheme"], how.get("family", "qwen2"))
    if "kind" in how:
        retype(folder, f"{O}[.].*", how["kind"])
    replace(folder, name.replace(".", "[.]"), change)
    found = [f for f in check(folder, None, 1).findings if f.name == name]
    assert [f.rule for f in found if f.text.startswith(text)] == [rule]
