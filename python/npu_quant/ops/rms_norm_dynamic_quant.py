"""npu_rms_norm_dynamic_quant: an RMS norm, and its codes with one scale per row."""

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
    """float32, one per row, of shape ``x.shape[:-1]``."""


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
    """Normalize by the root mean square, scale by gamma, and quantize per row.

    ::

        rstd  = 1 / sqrt(mean(x * x) + epsilon)    over the last axis
        t     = x * rstd * gamma + beta
        v     = t                                  or  t * smooth_scale
        scale = max |v| / 127
        y     = rint(v / scale)                    saturated to -128, 127

    Every operation is one IEEE float32 operation per element, from left to right, and the sum in
    the mean has a fixed order (docs/numerics.md 5); 16-bit inputs are widened exactly.

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. It may have any
            strides and be unaligned or read-only; so may the arrays below. A row is along the last
            axis, and has D elements.
        gamma: the norm's weight, of x's dtype, ``(D,)`` or ``(1, D)``.
        smooth_scale: factors that multiply ``t``, of gamma's dtype and shapes; None for no factors.
        beta: the norm's bias, of gamma's dtype and shapes; None for no bias.
        epsilon: any number; it is rounded to float32 first.
        out: where to write ``(y, scale)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale)``: int8 of x's shape, and float32 of ``x.shape[:-1]``. ``y * scale[..., None]``
        dequantizes to about ``v``.

    Rounding is to nearest, ties to even. Edge cases, by row:

    ==========================================  =======  =====================================
    row                                         scale    y
    ==========================================  =======  =====================================
    v all zero                                  0        0
    holds NaN, or infinity: t is NaN there      NaN      0 everywhere
    all zero, epsilon 0                         NaN      0 everywhere: 0 * inf
    sum of squares overflows                    0        t is 0 or beta: codes of that
    mean square + epsilon negative, or NaN      NaN      0 everywhere
    v holds inf, no NaN (gamma, smooth_scale)   inf      0 everywhere
    no elements                                 0        empty
    ==========================================  =======  =====================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
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

    Source: hicann/ops-nn ``norm/rms_norm_dynamic_quant``. The name comes from vllm-ascend and from
    the torch extension of cann-recipes-infer; torch_npu has no such operator. The A2 device takes
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
