"""The small formats themselves: codes of numbers, numbers of codes, and a table of each.

    >>> import numpy as np
    >>> from npu_quant import formats
    >>> codes = formats.encode(np.float32([1, -1.5, 300]), "hifloat8")
    >>> codes
    array([  8, 140,  96], dtype=uint8)
    >>> formats.decode(codes, "hifloat8")
    array([  1. ,  -1.5, 256. ], dtype=float32)

int4 lies in int32, 8 codes in an element, and hifloat8 in uint8, as in every operator
(docs/numerics.md 11). Both directions are :func:`npu_quant.npu_dtype_cast`, and so are the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import dtypes
from ._names import dir_of
from .dtypes import DTypeName
from .errors import DTypeError, ParamError
from .ops import npu_dtype_cast

__all__ = ["Format", "decode", "encode", "info", "list_formats", "pack_int4", "unpack_int4"]

__dir__ = dir_of(__name__)

_NAMES = ("int4", "hifloat8", "float8_e5m2", "float8_e4m3fn")
_PARAM_INVALID = 161002


@dataclass(frozen=True, eq=False)
class Format:
    """What :func:`info` tells of a format."""

    name: str
    code: int
    """torch_npu's, such as 292; ACL's is 256 less."""
    bits: int
    dtype: np.dtype[Any]
    """Of the arrays that hold its codes; 8 codes of int4 share an element."""
    greatest: float
    least: float
    """Of its finite values, between which :func:`encode` saturates."""
    least_step: float
    """Between the codes next to 0."""
    values: NDArray[np.float32]
    """The number that each code stands for, by the code: 16 of int4, 256 of the others. Read-only;
    with the infinities and NaN that :func:`encode` never gives."""


def list_formats() -> list[str]:
    """Return the names of the formats that are no dtype of NumPy's own.

    Example:
        >>> from npu_quant import formats
        >>> formats.list_formats()
        ['int4', 'hifloat8', 'float8_e5m2', 'float8_e4m3fn']
    """
    return list(_NAMES)


def _name_of(format: DTypeName) -> str:
    row = dtypes.resolve(format, "format")
    if row is not None and row.name in _NAMES:
        return row.name
    came = row.name if row is not None else repr(format)[:60]
    raise ParamError(f"format is {came}, available: {', '.join(_NAMES)}.", _PARAM_INVALID)


def info(format: DTypeName) -> Format:
    """Return what there is to know of a format: its range, its steps, all of its values.

    Args:
        format: its name, torch_npu's code (285, 290, 291, 292), or a dtype.

    Raises:
        ParamError: it is none of :func:`list_formats`.
        TypeError: it is no way of naming a format.

    Example:
        >>> from npu_quant import formats
        >>> float8 = formats.info("float8_e4m3fn")
        >>> float8.greatest, float8.least_step, float8.values[0x38].item()
        (448.0, 0.001953125, 1.0)
    """
    return _info(_name_of(format))


def _described(name: str) -> Format:
    row = dtypes.resolve(name)
    assert row is not None
    if name == "int4":
        values = np.arange(16, dtype=np.float32)
        values[8:] -= 16
    else:
        values = decode(np.arange(256, dtype=np.uint8), name)
    values.flags.writeable = False
    least = float(values[np.isfinite(values)].min())
    code = 256 + row.acl_code
    return Format(name, code, row.bits, row.carrier, row.greatest, least, row.least_step, values)


_info: Callable[[str], Format] = cache(_described)


def encode(values: NDArray[Any], format: DTypeName) -> NDArray[Any]:
    """Return the codes nearest to numbers.

    Ties go to the even code, in hifloat8 away from zero. What is beyond the greatest value becomes
    its code, NaN becomes 0; float8 keeps the sign of a zero.

    Args:
        values: float16, bfloat16 or float32, of any shape; for int4 the last axis is a multiple of
            8.
        format: as for :func:`info`.

    Returns:
        An array of ``info(format).dtype``, of values' shape; of int4 the last axis is an eighth.

    Raises:
        DTypeError: values is no array of floats.
        ParamError: the shape does not fit int4, or there is no such format.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> formats.encode(np.float32([1, 2.2, 1e9, np.nan]), "float8_e5m2").view(np.uint8)
        array([ 60,  64, 123,   0], dtype=uint8)
    """
    return npu_dtype_cast(values, _name_of(format))


def decode(codes: NDArray[Any], format: DTypeName) -> NDArray[np.float32]:
    """Return the numbers that codes stand for, exactly.

    Args:
        codes: what :func:`encode` gives for the format; for one of 8 bits also uint8, or an array
            of a dtype of that name, such as en_dtypes' hifloat8.
        format: as for :func:`info`.

    Returns:
        float32, of codes' shape; of int4 with 8 times the last axis.

    Raises:
        DTypeError: codes is no array that holds the format.
        ParamError: there is no such format.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> formats.decode(np.array([0x7E, 0x80, 0x7F], np.uint8), "float8_e4m3fn")
        array([448.,  -0.,  nan], dtype=float32)
    """
    name = _name_of(format)
    row = dtypes.resolve(name)
    assert row is not None
    if not isinstance(codes, np.ndarray):
        raise DTypeError(f"codes is no numpy.ndarray, expected {row.carrier}.", _PARAM_INVALID)
    if codes.dtype != row.carrier:
        is_same = codes.dtype.itemsize == 1 and codes.dtype.name in (name, "uint8")
        if name == "int4" or not is_same:
            text = f"codes has dtype {codes.dtype}, expected {row.carrier} for {name}."
            raise DTypeError(text, _PARAM_INVALID)
        codes = codes.view(row.carrier)
    return npu_dtype_cast(codes, np.float32, name)


def pack_int4(codes: NDArray[Any]) -> NDArray[np.int32]:
    """Return int4 codes, 8 to an element of int32: the first is its low nibble.

    Args:
        codes: int8 from -8 to 7, or ``ml_dtypes.int4``; the last axis is a multiple of 8.

    Raises:
        DTypeError: codes has another dtype.
        ParamError: a code is out of range, or the last axis no multiple of 8.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> formats.pack_int4(np.arange(8, dtype=np.int8)).view(np.uint32).item() == 0x76543210
        True
    """
    if not isinstance(codes, np.ndarray) or codes.dtype.name not in ("int8", "int4"):
        came = getattr(codes, "dtype", type(codes).__name__)
        raise DTypeError(f"codes is of {came}, expected int8 or int4.", _PARAM_INVALID)
    bytes_of_codes = codes.astype(np.int8)
    if bytes_of_codes.size and (bytes_of_codes.min() < -8 or bytes_of_codes.max() > 7):
        raise ParamError("codes are beyond int4, expected -8 to 7.", _PARAM_INVALID)
    return encode(bytes_of_codes.astype(np.float32), "int4")


def unpack_int4(elements: NDArray[np.int32]) -> NDArray[np.int8]:
    """Return the int4 codes that elements of int32 hold, each in an int8.

    Args:
        elements: int32, such as :func:`pack_int4` and the operators give.

    Returns:
        The codes, from -8 to 7, with 8 times the last axis.

    Raises:
        DTypeError: elements is no array of int32.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> formats.unpack_int4(np.array([0x10], np.int32))
        array([0, 1, 0, 0, 0, 0, 0, 0], dtype=int8)
    """
    return decode(elements, "int4").astype(np.int8)
