"""Arrays of codes and tensors of codes: what :mod:`npu_quant.formats` takes, checks and packs."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _codes, _core
from .errors import DTypeError, ParamError

PARAM_INVALID = 161002


def as_tensor(array: NDArray[Any]) -> NDArray[Any]:
    """A tensor in the memory of an array; torch is there, for an argument was a tensor."""
    tensor: NDArray[Any] = sys.modules["torch"].from_numpy(array)
    return tensor


def held_as(argument: str, codes: Any, name: str) -> NDArray[Any]:
    """Codes as an array of their format's carrier."""
    row = _codes.row_of(name)
    check_array(argument, codes, str(row.carrier))
    if codes.dtype != row.carrier:
        is_same = codes.dtype.itemsize == 1 and codes.dtype.name in (name, "uint8")
        if name == "int4" or not is_same:
            text = f"{argument} has dtype {codes.dtype}, expected {row.carrier} for {name}."
            raise DTypeError(text, PARAM_INVALID)
    if row.bits == 4:
        check_axis(argument, codes.shape, 1)
    held: NDArray[Any] = codes.view(row.carrier)
    return held


def check_array(argument: str, value: object, expected: str) -> None:
    """Refuse what is no array, and what would lose its mask."""
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        raise DTypeError(f"{argument} is not a numpy.ndarray, expected {expected}.", PARAM_INVALID)


def check_axis(argument: str, shape: tuple[int, ...], factor: int) -> None:
    if not shape or shape[-1] % factor:
        wanted = (
            f"a last axis that is a multiple of {factor}" if factor > 1 else "at least one axis"
        )
        raise ParamError(f"{argument} has shape {shape}, expected {wanted}.", PARAM_INVALID)


def packed(codes: Any, name: str, dtypes: tuple[str, str], low: int) -> NDArray[Any]:
    if _core.is_tensor(codes):
        array = _core.array_of(codes, "formats.pack", "codes")
        return as_tensor(packed(array, name, dtypes, low))
    carrier = _codes.row_of(name).carrier
    check_array("codes", codes, " or ".join(dtypes))
    if codes.dtype.name not in dtypes:
        text = f"codes has dtype {codes.dtype}, expected {' or '.join(dtypes)}."
        raise DTypeError(text, PARAM_INVALID)
    is_plain = codes.dtype.name == dtypes[0]
    if is_plain and codes.size and (codes.min() < low or codes.max() > low + 15):
        raise ParamError(f"codes are beyond {name}, expected {low} to {low + 15}.", PARAM_INVALID)
    check_axis("codes", codes.shape, 2 * carrier.itemsize)
    return _codes.packed(codes.view(np.uint8), carrier)
