"""npu_dynamic_block_quant: codes and a scale per block of a matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array
from ..dtypes import DTypeName


class DynamicBlockQuantResult(NamedTuple):
    """What :func:`npu_dynamic_block_quant` returns; a field is None where ``out`` holds None."""

    y: NDArray[Any]
    """Codes, of x's shape; int4 has an eighth of the last axis."""
    scale: NDArray[np.float32]
    """float32, of x's shape with the last two axes divided by those of a block, rounded up."""


def npu_dynamic_block_quant(
    x: Array,
    *,
    min_scale: float = 0.0,
    round_mode: str = "rint",
    dst_type: DTypeName = 1,
    row_block_size: int = 1,
    col_block_size: int = 128,
    dst_type_max: float = 0.0,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> DynamicBlockQuantResult:
    """Quantize a matrix symmetrically with one scale per block.

    ::

        amax  = max |x| over the block
        scale = amax / greatest           at most 1 / min_scale, if min_scale > 0
        y     = code(x / scale)           the nearest of dst_type, saturated

    Every line is one IEEE float32 operation per element (docs/numerics.md 2); 16-bit inputs are
    widened exactly. In a rank-3 ``x`` blocks restart at each matrix; the last blocks along rows and
    columns may be smaller.

    =====================  =====================  ========  ================
    dst_type               y                      greatest  codes end at
    =====================  =====================  ========  ================
    int8 (258)             int8                   127       -128, 127
    int4 (285)             int32, 8 codes in an   7         -8, 7
                           element: the first is
                           its low nibble
    float8_e4m3fn (292)    ml_dtypes' type        448       +-448
    float8_e5m2 (291)      ml_dtypes' type        57344     +-57344
    hifloat8 (290)         uint8                  32768     +-32768
    =====================  =====================  ========  ================

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32 (an extension: the A2 and A3
            devices take 16-bit types), of rank 2 or 3. It may have any strides and be unaligned or
            read-only. For int4 its last axis is a multiple of 8.
        min_scale: an upper bound of the scales: no scale exceeds ``1 / min_scale``. 0 means no
            bound. Rounded to float32 first; negative, NaN or infinite is an error.
        round_mode: ``"round"`` for hifloat8: ties go away from zero; ``"rint"`` for the other
            formats: ties go to the even code.
        dst_type: the format of the codes, one from the table: torch_npu's number there, torch's
            number (1; 16, 23, 24), a dtype or a name. int4 is an extension.
        row_block_size: rows of a block: 1, 64, 128, 256 or 512.
        col_block_size: columns of a block: 64, 128, 192 or 256.
        dst_type_max: for hifloat8, the number that amax is mapped to: 15, 56, 224 or 32768; codes
            still end at +-32768. 0 means the table's ``greatest``.
        out: where to write ``(y, scale)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or x. None stands for an output that is
            not wanted.
        numerics: the arithmetic profile, by default the current one (:func:`npu_quant.numerics`):
            ``"reference"``, or a device's, ``"ascend910b"`` or ``"ascend950"``, which also refuse
            what the device refuses (docs/numerics.md 4).

    Returns:
        ``(y, scale)``: codes of x's shape, float32 of shape ``(..., ceil(m / row_block_size),
        ceil(n / col_block_size))``. Code times scale dequantizes to about ``x``: for int8 and
        blocks of 1 x 128, ``y * np.repeat(scale, 128, axis=-1)[..., :n]``.

    Rounding is to nearest, ties to even; in hifloat8 ties go away from zero. Edge cases, by block;
    "ends" means the greatest code (127 in int8, 448 in float8_e4m3fn) for inf and positive values,
    and the least code (-128, -448) for -inf and negative ones:

    ========================================  =============  =====================================
    block                                     scale          y
    ========================================  =============  =====================================
    all zero, of any sign                     0              0
    holds NaN                                 NaN            0 everywhere
    holds inf or -inf, no NaN                 inf            0; float8: -0 of finite values below 0
    the same, with min_scale                  1 / min_scale  finite values by the formula; inf: ends
    amax / greatest underflows to 0           0              0 for 0, else: ends
    a scale is subnormal                      by formula     by the formula; beyond the ends: ends
    else: -0, or below 0 and rounded to 0     by formula     float8: -0 (80); others 0
    empty: ``(m, 0)``                         shape (.., 0)  empty
    empty: ``(0, n)``                         shape (0, ..)  empty
    ========================================  =============  =====================================

    Raises:
        DTypeError: ``x`` is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``min_scale="a"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0, 1, -2, 4]], dtype=np.float16)
        >>> y, scale = npu_quant.npu_dynamic_block_quant(x)
        >>> y
        array([[  0,  32, -64, 127]], dtype=int8)
        >>> scale
        array([[0.03149606]], dtype=float32)
        >>> weight = np.ones((256, 384), dtype=np.float16)
        >>> y, scale = npu_quant.npu_dynamic_block_quant(
        ...     weight, dst_type="float8_e4m3fn", row_block_size=128, col_block_size=128
        ... )
        >>> y.dtype.name, float(y[0, 0]), scale.shape
        ('float8_e4m3fn', 448.0, (2, 3))

    Source: torch_npu.npu_dynamic_block_quant (hicann/ops-nn ``quant/dynamic_block_quant``,
    Ascend/op-plugin). Its page prints ``scale = INT8_MAX / input_max``; its example, and this
    function, return ``input_max / INT8_MAX``.
    """
    return _core.npu_dynamic_block_quant(
        DynamicBlockQuantResult,
        x,
        min_scale,
        round_mode,
        dst_type,
        row_block_size,
        col_block_size,
        dst_type_max,
        out,
        numerics,
    )


def reference(
    x: NDArray[Any],
    *,
    min_scale: float = 0.0,
    dst_type: DTypeName = 1,
    row_block_size: int = 1,
    col_block_size: int = 128,
    dst_type_max: float = 0.0,
    round_mode: str = "rint",
) -> DynamicBlockQuantResult:
    """Compute :func:`npu_dynamic_block_quant` in plain NumPy: the formula, without checks."""
    (m, n), batches = x.shape[-2:], x.shape[:-2]
    down, across = -(-m // row_block_size), -(-n // col_block_size)
    greatest = np.float32(dst_type_max or _codes.row_of(dst_type).greatest)
    with np.errstate(all="ignore"):
        padded = np.zeros((*batches, down * row_block_size, across * col_block_size), np.float32)
        padded[..., :m, :n] = x
        v = padded.reshape(*batches, down, row_block_size, across, col_block_size)
        amax = np.abs(v).max(axis=(-3, -1), initial=0)
        scale = np.where(np.isnan(amax), np.float32(np.nan), amax / greatest)
        if np.float32(min_scale) > 0:
            bound = np.float32(1) / np.float32(min_scale)
            scale = np.where(scale > bound, bound, scale)
        q = (v / scale[..., None, :, None]).reshape(padded.shape)[..., :m, :n]
        return DynamicBlockQuantResult(_codes.encode(q, dst_type), scale)
