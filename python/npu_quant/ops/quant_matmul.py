"""npu_quant_matmul: a product of codes, scaled and rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _products
from ..arrays import Array
from ..dtypes import DTypeName


def npu_quant_matmul(
    x1: Array,
    x2: Array,
    scale: Array,
    *,
    offset: Array | None = None,
    pertoken_scale: Array | None = None,
    bias: Array | None = None,
    output_dtype: DTypeName | None = None,
    x1_dtype: DTypeName | None = None,
    x2_dtype: DTypeName | None = None,
    pertoken_scale_dtype: DTypeName | None = None,
    scale_dtype: DTypeName | None = None,
    group_sizes: Sequence[int] | None = None,
    y_scale: Array | None = None,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Multiply two matrices of codes, and turn the sums into values or codes.

    Of row m, column n and k, which is added up::

        int8, int4:      acc   = sum of x1[m, k] * x2[k, n], plus an int32 bias[n]
                         v     = acc * scale[n] * pertoken_scale[m] + a float bias[n]
                         y     = v, rounded to float16 or bfloat16
                         y     = code(v + offset[n])                            int8
                         y     = acc                                            int32
        in groups:       total = sum over groups j of (acc_j - r_j * offset[j, n]) * scale[j, n]
        (int4)           y     = total * pertoken_scale[m], rounded;  r_j is the sum of x1 in j
        in groups:       total = sum over groups j of (sum of (x1 - 8) * x2) * scale[j, n]
        (int8 by int4)   y     = (total + offset[n]) * pertoken_scale[m], rounded
        float8:          total = sum over blocks of 32 k, each in float64, rounded to float32
                         y     = (total + bias[n]) * scale[n] * pertoken_scale[m], rounded
        MX:              the same, each block times 2**(its two exponents), no other scales

    Sums of integers are exact, and wrap around beyond int32, which K up to 131071 never is. From
    there on every step is one IEEE float32 operation, from left to right, and totals are added one
    after another from 0 (docs/numerics.md 20). What is not given is left out.

    Args:
        x1: codes ``(..., M, K)``: int8; int4, eight to an int32, ``(..., M, K / 8)``; float8_e5m2
            or float8_e4m3fn; uint8, which hold hifloat8 or two codes of float4_e2m1,
            ``(..., M, K / 2)``. Any strides, unaligned and read-only arrays included, here and
            below.
        x2: codes ``(..., K, N)`` of x1's dtype, or int4 for int8. Where they share elements these
            lie along N, ``(..., K, N / 8)``, or along K, ``(..., K / 8, N)``: the one whose axis -2
            fits x1. Leading axes of both broadcast.
        scale: float32 or bfloat16, of N elements or one; or int64 of
            :func:`npu_quant.npu_trans_quant_param`, which hold a float32 in their lower half. In
            groups ``(K / g, N)``: float32, of int8 by int4 int64. Of float8: float32 or int64. Of
            MX ``(..., ceil(K / 64), N, 2)``: uint8 or float8_e8m0fnu, a power of two for each 32
            k, in pairs.
        offset: float32, of N elements or one, for int8 results alone; it is taken instead of the
            offset that int64 scales hold. In groups of int4 float16 ``(K / g, N)``; of int8 by int4
            float32 ``(N,)``, required: it has to hold ``8 * sum of x2 * scale``, as 8 is taken from
            x1.
        pertoken_scale: float32, of M elements, ``(M,)`` or ``(M, 1)``, for float results alone. In
            groups it is required; of MX, too: ``(..., M, ceil(K / 64), 2)``, as scale.
        bias: int32, float32, float16 or bfloat16, ``(N,)`` or ``(B, 1, N)`` for results of rank 3.
            Of float8 and MX float32. Not in groups.
        output_dtype: the type of the result: int8, which None means, too, float16, bfloat16 or
            int32. In groups float16 or bfloat16, of float8 and MX one of these or float32: it has
            to be named. As torch_npu's code (1 or 258, 5 or 257, 15 or 283, 3 or 259, 6 or 256),
            dtype or name.
        x1_dtype: what x1 holds, if it is said: of int32 int4, of uint8 hifloat8 or float4_e2m1,
            which it has to be.
        x2_dtype: what x2 holds, likewise.
        pertoken_scale_dtype: what pertoken_scale holds, if it is said: of uint8 float8_e8m0fnu.
        scale_dtype: what scale holds, likewise.
        group_sizes: ``[0, 0, g]``, or 1 for 0: scales for each g codes along k, which divide K. Of
            int4 by int4 it means groups, of int8 by int4 it is required; of MX it is
            ``[1, 1, 32]`` or None.
        y_scale: None.
        out: where to write the result: an array of exactly its shape and dtype, any strides, apart
            from the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The result, ``(..., M, N)``.

    Rounding is to nearest, ties to even; int8 is saturated. Out of the ordinary:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    a sum beyond int32, an int32 bias included  wraps: 2**31 is -2**31
    a sum beyond 2**24                          rounded to float32 first
    beyond output_dtype's range                 inf or -inf; int8 127 or -128
    below its normal range                      subnormal, or 0 with the sign of v
    v is NaN                                    NaN; int8 0
    v is inf or -inf                            inf or -inf; int8 127 or -128
    a scale is 0                                by the formula: 0, a bias or offset added
    an exponent of 255 in MX                    NaN for the row or column, whatever the codes
    float8 codes of NaN or infinity             NaN or inf, as products and sums of float64 are
    K is 0                                      sums of 0: a bias or offset is added
    M, N or a leading axis is 0                 empty; the rules for the other arrays hold
    ==========================================  ===================================================

    Raises:
        DTypeError: x1, x2 or scale is missing (code 161001), an array is no ndarray, has another
            dtype, or is missing where groups or MX need it (161002).
        ParamError: rank, shape, ``out`` or an attribute is not allowed, or an argument has no place
            in the form that the dtypes choose.
        TypeError: an attribute is of the wrong kind, such as ``output_dtype=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x1 = np.array([[1, 2], [-3, 4]], dtype=np.int8)
        >>> x2 = np.array([[5, -6, 7], [8, 9, -10]], dtype=np.int8)
        >>> npu_quant.npu_quant_matmul(x1, x2, np.float32([1]), output_dtype="int32")
        array([[ 21,  12, -13],
               [ 17,  54, -61]], dtype=int32)
        >>> npu_quant.npu_quant_matmul(
        ...     x1,
        ...     x2,
        ...     np.float32([0.5, 1, 2]),
        ...     pertoken_scale=np.float32([1, 0.25]),
        ...     bias=np.float32([1, 0, -1]),
        ...     output_dtype="float16",
        ... )
        array([[ 11.5  ,  12.   , -27.   ],
               [  3.125,  13.5  , -31.5  ]], dtype=float16)

    Source: torch_npu.npu_quant_matmul (Ascend/op-plugin), which calls aclnnQuantMatmulV4, V5
    (hicann/ops-nn ``matmul/quant_batch_matmul_v3``, ``quant_batch_matmul_v4``). On some paths the
    devices cut a float32 scale to 19 bits; the golden of int8 results rounds product and offset
    before it adds them. How they add up float8 and MX is not documented: blocks are a choice, whose
    distance from any order of the sum docs/numerics.md 20.2 bounds.
    """
    return _core.npu_quant_matmul(
        x1,
        x2,
        scale,
        offset,
        pertoken_scale,
        bias,
        y_scale,
        output_dtype,
        x1_dtype,
        x2_dtype,
        pertoken_scale_dtype,
        scale_dtype,
        group_sizes,
        out,
        numerics,
    )


