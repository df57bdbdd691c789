"""Beside each true cause what looks like it, and is none: nothing is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from planted import devices
from planted.faults import codes, moved, negated
from planted.places import swapped
from test_golden_causes import said
from test_golden_formats import in_int8

from npu_quant.golden import compare
from npu_quant.golden.measure.parts import some_of

Array = NDArray[Any]
F32 = np.float32
Shape = tuple[int, ...]
SHAPES = [(64, 64), (256, 1000), (3, 5), (1, 4096), (4096, 2), (8, 16, 64), (300,), (16, 8)]
KINDS: dict[str, Callable[[np.random.Generator, Shape], Array]] = {
    "normal int8": lambda rng, shape: in_int8(rng.standard_normal(shape) * 30),
    "few codes": lambda rng, shape: rng.integers(0, 3, shape).astype(np.uint8),
    "zero or one": lambda rng, shape: (rng.random(shape) < 0.03).astype(np.int8),
    "int4": lambda rng, shape: np.clip(in_int8(rng.standard_normal(shape) * 2), -7, 7),
    "bool": lambda rng, shape: rng.random(shape) < 0.5,
    "e4m3": lambda rng, shape: rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn),
    "bfloat16": lambda rng, shape: rng.standard_normal(shape).astype(ml_dtypes.bfloat16),
    "float32": lambda rng, shape: rng.standard_normal(shape).astype(F32),
    "scales": lambda rng, shape: np.abs(rng.standard_normal(shape)).astype(F32) + F32(3),
    "steps": lambda rng, shape: np.sort(rng.integers(-9, 9, shape)).astype(np.int8),
}


def random_pairs() -> Iterator[tuple[str, Array, Array]]:
    """Yield arrays that have nothing to do with each other, of many kinds, none of one value."""
    rng = np.random.default_rng(11)
    for shape in SHAPES:
        for name, make in KINDS.items():
            actual, golden = make(rng, shape), make(rng, shape)
            if np.any(actual != actual.reshape(-1)[0]):
                yield f"{name} {shape}", actual, golden


def test_unrelated_arrays() -> None:
    for name, actual, golden in random_pairs():
        found = said(compare(actual, golden))
        assert found == "" or found.startswith("another input's"), name


@pytest.mark.parametrize("share", [1e-4, 0.003, 0.03, 0.3])
def test_elements_at_random(share: float) -> None:
    rng = np.random.default_rng(12)
    for name, other, golden in random_pairs():
        wrong = rng.random(golden.shape) < share
        assert said(compare(np.where(wrong, other, golden), golden)) == "", name


@pytest.mark.parametrize("share", [1e-4, 0.003, 0.03, 0.3, 1])
def test_steps_at_random(share: float) -> None:
    rng = np.random.default_rng(13)
    golden = rng.integers(-120, 120, (500, 300)).astype(np.int8)
    up = rng.integers(0, 2, golden.shape) * 2 - 1
    actual = (golden + up * (rng.random(golden.shape) < share)).astype(np.int8)
    comparison = compare(actual, golden)
    assert said(comparison) == ""
    assert comparison.where is not None
    assert comparison.where.concentrations == ()


def test_a_step_away_from_zero_is_no_factor() -> None:
    """One that is 1 would give as much, for numbers that may all have been ties."""
    rng = np.random.default_rng(21)
    golden = rng.integers(-120, 120, (64, 300)).astype(np.int8)
    up = np.sign(golden) * (rng.random(golden.shape) < 0.3)
    assert said(compare((golden + up).astype(np.int8), golden)) == ""


def test_another_function_is_no_factor() -> None:
    """Truncation and halves away from zero: codes lie as a factor on some would have them."""
    own, golden = devices.int8(), devices.two_int8().golden["y"]
    for other in (np.trunc(own.v), np.floor(own.v), np.ceil(own.v), np.rint(own.v * 0.5) * 2):
        actual = np.clip(other, -128, 127).astype(np.int8)
        assert said(compare(actual, golden)) == ""
        assert said(own.compare({"y": actual})) == ""


def test_a_symmetric_golden_has_no_swapped_axes() -> None:
    """Not even where none of the rows that are looked at is wrong."""
    rng = np.random.default_rng(14)
    half = rng.integers(-50, 50, (2048, 2048))
    golden = (half + half.T).astype(np.int8)
    actual = golden.copy()
    actual[np.setdiff1d(np.arange(2048), some_of(2048))[::8]] ^= 5
    assert said(compare(actual, golden)) == "bits 0, 2 (0x5) are flipped in what differs"


def test_a_greater_share_is_not_taken_away() -> None:
    """A tenth of what is left differs: it is not only what the detectors look for."""
    own, rng = devices.two_int8(), np.random.default_rng(15)
    for fault in (codes(swapped, np.s_[3:10:6]), codes(moved(1), 5), codes(negated)):
        actual = fault(own)["y"]
        wrong = rng.random(actual.shape) < 0.1
        actual[wrong] = rng.integers(-127, 128, np.count_nonzero(wrong))
        assert said(compare(actual, own.golden["y"])) == ""


def test_positive_numbers_are_no_other_input() -> None:
    rng = np.random.default_rng(16)
    golden, actual = (np.abs(rng.standard_normal((64, 256))).astype(F32) for _ in range(2))
    assert said(compare(actual, golden)) == ""
    outlier = golden.copy()
    outlier[3, 3] = 1e30  # the cosine is 0
    assert said(compare(outlier, golden)) == ""
    noise = outlier * rng.uniform(0.5, 1.5, golden.shape).astype(F32)
    assert said(compare(noise, golden)) == ""


@pytest.mark.parametrize("places", [slice(17, 18), slice(64, 128), slice(None)])
def test_scales_two_steps_off_beside_right_codes(places: slice) -> None:
    """That is more than rounding explains, and like nothing."""
    own = devices.int8()
    scale = own.outputs["scale"].copy()
    scale[places] = np.nextafter(np.nextafter(scale[places], F32(9)), F32(9))
    comparison = own.compare({"scale": scale})
    assert not comparison.passed
    assert said(comparison) == ""


def test_a_few_wrong_scales_of_different_factors() -> None:
    own = devices.int8()
    for factors in ([1.03, 1.04], [np.nan, 1.03], [1, 1.03, -1.03]):
        scale = own.outputs["scale"].copy()
        scale[17 : 17 + len(factors)] *= np.array(factors, F32)
        assert said(own.compare({"scale": scale})) == ""


def test_runs_of_a_value_have_nothing_added() -> None:
    golden = np.repeat(np.arange(8, dtype=np.int8), 128)[None].repeat(64, 0)
    actual = golden.copy()
    actual[5, 120:392] += 1
    actual[5, 130] += 3
    assert said(compare(actual, golden)) == ""


def test_what_has_no_sign_has_none_flipped() -> None:
    golden = np.random.default_rng(17).integers(1, 256, (64, 256), np.uint8)
    actual = golden * 0
    actual[::16, ::16] = 1
    assert said(compare(actual, golden)) == ""


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_no_factor(value: float) -> None:
    golden = np.random.default_rng(18).standard_normal((64, 128)).astype(F32)
    actual = golden.copy()
    actual[7] = value
    named = "NaN" if value != value else str(value)
    assert said(compare(actual, golden)) == f"row 7 is {named} everywhere"
    everywhere = said(compare(np.full_like(golden, value), golden))
    assert everywhere == f"actual is {named} everywhere"
    half = np.where(np.arange(128) % 2, value, golden).astype(F32)
    assert said(compare(half, golden)) == ""


def test_an_infinite_golden_is_near_nothing() -> None:
    golden = np.random.default_rng(20).standard_normal((64, 128)).astype(F32)
    golden[7] = np.inf
    actual = golden.copy()
    actual[7] = 0
    never = "row 7 is 0 everywhere: was it ever written?"
    assert said(compare(actual, golden)) == never


def test_integers_are_told_in_full() -> None:
    golden = np.random.default_rng(19).integers(-9, 9, (64, 128), np.int32)
    more = said(compare(golden + np.int32(123456789), golden))
    assert more == "123456789 is added everywhere"
    one = said(compare(np.full_like(golden, 123456789), golden))
    assert one == "actual is 123456789 everywhere"
