"""Formats of elements: their neighbours, the ties between them, and codes of numbers."""

from __future__ import annotations

import re
import zlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from npu_quant import DTypeError
from npu_quant._codes import int4_of
from npu_quant.golden.elements import elements_of, whole
from npu_quant.golden.measure.metrics import measure
from npu_quant.golden.operators.arithmetic import compiled, hybrid, roundings
from npu_quant.golden.sources import ArraySource

E4M3 = ml_dtypes.float8_e4m3fn
WHOLE = ["int8", "uint8", "int32", ml_dtypes.int4]
EVERY = np.arange(256, dtype=np.uint8)
FLOATS = [E4M3, ml_dtypes.float8_e5m2, np.float16, ml_dtypes.bfloat16]


def in_order(dtype: Any) -> Any:
    """Return all finite values of a float format of up to 16 bits, 0 once."""
    size = np.dtype(dtype).itemsize
    values = np.arange(1 << (8 * size)).astype(f"u{size}").view(dtype)
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    keep = np.isfinite(wide) & ~((wide == 0) & np.signbit(wide))
    return values[keep][np.argsort(wide[keep], kind="stable")]


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: np.dtype(d).name)
class TestFloats:
    def test_neighbours_are_the_next_values(self, dtype: Any) -> None:
        values = in_order(dtype)
        wide = values.astype(np.float64)
        below, above = elements_of(dtype).neighbours(values)
        assert (below == [wide[0], *wide[:-1]]).all()
        assert (above == [*wide[1:], wide[-1]]).all()

    def test_ties_are_where_conversion_changes(self, dtype: Any) -> None:
        values = in_order(dtype)
        own = elements_of(dtype)
        low, high = own.ties(values)
        wide = values.astype(np.float64)
        assert (low[1:] == (wide[1:] + wide[:-1]) / 2).all()
        assert (high[:-1] == low[1:]).all()
        assert (low[0], high[-1]) == (-np.inf, np.inf)
        inside = np.float32(np.nextafter(np.float32(low[1:]), np.float32(np.inf)))
        assert (own.nearest(inside.astype(np.float64)) == values[1:]).all()

    def test_steps_are_counted_in_their_order(self, dtype: Any) -> None:
        values = in_order(dtype)
        own = elements_of(dtype)
        assert (own.steps(values[1:], values[:-1]) == 1).all()
        assert own.steps(values[:1], values[-1:]) == len(values) - 1
        assert own.steps(-values[:1] * 0, values[:1] * 0) == 0
        assert own.steps(np.array([np.nan], dtype), values[:1]) == np.inf


def test_e4m3_ends_at_448() -> None:
    own = elements_of(E4M3)
    assert own.limits == (-448, 448)
    top = np.array([448, 416, 2.0**-9], E4M3)
    below, above = own.neighbours(top)
    assert (below.tolist(), above.tolist()) == ([416, 384, 0], [448, 448, 2.0**-8])
    test = own.tie(np.array([430.0]), top[:1], top[1:2])
    assert (test.tie, test.steps, test.magnitude) == (432, 1, 432)


# The greatest code and number, the least number above 0, how many are finite, and CRC-32 of the
# codes of all bfloat16 and of all float16 in order, the same as the kernels' encoders give.
KNOWN = {
    "float8_e4m3fn": (0x7E, 448, 2.0**-9, 253, 0x022BEF13, 0x7AE2B0C5),
    "float8_e5m2": (0x7B, 57344, 2.0**-16, 247, 0x25C6ABA9, 0x99292C69),
    "hifloat8": (0x6E, 32768, 2.0**-22, 253, 0x49B66694, 0xDFA6C0C4),
}


