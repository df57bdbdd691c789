"""npu_grouped_dynamic_mx_quant: codes and a scale per block of 32 rows, in groups of rows."""

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
    """Codes, of x's shape; float4 has half the last axis."""
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
    """Quantize blocks of 32 rows of each column; blocks restart at each group of rows (MX).

    It quantizes the rows of several experts that one array holds, one expert after another::

        amax = max |x| over the block
        b    = floor(log2(amax)) - emax + 127, at least 0               scale_alg 0
               the least byte with amax <= top * 2^(b - 127)            scale_alg 1
               the least byte with amax <= dst_type_max * 2^(b - 127)   scale_alg 2
        y    = code(x * 2^(127 - b))        the nearest of dst_type, saturated

    Each group of rows gives the result of ``npu_dynamic_mx_quant(rows, axis=0)`` (docs/numerics.md
    14). The last block of a group may be shorter.

    =====================  ====  =====  =========  ===================
    dst_type               emax  top    scale_alg  round_mode
    =====================  ====  =====  =========  ===================
    float8_e4m3fn (292)    8     448    0, 1       rint
    float8_e5m2 (291)      15    57344  0, 1       rint
    float4_e2m1 (296)      2     6      0, 2       rint, round, floor
    float4_e1m2 (297)      0     1.75   0, 2       the same
    =====================  ====  =====  =========  ===================

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of shape ``(m, n)``. It may have
            any strides and be unaligned or read-only. For float4 n is even.
        group_index: int32, of shape ``(g,)``, with g at least 1: where each group ends (the index
            of the row after its last row). Ends never decrease, and the last end is m; a group may
            be empty.
        round_mode: ``"rint"``: ties go to the even code; ``"round"``: away from zero; ``"floor"``:
            to the next code below.
        dst_type: the format of the codes, one from the table: torch_npu's number there, torch's
            number (23, 24, 45), a dtype or a name.
        blocksize: the number of rows of a block: 32.
        scale_alg: how the scale's byte b is computed, see the formula. None means 0.
        dst_type_max: for ``scale_alg=2``, the limit of amax / scale, from top to twice top: 6 to
            12, or 1.75 to 3.5; codes still end at top. 0 or None means top. Rounded to float32.
        out: where to write ``(y, mxscale)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other, x or group_index. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, mxscale)``: ``y`` has x's shape; float4 has ``(m, n / 2)``, two codes of a row in a
        byte, the first in its low nibble. ``mxscale`` is uint8 of shape ``(m // 64 + g, n, 2)``.
        Block i of column c in group j, whose first row is ``start``, has the byte ``mxscale[start
        // 64 + j + i // 2, c, i % 2]``. Byte b stands for ``2**(b - 127)``, and 255 for NaN. To
        dequantize the group, which ends before row ``end``, call ``npu_anti_mx_quant(y[start:end],
        mxscale[first:last], axis=0, src_type=dst_type)`` with ``first = start // 64 + j`` and
        ``last = first + (end - start + 63) // 64``.

    Rounding happens once per code, to the product, by ``round_mode``. Edge cases, by block:

    =======================================  ======  ==========================================
    block                                    byte    y
    =======================================  ======  ==========================================
    all zero, of any sign                    0       0, or -0 as the element
    holds NaN, inf or -inf                   255     +0 everywhere
    amax so small that the byte is 0         0       by the formula: the code of x * 2^127
    value beyond top, scale_alg 0 or 2       b       top
    no block: a spare byte or pair of bytes  0       no codes
    an empty group                           none    none
    ``(0, n)``, or ``(m, 0)``                zeros   empty; mxscale is ``(g, n, 2)``
    =======================================  ======  ==========================================

    Raises:
        DTypeError: ``x`` or ``group_index`` is missing (code 161001), is not an ndarray, or has
            another dtype.
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
    ``quant/grouped_dynamic_mx_quant``, Ascend/op-plugin). The device does not write the pairs of
    bytes that belong to no block; this function writes 0. Where the byte is 0 and amax is not, its
    kernel gives zeros with scale_alg 0, and with 2 if amax is subnormal; this function does not.
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
