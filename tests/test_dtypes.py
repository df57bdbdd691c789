"""The table of element types and the ways of naming one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import npu_quant
from npu_quant import dtypes

SPELLINGS: dict[str, tuple[list[int], list[str], list[Any]]] = {
    "int8": ([1, 12, 258], ["int8", "qint8", "ACL_INT8"], [np.int8, np.dtype(np.int8)]),
    "uint8": ([0, 13, 260], ["uint8", "quint8", "ACL_UINT8"], [np.uint8]),
    "int32": ([3, 14, 259], ["int32", "qint32", "ACL_INT32"], [np.int32]),
    "float16": ([5, 257], ["float16", "half", "ACL_FLOAT16"], [np.float16]),
    "bfloat16": ([15, 283], ["bfloat16", "ACL_BF16"], [ml_dtypes.bfloat16]),
    "float32": ([6, 256], ["float32", "ACL_FLOAT"], [np.float32]),
    "int4": ([16, 285], ["int4", "quint4x2", "ACL_INT4"], [ml_dtypes.int4]),
    "hifloat8": ([290], ["hifloat8", "ACL_HIFLOAT8"], []),
    "float8_e5m2": ([23, 291], ["float8_e5m2", "ACL_FLOAT8_E5M2"], [ml_dtypes.float8_e5m2]),
    "float8_e4m3fn": ([24, 292], ["float8_e4m3fn", "ACL_FLOAT8_E4M3FN"], [ml_dtypes.float8_e4m3fn]),
    "float8_e8m0fnu": (
        [44, 293],
        ["float8_e8m0fnu", "float8_e8m0", "ACL_FLOAT8_E8M0"],
        [ml_dtypes.float8_e8m0fnu],
    ),
    "float4_e2m1": (
        [45, 296],
        ["float4_e2m1", "float4_e2m1fn", "float4_e2m1fn_x2", "ACL_FLOAT4_E2M1"],
        [ml_dtypes.float4_e2m1fn],
    ),
    "float4_e1m2": ([297], ["float4_e1m2", "float4_e1m2fn_x2", "ACL_FLOAT4_E1M2"], []),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_way_to_say_a_dtype(name: str) -> None:
    codes, names, objects = SPELLINGS[name]
    ways = [*codes, *map(np.int64, codes), *names, *map(np.str_, names), *objects]
    ways += [prefix + word for prefix in ("torch.", "torch_npu.") for word in names]
    ways += [np.dtype(thing) for thing in objects]
    for value in ways:
        row = dtypes.resolve(value)
        assert row is not None
        assert row.name == name


def test_torch_npus_names_stand_for_its_numbers() -> None:
    """After ``import npu_quant as torch_npu``."""
    ours = (npu_quant.int4, npu_quant.hifloat8, npu_quant.float8_e5m2, npu_quant.float8_e4m3fn)
    assert ours == (285, 290, 291, 292)
    assert npu_quant.float8_e8m0fnu == 293
    assert (npu_quant.float4_e2m1fn_x2, npu_quant.float4_e1m2fn_x2) == (296, 297)


@pytest.mark.needs("en_dtypes")
def test_hifloat8_of_en_dtypes() -> None:
    import en_dtypes  # type: ignore[import-not-found]

    for value in (en_dtypes.hifloat8, np.dtype(en_dtypes.hifloat8)):
        assert dtypes.resolve(value) == dtypes.resolve("hifloat8")


@pytest.mark.parametrize(
    ("number", "name", "meant"),
    [
        (2, "int16", "int8 is 258"),
        (29, "29", "int4 is 285"),
        (34, "34", "hifloat8 is 290"),
        (35, "35", "float8_e5m2 is 291"),
        (36, "36", "float8_e4m3fn is 292"),
    ],
)
def test_acls_own_codes_are_errors_that_name_the_number_meant(
    number: int, name: str, meant: str
) -> None:
    x, scales = np.ones((1, 8), np.float32), np.ones(1, np.float32)
    with pytest.raises(npu_quant.ParamError, match=rf"dtype is {name}, available: .* {meant}\."):
        npu_quant.npu_quantize(x, scales, None, number)


def test_a_torch_dtype_needs_no_torch() -> None:
    """Recognised by the name of its class."""
    dtype = type("dtype", (), {"__module__": "torch", "__str__": lambda self: "torch.bfloat16"})()
    assert dtypes.resolve(dtype) == dtypes.resolve(ml_dtypes.bfloat16)


def test_codes_below_256_are_torchs_and_above_are_acls() -> None:
    assert dtypes.resolve(2).name == "int16"  # type: ignore[union-attr]
    assert dtypes.resolve(256 + 2).name == "int8"  # type: ignore[union-attr]
    assert dtypes.resolve(285).name == "int4"  # type: ignore[union-attr]
    assert dtypes.resolve(290).name == "hifloat8"  # type: ignore[union-attr]
    assert dtypes.resolve(292) == dtypes.resolve(ml_dtypes.float8_e4m3fn)


@pytest.mark.parametrize(
    "value",
    [
        *(-1, 255, 10**9, "int9", "", np.complex64, "complex64", np.dtype("V2"), 40),
        *(np.dtype(">i2"), ml_dtypes.uint4, "uint4"),
        *(ml_dtypes.float8_e4m3, ml_dtypes.float8_e4m3b11fnuz, "float8_e4m3fnuz", "float8_e4m3"),
    ],
)
def test_what_the_table_lacks_is_none(value: Any) -> None:
    assert dtypes.resolve(value) is None


@pytest.mark.parametrize(
    "value",
    [1.0, True, b"int8", [1], {}, object(), object, SimpleNamespace(), np.float32(1), np.bool_(1)],
)
def test_what_names_no_dtype_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="expected an int code, a dtype or a dtype's name"):
        dtypes.resolve(value)


def test_the_message_names_the_argument() -> None:
    with pytest.raises(TypeError, match=r"^dtype has type float, expected"):
        dtypes.resolve(1.5, "dtype")


def test_rows_are_distinct() -> None:
    for column in ("name", "acl_code"):
        assert len({getattr(row, column) for row in dtypes.DTYPES}) == len(dtypes.DTYPES)
    codes = [code for row in dtypes.DTYPES for code in row.torch_codes]
    assert len(set(codes)) == len(codes)


@pytest.mark.needs("torch")
def test_numbers_are_torchs() -> None:
    import torch

    for row in dtypes.DTYPES:
        if hasattr(torch, row.name):
            assert dtypes.resolve(getattr(torch, row.name)) == row
    assert dtypes.resolve(torch.float4_e2m1fn_x2) == dtypes.resolve("float4_e2m1")
