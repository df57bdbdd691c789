"""npu_dequant_bias: the int32 sums of a quantized product as float16 or bfloat16."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array
from ..dtypes import DTypeName


def npu_dequant_bias(
    x: Array,
    weight_scale: Array,
    activation_scale: Array | None,
    bias: Array | None,
    *,
    output_dtype: DTypeName | None = None,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Dequantize the int32 sums of a product of codes, with scales and a bias.

    For row m and column n::

        v = (x + bias[n]) * weight_scale[n] * activation_scale[m]         an int32 bias
        v = x * weight_scale[n] * activation_scale[m] + bias[n]           a float bias
        y = v, rounded to output_dtype

    A sum with an int32 bias wraps around. Every later step is one IEEE float32 operation, in this
    order (docs/numerics.md 18): one rounding turns x into float32, then come one or two products,
    then the sum with a float bias. 16-bit inputs are widened exactly. An argument that is None is
    left out of the formula.

    Args:
        x: int32, of shape (M, N). It may have any strides and be unaligned or read-only; so may the
            arrays below.
        weight_scale: float32 or bfloat16 (``ml_dtypes.bfloat16``), of shape (N,). Any sign.
        activation_scale: float32, of shape (M,), or None.
        bias: int32, float32, float16 or bfloat16, of shape (N,), or None.
        output_dtype: the type of the result: float16 (also None) or bfloat16, given as torch_npu's
            number (5 or 257, 15 or 283), a dtype or a name. torch_npu's documents allow bfloat16
            only with a bfloat16 weight_scale, and float16 only with a float32 one.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The values, of x's shape.

    Rounding is to nearest, ties to even. Edge cases:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    x + bias beyond int32                       wraps: 2**31 - 1 and 1 make -2**31
    x or x + bias beyond 2**24                  rounded to float32 first
    beyond output_dtype's range                 inf or -inf: float16 ends at 65504, from 65520 on
                                                values are inf
    below output_dtype's normal range           subnormal, or 0 with the sign of v
    v next to a rounding tie                    rounded to float32 first, so perhaps onto the tie
    x is 0                                      0 with the scales' sign, plus a float bias
    a scale is 0 or -0.0                        0 with the sign of the product, plus a float bias
    a scale is infinite                         inf or -inf, by the signs; NaN if the rest is 0
    a bias is infinite                          inf or -inf; NaN if the product is the opposite one
    NaN in a scale or a bias                    NaN
    no elements                                 empty; the rules for the other arrays hold
    ==========================================  ===================================================

    Raises:
        DTypeError: x or weight_scale is missing (code 161001), an array is not an ndarray, or has
            another dtype.
        ParamError: rank, shape, ``out`` or ``output_dtype`` is not allowed.
        TypeError: an attribute is of the wrong kind, such as ``output_dtype=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[16777217, -3]], dtype=np.int32)
        >>> weight_scale = np.array([1, 0.5], dtype=np.float32)
        >>> bias = np.array([-16777216, 1], dtype=np.int32)
        >>> npu_quant.npu_dequant_bias(x, weight_scale, None, bias)  # added as floats: 0
        array([[ 1., -1.]], dtype=float16)
        >>> x, weight_scale = np.array([[100, -7]], dtype=np.int32), np.float32([0.5, 0.1])
        >>> npu_quant.npu_dequant_bias(x, weight_scale, np.float32([2]), np.float32([0.25, 1]))
        array([[100.25,  -0.4 ]], dtype=float16)

    Source: torch_npu.npu_dequant_bias (Ascend/op-plugin), which calls aclnnDequantBias
    (hicann/ops-nn ``quant/dequant_bias``).
    """
    return _core.npu_dequant_bias(
        x, weight_scale, activation_scale, bias, output_dtype, out, numerics
    )


def reference(
    x: NDArray[Any],
    weight_scale: NDArray[Any],
    activation_scale: NDArray[Any] | None,
    bias: NDArray[Any] | None,
    *,
    output_dtype: DTypeName | None = None,
) -> NDArray[Any]:
    """Compute :func:`npu_dequant_bias` in plain NumPy: the formula, to the bit, without checks."""
    to = _codes.row_of("float16" if output_dtype is None else output_dtype).numpy
    with np.errstate(all="ignore"):
        if bias is not None and bias.dtype == np.int32:
            x, bias = x + bias, None
        v = x.astype(np.float32) * weight_scale.astype(np.float32)
        if activation_scale is not None:
            v = v * activation_scale[:, None]
        if bias is not None:
            v = v + bias.astype(np.float32)
        return v.astype(to)
