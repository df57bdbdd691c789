"""npu_rms_norm_quant: an RMS norm, and codes of that by scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _norm
from ..arrays import Array
from ..dtypes import DTypeName


def npu_rms_norm_quant(
    x: Array,
    gamma: Array,
    beta: Array,
    scale: Array,
    offset: Array,
    epsilon: float = 1e-06,
    *,
    dst_dtype: DTypeName | None = None,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Normalize by the root of the mean square, scale by gamma, add beta, and quantize.

    ::

        rstd = 1 / sqrt(mean(x * x) + epsilon)    over the last axis
        t    = x * rstd * gamma + beta
        y    = code(t / scale + offset)           the nearest of dst_dtype, saturated

    Every operation is one IEEE float32 operation per element, from left to right, and the mean's
    sum has a fixed order (docs/numerics.md 5); 16-bit inputs are widened exactly, int32 offsets
    rounded to float32.

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. Any strides,
            unaligned and read-only arrays included, here and below. A row is its last axis, of D
            elements.
        gamma: the norm's weight, of x's dtype, ``(D,)`` or ``(1, D)``.
        beta: the norm's bias, as gamma.
        scale: what ``t`` is divided by, float32 or of x's dtype, ``(1,)`` or ``(D,)``. Any sign.
        offset: what is added before rounding: int8, int32, float32 or of x's dtype, ``(1,)`` or
            ``(D,)``.
        epsilon: any number, rounded to float32 first.
        dst_dtype: the format of ``y``: int8, which None means, too, int4, hifloat8, float8_e5m2 or
            float8_e4m3fn, as torch_npu's code (258, 285, 290, 291, 292), torch's, dtype or name.
            How arrays hold them: :func:`npu_quant.npu_quantize`.
        out: where to write the result: an array of exactly its shape and dtype, any strides, apart
            from the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        Codes of x's shape; but that int4, 8 codes to an element, needs a last axis of a multiple of
        8, of which it has an eighth. The way back to about ``t`` is ``(y - offset) * scale``.

    Rounding is to nearest, ties to even, in hifloat8 away from zero, after the offset is added. Out
    of the ordinary, in int8; other formats end at their own codes:

    ==========================================  ===================================
    what                                        y
    ==========================================  ===================================
    row all zero                                t is 0: beta, scale and offset
    row all zero, epsilon 0                     0 everywhere: 0 * inf
    row holds NaN                               0 in the whole row
    row holds inf or -inf, no NaN               0 for it, others as if t were 0
    row's sum of squares overflows              all as if t were 0
    mean square + epsilon negative, or NaN      0 in the whole row
    scale 0 (not -0), finite offset             127 for t > 0, -128 for t < 0, 0 for 0
    scale or offset NaN                         0
    no elements                                 empty
    ==========================================  ===================================

    Raises:
        DTypeError: an array is missing (code 161001), is no ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``epsilon="small"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[3, -1, 2, 4]], np.float16)
        >>> gamma, beta = np.ones(4, np.float16), np.zeros(4, np.float16)
        >>> scale, offset = np.array([0.01], np.float32), np.array([3], np.int8)
        >>> npu_quant.npu_rms_norm_quant(x, gamma, beta, scale, offset)
        array([[113, -34,  76, 127]], dtype=int8)

    Source: torch_npu.npu_rms_norm_quant (hicann/ops-nn ``norm/rms_norm_quant``, Ascend/op-plugin).
    torch_npu's document prints ``* scale``; aclnn's document, the kernel and its test divide. The
    A2 device rounds t to float16 first.
    """
    return _core.npu_rms_norm_quant(
        x, gamma, beta, scale, offset, epsilon, dst_dtype, out, numerics
    )


def reference(
    x: NDArray[Any],
    gamma: NDArray[Any],
    beta: NDArray[Any],
    scale: NDArray[Any],
    offset: NDArray[Any],
    epsilon: float = 1e-06,
    *,
    dst_dtype: DTypeName | None = None,
) -> NDArray[Any]:
    """Compute :func:`npu_rms_norm_quant` in plain NumPy: the formula, without checks."""
    with np.errstate(all="ignore"):
        t, _ = _norm.rms_norm(x.astype(np.float32), gamma, beta, epsilon)
        q = t / scale.astype(np.float32) + offset.astype(np.float32)
    return _codes.encode(q, "int8" if dst_dtype is None else dst_dtype)
