"""npu_add_rms_norm_quant: a residual sum, its RMS norm, and codes of the norm."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _norm
from ..arrays import Array
from ..dtypes import DTypeName


class AddRmsNormQuantResult(NamedTuple):
    """What :func:`npu_add_rms_norm_quant` returns; a field is None where ``out`` holds None."""

    y1: NDArray[Any]
    """Codes by scales1 and zero_points1, of x1's shape: int8, or dst_type."""
    y2: NDArray[Any]
    """Codes by scales2 and zero_points2, of x1's shape; all zero bytes without scales2."""
    x: NDArray[Any]
    """``x1 + x2``, of x1's shape and dtype."""


def npu_add_rms_norm_quant(
    x1: Array,
    x2: Array,
    gamma: Array,
    scales1: Array,
    zero_points1: Array | None,
    beta: Array | None = None,
    scales2: Array | None = None,
    zero_points2: Array | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-06,
    div_mode: bool = True,
    dst_type: DTypeName | None = None,
    out: tuple[Array | None, Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> AddRmsNormQuantResult:
    """Add, normalize by the root mean square, scale by gamma, and quantize.

    ::

        s    = x1 + x2
        x    = s                                  rounded to x1's dtype
        rstd = 1 / sqrt(mean(s * s) + epsilon)    over the axes of gamma
        t    = s * rstd * gamma                   or  s * rstd * gamma + beta
        y1   = code(t / scales1 + zero_points1)   the nearest of dst_type, saturated
        y2   = code(t / scales2 + zero_points2)   likewise

    With ``div_mode=False`` the scales multiply: ``t * scales1``. Every operation is one IEEE
    float32 operation per element, from left to right, and the sum in the mean has a fixed order
    (docs/numerics.md 5); 16-bit inputs are widened exactly, int32 zero points rounded to float32.
    The norm is taken of ``s``, not of its rounded copy ``x``.

    Args:
        x1: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. It may have any
            strides and be unaligned or read-only; so may the arrays below.
        x2: of x1's shape and dtype.
        gamma: the norm's weight, of x1's dtype and of the shape of x1's last axes, rank 1 to 8. The
            norm is taken over all axes of gamma.
        scales1: divides ``t`` (multiplies it with ``div_mode=False``). float32 or of x1's dtype: of
            gamma's shape, of gamma's last axis (with or without axes of 1 before it), or one
            element. Any sign.
        zero_points1: added before rounding: int32, float32 or of x1's dtype. Any of the shapes that
            scales1 may have; None for no zero point.
        beta: the norm's bias, of gamma's shape and dtype; None for no bias.
        scales2: the same as scales1, for ``y2``; None for no ``y2``.
        zero_points2: the same as zero_points1, for ``y2``; without scales2 it is checked but not
            used.
        axis: -1.
        epsilon: any number; it is rounded to float32 first.
        div_mode: True divides by the scales, False multiplies by them.
        dst_type: the format of ``y1`` and ``y2``: int8 (also None), int4, hifloat8, float8_e5m2 or
            float8_e4m3fn, given as torch_npu's number (258, 285, 290, 291, 292), torch's number (1,
            16, 23, 24), a dtype or a name. :func:`npu_quant.npu_quantize` says how arrays hold
            them.
        out: where to write ``(y1, y2, x)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y1, y2, x)``: codes, codes, and x of x1's dtype, each of x1's shape. int4 packs 8 codes
        into an element: x1's last axis must be a multiple of 8, and the codes have an eighth of it.
        ``(y1 - zero_points1) * scales1`` dequantizes to about ``t``.

    Rounding comes after the zero point is added, and is to nearest, ties to even; in hifloat8 ties
    go away from zero. Edge cases, in int8; other formats end at their own codes, and float8 keeps
    the sign of a zero, as in :func:`npu_quant.npu_quantize`:

    ==========================================  ===============  ===================================
    what                                        x                y1 (y2 likewise)
    ==========================================  ===============  ===================================
    row all zero                                0                t is 0: beta, scale and zero point
    row all zero, epsilon 0                     0                0 everywhere: 0 * inf
    row holds NaN (or inf - inf)                NaN there        0 in the whole row
    row holds inf or -inf, no NaN               inf there        0 for it, others as if t were 0
    row's sum of squares overflows              finite           all as if t were 0
    element beyond x1's dtype                   inf there        by the formula: s is finite
    mean square + epsilon negative, or NaN      s                0 in the whole row
    scale 0, div_mode=True                      s                127 for t > 0, -128 for t < 0,
                                                                 0 for 0, whatever the zero point
    scale or zero point NaN                     s                0
    scale infinite, div_mode=True               s                as if t were 0
    no scales2                                  s                y2 is 0 everywhere
    no elements                                 empty            empty
    ==========================================  ===============  ===================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``div_mode="yes"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x1 = np.array([[1, 2, 3, 4]], dtype=np.float16)
        >>> x2 = np.array([[0.5, -1, 0.25, 1]], dtype=np.float16)
        >>> gamma = np.array([1, 0.5, 2, 1.5], dtype=np.float16)
        >>> scales1 = np.array([0.1, 0.05, 0.1, 0.02], dtype=np.float32)
        >>> zero_points1 = np.array([0, 3, -5, 10], dtype=np.int32)
        >>> y1, y2, x = npu_quant.npu_add_rms_norm_quant(x1, x2, gamma, scales1, zero_points1)
        >>> y1
        array([[  5,   6,  16, 127]], dtype=int8)
        >>> x
        array([[1.5 , 1.  , 3.25, 5.  ]], dtype=float16)

    Source: aclnnAddRmsNormQuant and torch_npu.npu_add_rms_norm_quant (hicann/ops-nn
    ``norm/add_rms_norm_quant`` and ``norm/add_rms_norm_quant_v2``, Ascend/op-plugin). The A2 and A3
    devices take 16-bit types. They round float16 to 16 bits on the way, so their codes may differ
    by one; and they do not write ``y2`` if scales2 is missing.
    """
    return _core.npu_add_rms_norm_quant(
        AddRmsNormQuantResult,
        x1,
        x2,
        gamma,
        scales1,
        zero_points1,
        beta,
        scales2,
        zero_points2,
        axis,
        epsilon,
        div_mode,
        dst_type,
        out,
        numerics,
    )


def _over_gamma(a: NDArray[Any], gamma: NDArray[Any]) -> NDArray[np.float32]:
    """Widen a scale or zero point, one value for each element of gamma."""
    flat = a.astype(np.float32).reshape(-1)
    if flat.size == gamma.size:
        return flat
    return np.broadcast_to(flat, gamma.shape).reshape(-1)


def reference(
    x1: NDArray[Any],
    x2: NDArray[Any],
    gamma: NDArray[Any],
    scales1: NDArray[Any],
    zero_points1: NDArray[Any] | None,
    beta: NDArray[Any] | None = None,
    scales2: NDArray[Any] | None = None,
    zero_points2: NDArray[Any] | None = None,
    *,
    epsilon: float = 1e-06,
    div_mode: bool = True,
    dst_type: DTypeName | None = None,
) -> AddRmsNormQuantResult:
    """Compute :func:`npu_add_rms_norm_quant` in plain NumPy: the formula, without checks."""

    def quantize(scales: NDArray[Any], zero_points: NDArray[Any] | None) -> NDArray[Any]:
        scale = _over_gamma(scales, gamma)
        q = t / scale if div_mode else t * scale
        if zero_points is not None:
            q = q + _over_gamma(zero_points, gamma)
        return _codes.encode(q.reshape(x1.shape), "int8" if dst_type is None else dst_type)

    with np.errstate(all="ignore"):
        s = x1.astype(np.float32) + x2.astype(np.float32)
        x = s.astype(x1.dtype)
        s = s.reshape(*x1.shape[: x1.ndim - gamma.ndim], gamma.size)
        t, _ = _norm.rms_norm(s, gamma, beta, epsilon)
        y1 = quantize(scales1, zero_points1)
        y2 = np.zeros(y1.shape, y1.dtype) if scales2 is None else quantize(scales2, zero_points2)
    return AddRmsNormQuantResult(y1, y2, x)
