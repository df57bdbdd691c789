"""measure(): every metric from its definition, the same to the bit however it is computed."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from compare_witness import Array, assert_measured
from conftest import TARGETS

import npu_quant
from npu_quant import _core
from npu_quant.golden import sources
from npu_quant.golden.measure import metrics as metrics_module
from npu_quant.golden.measure.metrics import Positions, measure
from npu_quant.golden.results import Metrics
from npu_quant.golden.sources import ArraySource

CODES = ["int8", "uint8", "bool", "int4", "uint4", "float8_e4m3fn", "float8_e5m2"]
INTEGERS = ["int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
ALL = [*CODES, *INTEGERS, *FLOATS]
INF, NAN = math.inf, math.nan
CHUNK = 4096


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def of(actual: Any, golden: Any, dtype: str | np.dtype | None = None) -> Metrics:
    """Measure lists of a dtype, or arrays."""
    if dtype is not None:
        dtype = dtype_of(dtype) if isinstance(dtype, str) else dtype
        actual, golden = (np.array(x, dtype) for x in (actual, golden))
    return measure(ArraySource(actual), ArraySource(golden))[0]


def on_every_target(actual: Array, golden: Array) -> Metrics:
    """Measure on each; the witness is too slow to be asked each time."""
    before = _core.target()
    measured = []
    for target in TARGETS:
        assert _core.set_target(target)
        measured.append(of(actual, golden))
    _core.set_target(before)
    assert len({repr(metrics) for metrics in measured}) == 1
    return measured[0]


def positions_of(actual: Array, golden: Array) -> Positions:
    return measure(ArraySource(actual), ArraySource(golden))[1]


def random_bits(rng: np.random.Generator, count: int, dtype: np.dtype) -> Array:
    """Any bits: NaN and infinities of floats, too."""
    if dtype == np.bool_ or dtype.name in ("int4", "uint4"):
        return rng.integers(0, 2 if dtype == np.bool_ else 8, count).astype(dtype)
    return rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)


def ordinary(rng: np.random.Generator, count: int, dtype: np.dtype) -> Array:
    """Such numbers as operators give: finite, some at the limits, some zeros of both signs."""
    if dtype.name not in (*FLOATS, "float8_e4m3fn", "float8_e5m2"):
        return random_bits(rng, count, dtype)
    x = rng.standard_normal(count).astype(np.float32)
    x[rng.random(count) < 0.05] *= 0
    array = x.astype(dtype)
    most = ml_dtypes.finfo(dtype).max if dtype != np.float64 else 1e150  # squares would overflow
    array[rng.random(count) < 0.01] = most
    array[rng.random(count) < 0.01] = -most
    return array


def nearby(rng: np.random.Generator, golden: Array, share: float) -> Array:
    """A copy in which the lowest bits of a share of elements are others."""
    actual = golden.copy()
    if golden.dtype == np.bool_:
        return actual ^ (rng.random(golden.shape) < share)
    bits = actual.view(f"u{golden.dtype.itemsize}")
    where = rng.random(golden.shape) < share
    bits[where] ^= rng.integers(1, 8, int(where.sum())).astype(bits.dtype)
    return bits.view(golden.dtype)


class TestDefinitions:
    """Against the witness, on every target."""

    @pytest.mark.parametrize("share", [0, 0.001, 0.3, 1])
    @pytest.mark.parametrize("name", ALL)
    def test_ordinary_values(self, rng: np.random.Generator, name: str, share: float) -> None:
        golden = ordinary(rng, 2 * CHUNK + 77, dtype_of(name))
        actual = nearby(rng, golden, share)
        assert_measured(on_every_target(actual, golden), actual, golden)

    @pytest.mark.parametrize("name", ALL)
    def test_any_values(self, rng: np.random.Generator, name: str) -> None:
        """Of float64 such that squares stay within its range."""
        dtype = dtype_of(name)
        if name == "float64":
            dtype = np.dtype(np.float32)
        golden, actual = (random_bits(rng, 3000, dtype) for _ in range(2))
        actual[::7] = golden[::7]
        with np.errstate(invalid="ignore"):
            golden, actual = (x.astype(dtype_of(name)) for x in (golden, actual))
        assert_measured(on_every_target(actual, golden), actual, golden)

    @pytest.mark.parametrize("special", [NAN, INF, -INF])
    @pytest.mark.parametrize("name", [*FLOATS, "float8_e5m2"])
    def test_the_same_special_value_among_equals(
        self, rng: np.random.Generator, name: str, special: float
    ) -> None:
        golden = ordinary(rng, 1000, dtype_of(name))
        golden[300] = special
        actual = golden.copy()
        assert_measured(on_every_target(actual, golden), actual, golden)
        actual[999] = -golden[999]
        assert_measured(on_every_target(actual, golden), actual, golden)

    @pytest.mark.parametrize("name", FLOATS)
    def test_subnormals(self, rng: np.random.Generator, name: str) -> None:
        least = float(ml_dtypes.finfo(dtype_of(name)).smallest_subnormal)
        if name == "float64":
            least *= 2.0**600
        golden, actual = (
            (rng.integers(-9, 10, 500) * least).astype(dtype_of(name)) for _ in range(2)
        )
        assert_measured(on_every_target(actual, golden), actual, golden)

    @pytest.mark.parametrize("count", [0, 1, 7, 63, 64, 65, 129, CHUNK - 1, CHUNK + 1])
    @pytest.mark.parametrize("name", ["int8", "float8_e5m2", "uint16", "bfloat16", "int64"])
    def test_sizes(self, rng: np.random.Generator, name: str, count: int) -> None:
        golden = ordinary(rng, count, dtype_of(name))
        for share in (0, 0.1):
            actual = nearby(rng, golden, share)
            assert_measured(on_every_target(actual, golden), actual, golden)

    @pytest.mark.parametrize("name", ["int16", "float16", "float32", "float64"])
    def test_unaligned_and_swapped(self, rng: np.random.Generator, name: str) -> None:
        golden = ordinary(rng, 1000, dtype_of(name))
        actual = nearby(rng, golden, 0.1)
        raw = np.zeros(golden.nbytes + 1, np.uint8)
        raw[1:] = actual.view(np.uint8)
        unaligned = raw[1:].view(golden.dtype)
        assert not unaligned.flags.aligned
        plain = of(actual, golden)
        assert repr(of(unaligned, golden)) == repr(plain)
        swapped = golden.dtype.newbyteorder(">")
        assert repr(of(actual.astype(swapped), golden.astype(swapped))) == repr(plain)
        matrix = golden.reshape(25, 40).T
        assert repr(of(actual.reshape(25, 40).T, matrix)) == repr(
            of(np.ascontiguousarray(actual.reshape(25, 40).T), np.ascontiguousarray(matrix))
        )


class TestSameBits:
    """Targets, threads and blocks change nothing."""

    @pytest.mark.parametrize("name", ALL)
    @pytest.mark.usefixtures("threads")
    def test_of_everything(
        self, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        golden = ordinary(rng, 700_001, dtype_of(name)).reshape(-1, 1)
        actual = nearby(rng, golden.reshape(-1), 0.05).reshape(-1, 1)
        before, seen, places = _core.target(), set(), set()
        for target in TARGETS:
            assert _core.set_target(target)
            for threads, chunks in ((1, 512), (2, 512), (3, 37), (2, 1), (2, 160)):
                npu_quant.set_num_threads(threads)
                monkeypatch.setattr(sources, "BLOCK_BYTES", chunks * CHUNK * golden.itemsize)
                metrics, positions = measure(ArraySource(actual), ArraySource(golden))
                seen.add(repr(metrics))
                places.add(positions.row_counts.tobytes() + positions.column_counts.tobytes())
        _core.set_target(before)
        assert len(seen) == len(places) == 1

    def test_the_order_of_sums(self, rng: np.random.Generator) -> None:
        """Eight lanes of a chunk, the chunks one by one, as kernels/compare/compare.h has it."""
        golden = rng.standard_normal(3 * CHUNK + 50).astype(np.float32)
        actual = (golden * np.float32(1.001)).astype(np.float32)
        assert (actual != golden).all()
        total = np.float64(0)
        for begin in range(0, len(golden), CHUNK):
            d = np.abs(actual[begin:][:CHUNK].astype(float) - golden[begin:][:CHUNK])
            lanes = np.concatenate([d, np.zeros(-len(d) % 8)]).reshape(-1, 8)
            lane = lanes[0]
            for row in lanes[1:]:
                lane = lane + row
            a, b, c, d4, e, f, g, h = lane
            total += ((a + e) + (c + g)) + ((b + f) + (d4 + h))
        assert of(actual, golden).mean_abs == total / len(golden)


@pytest.mark.usefixtures("target")
class TestVectors:
    """By hand."""

    def test_int8_does_not_wrap(self) -> None:
        m = of([127, -128], [-128, 127], "int8")
        assert (m.max_abs, m.max_steps, m.over_one_step) == (255, 255, 2)
        assert (m.bias, m.step_bias, m.mean_abs, m.mean_steps) == (0, 0, 255, 255)
        assert m.steps == {"<=-3": 1, "-2": 0, "-1": 0, "0": 0, "+1": 0, "+2": 0, ">=3": 1}
        assert (m.sign_flips, m.saturated_actual, m.saturated_golden) == (2, 2, 2)

    @pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64"])
    def test_limits_of_signed_integers(self, name: str) -> None:
        most = int(np.iinfo(name).max)
        m = of([-most - 1, -most, -most + 1, 0, most - 1, most], [0] * 6, name)
        assert (m.saturated_actual, m.saturated_golden) == (3, 0)

    @pytest.mark.parametrize("name", ["uint8", "uint16", "uint32", "uint64"])
    def test_limits_of_unsigned_integers(self, name: str) -> None:
        most = int(np.iinfo(name).max)
        m = of([0, 1, most // 2, most // 2 + 1, most - 1, most], [1] * 6, name)
        assert (m.saturated_actual, m.saturated_golden) == (2, 0)

    @pytest.mark.parametrize("name", [*FLOATS, "float8_e5m2", "float8_e4m3fn"])
    def test_limits_of_floats(self, name: str) -> None:
        info = ml_dtypes.finfo(dtype_of(name))
        most, tiny = float(info.max), float(info.smallest_subnormal)
        m = of([most, -most, most / 2, tiny, -tiny, 0], [1, 1, 1, 1, 1, most], name)
        assert (m.saturated_actual, m.saturated_golden) == (2, 1)

    def test_uint8_and_bool(self) -> None:
        m = of([0, 255, 3], [255, 254, 3], "uint8")
        assert (m.max_abs, m.saturated_actual, m.rounded_to_zero) == (255, 2, 1)
        assert m.bias == (1 - 255) / 3
        m = of([True, False, True], [True, True, False], "bool")
        assert (m.mismatches, m.max_abs, m.bias, m.saturated_actual) == (2, 1, 0, 0)

    def test_int64_at_its_ends(self) -> None:
        low, high = -(2**63), 2**63 - 1
        m = of([low, high, 5], [high, low, 4], "int64")
        assert m.max_steps == 2**64 - 1
        assert m.max_abs == 2.0**64
        assert (m.steps["<=-3"], m.steps[">=3"], m.steps["+1"], m.sign_flips) == (1, 1, 1, 2)
        assert (m.worst, m.saturated_actual) == (0, 2)
        assert m.actual_range == (-(2.0**63), 2.0**63)

    def test_the_worst_is_exact_beyond_float64(self) -> None:
        """Both differences are 2**60 in float64."""
        m = of([0, 0], [2**60, 2**60 + 1], "int64")
        assert (m.first, m.worst, m.max_steps) == (0, 1, 2**60 + 1)
        m = of([2**64 - 1, 0], [0, 2**64 - 2], "uint64")
        assert (m.worst, m.max_steps, m.steps[">=3"], m.sign_flips) == (0, 2**64 - 1, 1, 0)

    @pytest.mark.parametrize("name", [*FLOATS, "float8_e5m2"])
    def test_nan_and_infinities(self, name: str) -> None:
        a = [NAN, 1, INF, INF, -INF, NAN, 2, -INF]
        g = [NAN, NAN, -INF, INF, 3, INF, 2, -INF]
        m = of(a, g, name)
        assert (m.mismatches, m.first, m.worst, m.finite) == (4, 1, 1, 1)
        pairs = {("finite", "NaN"): 1, ("inf", "-inf"): 1, ("-inf", "finite"): 1, ("NaN", "inf"): 1}
        assert m.nonfinite == pairs
        assert (m.max_abs, m.cosine, m.sqnr_db) == (0, 1, INF)
        assert (m.actual_range, m.golden_range) == ((1, 2), (2, 3))

    @pytest.mark.parametrize("name", [*FLOATS, "float8_e5m2", "float8_e4m3fn"])
    def test_one_nan_equals_another(self, name: str) -> None:
        dtype = dtype_of(name)
        nan = np.array([NAN, -NAN], dtype)
        assert nan[:1].tobytes() != nan[1:].tobytes()
        assert of(nan[:1], nan[1:]).mismatches == 0
        assert positions_of(nan[:1], nan[1:]).row_counts.sum() == 0

    @pytest.mark.parametrize("name", [*FLOATS, "float8_e5m2", "float8_e4m3fn"])
    def test_zeros_of_other_signs(self, name: str) -> None:
        m = of([1, 0.0, -0.0, 0.0], [1, -0.0, 0.0, 0.0], name)
        assert (m.mismatches, m.zero_signs, m.first, m.worst, m.max_steps) == (2, 2, 1, 1, 0)
        assert (m.steps["0"], m.sign_flips, m.sqnr_db) == (4, 0, INF)
        assert repr(m.actual_range) == "(0.0, 1.0)"

    @pytest.mark.parametrize("name", [*FLOATS, "float8_e5m2", "float8_e4m3fn"])
    def test_steps_between_neighbours(self, name: str) -> None:
        """Across zero, from the subnormals to the normals, and from binade to binade."""
        info = ml_dtypes.finfo(dtype_of(name))
        tiny, normal = float(info.smallest_subnormal), float(info.smallest_normal)
        pairs = [(-tiny, tiny), (0.0, tiny), (normal - tiny, normal)]
        pairs += [(2, 2 - float(info.eps)), (float(info.max), -float(info.max))]
        a, g = zip(*pairs, strict=True)
        m = of(a, g, name)
        assert m.steps == {"<=-3": 0, "-2": 1, "-1": 2, "0": 0, "+1": 1, "+2": 0, ">=3": 1}
        positive = 2 ** (8 * dtype_of(name).itemsize - 1)  # bit patterns without a sign
        above = {"float8_e4m3fn": 1, "float8_e5m2": 4}.get(name) or 2**info.nmant
        assert m.max_steps == 2 * (positive - above - 1)

    def test_relative_differences(self) -> None:
        """1e-7 is added to |golden|; limits are exceeded, not met."""
        m = of([1e-7, 0.0, 2.0], [0.0, 1e-7, 2.0], "float64")
        assert m.max_rel == 1
        assert m.mean_rel == (1 + 0.5) / 3
        for limit in metrics_module.RELATIVE_LIMITS:
            meets = limit * 1e-7
            while meets / 1e-7 > limit:
                meets = math.nextafter(meets, 0)
            exceeds = math.nextafter(meets, 1)
            m = of([meets, exceeds], [0, 0], "float64")
            assert meets / 1e-7 <= limit < exceeds / 1e-7
            assert m.over_relative[limit] == 1

    def test_decibels_and_cosine(self) -> None:
        m = of([11.0, 0], [10.0, 0], "float32")
        assert (m.sqnr_db, m.cosine) == (20, 1)
        assert m.psnr_db == pytest.approx(20 + 10 * math.log10(2), abs=1e-12)
        assert of([1.0, 0], [0, 1.0], "float32").cosine == 0
        assert of([1.0, -1], [-1.0, 1], "float32").cosine == pytest.approx(-1, abs=1e-15)
        assert of([0, 0], [0, 0], "int8").cosine == 1
        assert of([0, 0], [0, 1], "int8").cosine == 0
        assert of([0, 1], [0, 0], "int8").sqnr_db == -INF

    def test_beyond_what_float64_can_square(self) -> None:
        """Never a verdict by overflow: NaN is neither near 1 nor above a bound."""
        for a, g in ((1e200, 2e200), (1e-200, 2e-200), (-1e308, 1e308)):
            m = of([a, 1.0], [g, 1.0], "float64") if g < 1 else of([a], [g], "float64")
            assert m.mismatches == 1
            assert math.isnan(m.rmse)
            assert math.isnan(m.sqnr_db)
            assert math.isnan(m.psnr_db)
        assert of([-1e308], [1e308], "float64").max_abs == INF
        assert math.isnan(of([1e200], [-1e200], "float64").cosine)
        assert math.isnan(of([1e-200], [-1e-200], "float64").cosine)
        assert of([1e200], [1e200], "float64").cosine == 1

    def test_nothing(self) -> None:
        for shape in ((0,), (3, 0), (0, 4)):
            for name in ("int8", "float32"):
                empty = np.zeros(shape, name)
                m, positions = measure(ArraySource(empty), ArraySource(empty))
                assert (m.count, m.mismatches, m.first, m.worst) == (0, 0, None, None)
                assert (m.cosine, m.sqnr_db, m.rmse, m.mean_abs) == (1, INF, 0, 0)
                assert np.isnan(m.actual_range).all()
                assert positions.row_counts.sum() == positions.column_counts.sum() == 0

    def test_one_number(self) -> None:
        m, positions = measure(ArraySource(np.array(3.0)), ArraySource(np.array(4.0)))
        assert (m.count, m.bias) == (1, -1)
        assert positions.row_counts.tolist() == positions.column_counts.tolist() == [1]
