"""npu_add_rms_norm: a residual sum, and its RMS norm, in one step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core, _norm
from ..arrays import Array


class AddRmsNormResult(NamedTuple):
    """What :func:`npu_add_rms_norm` returns; a field is None where ``out`` holds None."""

    y: NDArray[Any]
    """The norm of the sum, of x1's shape and dtype."""
    rstd: NDArray[np.float32]
    """What rows are multiplied by, of x1's shape with 1 for each axis of gamma."""
    x: NDArray[Any]
    """``x1 + x2``, of x1's shape and dtype."""


def npu_add_rms_norm(
    x1: Array,
    x2: Array,
    gamma: Array,
    epsilon: float = 1e-06,
    *,
    out: tuple[Array | None, Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> AddRmsNormResult:
    """Add, normalize by the root of the mean square, and scale by gamma.

    ::

        s    = x1 + x2
        x    = s                                  rounded to x1's dtype
        rstd = 1 / sqrt(mean(s * s) + epsilon)    over the axes of gamma
        y    = s * rstd * gamma                   rounded to x1's dtype

    That formula is torch_npu's. How it is rounded is written nowhere, and is this library's choice:
    it is ``s`` that is normalized, not its rounded copy ``x``; every operation is one IEEE float32
    operation per element, from left to right, the mean's sum has a fixed order (docs/numerics.md
    5), 16-bit inputs are widened exactly, and ``y`` is rounded to 16 bits once, at the end.

    Args:
        x1: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. Any strides,
            unaligned and read-only arrays included, here and below.
        x2: of x1's shape and dtype.
        gamma: the norm's weight, of x1's dtype and the shape of its last axes, rank 1 to 8. The
            norm runs over all of its axes.
        epsilon: any number, rounded to float32 first.
        out: where to write ``(y, rstd, x)``: arrays of exactly the result's shapes and dtypes, any
            strides, apart from each other and the inputs; None for one that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, rstd, x)``: y and x of x1's shape and dtype, rstd float32 with the axes of gamma
        replaced by 1: of x1 (2, 3, 4, 8) and gamma (4, 8) it is (2, 3, 1, 1).

    Rounding is to nearest, ties to even. Rows out of the ordinary:

    ======================================  =========  ==============  ====================
    row of s                                x          rstd            y
    ======================================  =========  ==============  ====================
    all zero, epsilon 0                     0          inf             NaN everywhere
    holds NaN (or inf - inf)                NaN there  NaN             NaN everywhere
    holds inf or -inf, no NaN               inf there  0               NaN for it, others 0
    its sum of squares overflows            finite     0               0 everywhere
    element beyond x1's dtype               inf there  by the formula  by the formula
    mean square + epsilon negative, or NaN  s          NaN             NaN everywhere
    without elements                        empty      NaN             empty
    ======================================  =========  ==============  ====================

    Other rows are those of :func:`npu_quant.npu_rms_norm`.

    Raises:
        DTypeError: an array is missing (code 161001), is no ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``epsilon="small"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x1 = np.array([[1, -1, 3, 0]], np.float16)
        >>> x2 = np.array([[1, -1, -1, -2]], np.float16)
        >>> y, rstd, x = npu_quant.npu_add_rms_norm(x1, x2, np.arange(1, 5).astype(np.float16), 0.0)
        >>> y, rstd
        (array([[ 1., -2.,  3., -4.]], dtype=float16), array([[0.5]], dtype=float32))
        >>> x
        array([[ 2., -2.,  2., -2.]], dtype=float16)

    Source: torch_npu.npu_add_rms_norm and aclnnAddRmsNorm (hicann/ops-nn ``norm/add_rms_norm``,
    Ascend/op-plugin). Atlas A2 and A3 norm the rounded ``x``, and round ``s * rstd`` to 16 bits
    before gamma; the 950 does as here, but for the order of its sum. The documents have an
    infinite input become infinite, which the formula does not.
    """
    return _core.npu_add_rms_norm(AddRmsNormResult, x1, x2, gamma, epsilon, out, numerics)


def reference(
    x1: NDArray[Any], x2: NDArray[Any], gamma: NDArray[Any], epsilon: float = 1e-06
) -> AddRmsNormResult:
    """Compute :func:`npu_add_rms_norm` in plain NumPy: the formula, without checks."""
    with np.errstate(all="ignore"):
        s = x1.astype(np.float32) + x2.astype(np.float32)
        t, rstd = _norm.over_last_axes(s, gamma, epsilon)
        return AddRmsNormResult(t.astype(x1.dtype), rstd, s.astype(x1.dtype))
