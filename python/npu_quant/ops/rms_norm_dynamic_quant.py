"""npu_rms_norm_dynamic_quant: an RMS norm, and codes of each row by a scale of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core, _norm
from ..arrays import Array
from . import dynamic_quant


class RmsNormDynamicQuantResult(NamedTuple):
    """What :func:`npu_rms_norm_dynamic_quant` returns; a field is None where ``out`` holds None."""

    y: NDArray[np.int8]
    """Codes, of x's shape."""
    scale: NDArray[np.float32]
    """One per row, of ``x.shape[:-1]``."""


def npu_rms_norm_dynamic_quant(
    x: Array,
    gamma: Array,
    *,
    smooth_scale: Array | None = None,
    beta: Array | None = None,
    epsilon: float = 1e-06,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> RmsNormDynamicQuantResult:
    """Normalize by the root of the mean square, scale by gamma, and quantize each row.

    ::

        rstd  = 1 / sqrt(mean(x * x) + epsilon)    over the last axis
        t     = x * rstd * gamma + beta
        v     = t                                  or  t * smooth_scale
        scale = max |v| / 127
        y     = rint(v / scale)                    saturated to -128, 127

    Every operation is one IEEE float32 operation per element, from left to right, and the mean's
    sum has a fixed order (docs/numerics.md 5); 16-bit inputs are widened exactly.

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. Any strides,
            unaligned and read-only arrays included, here and below. A row is its last axis, of D
            elements.
        gamma: the norm's weight, of x's dtype, ``(D,)`` or ``(1, D)``.
        smooth_scale: factors of the elements, as gamma; None for none.
        beta: the norm's bias, as gamma; None for nothing.
        epsilon: any number, rounded to float32 first.
        out: where to write ``(y, scale)``: arrays of exactly the result's shapes and dtypes, any
            strides, apart from each other and the inputs; None for one that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale)``: int8 of x's shape, and float32 of ``x.shape[:-1]``. The way back to about
        ``v`` is ``y * scale[..., None]``.

    Rounding is to nearest, ties to even. Rows out of the ordinary:

    ==========================================  =======  =====================================
    row                                         scale    y
    ==========================================  =======  =====================================
    v all zero                                  0        0
    holds NaN, or infinity: t is NaN there      NaN      0 everywhere
    all zero, epsilon 0                         NaN      0 everywhere: 0 * inf
    its sum of squares overflows                0        0, as t is: with a beta as beta says
    mean square + epsilon negative, or NaN      NaN      0 everywhere
    v holds inf, no NaN (gamma, smooth_scale)   inf      0 everywhere
    without elements                            0        empty
    ==========================================  =======  =====================================

    Raises:
        DTypeError: an array is missing (code 161001), is no ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``epsilon="small"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x, gamma = np.array([[3, -1, 2, 4]], np.float16), np.ones(4, np.float16)
        >>> y, scale = npu_quant.npu_rms_norm_dynamic_quant(x, gamma)
        >>> y
        array([[ 95, -32,  64, 127]], dtype=int8)
        >>> scale
        array([0.01150074], dtype=float32)

    Source: the name in vllm-ascend and cann-recipes-infer, whose torch extension has it; torch_npu
    has none (hicann/ops-nn ``norm/rms_norm_dynamic_quant``). The A2 device takes
    ``rint(t * (127 / max))``, the 950 ``max * (1 / 127)`` as the scale.
    """
    return _core.npu_rms_norm_dynamic_quant(
        RmsNormDynamicQuantResult, x, gamma, smooth_scale, beta, epsilon, out, numerics
    )


def reference(
    x: NDArray[Any],
    gamma: NDArray[Any],
    *,
    smooth_scale: NDArray[Any] | None = None,
    beta: NDArray[Any] | None = None,
    epsilon: float = 1e-06,
) -> RmsNormDynamicQuantResult:
    """Compute :func:`npu_rms_norm_dynamic_quant` in plain NumPy: the formula, without checks."""
    with np.errstate(all="ignore"):
        t, _ = _norm.rms_norm(x.astype(np.float32), gamma, beta, epsilon)
        if smooth_scale is not None:
            t = t * smooth_scale.astype(np.float32).reshape(-1)
    return RmsNormDynamicQuantResult(*dynamic_quant.reference(t))
