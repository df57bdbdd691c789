"""npu_quant.formats: every code and every 16-bit float, against ml_dtypes, torch and en_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from test_torch_tensors import array_of
from witnesses import Array

import npu_quant
from npu_quant import DTypeError, ParamError, _codes, formats

FLOAT8 = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}
# From there on ml_dtypes gives NaN (float8_e4m3fn) or infinity, where we give the greatest code.
BEYOND = {"float8_e4m3fn": np.nextafter(np.float32(464), np.float32(465)), "float8_e5m2": 61440}
EVERY_CODE = np.arange(256, dtype=np.uint8)
FLOAT4 = ("float4_e2m1", "float4_e1m2")
E8M0, E2M1 = ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn


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


def codes_of(x: Array, name: str) -> Array:
    """Encode, with each code in a byte of its own."""
    codes = formats.encode(x, name)
    return formats.unpack_fp4(codes) if name in FLOAT4 else codes.view(np.uint8)


@pytest.mark.parametrize("name", [*FLOAT8, *FLOAT4, "hifloat8"])
def test_the_formula_in_numpy(name: str) -> None:
    """It looks codes up by some bits of a number, which all of these have to be told apart by."""
    x = numbers()
    x = x[: len(x) // 2 * 2]
    codes = _codes.encode(x, name)
    assert (codes.view(np.uint8) == formats.encode(x, name).view(np.uint8)).all()


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
def test_float4_e2m1_against_ml_dtypes() -> None:
    """Their NaN is -0, or -nan 0; it is a 0 of ours. They saturate, too."""
    x = numbers()
    x = x[: len(x) // 2 * 2]
    with np.errstate(invalid="ignore"):
        theirs, is_nan = x.astype(E2M1).view(np.uint8), np.isnan(x)
    ours = codes_of(x, "float4_e2m1")
    assert (ours[~is_nan] == theirs[~is_nan]).all()
    assert is_nan.any()
    assert (ours[is_nan] == 0).all()
    assert_same_numbers(formats.info(296).values, EVERY_CODE[:16].view(E2M1).astype(np.float32))


@pytest.mark.usefixtures("target")
def test_float4_e1m2_is_a_multiple_of_a_quarter() -> None:
    x = numbers()
    x = x[~np.isnan(x)][: len(x) // 4 * 2].astype(np.float64)
    expected = np.minimum(np.rint(np.abs(x) * 4), 7) + 8 * np.signbit(x)
    assert (codes_of(x.astype(np.float32), "float4_e1m2") == expected).all()
    assert_same_numbers(formats.info(297).values[:8], np.arange(8) / np.float32(4))


@pytest.mark.usefixtures("target")
def test_every_byte_of_float4_holds_two_codes() -> None:
    for name in FLOAT4:
        values = formats.info(name).values
        pairs = np.stack((values[EVERY_CODE & 15], values[EVERY_CODE >> 4]), axis=-1)
        assert_same_numbers(formats.decode(EVERY_CODE, name), pairs.reshape(-1))
        assert (formats.encode(pairs.reshape(-1), name) == EVERY_CODE).all()
    codes = formats.unpack_fp4(EVERY_CODE)
    assert codes[:4].tolist() == [0, 0, 1, 0]
    assert (formats.pack_fp4(codes) == EVERY_CODE).all()
    assert (formats.pack_fp4(codes.view(E2M1)) == EVERY_CODE).all()


def e8m0_of(x: Array) -> Array:
    """Return bytes by comparing with each power of two, and with each middle of two."""
    powers = 2.0 ** np.arange(-127, 128)
    borders = (powers[1:] + powers[:-1]) / 2
    return np.where(x >= 0, (x[:, None] >= borders).sum(axis=1), 255)


def scales() -> tuple[Array, Array, Array]:
    """Return every bfloat16 and what is beside each middle; where ml_dtypes and torch differ.

    Of what lies between 2^-127 and 2^-126 they make the latter; of what is beyond the greatest NaN.
    """
    x = np.unique(numbers().view(np.uint32)).view(np.float32)
    tiny = (x > 2.0**-127) & (x < 1.5 * 2.0**-127)
    return x, tiny, (x >= 1.5 * 2.0**127)


@pytest.mark.usefixtures("target")
def test_e8m0_against_ml_dtypes() -> None:
    x, tiny, beyond = scales()
    with np.errstate(all="ignore"):
        theirs = x.astype(E8M0).view(np.uint8)
    ours = formats.encode(x, "float8_e8m0fnu").view(np.uint8)
    assert (ours == e8m0_of(x)).all()
    same = ~(tiny | beyond | (x == 0))
    assert (ours[same] == theirs[same]).all()
    assert [set(a[tiny]) for a in (ours, theirs)] == [{0}, {1}]
    assert [set(a[beyond]) for a in (ours, theirs)] == [{254}, {255}]
    assert [set(a[x == 0]) for a in (ours, theirs)] == [{0}, {255}]
    for codes in (EVERY_CODE, EVERY_CODE.view(E8M0)):
        assert_same_numbers(formats.decode(codes, 293), EVERY_CODE.view(E8M0).astype(np.float32))


@pytest.mark.needs("torch")
def test_e8m0_against_torch() -> None:
    """It takes magnitudes."""
    import torch

    x, tiny, beyond = scales()
    theirs = torch.from_numpy(x).to(torch.float8_e8m0fnu).view(torch.uint8).numpy()
    ours = formats.encode(x, "float8_e8m0fnu").view(np.uint8)
    same = ~(tiny | beyond | (x < 0))
    assert (ours[same] == theirs[same]).all()
    assert [set(a[tiny]) for a in (ours, theirs)] == [{0}, {1}]
    assert [set(a[beyond]) for a in (ours, theirs)] == [{254}, {255}]
    assert set(ours[x < 0]) == {255}
    theirs = torch.from_numpy(EVERY_CODE).view(torch.float8_e8m0fnu).float().numpy()
    assert_same_numbers(formats.info(293).values, theirs)


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("name", formats.list_formats()[1:])
def test_every_code_comes_back(name: str) -> None:
    values = formats.info(name).values
    finite = np.isfinite(values)
    assert (codes_of(values, name)[finite] == EVERY_CODE[: len(values)][finite]).all()


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
        ("int8", 127, -128, 1, 8, np.int8, 258),
        ("int4", 7, -8, 1, 4, np.int32, 285),
        ("hifloat8", 32768, -32768, 2**-22, 8, np.uint8, 290),
        ("float8_e5m2", 57344, -57344, 2**-16, 8, ml_dtypes.float8_e5m2, 291),
        ("float8_e4m3fn", 448, -448, 2**-9, 8, ml_dtypes.float8_e4m3fn, 292),
        ("float8_e8m0fnu", 2.0**127, 2.0**-127, 2.0**-127, 8, E8M0, 293),
        ("float4_e2m1", 6, -6, 0.5, 4, np.uint8, 296),
        ("float4_e1m2", 1.75, -1.75, 0.25, 4, np.uint8, 297),
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
    assert formats.unpack_int4(np.zeros((3, 0, 2), np.int32), 0).shape == (24, 0, 2)
    assert formats.pack_int4(np.zeros((3, 0), np.int8)).shape == (3, 0)
    quarters = np.clip(x / 4, -1.75, 1.75)
    codes = formats.encode(quarters, "float4_e1m2")
    assert (codes.shape, codes.dtype) == ((24, 1), np.uint8)
    assert (formats.decode(codes[::-1], "float4_e1m2")[::-1] == quarters).all()
    assert formats.unpack_fp4(np.zeros((2, 6), np.uint8).T[::2]).shape == (3, 4)
    assert formats.encode(np.zeros((0, 4), np.float16), 296).shape == (0, 2)
    assert formats.decode(np.zeros((3, 0), np.uint8), 296).shape == (3, 0)
    assert (
        formats.encode(np.array(3, np.float32), 293).shape
        == formats.decode(codes, 293)[0, 0].shape
        == ()
    )


def test_no_profile_changes_a_format() -> None:
    with npu_quant.numerics("ascend910b"):
        codes = formats.encode(np.float32([1, -2]), "hifloat8")
        assert formats.decode(codes, "hifloat8").tolist() == [1, -2]


def test_int8_has_its_numbers() -> None:
    codes = EVERY_CODE.view(np.int8)
    for held in (codes, EVERY_CODE):
        found = formats.decode(held, "int8")
        assert found.dtype == np.float32
        assert (found == codes).all()
    assert (formats.info("int8").values == codes).all()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: formats.info("int16"), ParamError, "format is int16, available: int8, int4, hifl"),
        (lambda: formats.info("int9"), ParamError, "format is 'int9', available: int8, int4, hif"),
        (lambda: formats.encode(np.ones(4, "f4"), "int8"), ParamError, "format is int8, available"),
        (lambda: formats.decode(np.ones(4, "i2"), "int8"), DTypeError, "codes has dtype int16, ex"),
        (lambda: formats.info(1.5), TypeError, "format has type float, expected"),  # type: ignore[arg-type]
        (lambda: formats.encode(np.ones(4), "hifloat8"), DTypeError, "npu_dtype_cast: self has"),
        (lambda: formats.encode(np.ones(4, "f4"), "int4"), ParamError, "npu_dtype_cast: self has"),
        (lambda: formats.decode(EVERY_CODE, "int4"), DTypeError, "codes has dtype uint8, expected"),
        (lambda: formats.decode(np.ones(4, "f4"), 290), DTypeError, "codes has dtype float32, exp"),
        (lambda: formats.decode([1], 290), DTypeError, "codes is not a numpy.ndarray"),  # type: ignore[arg-type]
        (lambda: formats.pack_int4(EVERY_CODE), DTypeError, "codes has dtype uint8, expected int8"),
        (lambda: formats.pack_int4(np.full(8, 8, "i1")), ParamError, "codes are beyond int4"),
        (lambda: formats.pack_int4(np.full(8, -9, "i1")), ParamError, "codes are beyond int4"),
        (
            lambda: formats.pack_int4(np.zeros(9, "i1")),
            ParamError,
            "codes has shape (9,), expected",
        ),
        (lambda: formats.unpack_int4(np.zeros(1, "u4")), DTypeError, "elements has dtype uint32"),
        (lambda: formats.unpack_int4(np.zeros((), "i4")), ParamError, "elements has shape (), exp"),
        *[
            (
                lambda axis=axis: formats.unpack_int4(np.zeros((2, 3), "i4"), axis),
                ParamError,
                f"axis is {axis}, expected -2 to 1.",
            )
            for axis in (2, -3)
        ],
        (lambda: formats.unpack_int4(np.zeros(1, "i4"), 0.0), TypeError, "'float' object cannot"),  # type: ignore[arg-type]
        (lambda: formats.encode(np.ones(4), 296), DTypeError, "npu_dtype_cast: self has dtype"),
        (lambda: formats.encode(np.ones(3, "f4"), 296), ParamError, "npu_dtype_cast: self has"),
        (lambda: formats.encode(np.ones((), "f4"), 297), ParamError, "npu_dtype_cast: self has"),
        (
            lambda: formats.decode(np.ones((), "u1"), 296),
            ParamError,
            "codes has shape (), expected",
        ),
        (lambda: formats.decode(np.ones(4, "i1"), 297), DTypeError, "codes has dtype int8, expect"),
        (lambda: formats.decode(np.zeros(4, E2M1), 296), DTypeError, "codes has dtype float4_e2m1"),
        (
            lambda: formats.decode(np.ma.zeros(4, "u1"), 293),
            DTypeError,
            "codes is not a numpy.ndarray",
        ),
        (lambda: formats.pack_fp4(np.zeros(2, "i1")), DTypeError, "codes has dtype int8, expected"),
        (
            lambda: formats.pack_fp4(np.full(2, 16, "u1")),
            ParamError,
            "codes are beyond float4_e2m1",
        ),
        (
            lambda: formats.pack_fp4(np.zeros(3, "u1")),
            ParamError,
            "codes has shape (3,), expected a",
        ),
        (
            lambda: formats.pack_fp4([1, 2]),
            DTypeError,
            "codes is not a numpy.ndarray, expected uint8",
        ),  # type: ignore[arg-type]
        (lambda: formats.unpack_fp4(np.zeros(2, "i1")), DTypeError, "elements has dtype int8, exp"),
    ],
)
def test_errors(call: Any, error: type, text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(text)
    assert getattr(caught.value, "code", 161002) == 161002


@pytest.mark.needs("torch")
def test_formats_take_tensors(rng: np.random.Generator) -> None:
    """The same bits as of arrays, in tensors; one that requires grad is refused as ever."""
    import torch

    x = rng.standard_normal((3, 16)).astype(np.float32)
    for name in formats.list_formats():
        codes = formats.encode(x, name)
        given = formats.encode(torch.from_numpy(x), name)
        assert array_of(given).tobytes() == codes.tobytes()
        assert (
            array_of(formats.decode(given, name)).tobytes() == formats.decode(codes, name).tobytes()
        )
    fours = rng.integers(0, 16, (3, 16))
    for pack, unpack, of in (
        (formats.pack_int4, formats.unpack_int4, (fours - 8).astype(np.int8)),
        (formats.pack_fp4, formats.unpack_fp4, fours.astype(np.uint8)),
    ):
        packed = pack(torch.from_numpy(of))
        assert array_of(packed).tobytes() == pack(of).tobytes()
        assert array_of(unpack(packed)).tobytes() == of.tobytes()
    with pytest.raises(DTypeError, match=r"^formats\.decode: codes requires grad"):
        formats.decode(torch.ones(8, requires_grad=True), "float8_e4m3fn")
