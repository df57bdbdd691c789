"""npu_grouped_matmul_swiglu_quant_v2: like the first version, also for int4 and MX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _glu, _products
from ..arrays import Array
from ..dtypes import DTypeName
from . import dynamic_mx_quant
from .grouped_matmul_swiglu_quant import scales_of, totals

Arrays = Sequence[Array]
"""A list of one."""


class GroupedMatmulSwigluQuantV2Result(NamedTuple):
    """What the operator returns; a field is None where ``out`` holds None."""

    y: NDArray[Any]
    """Codes, ``(M, N / 2)``."""
    scale: NDArray[Any]
    """float32, one per row, ``(M,)``; for MX bytes, ``(M, ceil(N / 128), 2)``."""


def npu_grouped_matmul_swiglu_quant_v2(
    x: Array,
    weight: Arrays,
    weight_scale: Arrays,
    x_scale: Array,
    group_list: Array,
    *,
    smooth_scale: Array | None = None,
    weight_assist_matrix: Arrays | None = None,
    bias: Array | None = None,
    dequant_mode: int | None = 0,
    dequant_dtype: DTypeName | None = 0,
    quant_mode: int | None = 0,
    quant_dtype: DTypeName | None = 1,
    group_list_type: int | None = 0,
    tuning_config: Sequence[int] | None = None,
    x_dtype: DTypeName | None = None,
    weight_dtype: DTypeName | None = None,
    weight_scale_dtype: DTypeName | None = None,
    x_scale_dtype: DTypeName | None = None,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> GroupedMatmulSwigluQuantV2Result:
    """Multiply rows of codes by their expert's weight, apply SwiGLU, and quantize.

    For row m, which belongs to expert e, and column n::

        int8, int4:    c     = (sum over k of x * weight) * x_scale[m] * weight_scale[e, n]
        int8 by int4:  total = sum over groups j of k of
                               (sum of (x - 8) * weight) * weight_scale[e, j, n]
                       c     = (total + weight_assist_matrix[e, n]) * x_scale[m]
        MX:            c     = sum over blocks of 32 k of (sum of x * weight) * 2**(exponents)
        o     = a / (1 + exp(-a)) * b       a, b = the halves of c's row
        o     = o * smooth_scale[e]         if given
        scale = max |o| / 127,  y = code(o / scale)                   int8, over the row
        MX:   y, scale = npu_dynamic_mx_quant(o)                      float8_e4m3fn, over 32 each

    Every operation after the sums of integers is one IEEE float32 operation, from left to right;
    the sum of an MX block is computed in float64 and rounded to float32; exp is correctly rounded
    (docs/numerics.md 24).

    Args:
        x: codes ``(M, K)``: int8; int4, eight to an int32, ``(M, K / 8)``; or float8_e4m3fn, which
            means MX. It may have any strides and be unaligned or read-only; so may the arrays
            below.
        weight: a list of one array: int8 or float8_e4m3fn, ``(E, K, N)``; or, for int8 and int4 x,
            int4 codes, eight to an int32: ``(E, K, N / 8)`` or ``(E, K / 8, N)``, whichever has an
            axis -2 that fits x. N is even.
        weight_scale: a list of one array: float32 ``(E, N)``. For int4 weights also int64 words,
            whose lower half is a float32; for int8 by int4 also ``(E, G, N)``, one for each of G
            groups of K / G consecutive k. For MX uint8 or float8_e8m0fnu ``(E, ceil(K / 64), N,
            2)``.
        x_scale: float32 ``(M,)``; for MX uint8 or float8_e8m0fnu ``(M, ceil(K / 64), 2)``.
        group_list: int64 ``(E,)``: where each expert's rows end, or how many rows it has
            (group_list_type). Rows after the last expert's give results of 0.
        smooth_scale: float32, ``(E, N / 2)`` or ``(E,)``, only for int4 by int4.
        weight_assist_matrix: a list of one array, float32 ``(E, N)``, only for int8 by int4, which
            requires it. Because the formula subtracts 8 from x, it must hold ``8 * sum of weight *
            weight_scale``.
        bias: None.
        dequant_mode: 0; with scales in groups along k also 1; for MX 2.
        dequant_dtype: 0 or float32.
        quant_mode: 0; for MX 2.
        quant_dtype: int8 (also 0 and None); for MX float8_e4m3fn.
        group_list_type: what group_list holds: 0, ends (the index of the row after each expert's
            last row), or 1, numbers of rows.
        tuning_config: has no effect.
        x_dtype: None, or the format that x holds: int4 for int32.
        weight_dtype: the same for weight.
        weight_scale_dtype: None, or the format that weight_scale holds: float8_e8m0fnu for uint8.
        x_scale_dtype: the same for x_scale.
        out: where to write ``(y, scale)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale)``: int8 ``(M, N / 2)`` and float32 ``(M,)``; for MX float8_e4m3fn ``(M, N /
        2)`` and uint8 ``(M, ceil(N / 128), 2)``.

    Rounding is to nearest, ties to even. Edge cases, by row; the page of
    :func:`npu_quant.npu_grouped_matmul_swiglu_quant` has the others, for MX blocks that of
    :func:`npu_quant.npu_dynamic_mx_quant`:

    =============================================  ================  =============================
    row                                            scale             y
    =============================================  ================  =============================
    o all zero                                     0                 0
    o holds NaN                                    NaN; MX 255       0 everywhere; MX in its block
    o holds inf or -inf, no NaN                    inf; MX 255       the same
    an exponent of 255 in MX                       255 for the row   0
    after the last expert's rows                   0                 0
    N is 0                                         0                 empty
    =============================================  ================  =============================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype;
            ``weight_assist_matrix`` is None for int8 by int4 (161002).
        ParamError: rank, shape, a list's length, ``out``, an attribute or an entry of
            ``group_list`` is not allowed, or an argument is given that has no place.
        TypeError: a list is none, or an attribute is of the wrong kind.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, 2], [-3, 4], [5, 6]], dtype=np.int8)
        >>> weight = np.array([[[5, -6], [8, 9]], [[1, 2], [3, 4]]], dtype=np.int8)
        >>> y, scale = npu_quant.npu_grouped_matmul_swiglu_quant_v2(
        ...     x,
        ...     [weight],
        ...     [np.full((2, 2), 0.1, dtype=np.float32)],
        ...     np.array([1, 1, 0.5], dtype=np.float32),
        ...     np.array([2, 1]),
        ...     group_list_type=1,
        ... )
        >>> y.tolist()
        [[127], [127], [127]]
        >>> scale
        array([0.01767777, 0.06111819, 0.01169168], dtype=float32)

    Source: torch_npu.npu_grouped_matmul_swiglu_quant_v2 (Ascend/op-plugin), which calls
    aclnnGroupedMatmulSwigluQuantV2 (cann/ops-transformer ``gmm/grouped_matmul_swiglu_quant_v2``).
    Its document rounds the exponents of MX results to nearest; this function rounds them down, like
    :func:`npu_quant.npu_dynamic_mx_quant`. Other differences are those of the first version. No
    document says how devices add up MX products.
    """
    return _core.npu_grouped_matmul_swiglu_quant_v2(
        GroupedMatmulSwigluQuantV2Result,
        x,
        weight,
        weight_scale,
        x_scale,
        group_list,
        smooth_scale,
        weight_assist_matrix,
        bias,
        dequant_mode,
        dequant_dtype,
        quant_mode,
        quant_dtype,
        group_list_type,
        x_dtype,
        weight_dtype,
        weight_scale_dtype,
        x_scale_dtype,
        out,
        numerics,
    )


def _products_of(
    x: NDArray[Any], weight: NDArray[Any], scale: NDArray[Any], x_scale: Any, assist: Any
) -> NDArray[np.float32]:
    """Return c of the rows of an expert."""
    own, matrix = _products.factors(x, weight)
    if x_scale.itemsize == 1:
        return _products.block_sums(own, matrix, _products.powers_of_two(x_scale, scale))
    of_rows = x_scale[:, None]
    if assist is None:
        acc = _products.whole_sums(own, matrix).astype(np.float32)
        return np.asarray(acc * of_rows * scales_of(scale))
    total = totals(own - 8, matrix, np.atleast_2d(scales_of(scale)))
    return np.asarray((total + assist) * of_rows)


def reference(
    x: NDArray[Any],
    weight: Sequence[NDArray[Any]],
    weight_scale: Sequence[NDArray[Any]],
    x_scale: NDArray[Any],
    group_list: NDArray[np.int64],
    *,
    smooth_scale: NDArray[np.float32] | None = None,
    weight_assist_matrix: Sequence[NDArray[np.float32]] | None = None,
    bias: None = None,
    dequant_mode: int | None = 0,
    dequant_dtype: DTypeName | None = 0,
    quant_mode: int | None = 0,
    quant_dtype: DTypeName | None = 1,
    group_list_type: int | None = 0,
    tuning_config: Sequence[int] | None = None,
    x_dtype: DTypeName | None = None,
    weight_dtype: DTypeName | None = None,
    weight_scale_dtype: DTypeName | None = None,
    x_scale_dtype: DTypeName | None = None,
) -> GroupedMatmulSwigluQuantV2Result:
    """Compute the operator in plain NumPy: the formula, to the bit, without checks."""
    ends = np.cumsum(group_list) if group_list_type == 1 else group_list
    is_mx, n = x_scale.itemsize == 1, weight_scale[0].shape[-2 if x_scale.itemsize == 1 else -1]
    o, begin = np.zeros((len(x), n // 2), np.float32), 0
    with np.errstate(all="ignore"):
        for e, end in enumerate(ends.tolist()):
            own, added = slice(begin, end), weight_assist_matrix
            assist = None if added is None else added[0][e]
            c = _products_of(x[own], weight[0][e], weight_scale[0][e], x_scale[own], assist)
            a, b = _glu.halves(c)
            o[own] = _glu.swish(a) * b
            if smooth_scale is not None:
                o[own] = o[own] * smooth_scale[e]
            begin = end
        if is_mx:
            codes = dynamic_mx_quant.reference(o, dst_type="float8_e4m3fn")
            return GroupedMatmulSwigluQuantV2Result(*codes)
        scale = _glu.amax(o) / np.float32(127)
        y = _codes.encode(np.asarray(o / scale[:, None]), "int8")
    return GroupedMatmulSwigluQuantV2Result(y, np.asarray(scale))
