"""npu_dual_level_quant_matmul: a product of float4 matrices with two levels of scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _products
from ..arrays import Array
from ..dtypes import DTypeName

LEVEL = 512
"""How many k have a scale of the upper level in common."""


def npu_dual_level_quant_matmul(
    x1: Array,
    x2: Array,
    x1_level0_scale: Array,
    x2_level0_scale: Array,
    x1_level1_scale: Array,
    x2_level1_scale: Array,
    *,
    bias: Array | None = None,
    output_dtype: DTypeName | None = 15,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Multiply float4_e2m1 matrices with one scale per 32 and one per 512 codes along k.

    For row m of x1 and row n of x2, with groups j of 512 k and blocks i of 32 in each group::

        p_j = sum over i of fl(sum of x1 * x2) * 2^(b1 + b2 - 254)        one i after the other
        v   = sum over j of p_j * x1_level0[m, j] * x2_level0[j, n]       one j after the other
        y   = v + bias[n], rounded to output_dtype

    The sum of a block is exact; every other step is one IEEE float32 operation, in this order
    (docs/numerics.md 25). b1 and b2 are the blocks' bytes. An argument that is None is left out of
    the formula.

    Args:
        x1: uint8, of shape (M, K / 2): two codes of float4_e2m1 in each byte, the first in its low
            nibble. It may have any strides and be unaligned or read-only; so may the arrays below.
        x2: uint8, of shape (N, K / 2): the second matrix, transposed.
        x1_level0_scale: float32, of shape (M, ceil(K / 512)).
        x2_level0_scale: float32, of shape (ceil(K / 512), N).
        x1_level1_scale: uint8 or float8_e8m0fnu, of shape (M, ceil(K / 64), 2): powers of two, in
            pairs, as :func:`npu_dynamic_dual_level_mx_quant` gives them.
        x2_level1_scale: the same, of shape (N, ceil(K / 64), 2).
        bias: float32, of shape (N,), or None.
        output_dtype: the type of the result: bfloat16 (also None) or float16, given as torch_npu's
            number (15 or 283, 5 or 257), a dtype or a name.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The product, of shape (M, N).

    Rounding is to nearest, ties to even. Edge cases:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    a byte of 255                               NaN, also where the block's codes are 0
    a power of two beyond float32               applied in full; the product is rounded once
    a block's sum beyond float32                inf or -inf
    beyond output_dtype's range                 inf or -inf
    a level 0 scale is infinite                 inf or -inf, by the signs; NaN if p is 0
    NaN in a level 0 scale or the bias          NaN
    K is not a multiple of 32, or of 512        the last block, or group, is shorter
    K is 0                                      the bias, or 0
    no rows                                     empty; the rules for the other arrays hold
    ==========================================  ===================================================

    Raises:
        DTypeError: an array that is required is missing (code 161001), is not an ndarray, or has
            another dtype.
        ParamError: rank, shape, ``out`` or ``output_dtype`` is not allowed.
        TypeError: an attribute is of the wrong kind, such as ``output_dtype=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> codes = np.array([[0x22], [0xD4]], dtype=np.uint8)  # 1 and 1, 2 and -3
        >>> upper = np.array([[1], [10]], dtype=np.float32)
        >>> lower = np.full((2, 1, 2), 127, dtype=np.uint8)  # 2 ** 0
        >>> npu_quant.npu_dual_level_quant_matmul(
        ...     codes, codes, upper, upper.T, lower, lower, output_dtype=5
        ... )
        array([[ 2.0e+00, -1.0e+01],
               [-1.0e+01,  1.3e+03]], dtype=float16)

    Source: torch_npu.npu_dual_level_quant_matmul (Ascend/op-plugin), which calls
    aclnnDualLevelQuantMatmulWeightNz (cann/ops-nn ``matmul/dual_level_quant_batch_matmul``); the C
    function requires weights in the layout FRACTAL_NZ, which NumPy does not have.
    """
    return _core.npu_dual_level_quant_matmul(
        x1,
        x2,
        x1_level0_scale,
        x2_level0_scale,
        x1_level1_scale,
        x2_level1_scale,
        bias,
        output_dtype,
        out,
        numerics,
    )


def reference(
    x1: NDArray[Any],
    x2: NDArray[Any],
    x1_level0_scale: NDArray[Any],
    x2_level0_scale: NDArray[Any],
    x1_level1_scale: NDArray[Any],
    x2_level1_scale: NDArray[Any],
    *,
    bias: NDArray[Any] | None = None,
    output_dtype: DTypeName | None = 15,
) -> NDArray[Any]:
    """Compute :func:`npu_dual_level_quant_matmul` in plain NumPy: the formula, to the bit."""
    a, b = (_products.matrix_of(x, "float4_e2m1").astype(np.float64) for x in (x1, x2))
    powers = _products.powers_of_two(x1_level1_scale, x2_level1_scale.swapaxes(0, 1))
    v = np.zeros((len(a), len(b)), np.float32)
    with np.errstate(all="ignore"):
        for j, first in enumerate(range(0, a.shape[1], LEVEL)):
            k, own = slice(first, first + LEVEL), slice(first // 32, (first + LEVEL) // 32)
            p = _products.block_sums(a[:, k], b[:, k].T, (powers[0][:, own], powers[1][own]))
            v = v + p * x1_level0_scale[:, j, None] * x2_level0_scale[j]
        if bias is not None:
            v = v + bias
        return np.asarray(
            v.astype(_codes.row_of(15 if output_dtype is None else output_dtype).numpy)
        )
