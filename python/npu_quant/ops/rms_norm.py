"""npu_rms_norm: rows divided by the root of their mean square, and scaled by gamma."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core, _norm
from ..arrays import Array


class RmsNormResult(NamedTuple):
    """What :func:`npu_rms_norm` returns; a field is None where ``out`` holds None."""

    y: NDArray[Any]
    """The norm, of self's shape and dtype."""
    rstd: NDArray[np.float32]
    """float32, the formula's rstd: of self's shape with 1 for each axis of gamma."""


def npu_rms_norm(
    self: Array,
    gamma: Array,
    epsilon: float = 1e-06,
    *,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> RmsNormResult:
    """Normalize by the root mean square, and scale by gamma.

    ::

        rstd = 1 / sqrt(mean(x * x) + epsilon)    x is self, over the axes of gamma
        y    = x * rstd * gamma                   rounded to self's dtype

    The formula is torch_npu's, including that ``rstd`` is 1 over the root. No document says how it
    is rounded; this library chose: every operation is one IEEE float32 operation per element, from
    left to right, the sum in the mean has a fixed order (docs/numerics.md 5); 16-bit inputs are
    widened exactly; ``y`` is rounded to 16 bits once, at the end.

    Args:
        self: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. It may have any
            strides and be unaligned or read-only; so may the arrays below.
        gamma: the norm's weight, float32 or of self's dtype, and of the shape of self's last axes,
            rank 1 to 8. The norm is taken over all axes of gamma.
        epsilon: any number; it is rounded to float32 first.
        out: where to write ``(y, rstd)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, rstd)``: y of self's shape and dtype, and rstd float32 with a 1 for each axis of
        gamma: for self (2, 3, 4, 8) and gamma (4, 8) its shape is (2, 3, 1, 1).

    Rounding is to nearest, ties to even. Edge cases, by row:

    ==========================================  =================  =======================
    row                                         rstd               y
    ==========================================  =================  =======================
    all zero                                    1 / sqrt(epsilon)  0
    all zero, epsilon 0                         inf                NaN everywhere: 0 * inf
    holds NaN                                   NaN                NaN everywhere
    holds inf or -inf, no NaN                   0                  NaN for it, others 0
    sum of squares overflows                    0                  0 everywhere
    mean square + epsilon negative, or NaN      NaN                NaN everywhere
    y beyond self's dtype                       by the formula     inf or -inf there
    no elements                                 NaN                empty
    ==========================================  =================  =======================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``epsilon="small"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[3, -1, 2, 4], [2, -2, 2, -2]], np.float16)
        >>> y, rstd = npu_quant.npu_rms_norm(x, np.array([1, 1, 1, 2], np.float16), 0.0)
        >>> y
        array([[ 1.096 , -0.3652,  0.7305,  2.922 ],
               [ 1.    , -1.    ,  1.    , -2.    ]], dtype=float16)
        >>> rstd
        array([[0.36514837],
               [0.5       ]], dtype=float32)

    Source: torch_npu.npu_rms_norm and aclnnRmsNorm (hicann/ops-nn ``norm/rms_norm``,
    Ascend/op-plugin). torch_npu requires gamma of self's dtype; aclnnRmsNorm also takes a float32
    gamma with 16-bit inputs. According to the documents an infinite input gives an infinite output;
    by the formula it does not. Atlas A2 multiplies the sum by 1 / n, and adds in another order.
    """
    return _core.npu_rms_norm(RmsNormResult, self, gamma, epsilon, out, numerics)


def reference(self: NDArray[Any], gamma: NDArray[Any], epsilon: float = 1e-06) -> RmsNormResult:
    """Compute :func:`npu_rms_norm` in plain NumPy: the formula, without checks."""
    with np.errstate(all="ignore"):
        t, rstd = _norm.over_last_axes(self.astype(np.float32), gamma, epsilon)
        return RmsNormResult(t.astype(self.dtype), rstd)
