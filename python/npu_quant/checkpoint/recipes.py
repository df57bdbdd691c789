"""The arithmetic of the quantizers that a check knows: scales and codes of rows of a weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import formats
from ..ops import npu_dtype_cast
from .schemes import GROUP
from .weights import DTYPES

F32: Any = np.float32
_finfo: Any = ml_dtypes.finfo
LEAST = F32(2.0**-23)
Floats = NDArray[np.float32]


class Known(NamedTuple):
    """What rows of a weight are, and the dtypes that recipes round to."""

    w: Floats
    amax: Floats
    """Of each row, or of each block."""
    d: Any
    """The dtype of the source."""
    p: Any
    """The params dtype."""
    stored: Any
    """The dtype of the scales of int4."""


class Recipe(NamedTuple):
    """A quantizer's scales, and its codes by scales."""

    name: str
    scale: Callable[[Known], NDArray[Any]]
    code: Callable[[Known, NDArray[Any]], Floats]


def rounded(x: Floats, dtype: Any) -> Floats:
    """Return float32 that went through a dtype."""
    return np.asarray(x.astype(dtype).astype(F32))


def _ours(x: Known, greatest: float, dtype: Any) -> Floats:
    s = rounded(x.amax / F32(greatest), dtype)
    s[(s == 0) & (x.amax != 0)] = F32(_finfo(dtype).smallest_subnormal)
    return s


def _halved(x: Known) -> Floats:
    s = rounded(x.amax / F32(127.5), x.d)
    s[s == 0] = F32(_finfo(x.d).eps)
    return s


def nearest(low: int, high: int) -> Callable[[Known, Any], Floats]:
    """Return rint(w / s) within two codes."""
    return lambda x, s: np.clip(np.rint(x.w / s), low, high)


def _in_d(low: int, high: int) -> Callable[[Known, Any], Floats]:
    return lambda x, s: np.clip(np.rint(rounded(x.w / s, x.d)), low, high)


def _reciprocal(x: Known, s: Any) -> Floats:
    return np.asarray(np.clip(np.rint(x.w * (F32(1) / s)), -127, 127))


INT8 = (
    Recipe("npu_quant-P-127", lambda x: _ours(x, 127, x.p), nearest(-127, 127)),
    Recipe("fp32-127", lambda x: x.amax / F32(127), nearest(-127, 127)),
    Recipe(
        "msmodelslim",
        lambda x: np.maximum(rounded(x.amax / F32(127), x.d), LEAST),
        _in_d(-128, 127),
    ),
    Recipe("compressed-tensors", _halved, _in_d(-128, 127)),
    Recipe(
        "compressed-tensors-fp32", lambda x: rounded(x.amax / F32(127.5), x.p), nearest(-128, 127)
    ),
    Recipe("reciprocal", lambda x: _ours(x, 127, x.p), _reciprocal),
)
INT4 = (
    Recipe("npu_quant-7", lambda x: _ours(x, 7, x.stored), nearest(-7, 7)),
    Recipe(
        "msmodelslim-4", lambda x: np.maximum(rounded(x.amax / F32(7), x.d), LEAST), _in_d(-8, 7)
    ),
)


def _exponent(amax: Floats, limit: float, at_limit: int) -> NDArray[np.int32]:
    """Return e - 8, or e - 7 where the mantissa is beyond a limit, or at it."""
    half, above = np.frexp(amax)
    beyond = (2 * half > limit) | ((2 * half == limit) & (at_limit > 0))
    return np.asarray(np.clip(above - 9 + beyond, -127, 127), np.int32)


def _by_log2(x: Known) -> NDArray[np.int32]:
    amax = np.where(x.amax == 0, F32(2.0**-126), x.amax)
    e = np.floor(rounded(np.log2(amax), x.d)) - 8
    return np.clip(np.where(np.isfinite(e), e, 127), -127, 127).astype(np.int32)


def _e4m3(x: Floats) -> Floats:
    """Return values that e4m3 has, half to even."""
    q = np.asarray(npu_dtype_cast(np.clip(x, F32(-448), F32(448)), "float8_e4m3fn"))
    return formats.decode(q.view(np.uint8), "float8_e4m3fn")


def _e4m3_away(x: Floats) -> Floats:
    """Return values that e4m3 has, half away from zero."""
    size = np.minimum(np.abs(x), F32(448))
    _, above = np.frexp(size)
    step = np.maximum(above - 1, -6) - 3
    steps = np.ldexp(size, -step)
    whole = np.floor(steps + F32(0.5))
    return np.asarray(np.copysign(np.minimum(np.ldexp(whole, step), F32(448)), x))


def _scaled(x: Known, e: NDArray[np.int32]) -> Floats:
    return np.asarray(np.ldexp(x.w, -np.repeat(e, GROUP, axis=1)[:, : x.w.shape[1]]))


def mx_nearest(x: Known, e: Any) -> Floats:
    """Return the e4m3 values nearest to w * 2^-e, half to even."""
    return _e4m3(_scaled(x, e))


MX = (
    Recipe("npu_quant-mx-up", lambda x: _exponent(x.amax, 1.75, 0), mx_nearest),
    Recipe("npu_quant-mx-floor", lambda x: _exponent(x.amax, 2.0, 0), mx_nearest),
    Recipe("msmodelslim-mx", _by_log2, lambda x, e: _e4m3_away(_scaled(x, e))),
    Recipe(
        "compressed-tensors-mx",
        lambda x: _exponent(x.amax, 1.75, 1),
        lambda x, e: _e4m3(rounded(_scaled(x, e), x.d)),
    ),
)
OF_CODES = {"int8": INT8, "int4": INT4, "mxfp8": MX}
OWN = {"int8": nearest(-128, 127), "int4": nearest(-8, 7), "mxfp8": mx_nearest}
"""Codes by the scales that are there."""


def blocks_amax(w: Floats) -> Floats:
    """Return the greatest magnitude of each block of a row."""
    starts = np.arange(0, w.shape[1], GROUP)
    return np.maximum.reduceat(np.abs(w), starts, axis=1)


def known(w: Floats, codes: str, d: Any, params: str, is_ascend: bool) -> Known:
    """Return what recipes need of rows."""
    amax = blocks_amax(w) if codes == "mxfp8" else np.abs(w).max(axis=1, keepdims=True)
    p = DTYPES[params]
    return Known(w, amax, d, p, F32 if is_ascend else p)