@pytest.mark.parametrize("name", KNOWN)
class TestOfOneByte:
    """What codes stand for, which for hifloat8 is not in the order of the codes."""

    def test_values(self, name: str) -> None:
        own = elements_of(name)
        top, greatest, least, finite, *_ = KNOWN[name]
        values = own.values(EVERY.view(own.carrier))
        assert values[[top, 1, 0]].tolist() == [greatest, least, 0]
        assert own.limits == (-greatest, greatest)
        assert len(np.unique(values[np.isfinite(values)])) == finite
        assert values[values > 0].min() == least
        assert (values[129:] == -values[1:128])[np.isfinite(values[129:])].all()
        if name == "hifloat8":
            assert np.isnan(values[0x80])
            assert (values[0x6F], values[0xEF]) == (np.inf, -np.inf)
            own_order = HIFLOAT8_ASCENDING.split()
            assert (np.diff(values[[int(code, 16) for code in own_order]]) > 0).all()
        else:
            theirs = EVERY.view(own.carrier).astype(np.float64)
            assert np.array_equal(values, theirs, equal_nan=True)
            assert np.signbit(values[0x80])

    def test_what_is_encoded_comes_back(self, name: str) -> None:
        own = elements_of(name)
        values = own.values(EVERY.view(own.carrier))
        finite = np.isfinite(values)
        assert (own.nearest(values[finite]).view(np.uint8) == EVERY[finite]).all()
        beyond = own.nearest(np.array([np.inf, -np.inf, np.nan, 1e9])).view(np.uint8)
        top = KNOWN[name][0]
        assert beyond.tolist() == [top, top | 0x80, 0, top]

    def test_all_of_16_bits(self, name: str) -> None:
        own = elements_of(name)
        for dtype, crc in zip((ml_dtypes.bfloat16, np.float16), KNOWN[name][4:], strict=True):
            with np.errstate(invalid="ignore"):
                numbers = np.arange(1 << 16).astype(np.uint16).view(dtype).astype(np.float64)
            assert zlib.crc32(own.nearest(numbers).tobytes()) == crc
            # The same in two steps, as formulas have it: rounded, then looked up.
            with np.errstate(invalid="ignore"):
                rounded = own.rounding(np.rint)(numbers.astype(np.float32))
                assert zlib.crc32(own.codes(rounded).tobytes()) == crc

    def test_neighbours_middles_and_steps(self, name: str) -> None:
        own = elements_of(name)
        table = own.values(EVERY.view(own.carrier))
        codes = EVERY[np.isfinite(table)].view(own.carrier)
        ordered = np.unique(own.values(codes))
        below, above = own.neighbours(codes)
        low, high = own.ties(codes)
        for code, value in enumerate(own.values(codes)):
            i = int(np.flatnonzero(ordered == value)[0])
            under, over = ordered[max(i - 1, 0)], ordered[min(i + 1, len(ordered) - 1)]
            assert (below[code], above[code]) == (under, over)
            assert low[code] == ((under + value) / 2 if i else -np.inf)
            assert high[code] == ((over + value) / 2 if i + 1 < len(ordered) else np.inf)
            steps = own.steps(codes, np.full_like(codes, codes[code]))
            assert (steps == np.abs(np.searchsorted(ordered, own.values(codes)) - i)).all()

    def test_they_are_measured_by_value(self, name: str) -> None:
        own = elements_of(name)
        before = own.neighbours(own.nearest(np.ones(1)))[0][0]
        codes = own.nearest(np.array([0.5, before, 1, -16, 15, 0, -0.0]))
        golden = own.nearest(np.array([0.5, 1, before, 16, 14, -0.0, 0]))
        found = measure(ArraySource(codes), ArraySource(golden), own)[0]
        assert (found.steps["-1"], found.steps["+1"]) == (1, 2)
        assert (found.max_abs, found.sign_flips) == (32, 1)
        assert found.max_steps == own.steps(codes[3:4], golden[3:4])
        assert found.mismatches == (4 if name == "hifloat8" else 6)  # it has no -0


HIFLOAT8_ASCENDING = (
    "00 01 02 03 04 05 06 07 7E 7F 7C 7D 7A 7B 78 79 76 77 74 75 72 73 70 71 5C 5D 5E 5F 58 59 5A "
    "5B 54 55 56 57 50 51 52 53 38 39 3A 3B 3C 3D 3E 3F 30 31 32 33 34 35 36 37 18 19 1A 1B 1C 1D "
    "1E 1F 08 09 0A 0B 0C 0D 0E 0F 10 11 12 13 14 15 16 17 20 21 22 23 24 25 26 27 28 29 2A 2B 2C "
    "2D 2E 2F 40 41 42 43 44 45 46 47 48 49 4A 4B 4C 4D 4E 4F 60 61 62 63 64 65 66 67 68 69 6A 6B "
    "6C 6D 6E 6F"
)


