"""measure() around the metrics: places, blocks, sources, faults, and that wrong numbers are seen."""

from __future__ import annotations

import dataclasses
import json
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare_witness import assert_measured
from numpy.typing import NDArray

import npu_quant
from npu_quant import _core
from npu_quant.errors import DTypeError, ParamError
from npu_quant.golden import sources
from npu_quant.golden.measure import metrics as metrics_module
from npu_quant.golden.measure.metrics import measure
from npu_quant.golden.results import Metrics
from npu_quant.golden.sources import ArraySource

Array = NDArray[Any]
CHUNK = 4096


def measured(actual: Array, golden: Array, **options: Any) -> Any:
    return measure(ArraySource(actual), ArraySource(golden), **options)


def disturbed(rng: np.random.Generator, golden: Array, share: float) -> tuple[Array, Array]:
    """A copy in which some elements are others, and where."""
    where = rng.random(golden.shape) < share
    return np.where(where, golden + np.ones((), golden.dtype), golden), where


@pytest.mark.usefixtures("target", "threads")
class TestPositions:
    @pytest.mark.parametrize(
        "shape",
        [(70_000, 1), (30_000, 3), (1000, 77), (77, 1000), (1, 90_000), (2, 70_000), (3, 5, 4001)],
    )
    @pytest.mark.parametrize("name", ["int8", "float32"])
    def test_differences_per_row_and_column(
        self, rng: np.random.Generator, name: str, shape: tuple[int, ...]
    ) -> None:
        golden = rng.integers(-9, 9, shape).astype(name)
        for share in (0.0001, 0.01, 0.5):
            actual, where = disturbed(rng, golden, share)
            flat = where.reshape(-1, shape[-1])
            for threads in (1, 2, 3):
                npu_quant.set_num_threads(threads)
                metrics, positions = measured(actual, golden)
                assert (positions.row_counts == flat.sum(axis=1)).all()
                by_column = flat.sum(axis=0)
                bucket = positions.column_bucket
                assert bucket == (2 if shape[-1] > 1 << 16 else 1)
                by_column = np.append(by_column, [0] * (-len(by_column) % bucket))
                by_column = by_column.reshape(-1, bucket).sum(axis=1)
                assert (positions.column_counts == by_column).all()
                assert positions.row_bucket == 1
                assert metrics.mismatches == where.sum()

    @pytest.mark.parametrize("most", [1, 3, 64])
    def test_buckets_of_rows(
        self, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, most: int
    ) -> None:
        monkeypatch.setattr(metrics_module, "MOST_ROW_BUCKETS", most)
        golden = np.zeros((1000, 200), np.int8)
        actual, where = disturbed(rng, golden, 0.1)
        npu_quant.set_num_threads(2)
        positions = measured(actual, golden)[1]
        bucket = positions.row_bucket
        assert bucket == {1: 1024, 3: 512, 64: 16}[most]
        per_row = np.append(where.sum(axis=1), [0] * (-1000 % bucket))
        assert (positions.row_counts == per_row.reshape(-1, bucket).sum(axis=1)).all()
        assert len(positions.row_counts) <= most

    def test_far_apart(self) -> None:
        """Rows without differences are not walked through one by one."""
        golden = np.zeros((2_000_000, 2), np.uint8)
        actual = golden.copy()
        places = [0, 5, 1_000_003, 3_999_999]
        actual.reshape(-1)[places] = 1
        positions = measured(actual, golden)[1]
        assert np.flatnonzero(positions.row_counts).tolist() == [0, 2, 500_001, 1_999_999]
        assert positions.column_counts.tolist() == [1, 3]


class TestBlocks:
    def test_progress(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sources, "BLOCK_BYTES", 2 * CHUNK)
        calls: list[tuple[int, int]] = []
        zeros = np.zeros(5 * CHUNK, np.int8)
        measured(zeros, zeros, progress=lambda done, total: calls.append((done, total)))
        assert calls == [(n * CHUNK, 5 * CHUNK) for n in (2, 4, 5)]

    @pytest.mark.parametrize("fails_at", [0, 1, 3])
    def test_what_a_source_raises(self, monkeypatch: pytest.MonkeyPatch, fails_at: int) -> None:
        monkeypatch.setattr(sources, "BLOCK_BYTES", CHUNK)

        class Broken(ArraySource):
            def read(self, begin: int, end: int) -> Array:
                if begin == fails_at * CHUNK:
                    raise OSError("the file ends")
                return super().read(begin, end)

        zeros = np.zeros(4 * CHUNK, np.int8)
        before = threading.active_count()
        with pytest.raises(OSError, match="the file ends"):
            measure(Broken(zeros), ArraySource(zeros))
        assert threading.active_count() == before

    def test_what_progress_raises(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sources, "BLOCK_BYTES", CHUNK)
        zeros = np.zeros(9 * CHUNK, np.int8)
        before = threading.active_count()

        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            measured(zeros, zeros, progress=stop)
        assert threading.active_count() == before

    def test_read_only_arrays(self) -> None:
        zeros = np.zeros(10, np.float16)
        zeros.flags.writeable = False
        assert measured(zeros, zeros)[0].count == 10


