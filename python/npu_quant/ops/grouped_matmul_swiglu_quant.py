"""npu_grouped_matmul_swiglu_quant: products by experts, a gated linear unit, and its codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _glu, _products
from ..arrays import Array


class GroupedMatmulSwigluQuantResult(NamedTuple):
    """What the operator returns; a field is None where ``out`` holds None."""

    y: NDArray[np.int8]
    """Codes, ``(M, N / 2)``."""
    scale: NDArray[np.float32]
    """float32, one per row, ``(M,)``."""
    offset: NDArray[np.float32]
    """0, of shape ``()``: codes have no zero point."""


def npu_grouped_matmul_swiglu_quant(
    x: Array,
    weight: Array,
    group_list: Array,
    weight_scale: Array,
    x_scale: Array,
    *,
    bias: Array | None = None,
    offset: Array | None = None,
    out: tuple[Array | None, Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> GroupedMatmulSwigluQuantResult:
    """Multiply rows of codes by their expert's weight, apply SwiGLU, and quantize.

    For row m, which belongs to expert e, and column n; sums run over k::

        int8 weight:  c     = (sum of x[m, k] * weight[e, k, n]) * x_scale[m] * weight_scale[e, n]
        int4 weight:  total = sum over groups j of k of
                              (sum of (x[m, k] - 8) * weight[e, k, n]) * weight_scale[e, j, n]
                      c     = (total + bias[e, n]) * x_scale[m]
        o     = a / (1 + exp(-a)) * b       a, b = the halves of c's row
        scale = max |o| / 127               over the row
        y     = code(o / scale)             the nearest integer, saturated

    Sums of integers are exact; beyond int32 they wrap around, which cannot happen for K up to
    131071. Every later operation is one IEEE float32 operation per element, from left to right;
    totals are added one after another from 0, and exp is correctly rounded (docs/numerics.md 24).

    Args:
        x: int8, ``(M, K)``. It may have any strides and be unaligned or read-only; so may the
            arrays below.
        weight: int8, ``(E, K, N)``; or int4 codes, eight to an int32: ``(E, K, N / 8)`` or ``(E, K
            / 8, N)``, whichever has an axis -2 that fits x. N is even.
        group_list: int64, ``(E,)``: where each expert's rows end (the index of the row after its
            last row). Ends never decrease, and are at most M. Rows after the last end give results
            of 0.
        weight_scale: float32, ``(E, N)``. For an int4 weight also ``(E, G, N)``, one for each of G
            groups of K / G consecutive k, and also int64 words, whose lower half is a float32
            (:func:`npu_quant.npu_trans_quant_param`).
        x_scale: float32, ``(M,)``.
        bias: float32, ``(E, N)``, only for an int4 weight, which requires it. Because the formula
            subtracts 8 from x, bias must hold ``8 * sum of weight * weight_scale``.
        offset: None.
        out: where to write ``(y, scale, offset)``: arrays of exactly the result's shapes and
            dtypes, with any strides and no memory shared with each other or the inputs. None stands
            for an output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale, offset)``: int8 ``(M, N / 2)``, float32 ``(M,)`` and a float32 0 of shape
        ``()``. ``y * scale[:, None]`` dequantizes to about ``o``.

    Rounding is to nearest, ties to even. Edge cases, by row:

    =============================================  =======  ======================================
    row                                            scale    y
    =============================================  =======  ======================================
    o all zero                                     0        0
    o holds NaN                                    NaN      0 everywhere
    o holds inf or -inf, no NaN                    inf      0 everywhere
    max / 127 underflows to 0                      0        0 for 0, else 127 or -128
    after the last expert's rows                   0        0
    K is 0                                         by c, which is 0, or bias * x_scale
    N is 0                                         0        empty
    =============================================  =======  ======================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype;
            ``bias`` is None for an int4 weight (161002).
        ParamError: rank, shape, ``out`` or an entry of ``group_list`` is not allowed, or an
            argument is given that has no place.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, 2], [-3, 4], [5, 6]], dtype=np.int8)
        >>> weight = np.array([[[5, -6], [8, 9]], [[1, 2], [3, 4]]], dtype=np.int8)
        >>> y, scale, offset = npu_quant.npu_grouped_matmul_swiglu_quant(
        ...     x,
        ...     weight,
        ...     np.array([2, 3]),
        ...     np.full((2, 2), 0.1, dtype=np.float32),
        ...     np.array([1, 1, 0.5], dtype=np.float32),
        ... )
        >>> y.tolist()
        [[127], [127], [127]]
        >>> scale
        array([0.01767777, 0.06111819, 0.01169168], dtype=float32)

    Source: torch_npu.npu_grouped_matmul_swiglu_quant (Ascend/op-plugin), which calls
    aclnnGroupedMatmulSwigluQuant (cann/ops-transformer ``gmm/grouped_matmul_swiglu_quant``). Its
    documents multiply by x_scale first; its test multiplies by weight_scale first, and rounds ``o *
    (127 / max)``. Devices do not write the rows after the last expert's, take N up to 10,240 and K
    below 65,536, and take int8 weights only in a private layout.
    """
    return _core.npu_grouped_matmul_swiglu_quant(
        GroupedMatmulSwigluQuantResult,
        x,
        weight,
        group_list,
        weight_scale,
        x_scale,
        bias,
        offset,
        out,
        numerics,
    )


def totals(
    x: NDArray[Any], weight: NDArray[np.float64], scale: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return totals over G groups along k of sums (M, K) by (K, N), times their scales (G, N)."""
    groups = scale if x.shape[1] > 0 else scale[:0]
    return _products.group_sums(x.astype(np.float64), weight, groups)


def scales_of(scale: NDArray[Any]) -> NDArray[np.float32]:
    """Return scales as float32: int64 hold them in their lower halves."""
    return scale if scale.dtype == np.float32 else _products.carried(scale)[0]


def reference(
    x: NDArray[np.int8],
    weight: NDArray[Any],
    group_list: NDArray[np.int64],
    weight_scale: NDArray[Any],
    x_scale: NDArray[np.float32],
    *,
    bias: NDArray[np.float32] | None = None,
    offset: None = None,
) -> GroupedMatmulSwigluQuantResult:
    """Compute the operator in plain NumPy: the formula, to the bit, without checks."""
    scales, begin = scales_of(weight_scale), 0
    c = np.zeros((len(x), scales.shape[-1]), np.float32)
    with np.errstate(all="ignore"):
        for e, end in enumerate(group_list.tolist()):
            of_rows = x_scale[begin:end, None]
            own, matrix = _products.factors(x[begin:end], weight[e])
            if bias is None:
                acc = _products.whole_sums(own, matrix).astype(np.float32)
                c[begin:end] = acc * of_rows * scales[e]
            else:
                total = totals(own - 8, matrix, np.atleast_2d(scales[e]))
                c[begin:end] = (total + bias[e]) * of_rows
            begin = end
        a, b = _glu.halves(c)
        o = _glu.swish(a) * b
        scale = _glu.amax(o) / np.float32(127)
        y = _codes.encode(np.asarray(o / scale[:, None]), "int8")
    return GroupedMatmulSwigluQuantResult(y, np.asarray(scale), np.zeros((), np.float32))
