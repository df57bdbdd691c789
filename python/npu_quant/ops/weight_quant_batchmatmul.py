"""npu_weight_quant_batchmatmul: 16-bit values multiplied by a weight of codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _products
from ..arrays import Array
from ..dtypes import DTypeName


def npu_weight_quant_batchmatmul(
    x: Array,
    weight: Array,
    antiquant_scale: Array,
    antiquant_offset: Array | None = None,
    quant_scale: Array | None = None,
    quant_offset: Array | None = None,
    bias: Array | None = None,
    antiquant_group_size: int = 0,
    inner_precise: int = 0,
    weight_dtype: DTypeName | None = None,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Multiply by a weight of int8, int4 or float4 codes, which is dequantized on the way.

    For row m and column n, with j = k // antiquant_group_size::

        w[k, n] = (weight[k, n] + antiquant_offset[j, n]) * antiquant_scale[j, n], in x's dtype
        t       = the sum of x[m, k] * w[k, n] over k
        y       = t + bias[n], in x's dtype
        y       = int8((t + bias[n]) * quant_scale[n] + quant_offset[n])      with a quant_scale

    Every operation is one IEEE float32 operation, and w is rounded once more. The sum has a fixed
    order (docs/numerics.md 21.1): the products of 128 consecutive k are added one after another,
    from 0; then these sums are added. An argument that is None is left out of the formula. The
    offset is *added*: it is minus the zero point.

    Args:
        x: float16 or bfloat16 (``ml_dtypes.bfloat16``), of shape (..., K), of rank 2 to 8. It may
            have any strides and be unaligned or read-only; so may the arrays below.
        weight: int8, of shape (K, N), often the transpose of (N, K); int32 for int4, 8 codes in an
            element, the first in its low nibble: (K, N / 8), or (K / 8, N), the transpose of (N, K
            / 8); or float32 for float4_e2m1, 8 codes in an element, (K, N / 8).
            :func:`npu_quant.npu_convert_weight_to_int4pack` returns such int32 and float32.
        antiquant_scale: of x's dtype, one element or one per column, of shape (1,), (N,), (1, 1) or
            (1, N); in groups (ceil(K / antiquant_group_size), N). For float4_e2m1 uint8 or
            float8_e8m0fnu, in groups of 32: byte b stands for 2**(b - 127), and 255 for NaN.
        antiquant_offset: of antiquant_scale's dtype and shape; None for no offset. Always None for
            float4_e2m1.
        quant_scale: float32, or int64 words from :func:`npu_quant.npu_trans_quant_param`, which
            hold an offset, too; one element or one per column, of shape (1,), (N,), (1, 1) or (1,
            N). With a quant_scale the result is int8.
        quant_offset: float32, of one of these shapes; it replaces the offset in an int64
            quant_scale. None without a quant_scale.
        bias: of x's dtype or float32, of shape (N,).
        antiquant_group_size: how many rows of the weight share scales: 0 for all rows, else a
            multiple of 32 less than K; for float4_e2m1 32.
        inner_precise: 0 or 1, with the same result.
        weight_dtype: None, or the dtype of the weight or the format of its codes, given as
            torch_npu's number, a dtype or a name.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The products, of shape (..., N), of x's dtype or int8.

    Rounding is to nearest, ties to even. Edge cases:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    w beyond x's range                          inf: float16 ends at 65504, from 65520 on values are
                                                inf; then inf or NaN
    t beyond x's range                          inf or -inf
    t below x's normal range                    subnormal, or 0 with its sign
    a product below 2**-149                     added as 0; possible only for bfloat16
    w or t next to a rounding tie               rounded to float32 first, so perhaps onto the tie
    infinite x or w                             inf or -inf; NaN for inf * 0 or inf - inf
    NaN in x, antiquant_scale or a bias         NaN; with a quant_scale 0
    beyond int8                                 -128 or 127; infinite likewise
    infinite quant_scale, t 0                   0, because the product is NaN
    K is 0                                      0, or the bias
    no rows, no columns                         empty; the rules for the other arrays hold
    ==========================================  ===================================================

    Raises:
        DTypeError: x, weight or antiquant_scale is missing (code 161001), an array is not an
            ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed, or an array has no place.
        TypeError: an attribute is of the wrong kind, such as ``antiquant_group_size=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, 2]], dtype=np.float16)
        >>> weight = np.array([[5, -6, 7], [8, 9, -10]], dtype=np.int8)
        >>> scale, offset = np.float16([[0.5, 1, 2]]), np.float16([[1, 0, -1]])
        >>> npu_quant.npu_weight_quant_batchmatmul(x, weight, scale, offset)
        array([[ 12.,  12., -32.]], dtype=float16)
        >>> npu_quant.npu_weight_quant_batchmatmul(
        ...     x, weight, scale, offset, quant_scale=np.float32([0.5, 1, 10])
        ... )
        array([[   6,   12, -128]], dtype=int8)

    Source: torch_npu.npu_weight_quant_batchmatmul (Ascend/op-plugin), which calls
    aclnnWeightQuantBatchMatmulV2 and V3 (hicann/ops-nn ``matmul/weight_quant_batch_matmul_v2``).
    """
    return _core.npu_weight_quant_batchmatmul(
        x,
        weight,
        antiquant_scale,
        antiquant_offset,
        quant_scale,
        quant_offset,
        bias,
        antiquant_group_size,
        inner_precise,
        weight_dtype,
        out,
        numerics,
    )


def reference(
    x: NDArray[Any],
    weight: NDArray[Any],
    antiquant_scale: NDArray[Any],
    antiquant_offset: NDArray[Any] | None = None,
    quant_scale: NDArray[Any] | None = None,
    quant_offset: NDArray[Any] | None = None,
    bias: NDArray[Any] | None = None,
    antiquant_group_size: int = 0,
    inner_precise: int = 0,
    weight_dtype: DTypeName | None = None,
) -> NDArray[Any]:
    """Compute the operator in plain NumPy: the formula, to the bit, without checks."""
    k, size = x.shape[-1], antiquant_group_size
    with np.errstate(all="ignore"):
        w = _products.matrix_of(weight, k=k)
        if antiquant_offset is not None:
            w = w + _products.spread(antiquant_offset, size, k)
        w = (w * _products.spread(antiquant_scale, size, k)).astype(x.dtype)
        t = _products.chunked(x, w)
        if bias is not None:
            t = t + bias.astype(np.float32)
        if quant_scale is None:
            return np.asarray(t.astype(x.dtype))
        if quant_scale.dtype == np.int64:
            quant_scale, offset = _products.carried(quant_scale)
            quant_offset = offset if quant_offset is None else quant_offset
        t = t * quant_scale
        return _codes.encode(t if quant_offset is None else t + quant_offset, "int8")
