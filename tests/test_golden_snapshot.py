"""A comparison is plain data: it says the same whatever becomes of the arrays, and is pickled."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.case import Case
from test_golden_references import COMPARED

import npu_quant
from npu_quant.golden import Comparison, compare, load
from npu_quant.golden.judge import outputs as judge_outputs
from npu_quant.golden.measure import collected
from npu_quant.golden.operators import outputs_of
from npu_quant.testing import GoldenMismatch, GoldenRefused, assert_golden

ROWS, COLUMNS = 12, 256


def values() -> Any:
    return np.random.default_rng(7).standard_normal((ROWS, COLUMNS)).astype(np.float16)


def told(comparison: Comparison) -> tuple[object, ...]:
    """Return all that a comparison says."""
    return (
        str(comparison),
        comparison._repr_html_(),
        json.dumps(comparison.to_dict()),
        repr(comparison),
        [repr(comparison.worst(200, output.name)) for output in comparison.outputs],
        (comparison.missing, comparison.extra, comparison.not_compared, comparison.rerun),
        repr(comparison.where),
        comparison.blind_spot,
    )


def spoil(*arrays: Any) -> None:
    for array in arrays:
        if isinstance(array, np.ndarray):
            memory = np.atleast_1d(array).view(np.uint8)
            memory[...] = ~memory


def check(comparison: Comparison, *arrays: Any) -> None:
    """Change the arrays: what is said before must be said after, and by a copy from a pickle."""
    never_asked = pickle.loads(pickle.dumps(comparison))
    before = told(comparison)
    spoil(*arrays)
    assert told(comparison) == before
    assert told(never_asked) == before
    assert told(pickle.loads(pickle.dumps(comparison))) == before


def wrong_in(output: Any) -> Any:
    """Return an output with some elements of row 7 (or of a vector) changed."""
    wrong = output.copy()
    length = wrong.size // ROWS
    row = wrong.reshape(-1)[7 * length :][: min(length, 40)]
    row[:] = row == 0 if row.dtype == np.bool_ else row + np.asarray(3, row.dtype)
    return wrong


@pytest.mark.parametrize("case", COMPARED, ids=lambda case: case.name)
def test_of_every_operator(case: Case, rng: np.random.Generator) -> None:
    op = case.operator.__name__
    inputs = case.arguments(rng, (ROWS, COLUMNS), **[*case.kinds.values()][-1])
    outputs = [output.copy() for output in case.run(inputs)]
    for actual in (
        [one.copy() for one in outputs],
        [wrong_in(one) for one in outputs],
        [outputs[0].copy(), *[None] * (len(outputs) - 1)],
    ):
        own = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in inputs.items()}
        comparison = compare(tuple(actual), op=op, inputs=own)
        assert comparison.passed is (actual[0].tobytes() == outputs[0].tobytes())
        check(comparison, *actual, *own.values())
    assert len(outputs_of(op)) == len(outputs)


def rungs() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    x = values()
    y, scale = npu_quant.npu_dynamic_quant(x)
    quotient = x.astype(np.float32) / scale[:, None]
    computed = {"op": "npu_dynamic_quant", "inputs": {"input": x}}
    yield "identical", (y, scale), computed
    yield "identical", y, computed
    yield "variant", (np.trunc(quotient).astype(np.int8), scale), computed
    yield "tolerated", wrong_in(y), computed | {"atol": 3}
    yield "different", wrong_in(y), computed
    yield "different", (y, scale * np.float32(1.01)), computed
    yield "different", y[::-1].copy(), computed
    yield "different", y[:5].copy(), {"golden": y}
    yield "different", (y, scale), {"golden": (y,)}
    yield "different", {"a": y}, {"golden": {"a": y, "b": scale}}
    yield "different", wrong_in(x.astype(ml_dtypes.bfloat16)), {"golden": x.astype("bfloat16")}
    yield "different", wrong_in(x.reshape(2, 6, -1)), {"golden": x.reshape(2, 6, -1), "axis": 0}
    tie = np.array([[0, 32, -63, 127]], np.int8)
    four = np.array([[0, 1, -2, 4]], np.float16)
    yield "tie", tie, {"op": "npu_dynamic_quant", "inputs": {"input": four}}
    yield "different", np.int64(2**62 + 1), {"golden": np.int64(2**62)}


@pytest.mark.parametrize("number", range(len([*rungs()])))
def test_of_every_rung(number: int) -> None:
    rung, actual, more = [*rungs()][number]
    comparison = compare(actual, **more)
    assert comparison.rung == rung
    sides = [actual, more.get("golden"), more.get("inputs")]
    arrays = []
    for side in sides:
        held = side.values() if isinstance(side, dict) else side if isinstance(side, tuple) else ()
        arrays += [side, *held]
    check(comparison, *arrays)


def test_of_files_that_are_gone_in_another_process(tmp_path: Path) -> None:
    y = npu_quant.npu_dynamic_quant(values())[0]
    for name, array in (("a", wrong_in(y)), ("g", y)):
        np.save(tmp_path / f"{name}.npy", array)
    with load(tmp_path / "a.npy") as actual, load(tmp_path / "g.npy") as golden:
        comparison = compare(actual, golden)
    (tmp_path / "a.npy").unlink()
    (tmp_path / "g.npy").unlink()
    (tmp_path / "kept").write_bytes(pickle.dumps(comparison))
    code = (
        "import pickle, sys; c = pickle.load(open(sys.argv[1], 'rb'));"
        "sys.stdout.buffer.write((str(c) + c._repr_html_() + repr(c.worst(50))).encode())"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "kept")], capture_output=True, check=True
    )
    said = str(comparison) + comparison._repr_html_() + repr(comparison.worst(50))
    assert out.stdout.decode() == said


def test_it_holds_no_array_of_the_caller() -> None:
    """Not even one that it could not change: a comparison of large arrays is small."""
    golden = np.zeros((64, 1 << 14), np.int8)
    actual = golden + np.int8(1)
    assert len(pickle.dumps(compare(actual, golden))) < 200_000
    x = golden.astype(np.float16)
    made = compare(actual, op="npu_dynamic_quant", inputs={"input": x})
    assert len(pickle.dumps(made)) < 400_000


def test_of_many_rows_counts_are_kept_together() -> None:
    golden = np.zeros((1 << 17, 2), np.int8)
    actual = golden.copy()
    actual[[5, 1 << 16], 1] = 1
    where = compare(actual, golden).where
    assert where is not None
    assert (where.rows, where.row_bucket, len(where.row_counts)) == (2, 2, 1 << 16)
    assert np.flatnonzero(where.row_counts).tolist() == [2, 1 << 15]


def test_the_worst_hundred_are_kept_in_order() -> None:
    golden = np.zeros(1000, np.int32)
    actual = np.arange(1000, dtype=np.int32) % 500
    worst = compare(actual, golden).worst(1000)
    assert [e.actual for e in worst[:3]] == [499, 499, 498]
    assert [e.index for e in worst[:3]] == [(499,), (999,), (498,)]
    assert len(worst) == 100
    assert compare(actual, golden).worst(0) == []
    assert compare(actual, golden).worst(-1) == []


def test_what_was_raised_has_its_comparison() -> None:
    y = np.arange(6, dtype=np.int8)
    with pytest.raises(GoldenMismatch) as mismatch:
        assert_golden(y + np.int8(1), y)
    with pytest.raises(GoldenRefused) as refused:
        assert_golden(y, y)
    for error, rung in ((mismatch.value, "different"), (refused.value, "identical")):
        assert error.comparison is not None
        assert error.comparison.rung == rung


def test_how_many_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """More only where each may be a tie, or counts along an axis are asked for."""
    golden, x = np.zeros((3, 2, 4), np.int8), values()
    actual, y = golden.copy(), npu_quant.npu_dynamic_quant(x)[0]
    actual.reshape(-1)[:6] = 1
    for limit, known in ((6, 6), (5, 1)):
        for module in (collected, judge_outputs):
            monkeypatch.setattr(module, "MOST_LISTED", limit)
        found = compare(actual, golden), compare(actual, golden, axis=1)
        assert [len(one.worst()) for one in found] == [known, 6]
        assert [one.decisive.seen.map is None for one in found] == [limit < 6] * 2
    computed = compare(wrong_in(y), op="npu_dynamic_quant", inputs={"input": x})
    assert len(computed.worst(99)) == 40
    assert computed.decisive.seen.distances is None
