"""Encode numbers to small formats, decode their codes, and list the values of each format.

    >>> import numpy as np
    >>> from npu_quant import formats
    >>> codes = formats.encode(np.float32([1, -1.5, 300]), "hifloat8")
    >>> codes
    array([  8, 140,  96], dtype=uint8)
    >>> formats.decode(codes, "hifloat8")
    array([  1. ,  -1.5, 256. ], dtype=float32)

As in every operator, an int32 holds 8 int4 codes, a uint8 holds 2 float4 codes, and a uint8 holds a
hifloat8 code (docs/numerics.md 11). :func:`encode` and :func:`decode` compute and refuse what
:func:`npu_quant.npu_dtype_cast` does. For torch's CPU tensors they return tensors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from . import _codes, _core, dtypes
from ._format_arrays import PARAM_INVALID, as_tensor, check_array, held_as, packed
from ._format_comparison import FormatComparison
from ._format_losses import FormatLoss, chosen, losses_of
from ._names import dir_of
from .arrays import Array, Tensor
from .dtypes import DTypeName
from .errors import DTypeError, ParamError
from .ops import npu_dtype_cast

__all__ = ["Format", "FormatComparison", "FormatLoss"]
__all__ += ["compare", "decode", "encode", "info", "list_formats"]
__all__ += ["pack_fp4", "pack_int4", "unpack_fp4", "unpack_int4"]

__dir__ = dir_of(__name__)

T = TypeVar("T", bound=Tensor)
_NAMES = (
    *("int4", "hifloat8", "float8_e5m2", "float8_e4m3fn"),
    *("float8_e8m0fnu", "float4_e2m1", "float4_e1m2"),
)
_FLOATS = ("float16", "bfloat16", "float32")
_REFERENCE = "reference"
"""The arithmetic of formats, whichever profile the operators have."""


@dataclass(frozen=True, eq=False)
class Format:
    """What :func:`info` returns: the numbers of a format."""

    name: str
    code: int
    """torch_npu's, such as 292; ACL's is 256 less."""
    bits: int
    dtype: np.dtype[Any]
    """Of the arrays that hold its codes; 8 codes of int4 share an element, 2 of float4."""
    greatest: float
    least: float
    """Of its finite values, between which :func:`encode` saturates."""
    least_step: float
    """Between the least codes that are not negative."""
    values: NDArray[np.float32]
    """The number that each code stands for, by the code: 16 of int4 and float4, 256 of the others.
    Read-only; with the infinities and NaN, which :func:`encode` never gives but for the NaN of
    float8_e8m0fnu."""


def list_formats() -> list[str]:
    """Return the names of the formats that NumPy has no dtype for.

    Example:
        >>> from npu_quant import formats
        >>> " ".join(formats.list_formats())
        'int4 hifloat8 float8_e5m2 float8_e4m3fn float8_e8m0fnu float4_e2m1 float4_e1m2'
    """
    return list(_NAMES)


def _name_of(format: DTypeName, *more: str) -> str:
    row, known = dtypes.resolve(format, "format"), (*more, *_NAMES)
    if row is not None and row.name in known:
        return row.name
    came = row.name if row is not None else repr(format)[:60]
    raise ParamError(f"format is {came}, available: {', '.join(known)}.", PARAM_INVALID)


def info(format: DTypeName) -> Format:
    """Return the range, the steps and all values of a format.

    Args:
        format: its name, torch_npu's code (258, 285, 290 to 293, 296, 297), or a dtype.

    Raises:
        ParamError: it is neither int8 nor one of :func:`list_formats`.
        TypeError: it does not name a format.

    Example:
        >>> from npu_quant import formats
        >>> float8 = formats.info("float8_e4m3fn")
        >>> float8.greatest, float8.least_step, float8.values[0x38].item()
        (448.0, 0.001953125, 1.0)
    """
    return _info(_name_of(format, "int8"))


def _described(name: str) -> Format:
    row = _codes.row_of(name)
    values = _codes.values_of(name)
    values.flags.writeable = False
    least = float(values[np.isfinite(values)].min())
    code = 256 + row.acl_code
    return Format(name, code, row.bits, row.carrier, row.greatest, least, row.least_step, values)


_info: Callable[[str], Format] = cache(_described)


@overload
def encode(values: NDArray[Any], format: DTypeName) -> NDArray[Any]: ...
@overload
def encode(values: T, format: DTypeName) -> T: ...
def encode(values: Array, format: DTypeName) -> Array:
    """Return the codes nearest to numbers.

    Ties go to the even code; in hifloat8 away from zero. Values beyond the greatest value get its
    code, and NaN becomes 0; float8 and float4 keep the sign of a zero.

    float8_e8m0fnu has powers of two, and no sign or zero: ties go up, 0 becomes the least power,
    2^-127, and NaN and negative values become NaN. (ml_dtypes and torch turn values beyond the
    greatest power into NaN, and all values between 2^-127 and 2^-126 into 2^-126. ml_dtypes turns 0
    into NaN; torch takes magnitudes. The scales that operators compute are not rounded to nearest:
    they have rules of their own.)

    Args:
        values: float16, bfloat16 or float32, of any shape; for int4 the last axis is a multiple of
            8, for float4 of 2.
        format: one of :func:`list_formats`, as for :func:`info`.

    Returns:
        An array of ``info(format).dtype``, of values' shape; int4 has an eighth of the last axis,
        float4 a half. The first of two codes is the low nibble.

    Raises:
        DTypeError: values is not an array of floats.
        ParamError: the shape does not fit the format, or there is no such format.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> formats.encode(np.float32([1, 2.2, 1e9, np.nan]), "float8_e5m2").view(np.uint8)
        array([ 60,  64, 123,   0], dtype=uint8)
    """
    return npu_dtype_cast(values, _name_of(format), numerics=_REFERENCE)


@overload
def decode(codes: NDArray[Any], format: DTypeName) -> NDArray[np.float32]: ...
@overload
def decode(codes: T, format: DTypeName) -> T: ...
def decode(codes: Array, format: DTypeName) -> Array:
    """Return the numbers that codes stand for, exactly.

    Args:
        codes: codes of the format, as :func:`encode` or an operator returns them; for an 8-bit
            format also uint8, or an array of a dtype of that name, such as en_dtypes' hifloat8.
        format: as for :func:`info`.

    Returns:
        float32, of codes' shape; for int4 with 8 times the last axis, for float4 with twice the
        last axis.

    Raises:
        DTypeError: codes is not an array that holds the format.
        ParamError: there is no such format, or codes of 4 bits have no axis.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> formats.decode(np.array([0x7E, 0x80, 0x7F], np.uint8), "float8_e4m3fn")
        array([448.,  -0.,  nan], dtype=float32)
    """
    if _core.is_tensor(codes):
        return as_tensor(decode(_core.array_of(codes, "formats.decode", "codes"), format))
    name = _name_of(format, "int8")
    held = held_as("codes", codes, name)
    if name == "int8":
        return held.astype(np.float32)
    return npu_dtype_cast(held, np.float32, name, numerics=_REFERENCE)


def compare(
    x: Array, *, formats: Sequence[str] | None = None, groups: Sequence[str] | None = None
) -> FormatComparison:
    """Measure what activations or weights lose in every format, for each way to share a scale.

    Each loss comes from one call of an operator, by the documented formulas
    (``numerics="reference"``), and from dequantizing in float32. hifloat8 maps a group's greatest
    value to 32768, "hifloat8 to 15" maps it to 15. "mx" is scale_alg 0; "mx fitted" is scale_alg 1,
    for float4_e2m1 scale_alg 2 with dst_type_max 7.

    Args:
        x: float16, bfloat16 or float32, of any strides; rows lie along the last axis. An array, or
            a tensor.
        formats: which of int8, float8_e4m3fn, float8_e5m2, hifloat8, "hifloat8 to 15", int4,
            float4_e2m1 and float4_e1m2; None means all. int4 needs a last axis that is a multiple
            of 8, float4 one that is a multiple of 2; otherwise the format is left out.
        groups: which elements share a scale: which of "pertensor", "perchannel", "pertoken", "128 x
            128", "1 x 128", "mx" and "mx fitted"; None means all.

    Returns:
        A :class:`FormatComparison`: print it for a table, let a notebook show its picture, or look
        at its ``losses``: ``sqnr_db``, ``rows_db``, ``worst()``, ``bytes_per_element`` and ``call``
        of each. The call holds x and the codes of one format at a time.

    Raises:
        DTypeError: x is not an array of floats of 16 or 32 bits.
        ParamError: x has no elements or axes, or a name of ``formats`` or ``groups`` is not known.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> x = np.linspace(-1, 1, 256, dtype=np.float32).reshape(2, 128)
        >>> found = formats.compare(x, formats=["int8", "float8_e4m3fn"], groups=["pertoken"])
        >>> print(found)
        SQNR in dB of float32 (2, 128)
                       pertoken
        int8               48.1
        float8_e4m3fn      31.9
        best by format:
          int8 pertoken: 48.1 dB, worst row [0] 48.1 dB, 1.031 bytes an element
          float8_e4m3fn pertoken: 31.9 dB, worst row [0] 31.9 dB, 1.031 bytes an element
    """
    array: Any = _core.array_of(x, "formats.compare", "x") if _core.is_tensor(x) else x
    check_array("x", array, "floats")
    if array.dtype not in _FLOATS:
        text = f"x has dtype {array.dtype}, expected float16, bfloat16 or float32."
        raise DTypeError(text, PARAM_INVALID)
    if not array.ndim or not array.size:
        raise ParamError(f"x has shape {array.shape}, expected one element or more.", PARAM_INVALID)
    losses = losses_of(array, *chosen(formats, groups))
    return FormatComparison(array.dtype.name, array.shape, tuple(losses))


@overload
def pack_int4(codes: NDArray[Any]) -> NDArray[np.int32]: ...
@overload
def pack_int4(codes: T) -> T: ...
def pack_int4(codes: Array) -> Array:
    """Pack int4 codes, 8 to an int32 element: the first is its low nibble.

    Args:
        codes: int8 from -8 to 7, or ``ml_dtypes.int4``; the last axis is a multiple of 8.

    Raises:
        DTypeError: codes has another dtype.
        ParamError: a code is out of range, or the last axis is not a multiple of 8.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> formats.pack_int4(np.arange(8, dtype=np.int8)).view(np.uint32).item() == 0x76543210
        True
    """
    return packed(codes, "int4", ("int8", "int4"), -8)


@overload
def unpack_int4(elements: NDArray[Any], axis: int = ...) -> NDArray[np.int8]: ...
@overload
def unpack_int4(elements: T, axis: int = ...) -> T: ...
def unpack_int4(elements: Array, axis: int = -1) -> Array:
    """Unpack the int4 codes of int32 elements, each into an int8.

    It is the inverse of :func:`npu_quant.npu_convert_weight_to_int4pack` and :func:`pack_int4`.

    Args:
        elements: int32, such as :func:`pack_int4` and the operators give.
        axis: along which the codes of an element lie one after the other: the last one, but -2 for
            a weight that was packed and then transposed, such as (K / 8, N).

    Returns:
        The codes, from -8 to 7, with 8 times that axis.

    Raises:
        DTypeError: elements is not an array of int32.
        ParamError: elements has no such axis.
        TypeError: axis is not an int.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> formats.unpack_int4(np.array([0x10], np.int32))
        array([0, 1, 0, 0, 0, 0, 0, 0], dtype=int8)
    """
    if _core.is_tensor(elements):
        array = _core.array_of(elements, "formats.unpack_int4", "elements")
        return as_tensor(unpack_int4(array, axis))
    held = held_as("elements", elements, "int4")
    if not -held.ndim <= operator.index(axis) < held.ndim:
        text = f"axis is {axis}, expected {-held.ndim} to {held.ndim - 1}."
        raise ParamError(text, PARAM_INVALID)
    codes = _codes.int4_of(np.moveaxis(held, axis, -1))
    return np.ascontiguousarray(np.moveaxis(codes, -1, axis))


@overload
def pack_fp4(codes: NDArray[Any]) -> NDArray[np.uint8]: ...
@overload
def pack_fp4(codes: T) -> T: ...
def pack_fp4(codes: Array) -> Array:
    """Pack float4 codes of either kind, 2 to a byte: the first is its low nibble.

    Args:
        codes: uint8 from 0 to 15, or ``ml_dtypes.float4_e2m1fn``; the last axis is even.

    Raises:
        DTypeError: codes has another dtype.
        ParamError: a code is out of range, or the last axis is odd.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> hex(formats.pack_fp4(np.array([2, 15], np.uint8)).item())
        '0xf2'
    """
    return packed(codes, "float4_e2m1", ("uint8", "float4_e2m1fn"), 0)


@overload
def unpack_fp4(elements: NDArray[Any]) -> NDArray[np.uint8]: ...
@overload
def unpack_fp4(elements: T) -> T: ...
def unpack_fp4(elements: Array) -> Array:
    """Unpack the float4 codes of bytes, of either kind, each into its own byte.

    Args:
        elements: uint8, such as :func:`pack_fp4` and the operators give.

    Returns:
        The codes, from 0 to 15, with twice the last axis; of float4_e2m1
        ``.view(ml_dtypes.float4_e2m1fn)`` has their values.

    Raises:
        DTypeError: elements is not an array of uint8.

    Example:
        >>> import numpy as np
        >>> from npu_quant import formats
        >>> formats.unpack_fp4(np.array([0xF2], np.uint8))
        array([ 2, 15], dtype=uint8)
    """
    if _core.is_tensor(elements):
        array = _core.array_of(elements, "formats.unpack_fp4", "elements")
        return as_tensor(unpack_fp4(array))
    return _codes.unpacked(held_as("elements", elements, "float4_e2m1"))
