"""npu_dtype_cast: numbers of one format converted to another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array
from ..dtypes import DTypeName


def npu_dtype_cast(
    self: Array,
    dtype: DTypeName,
    input_dtype: DTypeName | None = None,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Convert an array to another format: a float of 32, 16, 8 or 4 bits, or int4.

    ::

        y = the number of dtype that is nearest to self

    The exact number is rounded once (docs/numerics.md 13). As everywhere in this library, codes
    saturate, and a NaN gives a NaN code only in float8_e8m0fnu; :mod:`npu_quant.formats` offers the
    same conversions under simpler names.

    Args:
        self: float16, bfloat16, float32, float8_e4m3fn, float8_e5m2 or float8_e8m0fnu; int32 for
            int4, 8 codes in an element, the first in its low nibble; uint8 for float4_e2m1 and
            float4_e1m2, 2 codes in a byte likewise, for hifloat8, or for float8_e8m0fnu. Rank 0 to
            8. It may have any strides and be unaligned or read-only; so may the arrays below.
        dtype: the format of the result: float32, float16, bfloat16, int4, hifloat8, float8_e5m2,
            float8_e4m3fn, float8_e8m0fnu, float4_e2m1 or float4_e1m2, given as torch_npu's number
            (256, 257, 283, 285, 290 to 293, 296, 297), a dtype or a name.
        input_dtype: the format that self holds, given in the same ways. It is required if self is
            int32 or uint8; otherwise it is None or self's dtype.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with self.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The numbers, of self's shape: an array of dtype; int32 for int4, uint8 for hifloat8 and
        float4. A conversion from int4 makes the last axis 8 times as long; one to int4 makes it an
        eighth, and it must be a multiple of 8. A conversion from float4 doubles the last axis, one
        to float4 halves it. (torch_npu returns int4 as uint8, two codes in a byte: that is
        ``y.view(np.uint8)``.)

    Rounding is to nearest, ties to even; to hifloat8 ties go away from zero; to float8_e8m0fnu
    ties go up, to the greater power. Edge cases:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    beyond the greatest of float16, bfloat16    inf or -inf, from half a step beyond it on
    beyond the greatest code, or infinite       the greatest code or the least: +-448, +-57344,
                                                +-32768; 7 or -8; +-6, +-1.75
    NaN to codes                                0
    NaN to floats                               NaN; its sign and payload are not promised
    -0, or below 0 and rounded to 0             -0; 0 in hifloat8 and int4, which have no -0
    codes of NaN or inf to floats               NaN or inf
    to float8_e8m0fnu, which has powers of 2    2^-127 for 0, -0 and positive values below it; 2^127
                                                for inf and what is beyond it; NaN for values below
                                                0 and NaN
    no elements                                 empty
    ==========================================  ===================================================

    Beyond the greatest code ``ml_dtypes`` differs: float8_e4m3fn is NaN above 464, float8_e5m2 is
    infinite from 61440 on, and a NaN stays NaN. torch 2.13 saturates float8_e4m3fn, too. For
    float8_e8m0fnu see :func:`npu_quant.formats.encode`.

    Raises:
        DTypeError: self is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``dtype=None``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([1, -1.5, 300, 0.1], dtype=np.float32)
        >>> y = npu_quant.npu_dtype_cast(x, "hifloat8")
        >>> y
        array([  8, 140,  96,  82], dtype=uint8)
        >>> npu_quant.npu_dtype_cast(y, np.float32, "hifloat8").tolist()
        [1.0, -1.5, 256.0, 0.09375]
        >>> npu_quant.npu_dtype_cast(x, "float4_e2m1")  # 1 and -1.5, 6 and 0
        array([178,   7], dtype=uint8)

    Source: torch_npu.npu_dtype_cast (Ascend/op-plugin), which calls aclnnCast (hicann/ops-math
    ``math/cast``). aclnnCast takes integers, too; here use NumPy's ``astype`` for them.
    """
    return _core.npu_dtype_cast(self, dtype, input_dtype, out, numerics)


def reference(
    self: NDArray[Any], dtype: DTypeName, input_dtype: DTypeName | None = None
) -> NDArray[Any]:
    """Compute :func:`npu_dtype_cast` in plain NumPy: the same, to the bit, without checks."""
    to = _codes.row_of(dtype)
    held = _codes.row_of(self.dtype if input_dtype is None else input_dtype)
    is_float = held.name in ("float32", "float16", "bfloat16")
    with np.errstate(all="ignore"):
        v = self.astype(np.float32) if is_float else _codes.decode(self, held.name)
        if to.name in ("float32", "float16", "bfloat16"):
            return v.astype(to.carrier)
        return _codes.encode(v, to.name)
