"""npu_anti_mx_quant: codes and block scales back to floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _mx
from ..arrays import Array
from ..dtypes import DTypeName


def npu_anti_mx_quant(
    x: Array,
    mxscale: Array,
    *,
    axis: int | None = -1,
    dst_type: DTypeName | None = 15,
    src_type: DTypeName | None = 292,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Dequantize MX codes with one power of two for each block of 32 along an axis.

    ::

        y = c * 2^(b - 127)          c: the number that a code stands for, b: its block's byte

    The product is one IEEE float32 operation, exact unless it overflows (docs/numerics.md 15); it
    is then rounded to ``dst_type``.

    Args:
        x: float8_e4m3fn or float8_e5m2 (of ``ml_dtypes``); or uint8 for float4, 2 codes in each
            byte, the first in its low nibble. Rank 1 to 7. It may have any strides and be unaligned
            or read-only; so may the arrays below. Pass float8 codes held in uint8, or in V1 as
            ``np.load`` returns them, as ``x.view(ml_dtypes.float8_e4m3fn)``.
        mxscale: uint8, or ``ml_dtypes.float8_e8m0fnu``, as :func:`npu_dynamic_mx_quant` gives it:
            the result's shape with ``axis``, of ``nb`` blocks, replaced by ``ceil(nb / 2)``, and an
            added last axis of 2; ``mxscale[..., p, ..., j]`` is the byte of block ``2 p + j``.
            Blocks have 32 elements. The mxscale of larger blocks may have the same shape: it then
            gives wrong values, and no error.
        axis: the axis along which the blocks lie. None means -1.
        dst_type: the type of the result: bfloat16 (also None), float16 or float32, given as
            torch_npu's number (15, 5, 6), a dtype or a name.
        src_type: the format of x, given in the same ways: for float8 its dtype; for uint8
            float4_e2m1 (296, also None) or float4_e1m2 (297).
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The values, of x's shape; for float4 with twice the last axis.

    Rounding is to nearest, ties to even. Edge cases:

    ==========================================  ===============================================
    what                                        y
    ==========================================  ===============================================
    byte 255                                    NaN, also for codes of 0
    byte 0                                      the power is 2^-127
    codes of NaN: float8_e4m3fn 7F and FF,      NaN
    float8_e5m2 7D to 7F, FD to FF
    codes of inf: float8_e5m2 7C and FC         inf and -inf
    codes of -0                                 -0
    beyond dst_type's range                     inf or -inf: float16 ends at 65504
    below dst_type's normal range               subnormal, or 0 with the sign of the code
    no elements                                 empty; the rules for mxscale hold
    ==========================================  ===============================================

    Raises:
        DTypeError: ``x`` or ``mxscale`` is missing (code 161001), is not an ndarray, or has another
            dtype.
        ParamError: a rank, a shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``axis="a"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([1, -2.5, 7, -5], dtype=np.float32)
        >>> y, mxscale = npu_quant.npu_dynamic_mx_quant(x)
        >>> npu_quant.npu_anti_mx_quant(y, mxscale, dst_type="float32", src_type=296)
        array([ 1., -2.,  6., -4.], dtype=float32)

    Source: torch_npu.npu_anti_mx_quant (hicann/ops-nn ``quant/anti_mx_quant``, Ascend/op-plugin).
    Its kernel takes only the last axis, and saturates where this function gives infinities.
    """
    return _core.npu_anti_mx_quant(x, mxscale, axis, dst_type, src_type, out, numerics)


def reference(
    x: NDArray[Any],
    mxscale: NDArray[Any],
    *,
    axis: int | None = -1,
    dst_type: DTypeName | None = 15,
    src_type: DTypeName | None = 292,
) -> NDArray[Any]:
    """Compute npu_anti_mx_quant in plain NumPy: the formula, without checks."""
    with np.errstate(all="ignore"):
        q = _codes.decode(x, 296 if src_type is None else src_type)
        axis = -1 if axis is None else axis
        b = _mx.spread(_mx.unpaired(mxscale, axis), axis, q.shape[axis])
        y = q * _codes.decode(b, "float8_e8m0fnu")
        return y.astype(_codes.row_of(15 if dst_type is None else dst_type).carrier)
