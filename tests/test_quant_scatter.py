"""npu_quant_scatter and npu_quant_scatter_ by hand: every special row, and what in place means."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.quant_scatter import arguments
from conftest import DTYPES
from witnesses import Array

import npu_quant
from npu_quant import npu_quant_scatter, npu_quant_scatter_
from npu_quant._codes import row_of
from npu_quant.golden import compare
from npu_quant.ops.quant_scatter import reference

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
AT_0 = np.array([0], np.int32)


def codes(updates: Any, scales: Any, zeros: Any = None, to: str = "int8") -> Any:
    """Return the codes of one row, as bytes where they are no integers, by either operator."""
    new, row = np.array([[updates]], np.float16), row_of(to)
    scale = np.array(scales, np.float32)
    zero_points = np.array(zeros, np.int32) if isinstance(zeros, list) else zeros
    cache = np.zeros((1, 1, new.size), row.carrier)
    mode = "round" if to == "hifloat8" else "rint"
    given = (AT_0, new, scale, zero_points, -2, -1, "update", to, mode)
    y = npu_quant_scatter(cache, *given)
    assert not cache.view(np.uint8).any()
    assert npu_quant_scatter_(cache, *given) is cache
    assert cache.tobytes() == y.tobytes()
    return y[0, 0].tolist() if to == "int8" else y[0, 0].view(np.uint8).tolist()


def put(cache: Any, indices: Any, updates: Any, **others: Any) -> Any:
    """Return a cache of int8 with updates in it, whose scales are 1."""
    new = np.array(updates, np.float16)
    one = np.ones(new.shape[-1], np.float32)
    return npu_quant_scatter(np.array(cache, np.int8), np.array(indices), new, one, **others)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 19."""

    def test_the_example(self) -> None:
        cache, new = np.zeros((1, 3, 2), np.int8), np.array([[[1, -3]]], np.float16)
        scales, zero_points = np.array([0.5, 2], np.float32), np.array([0, 1], np.int32)
        y = npu_quant_scatter(cache, np.array([1]), new, scales, zero_points)
        assert y.tolist() == [[[0, 0], [2, 0], [0, 0]]]
        assert npu_quant_scatter(cache, np.array([1]), new, scales)[0, 1].tolist() == [2, -2]

    def test_a_tie_goes_to_even_after_the_sum(self) -> None:
        assert codes([1, -3, 1, 3], [2, 2, 2, 2], [1, 1, 1, 1]) == [2, 0, 2, 2]
        assert codes([1, -3, 1, 3], [2, 2, 2, 2]) == [0, -2, 0, 2]

    def test_nan_of_updates_scales_and_zero_points(self) -> None:
        zero_points = np.array([5, 5, np.nan], BFLOAT16)
        assert codes([np.nan, 1, 1], [1, np.nan, 1], zero_points) == [0, 0, 0]
        assert codes([np.nan, 1], [1, np.nan], to="float8_e4m3fn") == [0, 0]

    def test_infinite_updates(self) -> None:
        assert codes([np.inf, -np.inf, np.inf], [1, 1, -1]) == [127, -128, -128]
        assert codes([np.inf, -np.inf], [1, 1], to="float8_e5m2") == [0x7B, 0xFB]

    def test_beyond_the_codes(self) -> None:
        assert codes([128, -129, 1e4], [1, 1, 1e-3]) == [127, -128, 127]
        assert codes([500, -60000], [1, 1], to="float8_e4m3fn") == [0x7E, 0xFE]

    def test_hifloat8(self) -> None:
        assert codes([1, -1.5, 300, 0.1], [1, 1, 1, 1], to="hifloat8") == [8, 140, 96, 82]

    def test_scale_0(self) -> None:
        assert codes([1, -1, 0], [0, 0, 0], [9, 9, 9]) == [127, -128, 0]

    def test_infinite_scale(self) -> None:
        assert codes([1, -1, np.inf], [np.inf] * 3, [9, 9, 9]) == [9, 9, 0]

    def test_zero_points_beyond_2_to_24(self) -> None:
        assert codes([0, 0], [1, 1], [2**24 + 1, -(2**31)]) == [127, -128]
        # 2^24 + 1 is 2^24 in float32.
        assert codes([-(2.0**15)], [2.0**-9], [2**24 + 1]) == [0]

    def test_zero_points_of_bfloat16(self) -> None:
        assert codes([1, 1], [1, 1], np.array([1.5, -0.5], BFLOAT16)) == [2, 0]

    def test_scales_of_any_rank(self) -> None:
        for shape in ((4,), (1, 1, 4), (2, 2), (4, 1)):
            scales = np.array([1, 2, 4, 8], BFLOAT16).reshape(shape)
            assert codes([8, 8, 8, 8], scales.astype(np.float32)) == [8, 4, 2, 1]
            y = npu_quant_scatter(
                np.zeros((1, 1, 4), np.int8), AT_0, np.full((1, 1, 4), 8, np.float16), scales
            )
            assert y.tolist() == [[[8, 4, 2, 1]]]

    def test_the_later_of_two_counts(self) -> None:
        new = [[[1], [2]], [[3], [4]]]
        assert put(np.zeros((2, 3, 1)), [[0, 0], [0, 1]], new)[0].tolist() == [[1], [3], [4]]
        assert put(np.zeros((2, 3, 1)), [[0, 1], [0, 0]], new)[0].tolist() == [[3], [4], [2]]
        assert put(np.zeros((2, 3, 1)), [[1, 1], [1, 1]], new)[1].tolist() == [[0], [3], [4]]

    @pytest.mark.parametrize("index", [-1, 2, [[0, -1]], [[0, 2]], [[-1, 0]], [[1, 0]]])
    def test_an_index_beyond_self(self, index: Any) -> None:
        with pytest.raises(npu_quant.ParamError, match=r"indices\[0"):
            put(np.zeros((1, 3, 1)), np.array(index).reshape(np.shape(index) or 1), [[[1], [2]]])

    def test_updates_that_end_where_self_does(self) -> None:
        assert put(np.zeros((1, 3, 1)), [1], [[[1], [2]]])[0].tolist() == [[0], [1], [2]]

    def test_what_no_update_reaches(self) -> None:
        every = np.arange(256, dtype=np.uint8).reshape(2, 32, 4)
        for to in ("int8", "float8_e4m3fn", "float8_e5m2", "hifloat8"):
            a = arguments(np.random.default_rng(0), (2, 32, 4), DTYPES[0], to, length=1)
            a["self"], b = every.view(a["self"].dtype), a["indices"]
            y = npu_quant_scatter(**a).view(np.uint8)
            is_new = np.zeros(every.shape, bool)
            is_new[[0, 1], b] = True
            assert np.array_equal(y[~is_new], every[~is_new])

    def test_no_updates(self) -> None:
        cache = [[[1, 2], [3, 4]]]
        assert put(cache, np.zeros(0, np.int32), np.zeros((0, 1, 2))).tolist() == cache
        assert put(cache, np.zeros((0, 2), int), np.zeros((0, 2, 2))).tolist() == cache
        assert put(cache, [2], np.zeros((1, 0, 2))).tolist() == cache
        assert put(np.zeros((2, 0, 5)), [0, 0], np.zeros((2, 0, 5))).shape == (2, 0, 5)

    def test_an_axis_among_others(self) -> None:
        cache = np.zeros((2, 3, 2, 1))
        y = put(cache, [2, 0], [[[[1], [2]]], [[[3], [4]]]], axis=1)[..., 0]
        assert y.tolist() == [[[0, 0], [0, 0], [1, 2]], [[3, 4], [0, 0], [0, 0]]]
        y = put(cache, [[1, 1]], np.array([1, 2, 3]).reshape(1, 3, 1, 1), axis=-2)[..., 0]
        assert y.tolist() == [[[0, 0]] * 3, [[0, 1], [0, 2], [0, 3]]]


