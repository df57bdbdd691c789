"""Where a check says that numbers are bad: the place of the first, in tensors of every dtype."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checkpoints.faults import O, Q
from checkpoints.runs import expected_pair
from checkpoints.spoiling import as_static, put, replace, retype

from npu_quant.checkpoint import check, matrices


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "bfloat16", "float32"])
def test_the_first_bad_offset(dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted in numbers, also where it is not in the first band; in a type with any dtype."""
    _, folder = expected_pair(tmp_path)
    retype(folder, f"{O}[.].*", "W4A16")
    replace(folder, f"{O}.weight_offset", lambda a: (np.indices(a.shape)[0] == 50).astype(dtype))
    monkeypatch.setattr(matrices, "BAND_BYTES", 64)
    (found,) = [f for f in check(folder, None, 1).findings if f.rule == "offset"]
    assert found.text.startswith("1 offsets are not zero")
    assert found.text.endswith("the first is number 50")


def test_scales_of_integers(tmp_path: Path) -> None:
    """Of a type with any dtype: one of them is 0."""
    _, folder = expected_pair(tmp_path)
    replace(folder, f"{O}.weight_scale", lambda a: np.arange(len(a), dtype=np.uint16)[:, None])
    retype(folder, f"{O}[.].*", "W4A16")
    found = [(f.rule, f.name) for f in check(folder, None, 1).findings]
    assert ("scale", f"{O}.weight_scale") in found


@pytest.mark.parametrize(
    ("steps", "number"), [(0, 0), (64, 0), (-64, 0), (65, 1), (-65, 1), (8192, 1), (-8191, 1)]
)
def test_how_far_a_deq_scale_may_be_from_the_product(
    steps: int, number: int, tmp_path: Path
) -> None:
    """2^-7 of it, which is 64 steps of 2^-13; all numbers here are exact in float32."""
    _, folder = expected_pair(tmp_path)
    as_static(folder, O)
    replace(folder, f"{O}.weight_scale", lambda a: np.full_like(a, 0.5))
    product = 0.5 * 0.03125
    deq = [product] * 5 + [product * (1 + steps * 2.0**-13)]
    replace(folder, f"{O}.deq_scale", lambda a: np.resize(np.float32(deq[:5]), a.shape))
    put(folder, f"{O}.deq_scale", 5, deq[5])
    found = [f for f in check(folder, None, 1).findings if f.rule == "static"]
    assert [(f.name, f.text.partition(" values")[0]) for f in found] == [
        (f"{O}.deq_scale", str(number))
    ] * number
    assert all(f.text.endswith("the first is number 5") for f in found)


@pytest.mark.parametrize(("offset", "is_bad"), [(-129, 1), (-128, 0), (127, 0), (128, 1)])
def test_which_offsets_of_inputs_are_int8(offset: int, is_bad: bool, tmp_path: Path) -> None:
    _, folder = expected_pair(tmp_path)
    as_static(folder, O)
    put(folder, f"{O}.input_offset", 0, offset)
    found = [f.name for f in check(folder, None, 1).findings if f.rule == "static"]
    assert found == [f"{O}.input_offset"] * is_bad


def test_the_first_of_all_is_number_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though there are others in later bands."""
    _, folder = expected_pair(tmp_path)
    put(folder, f"{Q}.weight_scale", [[0], [40], [71]], np.nan)
    monkeypatch.setattr(matrices, "BAND_BYTES", 64)
    (found,) = check(folder, None, 1).findings
    assert found.text.startswith("3 scales are NaN, infinite, zero or negative")
    assert found.text.endswith("the first is number 0")
