"""``npu-quant compare --op`` that fails costs one comparison: a wrong order is told by headers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_line import DQ, Say
from folders import save_here as save

import npu_quant
from npu_quant.commands import compare, wrong_order
from npu_quant.golden import api

X = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float16)


@pytest.fixture
def comparisons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[api.Sides]]:
    """Return the comparisons that are made, in a folder of an input and its right outputs."""
    monkeypatch.chdir(tmp_path)
    y, scale = npu_quant.npu_dynamic_quant(X)
    save(x=X, y=y, scale=scale, wrong=-y, off=scale * 2, cut=y[:, :9], wide=y.astype(np.int16))
    made: list[api.Sides] = []

    def counted(sides: api.Sides, request: object) -> api.Comparison:
        made.append(sides)
        return api.compared(sides, request)  # type: ignore[arg-type]

    monkeypatch.setattr(compare, "run_comparison", counted)
    return made


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("wrong scale x", 1),
        ("wrong x", 1),
        ("cut x", 1),
        ("wide off x", 1),
        ("y off x", 1),
        ("scale wrong x", 1),  # fits in another order
        ("x y", 0),
        ("x wrong scale", 0),
        ("wrong y x", 1),
        ("y wrong", 0),  # fits in none
    ],
)
def test_one_comparison(
    words: str, count: int, comparisons: list[api.Sides], compared: Say
) -> None:
    assert compared(*(f"{word}.npy" for word in words.split()), *DQ)[0] > 0
    assert len(comparisons) == count


def test_of_outputs_that_look_like_their_input(comparisons: list[api.Sides], compared: Say) -> None:
    """Exchanged ones are told without a second comparison; wrong ones are not called exchanged."""
    words = ["--op", "fake_quantize_per_tensor_affine"]
    for pair in ("scale=0.5", "zero_point=0", "quant_min=0", "quant_max=9"):
        words += ["--attr", pair]
    x = np.float32([1.2, 1.5, 4.1])
    save(x=x, y=np.float32([1, 1.5, 4]), bad=np.float32([1, 2, 4]))
    _, _, err = compared("x.npy", "y.npy", *words)
    assert err.endswith("what is judged comes first, then the inputs: y.npy x.npy\n")
    assert compared("bad.npy", "x.npy", *words)[::2] == (1, "")
    assert compared("bad.npy", "y.npy", *words)[::2] == (1, "")
    assert len(comparisons) == 3


def test_no_input_is_read_for_it(
    comparisons: list[api.Sides], compared: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other orders are tried on headers: only the order that is given is read."""
    reads: list[str] = []
    plain = wrong_order.FileSource.array

    def counted(self: wrong_order.FileSource) -> np.ndarray:
        reads.append(self.path)
        return plain(self)

    monkeypatch.setattr(wrong_order.FileSource, "array", counted)
    _, _, err = compared("x.npy", "y.npy", "scale.npy", *DQ)
    assert err.endswith(": y.npy scale.npy x.npy\n")
    assert reads == ["scale.npy"]  # as it was given
