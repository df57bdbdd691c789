"""Every element type by all its names: the only such table.

torch_npu writes a dtype as an int: below 256 it is torch's ScalarType, from 256 on it is 256 plus
ACL's code. So ``1`` is int8 (``torch.int8``) and so is ``258``, while ``2`` is int16, though ACL
calls int8 2.
"""

from __future__ import annotations

from typing import NamedTuple, Union

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike

# Union, since this is evaluated and Python 3.10 lacks str | a type alias.
DTypeName = Union[int, str, DTypeLike]  # noqa: UP007
"""What ``dst_type`` takes: torch_npu's code, a NumPy, ml_dtypes or torch dtype, or a name."""


class DType(NamedTuple):
    """One element type."""

    name: str
    acl_code: int
    torch_codes: tuple[int, ...]
    """torch.ScalarType numbers; the quantized ones (qint8 ...) stand for their storage."""
    numpy: np.dtype | None
    """How NumPy arrays carry it; None where it is carried as bits in another type."""


def _row(name: str, acl: int, torch: tuple[int, ...], carrier: DTypeLike | None = None) -> DType:
    return DType(name, acl, torch, None if carrier is None else np.dtype(carrier))


DTYPES: tuple[DType, ...] = (
    _row("float32", 0, (6,), np.float32),
    _row("float16", 1, (5,), np.float16),
    _row("int8", 2, (1, 12), np.int8),
    _row("int32", 3, (3, 14), np.int32),
    _row("uint8", 4, (0, 13), np.uint8),
    _row("int16", 6, (2,), np.int16),
    _row("int64", 9, (4,), np.int64),
    _row("float64", 11, (7,), np.float64),
    _row("bool", 12, (11,), np.bool_),
    _row("bfloat16", 27, (15,), ml_dtypes.bfloat16),
    _row("int4", 29, (16,)),
    _row("hifloat8", 34, ()),
    _row("float8_e5m2", 35, (23,), ml_dtypes.float8_e5m2),
    _row("float8_e4m3fn", 36, (24,), ml_dtypes.float8_e4m3fn),
    _row("float8_e8m0fnu", 37, (44,), ml_dtypes.float8_e8m0fnu),
    _row("float4_e2m1", 40, ()),
    _row("float4_e1m2", 41, ()),
)

_ALIASES = {
    "qint8": "int8",
    "quint8": "uint8",
    "qint32": "int32",
    "quint4x2": "int4",
    "half": "float16",
    "float": "float32",
}
_ACL_OFFSET = 256
_BY_NAME = {row.name: row for row in DTYPES}
_BY_CODE = {_ACL_OFFSET + row.acl_code: row for row in DTYPES} | {
    c: row for row in DTYPES for c in row.torch_codes
}
_BY_NUMPY = {row.numpy: row for row in DTYPES if row.numpy is not None}


def _wrong_kind(value: object) -> TypeError:
    kind = type(value).__name__
    return TypeError(f"dst_type has type {kind}, expected an int code, a dtype or a dtype's name.")


def resolve(value: DTypeName) -> DType | None:
    """The row of a dtype given in any of its ways; None where nothing here goes by it.

    Args:
        value: torch_npu's int code, a dtype's name (``"int8"``, ``"torch.int8"``), a NumPy or
            ml_dtypes dtype or scalar type, or a torch dtype (torch need not be imported).

    Raises:
        TypeError: ``value`` is no way of naming a dtype at all, such as a float or a list.
    """
    if isinstance(value, (bool, float, complex, bytes)):
        raise _wrong_kind(value)
    if isinstance(value, (int, np.integer)):
        return _BY_CODE.get(int(value))
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        value = str(value)
    if isinstance(value, str):
        name = value.removeprefix("torch.")
        return _BY_NAME.get(_ALIASES.get(name, name))
    try:
        dtype = np.dtype(value)
    except TypeError:
        raise _wrong_kind(value) from None
    if isinstance(value, (list, tuple, dict)) or dtype.hasobject:
        raise _wrong_kind(value)  # NumPy makes an object dtype of any class it does not know
    return _BY_NUMPY.get(dtype)
