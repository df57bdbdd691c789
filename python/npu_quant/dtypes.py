"""Every element type by all its names, from the only such table: csrc/core/dtype.h.

torch_npu writes a dtype as an int: below 256 it is torch's ScalarType, from 256 on it is 256 plus
ACL's code. So ``1`` is int8 (``torch.int8``) and so is ``258``, while ``2`` is int16, though ACL
calls int8 2.
"""

from __future__ import annotations

import difflib
from typing import NamedTuple, Union, cast

import ml_dtypes  # noqa: F401 (NumPy knows its types by name from then on)
import numpy as np
from numpy.typing import DTypeLike

from . import _core
from ._names import dir_of
from .arrays import TorchDType

__all__ = ["DTYPES", "DType", "DTypeName", "near", "resolve"]
__all__ += ["float4_e1m2fn_x2", "float4_e2m1fn_x2", "float8_e4m3fn", "float8_e5m2"]
__all__ += ["float8_e8m0fnu", "hifloat8", "int4"]

__dir__ = dir_of(__name__)

# Union, since this is evaluated and Python 3.10 lacks str | a type alias.
DTypeName = Union[int, str, DTypeLike, TorchDType]  # noqa: UP007
"""What ``dst_type`` takes: torch_npu's code, a NumPy, ml_dtypes or torch dtype, or a name."""


class DType(NamedTuple):
    """One element type."""

    name: str
    acl_code: int
    torch_codes: tuple[int, ...]
    """torch.ScalarType numbers; the quantized ones (qint8 ...) stand for their storage."""
    numpy: np.dtype | None
    """How NumPy arrays carry it; None where it is carried as bits in another type."""
    acl_name: str
    """Of ACL's enumerator."""
    carrier: np.dtype
    """Of the arrays that hold it, as it is or as bits."""
    bits: int
    greatest: float
    """Of its finite values."""
    least_step: float
    """Between the codes at the bottom: 1, or the least subnormal number."""


def _row(
    name: str,
    acl_name: str,
    acl_code: int,
    torch_codes: tuple[int, ...],
    carrier: str,
    *limits: float,
) -> DType:
    own = np.dtype(name) if carrier == name else None
    return DType(name, acl_code, torch_codes, own, acl_name, np.dtype(carrier), *limits)  # type: ignore[arg-type]


DTYPES: tuple[DType, ...] = tuple(_row(*row) for row in _core.formats())

_ALIASES = {
    "qint8": "int8",
    "quint8": "uint8",
    "qint32": "int32",
    "quint4x2": "int4",
    "float4_e2m1fn": "float4_e2m1",
    "float4_e2m1fn_x2": "float4_e2m1",
    "float4_e1m2fn_x2": "float4_e1m2",
    "float8_e8m0": "float8_e8m0fnu",
    "half": "float16",
    "float": "float32",
}
_ACL_OFFSET = 256
_FIRST_OF_OTHERS = 256  # of the numbers that NumPy gives to dtypes of other packages
_BY_NAME = {name: row for row in DTYPES for name in (row.name, row.acl_name)}
_BY_CODE = {_ACL_OFFSET + row.acl_code: row for row in DTYPES} | {
    c: row for row in DTYPES for c in row.torch_codes
}
_BY_NUMPY = {row.numpy: row for row in DTYPES if row.numpy is not None}


def _of_name(name: str) -> DType | None:
    return _BY_NAME.get(_ALIASES.get(name, name))


def _code(name: str) -> int:
    row = _of_name(name)
    assert row is not None
    return _ACL_OFFSET + row.acl_code


# torch_npu's own numbers, by its names.
int4, hifloat8 = _code("int4"), _code("hifloat8")
float8_e5m2, float8_e4m3fn = _code("float8_e5m2"), _code("float8_e4m3fn")
float8_e8m0fnu = _code("float8_e8m0fnu")
float4_e2m1fn_x2, float4_e1m2fn_x2 = _code("float4_e2m1fn_x2"), _code("float4_e1m2fn_x2")


def _wrong_kind(value: object, name: str) -> TypeError:
    kind = type(value).__name__
    return TypeError(f"{name} has type {kind}, expected an int code, a dtype or a dtype's name.")


def near(value: object) -> list[int]:
    """Return ACL's codes of the dtypes whose names are like a misspelt one, the most similar first.

    A beginning that several names share stands for none of them; float8 is not hifloat8.
    """
    if not isinstance(value, str):
        return []
    word, names = _word(value).lower(), [*_BY_NAME, *_ALIASES]
    begun = {_of_name(name) for name in names if name.startswith(word)}
    words = [] if begun else difflib.get_close_matches(word, names, len(_BY_NAME), 0.7)
    rows = begun if len(begun) == 1 else map(_of_name, words)
    return [row.acl_code for row in rows if row is not None]


def _word(name: str) -> str:
    return name.removeprefix("torch.").removeprefix("torch_npu.")


def resolve(value: DTypeName, name: str = "dst_type") -> DType | None:
    """Return the row of a dtype, however it is named; None if no row has that name.

    Args:
        value: torch_npu's int code, a dtype's name (``"int8"``, ``"torch.int8"``,
            ``"torch_npu.hifloat8"``, ``"ACL_INT8"``), a NumPy, ml_dtypes or en_dtypes dtype or
            scalar type, or a torch dtype (neither torch nor en_dtypes need be imported).
        name: what the argument is called in messages.

    Raises:
        TypeError: ``value`` cannot name a dtype, such as a float or a list.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return _BY_CODE.get(int(value))
    is_number = isinstance(value, np.generic) and not isinstance(value, str)
    if is_number or isinstance(value, (bool, float, complex, bytes)):
        raise _wrong_kind(value, name)
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        value = str(value)
    if isinstance(value, str):
        return _of_name(_word(value))
    try:
        dtype = np.dtype(cast(DTypeLike, value))
    except TypeError:
        raise _wrong_kind(value, name) from None
    if isinstance(value, (list, tuple, dict)) or dtype.hasobject:
        raise _wrong_kind(value, name)  # NumPy makes an object dtype of any class it does not know
    if dtype.num >= _FIRST_OF_OTHERS:
        return _of_name(dtype.name)  # such as int4, which arrays of ours hold as bits
    return _BY_NUMPY.get(dtype)
