"""Arrays of every dtype: compared without a warning, or refused with what to do instead."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from as_line import as_line

import npu_quant
from npu_quant.errors import DTypeError
from npu_quant.golden import compare

FIELDS = np.zeros(3, [("a", "i1"), ("b", "f4")])
NONE: Any = np.zeros(3, np.dtype([]))


class TestRefused:
    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (FIELDS, "has named fields, expected numbers. Compare each, such as actual['a']."),
            (NONE, "has named fields, expected numbers. Compare each."),
            (np.zeros(3, "c8"), "has dtype complex64, expected numbers. Compare its parts, .real"),
            (np.zeros(3, "M8[s]"), "has dtype datetime64[s], expected numbers. Compare .view(np."),
            (np.zeros(3, "m8[s]"), "has dtype timedelta64[s], expected numbers. Compare .view(np."),
            (np.zeros(3, object), "has dtype object, expected numbers. Convert it, e.g. with .ast"),
            (np.zeros(3, "U2"), "has dtype <U2, expected numbers."),
            (np.zeros(3, "S2"), "has dtype |S2, expected numbers."),
            (np.zeros(3, "S0"), "has dtype |S1, expected numbers."),
            (np.zeros(3, "V0"), "has dtype |V0, expected numbers."),
            (np.ma.array([1, 2]), "is a masked array, whose mask would be lost."),
        ],
    )
    def test_what_has_no_numbers(self, array: Any, message: str) -> None:
        other = np.arange(3, dtype=np.int8)
        for sides in ((array, array.copy()), (array, other)):
            with pytest.raises(DTypeError) as caught:
                compare(*sides)
            assert f"actual {message}"[:40] in str(caught.value)
            assert message in str(caught.value)
        with pytest.raises(DTypeError, match="golden"):
            compare(other, array)

    @pytest.mark.parametrize(
        ("dtype", "remedy"),
        [
            ("V1", ".view(ml_dtypes.float8_e4m3fn)"),
            ("V2", ".view(ml_dtypes.bfloat16)"),
            ("V4", "expected bool, integers or floats"),
            (np.longdouble, ".astype(np.float64)"),
        ],
    )
    def test_what_says_not_enough(self, dtype: Any, remedy: str) -> None:
        array = np.zeros(3, np.dtype(dtype))
        with pytest.raises(DTypeError) as caught:
            compare(array, array.copy())
        assert remedy in str(caught.value)


ONES, SAVED = np.ones(3, np.int16), np.ones(3, ml_dtypes.bfloat16).view("V2")


@pytest.mark.parametrize(
    ("actual", "golden", "remedy"),
    [
        (
            ONES.astype(">i2"),
            ONES,
            ">i2, golden <i2. Its bytes are swapped: pass actual.astype('<i2').",
        ),
        (
            ONES,
            ONES.astype(">i2"),
            "<i2, golden >i2. Its bytes are swapped: pass golden.astype('<i2').",
        ),
        (SAVED, ONES, "If it holds that type: actual.view(ml_dtypes.bfloat16)."),
        (ONES, SAVED, "If it holds that type: golden.view(ml_dtypes.bfloat16)."),
    ],
)
def test_dtypes_that_numpy_mends(actual: Any, golden: Any, remedy: str) -> None:
    text = as_line(compare(actual, golden))
    assert remedy in text
    was = f"actual was {actual.dtype.str}: compared as int16, losslessly; as int16 it is identical"
    assert (was in text) == (">i2" in text)


def difference(dtype: Any, count: int = 1 << 12) -> Any:
    """Compare arrays of which one element is a step off."""
    golden = np.arange(count).reshape(-1, 64).astype(dtype)
    actual = golden.copy()
    flat = actual.reshape(-1)
    flat[77] = not golden.reshape(-1)[77] if dtype == np.bool_ else golden.reshape(-1)[78]
    return compare(actual, golden)


class TestWhatMayBeRounding:
    @pytest.mark.parametrize(
        "dtype", [np.bool_, np.int16, np.uint16, np.int32, np.int64, np.uint64]
    )
    def test_no_mask_and_no_index_is_rounded(self, dtype: Any) -> None:
        found = difference(dtype, 1 << 7 if dtype == np.bool_ else 1 << 12)
        assert found.rung == "different"
        assert "rounding:" not in as_line(found)
        assert "1 of " in as_line(found)
        assert "value" in as_line(found)
        assert "codes" not in as_line(found)

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, ml_dtypes.int4, ml_dtypes.float8_e4m3fn])
    def test_codes_are(self, dtype: Any) -> None:
        golden = np.zeros((64, 64), np.int8).astype(dtype)
        actual = golden.copy()
        actual[3, 7] = actual.view(np.uint8).reshape(-1)[:1].view(dtype)[0]
        actual.view(np.uint8)[3, 7] = 1
        assert "may be rounding: each is one step" in as_line(compare(actual, golden))

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
    def test_floats_are(self, dtype: Any) -> None:
        golden = np.ones((64, 64), dtype)
        actual = golden.copy()
        actual.view(f"u{actual.itemsize}")[3, 7] += 1
        assert "may be rounding: each is one step" in as_line(compare(actual, golden))

    def test_masks_are_told_in_their_own_words(self) -> None:
        golden = np.random.default_rng(0).random((64, 64)) < 0.5
        actual = golden.copy()
        actual[0, np.flatnonzero(golden[0])[0]] = False
        actual[1, np.flatnonzero(~golden[1])[:2]] = True
        text = "3 of 4,096 values differ (0.73 ‰); False for True: 1 True for False: 2"
        assert text in as_line(compare(actual, golden))


DTYPES = [
    *(np.dtype(c) for c in "?bBhHiIlLefd"),
    *(np.dtype(getattr(ml_dtypes, name)) for name in dir(ml_dtypes) if name[:5] == "float"),
    *(np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "int4", "uint4")),
]  # fmt: skip


def hostile(dtype: np.dtype, seed: int) -> np.ndarray:
    """Return an array of every kind of bits: random, all ones, the greatest, NaN and infinities."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 256, (16, 64 * dtype.itemsize), np.uint8)
    raw[rng.random(raw.shape) < 0.2] = 0xFF
    raw[rng.random(raw.shape) < 0.2] = 0x7F
    raw[rng.random(raw.shape) < 0.1] = 0x80
    raw[rng.random(raw.shape) < 0.1] = 0
    return (raw & 1 if dtype.kind == "b" else raw).view(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_no_warning_leaks(dtype: np.dtype) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        golden, actual = hostile(dtype, 0), hostile(dtype, 0)
        for other in (hostile(dtype, 1), np.roll(golden, 1, axis=0)):
            for more in ({"rtol": 1e-3}, {"preset": "sqnr=3"}):
                found = compare(other, golden, **more)
                str(found), found._repr_html_(), found.to_dict()
        actual[3:5] = hostile(dtype, 2)[3:5]
        actual[:, 7] = hostile(dtype, 3)[:, 7]
        str(compare(actual, golden))
        for to in (np.float32, np.int8):
            str(compare(actual, np.zeros((16, 64), to)))


@pytest.mark.parametrize("op", ["npu_dynamic_quant", "npu_dynamic_mx_quant", "npu_anti_quant"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32], ids=str)
def test_no_warning_leaks_of_operators(op: str, dtype: Any) -> None:
    x = hostile(np.dtype(dtype), 0)
    inputs: dict[str, Any] = {"input": x}
    if op == "npu_anti_quant":
        inputs = {"x": hostile(np.dtype(np.int8), 0), "scale": x[0]}
        if dtype == np.float16:
            inputs["scale"] = x[0].astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = getattr(npu_quant, op)(**inputs)
        given = [array.copy() for array in (made if isinstance(made, tuple) else (made,))]
        for array in given:
            rows = array.view(np.uint8)
            rows[3:5] ^= 0x81
            rows.reshape(-1)[:9] = 0xFF
        found = compare(tuple(given), op=op, inputs=inputs)
        str(found), found._repr_html_()
        str(npu_quant.golden.explain(tuple(given), op, inputs))
