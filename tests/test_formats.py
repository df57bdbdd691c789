"""npu_quant.formats: every code and every 16-bit float, against ml_dtypes, torch and en_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from witnesses import Array

from npu_quant import DTypeError, ParamError, formats

FLOAT8 = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}
# From there on ml_dtypes gives NaN (float8_e4m3fn) or infinity, where we give the greatest code.
BEYOND = {"float8_e4m3fn": np.nextafter(np.float32(464), np.float32(465)), "float8_e5m2": 61440}
EVERY_CODE = np.arange(256, dtype=np.uint8)


def numbers() -> Array:
    """Return every bfloat16 and float16, and the float32 numbers beside each middle of two codes."""
    patterns = np.arange(1 << 16, dtype=np.uint16)
    parts = [patterns.view(d).astype(np.float32) for d in (np.float16, ml_dtypes.bfloat16)]
    for name in formats.list_formats()[1:]:
        values = formats.info(name).values
        finite = np.unique(values[np.isfinite(values)])
        middle = (finite[1:] + finite[:-1]) / 2
        parts += [middle, *(np.nextafter(middle, np.float32(s)) for s in (-1e9, 1e9))]
    return np.concatenate(parts)


def assert_same_numbers(actual: Array, expected: Array) -> None:
    assert np.array_equal(actual, expected, equal_nan=True)
    is_number = ~np.isnan(expected)
    assert (np.signbit(actual) == np.signbit(expected))[is_number].all()


def check_codes(name: str, x: Array, theirs: Array, *beyond: int) -> None:
    """Compare codes within the range; what is beyond is our greatest code, their NaN is our 0."""
    ours = formats.encode(x, name).view(np.uint8)
    inside, is_nan = np.abs(x) < BEYOND[name], np.isnan(x)
    assert (ours[inside] == theirs[inside]).all()
    end = formats.encode(np.float32([formats.info(name).greatest]), name).view(np.uint8)
    outside, sign = ~inside & ~is_nan, 0x80 * np.signbit(x)
    assert (ours[outside] == (end + sign)[outside]).all()
    assert np.isin(theirs[outside] - sign[outside], beyond).all()
    assert (ours[is_nan] == 0).all()
    assert np.isnan(formats.decode(theirs[is_nan], name)).all()


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("name", FLOAT8)
def test_float8_against_ml_dtypes(name: str) -> None:
    x = numbers()
    with np.errstate(over="ignore", invalid="ignore"):
        theirs = x.astype(FLOAT8[name]).view(np.uint8)
    check_codes(name, x, theirs, {"float8_e4m3fn": 0x7F, "float8_e5m2": 0x7C}[name])
    expected = EVERY_CODE.view(FLOAT8[name]).astype(np.float32)
    assert_same_numbers(formats.info(name).values, expected)
    assert_same_numbers(formats.decode(EVERY_CODE.view(FLOAT8[name]), name), expected)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", FLOAT8)
def test_float8_against_torch(name: str) -> None:
    """torch saturates float8_e4m3fn, too, from some version on."""
    import torch

    x, dtype = numbers(), getattr(torch, name)
    theirs = torch.from_numpy(x).to(dtype).view(torch.uint8).numpy()
    check_codes(name, x, theirs, *{"float8_e4m3fn": (0x7E, 0x7F), "float8_e5m2": (0x7C,)}[name])
    theirs = torch.from_numpy(EVERY_CODE).view(dtype).float().numpy()
    assert_same_numbers(formats.info(name).values, theirs)
    found = formats.info(name)
    limits = torch.finfo(dtype)
    assert (found.greatest, found.least) == (limits.max, limits.min)


@pytest.mark.needs("en_dtypes")
def test_hifloat8_against_en_dtypes() -> None:
    """They give an infinity from half a step beyond the greatest on, and keep NaN."""
    import en_dtypes  # type: ignore[import-not-found]

    x = numbers()
    with np.errstate(over="ignore", invalid="ignore"):
        theirs = x.astype(en_dtypes.hifloat8).view(np.uint8)
    inside = np.abs(x) < 40960
    ours = formats.encode(x, "hifloat8")
    assert (ours[inside] == theirs[inside]).all()
    assert set(theirs[~inside]) == {0x6F, 0xEF, 0x80}
    codes = EVERY_CODE.view(en_dtypes.hifloat8)
    assert_same_numbers(formats.decode(codes, "hifloat8"), codes.astype(np.float32))


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("name", formats.list_formats()[1:])
def test_every_code_comes_back(name: str) -> None:
    values = formats.info(name).values
    finite = np.isfinite(values)
    assert (formats.encode(values, name).view(np.uint8)[finite] == EVERY_CODE[finite]).all()


@pytest.mark.usefixtures("target")
def test_every_pair_of_int4_codes() -> None:
    codes = (np.arange(1 << 16) >> np.array([[0], [4], [8], [12]]) & 15).T.reshape(-1, 8)
    codes = ((codes ^ 8) - 8).astype(np.int8)
    packed = formats.pack_int4(codes)
    assert packed.dtype == np.int32
    assert (packed.view(np.uint16) == np.arange(1 << 16).reshape(-1, 2)).all()
    assert (formats.unpack_int4(packed) == codes).all()
    assert (formats.pack_int4(codes.astype(ml_dtypes.int4)) == packed).all()
    assert (formats.decode(packed, "int4") == codes).all()
    assert (formats.info("int4").values[codes & 15] == codes).all()


@pytest.mark.parametrize(
    ("name", "greatest", "least", "step", "bits", "dtype", "code"),
    [
        ("int4", 7, -8, 1, 4, np.int32, 285),
        ("hifloat8", 32768, -32768, 2**-22, 8, np.uint8, 290),
        ("float8_e5m2", 57344, -57344, 2**-16, 8, ml_dtypes.float8_e5m2, 291),
        ("float8_e4m3fn", 448, -448, 2**-9, 8, ml_dtypes.float8_e4m3fn, 292),
    ],
)
def test_tables(
    name: str, greatest: float, least: float, step: float, bits: int, dtype: Any, code: int
) -> None:
    found = formats.info(code)
    assert (found.name, found.code, found.bits, found.dtype) == (name, code, bits, dtype)
    assert (found.greatest, found.least, found.least_step) == (greatest, least, step)
    finite = found.values[np.isfinite(found.values)]
    assert (finite.max(), finite.min(), finite[finite > 0].min()) == (greatest, least, step)
    assert formats.info(name) is found
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 1


def test_shapes_and_layouts() -> None:
    x = np.arange(48, dtype=np.float32).reshape(2, 24).T - 20
    small = np.abs(x) <= 8
    assert (formats.decode(formats.encode(x, 290), 290)[small] == x[small]).all()
    assert formats.decode(np.zeros((), np.uint8), "hifloat8").shape == ()
    assert formats.unpack_int4(np.zeros((3, 0, 2), np.int32)).shape == (3, 0, 16)
    assert formats.pack_int4(np.zeros((3, 0), np.int8)).shape == (3, 0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: formats.info("int8"), ParamError, "format is int8, available: int4, hifloat8"),
        (lambda: formats.info("int9"), ParamError, "format is 'int9', available: int4, hifloat8"),
        (lambda: formats.info(1.5), TypeError, "format has type float, expected"),  # type: ignore[arg-type]
        (lambda: formats.encode(np.ones(4), "hifloat8"), DTypeError, "npu_dtype_cast: self has"),
        (lambda: formats.encode(np.ones(4, "f4"), "int4"), ParamError, "npu_dtype_cast: self has"),
        (lambda: formats.decode(EVERY_CODE, "int4"), DTypeError, "codes has dtype uint8, expected"),
        (lambda: formats.decode(np.ones(4, "f4"), 290), DTypeError, "codes has dtype float32, exp"),
        (lambda: formats.decode([1], 290), DTypeError, "codes is no numpy.ndarray"),  # type: ignore[arg-type]
        (lambda: formats.pack_int4(EVERY_CODE), DTypeError, "codes is of uint8, expected int8"),
        (lambda: formats.pack_int4(np.full(8, 8, "i1")), ParamError, "codes are beyond int4"),
        (lambda: formats.pack_int4(np.full(8, -9, "i1")), ParamError, "codes are beyond int4"),
        (lambda: formats.pack_int4(np.zeros(9, "i1")), ParamError, "npu_dtype_cast: self has"),
        (lambda: formats.unpack_int4(np.zeros(1, "u4")), DTypeError, "codes has dtype uint32"),
    ],
)
def test_errors(call: Any, error: type, text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(text)
    assert getattr(caught.value, "code", 161002) == 161002
