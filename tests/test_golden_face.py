"""What a user meets first of golden: arrays in files, numbers in lists, errors, short texts."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import npu_quant
from npu_quant import DTypeError, NpuQuantError, ParamError, golden
from npu_quant.testing import GoldenMismatch, GoldenRefused, assert_golden

X = np.array([[0.3, 1, -2, 4], [5, 2.6, 1.2, -3.4]], np.float16)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", X)
    return tmp_path / "x.npy"


class TestLoaded:
    def test_is_what_numpy_takes(self, file: Path) -> None:
        with golden.load(file) as source:
            assert np.asarray(source).dtype == np.float16
            np.testing.assert_array_equal(source, X)
            assert np.mean(source) == X.mean()
            assert np.asarray(source, np.float64).dtype == np.float64
            assert len(source) == 2
            with pytest.raises(ValueError, match="without a copy"):
                np.array(source, copy=False)

    def test_a_single_element_has_no_length(self, tmp_path: Path) -> None:
        np.save(tmp_path / "one.npy", np.float32(1))
        with golden.load(tmp_path / "one.npy") as source, pytest.raises(TypeError, match="axes"):
            len(source)

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="cannot be opened: No such file") as caught:
            golden.load(tmp_path / "none.npy")
        assert isinstance(caught.value, golden.FileError)
        assert caught.value.filename == str(tmp_path / "none.npy")
        copy = pickle.loads(pickle.dumps(caught.value))
        assert (str(copy), copy.path) == (str(caught.value), caught.value.path)


class TestLists:
    def test_of_numbers_are_arrays(self) -> None:
        assert golden.compare([1, 2, 3], np.array([1, 2, 3])).rung == "identical"
        assert golden.compare([[1.5], [2.5]], [[1.5], [2.5]]).rung == "identical"
        assert golden.compare(np.array([1.0, 2.0]), [1.0, 3.0]).decisive.metrics.mismatches == 1

    def test_of_arrays_are_outputs(self) -> None:
        both = golden.compare([X, X + 1], (X, X))
        assert [o.rung for o in both.outputs] == ["identical", "different"]

    def test_that_are_none(self) -> None:
        with pytest.raises(DTypeError, match="a list of numbers cannot be read as an array"):
            golden.compare([[1, 2], [3]], np.zeros((2, 2)))
        with pytest.raises(DTypeError):
            golden.compare(["a"], np.zeros(1))


class TestErrors:
    def test_have_one_base(self, tmp_path: Path) -> None:
        for error in (DTypeError, ParamError, golden.FileError, GoldenMismatch, GoldenRefused):
            assert issubclass(error, NpuQuantError)
        assert issubclass(GoldenMismatch, AssertionError)
        assert issubclass(GoldenRefused, ValueError)

    def test_a_comparison_that_proves_nothing_is_refused(self) -> None:
        with pytest.raises(GoldenRefused, match="same value everywhere"):
            assert_golden(np.zeros(5), np.zeros(5))


def test_golden_and_testing_are_listed() -> None:
    assert {"golden", "testing", "npu_quantize", "NpuQuantError"} <= set(dir(npu_quant))


def test_texts_of_objects_are_short() -> None:
    y = npu_quant.npu_dynamic_quant(X).y
    explanation = golden.explain(y, "npu_dynamic_quant", {"input": X})
    shown = [explanation, golden.compare(y, y), *golden.list_variants("npu_dynamic_quant")]
    assert max(len(repr(one)) for one in shown) < 200


@pytest.mark.parametrize("op", [*golden.list_variants(), None])
def test_formulas_at_a_prompt_are_a_table(op: str | None) -> None:
    """At most 40 lines of formulas, or a line for each operator, of at most 100 columns, from which
    no formula is dropped silently.
    """
    variants = golden.list_variants(op)
    lines = repr(variants).splitlines()
    assert len(lines) <= (40 if op else 1 + len(npu_quant.ops.__all__))
    assert max(map(len, lines)) <= 100
    assert str(len(variants)) in lines[0]
    shown = len(variants)
    if rest := re.fullmatch(r"\.\.\. and (\d+) more", lines[-1]):
        shown -= int(rest[1])
        lines.pop()
    for line, variant in zip(lines[1:], list(variants)[:shown], strict=True):
        assert getattr(variant, "name", variant) in line


def test_formulas_are_a_list_to_programs() -> None:
    variants = golden.list_variants("npu_dynamic_quant")
    assert isinstance(variants, list)
    assert variants == [*variants]
    assert repr(variants[:1]) == f"[{variants[0]!r}]"
    assert golden.list_variants()["npu_dynamic_quant"] == variants


def test_axis_and_progress() -> None:
    actual = np.zeros((4, 3, 64), np.float32)
    actual[:, 1] = 1
    seen: list[tuple[int, int]] = []
    comparison = golden.compare(
        actual,
        np.zeros_like(actual),
        axis=1,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert "axis 1" in str(comparison)
    assert seen[-1] == (768, 768)
    with pytest.raises(ParamError, match="axis is 3"):
        golden.compare(actual, actual, axis=3)