def by_loops(a: dict[str, Any]) -> Array:
    """Put element after element, each by a division and a sum of its own."""
    y, new, axis = a["self"].copy(), a["updates"], a["axis"] % a["self"].ndim
    scales, zeros = (
        None if a[name] is None else a[name].astype(np.float32).reshape(-1)
        for name in ("quant_scales", "quant_zero_points")
    )
    for at in np.ndindex(*new.shape):
        index = a["indices"][at[0]]
        b, p = index if np.ndim(index) else (at[0], index)
        place = [b, *at[1:]]
        place[axis] += p
        q = np.float32(new[at]) / scales[at[-1]]
        q = q if zeros is None else q + zeros[at[-1]]
        y[tuple(place)] = 0 if np.isnan(q) else np.int8(max(-128, min(127, np.rint(q))))
    return y


@pytest.mark.parametrize("form", ["each", "pairs"])
@pytest.mark.parametrize("shape", [(5, 4, 7), (4, 2, 5, 3), (3, 2, 2, 4, 3)])
def test_the_formula_against_a_loop(
    rng: np.random.Generator, shape: tuple[int, ...], form: str
) -> None:
    for axis in range(1, len(shape) - 1):
        for zeros in (None, np.dtype(np.int32), BFLOAT16):
            a = arguments(rng, shape, BFLOAT16, "int8", axis=axis, form=form, zeros=zeros)
            expected = by_loops(a)
            assert np.array_equal(reference(**a), expected)
            assert np.array_equal(npu_quant_scatter(**a), expected)


def test_codes_are_those_of_npu_quantize(rng: np.random.Generator) -> None:
    for to in ("int8", "float8_e4m3fn", "float8_e5m2", "hifloat8"):
        a = arguments(rng, (1, 300, 64), DTYPES[0], to, length=300)
        zeros, scales = a["quant_zero_points"], a["quant_scales"]
        y = npu_quant.npu_quantize(a["updates"], scales, zeros, to, axis=-1)
        assert npu_quant_scatter(**a).tobytes() == y.tobytes()


