"""npu_add_rms_norm_dynamic_quant: a sum, its RMS norm, and its codes with one scale per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _norm
from ..arrays import Array
from ..dtypes import DTypeName
from . import dynamic_quant


class AddRmsNormDynamicQuantResult(NamedTuple):
    """What :func:`npu_add_rms_norm_dynamic_quant` returns; a field is None where ``out`` has it."""

    y1: NDArray[Any]
    """Codes of the norm, times ``smooth_scale1`` if that is given."""
    y2: NDArray[Any]
    """Codes of the norm times ``smooth_scale2``; a zero of shape () if they are not computed."""
    x_out: NDArray[Any]
    """The sum, of x1's shape and dtype."""
    scale1: NDArray[np.float32]
    """Scales of ``y1``, one per row, of shape ``x1.shape[:-1]``."""
    scale2: NDArray[np.float32]
    """Scales of ``y2``, of the same shape."""


def npu_add_rms_norm_dynamic_quant(
    x1: Array,
    x2: Array,
    gamma: Array,
    *,
    smooth_scale1: Array | None = None,
    smooth_scale2: Array | None = None,
    beta: Array | None = None,
    epsilon: float = 1e-06,
    output_mask: Sequence[bool] | None = None,
    y_dtype: DTypeName | None = None,
    out: tuple[Array | None, ...] | None = None,
    numerics: str | None = None,
) -> AddRmsNormDynamicQuantResult:
    """Add, normalize by the root mean square, scale by gamma, and quantize per row.

    ::

        s      = x1 + x2
        x_out  = s                                  rounded to x1's dtype
        rstd   = 1 / sqrt(mean(s * s) + epsilon)    over the last axis
        t      = s * rstd * gamma + beta
        v1     = t                                  or  t * smooth_scale1
        scale1 = max |v1| / MAX                     of the row; MAX is 127 of int8
        y1     = code(v1 / scale1)                  the nearest of y_dtype, saturated
        y2, scale2                                  likewise, by smooth_scale2

    Every operation is one IEEE float32 operation per element, from left to right, and the sum in
    the mean has a fixed order (docs/numerics.md 5); 16-bit inputs are widened exactly. The norm is
    taken of ``s``, not of its rounded copy ``x_out``.

    Args:
        x1: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 2 to 8. It may have any
            strides and be unaligned or read-only; so may the arrays below. A row is along the last
            axis, and has D elements.
        x2: of x1's shape and dtype.
        gamma: the norm's weight, of x1's dtype, ``(D,)`` or ``(1, D)``.
        smooth_scale1: factors that multiply ``t`` for ``y1``, of gamma's dtype and shapes; None for
            no factors.
        smooth_scale2: the same for ``y2``.
        beta: the norm's bias, of gamma's dtype and shapes; None for no bias.
        epsilon: any number; it is rounded to float32 first.
        output_mask: whether to compute ``y1`` and ``y2``, with their scales: two booleans, not both
            False. None: ``y1``, and ``y2`` if both smooth scales are given. An output that is not
            computed has no smooth scale.
        y_dtype: the format of ``y1`` and ``y2``: int8 (also None), int4, hifloat8, float8_e5m2 or
            float8_e4m3fn, given as torch_npu's number (258, 285, 290, 291, 292), torch's number (1,
            16, 23, 24), a dtype or a name. :func:`npu_quant.npu_quantize` says how arrays hold
            them.
        out: where to write ``(y1, y2, x_out, scale1, scale2)``: arrays of exactly the result's
            shapes and dtypes, with any strides and no memory shared with each other or the inputs.
            None stands for an output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y1, y2, x_out, scale1, scale2)``: the codes have x1's shape; int4 packs 8 codes into an
        element: x1's last axis must be a multiple of 8, and the codes have an eighth of it. An
        output that is not computed is a zero of shape ``()``. ``y1 * scale1[..., None]``
        dequantizes to about ``v1``.

    Rounding is to nearest, ties to even; in hifloat8 ties go away from zero. Edge cases, by row,
    with int8:

    ==========================================  =======  =========  ================================
    row                                         scale1   x_out      y1 (scale2 and y2 likewise)
    ==========================================  =======  =========  ================================
    v1 all zero                                 0        s          0
    s holds NaN (or inf - inf), or infinity     NaN      as it is   0 everywhere: t is NaN there
    s all zero, epsilon 0                       NaN      0          0 everywhere: 0 * inf
    sum of squares overflows                    0        finite     t is 0 or beta: codes of that
    element beyond x1's dtype                   finite   inf there  by the formula: s is finite
    mean square + epsilon negative, or NaN      NaN      s          0 everywhere
    v1 holds inf, no NaN (gamma, smooth_scale)  inf      s          0 everywhere
    no elements                                 0        empty      empty
    ==========================================  =======  =========  ================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available, or there
            are smooth scales for codes that are not computed.
        TypeError: an attribute is of the wrong kind, such as ``output_mask=True``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x, gamma = np.array([[3, -1, 2, 4]], np.float16), np.ones(4, np.float16)
        >>> found = npu_quant.npu_add_rms_norm_dynamic_quant(x, x, gamma)
        >>> found.y1
        array([[ 95, -32,  64, 127]], dtype=int8)
        >>> found.x_out
        array([[ 6., -2.,  4.,  8.]], dtype=float16)
        >>> found.scale1, found.y2, found.scale2
        (array([0.01150074], dtype=float32), array(0, dtype=int8), array(0., dtype=float32))

    Source: torch_npu.npu_add_rms_norm_dynamic_quant (Ascend/op-plugin, hicann/ops-nn
    ``norm/add_rms_norm_dynamic_quant``). The A2 device takes ``rint(t * (127 / max))`` and
    ``1 / (127 / max)``, the 950 ``max * (1 / 127)`` as the scale.
    """
    return _core.npu_add_rms_norm_dynamic_quant(
        AddRmsNormDynamicQuantResult,
        x1,
        x2,
        gamma,
        smooth_scale1,
        smooth_scale2,
        beta,
        epsilon,
        output_mask,
        y_dtype,
        out,
        numerics,
    )


def reference(
    x1: NDArray[Any],
    x2: NDArray[Any],
    gamma: NDArray[Any],
    *,
    smooth_scale1: NDArray[Any] | None = None,
    smooth_scale2: NDArray[Any] | None = None,
    beta: NDArray[Any] | None = None,
    epsilon: float = 1e-06,
    output_mask: Sequence[bool] | None = None,
    y_dtype: DTypeName | None = None,
) -> AddRmsNormDynamicQuantResult:
    """Compute :func:`npu_add_rms_norm_dynamic_quant` in plain NumPy: the formula, no checks."""
    to = "int8" if y_dtype is None else y_dtype

    def quantize(smooth: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[np.float32]]:
        v = t if smooth is None else t * smooth.astype(np.float32).reshape(-1)
        return dynamic_quant.reference(v, dst_type=to)

    smooths = (smooth_scale1, smooth_scale2)
    wanted = (True, all(smooth is not None for smooth in smooths))
    none = _codes.encode(np.zeros(8, np.float32), to)[0].reshape(()), np.zeros((), np.float32)
    with np.errstate(all="ignore"):
        s = x1.astype(np.float32) + x2.astype(np.float32)
        t, _ = _norm.rms_norm(s, gamma, beta, epsilon)
        (y1, scale1), (y2, scale2) = (
            quantize(smooth) if is_wanted else none
            for smooth, is_wanted in zip(smooths, output_mask or wanted, strict=True)
        )
        x_out = s.astype(x1.dtype)
    return AddRmsNormDynamicQuantResult(y1, y2, x_out, scale1, scale2)