def test_what_is_not_saturated() -> None:
    """As ml_dtypes casts; of hifloat8 the CRC-32 of all bfloat16 is known."""
    with np.errstate(all="ignore"):
        numbers = (np.arange(1 << 16).astype(np.uint32) << 16).view(np.float32)
        for dtype in (E4M3, ml_dtypes.float8_e5m2):
            own = elements_of(dtype)
            theirs = numbers.astype(dtype)
            ours = own.codes(own.rounding(np.rint)(numbers), -np.inf)
            is_number = ~np.isnan(theirs)
            assert (np.isnan(ours) == ~is_number).all()
            assert (ours.view(np.uint8) == theirs.view(np.uint8))[is_number].all()
        own = elements_of("hifloat8")
        ours = own.codes(own.rounding(np.rint)(numbers), -np.inf)
    assert zlib.crc32(ours.tobytes()) == 0x8AD58D05


def test_hybrid_rounding() -> None:
    """Its CRC-32, not saturated and saturated, of numbers all of whose last bits differ."""
    own = elements_of("hifloat8")
    high = np.arange(1 << 16, dtype=np.uint32)
    numbers = (high << 16 | (high * 40503 & 0xFFFF)).view(np.float32)
    with np.errstate(all="ignore"):
        rounded = own.rounding(np.rint)(hybrid(numbers))
        assert zlib.crc32(own.codes(rounded, -np.inf).tobytes()) == 0x28D96E07
        assert zlib.crc32(own.codes(rounded).tobytes()) == 0x7BB7FDEB


def test_ties_between_codes_that_are_several_steps_apart() -> None:
    """The one beside the actual code, on the golden one's side."""
    own = elements_of(E4M3)
    codes = np.array([16, 20, 20, 16, 18], E4M3)
    golden = np.array([20, 16, 18, 16, -0.0], E4M3)
    test = own.tie(np.zeros(5), codes, golden)
    assert test.tie.tolist() == [17, 19, 19, 16, 17]
    assert test.steps.tolist() == [2, 2, 1, 0, 89]
    zeros = own.tie(np.array([3.0]), np.array([-0.0], E4M3), np.array([0.0], E4M3))
    assert (zeros.value, zeros.tie, zeros.steps) == (0, 0, 1)
    far = np.array([2**26, 2**26 + 8], np.int32)  # a step of float32 apart
    assert elements_of("i4").tie(np.zeros(1), far[1:], far[:1]).tie == 2**26 + 4
    none = own.tie(np.array([3.0]), codes[:1], np.array([np.nan], E4M3))
    assert (np.isnan(none.tie).all(), none.steps) == (True, np.inf)


def test_hifloat8_by_hand() -> None:
    own = elements_of("hifloat8")
    numbers = [32768, 1.0625, 1.1875, 7.75, 18, -240, 2.0**-23, -(2.0**-24), 0.97, 14]
    assert own.nearest(np.array(numbers)).tobytes().hex(" ") == "6e 09 0a 28 41 e0 01 00 08 2e"


def test_int4() -> None:
    """By element, not by word."""
    own = elements_of("int4")
    packed = np.array([0x92200C47, 0xFEDCBA98], "<u4")
    codes = int4_of(packed.view(np.uint8))
    assert codes.tolist() == [7, 4, -4, 0, 0, 2, 2, -7, *range(-8, 0)]
    assert int4_of(np.array([0xF7, 0x08], np.uint8), packed=False).tolist() == [7, -8]
    below, above = own.neighbours(codes[:1]), own.neighbours(codes[8:9])
    assert [float(v[0]) for v in (*below, *above)] == [6, 7, -8, -7]
    assert own.ties(codes[:1])[1] == np.inf
    metrics = measure(ArraySource(codes), ArraySource(codes[::-1].copy()), own)[0]
    assert (metrics.saturated_actual, metrics.max_steps) == (4, 9)


def test_a_scale_of_powers_of_two_is_exact() -> None:
    own = elements_of(ml_dtypes.float8_e8m0fnu)
    assert (own.limits, own.scale_steps) == ((2.0**-127, 2.0**127), 0)
    codes = EVERY[:3].view(own.carrier)
    assert own.steps(codes[1:], codes[:-1]).tolist() == [1, 1]
    assert [v.tolist() for v in own.neighbours(codes[:1])] == [[2.0**-127], [2.0**-126]]
    assert elements_of("f4").scale_steps == 1


def test_float4_has_the_low_half_of_a_byte() -> None:
    own = elements_of(ml_dtypes.float4_e2m1fn)
    assert own.limits == (-6, 6)
    numbers = np.array([0.25, 0.75, 2.5, 100, -0.2, -5])
    assert own.nearest(numbers).astype(float).tolist() == [0, 1, 2, 6, 0, -4]
    assert own.nearest(numbers).view(np.uint8).tolist() == [0, 2, 4, 7, 8, 14]


