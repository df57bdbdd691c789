"""npu_dynamic_block_quant: int8 codes and one scale per block of 128 elements of a row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..dtypes import DTypeName


class DynamicBlockQuantResult(NamedTuple):
    """What :func:`npu_dynamic_block_quant` returns; a field is None where ``out`` holds None."""

    y: NDArray[np.int8]
    """int8 codes, of x's shape."""
    scale: NDArray[np.float32]
    """float32, of x's shape with the last axis divided by 128, rounded up."""


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
    """Quantize each block of 1 x 128 elements symmetrically to int8, with a scale of its own.

    ::

        amax  = max |x| over the block
        scale = amax / 127                at most 1 / min_scale, if min_scale > 0
        y     = round(x / scale)          saturated to [-128, 127]

    Every line is one IEEE float32 operation per element (docs/numerics.md 2); 16-bit inputs are
    widened exactly. The last block of a row holds what is left of it.

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32 (an extension: the A2 and A3
            devices take 16-bit types), of rank 2 or 3. Any strides, unaligned and read-only arrays
            included.
        min_scale: a bound: no scale exceeds ``1 / min_scale``. 0 means none. Rounded to float32
            first; negative, NaN or infinite is an error.
        round_mode: ``"rint"``.
        dst_type: the type of ``y``: int8, as torch_npu's code (1), dtype or name.
        row_block_size: 1.
        col_block_size: 128.
        dst_type_max: 0.0.
        out: where to write ``(y, scale)``: arrays of exactly the result's shapes and dtypes, any
            strides, apart from each other and from x, such as an earlier result; None for one that
            is not wanted. After Ctrl-C it holds some new elements and some old ones.
        numerics: the arithmetic profile, by default the current one
            (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale)``: int8 of x's shape, float32 of shape ``(..., m, ceil(n / 128))``. The way
        back to about ``x`` is ``y * np.repeat(scale, 128, axis=-1)[..., :n]``.

    Rounding is to nearest, ties to even. Blocks out of the ordinary:

    ========================================  =============  =====================================
    block                                     scale          y
    ========================================  =============  =====================================
    all zero                                  0              0
    holds NaN                                 NaN            0 everywhere
    holds inf or -inf, no NaN                 inf            0 everywhere
    the same, with min_scale                  1 / min_scale  finite by the formula, 127 for inf,
                                                             -128 for -inf
    so small that amax / 127 underflows to 0  0              0 for 0, else 127 or -128
    empty: ``(m, 0)``                         shape (m, 0)   empty
    empty: ``(0, n)``                         shape (0, ..)  empty
    ========================================  =============  =====================================

    Raises:
        DTypeError: ``x`` is missing (code 161001), is no ndarray, or has another dtype.
        ParamError: rank, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``min_scale="a"``.
        MemoryError: no memory for the results.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0, 1, -2, 4]], dtype=np.float16)
        >>> y, scale = npu_quant.npu_dynamic_block_quant(x)
        >>> y
        array([[  0,  32, -64, 127]], dtype=int8)
        >>> scale
        array([[0.03149606]], dtype=float32)

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


def reference(x: NDArray[Any], *, min_scale: float = 0.0) -> DynamicBlockQuantResult:
    """Compute :func:`npu_dynamic_block_quant` in plain NumPy: the formula, without checks."""
    n = x.shape[-1]
    blocks = -(-n // 128)
    with np.errstate(all="ignore"):
        padded = np.zeros((*x.shape[:-1], blocks * 128), np.float32)
        padded[..., :n] = x
        v = padded.reshape(*x.shape[:-1], blocks, 128)
        amax = np.abs(v).max(axis=-1, initial=0)
        scale = np.where(np.isnan(amax), np.float32(np.nan), amax / np.float32(127))
        if np.float32(min_scale) > 0:
            bound = np.float32(1) / np.float32(min_scale)
            scale = np.where(scale > bound, bound, scale)
        q = np.rint(v / scale[..., None])
        y = np.where(np.isnan(q), 0, np.clip(q, -128, 127)).astype(np.int8)
    return DynamicBlockQuantResult(y.reshape(padded.shape)[..., :n], scale)