@pytest.mark.usefixtures("threads")
def test_the_later_counts_whatever_the_threads(rng: np.random.Generator) -> None:
    """All are put at one place, and all but the last of them take long, as NaN does."""
    a = arguments(rng, (400, 1, 8192), DTYPES[0], "int8", form="pairs", length=1)
    a["indices"][:] = [1, 0]
    a["updates"][:-15, :, ::16] = np.nan
    expected = reference(**a)[1]
    for n in (1, 2, 7):
        npu_quant.set_num_threads(n)
        for _ in range(20):
            assert np.array_equal(npu_quant_scatter_(**a)[1], expected)


def resident() -> int:
    """Return how much memory this process has."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def test_in_place_takes_the_memory_of_the_updates_alone() -> None:
    """A cache of 1 GiB of which a few rows are written."""
    cache = np.zeros((4, 1 << 21, 128), np.int8)
    new, at = np.ones((4, 1, 128), np.float16), np.arange(4) * 99_999
    before = resident()
    assert npu_quant_scatter_(cache, at, new, np.ones(128, np.float32)) is cache
    assert resident() - before < 64 << 20  # a large page or two for each row
    assert cache[np.arange(4), at].all()


def test_a_failed_call_has_written_nothing(rng: np.random.Generator) -> None:
    """The last index is wrong, and all others are fine."""
    a = arguments(rng, (50, 9, 70), BFLOAT16, "int8")
    a["indices"][-1] = 9
    before = a["self"].copy()
    with pytest.raises(npu_quant.ParamError, match=r"indices\[49\] is 9"):
        npu_quant_scatter_(**a)
    assert np.array_equal(a["self"], before)


def test_other_names_of_the_arguments() -> None:
    cache, new = np.zeros((2, 3, 4), np.int8), np.ones((2, 1, 4), np.float16)
    given = (cache, np.array([0, 1]), new, np.ones(4, np.float32))
    expected = npu_quant_scatter(*given)
    for others in ({"axis": 1}, {"quant_axis": 2}, {"round_mode": None}, {"dst_type": 1}):
        assert np.array_equal(npu_quant_scatter(*given, **others), expected)
    for dst_type in (258, "int8", np.int8):
        assert np.array_equal(npu_quant_scatter(*given, dst_type=dst_type), expected)


def test_comparison_names_places(rng: np.random.Generator) -> None:
    """Codes that no update reached are never explained by rounding; in place, self is left alone."""
    a = arguments(rng, (4, 5, 70), DTYPES[0], "int8", length=1)
    y, before = npu_quant_scatter(**a), a["self"].copy()
    for op in ("npu_quant_scatter", "npu_quant_scatter_"):
        assert compare(y.copy(), op=op, inputs=a).rung == "identical"
        wrong = y.copy()
        wrong[0, (a["indices"][0] + 1) % 5, 3] ^= 1
        comparison = compare(wrong, op=op, inputs=a)
        assert (comparison.rung, comparison.decisive.metrics.mismatches) == ("different", 1)
        assert np.array_equal(a["self"], before)


@pytest.mark.needs("torch")
def test_torch_knows_of_what_is_written() -> None:
    """No gradient goes by what was there before; tensors without versions are written all the same."""
    import torch

    arguments = (torch.tensor([0, 1]), torch.full((2, 1, 3), 5.0).half(), torch.ones(3))
    cache, x = torch.zeros(2, 4, 3, dtype=torch.int8), torch.ones(2, 4, 3, requires_grad=True)
    y = (x * cache).sum()
    npu_quant.npu_quant_scatter_(cache, *arguments)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    before = cache._version
    npu_quant.npu_quantize(x.detach()[0], torch.ones(1), None, torch.qint8, out=cache[0])
    assert cache._version > before
    with torch.inference_mode():
        other = torch.zeros(2, 4, 3, dtype=torch.int8)
        assert npu_quant.npu_quant_scatter_(other, *arguments).sum() == 30


def test_an_update_that_was_left_out_is_named_by_what_is_there(rng: np.random.Generator) -> None:
    """Not by another index, which would have put it elsewhere."""
    cache = rng.integers(-100, 100, (3, 20, 16)).astype(np.int8)
    updates = (rng.standard_normal((3, 4, 16)) * 9).astype(np.float16)
    inputs = {"self": cache, "indices": np.array([0, 5, 16]), "updates": updates}
    inputs["quant_scales"] = np.ones(16, np.float32)
    y = npu_quant_scatter(**inputs)
    y[2] = cache[2]
    (cause,) = compare(y, op="npu_quant_scatter", inputs=inputs).outputs[0].causes
    assert "the input self's" in str(cause)