@pytest.mark.parametrize("dtype", WHOLE, ids=lambda d: np.dtype(d).name)
class TestWhole:
    def test_neighbours_and_ties(self, dtype: Any) -> None:
        own = whole(dtype)
        low, high = (int(end) for end in own.limits)
        codes = np.array([low, 3, high], own.carrier)
        below, above = own.neighbours(codes)
        assert (below.tolist(), above.tolist()) == ([low, 2, high - 1], [low + 1, 4, high])
        ties = own.ties(codes)
        assert [t.tolist() for t in ties] == [
            [-np.inf, 2.5, high - 0.5],
            [low + 0.5, 3.5, np.inf],
        ]

    def test_codes(self, dtype: Any) -> None:
        own = whole(dtype)
        numbers = np.array([-np.inf, np.nan, 2, np.inf], np.float32)
        assert own.codes(numbers).astype(float).tolist() == [own.limits[0], 0, 2, own.limits[1]]
        narrow = own.codes(numbers, int(own.limits[0]) + 1, nan=1).astype(float)
        assert narrow.tolist() == [own.limits[0] + 1, 1, 2, own.limits[1]]
        assert numbers[0] == -np.inf  # it is left as it was

    def test_nearest(self, dtype: Any) -> None:
        values = np.array([0.5, 1.5, 2.6, 1e10])
        found = whole(dtype).nearest(values).astype(float)
        assert found.tolist() == [0, 2, 3, whole(dtype).limits[1]]


def test_a_mask_is_0_or_1() -> None:
    own = elements_of(np.bool_)
    assert own.nearest(np.array([0.0, 1.01])).tolist() == [False, True]


@pytest.mark.parametrize(
    ("dtype", "remedy"),
    [
        ("c8", "bytes. Compare its parts, .real and .imag."),
        (ml_dtypes.complex32, "bytes."),
        ("g", "bytes. Convert it with .astype(np.float64)."),
        ("M8[s]", "bytes. Compare .view(np.int64)."),
        ("V1", "bytes. If it holds that type: .view(ml_dtypes.float8_e4m3fn)."),
        ("V2", "bytes. If it holds that type: .view(ml_dtypes.bfloat16)."),
        ("V3", "bytes."),
        ([("a", "i1")], "bytes."),
    ],
)
def test_what_has_no_numbers(dtype: Any, remedy: str) -> None:
    with pytest.raises(DTypeError, match=re.escape(remedy) + "$"):
        elements_of(np.dtype(dtype))


def test_numbers_of_eight_bytes() -> None:
    odd = np.array([2**53 + 1])
    assert elements_of(odd.dtype).wide(odd).tolist() == [np.longdouble(2**53) + 1]
    assert {elements_of(d).wide(np.ones(1, d)).dtype for d in ("i4", "f8", "f2")} == {
        np.dtype("f8")
    }
    assert elements_of(">f8").limits == (-np.finfo(float).max, np.finfo(float).max)
    assert elements_of(np.uint64).limits == (0, 2.0**64)


class TestTexts:
    """What a formula's text says is what is computed."""

    def test_numbers_are_float32(self) -> None:
        third = compiled("x * (1/3)", "x")
        x = np.array([3, 7], np.float32)
        assert third(x).dtype == np.float32
        assert (third(x) == x * (np.float32(1) / np.float32(3))).all()
        assert third(x.astype(np.float64)).dtype == np.float64

    def test_names_and_functions(self) -> None:
        x, eps = np.array([4, 0], np.float32), np.float32(1e-8)
        assert (compiled("max(x2, 1e-8)", "x2")(x) == np.maximum(x, eps)).all()
        assert compiled("sqrt(a) + b", "a", "b")(x, x).tolist() == [6, 0]

    @pytest.mark.parametrize(
        ("text", "count"),
        [
            ("{x} / {scale}", 1),
            ("{x} * (1 / {scale})", 2),
            ("{x} * ((1 / amax) * 127)", 3),
            ("max(amax, 1e-12) / 127", 1),
            ("amax + 1e-8", 1),
            ("sqrt(mean + epsilon)", 2),
        ],
    )
    def test_roundings_are_operations(self, text: str, count: int) -> None:
        assert roundings(text) == count