class TestDTypes:
    @pytest.mark.parametrize(
        ("dtype", "message"),
        [
            ("complex64", "dtype complex64, .* Compare its parts, .real and .imag."),
            ("longdouble", r"Convert it with .astype\(np.float64\)."),
            ("O", "Convert it, e.g. with .astype"),
            ("U3", "dtype <U3, expected bool, integers or floats of 1, 2, 4 or 8 bytes.$"),
            ("V2", r"If it holds that type: .view\(ml_dtypes.bfloat16\)."),
            ("V1", r"If it holds that type: .view\(ml_dtypes.float8_e4m3fn\)."),
            ("V3", "bytes.$"),
            ("S1", "bytes.$"),
            ("M8[s]", r"Compare .view\(np.int64\)."),
            ("i2,i2", "bytes.$"),
        ],
    )
    def test_what_cannot_be_compared(self, dtype: str, message: str) -> None:
        array = np.zeros(3, dtype)
        with pytest.raises(
            DTypeError,
            match=f"the arrays have {message}" if message.startswith("dtype") else message,
        ):
            measured(array, array)

    @pytest.mark.parametrize("name", [n for n in dir(ml_dtypes) if "int" in n or "float" in n])
    def test_every_type_of_ml_dtypes(self, name: str) -> None:
        dtype = np.dtype(getattr(ml_dtypes, name))
        one, other = (np.array([x], dtype) for x in (1, -1 if name == "int1" else 1))
        metrics = measured(one, other)[0]
        assert (metrics.count, metrics.mismatches) == (1, 0)

    def test_scales_without_zero_or_sign(self) -> None:
        dtype = np.dtype(ml_dtypes.float8_e8m0fnu)
        golden, actual = (np.array(x, dtype) for x in ([1, 2, 4], [1, 4, 1]))
        metrics = measured(actual, golden)[0]
        assert (metrics.steps["+1"], metrics.steps["-2"], metrics.max_abs) == (1, 1, 3)


SMALL = np.arange(8, dtype=np.float32)


def call(**changes: Any) -> None:
    """_core.compare of arrays that fit, but for the changes."""
    numbers = {
        "actual": SMALL,
        "golden": SMALL,
        "is_nan": None,
        "row_counts": np.zeros(1, np.int64),
        "column_counts": np.zeros(8, np.int64),
        "counts": np.zeros(36, np.uint64),
        "sums": np.zeros(16),
        "first": 0,
        "columns": 8,
        "row_shift": 0,
        "column_shift": 0,
    }
    _core.compare(*(numbers | changes).values())


CODES = {"actual": SMALL.astype(np.uint8), "golden": SMALL.astype(np.uint8)}
TABLE = {"is_nan": np.zeros(256, bool), "counts": np.zeros(1 << 17, np.uint64)}
READ_ONLY = np.zeros(8, np.int64)
READ_ONLY.flags.writeable = False

