"""npu_swiglu: one half of an axis, gated by the swish of the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core, _glu
from ..arrays import Array


def npu_swiglu(
    self: Array, dim: int = -1, *, out: Array | None = None, numerics: str | None = None
) -> NDArray[Any]:
    """Multiply the swish of the first half of an axis by the second half.

    ::

        a, b     = the first and the second half of self along dim
        swish(a) = a / (1 + exp(-a))
        y        = swish(a) * b          rounded to self's dtype

    Every operation is one IEEE float32 operation per element, and exp is correctly rounded
    (docs/numerics.md 17); 16-bit inputs are widened exactly.

    Args:
        self: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 8. It may have any
            strides and be unaligned or read-only.
        dim: the axis that is halved, of an even length; negative ones count from the last.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the input.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``y``, of self's dtype and shape, except that ``dim`` has half the length.

    Rounding to 16 bits is to nearest, ties to even; small values become subnormal, and values that
    are too large become infinite. Edge cases:

    ============================  ====================================
    a, and b                      y
    ============================  ====================================
    0 or -0, b finite             0, with the sign of a * b
    inf                           b * inf: NaN if b is 0
    -inf, or NaN; b is NaN        NaN, of any sign and payload
    finite, b inf or -inf         infinite, NaN if swish(a) is 0
    below about -88.7, b finite   -0 * b in float32: exp(-a) is inf
    so small that y underflows    subnormal, or 0 with the sign of a * b
    no elements                   empty
    ============================  ====================================

    Raises:
        DTypeError: self is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``dim=0.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, -1, 2, 3]], dtype=np.float32)
        >>> npu_quant.npu_swiglu(x)
        array([[ 1.4621172, -0.8068243]], dtype=float32)
        >>> npu_quant.npu_swiglu(x.reshape(2, 2), 0)  # swish(1) * 2, swish(-1) * 3
        array([[ 1.4621172, -0.8068243]], dtype=float32)

    Source: aclnnSwiGlu and torch_npu.npu_swiglu (hicann/ops-nn ``activation/swi_glu``,
    Ascend/op-plugin). The device's exp and that of torch's silu are approximations: both are some
    ulp off.
    """
    return _core.npu_swiglu(self, dim, out, numerics)


def reference(self: NDArray[Any], dim: int = -1) -> NDArray[Any]:
    """Compute :func:`npu_swiglu` in plain NumPy: the formula, without checks."""
    a, b = _glu.halves(self.astype(np.float32), dim)
    with np.errstate(all="ignore"):
        return np.asarray((_glu.swish(a) * b).astype(self.dtype))
