"""npu_rms_norm_quant_v2: an RMS norm, its codes with given scales, and rstd."""

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
    """float32, the formula's rstd: of x's shape with a last axis of 1."""


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
    """Normalize by the root mean square, scale by gamma, and quantize; return rstd, too.

    ::

        rstd = 1 / sqrt(mean(x * x) + epsilon)    over the last axis
        t    = x * rstd * gamma + beta
        y    = code(t / scale + offset)           the nearest of dst_dtype, saturated

    With ``div_mode=False`` the scales multiply: ``t * scale``. Every operation is one IEEE float32
    operation per element, from left to right, and the sum in the mean has a fixed order
    (docs/numerics.md 5); 16-bit inputs are widened exactly, int32 offsets rounded to float32.

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. It may have any
            strides and be unaligned or read-only; so may the arrays below. A row is along the last
            axis, and has D elements.
        gamma: the norm's weight, of x's dtype, ``(D,)`` or ``(1, D)``.
        scale: divides ``t`` (multiplies it with ``div_mode=False``). float32 or of x's dtype,
            ``(1,)`` or ``(D,)``. Any sign.
        offset: added before rounding: int8, int32, float32 or of x's dtype, ``(1,)`` or ``(D,)``;
            None for no offset.
        beta: the norm's bias, of gamma's dtype and shapes; None for no bias.
        epsilon: any number; it is rounded to float32 first.
        div_mode: True divides by the scales, False multiplies by them.
        dst_dtype: the format of ``y``: int8 (also None), int4, hifloat8, float8_e5m2 or
            float8_e4m3fn, given as torch_npu's number (258, 285, 290, 291, 292), torch's number, a
            dtype or a name. :func:`npu_quant.npu_quantize` says how arrays hold them.
        out: where to write ``(y, rstd)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, rstd)``: codes of x's shape (int4: an eighth of the last axis, which must be a
        multiple of 8), and float32 of shape ``x.shape[:-1] + (1,)``.

    Rounding comes after the offset is added, and is to nearest, ties to even; in hifloat8 ties go
    away from zero. For special scales and offsets see :func:`npu_quant.npu_rms_norm_quant`. Edge
    cases, by row, in int8:

    ==========================================  ====  ===================================
    row                                         rstd  y
    ==========================================  ====  ===================================
    all zero, epsilon 0                         inf   0 everywhere: 0 * inf
    holds NaN                                   NaN   0 everywhere
    holds inf or -inf, no NaN                   0     0 for it, others as if t were 0
    sum of squares overflows                    0     all as if t were 0
    mean square + epsilon negative, or NaN      NaN   0 everywhere
    no elements                                 NaN   empty
    ==========================================  ====  ===================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
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
    Ascend/op-plugin). The mean is taken over the last axis, whatever the rank of gamma; upstream's
    test takes it over axis 0 if gamma has two axes.
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
