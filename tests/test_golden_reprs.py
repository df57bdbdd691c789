"""What a prompt shows of a result: one of huge inputs, too, fits in a few lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npu_quant import golden
from npu_quant.golden import compare, compare_folders, explain, load, loss
from npu_quant.testing import GoldenMismatch, assert_golden

MOST = 500
X = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float16)


def everything(folder: Path) -> list[Any]:
    """Return an object of each public kind, with names and numbers of things as large as can be."""
    long = "n" * 5_000
    many = {f"{long}{i}": np.array([i], np.int32) for i in range(300)}
    wrong = {name: array + 1 for name, array in many.items()}
    found = compare(wrong, many)
    y = np.zeros((64, 64), np.int8)
    judged = compare(y, op="npu_dynamic_quant", inputs={"input": X})
    for side, values in ("npu", y), ("cpu", y + 1):
        (folder / side).mkdir()
        for i in range(50):
            np.save(folder / side / f"{'n' * 200}{i}.npy", values)
    folders = compare_folders(folder / "npu", folder / "cpu")
    explanation = explain(y, "npu_dynamic_quant", X)
    with pytest.raises(GoldenMismatch) as caught:
        assert_golden(wrong, many)
    where, output = judged.where, judged.decisive
    assert where is not None
    file = load(next((folder / "npu").iterdir()))
    return [
        found, found.decisive, found.decisive.metrics, judged, output, output.metrics, output.ties,
        where, *where.concentrations[:1], output.seen, output.seen.map, *judged.worst(1), folders,
        folders.first, explanation, explanation.ranked[0], loss(X, X, (1, 1)), caught.value, file,
        golden.Alone(long, long), golden.Tolerance(long, True, 0.5, dict.fromkeys(many, True)),
        golden.list_variants("npu_dynamic_quant")[0],
        golden.VariantMatch(long, True, long, long), golden.Concentration("row", (1,), 1, 1, 0.0),
    ]  # fmt: skip


def test_of_every_kind_is_short(tmp_path: Path) -> None:
    every = everything(tmp_path)
    kinds = {name for name in golden.__all__ if isinstance(getattr(golden, name), type)}
    assert kinds - {type(one).__name__ for one in every} == {"FileError"}
    for one in every:
        text = repr(one)
        assert type(one).__name__ in text or text.startswith(f"<{'n' * 2}") or "npy" in text
        assert len(text) < MOST, (type(one), len(text))
        assert text.isprintable()


def test_a_verdict_is_true_if_it_passed_and_nothing_else_is(tmp_path: Path) -> None:
    y = np.arange(12, dtype=np.int8).reshape(3, 4)
    for side in ("npu", "cpu"):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "y.npy", y)
    assert compare(y.copy(), y)
    assert compare_folders(tmp_path / "npu", tmp_path / "cpu")
    np.save(tmp_path / "npu" / "y.npy", y + np.int8(1))
    found, folders = compare(y + np.int8(1), y), compare_folders(tmp_path / "npu", tmp_path / "cpu")
    assert not found
    assert not found.decisive
    assert not folders
    assert not any([found, folders])
    explanation = explain(np.zeros((64, 64), np.int8), "npu_dynamic_quant", X)
    tolerance = golden.Tolerance("atol=1", True, 0.5)
    for one, ask in (
        (explanation, "matches"), (loss(X, X, (1, 1)), "sqnr_db"), (folders.first, "passed"),
        (tolerance, "passed"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=ask):
            bool(one)


def test_it_says_what_it_is() -> None:
    found = compare(np.array([1, 2], np.int8), np.array([1, 3], np.int8))
    assert repr(found) == "<Comparison int8 (2,): different>"
    assert repr(found.decisive).startswith(
        "OutputComparison(name='', dtype=dtype('int8'), shape=(2"
    )
    assert repr(found.decisive.metrics).startswith(
        "Metrics(count=2, mismatches=1, first=1, worst=1"
    )
    names = {name: np.zeros(1, np.int8) for name in "abcdefgh"}
    shown = "a int8 (1,), b int8 (1,), c int8 (1,) and 5 more"
    assert repr(compare(names, names)) == f"<Comparison {shown}: identical>"
