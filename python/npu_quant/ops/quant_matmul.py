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
    """Multiply two matrices of codes; return the sums as floats, int8 codes or int32.

    For row m and column n; sums run over k::

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

    Sums of integers are exact; beyond int32 they wrap around, which cannot happen for K up to
    131071. Every later step is one IEEE float32 operation, from left to right, and totals are added
    one after another from 0 (docs/numerics.md 20). An argument that is not given is left out of the
    formula.

    Args:
        x1: codes ``(..., M, K)``: int8; int4, eight to an int32, ``(..., M, K / 8)``; float8_e5m2
            or float8_e4m3fn; uint8 for hifloat8, or for two codes of float4_e2m1, ``(..., M, K /
            2)``. It may have any strides and be unaligned or read-only; so may the arrays below.
        x2: codes ``(..., K, N)`` of x1's dtype, or int4 for an int8 x1. Codes that share elements
            are packed along N, ``(..., K, N / 8)``, or along K, ``(..., K / 8, N)``: whichever
            shape has an axis -2 that fits x1. The leading axes of x1 and x2 broadcast.
        scale: float32 or bfloat16, N elements or one; or int64 words from
            :func:`npu_quant.npu_trans_quant_param`, whose lower half is a float32. In groups ``(K /
            g, N)``: float32, for int8 by int4 int64. For float8: float32 or int64. For MX ``(...,
            ceil(K / 64), N, 2)``: uint8 or float8_e8m0fnu, a power of two for each 32 k, in pairs.
        offset: float32, N elements or one, only for int8 results; it replaces the offset that int64
            scales hold. In groups of int4: float16 ``(K / g, N)``. For int8 by int4: float32
            ``(N,)``, required; because the formula subtracts 8 from x1, it must hold ``8 * sum of
            x2 * scale``.
        pertoken_scale: float32, M elements, ``(M,)`` or ``(M, 1)``, only for float results. It is
            required in groups, and for MX: there ``(..., M, ceil(K / 64), 2)``, of the dtypes of
            scale.
        bias: int32, float32, float16 or bfloat16, ``(N,)``, or ``(B, 1, N)`` for results of rank 3.
            For float8 and MX float32. Not available in groups.
        output_dtype: the type of the result: int8 (also None), float16, bfloat16 or int32. It is
            required in groups (float16 or bfloat16), and for float8 and MX (float16, bfloat16 or
            float32). Given as torch_npu's number (1 or 258, 5 or 257, 15 or 283, 3 or 259, 6 or
            256), a dtype or a name.
        x1_dtype: the format that x1 holds: None, or int4 for int32. Required for uint8: hifloat8 or
            float4_e2m1.
        x2_dtype: the same for x2.
        pertoken_scale_dtype: None, or the format that pertoken_scale holds: float8_e8m0fnu for
            uint8.
        scale_dtype: the same for scale.
        group_sizes: ``[0, 0, g]``, or with 1 for 0: one scale for each g codes along k; g divides
            K. For int4 by int4 it selects the formula in groups; for int8 by int4 it is required;
            for MX it is ``[1, 1, 32]`` or None.
        y_scale: None.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The result, ``(..., M, N)``.

    Rounding is to nearest, ties to even; int8 is saturated. Edge cases:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    a sum beyond int32, an int32 bias included  wraps: 2**31 is -2**31
    a sum beyond 2**24                          rounded to float32 first
    beyond output_dtype's range                 inf or -inf; int8 127 or -128
    below output_dtype's normal range           subnormal, or 0 with the sign of v
    v is NaN                                    NaN; int8 0
    v is inf or -inf                            inf or -inf; int8 127 or -128
    a scale is 0                                by the formula: 0, plus a bias or offset
    an exponent of 255 in MX                    NaN for the row or column, whatever the codes
    float8 codes of NaN or infinity             NaN or inf, by the float64 products and sums
    K is 0                                      sums of 0, plus a bias or offset
    M, N or a leading axis is 0                 empty; the rules for the other arrays hold
    ==========================================  ===================================================

    Raises:
        DTypeError: x1, x2 or scale is missing (code 161001), an array is not an ndarray, has
            another dtype, or is missing where groups or MX need it (161002).
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
    devices cut a float32 scale to 19 bits. The golden there for int8 results rounds product and
    offset before it adds them. No document says how devices add up float8 and MX products: the
    blocks are this library's choice, and docs/numerics.md 20.2 bounds its distance from any other
    order.
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
