"""npu_rms_norm_quant: an RMS norm, and its codes with given scales."""

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
    """Normalize by the root mean square, scale by gamma, add beta, and quantize.

    ::

        rstd = 1 / sqrt(mean(x * x) + epsilon)    over the last axis
        t    = x * rstd * gamma + beta
        y    = code(t / scale + offset)           the nearest of dst_dtype, saturated

    Every operation is one IEEE float32 operation per element, from left to right, and the sum in
    the mean has a fixed order (docs/numerics.md 5); 16-bit inputs are widened exactly, int32
    offsets rounded to float32.

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. It may have any
            strides and be unaligned or read-only; so may the arrays below. A row is along the last
            axis, and has D elements.
        gamma: the norm's weight, of x's dtype, ``(D,)`` or ``(1, D)``.
        beta: the norm's bias, of gamma's dtype and shapes.
        scale: divides ``t``. float32 or of x's dtype, ``(1,)`` or ``(D,)``. Any sign.
        offset: added before rounding: int8, int32, float32 or of x's dtype, ``(1,)`` or ``(D,)``.
        epsilon: any number; it is rounded to float32 first.
        dst_dtype: the format of ``y``: int8 (also None), int4, hifloat8, float8_e5m2 or
            float8_e4m3fn, given as torch_npu's number (258, 285, 290, 291, 292), torch's number, a
            dtype or a name. :func:`npu_quant.npu_quantize` says how arrays hold them.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        Codes of x's shape. int4 packs 8 codes into an element: x's last axis must be a multiple of
        8, and the codes have an eighth of it. ``(y - offset) * scale`` dequantizes to about ``t``.

    Rounding comes after the offset is added, and is to nearest, ties to even; in hifloat8 ties go
    away from zero. Edge cases, in int8; other formats end at their own codes:

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
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
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
