"""npu_rms_norm_quant_v2: an RMS norm, and codes of that by scales."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _norm
from ..arrays import Array
from ..dtypes import DTypeName


class RmsNormQuantV2Result(NamedTuple):
    """What :func:`npu_rms_norm_quant_v2` returns; a field is None where ``out`` holds None."""

    y: NDArray[Any]
    """Codes, of x's shape: int8, or as dst_dtype says."""
    rstd: NDArray[np.float32]
    """What rows are multiplied by, of x's shape but for a last axis of 1."""


def npu_rms_norm_quant_v2(
    x: Array,
    gamma: Array,
    scale: Array,
    *,
    offset: Array | None = None,
    beta: Array | None = None,
    epsilon: float = 1e-06,
    div_mode: bool = True,
    dst_dtype: DTypeName | None = None,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> RmsNormQuantV2Result:
    """Normalize by the root of the mean square, scale by gamma, and quantize; the root, too.

    ::

        rstd = 1 / sqrt(mean(x * x) + epsilon)    over the last axis
        t    = x * rstd * gamma + beta
        y    = code(t / scale + offset)           the nearest of dst_dtype, saturated

    With ``div_mode=False`` the scales multiply: ``t * scale``. Every operation is one IEEE float32
    operation per element, from left to right, and the mean's sum has a fixed order
    (docs/numerics.md 5); 16-bit inputs are widened exactly, int32 offsets rounded to float32.

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. Any strides,
            unaligned and read-only arrays included, here and below. A row is its last axis, of D
            elements.
        gamma: the norm's weight, of x's dtype, ``(D,)`` or ``(1, D)``.
        scale: what ``t`` is divided by, float32 or of x's dtype, ``(1,)`` or ``(D,)``. Any sign.
        offset: what is added before rounding: int8, int32, float32 or of x's dtype, ``(1,)`` or
            ``(D,)``; None for nothing.
        beta: the norm's bias, as gamma; None for nothing.
        epsilon: any number, rounded to float32 first.
        div_mode: whether to divide by the scales or to multiply.
        dst_dtype: the format of ``y``: int8, which None means, too, int4, hifloat8, float8_e5m2 or
            float8_e4m3fn, as torch_npu's code (258, 285, 290, 291, 292), torch's, dtype or name.
            How arrays hold them: :func:`npu_quant.npu_quantize`.
        out: where to write ``(y, rstd)``: arrays of exactly the result's shapes and dtypes, any
            strides, apart from each other and the inputs; None for one that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, rstd)``: codes of x's shape (int4 has an eighth of its last axis, which has to be a
        multiple of 8), and float32 of ``x.shape[:-1] + (1,)``.

    Rounding is to nearest, ties to even, in hifloat8 away from zero, after the offset is added.
    What codes become of scales and offsets out of the ordinary:
    :func:`npu_quant.npu_rms_norm_quant`. Of rows, in int8:

    ==========================================  ====  ===================================
    row                                         rstd  y
    ==========================================  ====  ===================================
    all zero, epsilon 0                         inf   0 everywhere: 0 * inf
    holds NaN                                   NaN   0 everywhere
    holds inf or -inf, no NaN                   0     0 for it, others as if t were 0
    its sum of squares overflows                0     all as if t were 0
    mean square + epsilon negative, or NaN      NaN   0 everywhere
    without elements                            NaN   empty
    ==========================================  ====  ===================================

    Raises:
        DTypeError: an array is missing (code 161001), is no ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``epsilon="small"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[3, -1, 2, 4, 0, 0, 0, 0]], np.float16)
        >>> scale, offset = np.array([0.5], np.float32), np.array([1], np.int32)
        >>> y, rstd = npu_quant.npu_rms_norm_quant_v2(
        ...     x, np.ones(8, np.float16), scale, offset=offset, dst_dtype="int4"
        ... )
        >>> hex(y[0, 0])
        '0x11115304'
        >>> rstd
        array([[0.5163977]], dtype=float32)

    Source: torch_npu.npu_rms_norm_quant_v2 (hicann/ops-nn ``norm/rms_norm_quant_v2``,
    Ascend/op-plugin). The mean is that of the last axis, whatever the rank of gamma: upstream's
    test takes it over axis 0 where gamma has two.
    """
    return _core.npu_rms_norm_quant_v2(
        RmsNormQuantV2Result,
        x,
        gamma,
        scale,
        offset,
        beta,
        epsilon,
        div_mode,
        dst_dtype,
        out,
        numerics,
    )


def reference(
    x: NDArray[Any],
    gamma: NDArray[Any],
    scale: NDArray[Any],
    *,
    offset: NDArray[Any] | None = None,
    beta: NDArray[Any] | None = None,
    epsilon: float = 1e-06,
    div_mode: bool = True,
    dst_dtype: DTypeName | None = None,
) -> RmsNormQuantV2Result:
    """Compute :func:`npu_rms_norm_quant_v2` in plain NumPy: the formula, without checks."""
    with np.errstate(all="ignore"):
        t, rstd = _norm.rms_norm(x.astype(np.float32), gamma, beta, epsilon)
        factor = scale.astype(np.float32)
        q = t / factor if div_mode else t * factor
        if offset is not None:
            q = q + offset.astype(np.float32)
    y = _codes.encode(q, "int8" if dst_dtype is None else dst_dtype)
    return RmsNormQuantV2Result(y, rstd[..., None])
