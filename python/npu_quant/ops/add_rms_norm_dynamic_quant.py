"""npu_add_rms_norm_dynamic_quant: a sum, its RMS norm, and codes by a scale for each row."""

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
    """Codes of the norm, or of it times ``smooth_scale1``."""
    y2: NDArray[Any]
    """Codes of the norm times ``smooth_scale2``; a zero of shape () where they are not computed."""
    x_out: NDArray[Any]
    """The sum, of x1's shape and dtype."""
    scale1: NDArray[np.float32]
    """Those of ``y1``, one per row, of ``x1.shape[:-1]``."""
    scale2: NDArray[np.float32]
    """Those of ``y2``, likewise."""


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
    """Add, normalize by the root of the mean square, scale by gamma, and quantize each row.

    ::

        s      = x1 + x2
        x_out  = s                                  rounded to x1's dtype
        rstd   = 1 / sqrt(mean(s * s) + epsilon)    over the last axis
        t      = s * rstd * gamma + beta
        v1     = t                                  or  t * smooth_scale1
        scale1 = max |v1| / MAX                     of the row; MAX is 127 of int8
        y1     = code(v1 / scale1)                  the nearest of y_dtype, saturated
        y2, scale2                                  likewise, by smooth_scale2

    Every operation is one IEEE float32 operation per element, from left to right, and the mean's
    sum has a fixed order (docs/numerics.md 5); 16-bit inputs are widened exactly. It is ``s`` that
    is normalized, not its rounded copy ``x_out``.

    Args:
        x1: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 2 to 8. Any strides,
            unaligned and read-only arrays included, here and below. A row is its last axis, of D
            elements.
        x2: of x1's shape and dtype.
        gamma: the norm's weight, of x1's dtype, ``(D,)`` or ``(1, D)``.
        smooth_scale1: factors of the elements of ``y1``, as gamma; None for none.
        smooth_scale2: those of ``y2``, likewise.
        beta: the norm's bias, as gamma; None for nothing.
        epsilon: any number, rounded to float32 first.
        output_mask: whether to compute ``y1`` and ``y2``, with their scales: two booleans, not both
            False. None: ``y1``, and ``y2`` if both smooth scales are given. There are no smooth
            scales for what is not computed.
        y_dtype: the format of ``y1`` and ``y2``: int8, which None means, too, int4, hifloat8,
            float8_e5m2 or float8_e4m3fn, as torch_npu's code (258, 285, 290, 291, 292), torch's
            (1, 16, 23, 24), dtype or name. How arrays hold them:
            :func:`npu_quant.npu_quantize`.
        out: where to write ``(y1, y2, x_out, scale1, scale2)``: arrays of exactly the result's
            shapes and dtypes, any strides, apart from each other and the inputs; None for one that
            is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y1, y2, x_out, scale1, scale2)``: codes of x1's shape; but that int4, 8 codes to an
        element, needs a last axis of a multiple of 8, of which it has an eighth. What is not
        computed is a zero of shape ``()``. The way back to about ``v1`` is
        ``y1 * scale1[..., None]``.

    Rounding is to nearest, ties to even, in hifloat8 away from zero. Rows out of the ordinary, with
    int8:

    ==========================================  =======  =========  ================================
    row                                         scale1   x_out      y1 (scale2 and y2 likewise)
    ==========================================  =======  =========  ================================
    v1 all zero                                 0        s          0
    s holds NaN (or inf - inf), or infinity     NaN      as it is   0 everywhere: t is NaN there
    s all zero, epsilon 0                       NaN      0          0 everywhere: 0 * inf
    its sum of squares overflows                0        finite     0, as t is; a beta as beta says
    element beyond x1's dtype                   finite   inf there  by the formula: s is finite
    mean square + epsilon negative, or NaN      NaN      s          0 everywhere
    v1 holds inf, no NaN (gamma, smooth_scale)  inf      s          0 everywhere
    without elements                            0        empty      empty
    ==========================================  =======  =========  ================================

    Raises:
        DTypeError: an array is missing (code 161001), is no ndarray, or has another dtype.
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
