"""npu_dynamic_block_mx_quant: codes, and a scale per tile of 32 x 32 in two layouts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _mx
from ..arrays import Array
from ..dtypes import DTypeName


class DynamicBlockMxQuantResult(NamedTuple):
    """What :func:`npu_dynamic_block_mx_quant` returns; a field is None where ``out`` holds None.

    m and n are input's last two axes.
    """

    y: NDArray[Any]
    """Codes, of input's shape; float4 has half the last axis."""
    scale1: NDArray[np.uint8]
    """E8M0 bytes, the tiles' scales for each row: (..., m, ceil(ceil(n / 32) / 2), 2)."""
    scale2: NDArray[np.uint8]
    """The same scales for each column: (..., ceil(ceil(m / 32) / 2), n, 2)."""


def npu_dynamic_block_mx_quant(
    input: Array,
    *,
    round_mode: str = "rint",
    dst_type: DTypeName = 296,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
    out: tuple[Array | None, Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> DynamicBlockMxQuantResult:
    """Quantize with one power-of-two scale per tile of 32 x 32, stored in two layouts (MX).

    The same codes serve a matrix that is multiplied from the left and from the right::

        amax = max |x| over the tile
        b    = floor(log2(amax)) - emax + 127, at least 0               scale_alg 0
               the least byte with amax <= dst_type_max * 2^(b - 127)   scale_alg 2
        y    = code(x * 2^(127 - b))        the nearest of dst_type, saturated

    log2 and the comparison are exact; the product is exact unless it is below 2^-126
    (docs/numerics.md 14). The last tiles along rows and columns may be smaller.

    =====================  ====  =====  =========  ===================
    dst_type               emax  top    scale_alg  round_mode
    =====================  ====  =====  =========  ===================
    float8_e4m3fn (292)    8     448    0          rint
    float8_e5m2 (291)      15    57344  0          rint
    float4_e2m1 (296)      2     6      0, 2       rint, round, floor
    float4_e1m2 (297)      0     1.75   0          the same
    =====================  ====  =====  =========  ===================

    Args:
        input: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 2 or 3. It may have
            any strides and be unaligned or read-only. For float4 its last axis is even.
        round_mode: ``"rint"``: ties go to the even code; ``"round"``: away from zero; ``"floor"``:
            to the next code below.
        dst_type: the format of the codes, one from the table: torch_npu's number there, torch's
            number (23, 24, 45), a dtype or a name.
        scale_alg: how the scale's byte b is computed, see the formula. None means 0.
        dst_type_max: for ``scale_alg=2``, the limit of amax / scale: 6 or 7; codes still end at 6.
            0 or None means 6.
        out: where to write ``(y, scale1, scale2)``: arrays of exactly the result's shapes and
            dtypes, with any strides and no memory shared with each other or input. None stands for
            an output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale1, scale2)``, for input of shape ``(..., m, n)``: ``y`` has that shape; float4
        has ``(..., m, n / 2)``, two codes of a row in a byte, the first in its low nibble.
        ``scale1``, uint8 of shape ``(..., m, ceil(ceil(n / 32) / 2), 2)``, repeats each tile's byte
        for each of its rows; ``scale2``, ``(..., ceil(ceil(m / 32) / 2), n, 2)``, repeats it for
        each of its columns. :func:`npu_anti_mx_quant` takes ``scale1`` along the last axis, and
        ``scale2`` along the axis before it. Byte b stands for ``2**(b - 127)``, and 255 for NaN.

    Rounding happens once per code, to the product, by ``round_mode``. Edge cases, by tile:

    =======================================  ======  ==========================================
    tile                                     byte    y
    =======================================  ======  ==========================================
    all zero, of any sign                    0       0, or -0 as the element
    holds NaN, inf or -inf                   255     +0 everywhere
    amax so small that the byte is 0         0       by the formula: the code of x * 2^127
    a value beyond top                       b       top
    no tile: a spare byte                    0       no codes
    ``(m, 0)`` or ``(0, n)``                 none    empty; scale1 is ``(m, 0, 2)``, scale2
                                                     alike
    =======================================  ======  ==========================================

    Raises:
        DTypeError: ``input`` is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, ``out``, the last axis or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``scale_alg="a"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, -2], [3, 6]], dtype=np.float32)
        >>> y, scale1, scale2 = npu_quant.npu_dynamic_block_mx_quant(x, dst_type="float8_e4m3fn")
        >>> y.astype(int).tolist()
        [[64, -128], [192, 384]]
        >>> scale1.tolist(), scale2.tolist()
        ([[[121, 0]], [[121, 0]]], [[[121, 0], [121, 0]]])

    Source: torch_npu.npu_dynamic_block_mx_quant (hicann/ops-nn ``quant/dynamic_block_mx_quant``,
    Ascend/op-plugin). Its kernel gives zeros where amax is subnormal, and rounds amax to bfloat16
    with scale_alg 2; its document, and this function, do neither.
    """
    return _core.npu_dynamic_block_mx_quant(
        DynamicBlockMxQuantResult,
        input,
        round_mode,
        dst_type,
        scale_alg,
        dst_type_max,
        out,
        numerics,
    )


def reference(
    input: NDArray[Any],
    *,
    round_mode: str = "rint",
    dst_type: DTypeName = 296,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
) -> DynamicBlockMxQuantResult:
    """Compute :func:`npu_dynamic_block_mx_quant` in plain NumPy: the formula, without checks."""
    m, n = input.shape[-2:]
    with np.errstate(all="ignore"):
        v = input.astype(np.float32)
        amax = _mx.greatest_of(_mx.greatest_of(v, -1), -2)
        b = _mx.bytes_of(amax, dst_type, scale_alg, dst_type_max)
        of_rows, of_columns = _mx.spread(b, -2, m), _mx.spread(b, -1, n)
        y = _codes.encode(_mx.scaled(v, _mx.spread(of_rows, -1, n)), dst_type, round_mode)
    return DynamicBlockMxQuantResult(y, _mx.paired(of_rows, -1), _mx.paired(of_columns, -2))
