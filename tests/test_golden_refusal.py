"""assert_golden cannot be made to pass by accident; each refusal has a twin that is none."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from npu_quant import npu_dynamic_quant
from npu_quant.golden import compare, load
from npu_quant.golden.judge.power import blind_spot, power_of
from npu_quant.golden.sources import ArraySource
from npu_quant.testing import GoldenMismatch, assert_golden

Array = NDArray[Any]
GOLDEN = np.arange(-60, 60, dtype=np.int8).reshape(6, 20)


def wrong(golden: Array, by: int = 1) -> Array:
    actual = golden.copy()
    actual.reshape(-1)[3] += by
    return actual


def refused(*arguments: Any, **more: Any) -> str:
    """Return why; a comparison tells the same, and passes."""
    with pytest.raises(ValueError, match="assert_golden refuses") as caught:
        assert_golden(*arguments, **more)
    assert not isinstance(caught.value, AssertionError)
    comparison = compare(*arguments, **more)
    assert comparison.passed
    assert str(caught.value) == f"assert_golden refuses: {comparison.refusal}"
    assert comparison.to_dict()["refusal"] == comparison.refusal
    return str(caught.value)


def test_what_proves_something_or_fails_has_no_refusal() -> None:
    assert compare(GOLDEN.copy(), GOLDEN).refusal is None
    assert compare(wrong(GOLDEN), GOLDEN).refusal is None
    same = np.full((2, 3), 7, np.int8)
    assert "the same value everywhere" in (compare(same.copy(), same).refusal or "")
    assert compare(same.copy(), same, allow_constant=True).refusal is None


class TestSameArray:
    def test_the_same_object(self) -> None:
        assert "the same array" in refused(GOLDEN, GOLDEN)
        assert assert_golden(GOLDEN, GOLDEN.copy()).rung == "identical"

    def test_a_view_of_all_of_it(self) -> None:
        assert "the same array" in refused(GOLDEN[:], GOLDEN)
        assert "the same array" in refused(GOLDEN.reshape(6, 20), GOLDEN)

    def test_axes_of_one_element(self) -> None:
        flat = np.arange(12.0)
        row = np.lib.stride_tricks.as_strided(flat, (1, 12), (0, 8))
        assert "the same array" in refused(flat.reshape(1, -1), row)

    def test_one_file_mapped_twice(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", GOLDEN)
        a, b = (np.load(tmp_path / "a.npy", mmap_mode="r") for _ in range(2))
        assert "the same array" in refused(a, b)
        assert assert_golden(a[:3], np.array(b[:3])).passed
        assert assert_golden(a, GOLDEN.copy()).passed

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_a_file_and_its_memory_map(self, tmp_path: Path, order: Any) -> None:
        path, other = tmp_path / "a.npy", tmp_path / "b.npy"
        for each in (path, other):
            np.save(each, np.asarray(GOLDEN, order=order))
        (tmp_path / "hard.npy").hardlink_to(path)
        (tmp_path / "soft.npy").symlink_to(path)
        mapped = np.load(path, mmap_mode="r")
        for name in ("a.npy", "hard.npy", "soft.npy"):
            assert "the same array" in refused(load(tmp_path / name), mapped)
            assert "the same array" in refused(mapped, load(tmp_path / name))
        assert "the same array" in refused(np.asarray(mapped)[:], load(path))
        assert assert_golden(load(other), mapped).passed
        assert assert_golden(np.load(other, mmap_mode="r"), load(path)).passed
        assert assert_golden(load(path), np.array(mapped)).passed

    def test_bytes_that_python_mapped(self, tmp_path: Path) -> None:
        path = tmp_path / "a.bin"
        path.write_bytes(GOLDEN.tobytes())
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        own = np.frombuffer(mapped, GOLDEN.dtype).reshape(GOLDEN.shape)
        bare = load(path, dtype=GOLDEN.dtype.name, shape=GOLDEN.shape)
        assert "the same array" in refused(bare, own)

    def test_one_object_that_is_read_twice(self) -> None:
        class Copies:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
                return GOLDEN.copy()

        thing = Copies()
        assert "the same object" in refused(thing, thing)
        assert "the same object" in refused((thing, GOLDEN.copy()), (thing, GOLDEN))
        assert assert_golden(Copies(), Copies()).passed
        assert assert_golden(3, 3).passed

    def test_another_part_of_it(self) -> None:
        both = np.concatenate([GOLDEN, GOLDEN])
        assert assert_golden(both[:6], both[6:]).rung == "identical"

    def test_one_output_of_several(self) -> None:
        other = GOLDEN + 1
        assert refused((GOLDEN, other), (GOLDEN.copy(), other), names=("y", "z")).startswith(
            "assert_golden refuses: z: "
        )

    def test_compare_measures_it(self) -> None:
        assert compare(GOLDEN, GOLDEN).passed


class TestEmpty:
    def test_no_elements(self) -> None:
        empty = np.empty((0, 4), np.int8)
        assert "empty" in refused(empty, empty.copy())
        assert compare(empty, empty.copy()).rung == "identical"

    def test_computed(self) -> None:
        x = np.empty((0, 16), np.float16)
        y, scale = npu_dynamic_quant(x)
        assert "empty" in refused((y, scale), op=npu_dynamic_quant, inputs={"input": x})


class TestConstant:
    @pytest.mark.parametrize("value", [0, 7])
    def test_one_value_only(self, value: int) -> None:
        golden = np.full((4, 4), value, np.int8)
        assert "the same value everywhere" in refused(golden.copy(), golden)
        assert assert_golden(golden.copy(), golden, allow_constant=True).passed
        golden[3, 3] += 1
        assert assert_golden(golden.copy(), golden).passed

    def test_nan_only(self) -> None:
        golden = np.full(8, np.nan, np.float32)
        assert "the same value everywhere" in refused(golden.copy(), golden)

    def test_one_element(self) -> None:
        assert assert_golden(np.array([3]), np.array([3])).passed
        assert assert_golden(np.float32(3), np.float32(3)).passed

    def test_beside_an_output_that_varies(self) -> None:
        x = np.tile(np.array([[127, 1, 2, 3]], np.float16), (3, 1))
        y, scale = npu_dynamic_quant(x)
        assert len(set(scale.tolist())) == 1
        result = (y.copy(), scale.copy())
        assert assert_golden(result, op=npu_dynamic_quant, inputs={"input": x}).passed

    def test_one_row_of_zeros(self) -> None:
        x = np.zeros((1, 64), np.float32)
        assert "the same value" in refused(
            npu_dynamic_quant(x), op=npu_dynamic_quant, inputs={"input": x}
        )

    def test_zeros_in_zeros_out(self) -> None:
        x = np.zeros((3, 8), np.float16)
        inputs = {"input": x}
        result = npu_dynamic_quant(x)
        assert "the same value" in refused(result, op=npu_dynamic_quant, inputs=inputs)
        assert assert_golden(
            result, op=npu_dynamic_quant, inputs=inputs, allow_constant=True
        ).passed

    def test_a_failure_outranks_it(self) -> None:
        golden = np.zeros((4, 4), np.int8)
        with pytest.raises(GoldenMismatch):
            assert_golden(wrong(golden), golden)

    def test_values_that_vary_late(self) -> None:
        golden = np.zeros(9 << 20, np.int8)  # more than a block
        assert "the same value" in refused(golden.copy(), golden)
        golden[-1] = 1
        assert assert_golden(golden.copy(), golden).passed


class TestTolerance:
    def test_that_takes_zeros(self) -> None:
        text = refused(wrong(GOLDEN), GOLDEN, atol=60)
        assert "all zeros: YES" in text
        assert assert_golden(wrong(GOLDEN), GOLDEN, atol=1).rung == "tolerated"

    def test_that_takes_any_truth_value(self) -> None:
        golden = np.arange(64) % 3 > 0
        assert "all zeros: YES" in refused(~golden, golden, atol=1)
        assert "all zeros: YES" in refused(~golden, golden, preset="off_by_one")

    def test_zeros_at_the_beginning_do_not_hide_it(self) -> None:
        golden = np.zeros((4096, 1024), np.int8)
        golden[512:] = np.arange(1024) % 100
        assert "all zeros: YES" in refused(np.zeros_like(golden), golden, atol=127)

    def test_data_that_repeat_do_not_hide_it(self) -> None:
        half = np.random.default_rng(1).uniform(0.5, 1, (128, 64)).astype(np.float32)
        golden = np.tile(half, (2, 1))
        assert "shuffled rows: YES" in refused(np.ones_like(golden), golden, atol=0.5, rtol=0.2)
        alike = np.tile(half[:1], (256, 1))
        assert "shuffled rows: YES" in refused(np.ones_like(alike), alike, atol=0.5, rtol=0.2)

    def test_that_takes_any_order(self) -> None:
        """Values of 100 to 103: zeros are beyond atol=5, a shuffle is not."""
        golden = np.tile(np.arange(100, 104, dtype=np.int8), 5).reshape(4, 5)
        text = refused(wrong(golden), golden, atol=5)
        assert "all zeros: no · shuffled rows: YES" in text

    def test_rtol_that_takes_all(self) -> None:
        assert "all zeros: YES" in refused(wrong(GOLDEN), GOLDEN, rtol=100)
        assert "all zeros: YES" in refused(GOLDEN.copy(), GOLDEN, rtol=1)

    def test_presets(self) -> None:
        near_zero = np.tile(np.array([0, 1, -1, 0], np.int8), 6).reshape(6, 4)
        assert "all zeros: YES" in refused(near_zero.copy(), near_zero, preset="off_by_one")
        assert assert_golden(wrong(GOLDEN), GOLDEN, preset="off_by_one").passed

    def test_one_for_codes_and_scales(self) -> None:
        x = (np.arange(1, 257) / 8).astype(np.float16).reshape(4, 64)
        y, scale = npu_dynamic_quant(x)
        more: dict[str, Any] = {"op": "npu_dynamic_quant", "inputs": {"input": x}}
        assert "scale: atol=1" in refused((wrong(y), scale.copy()), **more, atol=1)
        assert assert_golden((wrong(y, 2), scale.copy()), **more, atol={"y": 2}).passed

    def test_a_failure_outranks_it(self) -> None:
        with pytest.raises(GoldenMismatch):
            assert_golden(wrong(GOLDEN, 90), GOLDEN, atol=60)

    def test_compare_measures_it(self) -> None:
        comparison = compare(wrong(GOLDEN), GOLDEN, atol=60)
        assert comparison.rung == "tolerated"
        assert comparison.outputs[0].tolerance is not None
        assert comparison.outputs[0].tolerance.power["all zeros"]


class TestProbes:
    def test_what_is_tried(self) -> None:
        seen: list[Array] = []
        golden = np.array([[1, 2, 3], [4, 5, 100]], np.int8)
        power_of(ArraySource(golden), lambda a, g: bool(seen.append(a.array())))
        assert [a.tolist() for a in seen] == [
            [[0, 0, 0], [0, 0, 0]],
            [[4, 5, 100], [1, 2, 3]],
            [[1, 2, 3], [4, 5, 101]],
        ]

    def test_one_row_is_shuffled_in_itself(self) -> None:
        seen: list[Array] = []
        golden = np.array([1, 2, 3, 4], np.float32)
        power_of(ArraySource(golden), lambda a, g: bool(seen.append(a.array())))
        assert seen[1].tolist() == [[2, 3, 4, 1]]

    def test_probes_that_change_nothing_are_left_out(self) -> None:
        golden = ArraySource(np.zeros((2, 3), np.int8))
        assert power_of(golden, lambda a, g: True) == {}
        same_rows = ArraySource(np.ones((2, 3), np.int8))
        assert power_of(same_rows, lambda a, g: True) == {"all zeros": True}
        booleans = power_of(ArraySource(np.array([True, False])), lambda a, g: True)
        assert booleans == {"all zeros": True, "shuffled rows": True}
        assert power_of(ArraySource(np.empty((0, 3))), lambda a, g: True) == {}
        assert power_of(ArraySource(np.empty((3, 0))), lambda a, g: True) == {}

    def test_what_is_not_finite_stays(self) -> None:
        golden = np.array([[np.nan, 1, np.inf, 2]], np.float32)
        seen: list[Array] = []
        power_of(ArraySource(golden), lambda a, g: bool(seen.append(a.array())))
        assert np.array_equal(seen[0], [[np.nan, 0, np.inf, 0]], equal_nan=True)

    def test_large_arrays_are_sampled(self) -> None:
        golden = ArraySource(np.arange(1 << 20, dtype=np.int32).reshape(-1, 4))
        sizes: list[int] = []
        power_of(golden, lambda a, g: bool(sizes.append(a.array().size)))
        assert sizes == [1 << 18] * 3
        one_row = ArraySource(np.arange(1 << 20, dtype=np.int32))
        power_of(one_row, lambda a, g: bool(sizes.append(a.array().size)))
        assert sizes[3:] == [1 << 18] * 3


def test_the_blind_spot_is_the_least_change_of_a_scale_that_shows() -> None:
    """Row [127, 10.25]: 10.25 is 0.25 from the tie 10.5: 0.25 / 10.25 = 2.4 %; 127 is nearer."""
    from npu_quant.golden.operators import model_of

    x = np.array([[127, 10.25], [127, 0]], np.float32)
    model = model_of("npu_dynamic_quant", {"input": x})
    y = model.golden()[0]
    assert y is not None
    spot = blind_spot(model, 0, ArraySource(y))
    assert spot is not None
    first, second = 0.5 / 127, 0.5 / 127
    assert spot.greatest == pytest.approx(max(first, second))
    assert spot.median == pytest.approx(first)
    # 10.5 + 2^-18 is 4 ulp from the tie: rounding may move that, so it shows nothing.
    x = np.array([[127, 10.5 + 2**-18]], np.float32)
    model = model_of("npu_dynamic_quant", {"input": x})
    y = model.golden()[0]
    assert y is not None
    spot = blind_spot(model, 0, ArraySource(y))
    assert spot is not None
    assert spot.median == pytest.approx(0.5 / 127)
