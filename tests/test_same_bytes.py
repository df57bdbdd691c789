"""What `make aarch64` compares on two architectures; the other one is left to it."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tools import same_bytes


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the calls of two operators, on the instruction set that there is."""
    few = [case for case in same_bytes.CASES if case.name in ("swiglu", "dynamic_quant")]
    here = [same_bytes._core.target()]
    monkeypatch.setattr(same_bytes, "CASES", few)
    monkeypatch.setattr(same_bytes._core, "targets", lambda: here)
    same_bytes.make(str(tmp_path / "calls"))
    return tmp_path / "calls"


def test_here_nothing_differs(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pickle.loads(calls.read_bytes())
    assert {case for _, case, *_ in table} == {"swiglu", "dynamic_quant"}
    assert same_bytes.check(str(calls)) == ""
    assert f" {len(table)} calls of " in capsys.readouterr().out


def test_one_bit_of_an_output_is_found(calls: Path) -> None:
    table = pickle.loads(calls.read_bytes())
    (name, _, _, made) = table[7]
    made[same_bytes._core.target()][-1] ^= 1
    calls.write_bytes(pickle.dumps(table))
    said = same_bytes.check(str(calls))
    assert said.startswith(f"{name}  {same_bytes._core.target()}  ")
    assert "\n" not in said


def test_a_nan_is_any_nan_but_in_a_scale() -> None:
    def crcs(bits: int) -> list[int]:
        nan = np.array([0x3F800000, bits], np.uint32).view(np.float32)
        case = SimpleNamespace(fields=("y", "mxscale"), run=lambda a: (nan, nan))
        return same_bytes.crcs(case, {})

    positive, negative = crcs(0x7FC00000), crcs(0xFFC00001)
    assert positive[0] == negative[0] != crcs(0x7F800000)[0]
    assert positive[1] != negative[1]
