"""npu_grouped_dynamic_mx_quant: blocks of rows, which begin anew in each group."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core, _mx
from ..arrays import Array
from ..dtypes import DTypeName


class GroupedDynamicMxQuantResult(NamedTuple):
    """What :func:`npu_grouped_dynamic_mx_quant` returns; a field is None where ``out`` holds None.

    Of x with m rows and n columns, in g groups.
    """

    y: NDArray[Any]
    """Codes, of x's shape; of float4 the last axis is a half."""
    mxscale: NDArray[np.uint8]
    """Of shape (m // 64 + g, n, 2): two blocks a row, those of group j from
    group_index[j - 1] // 64 + j on; 0 where there is no block."""


def npu_grouped_dynamic_mx_quant(
    x: Array,
    group_index: Array,
    *,
    round_mode: str = "rint",
    dst_type: DTypeName = 23,
    blocksize: int = 32,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> GroupedDynamicMxQuantResult:
    """Quantize blocks of 32 rows of each column, which begin anew in each group of rows (MX).

    For the rows of experts, one after the other in one array::

        amax = max |x| over the block
        b    = floor(log2(amax)) - emax + 127, at least 0               scale_alg 0
               the least byte with amax <= top * 2^(b - 127)            scale_alg 1
               the least byte with amax <= dst_type_max * 2^(b - 127)   scale_alg 2
        y    = code(x * 2^(127 - b))        the nearest of dst_type, saturated

    So each group of rows becomes what ``npu_dynamic_mx_quant(rows, axis=0)`` makes of it
    (docs/numerics.md 14). The last block of a group holds what is left of it.

    =====================  ====  =====  =========  ===================
    dst_type               emax  top    scale_alg  round_mode
    =====================  ====  =====  =========  ===================
    float8_e4m3fn (292)    8     448    0, 1       rint
    float8_e5m2 (291)      15    57344  0, 1       rint
    float4_e2m1 (296)      2     6      0, 2       rint, round, floor
    float4_e1m2 (297)      0     1.75   0, 2       the same
    =====================  ====  =====  =========  ===================

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of shape ``(m, n)``. Any strides,
            unaligned and read-only arrays included. For float4 n is even.
        group_index: int32, of shape ``(g,)``, with g at least 1: the row behind each group. None
            is less than the one before it, and the last one is m; so groups may be empty.
        round_mode: ``"rint"``: ties go to the even code; ``"round"``: away from zero; ``"floor"``:
            to the next code below.
        dst_type: the format of the codes, one of the table, as torch_npu's number there, torch's
            (23, 24, 45), dtype or name.
        blocksize: rows of a block: 32.
        scale_alg: how the byte is found. None means 0.
        dst_type_max: for ``scale_alg=2`` what amax may become at most: from top to twice as much, 6
            to 12 or 1.75 to 3.5; codes still end at top. 0 or None means top. Rounded to float32.
        out: where to write ``(y, mxscale)``: arrays of exactly the result's shapes and dtypes, any
            strides, apart from each other, from x and from group_index; None for one that is not
            wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, mxscale)``: codes of x's shape, in float4 ``(m, n / 2)`` with two codes of a row in
        a byte, the first in its low nibble; uint8 of shape ``(m // 64 + g, n, 2)``. Block i of
        column c in group j, which begins with row ``start``, has the byte
        ``mxscale[start // 64 + j + i // 2, c, i % 2]``. Byte b stands for ``2**(b - 127)``, 255 for
        NaN. The group's way back, where ``end`` is the row behind it, is
        ``npu_anti_mx_quant(y[start:end], mxscale[first:last], axis=0, src_type=dst_type)`` with
        ``first = start // 64 + j`` and ``last = first + (end - start + 63) // 64``.

    Rounding is of the one product, by ``round_mode``. Blocks out of the ordinary:

    =======================================  ======  ==========================================
    block                                    byte    y
    =======================================  ======  ==========================================
    all zero, of whatever sign               0       0, or -0 as the element
    holds NaN, inf or -inf                   255     +0 everywhere
    so small that the byte is 0              0       by the formula: the code of x * 2^127
    beyond top, with scale_alg 0 or 2        b       top
    none: a lane or a pair of no block       0       there is none
    of an empty group                        none    none: the group has no blocks
    ``(0, n)``, or ``(m, 0)``                zeros   empty; mxscale is ``(g, n, 2)``
    =======================================  ======  ==========================================

    Raises:
        DTypeError: ``x`` or ``group_index`` is missing (code 161001), is no ndarray, or has another
            dtype.
        ParamError: a rank, ``group_index``, ``out``, the last axis or an attribute is not allowed
            or not available.
        TypeError: an attribute is of the wrong kind, such as ``blocksize="a"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1], [2], [64]], dtype=np.float32)
        >>> groups = np.array([1, 3], dtype=np.int32)
        >>> y, mxscale = npu_quant.npu_grouped_dynamic_mx_quant(x, groups, dst_type="float8_e4m3fn")
        >>> y.astype(int).tolist(), mxscale.tolist()
        ([[256], [8], [256]], [[[119, 0]], [[125, 0]]])

    Source: torch_npu.npu_grouped_dynamic_mx_quant (hicann/ops-nn
    ``quant/grouped_dynamic_mx_quant``, Ascend/op-plugin). The device leaves pairs of no block as
    they are in memory, and its kernel gives zeros where the byte is 0 and amax is not: with
    scale_alg 0, and with 2 where amax is subnormal. Neither does this function.
    """
    return _core.npu_grouped_dynamic_mx_quant(
        GroupedDynamicMxQuantResult,
        x,
        group_index,
        round_mode,
        dst_type,
        blocksize,
        scale_alg,
        dst_type_max,
        out,
        numerics,
    )


def reference(
    x: NDArray[Any],
    group_index: NDArray[np.int32],
    *,
    round_mode: str = "rint",
    dst_type: DTypeName = 23,
    blocksize: int = _mx.BLOCK,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
) -> GroupedDynamicMxQuantResult:
    """Compute :func:`npu_grouped_dynamic_mx_quant` in plain NumPy: the formula, without checks."""
    m, n = x.shape
    mxscale = np.zeros((m // (2 * blocksize) + len(group_index), n, 2), np.uint8)
    y, start = [], 0
    for j, end in enumerate(group_index.tolist()):
        group, first = x[start:end], start // (2 * blocksize) + j
        codes, pairs = _mx.quantized(group, 0, round_mode, dst_type, scale_alg, dst_type_max)
        mxscale[first : first + len(pairs)] = pairs
        y.append(codes)
        start = end
    return GroupedDynamicMxQuantResult(np.concatenate(y), mxscale)
