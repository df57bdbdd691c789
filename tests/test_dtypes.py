"""The table of element types and the ways of naming one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import npu_quant
from npu_quant import dtypes


@pytest.mark.parametrize(
    "value",
    [
        1,
        np.int64(1),
        258,
        12,
        "int8",
        "torch.int8",
        "qint8",
        np.str_("int8"),
        np.int8,
        np.dtype(np.int8),
        np.dtype("int8").type,
    ],
)
def test_every_way_to_say_int8(value: Any) -> None:
    row = dtypes.resolve(value)
    assert row is not None
    assert row.name == "int8"
    assert (
        npu_quant.npu_dynamic_quant(np.ones((1, 2), np.float16), dst_type=value).y.dtype == np.int8
    )


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
    "value", [-1, 255, 10**9, "int9", "", np.complex64, "complex64", np.dtype("V2")]
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
