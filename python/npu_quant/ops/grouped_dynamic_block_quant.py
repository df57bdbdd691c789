"""npu_grouped_dynamic_block_quant: codes and a scale per block, in groups of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..dtypes import DTypeName
from . import dynamic_block_quant


class GroupedDynamicBlockQuantResult(NamedTuple):
    """What :func:`npu_grouped_dynamic_block_quant` returns; a field is None where ``out`` has None.

    Of x with m rows and n columns, in g groups.
    """

    y: NDArray[Any]
    """Codes, of x's shape."""
    scale: NDArray[np.float32]
    """Of shape (..., m // row_block_size + g, ceil(n / col_block_size)): those of group j from row
    group_list[j - 1] // row_block_size + j on; 0 where there is no block."""


def npu_grouped_dynamic_block_quant(
    x: Array,
    group_list: Array,
    *,
    min_scale: float = 0.0,
    round_mode: str = "rint",
    dst_type: DTypeName = 291,
    row_block_size: int = 1,
    col_block_size: int = 128,
    group_list_type: int = 0,
    dst_type_max: float = 0.0,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> GroupedDynamicBlockQuantResult:
    """Quantize a matrix with one scale per block; blocks restart at each group of rows.

    It quantizes the rows of several experts that one array holds, one expert after another::

        amax  = max |x| over the block
        scale = amax / greatest           at most 1 / min_scale, if min_scale > 0
        y     = code(x / scale)           the nearest of dst_type, saturated

    Each group of rows gives the result of ``npu_dynamic_block_quant(rows, ...)`` (docs/numerics.md
    2). The last blocks along a group's rows and columns may be smaller.

    =====================  =====================  ========  ================
    dst_type               y                      greatest  codes end at
    =====================  =====================  ========  ================
    float8_e4m3fn (292)    ml_dtypes' type        448       +-448
    float8_e5m2 (291)      ml_dtypes' type        57344     +-57344
    hifloat8 (290)         uint8                  32768     +-32768
    =====================  =====================  ========  ================

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of shape ``(m, n)`` or ``(batches,
            m, n)``. It may have any strides and be unaligned or read-only.
        group_list: int32, of shape ``(g,)``, with g at least 1: where each group ends, in every
            batch (the index of the row after its last row). Ends never decrease, and the last end
            is m; a group may be empty.
        min_scale: an upper bound of the scales: no scale exceeds ``1 / min_scale``. 0 means no
            bound. Rounded to float32 first; negative, NaN or infinite is an error.
        round_mode: ``"round"`` for hifloat8: ties go away from zero; ``"rint"`` for the other
            formats: ties go to the even code.
        dst_type: the format of the codes, one from the table: torch_npu's number there, torch's
            number (23, 24), a dtype or a name.
        row_block_size: rows of a block: 1, 128, 256 or 512.
        col_block_size: columns of a block: 64, 128, 192 or 256.
        group_list_type: what group_list holds: 0, the end of each group.
        dst_type_max: for hifloat8, the number that amax is mapped to: 1e-06 to 32768; codes still
            end at +-32768. 0 means the table's ``greatest``.
        out: where to write ``(y, scale)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other, x or group_list. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale)``: codes of x's shape; float32 of shape ``(..., m // row_block_size + g, ceil(n
        / col_block_size))``. The scales of group j, whose first row is ``start``, begin at row
        ``start // row_block_size + j`` of scale; rows of scale that belong to no block are 0.

    Rounding is to nearest, ties to even; in hifloat8 ties go away from zero. Edge cases, by block;
    "ends" means the greatest code (448 in float8_e4m3fn) for inf and positive values, and the least
    code (-448) for -inf and negative ones:

    ========================================  =============  =====================================
    block                                     scale          y
    ========================================  =============  =====================================
    all zero, of any sign                     0              0
    holds NaN                                 NaN            0 everywhere
    holds inf or -inf, no NaN                 inf            0; float8: -0 of finite values below 0
    the same, with min_scale                  1 / min_scale  finite values by the formula; inf: ends
    amax / greatest underflows to 0           0              0 for 0, else: ends
    amax / greatest overflows                 inf            0 (where dst_type_max is below 1)
    a scale is subnormal                      by formula     by the formula; beyond the ends: ends
    else: -0, or below 0 and rounded to 0     by formula     float8: -0 (80); hifloat8: 0
    no block: a spare row of scales           0              no codes
    an empty group                            none           none
    empty: ``(m, 0)``                         shape (.., 0)  empty
    empty: ``(0, n)``                         zeros          empty; g rows of scales
    ========================================  =============  =====================================

    Raises:
        DTypeError: ``x`` or ``group_list`` is missing (code 161001), is not an ndarray, or has
            another dtype.
        ParamError: a rank, ``group_list``, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``min_scale="a"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0, 448], [7, 3.5], [1, 2]], dtype=np.float32)
        >>> groups = np.array([1, 3], dtype=np.int32)
        >>> y, scale = npu_quant.npu_grouped_dynamic_block_quant(
        ...     x, groups, dst_type="float8_e4m3fn", row_block_size=128
        ... )
        >>> y.astype(int).tolist(), scale.tolist()
        ([[0, 448], [448, 224], [64, 128]], [[1.0], [0.015625]])

    Source: torch_npu.npu_grouped_dynamic_block_quant (hicann/ops-nn
    ``quant/grouped_dynamic_block_quant``, Ascend/op-plugin). The device does not write the rows of
    scale that belong to no block. If a block holds inf, its kernel gives the scale inf even with
    min_scale; its document, and this function, give the bound ``1 / min_scale``.
    """
    return _core.npu_grouped_dynamic_block_quant(
        GroupedDynamicBlockQuantResult,
        x,
        group_list,
        min_scale,
        round_mode,
        dst_type,
        row_block_size,
        col_block_size,
        group_list_type,
        dst_type_max,
        out,
        numerics,
    )


def reference(
    x: NDArray[Any],
    group_list: NDArray[np.int32],
    *,
    min_scale: float = 0.0,
    round_mode: str = "rint",
    dst_type: DTypeName = 291,
    row_block_size: int = 1,
    col_block_size: int = 128,
    group_list_type: int = 0,
    dst_type_max: float = 0.0,
) -> GroupedDynamicBlockQuantResult:
    """Compute :func:`npu_grouped_dynamic_block_quant` in plain NumPy, without checks."""
    m, n = x.shape[-2:]
    rows, columns = m // row_block_size + len(group_list), -(-n // col_block_size)
    scale = np.zeros((*x.shape[:-2], rows, columns), np.float32)
    y, start = [], 0
    for j, end in enumerate(group_list.tolist()):
        codes, scales = dynamic_block_quant.reference(
            x[..., start:end, :],
            min_scale=min_scale,
            dst_type=dst_type,
            row_block_size=row_block_size,
            col_block_size=col_block_size,
            dst_type_max=dst_type_max,
            round_mode=round_mode,
        )
        first = start // row_block_size + j
        scale[..., first : first + scales.shape[-2], :] = scales
        y.append(codes)
        start = end
    return GroupedDynamicBlockQuantResult(np.concatenate(y, axis=-2), scale)
