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
    """float32, the formula's rstd: of x1's shape with 1 for each axis of gamma."""
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
    """Add, normalize by the root mean square, and scale by gamma.

    ::

        s    = x1 + x2
        x    = s                                  rounded to x1's dtype
        rstd = 1 / sqrt(mean(s * s) + epsilon)    over the axes of gamma
        y    = s * rstd * gamma                   rounded to x1's dtype

    The formula is torch_npu's. No document says how it is rounded; this library chose: ``s`` is
    normalized, not its rounded copy ``x``; every operation is one IEEE float32 operation per
    element, from left to right, the sum in the mean has a fixed order (docs/numerics.md 5); 16-bit
    inputs are widened exactly; ``y`` is rounded to 16 bits once, at the end.

    Args:
        x1: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. It may have any
            strides and be unaligned or read-only; so may the arrays below.
        x2: of x1's shape and dtype.
        gamma: the norm's weight, of x1's dtype and of the shape of x1's last axes, rank 1 to 8. The
            norm is taken over all axes of gamma.
        epsilon: any number; it is rounded to float32 first.
        out: where to write ``(y, rstd, x)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, rstd, x)``: y and x have x1's shape and dtype; rstd is float32 with a 1 for each axis
        of gamma: for x1 (2, 3, 4, 8) and gamma (4, 8) its shape is (2, 3, 1, 1).

    Rounding is to nearest, ties to even. Edge cases, by row:

    ======================================  =========  ==============  ====================
    row of s                                x          rstd            y
    ======================================  =========  ==============  ====================
    all zero, epsilon 0                     0          inf             NaN everywhere
    holds NaN (or inf - inf)                NaN there  NaN             NaN everywhere
    holds inf or -inf, no NaN               inf there  0               NaN for it, others 0
    sum of squares overflows                finite     0               0 everywhere
    element beyond x1's dtype               inf there  by the formula  by the formula
    mean square + epsilon negative, or NaN  s          NaN             NaN everywhere
    no elements                             empty      NaN             empty
    ======================================  =========  ==============  ====================

    For other rows see :func:`npu_quant.npu_rms_norm`.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
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
    Ascend/op-plugin). Atlas A2 and A3 normalize the rounded ``x``, and round ``s * rstd`` to 16
    bits before they multiply by gamma; the 950 computes as here, except for the order of its sum.
    According to the documents an infinite input gives an infinite output; by the formula it does
    not.
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