def scales_of(scale: NDArray[Any]) -> NDArray[np.float32]:
    """Return scales, of which int64 hold a float32 in their lower half."""
    return _products.carried(scale)[0] if scale.dtype == np.int64 else scale.astype(np.float32)


def offsets_of(scale: NDArray[Any], offset: NDArray[Any] | None) -> NDArray[np.float32]:
    """Return offsets of int8 results: those that are given, or 9 bits of int64 scales, or none."""
    if offset is not None:
        return offset
    return _products.carried(scale)[1] if scale.dtype == np.int64 else -np.zeros(1, np.float32)


def float_sums(
    x1: NDArray[Any],
    x2: NDArray[Any],
    scale: NDArray[Any],
    pertoken_scale: NDArray[Any] | None = None,
    x1_dtype: DTypeName | None = None,
    x2_dtype: DTypeName | None = None,
) -> NDArray[np.float32]:
    """Return sums of products of small floats, of MX with their powers of two."""
    a, b = _products.factors(x1, x2, x1_dtype, x2_dtype)
    if pertoken_scale is None or pertoken_scale.dtype == np.float32:
        return _products.block_sums(a, b)
    return _products.block_sums(a, b, _products.powers_of_two(pertoken_scale, scale))


def reference(
    x1: NDArray[Any],
    x2: NDArray[Any],
    scale: NDArray[Any],
    *,
    offset: NDArray[Any] | None = None,
    pertoken_scale: NDArray[Any] | None = None,
    bias: NDArray[Any] | None = None,
    output_dtype: DTypeName | None = None,
    x1_dtype: DTypeName | None = None,
    x2_dtype: DTypeName | None = None,
    pertoken_scale_dtype: DTypeName | None = None,
    scale_dtype: DTypeName | None = None,
    group_sizes: Sequence[int] | None = None,
    y_scale: None = None,
) -> NDArray[Any]:
    """Compute :func:`npu_quant_matmul` in plain NumPy: the formula, to the bit, without checks."""
    to = _codes.row_of("int8" if output_dtype is None else output_dtype).name
    is_whole = x1.dtype in (np.int8, np.int32)
    is_mx = not is_whole and scale.dtype.itemsize == 1
    of_rows: Any = None if pertoken_scale is None or is_mx else pertoken_scale.reshape(-1, 1)
    with np.errstate(all="ignore"):
        if is_whole and scale.ndim == 2:
            a, b = _products.factors(x1, x2)
            if x1.dtype == np.int8:
                added: Any = offset
                v = _products.group_sums(a - 8, b, scales_of(scale)) + added
            else:
                v = _products.group_sums(a, b, scales_of(scale), offset)
            return np.asarray((v * of_rows).astype(_codes.row_of(to).numpy))
        if is_whole:
            acc = _products.whole_sums(*_products.factors(x1, x2))
            if bias is not None and bias.dtype == np.int32:
                acc, bias = acc + bias, None
            if to == "int32":
                return acc
            v = acc.astype(np.float32)
        else:
            v = float_sums(x1, x2, scale, pertoken_scale, x1_dtype, x2_dtype)
            v, bias = v if bias is None else v + bias, None
        if not is_mx:
            v = v * scales_of(scale)
        if of_rows is not None:
            v = v * of_rows
        if bias is not None:
            v = v + bias.astype(np.float32)
        if to == "int8":
            return _codes.encode(v + offsets_of(scale, offset), "int8")
        return np.asarray(v.astype(_codes.row_of(to).numpy))
