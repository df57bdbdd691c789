"""Tolerances over blocks, in which only what differs is computed: the same as over all elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from golden_files import npy, put
from numpy.typing import NDArray

from npu_quant.files import FileSource, load
from npu_quant.golden import compare, sources
from npu_quant.golden.elements import elements_of
from npu_quant.golden.judge import tolerance
from npu_quant.golden.judge.tolerance import Excess
from npu_quant.golden.sources import ArraySource

Array = NDArray[Any]


def by_definition(actual: Array, golden: Array, atol: float, rtol: float) -> Excess:
    """|actual - golden| <= atol + rtol |golden|, one element after another, in Python's floats."""
    beyond, greatest = 0, 0.0
    for a, g in zip(actual.reshape(-1).tolist(), golden.reshape(-1).tolist(), strict=True):
        a, g = float(a), float(g)
        if a == g or (a != a and g != g):
            continue
        if not np.isfinite(a - g):
            beyond, greatest = beyond + 1, np.inf
            continue
        allowed = atol + rtol * abs(g)
        beyond += abs(a - g) > allowed
        greatest = max(greatest, abs(a - g) / allowed if allowed else np.inf)
    return Excess(beyond, greatest)


def test_two_files_are_never_in_memory_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where an operator computes the golden; what differences look like is asked of parts."""
    a, g = np.zeros((2, 4096), np.int8), np.zeros((2, 4096), np.int8)
    a[1, 7], g[0, 9] = 3, 2
    files = [load(put(tmp_path / f"{i}.npy", npy(x))) for i, x in enumerate((a, g))]

    def fail(self: object) -> None:
        raise AssertionError("it was read as a whole")

    monkeypatch.setattr(FileSource, "array", fail)
    comparison = compare(*files, atol=1)
    assert comparison.outputs[0].metrics.mismatches == 2  # type: ignore[union-attr]
    assert "2 of 8,192 codes differ" in str(comparison)
    assert comparison._repr_html_()
    assert len(comparison.worst()) == 2
    assert compare(files[0], load(tmp_path / "0.npy")).rung == "identical"


def pair(dtype: Any, count: int, share: float, seed: int = 3) -> tuple[Array, Array]:
    """Return two arrays of random bits, of which a share differs, by few bits or by many."""
    rng = np.random.default_rng(seed)
    word = np.dtype(f"u{np.dtype(dtype).itemsize}")
    golden = rng.integers(0, 256, count * word.itemsize, np.uint8).view(word)
    few = rng.integers(1, 8, count).astype(word)
    many = rng.permutation(golden)
    wrong = np.where(rng.random(count) < 0.9, golden ^ few, many)
    actual = np.where(rng.random(count) < share, wrong, golden)
    if np.dtype(dtype) == bool:
        actual, golden = actual & 1, golden & 1
    return actual.view(dtype), golden.view(dtype)


DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int8, np.int32, np.uint16]
DTYPES += [ml_dtypes.float8_e4m3fn, np.bool_]


def excess_of(actual: Array, golden: Array, atol: float, rtol: float) -> Excess:
    return tolerance.excess_of(ArraySource(actual), ArraySource(golden), atol, rtol)


class TestExcess:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("share", [0, 0.01, 0.72, 1])
    def test_of_any_bits(self, dtype: Any, share: float) -> None:
        actual, golden = pair(dtype, 3000, share)
        for atol, rtol in ((0, 0), (0.01, 0), (0, 0.005), (2**-9, 2**-9), (1e30, 0)):
            found = excess_of(actual, golden, atol, rtol)
            assert found == by_definition(actual, golden, atol, rtol)

    def test_at_the_border_of_what_is_computed_at_a_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tolerance, "_AT_A_TIME", 7)
        for count in (0, 1, 6, 7, 8, 14, 15):
            for at in range(count):
                golden = np.full(count, 2.0, np.float32)
                actual = golden.copy()
                actual[at] = 3
                assert excess_of(actual, golden, 0, 0.5) == Excess(0, 1.0)
                assert excess_of(actual, golden, 0, 0.25) == Excess(1, 2.0)
            golden = np.arange(count, dtype=np.float16)
            assert excess_of(golden, golden.copy(), 0, 0) == Excess(0, 0.0)

    def test_other_bits_of_the_same_number(self) -> None:
        zeros = np.array([0.0, -0.0], np.float32)
        assert excess_of(zeros, zeros[::-1], 0, 0) == Excess(0, 0.0)
        nans = np.array([0x7FC00000, 0x7FC00001, 0xFFC00000], np.uint32).view(np.float32)
        assert excess_of(nans, np.roll(nans, 1), 0, 0) == Excess(0, 0.0)
        assert excess_of(nans, np.zeros(3, np.float32), 9, 9) == Excess(3, np.inf)

    def test_a_difference_beyond_float64_is_beyond_any_tolerance(self) -> None:
        golden = np.array([1.0, -1.7e308])
        assert excess_of(np.array([1.0, 1.7e308]), golden, 0, 1.5) == Excess(1, np.inf)
        assert excess_of(np.array([1.0, -1e308]), golden, 0, 1.5).beyond == 0

    def test_64_bit_integers_are_not_rounded(self) -> None:
        golden = np.array([2**62, 2**62, -(2**63)], np.int64)
        actual = golden + np.array([0, 3, 1])
        assert excess_of(actual, golden, 2.5, 0).beyond == 1
        assert excess_of(actual, golden, 3, 0) == Excess(0, 1.0)

    def test_any_strides_and_axes(self) -> None:
        golden = np.arange(24, dtype=np.float32).reshape(4, 6)
        actual = golden.copy()
        actual[1, 2] += 2
        actual[3, 5] += 1
        for a, g in ((actual, golden), (actual.T, golden.T), (actual[::2], golden[::2])):
            expected = by_definition(a, g, 1, 0)
            assert excess_of(a, g, 1, 0) == expected
        assert excess_of(actual, golden, 1, 0) == Excess(1, 2.0)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_of_files(self, tmp_path: Path, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sources, "BLOCK_BYTES", 400)
        monkeypatch.setattr(tolerance, "_AT_A_TIME", 64)
        actual, golden = pair(dtype, 1001, 0.3)
        files = put(tmp_path / "a.npy", npy(actual)), put(tmp_path / "g.npy", npy(golden))
        with load(files[0]) as a, load(files[1]) as g:
            found = tolerance.excess_of(a, g, 1e-3, 1e-3)
        assert found == by_definition(actual, golden, 1e-3, 1e-3)

    def test_what_is_equal_is_not_computed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a million elements five differ: the others are not widened."""
        widened = []
        own = type(elements_of(np.float16))
        wide = own.wide
        monkeypatch.setattr(own, "wide", lambda f, x: widened.append(x.size) or wide(f, x))
        golden = np.ones(1 << 20, np.float16)
        actual = golden.copy()
        actual[:: 1 << 18] = 2
        actual[-1] = 3
        source = ArraySource(actual), ArraySource(golden)
        assert tolerance.excess_of(*source, 1, 0) == Excess(1, 2.0)
        assert sum(widened) == 2 * 5
        assert max(widened) < 1 << 16