ERRORS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"actual": None}, DTypeError, "actual is None, expected a numpy.ndarray."),
    ({"actual": SMALL.astype(np.float16)}, DTypeError,
     "actual has dtype float16, expected the dtype of golden (float32). Convert it with "
     "actual.astype(golden.dtype)."),
    ({"golden": SMALL.astype(np.int8)}, DTypeError,
     "golden has dtype int8, expected uint8, float16, bfloat16, float32, float64, int16, uint16, "
     "int32, uint32, int64 or uint64."),
    ({"actual": SMALL[:7]}, ParamError, "actual has shape (7,), expected the shape of golden, (8,)."),
    ({"actual": SMALL.reshape(2, 4)}, ParamError, "actual is not contiguous and 1-dimensional."),
    ({"golden": np.zeros(16, np.float32)[::2]}, ParamError,
     "golden is not contiguous and 1-dimensional."),
    ({"first": 8}, ParamError, "first is 8, expected a multiple of 4096."),
    ({"first": -4096}, ParamError, f"first is -4096, expected 0 to {1 << 60}."),
    ({"columns": 0}, ParamError, f"columns is 0, expected 1 to {1 << 60}."),
    ({"row_shift": 63}, ParamError, "row_shift is 63, expected 0 to 62."),
    ({"column_shift": -1}, ParamError, "column_shift is -1, expected 0 to 62."),
    ({"first": 4096}, ParamError, "row_counts has 1 elements, expected 513."),
    ({"columns": 9}, ParamError, "column_counts has 8 elements, expected 9."),
    ({"column_counts": READ_ONLY}, ParamError, "column_counts is read-only."),
    ({"row_counts": np.zeros(1)}, DTypeError, "row_counts has dtype float64, expected int64."),
    ({"counts": np.zeros(35, np.uint64)}, ParamError, "counts has 35 elements, expected 36."),
    ({"sums": None}, DTypeError, "sums is None, expected a numpy.ndarray."),
    ({"sums": np.zeros(32)[::2]}, ParamError,
     "sums is not contiguous, aligned and 1-dimensional."),
    (CODES, DTypeError, "is_nan is None, expected a numpy.ndarray."),
    (CODES | TABLE | {"counts": np.zeros(36, np.uint64)}, ParamError,
     "counts has 36 elements, expected 131072."),
    ({"actual": np.zeros((1 << 24) + 1, np.int16), "golden": np.zeros((1 << 24) + 1, np.int16)},
     ParamError, "the size of actual is 16777217, expected 0 to 16777216."),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "error", "message"), ERRORS)
def test_errors(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call(**changes)
    assert str(caught.value) == f"compare: {message}"


def test_what_fits() -> None:
    call()
    call(**CODES, **TABLE)


PAIRS: dict[str, tuple[list[float], list[float]]] = {
    "saturated_actual": ([65504, 1], [1, 1]),
    "saturated_golden": ([1, 1], [-65504, 1]),
    "sign_flips": ([1, -1], [1, 1]),
    "rounded_to_zero": ([0, 1], [1, 1]),
    "zero_signs": ([0.0, 1], [-0.0, 1]),
    "nonfinite": ([np.inf, 1], [1, 1]),
    "first": ([1, 2], [1, 1]),
    "worst": ([2, 3], [1, 1]),
    "finite": ([np.nan, 1], [1, 1]),
    "count": ([1, 1, 1], [1, 1, 1]),
}


class TestMustFail:
    """Each metric moves when what it measures does, and the witness sees each that is wrong."""

    @pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(Metrics)])
    def test_every_metric_moves(self, name: str) -> None:
        actual, golden = PAIRS.get(name, ([1, 2], [1, 3]))
        ones = np.ones(2, np.float16)
        same = measured(ones, ones)[0]
        other = measured(np.array(actual, np.float16), np.array(golden, np.float16))[0]
        assert getattr(other, name) != getattr(same, name)

    @pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(Metrics)])
    def test_the_witness_sees_it(self, name: str) -> None:
        actual, golden = np.array([1, -2, 9, 0.5], np.float32), np.array([1, 3, 9.5, 0], np.float32)
        metrics = measured(actual, golden)[0]
        assert_measured(metrics, actual, golden)
        value = getattr(metrics, name)
        wrong: Any = value * (1 + 1e-9) if isinstance(value, float) else None
        if isinstance(value, int):
            wrong = value + 1
        elif isinstance(value, dict):
            wrong = {**value, next(iter(value), ("NaN", "inf")): 77}
        elif isinstance(value, tuple):
            wrong = (value[0], value[1] + 1)
        with pytest.raises(AssertionError):
            assert_measured(dataclasses.replace(metrics, **{name: wrong}), actual, golden)


def test_plain_data() -> None:
    actual = np.array([np.nan, 2.5, -np.inf], np.float32)
    metrics = measured(actual, np.array([1, 2, 3], np.float32))[0]
    data = json.loads(json.dumps(metrics.to_dict(), allow_nan=False))
    assert set(data) == {f.name for f in dataclasses.fields(Metrics)}
    assert data["nonfinite"] == {"NaN vs finite": 1, "-inf vs finite": 1}
    assert data["over_relative"] == {"0.01": 1, "0.005": 1, "0.001": 1, "0.0001": 1}
    assert data["golden_range"] == [1, 3]
    assert (data["max_abs"], data["first"], data["steps"][">=3"]) == (0.5, 0, 1)
    same = measured(actual[:1], actual[:1])[0].to_dict()
    assert (same["sqnr_db"], same["actual_range"], same["first"]) == ("inf", ["NaN", "NaN"], None)
