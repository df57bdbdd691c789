"""The quantizers that a check knows, a row of choices each: how amax becomes scales, w codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import _codes, formats
from .schemes import GROUP
from .weights import DTYPES

F32: Any = np.float32
_finfo: Any = ml_dtypes.finfo
Floats = NDArray[np.float32]


class Known(NamedTuple):
    """What rows of a weight are, and the dtypes that recipes round to."""

    w: Floats
    amax: Floats
    """Of each row, or of each block."""
    dtypes: dict[str, Any]
    """D, of the source; P, the params dtype; S, of stored scales of int4; F32."""


LEAST, SMALL, EPSILON = "least", "2^-23", "epsilon"
"""What a scale that vanishes becomes: the dtype's least number, 2^-23, the dtype's epsilon."""


class Int(NamedTuple):
    """A quantizer to int8 or int4: s = dtype(amax / divisor), codes from `low` on."""

    name: str
    divisor: float
    dtype: str
    zero: str | None = None
    low: int = -127
    code: str = "w / s"

    def scales(self, x: Known) -> Floats:
        """Return the scale of each row."""
        dtype = x.dtypes[self.dtype]
        s = rounded(x.amax / F32(self.divisor), dtype)
        if self.zero == SMALL:
            s = np.asarray(np.maximum(s, F32(2.0**-23)))
        elif self.zero == LEAST:
            s[(s == 0) & (x.amax != 0)] = F32(_finfo(dtype).smallest_subnormal)
        elif self.zero == EPSILON:
            s[s == 0] = F32(_finfo(dtype).eps)
        return s

    def codes(self, x: Known, s: Any) -> Floats:
        """Return codes by scales."""
        values = x.w * (F32(1) / s) if self.code == "w * (1 / s)" else x.w / s
        if self.code == "D(w / s)":
            values = rounded(values, x.dtypes["D"])
        return np.asarray(np.clip(np.rint(values), self.low, int(self.divisor)))


class Mx(NamedTuple):
    """A quantizer to float8_e4m3fn: of amax = m * 2^e E is e - 8, or e - 7 where m is large."""

    name: str
    limit: float | None
    """None: E = floor(D(log2 amax)) - 8."""
    is_at_limit: bool = False
    """Whether the limit itself is beyond."""
    code: str = "half to even"

    def scales(self, x: Known) -> NDArray[np.int32]:
        """Return E of each block."""
        if self.limit is None:
            amax = np.where(x.amax == 0, F32(2.0**-126), x.amax)
            e = np.floor(rounded(np.log2(amax), x.dtypes["D"])) - 8
            return np.clip(np.where(np.isfinite(e), e, 127), -127, 127).astype(np.int32)
        half, above = np.frexp(x.amax)
        beyond = (2 * half > self.limit) | ((2 * half == self.limit) & self.is_at_limit)
        return np.asarray(np.clip(above - 9 + beyond, -127, 127), np.int32)

    def codes(self, x: Known, e: Any) -> Floats:
        """Return the values of codes by E."""
        values = np.ldexp(x.w, -np.repeat(e, GROUP, axis=1)[:, : x.w.shape[1]])
        if self.code == "of D":
            values = rounded(values, x.dtypes["D"])
        if self.code == "half away":
            codes = _codes.encode(values, "float8_e4m3fn", "round")
        else:
            codes = formats.encode(values, "float8_e4m3fn")
        return formats.decode(codes, "float8_e4m3fn")


def rounded(x: Floats, dtype: Any) -> Floats:
    """Return float32 that went through a dtype."""
    return np.asarray(x.astype(dtype).astype(F32))


OF_CODES: dict[str, tuple[Int | Mx, ...]] = {
    "int8": (
        Int("npu_quant-P-127", 127, "P", LEAST),
        Int("fp32-127", 127, "F32"),
        Int("msmodelslim", 127, "D", SMALL, -128, "D(w / s)"),
        Int("compressed-tensors", 127.5, "D", EPSILON, -128, "D(w / s)"),
        Int("compressed-tensors-fp32", 127.5, "P", None, -128),
        Int("reciprocal", 127, "P", LEAST, -127, "w * (1 / s)"),
    ),
    "int4": (
        Int("npu_quant-7", 7, "S", LEAST, -7),
        Int("msmodelslim-4", 7, "D", SMALL, -8, "D(w / s)"),
    ),
    "mxfp8": (
        Mx("npu_quant-mx-up", 1.75),
        Mx("npu_quant-mx-floor", 2.0),
        Mx("msmodelslim-mx", None, code="half away"),
        Mx("compressed-tensors-mx", 1.75, is_at_limit=True, code="of D"),
    ),
}
OWN: dict[str, Int | Mx] = {
    "int8": Int("", 127, "F32", low=-128),
    "int4": Int("", 7, "F32", low=-8),
    "mxfp8": Mx("", 2.0),
}
"""Whose codes are those by the scales that are there."""


def known(w: Floats, codes: str, d: Any, params: str, is_ascend: bool) -> Known:
    """Return what recipes need of rows."""
    if codes == "mxfp8":
        amax = np.maximum.reduceat(np.abs(w), np.arange(0, w.shape[1], GROUP), axis=1)
    else:
        amax = np.abs(w).max(axis=1, keepdims=True)
    p = DTYPES[params]
    return Known(w, amax, {"D": d, "P": p, "S": F32 if is_ascend else p, "F32": F32})
